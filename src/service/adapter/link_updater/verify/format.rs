//! The format of a file by its name, and its reader.

use crate::link_updater::params::{Include, Params};
use audit::{css, json, markdown, markup, mdx, page::Page, spelling::Layer, text, xml};
use base::{error::Error, pulse::Pulse};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    Html,
    Markdown,
    Mdx,
    Css,
    Xml,
    Text,
    Json,
}

impl Format {
    /// Every format.
    #[cfg(test)]
    pub(super) const ALL: &[Format] =
        &[Format::Html, Format::Markdown, Format::Mdx, Format::Css, Format::Xml, Format::Text, Format::Json];

    /// The format by the last extension, in lower or upper case.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        let lower = extension.to_ascii_lowercase();
        if lower != extension && extension.to_ascii_uppercase() != extension {
            return None;
        }
        match lower.as_str() {
            "html" | "htm" | "xhtml" => Some(Format::Html),
            "md" | "markdown" => Some(Format::Markdown),
            "mdx" => Some(Format::Mdx),
            "css" => Some(Format::Css),
            "xml" | "rss" | "atom" | "svg" => Some(Format::Xml),
            "txt" => Some(Format::Text),
            "json" | "webmanifest" => Some(Format::Json),
            _ => None,
        }
    }

    /// The name in counts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Markdown => "markdown",
            Format::Mdx => "mdx",
            Format::Css => "css",
            Format::Xml => "xml",
            Format::Text => "text",
            Format::Json => "json",
        }
    }

    /// The layers that lie over a URL in files of the format, the outermost first; one list for each kind of place.
    pub(super) fn ways(self) -> &'static [&'static [Layer]] {
        use Layer::{Css, Entities, Json, Markdown, References};
        match self {
            Format::Html => &[&[References], &[Css], &[References, Css], &[Json]],
            Format::Markdown | Format::Mdx => {
                &[&[Markdown], &[Entities], &[Markdown, Css], &[References], &[References, Css], &[Json], &[]]
            }
            Format::Css => &[&[Css]],
            Format::Xml => &[&[References], &[Css], &[References, Css], &[]],
            Format::Text => &[&[]],
            Format::Json => &[&[Json]],
        }
    }

    /// Reads a file; an error if `pulse` gives one.
    pub(super) fn read(self, bytes: &[u8], params: &Params, pulse: Pulse<'_>) -> Result<Page, Error> {
        pulse()?;
        let json_ld = params.includes(Include::JsonLd);
        let mut page = Page { json_ld, link_text: params.link_text, ..Page::default() };
        match self {
            Format::Html => markup::read(bytes, pulse, &mut page)?,
            Format::Markdown => markdown::read(bytes, pulse, &mut page)?,
            Format::Mdx => mdx::read(bytes, pulse, &mut page)?,
            Format::Css => drop(css::read(bytes, &mut page)),
            Format::Xml => xml::read(bytes, pulse, &mut page)?,
            Format::Text => text::read(bytes, &mut page),
            Format::Json => json::read_file(bytes, &mut page),
        }
        pulse()?;
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_last_extension_says() {
        assert_eq!(Format::of("a/b.c.html"), Some(Format::Html));
        assert_eq!(Format::of("a.HTM"), Some(Format::Html));
        assert_eq!(Format::of("a.Html"), None);
        assert_eq!(Format::of("html"), None);
        assert_eq!(Format::of("a.md/b"), None);
        assert_eq!(Format::of("x.WEBMANIFEST"), Some(Format::Json));
    }
}
