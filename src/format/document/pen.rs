//! All that writing needs to know: the text, its edits and its style.

use super::{
    draft::{Body, Cell, Draft},
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

    /// The comment behind a value that moved, with the space before it: alone with its member on one line, it goes along.
    pub(super) fn comment_behind(&self, cell: usize) -> Option<String> {
        let cell = &self.draft.cells[cell];
        let node = self.draft.tree.node(cell.source.filter(|_| matches!(cell.body, Body::Kept))?);
        let (start, end) = (self.style.line_start(node.begin), self.style.line_end(self.text, node.begin));
        let comment = self.draft.tree.comments.iter().find(|comment| comment.start >= node.span.end)?;
        let gap = self.text.get(node.span.end..comment.start)?;
        let is_alone = node.span.end <= end
            && comment.end == end
            && self.text[start..node.begin].trim_matches(['\u{feff}', ' ', '\t', '-']).is_empty()
            && gap.trim_matches([' ', '\t', ',']).is_empty();
        is_alone.then(|| format!("{}{}", gap.trim_start_matches(','), &self.text[comment.clone()]))
    }
}
