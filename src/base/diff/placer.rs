//! The state of the search for the places of hunks.

use std::ops::Range;

use super::{
    patch::{FilePatch, Hunk},
    place,
};

/// The places where a hunk may be applied. Its lines must be there byte for byte in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Only at the position in its header.
    Exact,
    /// At the position in its header, else at the only place where its lines stand.
    Unique,
}

/// Places hunks in order, each behind the one before.
pub(super) struct Placer<'a> {
    pub(super) part: &'a FilePatch,
    pub(super) lines: place::Lines<'a>,
    pub(super) placement: Placement,
    /// The lines that the hunks so far cover.
    pub(super) taken: Vec<Range<usize>>,
    /// The number of lines that the hunks so far add, less those that they remove.
    pub(super) shift: i64,
}

/// A hunk before it is placed. Places are numbers of lines before it, in the pre-image.
pub(super) struct Wanted<'a> {
    pub(super) number: usize,
    pub(super) hunk: &'a Hunk,
    pub(super) lines: Vec<&'a [u8]>,
    /// The position in its header, by the old and by the new file. They agree in an unedited diff.
    pub(super) stated: (usize, Option<usize>),
    /// It has to begin at the first line.
    pub(super) at_start: bool,
    /// It has to reach the last line.
    pub(super) at_end: bool,
}

impl Placer<'_> {
    /// True if the hunk can be applied there.
    pub(super) fn fits(&self, wanted: &Wanted<'_>, place: usize) -> bool {
        let is_free = self.taken.last().is_none_or(|last| last.end <= place);
        let end = place + wanted.lines.len();
        (!wanted.at_start || place == 0)
            && (!wanted.at_end || end == self.lines.len())
            && is_free
            && self.lines.has(place, &wanted.lines)
    }
}
