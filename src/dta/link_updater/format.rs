//! Which files are looked at, and in which format each is.

use serde_json::Value;

use super::params::{Include, Params};
use crate::path::RepoPath;

/// How a file holds links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    /// HTML.
    Html,
    /// HTML that must mean the same as XML.
    Xhtml,
    /// Markdown of GitHub's kind.
    Markdown,
    /// Style sheets.
    Css,
    /// Sitemaps, feeds, OPML and SVG.
    Xml,
    /// Plain text.
    Text,
    /// JSON, on request only.
    Json,
}

/// The globs of each format. A name in mixed case is none of them.
const GLOBS: &[(&str, Format)] = &[
    ("**/*.html", Format::Html),
    ("**/*.HTML", Format::Html),
    ("**/*.htm", Format::Html),
    ("**/*.HTM", Format::Html),
    ("**/*.xhtml", Format::Xhtml),
    ("**/*.XHTML", Format::Xhtml),
    ("**/*.md", Format::Markdown),
    ("**/*.MD", Format::Markdown),
    ("**/*.markdown", Format::Markdown),
    ("**/*.MARKDOWN", Format::Markdown),
    ("**/*.css", Format::Css),
    ("**/*.CSS", Format::Css),
    ("**/*.xml", Format::Xml),
    ("**/*.XML", Format::Xml),
    ("**/*.rss", Format::Xml),
    ("**/*.RSS", Format::Xml),
    ("**/*.atom", Format::Xml),
    ("**/*.ATOM", Format::Xml),
    ("**/*.svg", Format::Xml),
    ("**/*.SVG", Format::Xml),
    ("**/*.txt", Format::Text),
    ("**/*.TXT", Format::Text),
    ("**/*.json", Format::Json),
    ("**/*.JSON", Format::Json),
    ("**/*.webmanifest", Format::Json),
    ("**/*.WEBMANIFEST", Format::Json),
];

impl Format {
    /// Globs of the files that are looked at. What the parameters mean otherwise is not asked here.
    pub(super) fn globs(params: &Value) -> Vec<&'static str> {
        let json = Params::parse(params).is_ok_and(|params| params.includes(Include::Json));
        let is_wanted = |format: Format| format != Format::Json || json;
        GLOBS.iter().filter(|(_, format)| is_wanted(*format)).map(|(glob, _)| *glob).collect()
    }

    /// The format of a file, by the last extension of its name; none if it has none.
    pub(super) fn of(path: &RepoPath) -> Option<Self> {
        let extension = |glob: &'static str| glob.trim_start_matches("**/*");
        GLOBS.iter().find(|(glob, _)| path.as_str().ends_with(extension(glob))).map(|(_, format)| *format)
    }
}
