//! Strings of Python that are no data: types that are written as texts, and names that a declaration repeats.

use std::ops::Range;

use tree_sitter::Node;

use base::language::Language;

use super::{around, is_field, python_import::imported_module, root, text_of};
use crate::name::word;

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
    repeats(string, content, text) || is_typed(string, text)
}

/// True if a string can't be a name that code looks up: a text that documents, a key of a value, the title of a test, or the
/// parameters that its values are for.
pub(super) fn is_inert(node: Node<'_>, text: &str) -> bool {
    let Some(string) = plain(node) else { return false };
    if string.parent().is_some_and(|above| above.kind() == "expression_statement") {
        return true;
    }
    if is_key(string, text) {
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

/// True for a key of a dictionary that the file itself creates: each binding of its name is `made = dict(…)` or `made = {…}`.
fn is_key(string: Node<'_>, text: &str) -> bool {
    let Some(subscript) = string.parent().filter(|above| above.kind() == "subscript") else { return false };
    let value = subscript.child_by_field_name("value").filter(|value| value.kind() == "identifier");
    let Some(name) = value.map(|value| text_of(value, text)).filter(|_| is_field(subscript, string, "subscript"))
    else {
        return false;
    };
    if NAMESPACES.iter().any(|way| text.contains(way)) {
        return false;
    }
    let root = root(string);
    let places = word::Word::new(name).places(Language::Python, text).into_iter();
    let nodes = places.filter_map(|place| root.descendant_for_byte_range(place.start, place.end));
    let mut is_created = false;
    for node in nodes.filter(|node| node.kind() == "identifier") {
        let Some(parent) = node.parent() else { return false };
        match parent.kind() {
            "assignment" if is_field(parent, node, "left") => {
                let right = parent.child_by_field_name("right");
                let creates = right.is_some_and(|right| right.kind() == "dictionary" || called(right, text) == "dict");
                if !creates {
                    return false;
                }
                is_created = true;
            }
            // Any other place may bind the name, or pass the dictionary to code that fills it.
            "subscript" if is_field(parent, node, "value") => {}
            _ => return false,
        }
    }
    is_created
}

/// The string around a node, unless it has parts that are code, or is no text.
fn plain(node: Node<'_>) -> Option<Node<'_>> {
    let string = if node.kind() == "string" { node } else { node.parent().filter(|above| above.kind() == "string")? };
    let has_code = string.children(&mut string.walk()).any(|child| child.kind() == "interpolation");
    let is_joined = string.parent().is_some_and(|above| above.kind() == "concatenated_string");
    (!has_code && !is_joined).then_some(string)
}

fn called<'s>(call: Node<'_>, text: &'s str) -> &'s str {
    call.child_by_field_name("function").map_or("", |function| text_of(function, text))
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
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

/// Functions of Python that look up no name which they get as an argument.
const PLAIN_FUNCTIONS: &[&str] = &[
    "ArithmeticError",
    "AssertionError",
    "Exception",
    "IndexError",
    "KeyError",
    "LookupError",
    "NotImplementedError",
    "OSError",
    "RuntimeError",
    "StopIteration",
    "SystemExit",
    "TypeError",
    "ValueError",
    "all",
    "any",
    "bytes",
    "dict",
    "enumerate",
    "float",
    "format",
    "frozenset",
    "input",
    "int",
    "iter",
    "len",
    "list",
    "max",
    "min",
    "next",
    "open",
    "ord",
    "print",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "zip",
];

/// Methods of texts, collections, loggers and test cases, which look up no name that they get as an argument.
const PLAIN_METHODS: &[&str] = &[
    "add",
    "append",
    "assertEqual",
    "assertIn",
    "assertNotEqual",
    "assertNotIn",
    "count",
    "critical",
    "debug",
    "discard",
    "encode",
    "endswith",
    "error",
    "exception",
    "extend",
    "find",
    "format",
    "get",
    "index",
    "info",
    "insert",
    "join",
    "log",
    "partition",
    "pop",
    "remove",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rpartition",
    "rsplit",
    "setdefault",
    "split",
    "startswith",
    "strip",
    "update",
    "warning",
    "write",
];

/// Nodes through which a value reaches the place that uses it.
const CARRIERS: &[&str] = &[
    "binary_operator",
    "boolean_operator",
    "conditional_expression",
    "dictionary",
    "expression_list",
    "keyword_argument",
    "list",
    "pair",
    "parenthesized_expression",
    "set",
    "tuple",
];

/// Nodes in which a value stays data, as far as no code computes names.
const USES: &[&str] = &[
    "assert_statement",
    "augmented_assignment",
    "case_pattern",
    "comparison_operator",
    "default_parameter",
    "dict_pattern",
    "elif_clause",
    "expression_statement",
    "for_in_clause",
    "for_statement",
    "if_clause",
    "if_statement",
    "interpolation",
    "lambda",
    "list_comprehension",
    "return_statement",
    "typed_default_parameter",
    "while_statement",
    "yield",
];

/// True if only code that computes names could look up a string: it is compared, printed, stored, or the key of a value.
pub(super) fn is_data(node: Node<'_>, text: &str) -> bool {
    // The list of exports may get its names in any way.
    let Some(string) = plain(node).filter(|_| !text.contains("__all__")) else { return false };
    let mut at = string;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            kind if CARRIERS.contains(&kind) => at = parent,
            kind if USES.contains(&kind) => return true,
            "subscript" if is_field(parent, at, "value") => at = parent,
            "subscript" => {
                let value = parent.child_by_field_name("value").map_or("", |value| text_of(value, text));
                return !NAMESPACES.iter().any(|way| value.contains(way));
            }
            "assignment" => {
                let left = parent.child_by_field_name("left").map_or("", |left| text_of(left, text));
                return is_field(parent, at, "right") && !last(left).starts_with("__");
            }
            "argument_list" => return parent.parent().is_some_and(|call| keeps_data(call, text)),
            _ => return false,
        }
    }
    false
}

/// True for a call of a function or method that looks up no name which it gets as an argument.
fn keeps_data(call: Node<'_>, text: &str) -> bool {
    let Some(function) = call.child_by_field_name("function").filter(|_| CALLS.contains(&call.kind())) else {
        return false;
    };
    let name = text_of(function, text);
    match function.kind() {
        "identifier" => PLAIN_FUNCTIONS.contains(&name),
        "attribute" => {
            let object = function.child_by_field_name("object");
            let object = object.map_or("", |object| text_of(object, text));
            PLAIN_METHODS.contains(&last(name)) && !NAMESPACES.iter().any(|way| object.contains(way))
        }
        _ => false,
    }
}
