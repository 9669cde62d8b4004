//! The grammars, and the spelling of variables in patterns. Rules are those of ast-grep: a pattern is code in which `$NAME` stands
//! for a node. Where a grammar has no `$` in names, another letter takes its place while the pattern is parsed.

use std::borrow::Cow;

use tree_sitter::Language as TreeLanguage;

use base::language::Language;

/// The kind of a node that stands for text that was not understood.
pub(super) const ERROR_KIND: u16 = u16::MAX;

/// A variable of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// `$NAME` is a named node, and `$$NAME` any node; nodes of one name are equal.
    One { name: String, is_named: bool },
    /// `$_` and `$_NAME` are not remembered.
    AnyOne { is_named: bool },
    /// `$$$NAME` is any number of nodes.
    Many(String),
    /// `$$$` is not remembered.
    AnyMany,
}

/// The grammar of a language.
pub(super) fn grammar(language: Language) -> TreeLanguage {
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

/// The number of a named kind; none if the grammar has no kind of that name.
pub(super) fn kind(language: Language, name: &str) -> Option<u16> {
    let kind = grammar(language).id_for_node_kind(name, true);
    (kind != 0).then_some(kind)
}

/// The number of a field.
pub(super) fn field(language: Language, name: &str) -> Option<u16> {
    grammar(language).field_id_for_name(name).map(std::num::NonZero::get)
}

/// The letter in place of `$` while a pattern is parsed.
fn sigil(language: Language) -> char {
    match language {
        Language::C | Language::Cpp => '\u{10000}',
        Language::CSharp
        | Language::Go
        | Language::Kotlin
        | Language::Php
        | Language::Python
        | Language::Ruby
        | Language::Rust => 'µ',
        Language::Css => '_',
        Language::Html => 'z',
        Language::Bash
        | Language::Java
        | Language::JavaScript
        | Language::Json
        | Language::Tsx
        | Language::TypeScript
        | Language::Yaml => '$',
    }
}

/// The text of a pattern as its grammar reads it: `$` before a name, and `$$$` before anything, become the letter.
pub(super) fn prepared(language: Language, pattern: &str) -> Cow<'_, str> {
    let sigil = sigil(language);
    if sigil == '$' {
        return Cow::Borrowed(pattern);
    }
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let after = from.trim_start_matches('$');
        let count = from.len() - after.len();
        let begins_name = after.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        let letter = if begins_name || count == 3 { sigil } else { '$' };
        text.push_str(before);
        text.extend(std::iter::repeat_n(letter, count));
        rest = after;
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The variable that the text of a node in a prepared pattern spells.
pub(super) fn variable(language: Language, text: &str) -> Option<Variable> {
    let sigil = sigil(language);
    let mut name = text;
    let mut count = 0;
    while count < 3 {
        let Some(rest) = name.strip_prefix(sigil) else { break };
        name = rest;
        count += 1;
    }
    let is_name = is_name(name);
    match count {
        3 if name.is_empty() => Some(Variable::AnyMany),
        1..=3 if !is_name => None,
        3 if name.starts_with('_') => Some(Variable::AnyMany),
        3 => Some(Variable::Many(name.to_owned())),
        1 | 2 if name.starts_with('_') => Some(Variable::AnyOne { is_named: count == 1 }),
        1 | 2 => Some(Variable::One { name: name.to_owned(), is_named: count == 1 }),
        _ => None,
    }
}

/// True if a text is the name of a variable: capitals, digits and underscores, without a digit at first.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| !c.is_ascii_digit()) && text.chars().all(is_name_char)
}

/// True for the characters of names.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_grammar() {
        for language in Language::all() {
            assert!(grammar(language).node_kind_count() > 0, "{language:?}");
        }
    }

    #[test]
    fn the_letter_takes_the_place_of_dollars_before_names() {
        assert_eq!(prepared(Language::Rust, "f($A, $$$B, $$$, $1, $$, \"$x\")"), "f(µA, µµµB, µµµ, $1, $$, \"$x\")");
        assert_eq!(prepared(Language::Tsx, "f($A)"), "f($A)");
        assert_eq!(prepared(Language::Go, "$"), "$");
    }

    #[test]
    fn names_spell_variables() {
        let one = |name: &str, is_named| Some(Variable::One { name: name.to_owned(), is_named });
        assert_eq!(variable(Language::Java, "$A1"), one("A1", true));
        assert_eq!(variable(Language::Java, "$$A"), one("A", false));
        assert_eq!(variable(Language::Java, "$_A"), Some(Variable::AnyOne { is_named: true }));
        assert_eq!(variable(Language::Java, "$$$"), Some(Variable::AnyMany));
        assert_eq!(variable(Language::Java, "$$$_"), Some(Variable::AnyMany));
        assert_eq!(variable(Language::Rust, "µµµARGS"), Some(Variable::Many("ARGS".to_owned())));
        assert_eq!(variable(Language::Css, "_A"), one("A", true));
        for none in ["$a", "$1", "$", "$$", "$$$1", "$Aa", "$$$$A", "A", "$A()"] {
            assert_eq!(variable(Language::Java, none), None, "{none}");
        }
    }
}
