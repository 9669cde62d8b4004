//! Reads a hunk: its header, and as many lines as the header says.

use std::{ops::Range, sync::Arc};

use super::{
    patch::{Hunk, Kind, Position},
    text::{Text, malformed},
};
use crate::error::Error;

/// The shortest line that says that a line has no line feed, in whatever language.
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
    // Larger numbers are no lines of a file, and sums of these can't overflow.
    let value = std::str::from_utf8(&text[..digits]).ok()?.parse::<u32>().ok()?;
    Some((value as usize, &text[digits..]))
}

/// What a line is inside of a hunk.
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

/// Counts the lines of the hunk whose header stands at `at`, as far as they look like lines of a hunk, and says where they end.
///
/// The header lines of another file, which look like changed lines, end it.
pub(super) fn measure(text: &Text, at: usize) -> (Counts, usize) {
    let mut counts = Counts::default();
    let mut next = at + 1;
    while next < text.len() && !(text.has_names(next) && text.starts_with(next + 2, "@@ -")) {
        match classify(text.line(next)) {
            Body::Line(kind) => counts.add(kind),
            Body::Mark => {}
            Body::Other => break,
        }
        next += 1;
    }
    (counts, next)
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

/// Reads the hunk whose header stands at `at`, and says where it ends. `recount` takes the numbers of lines from the lines.
pub(super) fn read(text: &Text, at: usize, number: usize, recount: bool) -> Result<(Hunk, usize), Error> {
    let Some((mut old, mut new)) = header(text.line(at)) else {
        return Err(bad_header(text, at));
    };
    if recount {
        let (counts, _) = measure(text, at);
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

    /// The lines do not come to the numbers of the header.
    fn cut_off(&self, at: usize, next: usize) -> Error {
        let (counts, _) = measure(self.text, at);
        let what = if next >= self.text.len() {
            "the diff ends".to_owned()
        } else if !self.text.line(next).ends_with(b"\n") && classify(self.text.line(next)) != Body::Other {
            format!("the diff ends without a line feed in line {}", next + 1)
        } else {
            format!("line {} is none of its lines: `{}`", next + 1, super::text::show(self.text.line(next)))
        };
        let found = ranges(self.old.start, self.new.start, counts);
        let says = format!(
            "hunk {} (line {} of the diff) says -{},{} +{},{}, but",
            self.number,
            at + 1,
            self.old.start,
            self.old.count,
            self.new.start,
            self.new.count
        );
        Error::new(crate::error::Code::InvalidInput, format!("{says} {what}"))
            .detail("hunk", self.number)
            .detail("line", at + 1)
            .detail("expected", super::text::show(self.text.line(at)))
            .detail("found", found.clone())
            .hint(format!(
                "the lines that are there would be `{found}`; complete the hunk, or let `nrv.diff.repair` count again"
            ))
    }
}

/// A header for what was counted.
pub(super) fn ranges(old: usize, new: usize, counts: Counts) -> String {
    format!("@@ -{old},{} +{new},{} @@", counts.old, counts.new)
}

/// A line that begins like a hunk's header and is none.
pub(super) fn bad_header(text: &Text, at: usize) -> Error {
    malformed(text, at, "is no header of a hunk")
        .hint("a hunk begins with a line like `@@ -12,7 +12,8 @@`: first line and number of lines, before and after")
}
