//! A URL as written, and the parts of it that a move replaces.

use std::{borrow::Cow, ops::Range};

use url::Url;

use super::target::Target;

/// A URL as its parser reads it: without tabs and line ends.
pub(super) struct Clean<'a> {
    /// The URL.
    pub(super) text: Cow<'a, str>,
    /// For each byte of `text` its offset in the piece; none if they are the same.
    at: Option<Vec<usize>>,
}

impl<'a> Clean<'a> {
    /// Drops the characters that the parser drops.
    pub(super) fn new(piece: &'a str) -> Self {
        let dropped = |c: char| matches!(c, '\t' | '\n' | '\r');
        if !piece.contains(dropped) {
            return Clean { text: Cow::Borrowed(piece), at: None };
        }
        let kept = piece.bytes().enumerate().filter(|(_, byte)| !dropped(char::from(*byte)));
        let at = kept.map(|(at, _)| at).collect();
        Clean { text: Cow::Owned(piece.chars().filter(|c| !dropped(*c)).collect()), at: Some(at) }
    }

    /// The text with parts of it replaced.
    pub(super) fn with(&self, edits: &[(Range<usize>, String)]) -> String {
        let mut text = self.text.to_string();
        for (range, new) in edits.iter().rev() {
            text.replace_range(range.clone(), new);
        }
        text
    }
}

/// The place of the authority of a URL.
pub(super) struct Parts {
    /// True if the URL begins with its slashes.
    relative: bool,
    authority: Range<usize>,
}

impl Parts {
    /// None if the URL names no host by itself. One slash or none after the scheme depends on the page's address.
    pub(super) fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let begins = |scheme: &[u8]| bytes.len() >= scheme.len() && bytes[..scheme.len()].eq_ignore_ascii_case(scheme);
        let after_scheme = [&b"https:"[..], b"http:"].into_iter().find(|scheme| begins(scheme)).map_or(0, <[u8]>::len);
        let slashes = bytes[after_scheme..].iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
        if slashes < 2 {
            return None;
        }
        let start = after_scheme + slashes;
        let length = text[start..].find(['/', '\\', '?', '#']).unwrap_or(text.len() - start);
        Some(Parts { relative: after_scheme == 0, authority: start..start + length })
    }

    /// The URL; one that begins with its slashes is read as on an https page.
    pub(super) fn url(&self, text: &str) -> Option<Url> {
        if self.relative { Url::parse(&format!("https:{text}")).ok() } else { Url::parse(text).ok() }
    }

    /// Replaces the scheme and the host, and keeps the user between them. `//host` stays relative if it means the same.
    pub(super) fn edits(&self, text: &str, to: &Target) -> Vec<(Range<usize>, String)> {
        let Range { start, end } = self.authority.clone();
        let host = text[start..end].rfind('@').map_or(start, |at| start + at + 1);
        let Target { origin, prefix } = to;
        let scheme = (0..start, format!("{}://", origin.scheme));
        let stays_relative = self.relative && origin.scheme == "https";
        let scheme = (!stays_relative).then_some(scheme);
        scheme.into_iter().chain([(host..end, format!("{}{prefix}", origin.authority()))]).collect()
    }

    /// The same, if the path as written would mean something else behind the prefix.
    pub(super) fn edits_with_path(&self, text: &str, to: &Target, path: &str) -> Vec<(Range<usize>, String)> {
        let end = self.authority.end;
        let written = text[end..].find(['?', '#']).unwrap_or(text.len() - end);
        let mut edits = self.edits(text, to);
        if let Some((range, new)) = edits.last_mut() {
            range.end += written;
            new.truncate(new.len() - to.prefix.len());
            new.push_str(path);
        }
        edits
    }

    /// The part of the piece that an edit of the text replaces. Dropped characters between the slashes and the authority belong
    /// to the slashes. Those between the user and the host belong to the host, and those at the end of a path to the path.
    pub(super) fn raw(&self, clean: &Clean<'_>, range: Range<usize>) -> Range<usize> {
        let Some(at) = &clean.at else { return range };
        let Range { start, end } = self.authority;
        let takes_gap = range.end == start || range.end > end && range.end < at.len();
        Range {
            start: if range.start > start { at[range.start - 1] + 1 } else { at[range.start] },
            end: if takes_gap { at[range.end] } else { at[range.end - 1] + 1 },
        }
    }
}
