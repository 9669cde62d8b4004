//! The set of rules: the built-in ones of `rules.txt`, and the words that trigger all of them.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{
    generic,
    rule::{Place, Rule},
};
use base::{
    error::{Code, Error},
    hash::Sha256,
};

/// The built-in rules; the top of the file describes their form.
pub(super) const BUILT_IN: &str = include_str!("rules.txt");

/// The longest word with which a token of a vendor begins.
const TOKEN_WORD: usize = 64;

/// Words without a rule in the file: separate code handles them.
const BEGIN: &str = "-----BEGIN ";
const PUTTY: &str = "Private-Lines:";
const URL: &str = "://";
const KIND: &str = "kind:";

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
    LazyLock::new(|| Rules::new(built_in()).expect("the built-in words are few enough; a test reads every rule"));

impl Rules {
    /// The rules built into nrv.
    pub fn built_in() -> &'static Rules {
        &RULES
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

    pub(super) fn new(rules: Vec<Rule>) -> Result<Rules, Error> {
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
}

/// The plain characters with which a pattern begins.
pub(super) fn prefix(pattern: &str) -> String {
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
pub(super) fn built_in() -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::with_capacity(400);
    for line in BUILT_IN.lines() {
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
