//! Rules in the form of ast-grep: a pattern, or documents of YAML with `rule`, `constraints`, `utils`, `transform` and `fix`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ast_grep_config::{
    DeserializeEnv, GlobalRules, RuleCollection, RuleConfig, RuleConfigError, SerializableGlobalRule,
    SerializableRuleConfig, Severity, from_multiple,
};
use ast_grep_core::{Language as _, Pattern};
use serde_json::{Value, json};

use super::{form::Form, grammar::Grammar, literal::Need, slots::Slots, tree, verbatim};
use base::{
    error::{Code, Error},
    language::Language,
};

/// Rules that are ready to match.
pub struct Rules {
    pub(super) collection: RuleCollection<Grammar>,
    /// The texts that a file with a match of a rule holds, by rule.
    needs: BTreeMap<String, Need>,
    languages: BTreeSet<Language>,
    /// True if comments `ast-grep-ignore` count.
    pub(super) is_suppressible: bool,
    /// With `once`, the forms of the fixes by rule.
    pub(super) forms: BTreeMap<String, Form>,
    /// The variables of the fixes by rule.
    pub(super) slots: BTreeMap<String, Slots>,
}

/// A pattern of ast-grep with its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct PatternText<'a> {
    /// The language.
    pub language: Language,
    /// The code, with `$NAME` for any node and `$$$NAME` for any number of them.
    pub pattern: &'a str,
    /// The kind of node within the code that is the pattern itself.
    pub selector: Option<&'a str>,
    /// The name of a strictness of ast-grep.
    pub strictness: Option<&'a str>,
    /// The new text, with the same variables.
    pub fix: Option<&'a str>,
}

impl Rules {
    /// The rule of a pattern. `invalid_input` if it is no code of its language, or its fix has other variables.
    pub fn of_pattern(text: PatternText<'_>) -> Result<Self, Error> {
        let PatternText { language, pattern, selector, strictness, fix } = text;
        check_pattern(language, pattern, selector)?;
        let pattern = match (selector, strictness) {
            (None, None) => Value::from(pattern),
            _ => {
                let mut object = json!({"context": pattern});
                if let Some(selector) = selector {
                    object["selector"] = selector.into();
                }
                if let Some(strictness) = strictness {
                    object["strictness"] = strictness.into();
                }
                object
            }
        };
        Self::of_object(language, &json!({"pattern": pattern}), fix)
    }

    /// The rule of a rule object, as it stands below `rule` in YAML.
    pub fn of_object(language: Language, rule: &Value, fix: Option<&str>) -> Result<Self, Error> {
        let mut document = json!({"id": "pattern", "language": language.name(), "rule": rule});
        if let Some(fix) = fix {
            document["fix"] = fix.into();
        }
        // JSON is YAML.
        let rules = Self::parse(&[document.to_string()], &[])?;
        Ok(Rules { is_suppressible: false, ..rules })
    }

    /// The rules of texts in YAML, one a document, with the utility rules that they refer to. Rules that are `off` are left out.
    pub fn parse(texts: &[String], utilities: &[String]) -> Result<Self, Error> {
        let utilities = utility_rules(utilities)?;
        let mut configs = Vec::new();
        let (mut needs, mut slots) = (BTreeMap::new(), BTreeMap::new());
        for text in texts {
            let documents: Vec<SerializableRuleConfig<Grammar>> = from_multiple(text).map_err(|e| malformed(&e))?;
            for mut document in documents {
                let language = document.language.0;
                if let Some(fix) = &mut document.fix {
                    let mut value = serde_json::to_value(&*fix).unwrap_or_default();
                    if let Some(text) = verbatim::templates(&mut value).into_iter().next() {
                        slots.insert(document.id.clone(), Slots::of(text));
                    }
                    verbatim::marked_fix(language, fix)?;
                }
                for rewriter in document.rewriters.iter_mut().flatten() {
                    verbatim::marked_fix(language, &mut rewriter.fix)?;
                }
                let id = document.id.clone();
                check_variables(&document).map_err(|error| error.within(format!("the rule `{id}`")))?;
                if needs.insert(id.clone(), Need::of(&document)).is_some() {
                    return Err(wrong(format!("two rules are called `{id}`")).hint("give each rule an `id` of its own"));
                }
                configs.push(RuleConfig::try_from(document, &utilities).map_err(|error| refused(&id, &error))?);
            }
        }
        configs.retain(|config| config.severity != Severity::Off);
        let languages = configs.iter().map(|config| config.language.0).collect();
        let collection = RuleCollection::try_new(configs)
            .map_err(|error| wrong(format!("a rule has a glob that can't be used: {error}")))?;
        Ok(Rules { collection, needs, languages, is_suppressible: true, forms: BTreeMap::new(), slots })
    }

    /// The same rules, which leave a match alone that has the form of its fix. `invalid_input` if a fix can't be looked for, or fits every
    /// match of its pattern.
    pub fn once(mut self) -> Result<Self, Error> {
        let mut forms = Vec::new();
        self.collection.for_each_rule(|rule| {
            if let Some(fix) = &rule.fix {
                let values = (serde_json::to_value(fix), serde_json::to_value(&rule.core.rule));
                forms.push((
                    rule.id.clone(),
                    rule.language,
                    values.0.unwrap_or_default(),
                    values.1.unwrap_or_default(),
                ));
            }
        });
        for (id, language, mut fix, rule) in forms {
            let has = |key: &str| fix.get(key).is_some_and(|value| !value.is_null());
            if has("expandStart") || has("expandEnd") {
                let message =
                    format!("the rule `{id}` replaces neighbors of its matches, so that `once` can't be used");
                return Err(wrong(message).hint("narrow the rule so that the new text does not match"));
            }
            let Some(text) = verbatim::templates(&mut fix).into_iter().next() else { continue };
            let form = Form::new(language, &id, &verbatim::unmarked_text(text))?;
            let pattern = &rule["pattern"];
            if let Some(code) = pattern.as_str().or_else(|| pattern["context"].as_str()) {
                self.check_form((&id, &form), language, code)?;
            }
            self.forms.insert(id, form);
        }
        Ok(self)
    }

    /// `invalid_input` if the code of a pattern, which is a match of it, has the form of the fix.
    fn check_form(&self, (id, form): (&str, &Form), language: Grammar, pattern: &str) -> Result<(), Error> {
        let code = language.pre_process_pattern(pattern).into_owned();
        let tree = tree::parse(language.0, &code, &|| Ok(()))?;
        let mut is_general = false;
        self.collection.for_each_rule(|rule| {
            is_general |= rule.id == id && tree.root().find(&rule.matcher).is_some_and(|found| form.has(&found));
        });
        match is_general {
            false => Ok(()),
            true => {
                let message = format!(
                    "`once` can't tell which matches of the rule `{id}` are rewritten: the fix fits all of them"
                );
                Err(wrong(message).hint("leave `once` out if the new text does not match, or narrow the pattern"))
            }
        }
    }

    /// The language of a rule.
    pub(crate) fn language_of(&self, id: &str) -> Option<Language> {
        let mut language = None;
        self.collection.for_each_rule(|rule| {
            if rule.id == id {
                language = Some(rule.language.0);
            }
        });
        language
    }

    /// True if a rule may match in a text.
    pub(crate) fn concern(&self, path: &str, language: Language, text: &str) -> bool {
        self.languages.contains(&language) && !self.of_file(path, language, text).is_empty()
    }

    /// The rules for a file, without those that can't match its text.
    pub(super) fn of_file(&self, path: &str, language: Language, text: &str) -> Vec<&RuleConfig<Grammar>> {
        let mut rules = self.collection.get_rule_from_lang(Path::new(path), Grammar(language));
        rules.retain(|rule| self.needs.get(&rule.id).is_none_or(|need| need.is_met(text)));
        rules
    }
}

/// `invalid_input` if a fix has `$NAME` where the rule has `$$$NAME` alone, or the other way round: ast-grep leaves it out of the new text.
fn check_variables(rule: &SerializableRuleConfig<Grammar>) -> Result<(), Error> {
    let value = |value: Result<Value, serde_json::Error>| value.unwrap_or_default();
    let core = value(serde_json::to_value(&rule.core));
    let bound = variables(&core.to_string());
    let mut fix = value(serde_json::to_value(&rule.fix));
    let made = &core["transform"];
    for (name, is_many) in verbatim::templates(&mut fix).into_iter().flat_map(|text| variables(text)) {
        let has = |is_many: bool| bound.contains(&(name.clone(), is_many));
        if !has(is_many) && has(!is_many) && made.get(&name).is_none() {
            let sigil = |is_many: bool| if is_many { "$$$" } else { "$" };
            let message =
                format!("the fix has `{}{name}`, which is `{}{name}` in the rule", sigil(is_many), sigil(!is_many));
            return Err(wrong(message).hint("write the variable of the fix as it is in the rule"));
        }
    }
    Ok(())
}

/// The names of the variables in a text; true for those of `$$$`.
fn variables(text: &str) -> BTreeSet<(String, bool)> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = rest[at..].trim_start_matches('$');
        let dollars = rest.len() - at - after.len();
        let end = after.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let name = &after[..end.unwrap_or(after.len())];
        if !name.is_empty() {
            found.insert((name.to_owned(), dollars >= 3));
        }
        rest = &after[name.len()..];
    }
    found
}

/// Utility rules from texts in YAML, one a document.
fn utility_rules(texts: &[String]) -> Result<GlobalRules, Error> {
    let mut rules: Vec<SerializableGlobalRule<Grammar>> = Vec::new();
    for text in texts {
        rules.extend(from_multiple::<SerializableGlobalRule<Grammar>>(text).map_err(|e| malformed(&e))?);
    }
    DeserializeEnv::parse_global_utils(rules)
        .map_err(|error| wrong(format!("the utility rules are wrong: {}", chain(&error))))
}

/// `invalid_input` if a pattern is no code.
fn check_pattern(language: Language, text: &str, selector: Option<&str>) -> Result<(), Error> {
    let grammar = Grammar(language);
    let of = |reason: String| {
        wrong(format!("the pattern `{text}` can't be used for {}: {reason}", language.name())).hint(
            "a pattern is one complete piece of code; give more code around it, and `selector`, the kind of its node",
        )
    };
    let pattern = match selector {
        None => Pattern::try_new(text, grammar),
        Some(selector) => Pattern::contextual(text, selector, grammar),
    };
    let pattern = pattern.map_err(|error| of(error.to_string()))?;
    if pattern.has_error() { Err(of("it has a syntax error".to_owned())) } else { Ok(()) }
}

fn wrong(message: String) -> Error {
    Error::new(Code::InvalidInput, message)
}

fn malformed(error: &dyn std::error::Error) -> Error {
    wrong(format!("a rule can't be read: {}", chain(error)))
        .hint("the form of rules is that of ast-grep: https://ast-grep.github.io/reference/yaml.html")
}

fn refused(id: &str, error: &RuleConfigError) -> Error {
    wrong(format!("the rule `{id}` can't be used: {}", chain(error)))
        .detail("rule", id)
        .hint("https://ast-grep.github.io/reference/rule.html lists the parts of a rule")
}

/// The messages of an error and of its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut parts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        parts.push(error.to_string());
        cause = error.source();
    }
    parts.dedup();
    parts.iter().map(|part| part.trim().trim_end_matches('.').replace('\n', " ")).collect::<Vec<_>>().join(": ")
}
