//! Finds the lines of a hunk in a file. The search costs one pass and one table for each power of two among the lengths of
//! hunks. It looks up the first and the last lines of a hunk, which together are all of it.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hasher},
    ops::Range,
};

/// A prime below 2^61, and the base of a polynomial, so that the hash of a window of lines moves on in one step.
const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0f3a_91c5_27d8_6eb1;

/// A file's lines.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    starts: Vec<usize>,
    hashes: Vec<u64>,
    /// The positions of each hash, by the length of the windows, a power of two.
    windows: BTreeMap<usize, Windows>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(|end| end + 1));
        if starts.last().is_some_and(|last| *last < bytes.len()) {
            starts.push(bytes.len());
        }
        Lines { bytes, starts, hashes: Vec::new(), windows: BTreeMap::new() }
    }

    /// The number of lines.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn line(&self, at: usize) -> &'a [u8] {
        &self.bytes[self.starts[at]..self.starts[at + 1]]
    }

    /// The bytes of some lines.
    pub(super) fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        &self.bytes[self.starts[range.start]..self.starts[range.end]]
    }

    /// True if the lines stand at `at`.
    pub(super) fn has(&self, at: usize, lines: &[&[u8]]) -> bool {
        at + lines.len() <= self.len() && lines.iter().enumerate().all(|(i, line)| self.line(at + i) == *line)
    }

    /// The free places of the lines, in order, `limit` at most. An empty list of lines has no place.
    pub(super) fn places(&mut self, lines: &[&[u8]], taken: &[Range<usize>], limit: usize) -> Vec<usize> {
        if lines.is_empty() || lines.len() > self.len() {
            return Vec::new();
        }
        if self.hashes.is_empty() {
            self.hashes = (0..self.len()).map(|at| hash(self.line(at))).collect();
        }
        let span = 1 << lines.len().ilog2();
        let windows = self.windows.entry(span).or_insert_with(|| Windows::new(&self.hashes, span));
        let sum = |lines: &[&[u8]]| lines.iter().fold(0, |sum, line| step(sum, hash(line)));
        let (head, tail) = (sum(&lines[..span]), sum(&lines[lines.len() - span..]));
        let is_free = |at: usize| {
            let next = taken.partition_point(|range| range.end <= at);
            taken.get(next).is_none_or(|range| range.start >= at + lines.len())
        };
        let candidates = windows.places(head, tail, lines.len() - span).filter(|at| is_free(*at));
        let candidates: Vec<usize> = candidates.take(limit).collect();
        candidates.into_iter().filter(|at| self.has(*at, lines)).collect()
    }
}

/// The windows of one length, by hash: first window and size of each bucket, and for each window the next of its bucket.
struct Windows {
    hashes: Vec<u64>,
    first: Vec<u32>,
    sizes: Vec<u32>,
    next: Vec<u32>,
}

/// No further window.
const NONE: u32 = u32::MAX;

impl Windows {
    fn new(lines: &[u64], length: usize) -> Self {
        let power = (1..length).fold(1, |power, _| multiply(power, BASE));
        let mut hashes = Vec::with_capacity(lines.len() - length + 1);
        let mut sum = lines[..length].iter().fold(0, |sum, line| step(sum, *line));
        hashes.push(sum);
        for at in length..lines.len() {
            let gone = multiply(lines[at - length], power);
            sum = step((sum + PRIME - gone) % PRIME, lines[at]);
            hashes.push(sum);
        }
        let buckets = hashes.len().next_power_of_two();
        let (first, sizes, next) = (vec![NONE; buckets], vec![0; buckets], vec![NONE; hashes.len()]);
        let mut windows = Windows { hashes, first, sizes, next };
        for at in (0..windows.hashes.len()).rev() {
            let bucket = windows.bucket(windows.hashes[at]);
            // Files of four thousand million lines are refused long before.
            windows.next[at] = windows.first[bucket];
            windows.first[bucket] = u32::try_from(at).unwrap_or(NONE);
            windows.sizes[bucket] += 1;
        }
        windows
    }

    fn bucket(&self, hash: u64) -> usize {
        (hash ^ hash >> 29) as usize & (self.first.len() - 1)
    }

    /// The windows with the first hash that have the second one `later` lines behind them. The rarer of the two leads.
    fn places(&self, head: u64, tail: u64, later: usize) -> impl Iterator<Item = usize> {
        let size = |hash: u64| self.sizes[self.bucket(hash)];
        let (leading, before) = if size(head) <= size(tail) { (head, 0) } else { (tail, later) };
        self.of(leading).filter_map(move |found| {
            let at = found.checked_sub(before)?;
            let fits = self.hashes[at] == head && self.hashes.get(at + later) == Some(&tail);
            fits.then_some(at)
        })
    }

    fn of(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mut at = self.first[self.bucket(hash)];
        std::iter::from_fn(move || {
            while at != NONE {
                let found = at as usize;
                at = self.next[found];
                if self.hashes[found] == hash {
                    return Some(found);
                }
            }
            None
        })
    }
}

fn hash(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    hasher.finish() % PRIME
}

fn step(sum: u64, line: u64) -> u64 {
    (multiply(sum, BASE) + line) % PRIME
}

fn multiply(a: u64, b: u64) -> u64 {
    // The product of two numbers below the prime, which is below 2^61, fits; so does the remainder.
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &[&str], taken: &[Range<usize>], expected: &[usize]) {
        let mut lines = Lines::new(text.as_bytes());
        let wanted: Vec<&[u8]> = wanted.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(lines.places(&wanted, taken, 9), expected);
    }

    #[test]
    fn lines_are_found_wherever_they_are() {
        check("a\nb\na\nb\na", &["a\n", "b\n"], &[], &[0, 2]);
        check("a\nb\na\nb\na", &["a"], &[], &[4]);
        check("a\na\na\n", &["a\n", "a\n"], &[], &[0, 1]);
        check("a\n", &["a\n", "b\n"], &[], &[]);
        check("a\n", &[], &[], &[]);
        check("", &["a\n"], &[], &[]);
    }

    #[test]
    fn lines_that_are_taken_are_no_places() {
        check("a\na\na\na\nb\na\n", &["a\n", "a\n"], &[1..2, 4..5], &[2]);
        check("a\na\na\na\n", &["a\n"], &[0..1, 2..3], &[1, 3]);
    }

    #[test]
    fn every_length_is_found_where_a_plain_search_finds_it() {
        // Enough repetition that first and last lines of a hunk are at many places where the rest is not.
        let text: String =
            (0..400_usize).map(|at| if at.is_multiple_of(7) || at % 31 == 5 { "b\n" } else { "a\n" }).collect();
        let mut lines = Lines::new(text.as_bytes());
        let all: Vec<&[u8]> = text.as_bytes().split_inclusive(|byte| *byte == b'\n').collect();
        for length in 1..=all.len() {
            for start in [0, length % 13, all.len() - length].into_iter().filter(|start| start + length <= all.len()) {
                let wanted = &all[start..start + length];
                let plain: Vec<usize> =
                    all.windows(length).enumerate().filter(|(_, window)| *window == wanted).map(|(at, _)| at).collect();
                assert_eq!(lines.places(wanted, &[], usize::MAX), plain, "{length} lines from {start}");
            }
        }
        assert!(lines.windows.len() <= 9, "one table for each power of two");
    }

    #[test]
    fn places_are_listed_up_to_a_limit() {
        let text = "a\n".repeat(100);
        assert_eq!(Lines::new(text.as_bytes()).places(&[b"a\n"], &[], 3), [0, 1, 2]);
    }
}
