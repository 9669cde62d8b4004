//! Repairs the form of a diff, and reports each repair. It never guesses contents.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ParseOptions, Prose, Strip,
    line_ends::{self, Converted},
    parse,
    patch::{FilePatch, Hunk, Kind, Position},
    text::{Text, finished, lines, show},
};
use crate::{
    error::{Code, Error},
    text::counted,
};

/// A diff after its repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The diff, which parses without any leniency.
    pub text: Vec<u8>,
    /// The repairs, a sentence each; empty if nothing was wrong.
    pub repairs: Vec<String>,
}

/// The mark that some editors write before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) fn repair(text: &[u8], file: Option<&[u8]>) -> Result<Repaired, Error> {
    let mut repairs = Vec::new();
    let mut bytes = text.to_vec();
    if let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) {
        bytes = rest.to_vec();
        repairs.push("a byte order mark before the diff was left out".to_owned());
    }
    if let Some(whole) = finished(&bytes) {
        bytes = whole;
        repairs.push("a line feed was added after the last line".to_owned());
    }
    let read = read(&bytes, true, Prose::Skip)?;
    let text = Text::new(&bytes);
    let mut writer = Writer {
        text: &text,
        skipped: read.skipped.iter().copied().collect(),
        headers: BTreeMap::new(),
        blank: Vec::new(),
        repairs,
    };
    writer.note_skipped(&read.skipped);
    read.patch.files.iter().for_each(|part| writer.count_again(part));
    writer.note_blank();
    let repaired = writer.write();
    let patch = self::read(&repaired.text, false, Prose::Refuse)?.patch;
    match file {
        Some(file) => converted(repaired, &patch.files, file),
        None => Ok(repaired),
    }
}

/// The diff with the line ends of its file.
fn converted(mut repaired: Repaired, parts: &[FilePatch], file: &[u8]) -> Result<Repaired, Error> {
    let [part] = parts else {
        let message = format!("the diff is about {}, and one file is given", counted(parts.len(), "file"));
        return Err(Error::new(Code::InvalidInput, message).hint("repair the diff of each file with its text"));
    };
    if let Some(Converted { span, bytes, remark, .. }) = line_ends::converted(part, file)? {
        repaired.text.splice(span, bytes.iter().copied());
        repaired.repairs.push(remark);
    }
    Ok(repaired)
}

/// Reads with any prefixes, since the validity of paths is checked elsewhere.
fn read(bytes: &[u8], recount: bool, prose: Prose) -> Result<parse::Read, Error> {
    let with = |strip: Strip| parse::read(bytes, &ParseOptions { strip, recount, prose });
    with(Strip::Guess).or_else(|error| with(Strip::Exactly(1)).map_err(|_| error))
}

struct Writer<'a> {
    text: &'a Text,
    /// Lines that are left out.
    skipped: BTreeSet<usize>,
    /// Rewritten headers of hunks.
    headers: BTreeMap<usize, String>,
    /// Lines that get a space.
    blank: Vec<usize>,
    repairs: Vec<String>,
}

impl Writer<'_> {
    /// Reports the lines outside the diff, a sentence for each run.
    fn note_skipped(&mut self, skipped: &[usize]) {
        for run in skipped.chunk_by(|a, b| a + 1 == *b) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let shown = show(self.text.line(*first));
            let place = if first == last {
                format!("line {}", first + 1)
            } else {
                format!("lines {} to {}", first + 1, last + 1)
            };
            self.repairs.push(format!(
                "{place}: {} no part of a diff and left out: `{shown}`",
                if first == last { "is" } else { "are" }
            ));
        }
    }

    /// Rewrites the headers of a file's hunks where their counts are wrong.
    fn count_again(&mut self, part: &FilePatch) {
        let mut shift = 0;
        for hunk in &part.hunks {
            let at = hunk.line - 1;
            let size = hunk.size();
            if size.total() == 0 {
                self.skipped.extend(at..self.end(at, hunk));
                self.repairs.push(format!("line {}: a hunk that changes nothing was left out", hunk.line));
                continue;
            }
            let old = Position { start: hunk.old.start.max(usize::from(hunk.old.count > 0)), ..hunk.old };
            let before = usize::try_from(old.before() as i64 + shift).unwrap_or_default();
            let new = Position { start: before + usize::from(hunk.new.count > 0), ..hunk.new };
            shift += hunk.new.count as i64 - hunk.old.count as i64;
            self.note_header(at, old, new);
            self.note_lines(at, hunk);
        }
    }

    /// The line after a hunk and the mark of its last line.
    fn end(&self, at: usize, hunk: &Hunk) -> usize {
        hunk.lines().fold(at + 1, |line, _| line + 1 + usize::from(self.text.starts_with(line + 1, "\\ ")))
    }

    fn note_header(&mut self, at: usize, old: Position, new: Position) {
        let line = self.text.line(at);
        if super::body::header(line) == Some((old, new)) {
            return;
        }
        let header = format!("@@ -{},{} +{},{} @@", old.start, old.count, new.start, new.count);
        self.repairs.push(format!("line {}: `{}` became `{header}`", at + 1, show(line)));
        self.headers.insert(at, header);
    }

    /// Context that has lost its space: only the line feed is left of it.
    fn note_lines(&mut self, at: usize, hunk: &Hunk) {
        let mut next = at;
        for (kind, _) in hunk.lines() {
            next += 1;
            // The mark of a line without a line feed is no line of the file.
            next += usize::from(self.text.starts_with(next, "\\ "));
            if kind == Kind::Context && self.text.line(next) == b"\n" {
                self.blank.push(next);
            }
        }
    }

    fn note_blank(&mut self) {
        if let Some(first) = self.blank.first() {
            let count = lines(self.blank.len());
            self.repairs.push(format!(
                "line {}: {count} of empty context got the space back that begins such a line",
                first + 1
            ));
        }
    }

    fn write(self) -> Repaired {
        let mut out = Vec::with_capacity(self.text.bytes.len());
        let blank: BTreeSet<usize> = self.blank.into_iter().collect();
        for at in (0..self.text.len()).filter(|at| !self.skipped.contains(at)) {
            if blank.contains(&at) {
                out.push(b' ');
            }
            let line = self.text.line(at);
            match self.headers.get(&at) {
                Some(header) => {
                    // The text after the positions names the place in the file, for people.
                    let rest = memchr::memmem::find(&line[2..], b" @@").map_or(line.len() - 1, |end| end + 5);
                    out.extend_from_slice(header.as_bytes());
                    out.extend_from_slice(&line[rest..]);
                }
                None => out.extend_from_slice(line),
            }
        }
        Repaired { text: out, repairs: self.repairs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, repairs: &[&str]) {
        let repaired = repair(text.as_bytes(), None).unwrap();
        assert_eq!(String::from_utf8(repaired.text).unwrap(), expected);
        assert_eq!(repaired.repairs, repairs);
    }

    const GOOD: &str = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ here\n a\n-b\n+B\n c\n";

    #[test]
    fn a_good_diff_stays_as_it_is() {
        check(GOOD, GOOD, &[]);
    }

    #[test]
    fn counts_and_new_positions_are_taken_from_the_lines() {
        check(
            "--- a/x\n+++ b/x\n@@ -1,9 +1,2 @@ here\n a\n-b\n+B\n+C\n c\n@@ -7,2 +7,2 @@\n d\n+e\n f\n",
            "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@ here\n a\n-b\n+B\n+C\n c\n@@ -7,2 +8,3 @@\n d\n+e\n f\n",
            &[
                "line 3: `@@ -1,9 +1,2 @@ here` became `@@ -1,3 +1,4 @@`",
                "line 9: `@@ -7,2 +7,2 @@` became `@@ -7,2 +8,3 @@`",
            ],
        );
    }

    #[test]
    fn fences_and_prose_are_left_out() {
        check(
            &format!("Here it is:\n\n```diff\n{GOOD}```\n\nDone.\n"),
            &format!("\n{GOOD}\n"),
            &[
                "line 1: is no part of a diff and left out: `Here it is:`",
                "line 3: is no part of a diff and left out: ````diff`",
                "line 11: is no part of a diff and left out: `````",
                "line 13: is no part of a diff and left out: `Done.`",
            ],
        );
    }

    #[test]
    fn empty_context_gets_its_space_and_the_text_its_last_line_feed() {
        check(
            "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+B",
            "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n \n-b\n+B\n",
            &[
                "a line feed was added after the last line",
                "line 5: 1 line of empty context got the space back that begins such a line",
            ],
        );
    }

    #[test]
    fn a_hunk_that_changes_nothing_is_left_out() {
        check(
            "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n a\n@@ -7 +7 @@\n-b\n+B\n",
            "--- a/x\n+++ b/x\n@@ -7 +7 @@\n-b\n+B\n",
            &["line 3: a hunk that changes nothing was left out"],
        );
    }

    #[test]
    fn the_mark_of_a_hunk_that_is_left_out_goes_with_it() {
        check(
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -7 +7 @@\n c\n\\ No newline at end of file\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            &["line 6: a hunk that changes nothing was left out"],
        );
    }

    #[test]
    fn empty_lines_behind_a_hunk_belong_to_it_as_far_as_its_header_says() {
        check(
            "--- a/x\n+++ b/x\n@@ -1,1 +1,9 @@\n-b\n+B\n\n\nend\n",
            "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-b\n+B\n\n\n",
            &["line 8: is no part of a diff and left out: `end`", "line 3: `@@ -1,1 +1,9 @@` became `@@ -1,1 +1,1 @@`"],
        );
    }

    #[test]
    fn a_diff_gets_the_line_ends_of_the_given_file() {
        let remark = "4 lines of the diff got the line ends of `x`, CRLF";
        let body = "@@ -1,3 +1,3 @@ here\n a\r\n-b\r\n+B\r\n c\r\n";
        let repaired = repair(GOOD.as_bytes(), Some(b"a\r\nb\r\nc\r\n")).unwrap();
        let text = String::from_utf8(repaired.text).unwrap();
        assert_eq!((text, repaired.repairs), (format!("--- a/x\n+++ b/x\n{body}"), vec![remark.to_owned()]));
        let again = repair(format!("--- a/x\n+++ b/x\n{body}").as_bytes(), Some(b"a\r\nb\r\nc\r\n")).unwrap();
        assert!(again.repairs.is_empty());
        assert_eq!(repair(GOOD.as_bytes(), Some(b"a\r\nb\nc\n")).unwrap_err().code(), Code::PatchRejected);
        let two = format!("{GOOD}{}", GOOD.replace("/x", "/y"));
        assert_eq!(repair(two.as_bytes(), Some(b"a\n")).unwrap_err().code(), Code::InvalidInput);
    }

    #[test]
    fn a_last_line_is_finished_like_the_line_before() {
        let repaired = repair(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\r\n+A\r\n b", None).unwrap();
        assert!(repaired.text.ends_with(b"+A\r\n b\r\n"));
    }

    #[test]
    fn what_would_have_to_be_guessed_is_an_error() {
        for text in [
            "",
            "hello\n",
            "--- a/x\n+++ b/x\n@@ ... @@\n-a\n+b\n",
            "@@ -1 +1 @@\n-a\n+b\n",
            "--- a/x\n@@ -1 +1 @@\n-a\n+b\n",
        ] {
            assert!(repair(text.as_bytes(), None).is_err(), "{text}");
        }
    }
}
