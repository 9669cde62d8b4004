//! The grammars, as the languages that ast-grep's libraries ask for. Only languages of [`Language`] can be named, since the
//! library panics on a grammar that is not compiled in.

use std::borrow::Cow;

use ast_grep_core::{
    Node, Pattern, PatternError,
    language::Language as SyntaxLanguage,
    matcher::PatternBuilder,
    meta_var::MetaVariable,
    tree_sitter::{LanguageExt, StrDoc, TSLanguage, TSRange},
};
use ast_grep_language::SupportLang;
use serde::{Deserialize, Deserializer, de};

use base::language::Language;

/// A language with its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grammar(pub(crate) Language);

impl Grammar {
    fn library(self) -> SupportLang {
        match self.0 {
            Language::Bash => SupportLang::Bash,
            Language::C => SupportLang::C,
            Language::CSharp => SupportLang::CSharp,
            Language::Cpp => SupportLang::Cpp,
            Language::Css => SupportLang::Css,
            Language::Go => SupportLang::Go,
            Language::Html => SupportLang::Html,
            Language::Java => SupportLang::Java,
            Language::JavaScript => SupportLang::JavaScript,
            Language::Json => SupportLang::Json,
            Language::Kotlin => SupportLang::Kotlin,
            Language::Php => SupportLang::Php,
            Language::Python => SupportLang::Python,
            Language::Ruby => SupportLang::Ruby,
            Language::Rust => SupportLang::Rust,
            Language::Tsx => SupportLang::Tsx,
            Language::TypeScript => SupportLang::TypeScript,
            Language::Yaml => SupportLang::Yaml,
        }
    }
}

impl SyntaxLanguage for Grammar {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        self.library().pre_process_pattern(query)
    }

    fn meta_var_char(&self) -> char {
        self.library().meta_var_char()
    }

    fn expando_char(&self) -> char {
        self.library().expando_char()
    }

    fn extract_meta_var(&self, source: &str) -> Option<MetaVariable> {
        self.library().extract_meta_var(source)
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.library().kind_to_id(kind)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.library().field_to_id(field)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        self.library().build_pattern(builder)
    }
}

impl LanguageExt for Grammar {
    fn get_ts_language(&self) -> TSLanguage {
        self.library().get_ts_language()
    }

    fn injectable_languages(&self) -> Option<&'static [&'static str]> {
        self.library().injectable_languages()
    }

    fn extract_injections<L: LanguageExt>(&self, root: Node<'_, StrDoc<L>>) -> Vec<(String, Vec<TSRange>)> {
        self.library().extract_injections(root)
    }
}

impl<'de> Deserialize<'de> for Grammar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Language::parse(&name).map(Grammar).map_err(|error| {
            de::Error::custom(match error.hint_text() {
                Some(hint) => format!("{}: {hint}", error.message()),
                None => error.message().to_owned(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_is_compiled_in() {
        for language in Language::all() {
            assert!(Grammar(language).get_ts_language().node_kind_count() > 0, "{language:?}");
        }
    }
}
