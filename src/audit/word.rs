//! Whole words of source code with their classes, and the number of its syntax errors, on trees of tree-sitter.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::code::tree;
use base::{error::Error, language::Language, pulse::Pulse};

/// The class of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Code.
    Code,
    /// A string, a regular expression, or the text of markup.
    Strings,
    /// A comment.
    Comments,
}

/// A text as its grammar reads it, which tells the class of every byte.
#[derive(Clone, Debug)]
pub struct Classes {
    tree: Tree,
    /// The number of its syntax errors.
    pub errors: u64,
}

impl Classes {
    /// The class at a byte: that of the innermost node there that has one.
    pub fn at(&self, byte: usize) -> Class {
        let mut cursor = self.tree.walk();
        let mut found = Class::Code;
        loop {
            found = class(cursor.node()).unwrap_or(found);
            // The next child may begin after the byte.
            let is_inside = cursor.goto_first_child_for_byte(byte).is_some() && cursor.node().start_byte() <= byte;
            if !is_inside {
                return found;
            }
        }
    }
}

/// The places of a word that no letter, digit or `_` touches, in order; `$` is a letter in scripts and in Java.
pub fn places(language: Language, text: &str, word: &str) -> Vec<Range<usize>> {
    let is_letter = |c: char| match c {
        '$' => ["javascript", "typescript", "tsx", "java"].contains(&language.name()),
        _ => c == '_' || c.is_alphanumeric(),
    };
    let is_part = |c: Option<char>| c.is_some_and(is_letter);
    let found = text.match_indices(word).map(|(at, _)| at..at + word.len());
    found
        .filter(|place| !is_part(text[..place.start].chars().next_back()) && !is_part(text[place.end..].chars().next()))
        .collect()
}

/// The classes of a text. An error is that of `pulse`, or a grammar that can't be used.
pub fn classes(language: Language, text: &str, pulse: Pulse<'_>) -> Result<Classes, Error> {
    let tree = tree::parse(language, text, pulse)?;
    let errors = tree::errors_of(&tree);
    Ok(Classes { tree, errors })
}

/// The class of a node that has another than the node around it may have.
fn class(node: Node<'_>) -> Option<Class> {
    let kind = node.kind();
    let is_leaf = node.child_count() == 0;
    let is_text =
        ["string", "char_literal", "character_literal", "rune_literal", "scalar", "regex", "jsx_text", "heredoc"];
    match kind {
        "template_substitution" | "interpolation" | "string_interpolation" => Some(Class::Code),
        "constant" | "variable_name" | "lifetime" | "name" | "word" if is_leaf => Some(Class::Code),
        _ if is_leaf && kind.contains("identifier") => Some(Class::Code),
        _ if kind.contains("comment") => Some(Class::Comments),
        _ if is_text.iter().any(|part| kind.contains(part)) => Some(Class::Strings),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: Language, text: &str, expected: &str) {
        let classes = classes(language, text, &|| Ok(())).unwrap();
        let letters = places(language, text, "a").into_iter().map(|place| match classes.at(place.start) {
            Class::Code => 'C',
            Class::Strings => 'S',
            Class::Comments => '/',
        });
        assert_eq!(letters.collect::<String>(), expected, "{text}");
    }

    #[test]
    fn words_have_classes() {
        check(Language::TypeScript, "let a = 'a' + `a ${a}`; // a\n/* a */ x.a = /a/;", "CSSC//CS");
        check(Language::Tsx, "let x = <a b='a'>a {a}</a>;", "CSSCC");
        check(Language::Python, "a = f'a {a}' # a\n'''a'''", "CSC/S");
        check(Language::Rust, "fn a<'a>() { m!(a, \"a\", 'a'); } // a", "CCCSS/");
        check(Language::Java, "class a { String s = \"a\"; /** a */ int a; }", "CS/C");
        check(Language::Go, "package a\nvar a = `a` + \"a\" // a", "CCSS/");
    }

    #[test]
    fn errors_are_counted() {
        let errors = |text| classes(Language::Go, text, &|| Ok(())).unwrap().errors;
        assert_eq!(errors("package a\n"), 0);
        assert!(errors("package a\nfunc (") > 0);
    }
}
