//! All that writing needs to know: the text, its edits and its style.

use super::{
    draft::{Cell, Draft},
    output::Output,
    scalar,
    style::Style,
    syntax::Syntax,
    tree::Node,
};

/// A result, or the reason of a refusal.
pub(super) type Step<T> = Result<T, String>;

/// Writes the children of a YAML block.
pub(super) type BlockWriter = fn(&Pen<'_>, &mut Output<'_>, &Cell, &Node) -> Step<usize>;

/// All that writing needs to know.
pub(super) struct Pen<'d> {
    pub(super) syntax: Syntax,
    pub(super) text: &'d str,
    pub(super) draft: &'d Draft<'d>,
    pub(super) style: Style,
    /// New values and blocks of YAML write each other.
    pub(super) write_block: BlockWriter,
}

impl Pen<'_> {
    /// A name as it is written, like another if there is one.
    pub(super) fn key(&self, name: &str, like: Option<&str>) -> String {
        scalar::key(self.syntax, name, like, &self.style)
    }
}
