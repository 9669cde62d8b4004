//! Syntax trees: parsing that can be cancelled, the ways through a tree, the count of its errors, and the comparison of two trees.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Range, Tree, TreeCursor};

use super::grammar;
use base::{
    error::{Code, Error},
    language::Language,
    pulse::Pulse,
};

/// Parses a text. An error is that of `pulse`, or a grammar that can't be used.
pub(crate) fn parse(language: Language, text: &str, pulse: Pulse<'_>) -> Result<Tree, Error> {
    parse_ranges(language, text, &[], pulse)
}

/// Parses the code in one range of a text. Places are those of the whole text.
pub(super) fn parse_range(language: Language, text: &str, range: Range, pulse: Pulse<'_>) -> Result<Tree, Error> {
    parse_ranges(language, text, &[range], pulse)
}

/// Parses the code in ranges of a text, or all of it if there are none.
fn parse_ranges(language: Language, text: &str, ranges: &[Range], pulse: Pulse<'_>) -> Result<Tree, Error> {
    let failed = |reason: String| Error::new(Code::Internal, format!("the parser of {} {reason}", language.name()));
    let mut parser = Parser::new();
    parser.set_language(&grammar::grammar(language)).map_err(|error| failed(format!("can't be used: {error}")))?;
    parser.set_included_ranges(ranges).map_err(|error| failed(format!("can't be used: {error}")))?;
    let mut stopped = None;
    let mut progress = |_: &ParseState| match pulse() {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            stopped = Some(error);
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
    match (tree, stopped) {
        (_, Some(error)) => Err(error),
        (Some(tree), None) => Ok(tree),
        (None, None) => Err(failed("gave no tree".to_owned())),
    }
}

/// The number of syntax errors of a tree: of parts that were not understood, and of parts that are missing.
pub(crate) fn errors_of(tree: &Tree) -> u64 {
    let root = tree.root_node();
    if !root.has_error() {
        return 0;
    }
    descend(root).filter(|node| node.is_error() || node.is_missing()).count() as u64
}

/// The text of a node; empty if the node is not of that text.
pub(super) fn text_of<'t>(text: &'t str, node: Node<'_>) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// A node and everything below it, each before its children.
pub(super) fn descend(node: Node<'_>) -> Descent<'_> {
    Descent { cursor: Some(node.walk()) }
}

/// The walk of [`descend`].
pub(super) struct Descent<'t> {
    cursor: Option<TreeCursor<'t>>,
}

impl<'t> Iterator for Descent<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        let cursor = self.cursor.as_mut()?;
        let node = cursor.node();
        if !cursor.goto_first_child() {
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    self.cursor = None;
                    break;
                }
            }
        }
        Some(node)
    }
}

/// The children of a node.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// The nodes around a node, from its parent to the root.
pub(super) fn ancestors<'t>(root: Node<'t>, node: Node<'t>) -> Vec<Node<'t>> {
    let mut path = Vec::new();
    let mut at = Some(root);
    while let Some(outer) = at.filter(|outer| outer.id() != node.id()) {
        path.push(outer);
        at = outer.child_with_descendant(node);
    }
    path.reverse();
    path
}

/// The nodes after a node with the same parent, or those before it from the nearest on.
pub(super) fn siblings(node: Node<'_>, is_after: bool) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.parent().unwrap_or(node).walk();
    cursor.goto_first_child_for_byte(node.start_byte());
    std::iter::from_fn(move || {
        let moved = if is_after { cursor.goto_next_sibling() } else { cursor.goto_previous_sibling() };
        moved.then(|| cursor.node())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted() {
        let count = |language, text| errors_of(&parse(language, text, &|| Ok(())).unwrap());
        assert_eq!(count(Language::JavaScript, "let a = 1;\n"), 0);
        assert!(count(Language::JavaScript, "let a = 1;\nlet b = ;\n") > 0);
        assert!(count(Language::Python, "def f(:\n    pass\n") > 0);
    }

    #[test]
    fn a_pulse_ends_the_parser() {
        let stop = || Err(Error::new(Code::Cancelled, "it was cancelled"));
        let error = parse(Language::JavaScript, &"f(".repeat(200_000), &stop).unwrap_err();
        assert_eq!(error.code(), Code::Cancelled);
    }
}
