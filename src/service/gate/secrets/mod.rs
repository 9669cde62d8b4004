//! Finds secrets in bytes, and redacts outgoing texts.
//!
//! Pure functions of the bytes and the [`Rules`]. A finding has its rule, its place, and the beginning of the secret's hash;
//! nothing here ever shows a character of a secret.
//!
//! A search makes one pass over the bytes for the words of all rules. Patterns are tried only around such a word, on a bounded
//! number of bytes, so the time grows with the length of the text alone.

mod added;
mod assignment;
mod describe;
mod file;
mod find;
mod generic;
mod key;
mod locate;
mod manifest;
mod own_rules;
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
    own_rules::OwnRule,
    redact::{mark, redact, redact_json, shows_secret},
    rules::Rules,
};

/// The beginning of an inline permission; the id of a rule follows.
pub const ALLOW: &str = "nrv:allow-secret";

/// A likely secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The id of the rule.
    pub rule: String,
    /// The first byte of the secret.
    pub start: usize,
    /// The end of the secret.
    pub end: usize,
    /// The line in which it begins, counted from 1.
    pub line: u32,
    /// The byte in that line at which it begins, counted from 1.
    pub column: u32,
    /// The first eight hex digits of its SHA-256 hash, to tell findings apart.
    pub sha256_prefix: String,
    /// The inline comment that permits it, if any.
    pub allowed_by: Option<String>,
}

/// Finds all secrets in the contents of a file, in order.
///
/// `path` is the file's, if there is one: in lock files only certain findings count, and in settings a bare word is a value.
/// The most specific of overlapping findings stays. Permitted findings are reported too.
pub fn scan(bytes: &[u8], path: Option<&str>, rules: &Rules) -> Vec<Found> {
    let spans = find::spans(bytes, file::File::of(path), rules);
    locate::found(bytes, &spans)
}
