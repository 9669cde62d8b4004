//! Hunks: runs of differing lines with three lines of context, joined where their contexts meet.

use std::ops::Range;

use super::{
    Lines,
    line::{self, Replaced},
};

/// Lines of context on each side.
const CONTEXT: usize = 3;

/// Two contents and the runs of lines in which they differ.
pub(super) struct Hunks<'a> {
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    runs: Vec<Replaced>,
}

impl<'a> Hunks<'a> {
    pub(super) fn new(before: &'a [u8], after: &'a [u8]) -> Self {
        let (before, after) = (line::split(before), line::split(after));
        let runs = line::compare(&before, &after);
        Hunks { before, after, runs }
    }

    /// As [`Hunks::new`], if the runs are known.
    pub(super) fn of(before: &'a [u8], after: &'a [u8], runs: Vec<Replaced>) -> Self {
        Hunks { before: line::split(before), after: line::split(after), runs }
    }

    pub(super) fn lines(&self) -> Lines {
        let one = |run: &Replaced| Lines { added: run.after.len() as u64, removed: run.before.len() as u64 };
        self.runs.iter().map(one).sum()
    }

    /// Appends all hunks.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        // Two runs share a hunk if no line lies between the context after one and the context before the other.
        let near = |a: &Replaced, b: &Replaced| b.before.start - a.before.end <= 2 * CONTEXT;
        self.runs.chunk_by(near).for_each(|runs| self.write_hunk(runs, out));
    }

    fn write_hunk(&self, runs: &[Replaced], out: &mut Vec<u8>) {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return };
        // Common lines are the same on both sides, so the context has one length for both.
        let lead = first.before.start.min(CONTEXT);
        let trail = (self.before.len() - last.before.end).min(CONTEXT);
        let before = first.before.start - lead..last.before.end + trail;
        let after = first.after.start - lead..last.after.end + trail;
        out.extend_from_slice(format!("@@ -{} +{} @@\n", position(&before), position(&after)).as_bytes());
        let mut common = before.start;
        for run in runs {
            write_lines(b' ', &self.before[common..run.before.start], out);
            write_lines(b'-', &self.before[run.before.clone()], out);
            write_lines(b'+', &self.after[run.after.clone()], out);
            common = run.before.end;
        }
        write_lines(b' ', &self.before[common..before.end], out);
    }
}

/// A side of a hunk's header: first line and number of lines, which is left out if it is 1. An empty side names the line
/// before it.
fn position(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

fn write_lines(sign: u8, lines: &[&[u8]], out: &mut Vec<u8>) {
    for line in lines {
        out.push(sign);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}
