//! Names that code builds while it runs: `getattr(self, "visit_" + kind)` and the like.

use tree_sitter::Node;

use super::word;
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
    "dir",
    "eval",
    "exec",
    "getmembers",
    "globals",
    "import_module",
    "import_object",
    "import_string",
    "load_object",
    "locals",
    "locate",
    "patch",
    "resolve_name",
    "run_module",
    "run_path",
    "signature",
    "vars",
];

/// Members of Python that hold names, and functions that get them.
const HOLDING: &[&str] = &[
    "__annotations__",
    "__code__",
    "__dict__",
    "__getattr__",
    "__getattribute__",
    "__name__",
    "__qualname__",
    "modules",
];

/// True if a file of Python has to be parsed, since it may compute names and look them up.
pub fn may_compute(text: &str) -> bool {
    LOOKING_UP.iter().map(|(call, _)| call).chain(REACHING).chain(HOLDING).any(|word| text.contains(word))
}

/// True if a file of Python may compute names and look them up.
pub fn computes(tree: &Tree, text: &str) -> bool {
    let root = tree.root();
    let mut open = vec![root.get_inner_node()];
    while let Some(node) = open.pop() {
        let named = |field: &str| node.child_by_field_name(field).map_or("", |name| &text[name.byte_range()]);
        let last = |path: &'static str| named(path).rsplit('.').next().unwrap_or_default();
        let is_open = match node.kind() {
            kind if CALLS.contains(&kind) && LOOKING_UP.iter().any(|(name, _)| *name == last("function")) => {
                argument(node, text).is_none_or(|name| !is_literal(name))
            }
            "identifier" => {
                let word = &text[node.byte_range()];
                let is_looking_up = LOOKING_UP.iter().any(|(name, _)| *name == word);
                // A function that is a value may be called anywhere.
                (is_looking_up || REACHING.contains(&word)) && !is_harmless(node, is_looking_up, word)
            }
            "attribute" if HOLDING.contains(&named("attribute")) => !is_literal_key(node),
            "function_definition" => HOLDING.contains(&named("name")),
            _ => false,
        };
        if is_open {
            return true;
        }
        open.extend(node.children(&mut node.walk()));
    }
    false
}

/// True if a function that reaches names is only called there: for a name that is checked, or as `vars(x)["name"]`.
fn is_harmless(node: Node<'_>, is_looking_up: bool, word: &str) -> bool {
    let attribute = node.parent().filter(|parent| parent.kind() == "attribute");
    let called = attribute.unwrap_or(node);
    let call = called.parent().filter(|call| CALLS.contains(&call.kind()));
    let call = call.filter(|call| call.child_by_field_name("function").is_some_and(|own| own.id() == called.id()));
    let gives_names = matches!(word, "globals" | "locals" | "vars");
    call.is_some_and(|call| is_looking_up || gives_names && is_literal_key(call))
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

/// True if a file looks up names that it builds, and a name is one that it may build.
pub fn builds(language: Language, tree: &Tree, text: &str, name: &str) -> bool {
    let root = tree.root();
    let root = root.get_inner_node();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let sought = match (language, node.kind()) {
            (Language::Python, kind) if CALLS.contains(&kind) => argument(node, text),
            (Language::JavaScript | Language::Tsx | Language::TypeScript, "subscript_expression") => {
                node.child_by_field_name("index")
            }
            _ => None,
        };
        if sought.is_some_and(|sought| builds_it(root, sought, (text, name), DEEPEST)) {
            return true;
        }
        open.extend(node.children(&mut node.walk()));
    }
    false
}

/// The argument of a call that names a member.
fn argument<'t>(call: Node<'t>, text: &str) -> Option<Node<'t>> {
    let called = &text[call.child_by_field_name("function")?.byte_range()];
    let called = called.rsplit('.').next().unwrap_or_default();
    let (_, at) = LOOKING_UP.iter().find(|(name, _)| *name == called)?;
    call.child_by_field_name("arguments")?.named_child(*at)
}

/// True if the text of an expression may be a name. The values of a variable are those that its file assigns to it.
fn builds_it(root: Node<'_>, sought: Node<'_>, (text, name): (&str, &str), depth: usize) -> bool {
    let own = &text[sought.byte_range()];
    if sought.kind() != "identifier" {
        return fits(own, name);
    }
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let field = match node.kind() {
            "assignment" | "assignment_expression" | "augmented_assignment" => Some(("left", "right")),
            "variable_declarator" => Some(("name", "value")),
            _ => None,
        };
        let of = |field: &str| node.child_by_field_name(field);
        let value = field.filter(|(left, _)| of(left).is_some_and(|left| text[left.byte_range()] == *own));
        if let Some(value) = value.and_then(|(_, right)| of(right))
            && depth > 0
            && builds_it(root, value, (text, name), depth - 1)
        {
            return true;
        }
        open.extend(node.children(&mut node.walk()));
    }
    false
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
        builds(language, &tree::parse(language, text, &|| Ok(())).unwrap(), text, name)
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
