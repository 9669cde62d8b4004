//! Gives the lines of a diff the line ends of its file. It refuses where that would be a guess: a file that mixes line ends, and a
//! diff that is about them.

use std::{ops::Range, sync::Arc};

use super::{
    patch::{FilePatch, Hunk, Kind},
    reject,
    text::{LineEnd, lines},
};
use crate::error::Error;

/// A part of a diff with other line ends.
pub(super) struct Converted {
    /// The part. Its lines are in `bytes`.
    pub(super) part: FilePatch,
    /// The bytes of the diff that `bytes` replaces: from its first line in a hunk to its last.
    pub(super) span: Range<usize>,
    pub(super) bytes: Arc<Vec<u8>>,
    /// The number of lines that were converted, as a sentence.
    pub(super) remark: String,
}

/// The part with the line ends of its file; none if it has them already, or if one of both has no line end.
///
/// `patch_rejected` if the file has lines of both ends, or if the diff only changes the end of a line.
pub(super) fn converted(part: &FilePatch, before: &[u8]) -> Result<Option<Converted>, Error> {
    if part.hunks.is_empty() {
        return Ok(None);
    }
    let Some(end) = of_file(part, before)? else { return Ok(None) };
    let mut rows: Vec<Row> = Vec::new();
    for (at, hunk) in part.hunks.iter().enumerate() {
        check_change(part, hunk, end)?;
        rows.extend(hunk.lines.iter().enumerate().map(|(n, (_, range))| Row { place: (at, n), range: range.clone() }));
    }
    // A reversed hunk has its lines in another order than the text.
    rows.sort_by_key(|row| row.range.start);
    let text = part.hunks.first().map(|hunk| Arc::clone(&hunk.text)).unwrap_or_default();
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(None) };
    let span = first.range.start..last.range.end;
    let (mut bytes, mut next, mut count) = (Vec::with_capacity(span.len() + rows.len()), span.start, 0);
    for row in &mut rows {
        bytes.extend_from_slice(&text[next..row.range.start]);
        let (start, line) = (bytes.len(), with_end(&text, &row.range, end));
        bytes.extend_from_slice(line.0);
        bytes.extend_from_slice(line.1);
        count += usize::from(text[row.range.clone()] != bytes[start..]);
        next = row.range.end;
        row.range = start..bytes.len();
    }
    if count == 0 {
        return Ok(None);
    }
    let bytes = Arc::new(bytes);
    let mut part = part.clone();
    part.hunks.iter_mut().for_each(|hunk| hunk.text = Arc::clone(&bytes));
    for Row { place: (at, n), range } in rows {
        part.hunks[at].lines[n].1 = range;
    }
    let remark = format!("{} of the diff got the line ends of `{}`, {end}", lines(count), part.path());
    Ok(Some(Converted { part, span, bytes, remark }))
}

/// A line of a hunk, and its bytes in the diff.
struct Row {
    /// The number of its hunk, and its own number there.
    place: (usize, usize),
    range: Range<usize>,
}

/// The line end of a file; none if no line has one.
fn of_file(part: &FilePatch, before: &[u8]) -> Result<Option<LineEnd>, Error> {
    let mut found: Option<LineEnd> = None;
    for (at, line) in before.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match (found, LineEnd::of(line)) {
            (_, None) => {}
            (None, end) => found = end,
            (Some(first), Some(end)) if first == end => {}
            (Some(first), Some(end)) => return Err(reject::mixed(part, (first, end), at + 1)),
        }
    }
    Ok(found)
}

/// A line as its text and its end. Where the mark of a missing line feed ends in CRLF, so did the line before the mark.
fn with_end<'t>(text: &'t [u8], range: &Range<usize>, end: LineEnd) -> (&'t [u8], &'static [u8]) {
    let line = &text[range.clone()];
    let own = LineEnd::of(line);
    let bare = match own {
        Some(own) => &line[..line.len() - own.bytes().len()],
        None => line.strip_suffix(b"\r").filter(|_| is_marked_by_crlf(&text[range.end..])).unwrap_or(line),
    };
    (bare, own.map_or(&[][..], |_| end.bytes()))
}

/// True if the line after this one ends in CRLF; `rest` begins with the line feed of this one.
fn is_marked_by_crlf(rest: &[u8]) -> bool {
    let mark = rest.split_inclusive(|byte| *byte == b'\n').nth(1);
    mark.is_some_and(|mark| LineEnd::of(mark) == Some(LineEnd::CrLf))
}

/// Refuses a hunk that replaces a line by itself with another end: conversion would lose that.
fn check_change(part: &FilePatch, hunk: &Hunk, end: LineEnd) -> Result<(), Error> {
    for run in hunk.lines.chunk_by(|a, b| a.0 != Kind::Context && b.0 != Kind::Context) {
        let of = |kind: Kind| run.iter().filter(move |line| line.0 == kind).map(|line| &line.1);
        for (old, new) in of(Kind::Removed).zip(of(Kind::Added)) {
            let differs = hunk.text[old.clone()] != hunk.text[new.clone()];
            if differs && with_end(&hunk.text, old, end) == with_end(&hunk.text, new, end) {
                return Err(reject::about_line_ends(part, hunk));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{
        diff::{ParseOptions, Placement, Side, Strip, parse},
        error::{Code, Error},
    };

    const LF: &str = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n c\n";

    fn patched(diff: &str, before: &str, reversed: bool) -> Result<(String, Option<String>), Error> {
        let options = ParseOptions { strip: Strip::Guess, ..ParseOptions::default() };
        let mut part = parse(diff.as_bytes(), &options).unwrap().files.remove(0);
        if reversed {
            part = part.reversed();
        }
        let (part, remark) = part.with_line_ends_of(before.as_bytes())?;
        let after = part.apply(Some(Side { bytes: before.as_bytes(), mode: 0o644 }), Placement::Exact)?.after;
        Ok((String::from_utf8(after.unwrap().0).unwrap(), remark))
    }

    #[track_caller]
    fn check(diff: &str, before: &str, expected: &str, remark: Option<&str>) {
        let (after, found) = patched(diff, before, false).unwrap();
        assert_eq!((after.as_str(), found.as_deref()), (expected, remark));
    }

    fn crlf(text: &str) -> String {
        text.replace('\n', "\r\n")
    }

    const FIVE: &str = "5 lines of the diff got the line ends of `x`, CRLF";
    const FIVE_BACK: &str = "5 lines of the diff got the line ends of `x`, LF";

    #[test]
    fn a_diff_gets_the_line_ends_of_its_file() {
        check(LF, "a\r\nb\r\nc\r\n", "a\r\nB\r\nC\r\nc\r\n", Some(FIVE));
        check(LF, "a\nb\nc\n", "a\nB\nC\nc\n", None);
        let own = crlf(LF);
        check(&own, "a\nb\nc\n", "a\nB\nC\nc\n", Some(FIVE_BACK));
        check(&own, "a\r\nb\r\nc\r\n", "a\r\nB\r\nC\r\nc\r\n", None);
        let one = "1 line of the diff got the line ends of `x`, CRLF";
        let mixed = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\r\n+B\n b\r\n";
        check(mixed, "a\r\nb\r\n", "a\r\nB\r\nb\r\n", Some(one));
    }

    #[test]
    fn a_last_line_without_an_end_keeps_having_none() {
        let mark = "\\ No newline at end of file\n";
        let diff = format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n{mark}+B\n{mark}");
        let remark = "1 line of the diff got the line ends of `x`, CRLF";
        check(&diff, "a\r\nb", "a\r\nB", Some(remark));
        check(&crlf(&diff), "a\nb", "a\nB", Some("3 lines of the diff got the line ends of `x`, LF"));
        // Where the mark ends in LF, the carriage return is a byte of the line.
        let diff = format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\r\n{mark}+B\n{mark}");
        check(&diff, "a\nb\r", "a\nB", None);
    }

    #[test]
    fn a_reversed_diff_is_converted_too() {
        let (after, remark) = patched(LF, "a\r\nB\r\nC\r\nc\r\n", true).unwrap();
        assert_eq!((after.as_str(), remark.as_deref()), ("a\r\nb\r\nc\r\n", Some(FIVE)));
    }

    #[track_caller]
    fn refused(diff: &str, before: &str, words: &str) {
        let error = patched(diff, before, false).unwrap_err();
        assert_eq!(error.code(), Code::PatchRejected);
        assert!(error.message().contains(words), "{error}");
    }

    #[test]
    fn a_file_with_mixed_line_ends_is_refused() {
        for before in ["a\r\nb\nc\r\n", "a\nb\nc\r\n", "a\r\nb\r\nc\r\nd\n"] {
            refused(LF, before, "has lines that end in");
        }
        refused(LF, "a\nb\nc\nd\ne\r\n", "line 5 ends in CRLF, and the lines before it in LF");
    }

    #[test]
    fn a_diff_about_line_ends_is_refused() {
        refused("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n", "a\nb\n", "changes only the end of a line");
        refused("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n", "a\r\nb\r\n", "changes only the end of a line");
    }

    #[test]
    fn files_and_diffs_without_a_line_end_are_left_alone() {
        let mark = "\\ No newline at end of file\n";
        check(&format!("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n{mark}+a\n+b\n"), "a", "a\nb\n", None);
        check("--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", "", "b\n", None);
    }
}
