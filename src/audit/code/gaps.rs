//! Faults that tree-sitter accepts: list commas without an element, and syntax that a second script parser rejects.

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use tree_sitter::{Node, Tree};

use super::tree;
use base::language::Language;

/// The places of lists in a tree that have no element.
pub(super) fn empty_places(tree: &Tree) -> u64 {
    tree::descend(tree.root_node()).filter(|node| node.kind() == ",").filter(|comma| is_behind_nothing(*comma)).count()
        as u64
}

/// True for a comma that follows an opening bracket or another comma. Array patterns skip elements on purpose.
fn is_behind_nothing(comma: Node<'_>) -> bool {
    if comma.parent().is_some_and(|list| list.kind() == "array_pattern") {
        return false;
    }
    let mut before = comma.prev_sibling();
    while let Some(node) = before.filter(|node| node.is_extra()) {
        before = node.prev_sibling();
    }
    before.is_some_and(|node| matches!(node.kind(), "," | "(" | "[" | "{"))
}

/// The errors of the second parser; none in other languages.
pub(crate) fn refused(path: &str, language: Language, text: &str) -> u64 {
    if !matches!(language, Language::JavaScript | Language::Tsx | Language::TypeScript) {
        return 0;
    }
    let Ok(source_type) = SourceType::from_path(path) else { return 0 };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type).parse();
    parsed.diagnostics.len() as u64 + u64::from(parsed.panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: Language, path: &str, text: &str, expected: (u64, u64)) {
        let tree = tree::parse(language, text, &|| Ok(())).unwrap();
        assert_eq!((empty_places(&tree), refused(path, language, text).min(1)), expected, "{text}");
    }

    #[test]
    fn a_comma_has_an_element_before_it() {
        let check = |text, expected| check(Language::JavaScript, "a.js", text, expected);
        check("f({ a, b: [c, d], }, (e, g))\n", (0, 0));
        check("const [, b] = f(c)\n", (0, 0));
        check("x = [a,, b]\n", (1, 0));
        check("f(, z)\n", (1, 1));
        check("f(a,, z)\n", (1, 1));
        check("x = { , z }\n", (1, 1));
        check("x = { a: 1,, z: 2 }\n", (1, 1));
        check("x = { a: 1, /* b */ , z: 2 }\n", (1, 1));
        check("import { , z } from 'a'\n", (1, 1));
    }

    #[test]
    fn other_languages_have_no_second_parser() {
        check(Language::Python, "a.py", "f(a, b,)\n", (0, 0));
        check(Language::Go, "a.go", "package a\n\nvar x = f(1, 2)\n", (0, 0));
        check(Language::TypeScript, "a.ts", "const x: [a: 1, b?: 2] = f<A, B>(1)\n", (0, 0));
    }
}
