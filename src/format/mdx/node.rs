//! The places of nodes in a page.

use std::ops::Range;

use ::markdown::mdast::Node;

/// The place of a node of a text that begins at a place of the page.
pub(super) fn place(node: &Node, start: usize) -> Option<Range<usize>> {
    let position = node.position()?;
    Some(start + position.start.offset..start + position.end.offset)
}
