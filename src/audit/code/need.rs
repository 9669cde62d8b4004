//! The words that a text needs to hold a match, so that other texts are not parsed.

use std::cmp::Reverse;

use memchr::memmem::Finder;

use super::{
    pattern::{Part, Strictness},
    rule::Rule,
};

/// The words that every text with a match holds: of each group at least one. No group means that nothing is known.
#[derive(Debug)]
pub(super) struct Need {
    groups: Vec<Vec<Finder<'static>>>,
}

impl Need {
    /// The words that a rule needs.
    pub(super) fn of(rule: &Rule) -> Self {
        let finders = |words: Vec<String>| words.iter().map(|word| Finder::new(word).into_owned()).collect();
        let mut groups = groups(rule);
        // A long word is rare, and the first that is missing ends the search.
        groups.sort_by_key(|words| Reverse(shortest(words)));
        Need { groups: groups.into_iter().map(finders).collect() }
    }

    /// True if the rule may match in a text.
    pub(super) fn may_match(&self, text: &str) -> bool {
        self.groups.iter().all(|words| words.iter().any(|word| word.find(text.as_bytes()).is_some()))
    }
}

/// Groups of words; a text with a match has a word of each.
fn groups(rule: &Rule) -> Vec<Vec<String>> {
    match rule {
        Rule::Pattern(pattern) => match pattern.strictness {
            Strictness::Cst | Strictness::Smart => {
                let mut words = Vec::new();
                certain(&pattern.part, &mut words);
                words.extend(longest(&pattern.part));
                words.into_iter().map(|word| vec![word]).collect()
            }
            Strictness::Ast | Strictness::Relaxed | Strictness::Signature | Strictness::Template => Vec::new(),
        },
        Rule::Regex(regex) => whole_word(regex.as_str()).map(|word| vec![word]).into_iter().collect(),
        Rule::All { rules, .. } => rules.iter().flat_map(groups).collect(),
        Rule::Any { rules, .. } => {
            let rarest = |rule| groups(rule).into_iter().max_by_key(|words| shortest(words));
            let each: Option<Vec<Vec<String>>> = rules.iter().map(rarest).collect();
            each.filter(|each| !each.is_empty()).map(|each| each.concat()).into_iter().collect()
        }
        Rule::Inside(relation) | Rule::Has(relation) | Rule::Precedes(relation) | Rule::Follows(relation) => {
            groups(&relation.rule)
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

fn shortest(words: &[String]) -> usize {
    words.iter().map(String::len).min().unwrap_or_default()
}

/// Adds the words that no comparison leaves out: those that are no marks.
fn certain(part: &Part, words: &mut Vec<String>) {
    match part {
        Part::Word { text, is_named: true, .. } if !text.is_empty() => words.push(text.clone()),
        Part::Word { .. } | Part::Variable(_) => {}
        Part::Tree { parts, .. } => parts.iter().for_each(|part| certain(part, words)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::pattern::Pattern;
    use base::language::Language;

    fn may_match(pattern: &str, text: &str) -> bool {
        Need::of(&Rule::Pattern(Pattern::parse(Language::TypeScript, pattern, None).unwrap())).may_match(text)
    }

    #[test]
    fn a_text_has_to_hold_every_word_of_a_pattern() {
        assert!(may_match("expect($A).to.equal($B)", "expect(1) /* a */ . to.equal(2)"));
        assert!(!may_match("expect($A).to.equal($B)", "expect(1).to.be(2)"));
        assert!(!may_match("expect($A).to.equal($B)", "assert.equal(to, 2)"));
        assert!(may_match("$A($B)", "f(1)"));
    }

    #[test]
    fn one_alternative_is_enough() {
        let pattern = |text| Rule::Pattern(Pattern::parse(Language::TypeScript, text, None).unwrap());
        let any = Need::of(&Rule::any(vec![pattern("one(x)"), pattern("two(y)")]));
        assert!(any.may_match("one") && any.may_match("two") && !any.may_match("three"));
        let open = Need::of(&Rule::any(vec![pattern("one(x)"), pattern("$A($B)")]));
        assert!(open.may_match("f(1)"));
    }
}
