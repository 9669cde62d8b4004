//! The parameters on the wire. Plain types only: both sides of the adapter read them, and each interprets them itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::survey::OnSkip;
use base::error::{Code, Error};

/// `params` of an invocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Params {
    /// The rules by which headings get their anchors.
    pub(super) anchors: Dialect,
    /// Folders of the workspace that a link of a leading `/` may begin at, in order; `.` is the workspace. Without any, such
    /// links are left alone.
    pub(super) site_root: Vec<String>,
    /// File names that stand for their folder, in order. Without any, each folder is a target, and its anchors are those of
    /// its `README.md`, `index.md`, `_index.md` or `index.html`.
    pub(super) index: Option<Vec<String>>,
    /// Extensions, without a dot, that a path may leave out, in order.
    pub(super) extensions: Vec<String>,
    /// Extensions, without a dot, of the sources of `.html` pages, in order: a link to `a.html` may mean `a.md`.
    pub(super) html_from: Vec<String>,
    /// The kinds of repair; all of them if there are none.
    pub(super) repairs: Option<Vec<Repair>>,
    /// New targets of broken links. Both sides are a path beneath the workspace, with an anchor or without: `docs/a.md#new`.
    pub(super) choose: BTreeMap<String, String>,
    /// Broken links that may stay so.
    pub(super) allow_broken: Vec<Allowed>,
    /// The treatment of other broken links without a certain repair.
    pub(super) unresolved: Unresolved,
    /// The treatment of a file that can't be read.
    pub(super) on_skip: OnSkip,
}

/// The rules by which headings get their anchors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Dialect {
    /// Those of the site that a page belongs to, by its configuration; else GitHub's.
    #[default]
    Auto,
    /// GitHub, and tools that use `github-slugger`.
    Github,
    /// GitLab.
    Gitlab,
    /// mdBook.
    Mdbook,
    /// Docusaurus.
    Docusaurus,
    /// Hugo with its default settings.
    Hugo,
    /// VitePress.
    Vitepress,
    /// MkDocs: the extension `toc` of Python-Markdown, with `attr_list`.
    Mkdocs,
}

impl Dialect {
    /// Its name on the wire.
    pub(super) fn name(self) -> &'static str {
        match self {
            Dialect::Auto => "auto",
            Dialect::Github => "github",
            Dialect::Gitlab => "gitlab",
            Dialect::Mdbook => "mdbook",
            Dialect::Docusaurus => "docusaurus",
            Dialect::Hugo => "hugo",
            Dialect::Vitepress => "vitepress",
            Dialect::Mkdocs => "mkdocs",
        }
    }
}

/// The treatment of broken links without a certain repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unresolved {
    /// The verification fails, and nothing is changed.
    #[default]
    Fail,
    /// They are listed and stay.
    List,
}

/// A kind of repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Repair {
    /// The target exists once the path or anchor is decoded: `a%2520b.md`, `docs\a.md`.
    Decoded,
    /// The target exists in another case.
    Case,
    /// Git's history moved the target, or the file with the link.
    Moved,
    /// A file has the content that git's history knew at the old path.
    Content,
    /// A single file has the name.
    Name,
    /// A single anchor of the target is near.
    Anchor,
}

/// Broken links that may stay so: a destination as it is read, in which `*` stands for any text; in one file or in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Allowed {
    /// In every file.
    Everywhere(String),
    /// In files whose path matches; `*` stands for any text, `/` included.
    In(AllowedIn),
}

/// A destination, with the files in which it may be broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AllowedIn {
    /// The path of the file with the link.
    pub(super) file: String,
    /// The destination.
    pub(super) link: String,
}

impl Params {
    /// Takes the parameters from an invocation.
    pub(super) fn parse(params: &Value) -> Result<Self, Error> {
        serde_json::from_value(params.clone())
            .map_err(|error| Error::new(Code::InvalidInput, format!("the params can't be used: {error}")))
    }

    /// True if links may be repaired in that way.
    pub(super) fn repairs(&self, repair: Repair) -> bool {
        self.repairs.as_ref().is_none_or(|repairs| repairs.contains(&repair))
    }
}
