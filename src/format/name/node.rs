//! Nodes of syntax trees: their texts, and those around and below them.

use tree_sitter::Node;

/// The text of a node.
pub(super) fn text_of<'s>(node: Node<'_>, text: &'s str) -> &'s str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The text of a node's child with that field.
pub(super) fn text_at<'s>(node: Node<'_>, field: &str, text: &'s str) -> &'s str {
    node.child_by_field_name(field).map_or("", |child| text_of(child, text))
}

/// The last name of a path with dots.
pub(super) fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// True if a node is the child of its parent with that field.
pub(super) fn is_field(parent: Node<'_>, node: Node<'_>, field: &str) -> bool {
    let mut cursor = parent.walk();
    parent.children_by_field_name(field, &mut cursor).any(|child| child.id() == node.id())
}

/// The nearest node around this one for which the test holds.
pub(super) fn around<'t>(node: Node<'t>, is_sought: impl Fn(Node<'t>) -> bool) -> Option<Node<'t>> {
    std::iter::successors(node.parent(), Node::parent).find(|node| is_sought(*node))
}

/// The attributes and comments before a node of Rust, from the nearest on.
pub(super) fn attributes(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let is_before = |node: &Node<'_>| matches!(node.kind(), "attribute_item" | "block_comment" | "line_comment");
    std::iter::successors(node.prev_sibling(), Node::prev_sibling).take_while(is_before)
}

/// The root of the tree of a node.
pub(super) fn root(node: Node<'_>) -> Node<'_> {
    around(node, |node| node.parent().is_none()).unwrap_or(node)
}

/// A node and all below it.
pub(super) fn nodes(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    nodes_within(node, |_| true)
}

/// A node, and those below it and below the nodes that a test lets in.
pub(super) fn nodes_within<'t>(node: Node<'t>, enters: impl Fn(Node<'t>) -> bool) -> impl Iterator<Item = Node<'t>> {
    let mut open = vec![node];
    std::iter::from_fn(move || {
        let node = open.pop()?;
        if enters(node) {
            open.extend(node.children(&mut node.walk()));
        }
        Some(node)
    })
}
