//! Finds the runs of lines that differ between two contents: removes common ends, then runs Myers' algorithm on the middle.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use similar::{Algorithm, DiffOp};

/// Lines of the pre-image that are replaced by lines of the post-image; never both empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) before: Range<usize>,
    pub(super) after: Range<usize>,
}

/// Lines with their line feeds; a carriage return belongs to its line.
pub(super) fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        lines.push(&bytes[start..=end]);
        start = end + 1;
    }
    if start < bytes.len() {
        lines.push(&bytes[start..]);
    }
    lines
}

/// The words of a line, and each space, quote, bracket and the like between them.
pub(super) fn words(line: &[u8]) -> Vec<&[u8]> {
    let is_sign = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>{}()[];,=".contains(byte);
    line.chunk_by(|a, b| !is_sign(a) && !is_sign(b)).collect()
}

/// The runs that differ, in order, with at least one common line between two of them.
///
/// Linear for the common ends, and near to it for a few edits in a big file. Myers' algorithm without a deadline bounds its
/// own search by the size of the input, so the result is the same on a slow machine.
pub(super) fn compare(before: &[&[u8]], after: &[&[u8]]) -> Vec<Replaced> {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[head..], &after[head..]);
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    if let Some(runs) = in_place(before, after, head) {
        return runs;
    }
    let mut numbers = BTreeMap::new();
    let (old, new) = (number(before, &mut numbers), number(after, &mut numbers));
    let ops = similar::capture_diff_slices(Algorithm::Myers, &old, &new);
    merge(ops.into_iter().filter_map(|op| replaced(op, head)))
}

/// The runs if lines were only replaced in place; none if a quick look can't tell.
///
/// No removed line equals an added one, so no comparison could keep more lines than those in place.
fn in_place(before: &[&[u8]], after: &[&[u8]], head: usize) -> Option<Vec<Replaced>> {
    if before.len() != after.len() {
        return None;
    }
    let differs: Vec<usize> = (0..before.len()).filter(|at| before[*at] != after[*at]).collect();
    let gone: BTreeSet<&[u8]> = differs.iter().map(|at| before[*at]).collect();
    if differs.iter().any(|at| gone.contains(after[*at])) {
        return None;
    }
    let runs = differs.chunk_by(|a, b| a + 1 == *b).map(|run| {
        let lines = run[0] + head..run[0] + head + run.len();
        Replaced { before: lines.clone(), after: lines }
    });
    Some(runs.collect())
}

/// Gives equal lines equal numbers, so that each is compared once only.
fn number<'a>(lines: &[&'a [u8]], numbers: &mut BTreeMap<&'a [u8], usize>) -> Vec<usize> {
    let mut number = |line: &&'a [u8]| {
        let next = numbers.len();
        *numbers.entry(*line).or_insert(next)
    };
    lines.iter().map(&mut number).collect()
}

fn replaced(op: DiffOp, head: usize) -> Option<Replaced> {
    let (before, after) = match op {
        DiffOp::Equal { .. } => return None,
        DiffOp::Delete { old_index, old_len, new_index } => (old_index..old_index + old_len, new_index..new_index),
        DiffOp::Insert { old_index, new_index, new_len } => (old_index..old_index, new_index..new_index + new_len),
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            (old_index..old_index + old_len, new_index..new_index + new_len)
        }
    };
    let shift = |range: Range<usize>| range.start + head..range.end + head;
    Some(Replaced { before: shift(before), after: shift(after) })
}

/// Joins runs that touch each other.
pub(super) fn merge(runs: impl Iterator<Item = Replaced>) -> Vec<Replaced> {
    let mut merged: Vec<Replaced> = Vec::new();
    for run in runs {
        match merged.last_mut() {
            Some(last) if last.before.end == run.before.start && last.after.end == run.after.start => {
                last.before.end = run.before.end;
                last.after.end = run.after.end;
            }
            Some(_) | None => merged.push(run),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[(Range<usize>, Range<usize>)]) {
        let found = compare(&split(before.as_bytes()), &split(after.as_bytes()));
        let found: Vec<_> = found.into_iter().map(|run| (run.before, run.after)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_keep_their_ends() {
        assert_eq!(split(b"a\r\n\nb"), [&b"a\r\n"[..], b"\n", b"b"]);
        assert!(split(b"").is_empty());
    }

    #[test]
    fn runs_are_found_in_the_middle_and_at_the_ends() {
        check("a\nb\nc\n", "a\nB\nc\n", &[(1..2, 1..2)]);
        check("a\nb\n", "0\na\n", &[(0..0, 0..1), (1..2, 2..2)]);
        check("", "a\n", &[(0..0, 0..1)]);
        check("a\na\n", "a\na\na\n", &[(2..2, 2..3)]);
        check("same\n", "same\n", &[]);
    }

    #[test]
    fn many_edits_in_a_big_file_take_no_time_to_speak_of() {
        let line =
            |i: usize, edited: bool| format!("{i} some text that is repeated{}\n", if edited { " x" } else { "" });
        let before: String = (0..40_000).map(|i| line(i % 9_000, false)).collect();
        let after: String = (0..40_000).map(|i| line(i % 9_000, i % 80 == 7)).collect();
        assert_eq!(compare(&split(before.as_bytes()), &split(after.as_bytes())).len(), 500);
    }
}
