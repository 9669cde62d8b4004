//! All that writing needs to know: the text, its edits and its style.

use super::{
    comments::Comments,
    draft::{Body, Cell, Draft},
    output::Output,
    scalar,
    style::Style,
    syntax::Syntax,
    tree::{Form, Node},
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

    pub(super) fn comments(&self) -> Comments<'_> {
        Comments { syntax: self.syntax, text: self.text, all: &self.draft.tree.comments }
    }

    /// True for the first member or item of the text.
    pub(super) fn is_first(&self, node: usize) -> bool {
        let root = self.draft.tree.node(self.draft.tree.root);
        root.n_children() > 0 && root.child(0) == node
    }

    /// The end of a member or item in a YAML block, with the deeper comments below it.
    pub(super) fn below(&self, node: usize) -> usize {
        let node = self.draft.tree.node(node);
        self.comments().below(node.begin, node.span.end, node.form == Form::Block)
    }

    /// The node of a value that moved.
    fn moved(&self, cell: usize) -> Option<usize> {
        match &self.draft.cells[cell] {
            Cell { body: Body::Wrapped(inner), source: None, replaces: None, .. } => self.moved(inner.cell),
            cell => cell.source.filter(|_| cell.replaces.is_none()),
        }
    }

    /// The comments behind a value that moved, with the space before them: they go along.
    pub(super) fn comment_behind(&self, cell: usize) -> Option<String> {
        let node = self.draft.tree.node(self.moved(cell)?);
        let mut at = node.span.end;
        // A block of YAML has them within.
        if self.syntax == Syntax::Yaml && node.form == Form::Block {
            return None;
        }
        let mut text = String::new();
        for comment in self.comments().behind(at) {
            text.extend([
                self.text[at..comment.start].replace(',', "").as_str(),
                self.text[comment.clone()].trim_end(),
            ]);
            at = comment.end;
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// The comments above a value that moved: they go along.
    pub(super) fn comments_above(&self, cell: usize) -> Vec<&str> {
        let above = self.moved(cell).map(|node| {
            let begin = self.draft.tree.node(node).begin;
            self.comments().above(begin, self.is_first(node))
        });
        above.unwrap_or_default().iter().map(|comment| self.text[comment.clone()].trim_end()).collect()
    }
}
