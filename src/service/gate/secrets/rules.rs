//! The set of rules: the built-in ones of `rules.txt`, a team's own, and the words that trigger them.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{
    generic,
    rule::{Place, Rule},
};
use crate::base::{
    error::{Code, Error},
    hash::Sha256,
};

/// The built-in rules; the top of the file describes their form.
pub(super) const BUILT_IN: &str = include_str!("rules.txt");

/// The longest word with which a token of a vendor begins.
const TOKEN_WORD: usize = 64;

/// The distance before its word at which a pattern of a team's rule may begin.
const OWN_REACH: usize = 256;

/// Words without a rule in the file: separate code handles them.
const BEGIN: &str = "-----BEGIN ";
const PUTTY: &str = "Private-Lines:";
const URL: &str = "://";
const KIND: &str = "kind:";

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

/// The search that a word triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The pattern of a rule.
    Token(usize),
    /// The value of an assignment, for a rule.
    Named(usize),
    /// The value of an assignment, by the kind of its name.
    Generic,
    /// A private key.
    Begin,
    /// A private key of PuTTY.
    Putty,
    /// A URL, which may hold a password.
    Url,
    /// A manifest of Kubernetes, which may be a Secret.
    Manifest,
}

/// The bytes of a word in the search table; the rest is compared afterwards. A smaller table is built sooner.
const BEGINNING: usize = 5;

/// All rules in force.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    /// The beginnings of all words.
    words: AhoCorasick,
    /// For each beginning, the rest of its words and their uses.
    uses: Vec<Vec<(String, Use)>>,
    published: Vec<&'static str>,
}

static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::new(parse(BUILT_IN)).expect("the built-in words are few enough; a test reads every rule"));

impl Rules {
    /// The rules built into nrv.
    pub fn built_in() -> &'static Rules {
        &RULES
    }

    /// The built-in rules and a team's.
    ///
    /// Fails with `invalid_policy` for an unusable pattern, a taken id, or an example with the wrong result. An unusable pattern
    /// does not compile, or has no word to search for.
    pub fn with(own: &[OwnRule]) -> Result<Rules, Error> {
        let mut rules = parse(BUILT_IN);
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

    /// The id of every rule and its description, in the order of the file.
    pub fn list(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().map(|rule| (rule.id.as_ref(), rule.what.as_ref()))
    }

    /// Every pattern, compiled.
    #[cfg(test)]
    pub(super) fn patterns(&self) -> impl Iterator<Item = (&str, Result<regex::bytes::Regex, String>)> {
        self.rules.iter().map(|rule| (rule.id.as_ref(), rule.compile()))
    }

    pub(super) fn rule(&self, at: usize) -> &Rule {
        &self.rules[at]
    }

    /// Every word of the rules in a text, with its use.
    pub(super) fn words<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (Range<usize>, Use)> {
        self.words.find_overlapping_iter(text).flat_map(move |begins| {
            self.uses[begins.pattern().as_usize()].iter().filter_map(move |(rest, what)| {
                let end = begins.end() + rest.len();
                let goes_on = text.get(begins.end()..end)?.eq_ignore_ascii_case(rest.as_bytes());
                goes_on.then_some((begins.start()..end, *what))
            })
        })
    }

    /// True for a value that begins like a vendor's token. The vendor's rule would have found a real one.
    pub(super) fn begins_like_a_token(&self, value: &[u8]) -> bool {
        let begins = &value[..value.len().min(TOKEN_WORD)];
        self.words(begins).any(|(word, what)| {
            word.start == 0 && word.end > 3 && matches!(what, Use::Token(at) if self.rules[at].place == Place::At(0))
        })
    }

    /// True for a key that its vendor has published as an example.
    pub(super) fn is_published(&self, secret: &[u8]) -> bool {
        let hash = Sha256::of(secret).to_string();
        self.published.iter().any(|known| hash.starts_with(known))
    }

    fn new(rules: Vec<Rule>) -> Result<Rules, Error> {
        let mut uses: BTreeMap<String, Vec<(String, Use)>> = BTreeMap::new();
        let mut add = |word: &str, what| {
            let mut begins = word.to_ascii_lowercase();
            let rest = begins.split_off(begins.floor_char_boundary(BEGINNING));
            uses.entry(begins).or_default().push((rest, what));
        };
        for (at, rule) in rules.iter().enumerate() {
            let what = if rule.place == Place::Value { Use::Named(at) } else { Use::Token(at) };
            rule.keys.iter().for_each(|key| add(key, what));
        }
        generic::WORDS.iter().for_each(|word| add(word, Use::Generic));
        add(BEGIN, Use::Begin);
        add(PUTTY, Use::Putty);
        add(URL, Use::Url);
        add(KIND, Use::Manifest);
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(uses.keys())
            .map_err(|error| {
                Error::new(Code::Internal, format!("the words of the rules can't be searched: {error}"))
            })?;
        let published =
            BUILT_IN.lines().filter_map(|line| line.strip_prefix("published ")).flat_map(|line| line.split(' '));
        Ok(Rules { rules, words, uses: uses.into_values().collect(), published: published.collect() })
    }

    fn check(&self, own: &OwnRule) -> Result<(), Error> {
        let finds = |text: &String| super::scan(text.as_bytes(), None, self).iter().any(|found| found.rule == own.id);
        if let Some(text) = own.matches.iter().find(|text| !finds(text)) {
            let what = format!("does not find anything in its example `{}`", super::redact(text, self));
            return Err(wrong(own, &what, "mend the pattern or the example"));
        }
        if let Some(text) = own.not_matches.iter().find(|text| finds(text)) {
            let what = format!("finds something in `{}`, which it should not", super::redact(text, self));
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

/// The plain characters with which a pattern begins.
fn prefix(pattern: &str) -> String {
    let mut plain = String::new();
    let mut rest = pattern.strip_prefix("(?i)").unwrap_or(pattern).chars().peekable();
    while let Some(next) = rest.next() {
        let character = match next {
            '\\' => match rest.next() {
                Some(escaped) if escaped.is_ascii_punctuation() => escaped,
                Some(_) | None => break,
            },
            '(' | ')' | '[' | ']' | '{' | '}' | '.' | '*' | '+' | '?' | '|' | '^' | '$' => break,
            plain => plain,
        };
        if matches!(rest.peek(), Some('*' | '+' | '?' | '{')) {
            break;
        }
        plain.push(character);
    }
    if pattern.contains('|') && !pattern.contains('(') { String::new() } else { plain }
}

/// The id of a rule and its description, from the rule's first line.
pub(super) fn head(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('[')?.split_once("] ")
}

/// Reads the built-in rules.
fn parse(text: &'static str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::with_capacity(400);
    for line in text.lines() {
        if let Some((id, what)) = head(line) {
            rules.push(Rule::new(Cow::Borrowed(id), Cow::Borrowed(what)));
            continue;
        }
        let (Some(rule), Some((field, value))) = (rules.last_mut(), line.split_once(' ').or(Some((line, "")))) else {
            continue;
        };
        let number = || value.parse().unwrap_or_default();
        let words = || value.split(' ').map(Cow::Borrowed).collect();
        match field {
            "token" => rule.pattern = Cow::Borrowed(value),
            "key" => rule.keys = words(),
            "at" => rule.place = Place::At(number()),
            "back" => rule.place = Place::Word(number()),
            "within" => rule.within = number(),
            "needs" => rule.needs = Some(Cow::Borrowed(value)),
            "edge" => rule.edge = Cow::Borrowed(value),
            "loose" => rule.loose = true,
            "pair" => rule.pair = true,
            "bare" => rule.bare = true,
            "entropy" => rule.entropy = value.parse().unwrap_or_default(),
            "name" => {
                rule.keys = words();
                rule.place = Place::Value;
            }
            "value" => rule.pattern = Cow::Borrowed(value),
            "code" => rule.place = Place::Code,
            _ => {}
        }
    }
    for rule in rules.iter_mut().filter(|rule| rule.keys.is_empty() && rule.place != Place::Code) {
        rule.keys.push(Cow::Owned(prefix(&rule.pattern)));
    }
    rules
}
