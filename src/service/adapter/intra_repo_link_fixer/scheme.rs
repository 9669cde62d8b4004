//! The anchor rules of a page: a generator, and the settings of its site that matter.

use super::params::Dialect;

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
    /// The sign between the words of an anchor.
    pub(super) separator: char,
    /// The reason that anchors made from texts are unknown.
    pub(super) doubt: Option<String>,
}

impl Scheme {
    /// The rules of a generator with its default settings.
    pub(super) fn of(dialect: Dialect) -> Self {
        Scheme {
            dialect: if dialect == Dialect::Auto { Dialect::Github } else { dialect },
            has_attributes: !matches!(dialect, Dialect::Auto | Dialect::Github | Dialect::Gitlab),
            is_smart: matches!(dialect, Dialect::Mdbook | Dialect::Hugo),
            is_extended: false,
            separator: '-',
            doubt: None,
        }
    }
}
