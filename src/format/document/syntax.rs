//! The syntaxes of documents, and the places where texts depart from them.

use std::fmt;

/// The syntax of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Syntax {
    /// RFC 8259.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// JSON5 1.0.0.
    Json5,
    /// YAML 1.2, one document.
    Yaml,
    /// TOML 1.1.
    Toml,
}

/// The place where a text departs from its syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters.
    pub(crate) column: u32,
    /// A phrase without a final period.
    pub reason: String,
}

impl Malformed {
    pub(super) fn at(text: &str, at: usize, reason: impl Into<String>) -> Malformed {
        let (line, column) = position(text, at);
        Malformed { line, column, reason: reason.into() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

/// The 1-based line and column, in characters, of a byte of a text.
pub(super) fn position(text: &str, at: usize) -> (u32, u32) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}
