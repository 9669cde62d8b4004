//! The texts that a file needs to hold a match of a rule, so that other files are not parsed.

use std::cmp::Reverse;

use ast_grep_config::SerializableRuleConfig;
use ast_grep_core::{Pattern, matcher::PatternNode};
use memchr::memmem::Finder;
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use serde_json::Value;

use super::grammar::Grammar;

/// Fewer bytes are in nearly every file.
const LEAST: usize = 2;

/// The longest list of alternatives that is searched for.
const MOST: usize = 16;

/// The texts that every file with a match of a rule holds: of each list at least one, so that no list means that nothing is known.
pub(super) struct Need {
    lists: Vec<Vec<Finder<'static>>>,
}

impl Need {
    /// The need of a rule.
    pub(super) fn of(config: &SerializableRuleConfig<Grammar>) -> Self {
        // Its fields have a private type, and each part is there or is not.
        let rule = serde_json::to_value(&config.core.rule).unwrap_or_default();
        let finders = |list: Vec<String>| list.iter().map(|text| Finder::new(text).into_owned()).collect();
        Need { lists: of_value(&rule, config.language).into_iter().map(finders).collect() }
    }

    /// True if a text holds what is needed.
    pub(super) fn is_met(&self, text: &str) -> bool {
        let has = |finder: &Finder<'_>| finder.find(text.as_bytes()).is_some();
        self.lists.iter().all(|list| list.iter().any(has))
    }
}

/// A rule matches if all of its parts do, so that the lists of all parts are required. The rarest are first, which are the longest.
fn of_value(rule: &Value, language: Grammar) -> Vec<Vec<String>> {
    let Some(parts) = rule.as_object() else { return Vec::new() };
    let mut lists: Vec<Vec<String>> = parts
        .iter()
        .flat_map(|(key, value)| match key.as_str() {
            "pattern" => of_pattern(value, language),
            "regex" => value.as_str().and_then(of_regex).into_iter().collect(),
            "all" => value.as_array().into_iter().flatten().flat_map(|part| of_value(part, language)).collect(),
            "any" => of_any(value, language).into_iter().collect(),
            "inside" | "has" | "precedes" | "follows" => of_value(value, language),
            _ => Vec::new(),
        })
        .collect();
    lists.sort_by_cached_key(|list| Reverse((worth(list), list.clone())));
    lists.dedup();
    lists
}

/// The best list of every alternative; none if one of them has none.
fn of_any(rules: &Value, language: Grammar) -> Option<Vec<String>> {
    let best = |rule| of_value(rule, language).into_iter().next();
    let lists: Option<Vec<Vec<String>>> = rules.as_array()?.iter().map(best).collect();
    let mut list = lists?.concat();
    list.sort();
    list.dedup();
    (!list.is_empty() && list.len() <= MOST).then_some(list)
}

/// The length of the shortest text of a list; fewer alternatives are better.
fn worth(list: &[String]) -> (usize, Reverse<usize>) {
    (list.iter().map(String::len).min().unwrap_or_default(), Reverse(list.len()))
}

/// A list for each word of a pattern.
fn of_pattern(pattern: &Value, language: Grammar) -> Vec<Vec<String>> {
    let word = |key: &str| pattern.get(key).and_then(Value::as_str);
    let Some(text) = pattern.as_str().or_else(|| word("context")) else { return Vec::new() };
    // The others ignore some of the words of a pattern.
    if !matches!(word("strictness"), None | Some("cst" | "smart")) {
        return Vec::new();
    }
    let pattern = match word("selector") {
        None => Pattern::try_new(text, language),
        Some(selector) => Pattern::contextual(text, selector, language),
    };
    let Ok(pattern) = pattern else { return Vec::new() };
    let mut words = vec![pattern.fixed_string().into_owned()];
    named_words(&pattern.node, &mut words);
    words.retain(|word| word.len() >= LEAST);
    words.sort();
    words.dedup();
    // A word within another one is there with it.
    let is_apart =
        |word: &&String| !words.iter().any(|other| other.len() > word.len() && other.contains(word.as_str()));
    words.iter().filter(is_apart).map(|word| vec![word.clone()]).collect()
}

/// Adds the texts of the named nodes without children. Marks and keywords may be left out of a comparison, as those after `$$$` are.
fn named_words(node: &PatternNode, words: &mut Vec<String>) {
    match node {
        PatternNode::Terminal { text, is_named: true, .. } => words.push(text.clone()),
        PatternNode::Terminal { .. } | PatternNode::MetaVar { .. } => {}
        PatternNode::Internal { children, .. } => children.iter().for_each(|child| named_words(child, words)),
    }
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
    use base::language::Language;

    /// Lists are separated by blanks, and the texts of one by `|`.
    #[track_caller]
    fn check(rule: &Value, lists: &str) {
        let found = of_value(rule, Grammar(Language::TypeScript));
        assert_eq!(found.iter().map(|list| list.join("|")).collect::<Vec<_>>().join(" "), lists, "{rule}");
    }

    #[test]
    fn every_word_of_a_pattern_is_required() {
        check(&json!({"pattern": "expect($A).toEqual($B)"}), "toEqual expect");
        check(&json!({"pattern": "expect($A).to.equal($B, 'other')"}), "expect other equal to");
        check(&json!({"pattern": "go(goto, $$$A)"}), "goto");
        check(&json!({"pattern": "a.b($A)"}), "");
        check(&json!({"pattern": "$A + $B"}), "");
        check(&json!({"pattern": {"context": "class A { name = $A }", "selector": "public_field_definition"}}), "name");
        check(&json!({"pattern": {"context": "a.forEach($F)", "strictness": "signature"}}), "");
    }

    #[test]
    fn each_alternative_has_a_text_or_none_is_required() {
        check(&json!({"any": [{"pattern": "foo($A, other)"}, {"pattern": "barbar($A)"}]}), "barbar|other");
        check(&json!({"any": [{"pattern": "foo($A)"}, {"kind": "identifier"}]}), "");
        check(&json!({"all": [{"pattern": "foo($A)"}, {"kind": "call_expression"}]}), "foo");
        check(&json!({"all": [{"pattern": "foo($A)"}, {"has": {"regex": "^barbar"}}]}), "barbar foo");
        check(&json!({"not": {"pattern": "foo($A)"}, "kind": "identifier"}), "");
        check(
            &json!({"kind": "identifier", "inside": {"pattern": "class Long { $$$ }", "stopBy": "end"}}),
            "class Long",
        );
    }

    #[test]
    fn a_regular_expression_begins_with_its_texts() {
        check(&json!({"kind": "identifier", "regex": "^EntityManager$"}), "EntityManager");
        check(&json!({"kind": "identifier", "regex": "^(get|set)[A-Z]"}), "get|set");
        check(&json!({"kind": "identifier", "regex": "Manager$"}), "Manager");
        check(&json!({"kind": "identifier", "regex": "^[a-z]+$"}), "");
        check(&json!({"kind": "identifier", "regex": "(?i)entity"}), "");
    }
}
