//! Moves the links of a file. Every byte outside of what a move names stays.

use std::borrow::Cow;

use super::{
    origin::{self, Moves, Rewrite},
    pieces::pieces,
    scan::{Pulse, Scan, Scanner},
    value::{Decoded, Value},
};
use crate::error::{Code, Error};

/// Values between two questions whether to go on.
const STRIDE: usize = 1000;

/// What came of a file's links.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// How many there are.
    pub(super) links: u64,
    /// How many of them move.
    pub(super) updates: u64,
    /// The new bytes; none if nothing moves.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Moves the links in `values`. `again` finds the values of other bytes in the same way: what was written is read once more.
/// None if it would be read as something else than what was meant.
pub(super) fn rewrite(
    bytes: &[u8],
    values: &[Value],
    moves: &Moves,
    (again, pulse): (Scanner<'_>, Pulse<'_>),
) -> Result<Option<Moved>, Error> {
    let mut moved = Moved::default();
    let (mut new, mut copied, mut arrived) = (Vec::new(), 0, Vec::new());
    for (n, value) in values.iter().enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        let start = value.range.start;
        let decoded = Decoded::new(&bytes[value.range.clone()], &value.escapes);
        for piece in pieces(value.form, &decoded.text) {
            if let Some(Rewrite { edits, cleaned }) = moves.rewrite(&decoded.text[piece.clone()])? {
                for (range, text) in edits {
                    let range = decoded.raw(piece.start + range.start..piece.start + range.end);
                    let kept = bytes.get(copied..start + range.start).ok_or_else(overlap)?;
                    new.extend_from_slice(kept);
                    new.extend_from_slice(text.as_bytes());
                    copied = start + range.end;
                }
                arrived.push((moved.links, cleaned));
            }
            moved.links += 1;
        }
    }
    moved.updates = arrived.len() as u64;
    if !arrived.is_empty() {
        new.extend_from_slice(&bytes[copied..]);
        let found = again(&new)?;
        if !is_meant((bytes, values), (&new, &found), arrived, pulse)? {
            return Ok(None);
        }
        moved.bytes = Some(new);
    }
    Ok(Some(moved))
}

fn overlap() -> Error {
    Error::new(Code::Internal, "two links were found in one place")
}

/// True if what was written is read as it was meant. An escape can end in what replaces its neighbour, and a URL's standard
/// spelling may hold a character that means something else where it stands.
fn is_meant(
    (bytes, values): (&[u8], &[Value]),
    (new_bytes, found): (&[u8], &Scan),
    arrived: Vec<(u64, String)>,
    pulse: Pulse<'_>,
) -> Result<bool, Error> {
    if found.skipped.is_some() || found.values.len() != values.len() {
        return Ok(false);
    }
    let mut arrived = arrived.into_iter().peekable();
    let mut n_links = 0;
    for (n, (value, new_value)) in values.iter().zip(&found.values).enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        let old = Decoded::new(&bytes[value.range.clone()], &value.escapes);
        let new = Decoded::new(&new_bytes[new_value.range.clone()], &new_value.escapes);
        let (pieces, new_pieces) = (pieces(value.form, &old.text), pieces(new_value.form, &new.text));
        if pieces.len() != new_pieces.len() {
            return Ok(false);
        }
        for (piece, new_piece) in pieces.into_iter().zip(new_pieces) {
            let meant = match arrived.next_if(|(link, _)| *link == n_links) {
                Some((_, meant)) => Cow::Owned(meant),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dta::link_updater::{
        format::{self, Format},
        params::Params,
    };

    fn moved(format: Format, bytes: &[u8], to: &str) -> Option<Moved> {
        let params = json!({"from_hosts": ["old.example.com"], "to_host": to, "include": ["json", "json_ld"]});
        let params = Params::parse(&params).unwrap();
        let again = |bytes: &[u8]| format::scan(format, bytes, &params, &|| Ok(()));
        let found = again(bytes).unwrap();
        assert_eq!(found.skipped, None, "{}", String::from_utf8_lossy(bytes));
        rewrite(bytes, &found.values, &Moves::compile(&params).unwrap(), (&again, &|| Ok(()))).unwrap()
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
