//! Moves the links of a file. Every byte outside of a move stays.

use std::{borrow::Cow, ops::Range};

use super::{
    census::Census,
    origin::{self, Moves, Rewrite},
};
use ::format::{
    pieces::pieces,
    scan::{Scan, Scanner},
    value::{Decoded, Value},
};
use base::{
    error::{Code, Error},
    pulse::Pulse,
};

/// Values between two calls of the pulse.
const STRIDE: usize = 1000;

/// The links of a file after their move.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// The number of links.
    pub(super) links: u64,
    /// The number of moved links.
    pub(super) updates: u64,
    /// The new bytes; none if nothing moves.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Counts the links of some bytes, where a quick reader can.
pub(super) type Counter<'a> = &'a dyn Fn(&[u8]) -> Option<Census>;

/// The readings of new bytes.
#[derive(Clone, Copy)]
pub(super) struct Again<'a> {
    /// Counts the links, where a quick reader can.
    pub(super) census: Counter<'a>,
    /// The check for cancellation.
    pub(super) pulse: Pulse<'a>,
}

/// Moves the links in `values`. The result is read once more by the `scan` that found them; none if its reading differs from the
/// intended one.
pub(super) fn rewrite(
    bytes: &[u8],
    values: &[Value],
    moves: &Moves,
    scan: Scanner<'_>,
    again: Again<'_>,
) -> Result<Option<Moved>, Error> {
    let (mut moved, new) = write(bytes, values, moves, again.pulse)?;
    if moved.updates > 0 {
        let is_meant = new.is_plainly_meant(moved.links, again.census)
            || new.is_meant(bytes, values, &scan(&new.bytes)?, again.pulse)?;
        if !is_meant {
            return Ok(None);
        }
        moved.bytes = Some(new.bytes);
    }
    Ok(Some(moved))
}

/// Moves the links that a census found. The result is counted once more; none if the exact reader is needed.
pub(super) fn rewrite_counted(
    bytes: &[u8],
    found: &Census,
    moves: &Moves,
    again: Again<'_>,
) -> Result<Option<Moved>, Error> {
    let (moved, new) = write(bytes, &found.moving, moves, again.pulse)?;
    let is_meant = new.is_plainly_meant(found.links, again.census);
    Ok(is_meant.then_some(Moved { links: found.links, updates: moved.updates, bytes: Some(new.bytes) }))
}

/// Writes the file with the links in `values` moved. The count of links is that of `values`.
fn write(bytes: &[u8], values: &[Value], moves: &Moves, pulse: Pulse<'_>) -> Result<(Moved, Written), Error> {
    let mut moved = Moved::default();
    let mut new = Written::default();
    for (n, value) in values.iter().enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        let decoded = Decoded::new(&bytes[value.range.clone()], &value.escapes);
        let pieces = pieces(value.form, &decoded.text).into_iter();
        let pieces = pieces.map(|range| moves.rewrite(&decoded.text[range.clone()]).map(|rewrite| (range, rewrite)));
        let pieces = pieces.collect::<Result<Vec<Piece>, _>>()?;
        let n_links = pieces.len() as u64;
        let updates = pieces.iter().filter(|(_, rewrite)| rewrite.is_some()).count() as u64;
        if updates > 0 {
            new.value(bytes, value, &decoded, &pieces)?;
            let arrived = (moved.links..).zip(pieces).filter_map(|(link, (_, new))| Some((link, new?.cleaned)));
            new.arrived.extend(arrived);
        }
        moved.links += n_links;
        moved.updates += updates;
    }
    if moved.updates > 0 {
        new.bytes.extend_from_slice(&bytes[new.copied..]);
    }
    Ok((moved, new))
}

/// A URL in a value, with its move.
type Piece = (Range<usize>, Option<Rewrite>);

/// The written part of a file.
#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    /// The end of the old bytes copied so far.
    copied: usize,
    /// The numbers of the moved links, with their new URLs.
    arrived: Vec<(u64, String)>,
    /// True once a written value does not read as intended.
    is_odd: bool,
}

impl Written {
    /// True if each value by itself reads as intended, and the file has as many links as before, none of which moves. Then all
    /// of them read as intended.
    fn is_plainly_meant(&self, links: u64, census: Counter<'_>) -> bool {
        !self.is_odd && census(&self.bytes).is_some_and(|found| found.links == links && found.moving.is_empty())
    }

    /// Writes everything before a value, and the value with its new pieces.
    fn value(&mut self, bytes: &[u8], value: &Value, decoded: &Decoded<'_>, pieces: &[Piece]) -> Result<(), Error> {
        let start = value.range.start;
        let mut begins = None;
        for (piece, rewrite) in pieces {
            for (range, text) in rewrite.iter().flat_map(|rewrite| &rewrite.edits) {
                let range = decoded.raw(piece.start + range.start..piece.start + range.end);
                let kept = bytes.get(self.copied..start + range.start).ok_or_else(overlap)?;
                if begins.is_none() {
                    begins = Some(self.bytes.len() + start.checked_sub(self.copied).ok_or_else(overlap)?);
                }
                self.bytes.extend_from_slice(kept);
                self.bytes.extend_from_slice(text.as_bytes());
                self.copied = start + range.end;
            }
        }
        let Some(begins) = begins else { return Ok(()) };
        self.bytes.extend_from_slice(bytes.get(self.copied..value.range.end).ok_or_else(overlap)?);
        self.copied = value.range.end;
        let new = Decoded::new(&self.bytes[begins..], &value.escapes);
        let meant = pieces.iter().map(|(range, rewrite)| match rewrite {
            Some(rewrite) => rewrite.cleaned.as_str().into(),
            None => origin::cleaned(&decoded.text[range.clone()]),
        });
        let found = ::format::pieces::pieces(value.form, &new.text).into_iter();
        self.is_odd |= !found.map(|range| origin::cleaned(&new.text[range])).eq(meant);
        Ok(())
    }

    /// True if the result reads as intended. An escape can end in the replacement of its neighbour, and a URL's standard spelling
    /// may hold a character with another meaning in its place.
    fn is_meant(&self, bytes: &[u8], values: &[Value], found: &Scan, pulse: Pulse<'_>) -> Result<bool, Error> {
        if found.skipped.is_some() || found.values.len() != values.len() {
            return Ok(false);
        }
        let mut arrived = self.arrived.iter().peekable();
        let mut n_links = 0;
        for (n, (value, new_value)) in values.iter().zip(&found.values).enumerate() {
            if n % STRIDE == 0 {
                pulse()?;
            }
            let old = Decoded::new(&bytes[value.range.clone()], &value.escapes);
            let new = Decoded::new(&self.bytes[new_value.range.clone()], &new_value.escapes);
            let (pieces, new_pieces) = (pieces(value.form, &old.text), pieces(new_value.form, &new.text));
            if pieces.len() != new_pieces.len() {
                return Ok(false);
            }
            for (piece, new_piece) in pieces.into_iter().zip(new_pieces) {
                let meant = match arrived.next_if(|(link, _)| *link == n_links) {
                    Some((_, meant)) => Cow::Borrowed(meant.as_str()),
                    None => origin::cleaned(&old.text[piece]),
                };
                if meant != origin::cleaned(&new.text[new_piece]) {
                    return Ok(false);
                }
                n_links += 1;
            }
        }
        Ok(true)
    }
}

fn overlap() -> Error {
    Error::new(Code::Internal, "two links were found in one place")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::link_updater::{
        format::{self, Format},
        params::Params,
    };

    fn moved(format: Format, bytes: &[u8], to: &str) -> Option<Moved> {
        let params = json!({"from_hosts": ["old.example.com"], "to_host": to, "include": ["json", "json_ld"]});
        let params = Params::parse(&params).unwrap();
        let scan = |bytes: &[u8]| format::scan(format, bytes, &params, &|| Ok(()));
        let found = scan(bytes).unwrap();
        assert_eq!(found.skipped, None, "{}", String::from_utf8_lossy(bytes));
        let moves = Moves::compile(&params).unwrap();
        rewrite(bytes, &found.values, &moves, &scan, Again { census: &|_| None, pulse: &|| Ok(()) }).unwrap()
    }

    #[track_caller]
    fn check(html: &str, links: u64, expected: &str) {
        let moved = moved(Format::Html, html.as_bytes(), "https://new.example.com").unwrap();
        let new = moved.bytes.map_or(html.to_owned(), |bytes| String::from_utf8(bytes).unwrap());
        assert_eq!((new.as_str(), moved.links), (expected, links));
    }

    #[test]
    fn only_origins_change() {
        check(
            "<A  HREF='http://old.example.com/x?a=1&amp;b' class=x>",
            1,
            "<A  HREF='https://new.example.com/x?a=1&amp;b' class=x>",
        );
        check("<a href=http&#58;//old&#x2e;example.com&#47;x&y>", 1, "<a href=https://new.example.com&#47;x&y>");
        check("<a href=\" http://u&#64;old.example.com \">", 1, "<a href=\" https://u&#64;new.example.com \">");
        check(
            "<img srcset='//old.example.com/a 1x, b 2x,https://old.example.com/c'>",
            3,
            "<img srcset='//new.example.com/a 1x, b 2x,https://new.example.com/c'>",
        );
        check(
            "<meta http-equiv=refresh content=\"3; URL='http://OLD.example.com/'\">",
            1,
            "<meta http-equiv=refresh content=\"3; URL='https://new.example.com/'\">",
        );
        check(
            "<p title='http://old.example.com'>http://old.example.com",
            0,
            "<p title='http://old.example.com'>http://old.example.com",
        );
    }

    #[test]
    fn other_encodings_are_edited_exactly() {
        let page = b"caf\xe9 <a href=\"http://old.example.com/\xe9\" title='\xff'>";
        let moved = moved(Format::Html, page, "https://new.example.com").unwrap();
        assert_eq!(moved.bytes.unwrap(), b"caf\xe9 <a href=\"https://new.example.com/\xe9\" title='\xff'>");
    }

    #[test]
    fn what_would_be_read_as_something_else_is_not_moved() {
        assert_eq!(moved(Format::Html, b"<a href=http://u&#64old.example.com>", "https://1.example.com"), None);
        assert_eq!(moved(Format::Css, b"a{b:url(http://old.example.com/../\\(c)}", "https://1.example.com/d"), None);
        assert_eq!(moved(Format::Markdown, b"http://old.example.com", "https://[::1]"), None);
    }
}
