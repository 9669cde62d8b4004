//! The targets of links: files and folders that exist, and the anchors that they give.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::Regex;

use super::{
    super::params::{Dialect, Params},
    aim::{Aim, Local, aim},
    document::{Document, Format, Manner},
};
use crate::{
    base::{error::Error, path::RepoPath},
    service::adapter::Context,
    system::workspace::Globs,
};

/// File names that stand for their folder if the parameters name none.
const INDEXES: &[&str] = &["README.md", "index.md", "_index.md", "index.html"];
/// The longest file outside the target that is read for its anchors.
const LONGEST: u64 = 32 << 20;

/// The beginnings of fragments of footnotes, which renderers number by rules of their own.
const NOTES: &[&str] = &["fn-", "fnref-", "fn:", "fnref:", "footnote-", "user-content-fn"];
/// A fragment that names a line or lines of a text.
static LINES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^L([0-9]+)(?:C[0-9]+)?(?:-L?([0-9]+)(?:C[0-9]+)?)?$").expect("the pattern is a constant")
});

/// The check for cancellation, for all threads.
pub(super) type Steady<'a> = &'a (dyn Fn() -> Result<(), Error> + Sync);

/// Documents of the target, before and after the change; `before` is none if the file did not change.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) before: Option<Document>,
    pub(super) after: Document,
}

/// The moment at which a link is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    After,
}

/// The judgement of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It leads out of the tree.
    External,
    /// Its target and anchor exist.
    Right(Hit),
    /// Its target does not exist.
    NoTarget(Missing),
    /// Its target exists, and its anchor or line does not.
    NoAnchor(Hit, Missing),
}

/// The missing part of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Missing {
    /// A heading or element.
    Anchor,
    /// A file or folder.
    File,
    /// A file that git ignores.
    Ignored,
    /// A line of a text.
    Line,
    /// Anything above the workspace.
    Outside,
}

impl Missing {
    /// The name of the kind in counts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Missing::Anchor => "anchor",
            Missing::File => "file",
            Missing::Ignored => "ignored",
            Missing::Line => "line",
            Missing::Outside => "outside",
        }
    }
}

/// A target that exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    /// The file or folder; `""` is the workspace.
    pub(super) path: String,
    /// The file whose anchors count; none for a folder without one.
    pub(super) page: Option<String>,
}

/// The tree that links lead into.
pub(super) struct Tree<'a> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) params: &'a Params,
    pub(super) files: BTreeMap<RepoPath, Read>,
    pub(super) pulse: Steady<'a>,
    /// Files and links that git does not ignore.
    pub(super) entries: BTreeSet<String>,
    others: Mutex<BTreeMap<String, Other>>,
}

/// A target that is no document of the change.
enum Other {
    /// Its anchors.
    Document(Document),
    /// The number of its lines.
    Text(u64),
    /// It can't be judged.
    Unread,
}

impl<'a> Tree<'a> {
    /// The tree with the documents of the target.
    pub(super) fn new(
        ctx: &'a Context<'a>,
        params: &'a Params,
        files: BTreeMap<RepoPath, Read>,
        pulse: Steady<'a>,
    ) -> Result<Self, Error> {
        let listing = ctx.view.list_entries(&Globs::parse(&["**"])?, ctx.threads)?;
        let entries = listing.paths.into_iter().map(|path| path.as_str().to_owned()).collect();
        Ok(Tree { ctx, params, files, pulse, entries, others: Mutex::default() })
    }

    /// Judges a destination in a file.
    pub(super) fn judge(&self, file: &RepoPath, url: &[u8], when: When) -> Result<Judged, Error> {
        let Aim::Local(local) = aim(url, file, &self.params.site_root) else { return Ok(Judged::External) };
        let Some(hit) = self.hit(&local) else { return Ok(Judged::NoTarget(self.missing(&local))) };
        let missing = match &local.anchor {
            Some(anchor) => self.missing_in(&hit, &local, anchor, when)?,
            None => None,
        };
        Ok(missing.map_or_else(|| Judged::Right(hit.clone()), |missing| Judged::NoAnchor(hit.clone(), missing)))
    }

    fn missing(&self, local: &Local) -> Missing {
        let Some(path) = local.paths.first() else { return Missing::Outside };
        let path = RepoPath::parse(path).ok();
        let found = path.map(|path| self.ctx.view.workspace().stat(&path));
        if matches!(found, Some(Ok(Some(_)))) { Missing::Ignored } else { Missing::File }
    }

    /// The target of a place, if it exists.
    pub(super) fn hit(&self, local: &Local) -> Option<Hit> {
        local.paths.iter().find_map(|path| self.at(path, local.is_folder))
    }

    /// The target of a path, if it exists.
    pub(super) fn at(&self, path: &str, is_folder: bool) -> Option<Hit> {
        let file = |path: String| Hit { page: Some(path.clone()), path };
        if !is_folder && self.entries.contains(path) {
            return Some(file(path.to_owned()));
        }
        if let Some(hit) = self.folder(path) {
            return Some(hit);
        }
        let left_out = self.params.extensions.iter().map(|extension| format!("{path}.{extension}"));
        let stem = path.strip_suffix(".html").filter(|_| !is_folder);
        let sources = stem.iter().flat_map(|stem| sources(stem, &self.params.html_from)).collect::<Vec<_>>();
        left_out.chain(sources).find(|path| self.entries.contains(path)).map(file)
    }

    fn folder(&self, path: &str) -> Option<Hit> {
        let below = if path.is_empty() { String::new() } else { format!("{path}/") };
        let first = self.entries.range(below.clone()..).next();
        if !first.is_some_and(|first| first.starts_with(&below)) && !path.is_empty() {
            return None;
        }
        let names: Vec<&str> = match &self.params.index {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => INDEXES.to_vec(),
        };
        let page = names.iter().map(|name| format!("{below}{name}")).find(|page| self.entries.contains(page));
        match (&self.params.index, page) {
            (Some(_), None) => None,
            (Some(_), Some(page)) => Some(Hit { path: page.clone(), page: Some(page) }),
            (None, page) => Some(Hit { path: path.to_owned(), page }),
        }
    }

    /// The missing part of a target, if the anchor does not exist in it.
    pub(super) fn missing_in(
        &self,
        hit: &Hit,
        local: &Local,
        anchor: &str,
        when: When,
    ) -> Result<Option<Missing>, Error> {
        let (as_text, is_raw) = (local.query.strip_prefix('?').is_some_and(is_plain), &local.raw_anchor);
        if anchor.is_empty() || anchor.eq_ignore_ascii_case("top") {
            return Ok(None);
        }
        let Some(page) = &hit.page else { return Ok(Some(Missing::Anchor)) };
        let format = RepoPath::parse(page).ok().and_then(|path| Format::of(&path));
        if let Some(format) = format.filter(|format| *format == Format::Html || !as_text) {
            let is_note = |text: &str| NOTES.iter().any(|begin| text.starts_with(begin));
            let has_prefix = matches!(self.params.anchors, Dialect::Github | Dialect::Gitlab);
            let fits = |document: &Document, text: &str| {
                let bare = text.strip_prefix("user-content-").filter(|_| has_prefix && format == Format::Markdown);
                document.anchors.contains(text) || bare.is_some_and(|bare| document.anchors.contains(bare))
            };
            if format == Format::Markdown && is_note(anchor) {
                return Ok(None);
            }
            let found = self.with_anchors(page, when, |document| fits(document, anchor) || fits(document, is_raw))?;
            return Ok(if found.unwrap_or(true) { None } else { Some(Missing::Anchor) });
        }
        let Some(lines) = LINES.captures(anchor) else { return Ok(None) };
        let numbers = [1, 2].map(|n| lines.get(n).map(|text| text.as_str().parse().unwrap_or(u64::MAX)));
        let most = self.lines_of(page)?;
        let is_wrong = |most: u64| numbers.into_iter().flatten().any(|line| line == 0 || line > most);
        Ok(most.filter(|most| is_wrong(*most)).map(|_| Missing::Line))
    }

    /// The number of lines of a text; none if the target is none.
    fn lines_of(&self, page: &str) -> Result<Option<u64>, Error> {
        let key = format!("{page}\n");
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.contains_key(&key) {
            (self.pulse)()?;
            let content = self.ctx.view.read_within(&RepoPath::parse(page)?, LONGEST).ok().flatten();
            let text = content.and_then(|content| String::from_utf8(content.bytes.to_vec()).ok());
            others.insert(key.clone(), text.map_or(Other::Unread, |text| Other::Text(text.lines().count() as u64)));
        }
        Ok(match others.get(&key) {
            Some(Other::Text(lines)) => Some(*lines),
            Some(Other::Document(_) | Other::Unread) | None => None,
        })
    }

    /// Passes the document of a page to `look`; none if it can't be read.
    pub(super) fn with_anchors<R>(
        &self,
        page: &str,
        when: When,
        look: impl Fn(&Document) -> R,
    ) -> Result<Option<R>, Error> {
        let path = RepoPath::parse(page)?;
        if let Some(Read { before, after }) = self.files.get(&path) {
            let document = before.as_ref().filter(|_| when == When::Before).unwrap_or(after);
            return Ok(Some(look(document)));
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.contains_key(page) {
            let manner = Manner { dialect: self.params.anchors, is_located: false, pulse: self.pulse };
            let content = self.ctx.view.read_within(&path, LONGEST).ok().flatten();
            let content = content.filter(|content| std::str::from_utf8(&content.bytes).is_ok());
            let other = match (content, Format::of(&path)) {
                (Some(content), Some(format)) => Other::Document(format.read(&content.bytes, manner)?),
                (_, _) => Other::Unread,
            };
            others.insert(page.to_owned(), other);
        }
        Ok(match others.get(page) {
            Some(Other::Document(document)) => Some(look(document)),
            Some(Other::Text(_) | Other::Unread) | None => None,
        })
    }

    /// The files and folders that a path may stand for.
    pub(super) fn spellings(&self, path: &str) -> Vec<String> {
        let mut found = vec![path.to_owned()];
        found.extend(self.params.extensions.iter().map(|extension| format!("{path}.{extension}")));
        if let Some(stem) = path.strip_suffix(".html") {
            found.extend(sources(stem, &self.params.html_from));
        }
        let names: Vec<&str> = match &self.params.index {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => INDEXES.to_vec(),
        };
        found.extend(names.iter().map(|name| format!("{path}/{name}")));
        found
    }
}

/// The sources of a page without its extension.
fn sources(stem: &str, extensions: &[String]) -> Vec<String> {
    let folder = match stem.rsplit_once('/') {
        Some((folder, "index")) => Some(format!("{folder}/")),
        None if stem == "index" => Some(String::new()),
        Some(_) | None => None,
    };
    let plain = extensions.iter().map(|extension| format!("{stem}.{extension}"));
    let readme = folder.iter().flat_map(|folder| extensions.iter().map(move |end| format!("{folder}README.{end}")));
    plain.chain(readme).collect()
}

/// True for a query that asks for the source.
fn is_plain(query: &str) -> bool {
    query.split('&').any(|part| part == "plain=1")
}
