//! Whole words of source code with their classes, and the number of its syntax errors, on trees of tree-sitter.

use std::ops::Range;

use tree_sitter::{Language as TreeLanguage, Node, Parser};

use crate::base::{
    error::{Code, Error},
    language::Language,
};

/// The class of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Code.
    Code,
    /// A string, a regular expression, or the text of markup.
    Strings,
    /// A comment.
    Comments,
}

/// The classes of the bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Classes {
    /// The class of every byte.
    bytes: Vec<Class>,
    /// The number of its syntax errors.
    pub(crate) errors: usize,
}

impl Classes {
    /// The class at a byte.
    pub(crate) fn at(&self, byte: usize) -> Class {
        self.bytes.get(byte).copied().unwrap_or(Class::Code)
    }
}

/// The places of a word that no letter, digit or `_` touches, in order; `$` is a letter in scripts and in Java.
pub(crate) fn places(language: Language, text: &str, word: &str) -> Vec<Range<usize>> {
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

/// The classes of a text.
pub(crate) fn classes(language: Language, text: &str) -> Result<Classes, Error> {
    let failed = |reason: &str| Error::new(Code::Internal, format!("the grammar of {} {reason}", language.name()));
    let mut parser = Parser::new();
    parser.set_language(&grammar(language)).map_err(|_| failed("can't be used"))?;
    let tree = parser.parse(text, None).ok_or_else(|| failed("gave no tree"))?;
    let mut classes = Classes { bytes: vec![Class::Code; text.len()], errors: 0 };
    // From the outside to the inside, so that the innermost class stays.
    let mut open: Vec<Node<'_>> = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        classes.errors += usize::from(node.is_error() || node.is_missing());
        if let Some(class) = class(node) {
            classes.bytes[node.byte_range()].fill(class);
        }
        open.extend(node.children(&mut node.walk()));
    }
    Ok(classes)
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

fn grammar(language: Language) -> TreeLanguage {
    match language {
        Language::Bash => tree_sitter_bash::LANGUAGE.into(),
        Language::C => tree_sitter_c::LANGUAGE.into(),
        Language::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
        Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        Language::Css => tree_sitter_css::LANGUAGE.into(),
        Language::Go => tree_sitter_go::LANGUAGE.into(),
        Language::Html => tree_sitter_html::LANGUAGE.into(),
        Language::Java => tree_sitter_java::LANGUAGE.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Language::Json => tree_sitter_json::LANGUAGE.into(),
        Language::Kotlin => tree_sitter_kotlin_sg::LANGUAGE.into(),
        Language::Php => tree_sitter_php::LANGUAGE_PHP_ONLY.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::Ruby => tree_sitter_ruby::LANGUAGE.into(),
        Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        Language::Yaml => tree_sitter_yaml::LANGUAGE.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: Language, text: &str, expected: &str) {
        let classes = classes(language, text).unwrap();
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
        assert_eq!(classes(Language::Go, "package a\n").unwrap().errors, 0);
        assert!(classes(Language::Go, "package a\nfunc (").unwrap().errors > 0);
    }
}
