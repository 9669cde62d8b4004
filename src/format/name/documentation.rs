//! The comments that document a declaration: those directly above it, without an empty line between.

use std::ops::Range;

use crate::code::tree::Tree;

/// The bytes of the comments above the declaration that a token belongs to.
pub fn above(tree: &Tree, token: usize) -> Vec<Range<usize>> {
    let root = tree.root().get_inner_node();
    let mut at = root.descendant_for_byte_range(token, token);
    let mut found = Vec::new();
    while let Some(node) = at {
        let mut line = node.start_position().row;
        let mut before = node.prev_sibling();
        while let Some(comment) = before.filter(|n| n.kind().contains("comment") && is_above(n.end_position(), line)) {
            // A comment behind code belongs to that code.
            let is_alone = comment.prev_sibling().is_none_or(|n| n.end_position().row < comment.start_position().row);
            if !is_alone {
                break;
            }
            found.push(comment.byte_range());
            line = comment.start_position().row;
            before = comment.prev_sibling();
        }
        if !found.is_empty() {
            break;
        }
        at = node.parent().filter(|parent| parent.start_position().row == node.start_position().row);
    }
    found
}

/// True if something that ends there stands directly above a line.
fn is_above(end: tree_sitter::Point, line: usize) -> bool {
    let last = if end.column == 0 { end.row.saturating_sub(1) } else { end.row };
    last + 1 == line
}
