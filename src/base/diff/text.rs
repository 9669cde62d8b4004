//! The text of a diff, line by line, and the errors that point into it.

use std::{fmt, ops::Range, sync::Arc};

use crate::{
    error::{Code, Error},
    text::is_hidden,
};

/// The number of bytes of a line that a message shows.
pub(super) const SHOWN: usize = 160;

/// A diff and where its lines begin. Lines are counted from 0 here, and from 1 in messages.
pub(super) struct Text {
    pub(super) bytes: Arc<Vec<u8>>,
    starts: Vec<usize>,
}

impl Text {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(|end| end + 1));
        if starts.last().is_some_and(|last| *last < bytes.len()) {
            starts.push(bytes.len());
        }
        Text { bytes: Arc::new(bytes.to_vec()), starts }
    }

    /// The number of lines.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The bytes of a line, with its line feed.
    pub(super) fn range(&self, at: usize) -> Range<usize> {
        self.starts[at]..self.starts[at + 1]
    }

    /// A line with its line feed; nothing past the end.
    pub(super) fn line(&self, at: usize) -> &[u8] {
        if at < self.len() { &self.bytes[self.range(at)] } else { &[] }
    }

    pub(super) fn starts_with(&self, at: usize, word: &str) -> bool {
        self.line(at).starts_with(word.as_bytes())
    }

    /// True if two header lines of a file stand here: `--- ` and `+++ `.
    pub(super) fn has_names(&self, at: usize) -> bool {
        self.starts_with(at, "--- ") && self.starts_with(at + 1, "+++ ")
    }
}

/// The text with a line feed after its last line, in the manner of the line before; none if it has one.
pub(super) fn finished(bytes: &[u8]) -> Option<Vec<u8>> {
    let last = bytes.last().filter(|last| **last != b'\n')?;
    let start = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
    let has_return = *last == b'\r' || !bytes[..start].ends_with(b"\r\n");
    Some([bytes, if has_return { &b"\n"[..] } else { b"\r\n" }].concat())
}

/// An error about a line of the diff, which it shows.
pub(super) fn malformed(text: &Text, at: usize, what: &str) -> Error {
    let shown = show(text.line(at));
    Error::new(Code::InvalidInput, format!("line {} of the diff {what}: `{shown}`", at + 1))
        .detail("line", at + 1)
        .detail("text", shown)
}

/// A line as a message shows it: without its end, control characters escaped, cut if it is long.
pub(super) fn show(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    let mut shown = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == SHOWN {
            shown.push('…');
            break;
        }
        match letter {
            '\t' => shown.push(letter),
            _ if letter.is_control() || is_hidden(letter) => shown.extend(letter.escape_default()),
            _ => shown.push(letter),
        }
    }
    shown
}

/// `1 line`, `2 lines`.
pub(super) fn lines(count: usize) -> String {
    crate::text::counted(count, "line")
}

/// The end of a line. A carriage return by itself ends none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    /// The end of a line; none if it has no line feed.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let text = line.strip_suffix(b"\n")?;
        Some(if text.ends_with(b"\r") { LineEnd::CrLf } else { LineEnd::Lf })
    }

    /// Its bytes.
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
        }
    }
}

impl fmt::Display for LineEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LineEnd::Lf => "LF",
            LineEnd::CrLf => "CRLF",
        })
    }
}
