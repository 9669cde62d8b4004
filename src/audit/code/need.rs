//! The words that a text needs to hold a match, so that other texts are not parsed.

use super::{
    pattern::{Part, Strictness},
    rule::Rule,
    rules::Rules,
};
use crate::base::language::Language;

/// True if a rule may match in the text of a file.
pub(crate) fn concern(rules: &Rules, path: &str, language: Language, text: &str) -> bool {
    let has = |word: &String| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    rules.of_file(path, language).any(|config| {
        let words = words(&config.core.rule);
        words.is_empty() || words.iter().any(has)
    })
}

/// Words of which a text with a match has at least one; empty if nothing is known.
fn words(rule: &Rule) -> Vec<String> {
    match rule {
        Rule::Pattern(pattern) => match pattern.strictness {
            Strictness::Cst | Strictness::Smart => longest(&pattern.part).into_iter().collect(),
            Strictness::Ast | Strictness::Relaxed | Strictness::Signature | Strictness::Template => Vec::new(),
        },
        Rule::Regex(regex) => whole_word(regex.as_str()).into_iter().collect(),
        Rule::All { rules, .. } => {
            rules.iter().map(words).filter(|words| !words.is_empty()).min_by_key(Vec::len).unwrap_or_default()
        }
        Rule::Any { rules, .. } => {
            let each: Vec<Vec<String>> = rules.iter().map(words).collect();
            if each.iter().any(Vec::is_empty) { Vec::new() } else { each.concat() }
        }
        Rule::Inside(relation) | Rule::Has(relation) | Rule::Precedes(relation) | Rule::Follows(relation) => {
            words(&relation.rule)
        }
        Rule::Kind(_)
        | Rule::Nth(_)
        | Rule::Span { .. }
        | Rule::Not(_)
        | Rule::Named { .. }
        | Rule::Parameter(_)
        | Rule::Call { .. } => Vec::new(),
    }
}

/// The longest text of a pattern that is no variable.
fn longest(part: &Part) -> Option<String> {
    match part {
        Part::Variable(_) => None,
        Part::Word { text, .. } => (!text.is_empty()).then(|| text.clone()),
        Part::Tree { parts, .. } => parts.iter().filter_map(longest).max_by_key(String::len),
    }
}

/// The word of a regular expression that matches nothing else, as in `^name$`.
fn whole_word(regex: &str) -> Option<String> {
    let word = regex.strip_prefix('^').unwrap_or(regex);
    let word = word.strip_suffix('$').unwrap_or(word);
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_plain.then(|| word.to_owned())
}
