//! The anchor rules of a renderer.

use super::super::params::Dialect;

/// The rules of a renderer, as its site sets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) dialect: Dialect,
    /// True if a heading may have attributes in braces.
    pub(super) attributes: bool,
    /// True if hyphens and quotes become those of print.
    pub(super) smart: bool,
    /// The signs of blocks that hold indented text.
    pub(super) signs: Vec<&'static str>,
    /// True if further extensions may read signs.
    pub(super) extended: bool,
    pub(super) separator: char,
    /// The reason that only explicit anchors are certain.
    pub(super) doubt: Option<String>,
}

impl Rules {
    /// The rules with default settings.
    pub(super) fn of(dialect: Dialect) -> Self {
        let dialect = if dialect == Dialect::Auto { Dialect::Github } else { dialect };
        let (attributes, smart) = match dialect {
            Dialect::Auto | Dialect::Github | Dialect::Gitlab => (false, false),
            Dialect::Mdbook | Dialect::Hugo => (true, true),
            Dialect::Docusaurus | Dialect::Vitepress | Dialect::Mkdocs => (true, false),
        };
        Rules { dialect, attributes, smart, signs: Vec::new(), extended: false, separator: '-', doubt: None }
    }

    /// True if a site resolves a link against the URL of its page: one of raw HTML, and others by their extensions. `is_page` tells
    /// of the extension of a page.
    pub(super) fn is_of_url(&self, (extension, is_page): (Option<&str>, bool), is_raw: bool) -> bool {
        match self.dialect {
            Dialect::Hugo => is_raw || !is_page,
            // Astro.
            Dialect::Github => self.extended && (is_raw || extension.is_none()),
            Dialect::Docusaurus | Dialect::Mkdocs | Dialect::Vitepress => is_raw,
            Dialect::Auto | Dialect::Gitlab | Dialect::Mdbook => false,
        }
    }

    pub(super) fn doubt(&mut self, why: impl Into<String>) {
        if self.doubt.is_none() {
            self.doubt = Some(why.into());
        }
    }
}

/// A renderer with a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Mkdocs,
    Mdbook,
    Hugo,
    /// A file of a common name, which may be Hugo's.
    HugoOrOther,
    Docusaurus,
    Vitepress,
    Astro,
}
