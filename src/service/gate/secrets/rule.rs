//! One rule: the form of a secret, and the places where its pattern is tried.

use std::{borrow::Cow, sync::OnceLock};

use regex::bytes::{Regex, RegexBuilder};

use super::{
    key,
    text::{contains, entropy, is_alphanumeric, is_filler, is_mixed_hex, is_word},
    vocabulary::is_stand_in,
};

/// The bytes of a text that a pattern may read, by default.
pub(super) const WITHIN: usize = 512;

/// The least bits a byte, by default.
const ENTROPY: f32 = 2.5;

/// Text of the built-in rules, or of a team's.
type Text = Cow<'static, str>;

/// A rule, its pattern compiled when it is first needed.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: Text,
    pub(super) what: Text,
    /// The words that trigger the rule.
    pub(super) keys: Vec<Text>,
    pub(super) pattern: Text,
    pub(super) place: Place,
    pub(super) entropy: f32,
    pub(super) within: usize,
    /// A word that must occur in the lines above.
    pub(super) needs: Option<Text>,
    /// True if letters and digits may stand right beside the secret.
    pub(super) loose: bool,
    /// Characters that may not stand beside the secret, apart from letters and digits.
    pub(super) edge: Text,
    /// True if the secret is `user:password`.
    pub(super) pair: bool,
    /// True if any name suffices, also without a word such as key or token.
    pub(super) bare: bool,
    compiled: OnceLock<Option<Regex>>,
}

/// The place where the pattern of a rule is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// This many bytes before a key.
    At(usize),
    /// At the beginning of the word around a key, at most this many bytes before it.
    Word(usize),
    /// Anywhere from this many bytes before a key.
    Anywhere(usize),
    /// On the value of an assignment whose name holds a key.
    Value,
    /// Nowhere: separate code finds it.
    Code,
}

impl Rule {
    pub(super) fn new(id: Text, what: Text) -> Self {
        Rule {
            id,
            what,
            keys: Vec::new(),
            pattern: Cow::Borrowed(""),
            place: Place::At(0),
            entropy: ENTROPY,
            within: WITHIN,
            needs: None,
            loose: false,
            edge: Cow::Borrowed(""),
            pair: false,
            bare: false,
            compiled: OnceLock::new(),
        }
    }

    /// The compiled pattern. A pattern that does not compile matches nothing; the constructors of rules refuse it.
    fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| self.compile().ok()).as_ref()
    }

    /// Compiles the pattern; the error names the defect.
    pub(super) fn compile(&self) -> Result<Regex, String> {
        let (pattern, folded) = match self.place {
            Place::At(_) | Place::Word(_) => (format!(r"\A(?:{})", self.pattern), false),
            Place::Anywhere(_) | Place::Code => (self.pattern.to_string(), false),
            Place::Value => (format!(r"\A(?:{})\z", self.pattern), true),
        };
        let built = RegexBuilder::new(&pattern).unicode(false).case_insensitive(folded).size_limit(1 << 22).build();
        built.map_err(|error| error.to_string())
    }

    /// The secret of a text around a key that begins at `key`.
    pub(super) fn find(&self, text: &[u8], key: usize) -> Option<(usize, usize)> {
        let start = match self.place {
            Place::At(before) => key.checked_sub(before)?,
            Place::Word(most) => word_start(text, key, most),
            Place::Anywhere(before) => key.saturating_sub(before),
            Place::Value | Place::Code => return None,
        };
        let anchored = !matches!(self.place, Place::Anywhere(_));
        if anchored && !self.loose && !self.begins(text, start) {
            return None;
        }
        if let Some(word) = &self.needs
            && !stands_before(text, start, word)
        {
            return None;
        }
        let stretch = text.get(start..key.saturating_add(self.within).min(text.len()))?;
        let regex = self.regex()?;
        let found = match regex.captures_len() {
            1 => regex.find(stretch)?,
            _ => {
                let groups = regex.captures(stretch)?;
                groups.name("secret").or_else(|| groups.get(0))?
            }
        };
        let (start, end) = (start + found.start(), start + found.end());
        let goes_on = |next: &u8| is_alphanumeric(*next) || self.edge.as_bytes().contains(next);
        let ends = self.loose || !text.get(end).is_some_and(goes_on);
        let secret = &text[start..end];
        let speaks = !self.pair || key::is_pair(secret);
        (ends && speaks && self.accepts(secret)).then_some((start, end))
    }

    /// True if the value of an assignment matches the rule.
    pub(super) fn fits(&self, name: &[u8], value: &[u8]) -> bool {
        self.place == Place::Value
            && (self.bare || says_secret(name))
            && value.len() <= 1300
            && value.iter().any(u8::is_ascii_digit)
            && !is_mixed_hex(value)
            && self.accepts(value)
            && self.regex().is_some_and(|regex| regex.is_match(value))
    }

    /// True if the secret may begin here: not in the middle of a longer word of its kind.
    fn begins(&self, text: &[u8], start: usize) -> bool {
        let edge = |at: usize| self.edge.as_bytes().contains(&text[at]);
        begins(text, start) && !start.checked_sub(1).is_some_and(edge)
    }

    fn accepts(&self, secret: &[u8]) -> bool {
        if self.entropy <= 0.0 {
            return true;
        }
        !is_filler(secret) && !is_stand_in(secret) && entropy(secret) >= self.entropy
    }
}

/// True if a name marks its value as secret.
fn says_secret(name: &[u8]) -> bool {
    const SAID: &[&[u8]] = &[
        b"key", b"token", b"secret", b"pass", b"pwd", b"auth", b"api", b"access", b"cred", b"client", b"id", b"login",
        b"sid", b"license", b"pat", b"private",
    ];
    SAID.iter().any(|said| contains(name, said))
}

/// The beginning of the word around a place.
fn word_start(text: &[u8], at: usize, most: usize) -> usize {
    let stretch = &text[at.saturating_sub(most)..at];
    let word = stretch.iter().rev().take_while(|byte| is_word(**byte) || **byte == b'-').count();
    at - word
}

/// True if a secret may begin here: not in the middle of a word. An escaped character is not part of a word.
pub(super) fn begins(text: &[u8], start: usize) -> bool {
    let before = |back: usize| start.checked_sub(back).map(|at| text[at]);
    match before(1) {
        None => true,
        Some(b'n' | b'r' | b't' | b'b' | b'f') if before(2) == Some(b'\\') => true,
        Some(byte) if is_alphanumeric(byte) => {
            let hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
            before(3) == Some(b'%') && hex(before(2)) && hex(before(1))
        }
        Some(_) => true,
    }
}

/// True if a word stands in the kilobyte before a place.
fn stands_before(text: &[u8], at: usize, word: &str) -> bool {
    memchr::memmem::find(&text[at.saturating_sub(1024)..at], word.as_bytes()).is_some()
}
