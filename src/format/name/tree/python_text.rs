//! Strings of Python that are no data: types that are written as texts, and names that a declaration repeats.

use std::ops::Range;

use tree_sitter::Node;

use super::{around, is_field, last, python_import::imported_module, root, text_at, text_of};
use crate::name::{built, word};

/// Calls that repeat the name to which their result is assigned.
const REPEATING: &[&str] =
    &["NamedTuple", "NewType", "ParamSpec", "TypeVar", "TypeVarTuple", "TypedDict", "namedtuple"];

/// Nodes that call something.
const CALLS: &[&str] = &["call"];

/// Nodes through which a type reaches its parts.
const PARTS: &[&str] = &[
    "binary_operator",
    "generic_type",
    "list",
    "member_type",
    "parenthesized_expression",
    "subscript",
    "tuple",
    "type",
    "type_parameter",
    "union_type",
];

/// True if a word of a string is a reference to a name of the code.
pub(super) fn refers(node: Node<'_>, place: &Range<usize>, text: &str) -> bool {
    let Some(string) = plain(node) else { return false };
    let quotes = ['"', '\''];
    let content = text_of(string, text).trim_start_matches(['r', 'R', 'u', 'U']).trim_matches(quotes);
    let is_type = |c: char| word::continues(c) || c.is_whitespace() || "[]., |".contains(c);
    let is_member = text[..place.start].trim_end().ends_with('.');
    if is_member || !content.chars().all(is_type) || content.contains("Literal") || content.contains("Annotated") {
        return false;
    }
    repeats(string, content, text) || is_typed(string, text) || is_exported(string, text) && !reads_exports(text)
}

/// The variable that lists what a module exports.
const EXPORTS: &str = "__all__";

/// True for a string in an `__all__` list at module level.
fn is_exported(string: Node<'_>, text: &str) -> bool {
    let is_part = |node: &Node<'_>| {
        matches!(node.kind(), "argument_list" | "binary_operator" | "list" | "parenthesized_expression" | "tuple")
    };
    let Some(whole) = around(string, |node| !is_part(&node)) else { return false };
    let list = match whole.kind() {
        "assignment" | "augmented_assignment" => whole.child_by_field_name("left").map(|left| text_of(left, text)),
        kind if CALLS.contains(&kind) => {
            called(whole, text).rsplit_once('.').filter(|(_, way)| ADDING.contains(way)).map(|(list, _)| list)
        }
        _ => None,
    };
    list == Some(EXPORTS)
        && around(whole, |node| matches!(node.kind(), "class_definition" | "function_definition")).is_none()
}

/// Methods that add to a list.
const ADDING: &[&str] = &["append", "extend"];

/// True if code reads an `__all__` list. A module may write its own list, and add the list of another module to it.
pub fn reads_exports(text: &str) -> bool {
    text.match_indices(EXPORTS).any(|(at, _)| {
        let line = text[..at].rsplit('\n').next().unwrap_or_default().trim_start();
        let rest = text[at + EXPORTS.len()..].trim_start_matches([' ', '\t']);
        let adds = ADDING.iter().any(|way| rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(way)));
        let is_written =
            rest.starts_with("+=") || rest.starts_with(':') || rest.starts_with('=') && !rest.starts_with("==");
        let is_passed_on = line.starts_with(EXPORTS) && line.ends_with('.');
        !(line.is_empty() && (adds || is_written) || is_passed_on)
    })
}

/// True if a string can't be a name that code looks up: a text that documents, the title of a test, or the
/// parameters that its values are for.
pub(super) fn is_inert(node: Node<'_>, text: &str) -> bool {
    let Some(string) = plain(node) else { return false };
    if string.parent().is_some_and(|above| above.kind() == "expression_statement") {
        return true;
    }
    let Some(call) = around(string, |node| CALLS.contains(&node.kind())) else { return false };
    let called = called(call, text);
    let is_argument = |name: &str| {
        let argument = around(string, |node| node.kind() == "keyword_argument");
        let argument = argument.filter(|argument| argument.start_byte() > call.start_byte());
        argument.and_then(|argument| argument.child_by_field_name("name")).is_some_and(|it| text_of(it, text) == name)
    };
    match called {
        "pytest.param" => is_argument("id"),
        "pytest.mark.parametrize" => is_argument("ids") || is_first(call, string),
        _ => false,
    }
}

/// Ways to reach the names of a module, a class or a scope as a dictionary.
const NAMESPACES: &[&str] =
    &["__annotations__", "__dict__", "dir(", "getmembers", "globals", "locals", "sys.modules", "vars"];

/// The string around a node, unless it has parts that are code, or is no text.
fn plain(node: Node<'_>) -> Option<Node<'_>> {
    let string = if node.kind() == "string" { node } else { node.parent().filter(|above| above.kind() == "string")? };
    let has_code = string.children(&mut string.walk()).any(|child| child.kind() == "interpolation");
    let is_joined = string.parent().is_some_and(|above| above.kind() == "concatenated_string");
    (!has_code && !is_joined).then_some(string)
}

fn called<'s>(call: Node<'_>, text: &'s str) -> &'s str {
    text_at(call, "function", text)
}

fn is_first(call: Node<'_>, string: Node<'_>) -> bool {
    let arguments = call.child_by_field_name("arguments");
    arguments.and_then(|arguments| arguments.named_child(0)).is_some_and(|first| first.id() == string.id())
}

/// True for `X = TypeVar("X")` and the like.
fn repeats(string: Node<'_>, content: &str, text: &str) -> bool {
    let Some(call) = string.parent().and_then(|arguments| arguments.parent()) else { return false };
    let Some(assignment) = call.parent().filter(|above| above.kind() == "assignment") else { return false };
    let left = assignment.child_by_field_name("left").map(|left| text_of(left, text));
    CALLS.contains(&call.kind())
        && is_first(call, string)
        && REPEATING.contains(&last(called(call, text)))
        && left == Some(content)
}

/// True for a string in the place of a type.
fn is_typed(string: Node<'_>, text: &str) -> bool {
    let mut at = string;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            kind if PARTS.contains(&kind) => {
                let base = parent.child_by_field_name("value").or_else(|| parent.named_child(0));
                let base = base.map_or("", |base| last(text_of(base, text)));
                if matches!(base, "Literal" | "Annotated") {
                    return false;
                }
                at = parent;
            }
            "typed_parameter" | "typed_default_parameter" | "assignment" => return is_field(parent, at, "type"),
            "function_definition" => return is_field(parent, at, "return_type"),
            "keyword_argument" => return is_bound(parent, text),
            "argument_list" => {
                let Some(call) = parent.parent().filter(|call| CALLS.contains(&call.kind())) else { return false };
                return is_first(call, string) && is_cast(called(call, text), root(string), text);
            }
            _ => return false,
        }
    }
    false
}

/// True for `bound="…"` of a variable of types.
fn is_bound(argument: Node<'_>, text: &str) -> bool {
    let name = argument.child_by_field_name("name").map(|name| text_of(name, text));
    let call = argument.parent().and_then(|arguments| arguments.parent());
    name == Some("bound") && call.is_some_and(|call| last(called(call, text)) == "TypeVar")
}

/// True for `cast` of the library of types.
fn is_cast(called: &str, root: Node<'_>, text: &str) -> bool {
    let (object, is_member) = called.rsplit_once('.').map_or((called, false), |(object, _)| (object, true));
    let module = imported_module(root, object, text);
    let module = module.as_deref().unwrap_or_default();
    last(called) == "cast"
        && match is_member {
            true => matches!(module, "typing" | "typing_extensions"),
            false => matches!(module, "typing.cast" | "typing_extensions.cast"),
        }
}

/// Calls that take types as texts, beside those that repeat a name.
const TYPING: &[&str] = &["ForwardRef", "cast", "create_model", "make_dataclass", "new_class"];

/// True if only code that computes names, or that has the module as a value, could look up a string.
pub(super) fn is_data(node: Node<'_>, text: &str) -> bool {
    // The list of exports may get its names in any way.
    let Some(string) = plain(node).filter(|_| !text.contains("__all__")) else { return false };
    let mut at = string;
    while let Some(parent) = at.parent().filter(|parent| parent.kind() != "block") {
        let is_name = match parent.kind() {
            "subscript" if !is_field(parent, at, "value") => {
                let value = text_at(parent, "value", text);
                last(value) == "Annotated" || NAMESPACES.iter().any(|way| value.contains(way))
            }
            "assignment" if is_field(parent, at, "right") => last(text_at(parent, "left", text)).starts_with("__"),
            "generic_type" => parent.named_child(0).is_some_and(|it| last(text_of(it, text)) == "Annotated"),
            kind if CALLS.contains(&kind) => {
                let name = last(called(parent, text));
                REPEATING.contains(&name)
                    || TYPING.contains(&name)
                    || built::is_look_up(name) && !has_plain_owner(parent)
            }
            _ => false,
        };
        if is_name {
            return false;
        }
        at = parent;
    }
    true
}

/// True if a call looks a name up in a variable: then no file has the module as a value, or all strings are in doubt.
fn has_plain_owner(call: Node<'_>) -> bool {
    let owner = call.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
    owner.is_some_and(|owner| owner.kind() == "identifier")
}
