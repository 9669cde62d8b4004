//! The places of destinations in a file.

use std::ops::Range;

use comrak::nodes::Sourcepos;

use audit::spelling::{Layer, Spelled};

/// The farthest place of a destination from the beginning of its link, if the parser's end of the link is wrong.
const FARTHEST: usize = 16 << 10;

/// The beginnings of a file's lines.
#[derive(Debug)]
pub(super) struct Lines(Vec<usize>);

impl Lines {
    /// The lines of a text, which end as in CommonMark.
    pub(super) fn of(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        Lines(starts)
    }

    /// The place of a node.
    pub(super) fn range(&self, position: Sourcepos) -> Range<usize> {
        let at = |line: usize| self.0.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let start = at(position.start.line) + position.start.column.saturating_sub(1);
        start..(at(position.end.line) + position.end.column).max(start)
    }

    /// The line of a place, from 1.
    pub(super) fn of_place(&self, place: usize) -> usize {
        self.0.partition_point(|start| *start <= place)
    }

    /// A line without its end.
    pub(super) fn text<'s>(&self, source: &'s str, line: usize) -> &'s str {
        let Some(start) = self.0.get(line.saturating_sub(1)) else { return "" };
        let end = self.0.get(line).copied().unwrap_or(source.len());
        source.get(*start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// The place in the file of a place in a block that begins on a line: each of its lines ends one of the file.
    pub(super) fn in_block(&self, source: &str, first: usize, block: &str, at: usize) -> Option<usize> {
        let before = block.get(..at)?;
        let count = before.bytes().filter(|byte| *byte == b'\n').count();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = block[start..].find('\n').map_or(block.len(), |length| start + length);
        let line = self.text(source, first + count);
        // The parser makes spaces of a tab in the margin.
        let own = block[start..end].trim_end_matches('\r').trim_start_matches([' ', '\t']);
        let start = block[start..].find(|c| c != ' ' && c != '\t').map_or(start, |length| start + length);
        let margin = line.len().checked_sub(own.len()).filter(|margin| line.get(*margin..) == Some(own))?;
        let begin = self.0.get((first + count).checked_sub(1)?)?;
        Some(begin + margin + at.checked_sub(start)?)
    }

    /// The place in the file of a place in a tag within a paragraph, of whose lines the parser takes the margins.
    pub(super) fn in_tag(&self, source: &str, start: usize, tag: &str, at: usize) -> Option<usize> {
        let before = tag.get(..at)?;
        let own = before.rfind('\n').map_or(0, |at| at + 1);
        let text = tag[own..].split('\n').next()?.trim_end();
        let begin = match before.bytes().filter(|byte| *byte == b'\n').count() {
            0 => start,
            count => {
                let line = self.of_place(start) + count;
                let begin = self.0.get(line.checked_sub(1)?)?;
                let margin = |at: &usize| self.text(source, line)[..*at].bytes().all(|byte| b" \t>".contains(&byte));
                let ends = self.text(source, line).char_indices().map(|(at, _)| at).take_while(margin);
                begin + ends.into_iter().find(|at| self.text(source, line)[*at..].starts_with(text))?
            }
        };
        source.get(begin..)?.starts_with(text).then_some(begin + at - own)
    }
}

/// The meaning of a destination in Markdown.
pub(super) fn meaning(raw: &[u8]) -> Vec<u8> {
    Spelled::decode(raw, &[Layer::Markdown]).bytes
}

/// The place of a destination with its angle brackets, if it has them.
pub(super) fn with_brackets(bytes: &[u8], place: Range<usize>) -> Range<usize> {
    let is_open = place.start.checked_sub(1).is_some_and(|at| bytes[at] == b'<');
    if is_open && bytes.get(place.end) == Some(&b'>') { place.start - 1..place.end + 1 } else { place }
}

/// The place of the destination of a link that stands there and has that meaning.
///
/// The parser's end of a link that goes over lines in a container can be wrong. Then the first fitting place counts.
pub(super) fn destination(source: &str, link: Range<usize>, url: &str) -> Option<Range<usize>> {
    let bytes = source.as_bytes();
    let opens = |end: usize| {
        let text = bytes.get(link.start..end).unwrap_or_default();
        memchr::memmem::find_iter(text, b"](").map(|at| link.start + at + 2).collect::<Vec<_>>()
    };
    let exact = opens(link.end.min(bytes.len())).into_iter().rev().find_map(|open| {
        let (place, end) = destination_at(bytes, open, url)?;
        (end == link.end).then_some(place)
    });
    let near =
        || opens(bytes.len().min(link.start + FARTHEST)).into_iter().find_map(|open| destination_at(bytes, open, url));
    exact.or_else(|| near().map(|(place, _)| place))
}

/// The destination after `](` if it has that meaning, and the end of its link.
fn destination_at(bytes: &[u8], open: usize, url: &str) -> Option<(Range<usize>, usize)> {
    let start = open + gap(&bytes[open..]);
    let place = start..start + length(&bytes[start..]);
    let inner = match bytes.get(start) {
        Some(b'<') => place.start + 1..place.end.checked_sub(1)?.max(place.start + 1),
        Some(_) | None => place.clone(),
    };
    if meaning(&bytes[inner]) != url.as_bytes() {
        return None;
    }
    let title = place.end + gap(&bytes[place.end..]);
    let close = match bytes.get(title)? {
        b')' => title,
        quote @ (b'"' | b'\'' | b'(') if title > place.end => {
            let end = if *quote == b'(' { b')' } else { *quote };
            let mut at = title + 1;
            while *bytes.get(at)? != end {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            at + 1 + gap(&bytes[at + 1..])
        }
        _ => return None,
    };
    (bytes.get(close) == Some(&b')')).then_some((place, close + 1))
}

/// The length of white space, with the marks of containers after a line end.
fn gap(bytes: &[u8]) -> usize {
    let (mut at, mut is_after_line) = (0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' | b'\r' => is_after_line = true,
            b' ' | b'\t' => {}
            b'>' if is_after_line => {}
            _ => break,
        }
        at += 1;
    }
    at
}

/// The length of the destination at the beginning.
fn length(bytes: &[u8]) -> usize {
    let is_bracketed = bytes.first() == Some(&b'<');
    let (mut at, mut open) = (usize::from(is_bracketed), 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'>' if is_bracketed => return at + 1,
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 1,
            b'(' if !is_bracketed => open += 1,
            b')' if !is_bracketed && open == 0 => return at,
            b')' if !is_bracketed => open -= 1,
            byte if !is_bracketed && (*byte <= b' ' || *byte == 127) => return at,
            _ => {}
        }
        at += 1;
    }
    at
}
