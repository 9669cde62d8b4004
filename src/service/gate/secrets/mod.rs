//! Finds secrets in bytes, and takes them out of texts that leave.
//!
//! Pure functions of the bytes and the [`Rules`]. A finding says which rule found it, where, and the beginning of the
//! secret's hash; nothing here ever shows a character of a secret.
//!
//! A search goes once over the bytes for the words of all rules. Only where such a word stands is anything else tried,
//! on a bounded number of bytes, so the time grows with the length of the text and with nothing else.

mod added;
mod assignment;
mod describe;
mod find;
mod generic;
mod key;
mod locate;
mod manifest;
mod redact;
mod rule;
mod rules;
#[cfg(test)]
mod tests;
mod text;
mod vocabulary;

pub use self::{
    added::{Moved, added, in_name},
    describe::{Described, describe},
    redact::{mark, redact, redact_json, shows_secret},
    rules::{OwnRule, Rules},
};

/// What an inline permission begins with; the id of a rule follows.
pub const ALLOW: &str = "nrv:allow-secret";

/// A secret, or what looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The id of the rule.
    pub rule: String,
    /// Where the secret begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The line in which it begins, counted from 1.
    pub line: u32,
    /// The byte in that line at which it begins, counted from 1.
    pub column: u32,
    /// The first eight hex digits of its SHA-256 hash, to tell findings apart.
    pub sha256_prefix: String,
    /// What permits it, if something does: the inline comment.
    pub allowed_by: Option<String>,
}

/// Finds all secrets in the contents of a file, in the order in which they stand.
///
/// `path` is the file's, if there is one: in lock files only what is certain counts, and in settings a bare word is a
/// value. Where findings overlap, the most specific rule stays. Permitted findings are reported too.
pub fn scan(bytes: &[u8], path: Option<&str>, rules: &Rules) -> Vec<Found> {
    let spans = find::spans(bytes, locate::File::of(path), rules);
    locate::found(bytes, &spans)
}
