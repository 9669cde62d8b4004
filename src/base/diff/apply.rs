//! Applies one file's part of a patch: places each hunk in the pre-image, then builds the post-image.

use super::{
    LINK, Lines as Count, Side, TYPE, blob,
    patch::{FilePatch, Hunk, Operation},
    place,
    placer::{Placement, Placer, Wanted},
    reject,
};
use crate::error::Error;

/// A file after its part of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The bytes and the mode, as in [`crate::change::Content`]; none if the file is deleted.
    pub after: Option<(Vec<u8>, u32)>,
    /// The places of the hunks, in their order.
    pub hunks: Vec<PlacedHunk>,
    /// Lines added and removed.
    pub lines: Count,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// A hunk with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedHunk {
    /// The line of its header in the diff, 1-based.
    pub header_line: usize,
    /// Its first line in the pre-image, 1-based.
    pub at: usize,
    /// The distance of that from the line in its header.
    pub offset: i64,
}

pub(super) fn apply(part: &FilePatch, before: Option<Side<'_>>, placement: Placement) -> Result<Patched, Error> {
    let mut warnings = Vec::new();
    check_presence(part, before)?;
    let mode = mode(part, before, &mut warnings)?;
    let bytes = before.map_or(&[][..], |side| side.bytes);
    if let Some(name) = &part.blob {
        if before.is_none() || !blob::is_named(bytes, name) {
            return Err(reject::other_binary(part, before.is_some()));
        }
        return Ok(Patched { after: None, hunks: Vec::new(), lines: part.size(), warnings });
    }
    let mut placer = Placer { part, lines: place::Lines::new(bytes), placement, taken: Vec::new(), shift: 0 };
    let mut hunks = Vec::with_capacity(part.hunks.len());
    for (at, hunk) in part.hunks.iter().enumerate() {
        let placed = placer.place(at, hunk)?;
        if placed.offset != 0 {
            warnings.push(offset_warning(part, at + 1, placed));
        }
        hunks.push(placed);
    }
    let after = placer.build(bytes.len());
    if let Operation::Delete { path } = &part.operation {
        if !after.is_empty() {
            return Err(reject::leaves_lines(part, path, &after));
        }
        return Ok(Patched { after: None, hunks, lines: part.size(), warnings });
    }
    let is_target = (1..4096).contains(&after.len()) && memchr::memchr(0, &after).is_none();
    if mode & TYPE == LINK && !is_target {
        return Err(reject::no_target(part));
    }
    if after.is_empty() && !bytes.is_empty() {
        warnings.push(format!("`{}` becomes empty but is not deleted", part.path()));
    }
    Ok(Patched { after: Some((after, mode)), hunks, lines: part.size(), warnings })
}

fn check_presence(part: &FilePatch, before: Option<Side<'_>>) -> Result<(), Error> {
    match (&part.operation, before) {
        (Operation::Create { path }, Some(_)) => Err(reject::exists(part, path)),
        (Operation::Create { .. }, None) => Ok(()),
        (_, None) if !part.may_create => Err(reject::missing(part)),
        (_, Some(_) | None) => Ok(()),
    }
}

/// The mode of the file afterwards: unchanged but for the execute bits if the patch changes them.
fn mode(part: &FilePatch, before: Option<Side<'_>>, warnings: &mut Vec<String>) -> Result<u32, Error> {
    let Some(before) = before else {
        return Ok(match part.new_mode {
            Some(mode) if mode & TYPE == LINK => LINK | 0o777,
            Some(mode) if mode & 0o100 != 0 => 0o755,
            Some(_) | None => 0o644,
        });
    };
    let is_link = before.mode & TYPE == LINK;
    for mode in [part.old_mode, part.new_mode].into_iter().flatten() {
        if (mode & TYPE == LINK) != is_link {
            return Err(reject::wrong_type(part, mode, is_link));
        }
    }
    let is_executable = before.mode & 0o100 != 0;
    if let Some(old) = part.old_mode.filter(|old| !is_link && (old & 0o100 != 0) != is_executable) {
        let found = if is_executable { "100755" } else { "100644" };
        warnings.push(format!("`{}` has mode {found}, and the patch expects {old:o}", part.path()));
    }
    Ok(match part.new_mode {
        Some(mode) if !is_link && mode & 0o100 == 0 => before.mode & !0o111,
        Some(_) if !is_link && !is_executable => before.mode | (before.mode & 0o444) >> 2,
        Some(_) | None => before.mode,
    })
}

fn offset_warning(part: &FilePatch, number: usize, placed: PlacedHunk) -> String {
    let (path, at, offset) = (part.path(), placed.at, placed.offset);
    format!("hunk {number} of `{path}` was applied at line {at}, {offset:+} from where it says")
}

impl<'a> Placer<'a> {
    fn place(&mut self, at: usize, hunk: &'a Hunk) -> Result<PlacedHunk, Error> {
        let wanted = Wanted {
            number: at + 1,
            hunk,
            lines: hunk.old_lines().collect(),
            stated: (hunk.old.before(), usize::try_from(hunk.new.before() as i64 - self.shift).ok()),
            // As in git: a hunk at line 1 has lost no context before it, and one without context behind its last change none
            // there.
            at_start: hunk.old.start <= 1,
            at_end: hunk.is_open_ended(),
        };
        let place = self.find(&wanted)?;
        let end = place + wanted.lines.len();
        if self.taken.last().is_some_and(|last| place < last.end) {
            return Err(reject::out_of_order(self, &wanted, place));
        }
        let is_unfinished = wanted.lines.is_empty() && place > 0 && !self.lines.line(place - 1).ends_with(b"\n");
        if is_unfinished {
            return Err(reject::unfinished(self, &wanted));
        }
        self.taken.push(place..end);
        self.shift += hunk.new.count as i64 - hunk.old.count as i64;
        Ok(PlacedHunk { header_line: hunk.line, at: place + 1, offset: place as i64 - wanted.stated.0 as i64 })
    }

    fn find(&mut self, wanted: &Wanted<'_>) -> Result<usize, Error> {
        let stated = wanted.stated.0;
        let agrees = wanted.stated.1 == Some(stated);
        let fits = self.fits(wanted, stated);
        if fits && agrees {
            return Ok(stated);
        }
        if self.placement == Placement::Exact {
            return Err(if fits { reject::contradiction(self, wanted) } else { reject::no_match(self, wanted) });
        }
        let places = self.places(wanted);
        match places[..] {
            [only] if self.fits(wanted, only) => Ok(only),
            [] | [_] => Err(reject::no_match(self, wanted)),
            _ => Err(reject::ambiguous(self, wanted, &places)),
        }
    }

    /// The places of the lines. A last line without a line feed also matches the beginning of another line: git takes such
    /// places.
    fn places(&mut self, wanted: &Wanted<'_>) -> Vec<usize> {
        let Some((last, head)) = wanted.lines.split_last().filter(|(last, _)| !wanted.at_end && !last.ends_with(b"\n"))
        else {
            return self.lines.places(&wanted.lines, &self.taken, reject::PLACES + 1);
        };
        let begins = |lines: &place::Lines<'_>, at: usize| at < lines.len() && lines.line(at).starts_with(last);
        if head.is_empty() {
            let all = (0..self.lines.len()).filter(|at| begins(&self.lines, *at));
            return all.take(reject::PLACES + 1).collect();
        }
        let mut places = self.lines.places(head, &self.taken, reject::LOOKED_AT);
        // So many places that a search among them is not worth its cost.
        if places.len() < reject::LOOKED_AT {
            places.retain(|at| begins(&self.lines, at + head.len()));
        }
        places
    }

    /// The post-image.
    fn build(&self, length: usize) -> Vec<u8> {
        let mut after = Vec::with_capacity(length + length / 8);
        let mut next = 0;
        for (hunk, range) in self.part.hunks.iter().zip(&self.taken) {
            after.extend_from_slice(self.lines.bytes(next..range.start));
            hunk.new_lines().for_each(|line| after.extend_from_slice(line));
            next = range.end;
        }
        after.extend_from_slice(self.lines.bytes(next..self.lines.len()));
        after
    }
}
