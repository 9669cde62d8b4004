//! Lines of JSON: bytes in, in pieces of any size, lines out.

use memchr::memchr;

use super::{
    dialect::Frame,
    sse::{MAX_EVENT, not_utf8, too_long},
};
use base::error::Error;

/// Splits bytes into lines.
#[derive(Debug, Default)]
pub(super) struct Ndjson {
    line: Vec<u8>,
    has_begun: bool,
}

impl Ndjson {
    /// Takes bytes, and returns the lines that they complete. Empty lines keep a connection alive.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), Error> {
        loop {
            let end = memchr(b'\n', bytes);
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() > MAX_EVENT {
                return Err(too_long());
            }
            let Some(end) = end else { return Ok(()) };
            bytes = &bytes[end + 1..];
            let text = std::str::from_utf8(&self.line).map_err(|_| not_utf8())?;
            let text = match std::mem::replace(&mut self.has_begun, true) {
                true => text,
                false => text.strip_prefix('\u{feff}').unwrap_or(text),
            };
            if !text.trim().is_empty() {
                out.push(Frame { event: None, data: text.trim().to_owned() });
            }
            self.line.clear();
        }
    }

    /// Ends the last line if it lacks its line feed.
    pub(crate) fn finish(&mut self, out: &mut Vec<Frame>) -> Result<(), Error> {
        self.push(b"\n", out)
    }

    /// True if a line has begun.
    pub(super) fn is_inside(&self) -> bool {
        !self.line.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let (mut ndjson, mut out) = (Ndjson::default(), Vec::new());
        pieces.iter().for_each(|piece| ndjson.push(piece, &mut out).unwrap());
        out.into_iter().map(|frame| frame.data).collect()
    }

    #[test]
    fn cut_at_every_byte_it_gives_the_same_lines() {
        let all = "\u{feff}{\"a\":\"é\"}\r\n\n{\"b\":\"\u{1F600}\"}\n{\"c\":1}".as_bytes();
        for at in 0..all.len() {
            assert_eq!(lines(&[&all[..at], &all[at..]]), ["{\"a\":\"é\"}", "{\"b\":\"\u{1F600}\"}"], "cut at {at}");
        }
        assert_eq!(lines(&[all, b"\n"]).len(), 3);
    }
}
