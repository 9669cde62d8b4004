//! The texts that a file needs to hold a match of a rule, so that other files are not parsed.

use ast_grep_config::{SerializableRule, SerializableRuleConfig};
use ast_grep_core::Pattern;
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use serde_json::Value;

use super::grammar::Grammar;

/// Fewer bytes are in nearly every file.
const LEAST: usize = 2;

/// The longest list of alternatives that is searched for.
const MOST: usize = 16;

/// The texts of a rule, of which every file with a match has at least one; none if nothing is known.
pub(super) fn required(config: &SerializableRuleConfig<Grammar>) -> Vec<String> {
    of_rule(&config.core.rule, config.language).unwrap_or_default()
}

/// The alternatives of a rule; none if a file may match that has no certain text.
fn of_rule(rule: &SerializableRule, language: Grammar) -> Option<Vec<String>> {
    // Its fields have a private type, and each part is there or is not.
    let parts = serde_json::to_value(rule).ok()?;
    of_value(&parts, language)
}

/// A rule matches if all of its parts do, so that the texts of any part are required: the best list is taken.
fn of_value(rule: &Value, language: Grammar) -> Option<Vec<String>> {
    let parts = rule.as_object()?;
    let lists = parts.iter().filter_map(|(key, value)| match key.as_str() {
        "pattern" => of_pattern(value, language),
        "regex" => of_regex(value.as_str()?),
        "all" => value.as_array()?.iter().filter_map(|part| of_value(part, language)).max_by_key(|list| worth(list)),
        "any" => {
            value.as_array()?.iter().map(|part| of_value(part, language)).collect::<Option<Vec<_>>>().map(|lists| {
                let mut list = lists.concat();
                list.sort();
                list.dedup();
                list
            })
        }
        "inside" | "has" | "precedes" | "follows" => of_value(value, language),
        _ => None,
    });
    lists.filter(|list| !list.is_empty() && list.len() <= MOST).max_by_key(|list| worth(list))
}

/// The length of the shortest text of a list; fewer alternatives are better.
fn worth(list: &[String]) -> (usize, std::cmp::Reverse<usize>) {
    (list.iter().map(String::len).min().unwrap_or_default(), std::cmp::Reverse(list.len()))
}

fn of_pattern(pattern: &Value, language: Grammar) -> Option<Vec<String>> {
    let (text, selector, strictness) = match pattern {
        Value::String(text) => (text.as_str(), None, None),
        other => {
            let word = |key: &str| other.get(key).and_then(Value::as_str);
            (word("context")?, word("selector"), word("strictness"))
        }
    };
    // The others ignore some of the words of a pattern.
    if !matches!(strictness, None | Some("cst" | "smart")) {
        return None;
    }
    let pattern = match selector {
        None => Pattern::try_new(text, language),
        Some(selector) => Pattern::contextual(text, selector, language),
    };
    let text = pattern.ok()?.fixed_string().into_owned();
    (text.len() >= LEAST).then(|| vec![text])
}

/// The texts with which every match of a regular expression begins.
fn of_regex(regex: &str) -> Option<Vec<String>> {
    let hir = regex_syntax::Parser::new().parse(regex).ok()?;
    let literals = Extractor::new().kind(ExtractKind::Prefix).extract(&hir);
    let texts = literals.literals()?.iter().map(|literal| std::str::from_utf8(literal.as_bytes()).map(str::to_owned));
    let texts: Vec<String> = texts.collect::<Result<_, _>>().ok()?;
    let is_known = !texts.is_empty() && texts.len() <= MOST && texts.iter().all(|text| text.len() >= LEAST);
    is_known.then_some(texts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::language::Language;

    #[track_caller]
    fn check(rule: &Value, texts: &[&str]) {
        let found = of_value(rule, Grammar(Language::TypeScript)).unwrap_or_default();
        assert_eq!(found, texts, "{rule}");
    }

    #[test]
    fn the_longest_word_of_a_pattern_is_required() {
        check(&json!({"pattern": "expect($A).toEqual($B)"}), &["toEqual"]);
        check(&json!({"pattern": "$A + $B"}), &[]);
        check(&json!({"pattern": {"context": "a.forEach($F)", "strictness": "signature"}}), &[]);
    }

    #[test]
    fn each_alternative_has_a_text_or_none_is_required() {
        check(&json!({"any": [{"pattern": "foo($A)"}, {"pattern": "barbar($A)"}]}), &["barbar", "foo"]);
        check(&json!({"any": [{"pattern": "foo($A)"}, {"kind": "identifier"}]}), &[]);
        check(&json!({"all": [{"pattern": "foo($A)"}, {"kind": "call_expression"}]}), &["foo"]);
        check(&json!({"not": {"pattern": "foo($A)"}, "kind": "identifier"}), &[]);
        check(&json!({"kind": "identifier", "inside": {"pattern": "class Long { $$$ }", "stopBy": "end"}}), &["class"]);
    }

    #[test]
    fn a_regular_expression_begins_with_its_texts() {
        check(&json!({"kind": "identifier", "regex": "^EntityManager$"}), &["EntityManager"]);
        check(&json!({"kind": "identifier", "regex": "^(get|set)[A-Z]"}), &["get", "set"]);
        check(&json!({"kind": "identifier", "regex": "Manager$"}), &["Manager"]);
        check(&json!({"kind": "identifier", "regex": "^[a-z]+$"}), &[]);
        check(&json!({"kind": "identifier", "regex": "(?i)entity"}), &[]);
    }
}
