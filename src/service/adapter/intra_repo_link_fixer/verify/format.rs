//! The formats of files, and the entry point to their readers.

use super::{
    document::{Document, Manner},
    markdown,
};
use base::{error::Error, path::RepoPath};

/// The formats whose links are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Markdown, with HTML in it.
    Markdown,
    /// Markdown with programs and tags of JavaScript.
    Mdx,
    /// HTML.
    Html,
}

impl Format {
    /// The format of a file, by its name.
    pub(super) fn of(path: &RepoPath) -> Option<Format> {
        let (_, extension) = path.file_name().rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "md" | "markdown" | "mdown" | "mkd" | "mkdn" => Some(Format::Markdown),
            "mdx" => Some(Format::Mdx),
            "html" | "htm" | "xhtml" => Some(Format::Html),
            _ => None,
        }
    }

    /// Reads a file; an error if the pulse gives one.
    pub(super) fn read(self, bytes: &[u8], manner: Manner<'_>) -> Result<Document, Error> {
        match self {
            Format::Markdown => markdown::read(bytes, manner),
            Format::Mdx => markdown::read_mdx(bytes, manner),
            Format::Html => {
                let mut document = Document::default();
                document.html(bytes, manner, (0, 1), Some)?;
                let is_template = bytes.windows(2).any(|two| matches!(two, b"{{" | b"{%" | b"<%"));
                document.links.iter_mut().for_each(|found| found.is_raw = is_template);
                document.is_open = is_template;
                Ok(document)
            }
        }
    }
}
