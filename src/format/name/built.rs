//! Names that code builds while it runs: `getattr(self, "visit_" + kind)` and the like.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::{
    node::{around, is_field, last, nodes, text_at, text_of},
    word,
};
use crate::code::tree::Tree;
use base::language::Language;

/// Calls of Python that look up a member by a text, with the number of the argument that names it.
const LOOKING_UP: &[(&str, u32)] =
    &[("attrgetter", 0), ("delattr", 1), ("getattr", 1), ("hasattr", 1), ("methodcaller", 0), ("setattr", 1)];

/// Nodes of Python that call something.
const CALLS: &[&str] = &["call"];

/// The most steps from an argument to the values of variables.
const DEEPEST: usize = 4;

/// Functions of Python that reach names by texts, or that give them as texts.
const REACHING: &[&str] = &[
    "__import__",
    "_getframe",
    "currentframe",
    "eval",
    "exec",
    "exec_module",
    "getmodule",
    "globals",
    "load_module",
    "module_from_spec",
    "signature",
];

/// Functions of Python that load what the path in their first argument names.
const LOADING: &[&str] = &[
    "import_module",
    "import_object",
    "import_string",
    "load_object",
    "locate",
    "patch",
    "resolve_name",
    "run_module",
    "run_path",
];

/// Functions of Python that give the names in their argument; without one, those of the scope.
const LISTING: &[&str] = &["dir", "getmembers", "locals", "vars"];

/// Members of Python that hold names, and functions that get them.
const HOLDING: &[&str] = &[
    "__annotations__",
    "__dict__",
    "__getattr__",
    "__getattribute__",
    "__globals__",
    "f_globals",
    "f_locals",
    "modules",
];

/// Members of Python that are the name of a function or a class.
const NAMING: &[&str] = &["__code__", "__name__", "__qualname__"];

/// Nodes of Python with a scope of their own.
const SCOPES: &[&str] = &["class_definition", "function_definition", "lambda"];

/// The names that code may compute and look up.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'n> {
    /// One of them.
    pub name: &'n str,
    /// True if values may have them as members. A module has none unless code uses it as a value.
    pub of_values: bool,
    /// True if they are the names of functions or classes, which know them.
    pub has_name: bool,
}

/// True for a function that looks up a member by a text.
pub fn is_look_up(name: &str) -> bool {
    LOOKING_UP.iter().any(|(call, _)| *call == name)
}

/// True if a file of Python has to be parsed, since it may compute names and look them up.
pub fn may_compute(text: &str) -> bool {
    let words = [REACHING, LOADING, LISTING, HOLDING, NAMING].into_iter().flatten();
    LOOKING_UP.iter().map(|(call, _)| call).chain(words).any(|word| text.contains(word))
}

/// True if a file of Python may compute names and look them up.
pub fn computes(tree: &Tree, text: &str, sought: Sought<'_>) -> bool {
    nodes(tree.root().get_inner_node()).any(|node| {
        let named = |field: &str| text_at(node, field, text);
        match node.kind() {
            kind if CALLS.contains(&kind) && is_look_up(last(named("function"))) => {
                sought.of_values && argument(node, text).is_none_or(|name| !is_literal(name))
            }
            "identifier" => reaches(node, text, sought),
            "attribute" if NAMING.contains(&named("attribute")) => sought.has_name && !is_part(node),
            // `sys.modules["name"]` is a module, whatever is looked up in it.
            "attribute" if named("attribute") == "modules" => true,
            "attribute" if HOLDING.contains(&named("attribute")) => {
                !is_literal_key(node) && (sought.of_values || !matches!(named("object"), "cls" | "self"))
            }
            "function_definition" => HOLDING.contains(&named("name")),
            _ => false,
        }
    })
}

/// True if a name is that of a function by which code may reach names that it computes.
fn reaches(node: Node<'_>, text: &str, sought: Sought<'_>) -> bool {
    let word = &text[node.byte_range()];
    let attribute = node.parent().filter(|parent| parent.kind() == "attribute");
    let called = attribute.unwrap_or(node);
    let call = called.parent().filter(|call| CALLS.contains(&call.kind()));
    let call = call.filter(|call| is_field(*call, called, "function"));
    let first = call.and_then(|call| call.child_by_field_name("arguments")).and_then(|list| list.named_child(0));
    match word {
        "globals" => call.is_none_or(|call| !is_literal_key(call) && may_be_key(call, text, sought.name)),
        // A function that is a value may be called anywhere.
        _ if is_look_up(word) => sought.of_values && call.is_none(),
        // `patch.object(module, "name")` has the module as a value.
        "patch" if attribute.is_some_and(|it| is_field(it, node, "object")) => sought.of_values,
        _ if LOADING.contains(&word) => !is_import(node) && first.is_none_or(|path| !is_literal(path)),
        _ if LISTING.contains(&word) => match (call, first) {
            (Some(call), _) if is_literal_key(call) => false,
            (Some(_), Some(_)) => sought.of_values,
            (Some(_), None) => !has_scope(node),
            (None, _) => !is_import(node),
        },
        "signature" => sought.of_values,
        _ => REACHING.contains(&word),
    }
}

/// True if a name that code reads is only a part of a text.
fn is_part(node: Node<'_>) -> bool {
    let text = node.parent().filter(|above| above.kind() == "interpolation").and_then(|above| above.parent());
    text.is_some_and(|text| text.children(&mut text.walk()).any(|child| child.kind() == "string_content"))
}

/// False if the key of a value begins with a text, and the name does not.
fn may_be_key(value: Node<'_>, text: &str, name: &str) -> bool {
    let subscript = value.parent().filter(|parent| parent.kind() == "subscript");
    let key = subscript.and_then(|subscript| subscript.child_by_field_name("subscript"));
    let key = key.filter(|key| key.kind() == "string" && key.id() != value.id());
    let begin = key.and_then(|key| key.child(1)).filter(|part| part.kind() == "string_content");
    begin.is_none_or(|begin| name.starts_with(&text[begin.byte_range()]))
}

/// True for a part of an import, which calls nothing.
fn is_import(node: Node<'_>) -> bool {
    let kind = node.parent().and_then(|path| path.parent()).map_or("", |statement| statement.kind());
    matches!(kind, "import_from_statement" | "import_statement")
}

/// True within a function or a class.
fn has_scope(node: Node<'_>) -> bool {
    around(node, |above| SCOPES.contains(&above.kind())).is_some()
}

/// True for a string without parts that are code.
fn is_literal(node: Node<'_>) -> bool {
    node.kind() == "string" && !node.children(&mut node.walk()).any(|child| child.kind() == "interpolation")
}

/// True if a value is used for one name alone, as `globals()["name"]`.
fn is_literal_key(node: Node<'_>) -> bool {
    let subscript = node.parent().filter(|parent| parent.kind() == "subscript");
    let key = subscript.and_then(|subscript| subscript.child_by_field_name("subscript"));
    key.is_some_and(|key| key.id() != node.id() && is_literal(key))
}

/// True if bytes may hold a look-up, so that they have to be parsed.
pub fn may_look_up(language: Language, text: &str) -> bool {
    match language {
        Language::Python => LOOKING_UP.iter().any(|(call, _)| text.contains(call)),
        _ => ["['", "[\"", "[`", "']", "\"]", "`]"].iter().any(|mark| text.contains(mark)),
    }
}

/// True if a file of Python may list names, so that it has to be parsed.
pub fn may_list(text: &str) -> bool {
    LISTING.iter().chain(HOLDING).chain(&["globals"]).any(|word| text.contains(word))
}

/// True if a file of Python that lists names chooses some of them by a test that only one of two names passes, or by the beginning or end
/// of the old one: code may have the rest as a key.
pub fn chooses(tree: &Tree, text: &str, (from, to): (&str, &str)) -> bool {
    nodes(tree.root().get_inner_node()).any(|node| match node.kind() {
        kind if CALLS.contains(&kind) => {
            passes(node, text, from) != passes(node, text, to) || is_affix(node, text) && passes(node, text, from)
        }
        // The text of a regular expression
        "string_content" if is_pattern(text_of(node, text), from) => true,
        // `name[:3] == "on_"`
        "string_content" => {
            let affix = text_of(node, text);
            affix.ends_with('_') && from.starts_with(affix) != to.starts_with(affix)
                || affix.starts_with('_') && from.ends_with(affix) != to.ends_with(affix)
        }
        _ => false,
    })
}

/// True for a test of a name's beginning or end: code may have the rest of the name as a key.
fn is_affix(call: Node<'_>, text: &str) -> bool {
    let method = text_at(call, "function", text);
    method.ends_with(".startswith") || method.ends_with(".endswith")
}

/// True if a text is a regular expression that begins as a name does.
fn is_pattern(text: &str, name: &str) -> bool {
    let rest = text.trim_start_matches(['^', '(']);
    let begin = &rest[..word_of(rest.chars())];
    let goes_on = ["\\", "[", "(.", "(?", "(\\", ".*", ".+"].iter().any(|sign| rest[begin.len()..].starts_with(sign));
    begin.len() > 1 && goes_on && !text.contains(char::is_whitespace) && name.starts_with(begin)
}

/// True if a call may be a test that a name passes, as `name.startswith("on_")` is.
fn passes(call: Node<'_>, text: &str, name: &str) -> bool {
    let affix = |fits: &dyn Fn(&str) -> bool| {
        let mut parts = text_at(call, "arguments", text).split(['"', '\'']).skip(1).step_by(2);
        parts.any(|affix| !affix.is_empty() && fits(affix))
    };
    match last(text_at(call, "function", text)) {
        "endswith" => affix(&|affix| name.ends_with(affix)),
        "isupper" => name == name.to_uppercase(),
        "islower" => name == name.to_lowercase(),
        "startswith" => affix(&|affix| name.starts_with(affix)),
        _ => false,
    }
}

/// True if a file looks up names that it builds, and may build one of some names.
pub fn builds(language: Language, tree: &Tree, text: &str, names: &BTreeSet<String>) -> bool {
    let (mut looked_up, mut values) = (BTreeSet::new(), Values::new());
    for node in nodes(tree.root().get_inner_node()) {
        let sought = match (language, node.kind()) {
            (Language::Python, kind) if CALLS.contains(&kind) => argument(node, text),
            (Language::JavaScript | Language::Tsx | Language::TypeScript, "subscript_expression") => {
                node.child_by_field_name("index")
            }
            _ => None,
        };
        looked_up.extend(sought.map(|node| text_of(node, text)));
        let field = match node.kind() {
            "assignment" | "assignment_expression" | "augmented_assignment" => Some(("left", "right")),
            "variable_declarator" => Some(("name", "value")),
            _ => None,
        };
        let of = |field: &str| node.child_by_field_name(field).map(|node| text_of(node, text));
        if let Some((name, value)) = field.and_then(|(name, value)| Some((of(name)?, of(value)?))) {
            values.entry(name).or_default().insert(value);
        }
    }
    let mut known = BTreeSet::new();
    looked_up.into_iter().any(|sought| builds_one(sought, names, &values, (&mut known, DEEPEST)))
}

/// The texts of the values that a file assigns to a name.
type Values<'t> = BTreeMap<&'t str, BTreeSet<&'t str>>;

/// True if the text of an expression may be one of some names. The values of a variable are those that its file assigns to it.
fn builds_one<'t>(
    sought: &'t str,
    names: &BTreeSet<String>,
    values: &Values<'t>,
    (known, depth): (&mut BTreeSet<(&'t str, usize)>, usize),
) -> bool {
    if !known.insert((sought, depth)) {
        return false;
    }
    if !sought.chars().all(word::continues) {
        return names.iter().any(|name| fits(sought, name));
    }
    let mut of_variable = values.get(sought).into_iter().flatten();
    depth > 0 && of_variable.any(|value| builds_one(value, names, values, (known, depth - 1)))
}

/// The argument of a call that names a member.
fn argument<'t>(call: Node<'t>, text: &str) -> Option<Node<'t>> {
    let called = last(text_at(call, "function", text));
    let (_, at) = LOOKING_UP.iter().find(|(name, _)| *name == called)?;
    call.child_by_field_name("arguments")?.named_child(*at)
}

/// True if an expression has a string that something else is added to, and the name begins or ends with that string.
fn fits(text: &str, name: &str) -> bool {
    let quotes = text.match_indices(['"', '\'', '`']);
    quotes.map(|(at, _)| at).any(|at| {
        let (before, after) = (&text[..at], &text[at + 1..]);
        let quote = &text[at..=at];
        // `"visit_" + kind`, `f"visit_{kind}"`, `"visit_%s" % kind`
        let head = word_of(after.chars());
        let rest = &after[head..];
        let is_joined = |rest: &str| rest.strip_prefix(quote).is_some_and(|rest| rest.trim_start().starts_with('+'));
        let goes_on = rest.starts_with(['{', '%', '.']) || rest.starts_with("${") || is_joined(rest);
        let begins = head > 0 && goes_on && name.starts_with(&after[..head]);
        // `kind + "_handler"`, `f"{kind}_handler"`
        let tail = word_of(before.chars().rev());
        let start = &before[..before.len() - tail];
        let is_added = || start.strip_suffix(quote).is_some_and(|start| start.trim_end().ends_with('+'));
        let comes_after = start.ends_with('}') || is_added();
        begins || tail > 0 && comes_after && name.ends_with(&before[before.len() - tail..])
    })
}

/// The bytes of the word at the beginning of a text.
fn word_of(chars: impl Iterator<Item = char>) -> usize {
    chars.take_while(|c| word::continues(*c)).map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tree;

    fn of(language: Language, text: &str, name: &str) -> bool {
        let names = BTreeSet::from([name.to_owned()]);
        builds(language, &tree::parse(language, text, &|| Ok(())).unwrap(), text, &names)
    }

    #[test]
    fn a_name_may_be_built_of_its_beginning_or_its_end() {
        let python = |text: &str, name: &str| of(Language::Python, text, name);
        for text in
            ["getattr(a, \"visit_\" + k)", "m = f'visit_{k}'\nn = m\ngetattr(a, n)", "getattr(a, 'visit_%s' % k)"]
        {
            assert!(python(text, "visit_name"), "{text}");
            assert!(!python(text, "do_name"), "{text}");
        }
        for text in ["setattr(a, k + '_name', 1)", "hasattr(a, f'{k}_name')", "attrgetter(f'{k}_name')"] {
            assert!(python(text, "visit_name"), "{text}");
            assert!(!python(text, "visit_node"), "{text}");
        }
        for text in ["getattr(a, 'other')", "print(f'visit_{k}'); getattr(a, b)", "getattr(a, b, f'visit_{k}')"] {
            assert!(!python(text, "visit_name"), "{text}");
        }
        let script = |text: &str| of(Language::TypeScript, text, "visitName");
        for text in ["this[`visit${k}`]()", "a['visit' + k]", "const m = k + 'Name'; a[m]", "a[`${k}Name`]"] {
            assert!(script(text), "{text}");
        }
        assert!(!script("log(`visit${k}`, 'visit' + k, a[0])"));
    }
}
