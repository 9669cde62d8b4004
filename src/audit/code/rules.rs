//! Rules that are ready to match, from the same inputs as those of the proposer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    config,
    form::Form,
    need::Need,
    pattern::Pattern,
    reader::wrong,
    rule::{Config, Utilities},
};
use crate::document::{self, Document};
use base::{error::Error, language::Language};

/// Rules of ast-grep. What the proposer refuses may be accepted here, such as a fix with an unknown variable.
#[derive(Debug)]
pub struct Rules {
    /// Each rule with the words that it needs.
    configs: Vec<(Config, Need)>,
    pub(super) utilities: Utilities,
    /// True if comments `ast-grep-ignore` count.
    pub(super) is_suppressible: bool,
    languages: BTreeSet<Language>,
}

/// A pattern with its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct PatternText<'a> {
    /// The language.
    pub language: Language,
    /// The code, with `$NAME` for any node and `$$$NAME` for any number of them.
    pub pattern: &'a str,
    /// The kind of node within the code that is the pattern itself.
    pub selector: Option<&'a str>,
    /// The name of a strictness.
    pub strictness: Option<&'a str>,
    /// The new text, with the same variables.
    pub fix: Option<&'a str>,
}

impl Rules {
    /// The rule of a pattern. `invalid_input` if it is no code of its language.
    pub fn of_pattern(text: PatternText<'_>) -> Result<Self, Error> {
        let PatternText { language, pattern, selector, strictness, fix } = text;
        if Pattern::parse(language, pattern, selector)?.is_error() {
            return Err(wrong(format!("the pattern `{pattern}` can't be used for {}: syntax error", language.name())));
        }
        let pattern = match (selector, strictness) {
            (None, None) => Value::from(pattern),
            _ => json!({"context": pattern, "selector": selector, "strictness": strictness}),
        };
        Self::of_object(language, &json!({"pattern": pattern}), fix)
    }

    /// The rule of a rule object, as it stands below `rule` in YAML.
    pub fn of_object(language: Language, rule: &Value, fix: Option<&str>) -> Result<Self, Error> {
        let value = json!({"language": language.name(), "rule": rule, "fix": fix});
        let rules = Self::of_values(vec![("pattern".to_owned(), value)], &[])?;
        Ok(Rules { is_suppressible: false, ..rules })
    }

    /// The rules of texts in YAML, one a document, with the utilities that they refer to. Rules that are `off` are left out.
    pub fn parse(texts: &[String], utilities: &[String]) -> Result<Self, Error> {
        let mut values = Vec::new();
        for text in texts {
            values.extend(documents(text)?.into_iter().map(|document| (name(text, &document), document.value)));
        }
        let mut utility_values = Vec::new();
        for text in utilities {
            utility_values.extend(documents(text)?.into_iter().map(|document| document.value));
        }
        Self::of_values(values, &utility_values)
    }

    fn of_values(values: Vec<(String, Value)>, utilities: &[Value]) -> Result<Self, Error> {
        let utilities = config::utilities(utilities)?;
        let mut ids = BTreeSet::new();
        let mut configs = Vec::new();
        for (id, value) in values {
            if !ids.insert(id.clone()) {
                return Err(wrong(format!("two rules are called `{id}`")));
            }
            let config = config::config(&id, &value, &utilities);
            let config = config.map_err(|error| error.within(format!("the rule `{id}`")).detail("rule", id))?;
            configs.extend(config.map(|config| {
                let need = Need::of(&config.core.rule);
                (config, need)
            }));
        }
        let languages = configs.iter().map(|(config, _)| config.language).collect();
        Ok(Rules { configs, utilities, is_suppressible: true, languages })
    }

    /// The same rules, which leave a match alone that has the form of its fix.
    pub fn once(mut self) -> Result<Self, Error> {
        for (config, _) in &mut self.configs {
            let Some(fix) = &config.fix else { continue };
            if fix.before.is_some() || fix.after.is_some() {
                return Err(wrong(format!(
                    "the rule `{}` replaces neighbors of its matches, so that `once` can't be used",
                    config.id
                )));
            }
            config.form = Some(Form::parse(config.language, &fix.source)?);
        }
        Ok(self)
    }

    /// The rules for a file that may match in its text.
    pub(super) fn of_file<'r>(&'r self, path: &str, language: Language, text: &str) -> Vec<&'r Config> {
        let is_for = |config: &Config| {
            config.language == language
                && config.ignores.as_ref().is_none_or(|globs| !globs.is_match(path))
                && config.files.as_ref().is_none_or(|globs| globs.is_match(path))
        };
        let concerned = self.configs.iter().filter(|(config, need)| is_for(config) && need.may_match(text));
        concerned.map(|(config, _)| config).collect()
    }

    /// True if a rule may match in the text of a file.
    pub(crate) fn concern(&self, path: &str, language: Language, text: &str) -> bool {
        !self.of_file(path, language, text).is_empty()
    }

    /// The languages of the rules.
    pub fn languages(&self) -> &BTreeSet<Language> {
        &self.languages
    }
}

/// The documents of a text that are not empty.
fn documents(text: &str) -> Result<Vec<Document>, Error> {
    let documents = document::read_stream(text).map_err(|reason| malformed(&reason))?;
    Ok(documents.into_iter().filter(|document| !document.value.is_null()).collect())
}

/// The name of a rule: the text that stands there, even if it looks like a number.
fn name(text: &str, document: &Document) -> String {
    match document.value.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(_) => {
            let atom = document.atoms.iter().find(|atom| atom.pointer == "/id" && !atom.is_key);
            atom.and_then(|atom| text.get(atom.range.clone())).unwrap_or_default().to_owned()
        }
        None => String::new(),
    }
}

fn malformed(reason: &str) -> Error {
    wrong(format!("a rule can't be read: {reason}"))
        .hint("the form of rules is that of ast-grep: https://ast-grep.github.io/reference/yaml.html")
}
