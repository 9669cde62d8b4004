//! Finds the renames of a commit: pairs of a removed and an added file, chosen as git chooses them.
//!
//! Equal contents come first, then similar ones whose name is unique, then the most similar ones.

use std::collections::BTreeMap;

use gix::{ObjectId, bstr::BString};

use super::similarity::{LEAST, MOST, Pieces};

/// The score from which files of the same unique name are a pair.
const LEAST_NAMED: u64 = LEAST + (MOST - LEAST) / 2;
/// The score below which files of different names may have less in common than a form.
const SURE: u64 = MOST / 4 * 3;
/// The limit of removed files times added files that are compared with each other.
const MOST_PAIRS: usize = 1_000_000;
/// The number of best removed files that are kept for an added one.
const KEPT: usize = 4;

/// A file that a commit removes or adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) path: BString,
    pub(super) id: ObjectId,
}

/// The contents of files; none for one that can't be read or is too long.
pub(super) trait Contents {
    /// The pieces of a removed or added file.
    fn pieces(&mut self, side: &Side) -> Option<std::rc::Rc<Pieces>>;
    /// True if the lengths of two files rule out a rename.
    fn differ_in_length(&mut self, one: &Side, other: &Side) -> bool;
}

/// A pair in the making.
#[derive(Clone, Copy, Debug)]
struct Score {
    score: u64,
    is_named_alike: bool,
    removed: usize,
    added: usize,
}

struct Pairing<'a> {
    removed: &'a [Side],
    added: &'a [Side],
    /// The removed file of each added one.
    from: Vec<Option<usize>>,
    /// True for each removed file that has a pair.
    used: Vec<bool>,
}

/// The pairs, as places in `removed` and `added`; both are sorted by path.
pub(super) fn pairs(removed: &[Side], added: &[Side], contents: &mut dyn Contents) -> Vec<(usize, usize)> {
    if removed.is_empty() || added.is_empty() {
        return Vec::new();
    }
    let mut pairing = Pairing { removed, added, from: vec![None; added.len()], used: vec![false; removed.len()] };
    pairing.identical();
    pairing.unique_names(contents);
    pairing.similar(contents);
    pairing.from.iter().enumerate().filter_map(|(added, removed)| Some(((*removed)?, added))).collect()
}

impl Pairing<'_> {
    fn pair(&mut self, removed: usize, added: usize) {
        self.from[added] = Some(removed);
        self.used[removed] = true;
    }

    fn identical(&mut self) {
        let mut places: BTreeMap<&ObjectId, Vec<usize>> = BTreeMap::new();
        for (at, side) in self.removed.iter().enumerate() {
            places.entry(&side.id).or_default().push(at);
        }
        for added in 0..self.added.len() {
            let free = || {
                let same = places.get(&self.added[added].id)?;
                let free = || same.iter().copied().filter(|at| !self.used[*at]);
                let named = free().find(|at| name(&self.removed[*at]) == name(&self.added[added]));
                named.or_else(|| free().next())
            };
            if let Some(removed) = free() {
                self.pair(removed, added);
            }
        }
    }

    fn unique_names(&mut self, contents: &mut dyn Contents) {
        let (all_removed, all_added) = (self.removed, self.added);
        let mut removed: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        let mut added: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for at in (0..all_removed.len()).filter(|at| !self.used[*at]) {
            removed.entry(name(&all_removed[at])).or_default().push(at);
        }
        for at in (0..all_added.len()).filter(|at| self.from[*at].is_none()) {
            added.entry(name(&all_added[at])).or_default().push(at);
        }
        for (name, places) in removed {
            let ([from], Some([to])) = (places.as_slice(), added.get(name).map(Vec::as_slice)) else { continue };
            if similarity(&all_removed[*from], &all_added[*to], contents) >= LEAST_NAMED {
                self.pair(*from, *to);
            }
        }
    }

    fn similar(&mut self, contents: &mut dyn Contents) {
        let removed: Vec<usize> = (0..self.removed.len()).filter(|at| !self.used[*at]).collect();
        let added: Vec<usize> = (0..self.added.len()).filter(|at| self.from[*at].is_none()).collect();
        if removed.len().saturating_mul(added.len()) > MOST_PAIRS {
            return;
        }
        let mut scores = Vec::new();
        for to in added {
            let mut best: Vec<Score> = Vec::with_capacity(KEPT);
            for from in &removed {
                let (one, other) = (&self.removed[*from], &self.added[to]);
                let score = similarity(one, other, contents);
                keep(&mut best, Score { score, is_named_alike: name(one) == name(other), removed: *from, added: to });
            }
            scores.extend(best);
        }
        // The sort is stable, so among equals the first paths win.
        scores.sort_by_key(|score| std::cmp::Reverse(score.rank()));
        for Score { removed, added, .. } in scores.into_iter().take_while(|score| score.score >= LEAST) {
            if self.from[added].is_none() && !self.used[removed] {
                self.pair(removed, added);
            }
        }
    }
}

impl Score {
    fn rank(&self) -> (u64, bool) {
        (self.score, self.is_named_alike)
    }
}

/// Puts a score among the best ones, in the place of the first of the worst.
fn keep(best: &mut Vec<Score>, score: Score) {
    if best.len() < KEPT {
        best.push(score);
        return;
    }
    let worst = (1..best.len()).fold(0, |worst, at| if best[at].rank() < best[worst].rank() { at } else { worst });
    if best[worst].rank() < score.rank() {
        best[worst] = score;
    }
}

/// True if a pair is one file that moved, rather than two that resemble each other: it kept its name, or most of its content.
pub(super) fn is_sure(removed: &Side, added: &Side, contents: &mut dyn Contents) -> bool {
    if removed.id == added.id {
        return removed.id != ObjectId::empty_blob(removed.id.kind()) || name(removed) == name(added);
    }
    name(removed) == name(added) || similarity(removed, added, contents) >= SURE
}

fn similarity(removed: &Side, added: &Side, contents: &mut dyn Contents) -> u64 {
    if contents.differ_in_length(removed, added) {
        return 0;
    }
    let (Some(before), Some(after)) = (contents.pieces(removed), contents.pieces(added)) else { return 0 };
    before.score(&after)
}

/// The last component of a path.
fn name(side: &Side) -> &[u8] {
    side.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The added files that a removed one may have become, if its content was added more than once: the one whose path ends in
/// the same components as no other, or all of them. None if the content was added at most once.
pub(super) fn equals(removed: usize, all_removed: &[Side], all_added: &[Side]) -> Option<Vec<usize>> {
    let side = &all_removed[removed];
    let places: Vec<usize> = (0..all_added.len()).filter(|at| all_added[*at].id == side.id).collect();
    if places.len() < 2 {
        return None;
    }
    let alike = |one: &Side, other: &Side| {
        let (one, other) = (one.path.rsplit(|byte| *byte == b'/'), other.path.rsplit(|byte| *byte == b'/'));
        one.zip(other).take_while(|(one, other)| one == other).count()
    };
    let best = places.iter().map(|at| alike(side, &all_added[*at])).max().unwrap_or_default();
    let nearest: Vec<usize> = places.iter().copied().filter(|at| alike(side, &all_added[*at]) == best).collect();
    let [only] = nearest.as_slice() else { return Some(places) };
    let rivals = all_removed.iter().enumerate().filter(|(at, other)| *at != removed && other.id == side.id);
    let is_sure = best > 0 && rivals.into_iter().all(|(_, other)| alike(other, &all_added[*only]) < best);
    Some(if is_sure { vec![*only] } else { places })
}
