//! Rule objects in YAML as rules.
//!
//! A key that ast-grep refuses is refused here too. In a relation it ignores unknown keys, so that they are ignored here.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::{Map, Value};

use super::{
    grammar,
    pattern::{Pattern, Strictness},
    rule::{Kinds, Nth, Place, Relation, Rule, Stop},
    selector,
};
use base::{
    error::{Code, Error},
    language::Language,
};

const KEYS: &[&str] = &[
    "pattern", "kind", "regex", "nthChild", "range", "all", "any", "not", "matches", "inside", "has", "precedes",
    "follows",
];

/// A rule that can be referred to, as far as it is known while others are read.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The kinds of its matches.
    pub(super) kinds: Kinds,
    /// Its parameters.
    pub(super) parameters: Vec<String>,
}

/// A reader of rule objects.
#[derive(Debug)]
pub(super) struct Reader {
    /// The language of the code.
    pub(super) language: Language,
    /// The rules that can be referred to, those of the file and the utilities.
    pub(super) known: BTreeMap<String, Known>,
    /// The parameters of the utility that is read.
    pub(super) parameters: BTreeSet<String>,
    /// True if a rule may only refer to known ones. Named rules may refer to later ones; one that there is not matches nothing.
    pub(super) is_strict: bool,
}

/// An `invalid_input` error.
pub(super) fn wrong(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidInput, message)
}

/// A mapping.
pub(super) fn mapping<'v>(what: &str, value: &'v Value) -> Result<&'v Map<String, Value>, Error> {
    value.as_object().ok_or_else(|| wrong(format!("`{what}` is no mapping")))
}

/// A text.
pub(super) fn string<'v>(what: &str, value: &'v Value) -> Result<&'v str, Error> {
    value.as_str().ok_or_else(|| wrong(format!("`{what}` is no text")))
}

/// A list.
pub(super) fn list<'v>(what: &str, value: &'v Value) -> Result<&'v [Value], Error> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| wrong(format!("`{what}` is no list")))
}

/// A member that may be missing or nothing.
pub(super) fn optional<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// An error if there are other keys.
pub(super) fn check_keys(what: &str, object: &Map<String, Value>, keys: &[&str]) -> Result<(), Error> {
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(wrong(format!("`{what}` has the unknown key `{key}`"))),
        None => Ok(()),
    }
}

impl Reader {
    /// Reads a rule object.
    pub(super) fn rule(&self, what: &str, value: &Value) -> Result<Rule, Error> {
        let object = mapping(what, value)?;
        check_keys(what, object, KEYS)?;
        self.conditions(what, object)
    }

    fn conditions(&self, what: &str, object: &Map<String, Value>) -> Result<Rule, Error> {
        let mut rules = Vec::new();
        // Relations come last, when the other conditions have bound their variables.
        for key in KEYS {
            if let Some(value) = object.get(*key) {
                rules.push(self.condition(key, value)?);
            }
        }
        match rules.len() {
            0 => Err(wrong(format!("`{what}` has no condition"))),
            1 => Ok(rules.remove(0)),
            _ => Ok(Rule::all(rules)),
        }
    }

    fn condition(&self, key: &str, value: &Value) -> Result<Rule, Error> {
        let all = || list(key, value)?.iter().map(|part| self.rule(key, part)).collect::<Result<Vec<_>, _>>();
        Ok(match key {
            "pattern" => Rule::Pattern(self.pattern(value)?),
            "kind" => {
                let text = string(key, value)?;
                let reason = |reason| wrong(format!("the kind `{text}` of {}: {reason}", self.language.name()));
                selector::parse(self.language, text).map_err(reason)?
            }
            "regex" => Rule::Regex(regex(string(key, value)?)?),
            "nthChild" => Rule::Nth(self.nth(value)?),
            "range" => {
                let object = mapping(key, value)?;
                let (start, end) = (place("start", object.get("start"))?, place("end", object.get("end"))?);
                if start > end {
                    return Err(wrong("a `range` ends before it begins"));
                }
                Rule::Span { start, end }
            }
            "all" => Rule::all(all()?),
            "any" => Rule::any(all()?),
            "not" => Rule::Not(Box::new(self.rule(key, value)?)),
            "matches" => self.reference(value)?,
            "inside" => Rule::Inside(Box::new(self.relation(key, value, true)?)),
            "has" => Rule::Has(Box::new(self.relation(key, value, true)?)),
            "precedes" => Rule::Precedes(Box::new(self.relation(key, value, false)?)),
            "follows" => Rule::Follows(Box::new(self.relation(key, value, false)?)),
            other => return Err(wrong(format!("there is no condition `{other}`"))),
        })
    }

    fn pattern(&self, value: &Value) -> Result<Pattern, Error> {
        if let Value::String(code) = value {
            return Pattern::parse(self.language, code, None);
        }
        let object = mapping("pattern", value)?;
        check_keys("pattern", object, &["context", "selector", "strictness"])?;
        let context = object.get("context").ok_or_else(|| wrong("a `pattern` lacks its `context`"))?;
        let selector = optional(object, "selector").map(|value| string("selector", value)).transpose()?;
        let mut pattern = Pattern::parse(self.language, string("context", context)?, selector)?;
        if let Some(value) = optional(object, "strictness") {
            let name = string("strictness", value)?;
            pattern.strictness =
                Strictness::parse(name).ok_or_else(|| wrong(format!("there is no strictness `{name}`")))?;
        }
        Ok(pattern)
    }

    fn nth(&self, value: &Value) -> Result<Nth, Error> {
        let Value::Object(object) = value else {
            let (step, offset) = position(value)?;
            return Ok(Nth { step, offset, of: None, is_reverse: false });
        };
        let (step, offset) = position(object.get("position").unwrap_or(&Value::Null))?;
        let of = optional(object, "ofRule").map(|rule| self.rule("ofRule", rule)).transpose()?.map(Box::new);
        let is_reverse = match object.get("reverse") {
            None => false,
            Some(value) => value.as_bool().ok_or_else(|| wrong("`reverse` is neither true nor false"))?,
        };
        Ok(Nth { step, offset, of, is_reverse })
    }

    /// Reads a relation. With `takes_field` it may name the field of the inner node.
    pub(super) fn relation(&self, what: &str, value: &Value, takes_field: bool) -> Result<Relation, Error> {
        let object = mapping(what, value)?;
        let stop = match object.get("stopBy") {
            None => Stop::Neighbor,
            Some(Value::String(word)) if word == "neighbor" => Stop::Neighbor,
            Some(Value::String(word)) if word == "end" => Stop::End,
            Some(rule) => Stop::At(self.rule("stopBy", rule)?),
        };
        let field = match optional(object, "field") {
            None => None,
            Some(_) if !takes_field => return Err(wrong(format!("`{what}` takes no `field`"))),
            Some(value) => {
                let name = string("field", value)?;
                let field = grammar::field(self.language, name);
                Some(field.ok_or_else(|| wrong(format!("{} has no field `{name}`", self.language.name())))?)
            }
        };
        Ok(Relation { rule: self.conditions(what, object)?, stop, field })
    }

    fn reference(&self, value: &Value) -> Result<Rule, Error> {
        if let Value::String(name) = value {
            if self.parameters.contains(name) {
                return Ok(Rule::Parameter(name.clone()));
            }
            let known = self.known.get(name);
            if known.is_none() && self.is_strict {
                return Err(wrong(format!("there is no named rule or utility `{name}`")));
            }
            if known.is_some_and(|known| !known.parameters.is_empty()) {
                return Err(wrong(format!("the utility `{name}` needs arguments")));
            }
            return Ok(Rule::Named { name: name.clone(), kinds: known.and_then(|known| known.kinds.clone()) });
        }
        let calls = mapping("matches", value)?.iter().map(|(name, arguments)| self.call(name, arguments));
        let mut calls = calls.collect::<Result<Vec<_>, _>>()?;
        match calls.len() {
            0 => Err(wrong("`matches` names no rule")),
            1 => Ok(calls.remove(0)),
            _ => Ok(Rule::all(calls)),
        }
    }

    fn call(&self, name: &str, arguments: &Value) -> Result<Rule, Error> {
        let parameters = self.known.get(name).map(|known| &known.parameters).filter(|all| !all.is_empty());
        let parameters = parameters.ok_or_else(|| wrong(format!("there is no utility `{name}` with arguments")))?;
        let given = mapping(name, arguments)?;
        check_keys(name, given, &parameters.iter().map(String::as_str).collect::<Vec<_>>())?;
        if let Some(missing) = parameters.iter().find(|parameter| !given.contains_key(*parameter)) {
            return Err(wrong(format!("the utility `{name}` lacks its argument `{missing}`")));
        }
        let rules = given.iter().map(|(parameter, rule)| Ok((parameter.clone(), self.rule(parameter, rule)?)));
        let arguments = rules.collect::<Result<BTreeMap<_, _>, Error>>()?;
        let mut variables = BTreeSet::new();
        arguments.values().for_each(|rule| rule.variables(&mut variables));
        let kinds = self.known.get(name).and_then(|known| known.kinds.clone());
        Ok(Rule::Call { name: name.to_owned(), arguments, variables: variables.into_iter().collect(), kinds })
    }
}

/// A regular expression.
pub(super) fn regex(text: &str) -> Result<Regex, Error> {
    Regex::new(text).map_err(|error| wrong(format!("`{text}` is no regular expression: {error}")))
}

fn position(value: &Value) -> Result<(i32, i32), Error> {
    match value {
        Value::String(text) => selector::position(text).map_err(wrong),
        number => {
            let offset = number.as_u64().and_then(|number| i32::try_from(number).ok());
            offset.map(|offset| (0, offset)).ok_or_else(|| wrong("the position of an `nthChild` is no number or text"))
        }
    }
}

fn place(what: &str, value: Option<&Value>) -> Result<Place, Error> {
    let object = mapping(what, value.unwrap_or(&Value::Null))?;
    let number = |key: &str, value: &Value| {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| wrong(format!("the `{key}` of a `range` is no number")))
    };
    let line = number("line", object.get("line").unwrap_or(&Value::Null))?;
    let column = optional(object, "column").map(|value| number("column", value)).transpose()?;
    Ok(Place { line, column })
}
