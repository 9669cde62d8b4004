//! Reads a hunk: its header, and as many lines as the header says.

use std::{ops::Range, sync::Arc};

use super::{
    patch::{Hunk, Kind, Position},
    text::{Text, malformed, show},
};
use crate::error::{Code, Error};

/// The shortest line that marks a missing line feed, in whatever language.
const SHORTEST_MARK: usize = 12;

/// The two positions of a line such as `@@ -1,7 +1,8 @@`; none if the line is no such header.
pub(super) fn header(line: &[u8]) -> Option<(Position, Position)> {
    let rest = line.strip_suffix(b"\n")?.strip_prefix(b"@@ -")?;
    let (old, rest) = position(rest)?;
    let (new, rest) = position(rest.strip_prefix(b" +")?)?;
    rest.starts_with(b" @@").then_some((old, new))
}

fn position(text: &[u8]) -> Option<(Position, &[u8])> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => number(rest).map(|(count, rest)| (Position { start, count }, rest)),
        None => Some((Position { start, count: 1 }, rest)),
    }
}

fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Larger numbers can't be lines of a file, and sums of these can't overflow.
    let value = std::str::from_utf8(&text[..digits]).ok()?.parse::<u32>().ok()?;
    Some((value as usize, &text[digits..]))
}

/// The kind of a line inside a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Line(Kind),
    /// The line before has no line feed.
    Mark,
    Other,
}

pub(super) fn classify(line: &[u8]) -> Body {
    match line.first() {
        // An empty line is context that has lost its space.
        Some(b' ' | b'\n') => Body::Line(Kind::Context),
        Some(b'-') => Body::Line(Kind::Removed),
        Some(b'+') => Body::Line(Kind::Added),
        Some(b'\\') if line.len() >= SHORTEST_MARK && line.starts_with(b"\\ ") => Body::Mark,
        Some(_) | None => Body::Other,
    }
}

/// Lines of a hunk, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) changes: usize,
}

impl Counts {
    pub(super) fn add(&mut self, kind: Kind) {
        self.old += usize::from(kind != Kind::Added);
        self.new += usize::from(kind != Kind::Removed);
        self.changes += usize::from(kind != Kind::Context);
    }
}

/// Counts the lines of the hunk whose header is at `at`, as far as they resemble lines of a hunk, and returns their end.
///
/// The header lines of another file and the end of a mail, which resemble changed lines, end it. Empty lines at the end may be
/// context that lost its space, or no part of the diff. The hunk's header decides.
pub(super) fn measure(text: &Text, at: usize, old: Position, new: Position) -> (Counts, usize) {
    let mut counts = Counts::default();
    let mut next = at + 1;
    let is_file = |at: usize| text.has_names(at) && text.starts_with(at + 2, "@@");
    // The counts of the header tell a removed line that looks like the end of a mail from one.
    let is_removal = |counts: &Counts| (counts.old + 1, counts.new) == (old.count, new.count);
    while next < text.len() && !is_file(next) && (!is_signature(text, next) || is_removal(&counts)) {
        match classify(text.line(next)) {
            Body::Line(kind) => counts.add(kind),
            Body::Mark => {}
            Body::Other => break,
        }
        next += 1;
    }
    if text.starts_with(next, "@@") {
        return (counts, next);
    }
    let mut shorter = (counts, next);
    while shorter.1 > at + 1
        && (shorter.0.old, shorter.0.new) != (old.count, new.count)
        && text.line(shorter.1 - 1) == b"\n"
    {
        shorter.0.old -= 1;
        shorter.0.new -= 1;
        shorter.1 -= 1;
    }
    shorter
}

/// True if a line after a hunk might be one of its lines.
pub(super) fn is_alike(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'+' | b'-' | b'\\' | b'\n')) || line == b"\r\n"
}

/// The end of a mail: two dashes, and a signature up to an empty line, such as the version of the program that made it.
pub(super) fn is_signature(text: &Text, at: usize) -> bool {
    let mut signature = (at + 1..text.len()).map(|at| text.line(at)).take_while(|line| !line.trim_ascii().is_empty());
    matches!(text.line(at), b"-- \n" | b"--\n" | b"-- \r\n" | b"--\r\n")
        && !is_alike(text.line(at + 1))
        && signature.all(|line| !is_alike(line) && !line.starts_with(b"@@"))
}

/// A hunk under way.
struct Reader<'a> {
    text: &'a Text,
    /// The number of the hunk in its file, from 1.
    number: usize,
    old: Position,
    new: Position,
    counts: Counts,
    lines: Vec<(Kind, Range<usize>)>,
    /// The sides whose last line has no line feed, so that no line may follow.
    closed: (bool, bool),
}

/// Reads the hunk whose header is at `at`, and returns its end. `recount` takes the line counts from the lines.
pub(super) fn read(text: &Text, at: usize, number: usize, recount: bool) -> Result<(Hunk, usize), Error> {
    let Some((mut old, mut new)) = header(text.line(at)) else {
        return Err(bad_header(text, at));
    };
    if recount {
        let (counts, _) = measure(text, at, old, new);
        (old.count, new.count) = (counts.old, counts.new);
    }
    let mut reader =
        Reader { text, number, old, new, counts: Counts::default(), lines: Vec::new(), closed: (false, false) };
    let mut next = at + 1;
    while reader.counts.old < old.count || reader.counts.new < new.count {
        reader.take(at, next)?;
        next += 1;
    }
    // The mark of the last line is not counted.
    if text.starts_with(next, "\\ ") && text.line(next).len() >= SHORTEST_MARK {
        reader.mark(next)?;
        next += 1;
    }
    if reader.counts.changes == 0 && !recount {
        return Err(malformed(text, at, "begins a hunk that changes nothing"));
    }
    let hunk = Hunk { line: at + 1, old, new, text: Arc::clone(&text.bytes), lines: reader.lines };
    Ok((hunk, next))
}

impl Reader<'_> {
    fn take(&mut self, at: usize, next: usize) -> Result<(), Error> {
        let line = self.text.line(next);
        let kind = match classify(line) {
            Body::Line(kind) if line.ends_with(b"\n") => kind,
            Body::Mark => return self.mark(next),
            Body::Line(_) | Body::Other => return Err(self.cut_off(at, next)),
        };
        let (old, new) = (kind != Kind::Added, kind != Kind::Removed);
        if old && self.closed.0 || new && self.closed.1 {
            return Err(malformed(self.text, next, "follows a line that is said to be the last of the file"));
        }
        self.counts.add(kind);
        if self.counts.old > self.old.count || self.counts.new > self.new.count {
            return Err(self.cut_off(at, next));
        }
        let range = self.text.range(next);
        let skip = usize::from(line[0] != b'\n');
        self.lines.push((kind, range.start + skip..range.end));
        Ok(())
    }

    /// Takes the line feed from the last line.
    fn mark(&mut self, next: usize) -> Result<(), Error> {
        let Some((kind, range)) = self.lines.last_mut().filter(|line| line.1.len() > 1) else {
            return Err(malformed(self.text, next, "follows no line that could be without a line feed"));
        };
        let (old, new) = (*kind != Kind::Added, *kind != Kind::Removed);
        if old && self.closed.0 || new && self.closed.1 {
            return Err(malformed(self.text, next, "says twice that a line has no line feed"));
        }
        range.end -= 1;
        self.closed = (self.closed.0 || old, self.closed.1 || new);
        Ok(())
    }

    /// The lines do not add up to the counts in the header.
    fn cut_off(&self, at: usize, next: usize) -> Error {
        let (counts, _) = measure(self.text, at, self.old, self.new);
        let line = self.text.line(next);
        let what = match classify(line) {
            _ if next >= self.text.len() => "the diff ends before that".to_owned(),
            Body::Line(_) if !line.ends_with(b"\n") => {
                "the diff ends within its last line, which has no line feed".to_owned()
            }
            Body::Line(_) => {
                let side = if self.counts.old > self.old.count { "old" } else { "new" };
                format!("line {} is one more line of the {side} file: `{}`", next + 1, show(line))
            }
            Body::Mark | Body::Other => format!("line {} is none of its lines: `{}`", next + 1, show(line)),
        };
        let found = ranges(self.old.start, self.new.start, counts);
        let is_counted = (counts.old, counts.new) == (self.old.count, self.new.count);
        let hint = match is_counted {
            true => "end the diff with a line feed; `--recount` and `nrv.diff.repair` add it".to_owned(),
            false => format!(
                "the lines that are there would be `{found}`; complete the hunk, or let `nrv.diff.repair` count again"
            ),
        };
        let says = format!(
            "hunk {} (line {} of the diff) says -{},{} +{},{}, but",
            self.number,
            at + 1,
            self.old.start,
            self.old.count,
            self.new.start,
            self.new.count
        );
        Error::new(Code::InvalidInput, format!("{says} {what}"))
            .detail("hunk", self.number)
            .detail("line", at + 1)
            .detail("expected", show(self.text.line(at)))
            .detail("found", found)
            .hint(hint)
    }
}

/// A header from counted lines.
pub(super) fn ranges(old: usize, new: usize, counts: Counts) -> String {
    format!("@@ -{old},{} +{new},{} @@", counts.old, counts.new)
}

/// A line that begins like a hunk's header but is not one.
pub(super) fn bad_header(text: &Text, at: usize) -> Error {
    malformed(text, at, "is no header of a hunk")
        .hint("a hunk begins with a line like `@@ -12,7 +12,8 @@`: first line and number of lines, before and after")
}
