//! The anchor rules of a page: a generator, and the settings of its site that matter.

use super::{blocks::Blocks, params::Dialect};

/// The links of a page that its site reads from the address of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addressed {
    /// None, or those that lead to the same place from the file.
    None,
    /// Those of raw HTML.
    Raw,
    /// Those of raw HTML, and those without an extension.
    Pages,
    /// All but those to a page by its extension.
    Most,
}

/// The rules for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scheme {
    pub(super) dialect: Dialect,
    /// True if braces at the end of a heading may name its anchor.
    pub(super) has_attributes: bool,
    /// True if quotes and dashes are written with their own characters.
    pub(super) is_smart: bool,
    /// True if extensions may give meaning to further signs.
    pub(super) is_extended: bool,
    /// The blocks of its extensions that hold indented text.
    pub(super) blocks: Blocks,
    /// The sign between the words of an anchor.
    pub(super) separator: char,
    /// The reason that anchors made from texts are unknown.
    pub(super) doubt: Option<String>,
}

impl Scheme {
    /// The links that the generator reads from the address of the page. Astro is GitHub with extensions.
    pub(super) fn addressed(&self) -> Addressed {
        match self.dialect {
            Dialect::Hugo => Addressed::Most,
            Dialect::Github if self.is_extended => Addressed::Pages,
            Dialect::Docusaurus | Dialect::Mkdocs | Dialect::Vitepress => Addressed::Raw,
            Dialect::Auto | Dialect::Github | Dialect::Gitlab | Dialect::Mdbook => Addressed::None,
        }
    }

    /// The rules of a generator with its default settings.
    pub(super) fn of(dialect: Dialect) -> Self {
        Scheme {
            dialect: if dialect == Dialect::Auto { Dialect::Github } else { dialect },
            has_attributes: !matches!(dialect, Dialect::Auto | Dialect::Github | Dialect::Gitlab),
            is_smart: matches!(dialect, Dialect::Mdbook | Dialect::Hugo),
            is_extended: false,
            blocks: Blocks::default(),
            separator: '-',
            doubt: None,
        }
    }
}
