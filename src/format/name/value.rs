//! Python functions and modules that code uses as values, so that other names may reach them.

use tree_sitter::Node;

use super::{
    node::{is_field, last, text_at, text_of},
    tree::{Imported, imported, imported_modules},
    word::Word,
};
use crate::code::tree::Tree;
use base::language::Language;

/// Nodes that call something.
const CALLS: &[&str] = &["call"];

/// True if code uses the name as a value: other than in its declaration, a call, an import or a type.
pub fn escapes(tree: &Tree, text: &str, name: &str) -> bool {
    let root = tree.root().get_inner_node();
    places(root, text, name).any(|node| match node.kind() {
        "identifier" => is_value(node, name),
        // Code looks it up by its name.
        kind => kind == "string_content" && node.utf8_text(text.as_bytes()) == Ok(name),
    })
}

/// True if code passes the thing of a name on as a value, by which a library may register it under its name.
pub fn is_passed(tree: &Tree, text: &str, name: &str) -> bool {
    let root = tree.root().get_inner_node();
    places(root, text, name).any(|node| node.kind() == "identifier" && is_value(node, name) && !is_checked(node, text))
}

/// Functions that register nothing which they get.
const PLAIN: &[&str] = &["filter", "isinstance", "issubclass", "map", "max", "min", "partial", "print", "sorted"];

/// True if a value only tells a type, is raised or compared, or goes to a function that registers nothing.
fn is_checked(node: Node<'_>, text: &str) -> bool {
    let mut at = node;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            "comparison_operator" | "except_clause" | "raise_statement" | "type" | "class_definition" => return true,
            kind if CALLS.contains(&kind) => {
                return PLAIN.contains(&last(text_at(parent, "function", text)));
            }
            "attribute" | "argument_list" | "binary_operator" | "subscript" | "tuple" | "as_pattern" => at = parent,
            "keyword_argument" if text_at(parent, "name", text) == "key" => return true,
            _ => return false,
        }
    }
    false
}

/// True if a call of the name takes a dictionary of arguments, as `f(**arguments)` does.
pub fn has_dictionary(tree: &Tree, text: &str, name: &str) -> bool {
    let root = tree.root().get_inner_node();
    places(root, text, name).any(|node| {
        let path = node.parent().filter(|above| above.kind() == "attribute").unwrap_or(node);
        let call = path.parent().filter(|above| CALLS.contains(&above.kind()));
        let arguments = call.and_then(|call| call.child_by_field_name("arguments"));
        arguments
            .is_some_and(|list| list.children(&mut list.walk()).any(|argument| argument.kind() == "dictionary_splat"))
    })
}

/// The innermost nodes at the places of a word.
fn places<'t>(root: Node<'t>, text: &str, word: &str) -> impl Iterator<Item = Node<'t>> {
    let places = Word::new(word).places(Language::Python, text).into_iter();
    places.filter_map(move |range| root.descendant_for_byte_range(range.start, range.end))
}

/// The imported modules that a file uses as values, as it writes them. A result may also be a name that a module declares.
pub fn modules(tree: &Tree, text: &str) -> Vec<String> {
    let root = tree.root().get_inner_node();
    let mut found = Vec::new();
    for Imported { local, .. } in imported(root, text) {
        for node in places(root, text, local).filter(|node| node.kind() == "identifier") {
            // In `a.b.c`, the module may be any prefix.
            let mut path = node;
            while let Some(above) =
                path.parent().filter(|above| above.kind() == "attribute" && is_field(*above, path, "object"))
            {
                path = above;
            }
            if is_whole(path) {
                found.extend(imported_modules(root, text_of(path, text), text));
            }
        }
    }
    found
}

/// True for a path that is neither called nor part of an import.
fn is_whole(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    let is = |field: &str| is_field(parent, node, field);
    match parent.kind() {
        "attribute" | "aliased_import" | "dotted_name" => false,
        "keyword_argument" => !is("name"),
        kind if CALLS.contains(&kind) => !is("function"),
        _ => true,
    }
}

fn is_value(node: Node<'_>, name: &str) -> bool {
    let mut at = node;
    while let Some(parent) = at.parent() {
        let is = |field: &str| is_field(parent, at, field);
        match parent.kind() {
            "attribute" if is("attribute") => at = parent,
            kind if CALLS.contains(&kind) => return !is("function"),
            // A subclass passes arguments on.
            "argument_list" => return true,
            "aliased_import" => return false,
            "function_definition" | "class_definition" => return !is("name"),
            // A function may be called through its members; members of a class are separate.
            "attribute" => return !name.starts_with(char::is_uppercase),
            "dotted_name" | "import_from_statement" | "import_statement" | "type" => return false,
            "keyword_argument" => return !is("name"),
            "assignment" | "for_statement" | "named_expression" => return !is("left") && !is("name"),
            _ => return true,
        }
    }
    false
}
