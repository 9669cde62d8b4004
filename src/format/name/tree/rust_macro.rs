//! The arguments of standard macros as ordinary code, so that the rules of scope read them.
//!
//! `assert!(a, "{b}")` becomes a call with the arguments `a`, `"{b}"` and `b`. Each byte knows the byte of the source that it
//! stands for. A macro that is not one of the standard library keeps its form.

use std::{collections::BTreeSet, ops::Range};

use tree_sitter::Node;

use super::{around, nodes_within, text_at, text_of};
use crate::{
    code::tree::{self, Tree},
    name::outline::{What, outline},
};
use base::language::Language;

/// The form of a macro's arguments.
#[derive(Clone, Copy)]
enum Arguments {
    /// Expressions; the number is the place of a format string among them.
    Format(usize),
    /// Expressions without a format string.
    Plain,
    /// The elements of an array.
    Array,
    /// An expression and a pattern.
    Pattern,
    /// Declarations.
    Items,
}

/// Macros of the standard library that take code.
const MACROS: &[(Arguments, &[&str])] = &[
    (
        Arguments::Format(0),
        &[
            "eprint",
            "eprintln",
            "format",
            "format_args",
            "panic",
            "print",
            "println",
            "todo",
            "unimplemented",
            "unreachable",
        ],
    ),
    (Arguments::Format(1), &["assert", "debug_assert", "write", "writeln"]),
    (Arguments::Format(2), &["assert_eq", "assert_ne", "debug_assert_eq", "debug_assert_ne"]),
    (Arguments::Plain, &["dbg"]),
    (Arguments::Array, &["vec"]),
    (Arguments::Pattern, &["matches"]),
    (Arguments::Items, &["thread_local"]),
];

/// Macros of the standard library that take texts alone, and capture nothing.
const OF_TEXTS: &[&str] = &["concat", "env", "include", "include_bytes", "include_str", "option_env"];

/// The deepest nesting of macros that is read.
const DEEPEST: usize = 12;

/// The byte of the source for a byte that the source does not have.
const NONE: usize = usize::MAX;

/// A source with the arguments of standard macros as code.
pub(super) struct Expanded {
    pub(super) text: String,
    pub(super) tree: Tree,
    /// The names of the macros that were read.
    pub(super) macros: BTreeSet<String>,
    origin: Vec<usize>,
}

impl Expanded {
    /// The bytes of the source that a token stands for.
    pub(super) fn source(&self, range: &Range<usize>) -> Range<usize> {
        let at = self.origin.get(range.start).copied().unwrap_or(range.start);
        at..at + range.len()
    }
}

/// A part of a text that takes the place of a macro.
enum Part {
    /// Bytes of the text.
    Kept(Range<usize>),
    /// Other bytes.
    New(&'static str),
}

/// Expands the macro calls that contain one of the names; none if no call does.
pub(super) fn expanded(whole: &Tree, text: &str, names: [&str; 2]) -> Option<Expanded> {
    let root = whole.root().get_inner_node();
    let mut own = None;
    let mut macros = BTreeSet::new();
    let (mut now, mut read): (String, Option<(Tree, Vec<usize>)>) = (text.to_owned(), None);
    for _ in 0..DEEPEST {
        let node = read.as_ref().map_or(root, |(tree, _)| tree.root().get_inner_node());
        let mut edits = Vec::new();
        let enters = |node: Node<'_>| !matches!(node.kind(), "macro_definition" | "macro_invocation" | "token_tree");
        for call in nodes_within(node, enters).filter(|node| node.kind() == "macro_invocation") {
            let name = name_of(call, &now);
            let is_named = names.iter().any(|name| text_of(call, &now).contains(name));
            if is_named
                && let Some((form, _)) = MACROS.iter().find(|(_, known)| known.contains(&name))
                && !own.get_or_insert_with(|| own_macros(whole, text)).contains(name)
                && let Some(parts) = parts(call, *form, &now)
            {
                macros.insert(name.to_owned());
                edits.push((call.byte_range(), parts));
            }
        }
        if edits.is_empty() {
            break;
        }
        let origin = read.as_ref().map(|(_, origin)| origin.as_slice());
        let (next, origin) = applied(&now, origin, edits);
        let Ok(tree) = tree::parse(Language::Rust, &next, &|| Ok(())) else { break };
        // What does not become code keeps its form, and its names are in doubt.
        if !tree::error_lines(&tree).is_empty() {
            break;
        }
        (now, read) = (next, Some((tree, origin)));
    }
    let (tree, origin) = read?;
    Some(Expanded { text: now, tree, macros, origin })
}

/// The last name of a macro, if it is one of the standard library by its path.
fn name_of<'s>(call: Node<'_>, text: &'s str) -> &'s str {
    let path = text_at(call, "macro", text);
    let path = path.strip_prefix("::").unwrap_or(path);
    ["alloc::", "core::", "std::"].iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path)
}

/// The names of macros that a file defines or imports from other libraries than the standard one.
fn own_macros(tree: &Tree, text: &str) -> BTreeSet<String> {
    let is_standard = |path: &str| ["alloc::", "core::", "std::"].iter().any(|root| path.starts_with(root));
    let entries = outline(tree, text).modules.into_iter().flat_map(|module| module.entries);
    let imported = entries.filter(|entry| matches!(&entry.what, What::Use(path) if !is_standard(path)));
    imported.map(|entry| entry.name).chain(defined(text).map(str::to_owned)).collect()
}

/// The names of the macros that a text defines.
pub fn defined(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("macro_rules!").map(|(at, sign)| {
        let rest = text[at + sign.len()..].trim_start();
        let end = rest.find(|c: char| !(c == '_' || c.is_alphanumeric())).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// Applies edits that do not overlap.
fn applied(text: &str, origin: Option<&[usize]>, mut edits: Vec<(Range<usize>, Vec<Part>)>) -> (String, Vec<usize>) {
    edits.sort_by_key(|(range, _)| range.start);
    let (mut next, mut bytes) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let mut keep = |next: &mut String, range: Range<usize>| {
        next.push_str(&text[range.clone()]);
        bytes.extend(range.map(|at| origin.map_or(at, |origin| origin[at])));
        bytes.len()
    };
    let mut at = 0;
    let mut new = Vec::new();
    for (range, parts) in edits {
        keep(&mut next, at..range.start);
        for part in parts {
            match part {
                Part::Kept(range) => drop(keep(&mut next, range)),
                Part::New(text) => {
                    new.push((next.len(), text.len()));
                    next.push_str(text);
                    keep(&mut next, 0..0);
                }
            }
        }
        at = range.end;
    }
    keep(&mut next, at..text.len());
    let mut origin = Vec::with_capacity(next.len());
    let mut rest = bytes.into_iter();
    for (begin, len) in new {
        origin.extend(rest.by_ref().take(begin - origin.len()));
        origin.extend(std::iter::repeat_n(NONE, len));
    }
    origin.extend(rest);
    (next, origin)
}

/// The code that takes the place of a macro; none if its arguments have another form.
fn parts(call: Node<'_>, form: Arguments, text: &str) -> Option<Vec<Part>> {
    let list = call.children(&mut call.walk()).find(|child| child.kind() == "token_tree")?;
    let inner = list.start_byte() + 1..list.end_byte() - 1;
    let (begin, end) = match form {
        Arguments::Format(_) | Arguments::Plain if text_of(list, text).starts_with('{') => ("{0(", ")}"),
        Arguments::Format(_) | Arguments::Plain => ("0(", ")"),
        Arguments::Array => ("[", "]"),
        Arguments::Pattern => ("(match (", "=> 0})"),
        Arguments::Items => (" ", ";"),
    };
    let mut parts = vec![Part::New(begin)];
    match form {
        Arguments::Plain | Arguments::Array | Arguments::Items => parts.push(Part::Kept(inner)),
        Arguments::Pattern => {
            let comma = pattern_after(list, text)?;
            let pattern = text[comma + 1..inner.end].trim_end().trim_end_matches(',');
            let pattern = comma + 1..comma + 1 + pattern.len();
            parts.extend([Part::Kept(inner.start..comma), Part::New(") {"), Part::Kept(pattern)]);
        }
        Arguments::Format(place) => formatted(inner, place, text, &mut parts)?,
    }
    parts.push(Part::New(end));
    Some(parts)
}

/// The comma between the value and the pattern of `matches!`.
fn pattern_after(list: Node<'_>, text: &str) -> Option<usize> {
    let (begin, end) = (list.start_byte() + 1, list.end_byte() - 1);
    let commas: Vec<usize> = list
        .children(&mut list.walk())
        .filter(|child| text_of(*child, text) == ",")
        .map(|comma| comma.start_byte())
        .collect();
    commas.into_iter().find(|comma| {
        let pattern = text[comma + 1..end].trim_end().trim_end_matches(',');
        parsed(&format!("fn f() {{ match ({}) {{{pattern}=> 0}} }}", &text[begin..*comma])).is_some()
    })
}

/// The tree of a text without syntax errors.
fn parsed(text: &str) -> Option<Tree> {
    let tree = tree::parse(Language::Rust, text, &|| Ok(())).ok()?;
    tree::error_lines(&tree).is_empty().then_some(tree)
}

/// Adds arguments, with the names that the format string among them captures.
fn formatted(inner: Range<usize>, place: usize, text: &str, parts: &mut Vec<Part>) -> Option<()> {
    const BEFORE: &str = "fn f() { 0(";
    let tree = parsed(&format!("{BEFORE}{}); }}", &text[inner.clone()]))?;
    let root = tree.root();
    let within = |range: Range<usize>| {
        let at = |byte: usize| byte - BEFORE.len() + inner.start;
        at(range.start)..at(range.end)
    };
    let list = root.get_inner_node().descendant_for_byte_range(BEFORE.len() - 1, BEFORE.len())?.parent()?;
    let is_argument = |node: &Node<'_>| node.is_named() && !node.kind().ends_with("comment");
    let (mut named, mut literal) = (BTreeSet::new(), None);
    for (n, argument) in list.children(&mut list.walk()).filter(is_argument).enumerate() {
        let name = argument.child_by_field_name("left").filter(|left| left.kind() == "identifier");
        match name.filter(|_| argument.kind() == "assignment_expression") {
            // The name of an argument is that of nothing else.
            Some(name) => {
                let (name, value) = (within(name.byte_range()), argument.child_by_field_name("right")?);
                named.insert(&text[name.clone()]);
                parts.extend([Part::New("\"\"."), Part::Kept(name), Part::New(", ")]);
                parts.push(Part::Kept(within(value.byte_range())));
            }
            None => parts.push(Part::Kept(within(argument.byte_range()))),
        }
        parts.push(Part::New(", "));
        if n == place {
            literal = Some((within(argument.byte_range()), argument.kind() == "raw_string_literal"))
                .filter(|_| matches!(argument.kind(), "raw_string_literal" | "string_literal"));
        }
    }
    let Some((literal, is_raw)) = literal else { return Some(()) };
    for name in captured(&text[literal.clone()], is_raw)? {
        let name = literal.start + name.start..literal.start + name.end;
        if named.contains(&text[name.clone()]) {
            continue;
        }
        // No word begins after a digit, so that the name can't be changed there.
        match text[..name.start].ends_with('0') {
            true => parts.extend([Part::New("__after_zero!("), Part::Kept(name), Part::New("), ")]),
            false => parts.extend([Part::Kept(name), Part::New(", ")]),
        }
    }
    Some(())
}

/// The names that a format string captures; none if the literal is not a format string.
fn captured(literal: &str, is_raw: bool) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut rest = literal.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' if !is_raw => {
                let is_code = rest.next().is_some_and(|(_, c)| c == 'u');
                // The braces of `\u{41}` belong to the escape.
                if is_code {
                    rest.find(|(_, c)| *c == '}');
                }
            }
            '{' if rest.next_if(|(_, c)| *c == '{').is_some() => {}
            '{' => {
                let end = at + literal[at..].find('}')?;
                placeholder(literal, at + 1..end, &mut found);
                rest.find(|(place, _)| *place == end);
            }
            _ => {}
        }
    }
    Some(found)
}

/// Adds the names in a placeholder, such as `name:>width$.precision$`.
fn placeholder(literal: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let inner = &literal[range.clone()];
    let is_letter = |c: char| c == '_' || c.is_alphanumeric();
    let is_name = |name: &str| name.starts_with(|c: char| c == '_' || c.is_alphabetic()) && name.chars().all(is_letter);
    let (name, form) = inner.split_once(':').unwrap_or((inner, ""));
    let blank = name.len() - name.trim_start().len();
    if is_name(name.trim()) {
        let begin = range.start + blank;
        found.push(begin..begin + name.trim().len());
    }
    let form_at = range.end - form.len();
    for (dollar, _) in form.match_indices('$') {
        let begin = form[..dollar]
            .rfind(|c: char| !is_letter(c))
            .map_or(0, |before| before + form[before..].chars().next().map_or(1, char::len_utf8));
        // A zero before a width is a sign.
        let begin = begin + usize::from(form[begin..dollar].starts_with('0'));
        if is_name(&form[begin..dollar]) {
            found.push(form_at + begin..form_at + dollar);
        }
    }
}

/// True if a string stands in a macro that may capture a name by it.
pub(super) fn may_capture(node: Node<'_>, place: &Range<usize>, text: &str) -> bool {
    let Some(call) = around(node, |n| matches!(n.kind(), "macro_definition" | "macro_invocation" | "token_tree"))
    else {
        return false;
    };
    let sign = call.prev_sibling().filter(|sign| text_of(*sign, text) == "!");
    let inner = sign.and_then(|sign| sign.prev_sibling()).map_or("", |name| text_of(name, text));
    let outer = call.parent().filter(|call| call.kind() == "macro_invocation").map_or("", |call| name_of(call, text));
    !OF_TEXTS.contains(&inner) && !OF_TEXTS.contains(&outer) && captures(&text[..place.start], &text[place.end..])
}

/// True if a format string captures a name, by the texts before and after it.
pub(super) fn captures(before: &str, after: &str) -> bool {
    let after = after.trim_start();
    let is_argument = before.trim_end().ends_with('{')
        && (after.starts_with('}') || after.starts_with(':') && !after.starts_with("::"));
    is_argument || after.starts_with('$')
}
