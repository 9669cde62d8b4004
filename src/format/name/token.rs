//! The places of a name in a syntax tree: code, a string or a comment.

use std::ops::Range;

use tree_sitter::Node;

use crate::code::tree::Tree;

/// The class of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A token of the code.
    Code,
    /// Within a string, a regular expression or the text of markup.
    Strings,
    /// Within a comment.
    Comments,
}

/// The part that a token plays by the form of its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// It declares the name.
    Declaration,
    /// It follows a dot or the like, or is the key of a value.
    Member,
    /// Anything else.
    Other,
}

/// A place of the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its bytes.
    pub range: Range<usize>,
    /// Its class.
    pub class: Class,
    /// The part that it plays by the form of its surroundings.
    pub part: Part,
    /// True if it is a token by itself, and no part of a longer one.
    pub is_whole: bool,
    /// The bytes of the smallest node around it: in a string, its text.
    pub around: Range<usize>,
}

/// The places of a name in the tree of its text, in the same order.
pub fn tokens(tree: &Tree, places: Vec<Range<usize>>) -> Vec<Token> {
    let root = tree.root().get_inner_node();
    places.into_iter().map(|range| token(&root, range)).collect()
}

fn token(root: &Node<'_>, range: Range<usize>) -> Token {
    let Some(node) = root.descendant_for_byte_range(range.start, range.end) else {
        let around = range.clone();
        return Token { range, class: Class::Code, part: Part::Other, is_whole: false, around };
    };
    let class = class(node);
    let is_whole = class == Class::Code && node.child_count() == 0 && node.byte_range() == range;
    Token { range, class, part: part(node), is_whole, around: node.byte_range() }
}

/// Parts of the kinds of nodes that name a member.
const MEMBERS: &[&str] = &["member_access", "member_call", "scoped_call", "class_constant_access"];

fn part(node: Node<'_>) -> Part {
    let Some(parent) = node.parent() else { return Part::Other };
    let mut cursor = parent.walk();
    let mut at = parent.children(&mut cursor).position(|child| child.id() == node.id()).into_iter();
    let field = at.next().and_then(|at| parent.field_name_for_child(u32::try_from(at).ok()?)).unwrap_or_default();
    let is_declaring =
        ["declarat", "definition", "_item", "_spec", "parameter", "class", "method", "function", "module"];
    match field {
        "property" | "field" | "attribute" | "key" | "member" => Part::Member,
        "method" if parent.child_by_field_name("receiver").is_some() => Part::Member,
        "name" if MEMBERS.iter().any(|part| parent.kind().contains(part)) => Part::Member,
        _ if parent.kind() == "navigation_suffix" => Part::Member,
        // An argument of a command is no variable.
        "argument" if node.kind() == "word" => Part::Member,
        _ if node.kind().contains("property") || node.kind().contains("field_identifier") => Part::Member,
        "name" | "declarator" | "pattern" | "alias" if is_declaring.iter().any(|part| parent.kind().contains(part)) => {
            Part::Declaration
        }
        "left" if parent.kind().contains("assignment") => Part::Declaration,
        "name" if parent.kind() == "variable_assignment" => Part::Declaration,
        _ => Part::Other,
    }
}

fn class(node: Node<'_>) -> Class {
    let kind = node.kind();
    if node.child_count() == 0 && is_name(kind) {
        return Class::Code;
    }
    let mut at = Some(node);
    while let Some(node) = at {
        match node.kind() {
            kind if kind.contains("comment") => return Class::Comments,
            // What stands in the braces of a template is code.
            "template_substitution" | "interpolation" | "string_interpolation" => return Class::Code,
            kind if TEXTS.iter().any(|part| kind.contains(part)) => return Class::Strings,
            _ => at = node.parent(),
        }
    }
    Class::Code
}

/// Parts of the kinds of nodes that hold text.
const TEXTS: &[&str] =
    &["string", "char_literal", "character_literal", "rune_literal", "scalar", "regex", "jsx_text", "heredoc"];

/// True for a kind of node that is a name, also where it stands in the braces of a string.
fn is_name(kind: &str) -> bool {
    kind.contains("identifier") || matches!(kind, "constant" | "variable_name" | "lifetime" | "name" | "word")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{code::tree, name::word::Word};
    use base::language::Language;

    #[track_caller]
    fn check(language: Language, text: &str, expected: &str) {
        let tree = tree::parse(language, text, &|| Ok(())).unwrap();
        let tokens = tokens(&tree, Word::new("a").places(language, text));
        let letters = tokens.iter().map(|token| match (token.class, token.is_whole) {
            (Class::Code, true) => 'C',
            (Class::Code, false) => 'P',
            (Class::Strings, _) => 'S',
            (Class::Comments, _) => '/',
        });
        assert_eq!(letters.collect::<String>(), expected, "{text}");
    }

    #[test]
    fn places_have_classes() {
        check(Language::TypeScript, "let a = 'a' + `a ${a}`; // a\n/* a */ x.a = /a/;", "CSSC//CS");
        check(Language::Tsx, "let x = <a b='a'>a {a}</a>;", "CSSCC");
        check(Language::Python, "a = f'a {a}' # a\n'''a'''", "CSC/S");
        check(Language::Rust, "fn a<'a>() { m!(a, \"a\", 'a'); } // a", "CCCSS/");
        check(Language::Go, "package a\nvar a = `a` + \"a\" // a\nvar r = 'a'", "CCSS/S");
        check(Language::Java, "class a { String s = \"a\"; char c = 'a'; /** a */ int a; }", "CSS/C");
        check(Language::Bash, "a=1; echo \"$a a\" a # a", "CCSC/");
        check(Language::Ruby, "a = \"a #{a}\" # a", "CSC/");
        check(Language::C, "int a = 'a'; // a\nchar *s = \"a\";", "CS/S");
    }
}
