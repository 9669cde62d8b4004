//! A team's own rules, each tried with its examples.

use std::borrow::Cow;

use super::{
    redact::redact,
    rule::{Place, Rule},
    rules::{Rules, built_in, prefix},
    scan,
};
use base::error::{Code, Error};

/// The distance before its word at which a pattern of a team's rule may begin.
const OWN_REACH: usize = 256;

/// A rule that a team adds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnRule {
    /// Its name in findings; no other rule has it.
    pub id: String,
    /// A pattern of the secret, in the syntax of the crate `regex`; a group `secret` marks the secret part.
    pub pattern: String,
    /// Words, one of which occurs in every match. If there are none, the plain characters with which the pattern begins.
    pub keys: Vec<String>,
    /// The least bits a byte; 0 also permits fillers.
    pub entropy: Option<f64>,
    /// Texts in which the rule finds something.
    pub matches: Vec<String>,
    /// Texts in which it finds nothing.
    pub not_matches: Vec<String>,
}

impl Rules {
    /// The built-in rules and a team's.
    ///
    /// Fails with `invalid_policy` for an unusable pattern, a taken id, or an example with the wrong result. An unusable pattern
    /// does not compile, or has no word to search for.
    pub fn with(own: &[OwnRule]) -> Result<Rules, Error> {
        let mut rules = built_in();
        for rule in own {
            if rules.iter().any(|other| other.id == rule.id) {
                return Err(wrong(rule, "has an id that another rule has", "choose another id"));
            }
            rules.push(read_own(rule)?);
        }
        let rules = Rules::new(rules)?;
        own.iter().try_for_each(|rule| rules.check(rule))?;
        Ok(rules)
    }

    fn check(&self, own: &OwnRule) -> Result<(), Error> {
        let finds = |text: &String| scan(text.as_bytes(), None, self).iter().any(|found| found.rule == own.id);
        if let Some(text) = own.matches.iter().find(|text| !finds(text)) {
            let what = format!("does not find anything in its example `{}`", redact(text, self));
            return Err(wrong(own, &what, "mend the pattern or the example"));
        }
        if let Some(text) = own.not_matches.iter().find(|text| finds(text)) {
            let what = format!("finds something in `{}`, which it should not", redact(text, self));
            return Err(wrong(own, &what, "mend the pattern or the example"));
        }
        Ok(())
    }
}

fn wrong(own: &OwnRule, what: &str, hint: &str) -> Error {
    Error::new(Code::InvalidPolicy, format!("the rule `{}` {what}", own.id)).detail("rule", own.id.as_str()).hint(hint)
}

fn read_own(own: &OwnRule) -> Result<Rule, Error> {
    let mut rule = Rule::new(Cow::Owned(own.id.clone()), Cow::Borrowed("A rule of this repository"));
    rule.pattern = Cow::Owned(own.pattern.clone());
    rule.place = Place::Anywhere(OWN_REACH);
    rule.loose = true;
    rule.entropy = own.entropy.unwrap_or(0.0) as f32;
    rule.keys = own.keys.iter().filter(|key| key.len() > 1).cloned().map(Cow::Owned).collect();
    if rule.keys.is_empty() {
        rule.keys.extend(Some(prefix(&own.pattern)).filter(|key| key.len() > 1).map(Cow::Owned));
    }
    if rule.keys.is_empty() {
        return Err(wrong(own, "has no word by which its matches are found", "give `keys` of two characters or more"));
    }
    rule.compile().map_err(|error| wrong(own, &format!("has a pattern that is none: {error}"), "mend the pattern"))?;
    Ok(rule)
}
