//! One pattern or rule object for files of several languages: it is compiled for a language when a file of it is met.

use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::Value;

use super::rule::{PatternText, Rules};
use base::{error::Error, language::Language};

/// The words of a query. Either `pattern` or `rule` is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words<'a> {
    /// A pattern of code.
    pub pattern: Option<&'a str>,
    /// The kind of the node within the pattern.
    pub selector: Option<&'a str>,
    /// The name of a strictness.
    pub strictness: Option<&'a str>,
    /// A rule object.
    pub rule: Option<&'a Value>,
    /// The new text of a match.
    pub fix: Option<&'a str>,
    /// The only language.
    pub language: Option<Language>,
    /// True if a match stays that has the form of the fix.
    pub once: bool,
}

/// A query, compiled for each language once.
pub struct Query<'a> {
    words: Words<'a>,
    compiled: BTreeMap<Language, OnceLock<Result<Rules, Error>>>,
}

impl<'a> Query<'a> {
    /// A query of words. With a language it is compiled at once, so that a pattern that is no code is refused in any case.
    pub fn new(words: Words<'a>) -> Result<Self, Error> {
        let languages = Language::all().filter(|language| words.language.is_none_or(|only| only == *language));
        let query = Query { words, compiled: languages.map(|language| (language, OnceLock::new())).collect() };
        words.language.map_or(Ok(()), |language| query.rules(language).map(|_| ()))?;
        Ok(query)
    }

    /// The rules for files of a language; none if the query names another one. `invalid_input` if the pattern is no code of it.
    pub fn rules(&self, language: Language) -> Result<Option<&Rules>, Error> {
        let Some(compiled) = self.compiled.get(&language) else { return Ok(None) };
        let compile = || {
            let Words { pattern, selector, strictness, rule, fix, .. } = self.words;
            let rules = match (pattern, rule) {
                (Some(pattern), _) => Rules::of_pattern(PatternText { language, pattern, selector, strictness, fix }),
                (None, rule) => Rules::of_object(language, rule.unwrap_or(&Value::Null), fix),
            };
            let rules = rules.map_err(|error| {
                let error = error.detail("lang", language.name());
                match self.words.language {
                    Some(_) => error,
                    None => error.hint("name the language by `lang`, or narrow the glob to files of one language"),
                }
            })?;
            if self.words.once { rules.once() } else { Ok(rules) }
        };
        compiled.get_or_init(compile).as_ref().map(Some).map_err(Clone::clone)
    }
}
