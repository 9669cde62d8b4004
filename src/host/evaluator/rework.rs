//! Rework: lines that a run added and later changed or removed.
//!
//! Each line that the run adds is followed through its later changes of the file. One that is changed, removed or rolled back later
//! is rework. Rework over added lines is the ratio. What an attempt tried that was undone is as if it had not happened.
//! A micro-edit reworks a line only where an earlier one wrote.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use base::{
    diff::{FilePatch, Hunk, Kind, Lines},
    hash::Sha256,
    path::RepoPath,
};
use record::event::Changes;

/// The state of a file: the hash of its content; none if the file did not exist.
pub(super) type State = Option<Sha256>;

/// Something that a run did to files.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// It changed them.
    Changed(Vec<Changed>),
    /// It brought them back to what they were.
    Back(Vec<(RepoPath, State)>),
}

/// A change of one file.
#[derive(Clone, Debug)]
pub(super) struct Changed {
    pub(super) path: RepoPath,
    pub(super) before: State,
    pub(super) after: State,
    pub(super) lines: Lines,
    /// Its parts of the patch, where other steps are about the file as well.
    pub(super) parts: Vec<FilePatch>,
    /// True if it is a micro-edit, which changes a part of one line.
    pub(super) is_edit: bool,
}

/// Computes the totals of some steps, in their order.
pub(super) fn totals(steps: &[Step]) -> Changes {
    let mut changes = Changes::default();
    let mut followed = Followed::new(steps);
    for step in steps {
        match step {
            Step::Back(files) => files.iter().for_each(|(path, state)| followed.bring_back(path, *state)),
            Step::Changed(files) => {
                changes.committed += 1;
                for file in files {
                    count(&mut changes, file.lines);
                    followed.change(file);
                }
            }
        }
    }
    changes.reworked = followed.reworked.len() as u64;
    changes
}

fn count(changes: &mut Changes, lines: Lines) {
    changes.modifications += 1;
    changes.small += u64::from(lines.total() <= SMALL);
    changes.added += lines.added;
    changes.removed += lines.removed;
}

/// A line: 0 if it was there before the run, else the number of the line that the run added.
type Line = u64;

/// The lines of files as the run leaves them, up to the last that it has touched.
#[derive(Debug, Default)]
struct Followed {
    files: BTreeMap<RepoPath, Vec<Line>>,
    /// The same for those states to which files are brought back.
    kept: BTreeMap<(RepoPath, State), Vec<Line>>,
    wanted: BTreeSet<(RepoPath, State)>,
    n_added: u64,
    reworked: BTreeSet<Line>,
    /// The bytes that micro-edits wrote, of lines that only they changed.
    written: BTreeMap<Line, Vec<Range<usize>>>,
}

impl Followed {
    fn new(steps: &[Step]) -> Self {
        let back = steps.iter().filter_map(|step| match step {
            Step::Back(files) => Some(files),
            Step::Changed(_) => None,
        });
        Followed { wanted: back.flatten().cloned().collect(), ..Followed::default() }
    }

    fn change(&mut self, file: &Changed) {
        self.keep(&file.path, file.before);
        for part in &file.parts {
            let lines = part.source().and_then(|path| self.files.remove(path)).unwrap_or_default();
            let lines = match file.is_edit {
                true => self.edit(lines, &part.hunks),
                false => self.follow(&lines, &part.hunks),
            };
            self.files.insert(file.path.clone(), lines);
        }
        self.keep(&file.path, file.after);
    }

    /// Remembers what a file is now, if it will be that once more.
    fn keep(&mut self, path: &RepoPath, state: State) {
        let key = (path.clone(), state);
        if self.wanted.contains(&key) {
            let lines = self.files.get(path).cloned().unwrap_or_default();
            self.kept.insert(key, lines);
        }
    }

    /// The lines after a patch: those that stay keep what they are.
    fn follow(&mut self, lines: &[Line], hunks: &[Hunk]) -> Vec<Line> {
        let mut after = Vec::with_capacity(lines.len());
        let mut at = 0;
        let line = |at: usize| lines.get(at).copied().unwrap_or(0);
        for hunk in hunks {
            let start = if hunk.old.count == 0 { hunk.old.start } else { hunk.old.start.saturating_sub(1) };
            while at < start {
                after.push(line(at));
                at += 1;
            }
            for (kind, _) in hunk.lines() {
                match kind {
                    Kind::Context => after.push(line(at)),
                    Kind::Removed => self.rework(line(at)),
                    Kind::Added => {
                        self.n_added += 1;
                        after.push(self.n_added);
                    }
                }
                at += usize::from(kind != Kind::Added);
            }
        }
        after.extend(lines.iter().skip(at));
        after
    }

    /// The lines after a micro-edit: one line has another text in its place.
    fn edit(&mut self, mut lines: Vec<Line>, hunks: &[Hunk]) -> Vec<Line> {
        for hunk in hunks {
            let mut at = hunk.old.start.saturating_sub(1);
            let mut removed: &[u8] = &[];
            for (kind, text) in hunk.lines() {
                match kind {
                    Kind::Context => at += 1,
                    Kind::Removed => removed = text,
                    Kind::Added => {
                        lines.resize(lines.len().max(at + 1), 0);
                        lines[at] = self.edit_line(lines[at], removed, text);
                        at += 1;
                    }
                }
            }
        }
        lines
    }

    /// The line that takes the place of one. It is rework if what an earlier step wrote is changed.
    fn edit_line(&mut self, line: Line, before: &[u8], after: &[u8]) -> Line {
        let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
        let head = before.iter().zip(after).take_while(same).count();
        let least = before.len().min(after.len()) - head;
        let tail = before.iter().rev().zip(after.iter().rev()).take(least).take_while(same).count();
        let (old, new) = (head..before.len() - tail, head..after.len() - tail);
        let earlier = self.written.remove(&line);
        let overlaps = |one: &Range<usize>| one.start < old.end && old.start < one.end;
        if earlier.as_ref().is_none_or(|ranges| ranges.iter().any(overlaps)) {
            self.rework(line);
        }
        // Whatever stands behind the change is as far from the end of the line as before.
        let moved = |one: Range<usize>| match one.start >= old.end {
            true => one.start + after.len() - before.len()..one.end + after.len() - before.len(),
            false => one,
        };
        self.n_added += 1;
        let ranges = earlier.unwrap_or_default().into_iter().map(moved).chain([new.clone()]).collect();
        self.written.insert(self.n_added, ranges);
        self.n_added
    }

    fn rework(&mut self, line: Line) {
        if line > 0 {
            self.reworked.insert(line);
        }
    }

    fn bring_back(&mut self, path: &RepoPath, state: State) {
        let lines = self.kept.get(&(path.clone(), state)).cloned().unwrap_or_default();
        let stays: BTreeSet<Line> = lines.iter().copied().collect();
        let now = self.files.insert(path.clone(), lines).unwrap_or_default();
        now.into_iter().filter(|line| !stays.contains(line)).for_each(|line| self.rework(line));
    }
}

/// A change of at most so many lines is a small one.
pub(super) const SMALL: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use base::diff::{self, ParseOptions, Side};

    fn path() -> RepoPath {
        RepoPath::parse("a.txt").unwrap()
    }

    fn state(text: Option<&str>) -> State {
        text.map(|text| Sha256::of(text.as_bytes()))
    }

    /// A step from one content to the next, with its patch.
    fn step(before: Option<&str>, after: Option<&str>) -> Step {
        let side = |text: Option<&'static str>| text.map(|text| Side { bytes: text.as_bytes(), mode: 0o644 });
        let leak = |text: Option<&str>| text.map(|text| &*text.to_owned().leak());
        let (patch, stat) = diff::render(&path(), side(leak(before)), side(leak(after))).unwrap();
        let parts = diff::parse(&patch, &ParseOptions::default()).unwrap().files;
        let (before, after) = (state(before), state(after));
        Step::Changed(vec![Changed { path: path(), before, after, lines: stat.lines, parts, is_edit: false }])
    }

    fn back(text: Option<&str>) -> Step {
        Step::Back(vec![(path(), state(text))])
    }

    /// Added and reworked lines.
    #[track_caller]
    fn check(steps: &[Step], added: u64, reworked: u64) {
        let changes = totals(steps);
        assert_eq!((changes.added, changes.reworked), (added, reworked));
    }

    /// Contents one after the other.
    fn steps(contents: &[&str]) -> Vec<Step> {
        contents.windows(2).map(|pair| step(Some(pair[0]), Some(pair[1]))).collect()
    }

    #[test]
    fn what_is_changed_once_is_no_rework() {
        check(&steps(&["1\n2\n3\n", "1\nB\n3\nD\n"]), 2, 0);
        check(&steps(&["1\n2\n3\n", "1\nB\n3\n", "1\nB\nC\n"]), 2, 0);
    }

    #[test]
    fn an_added_line_that_is_changed_or_removed_later_is_rework_once() {
        check(&steps(&["1\n2\n", "1\nx\n2\n", "1\ny\n2\n"]), 2, 1);
        check(&steps(&["1\n2\n", "1\nx\n2\n", "1\ny\n2\n", "1\nz\n2\n"]), 3, 2);
        check(&steps(&["1\n2\n", "1\nx\ny\n2\n", "1\ny\n2\n"]), 2, 1);
        check(&[step(None, Some("a\nb\n")), step(Some("a\nb\n"), None)], 2, 2);
    }

    #[test]
    fn a_line_is_followed_past_lines_that_come_and_go_before_it() {
        let many = |first: &str, added: &str| format!("{first}{}{added}end\n", "x\n".repeat(40));
        let a = many("1\n", "");
        let b = many("1\n", "new\n");
        let c = many("0\n1\n2\n3\n", "new\n");
        let d = many("0\n1\n2\n3\n", "newer\n");
        check(&steps(&[&a, &b, &c, &d]), 5, 1);
        let e = many("", "new\n");
        check(&steps(&[&a, &b, &e, &many("", "")]), 1, 1);
    }

    #[test]
    fn what_is_rolled_back_is_rework_and_what_stays_is_not() {
        let (a, b, c) = ("1\n", "1\n2\n", "1\n2\n3\n");
        let both = steps(&[a, b, c]);
        check(&[both.clone(), vec![back(Some(b))]].concat(), 2, 1);
        check(&[both.clone(), vec![back(Some(a))]].concat(), 2, 2);
        // What was rolled back and is written again is new; the first of its kind stays rework.
        check(&[both.clone(), vec![back(Some(b)), step(Some(b), Some(c))]].concat(), 3, 1);
        check(&[both, vec![back(Some(b)), step(Some(b), Some(c)), back(Some(a))]].concat(), 3, 3);
        check(&[step(None, Some("a\nb\n")), back(None)], 2, 2);
    }

    #[test]
    fn a_line_that_comes_back_is_counted_once() {
        let (a, b) = ("1\nx\n", "1\n");
        check(&[step(Some("1\n"), Some(a)), step(Some(a), Some(b)), back(Some(a)), step(Some(a), Some(b))], 1, 1);
    }

    #[test]
    fn an_edit_is_rework_where_an_earlier_one_wrote() {
        let edits = |contents: &[&str]| {
            let mut all = steps(contents);
            for step in &mut all {
                let Step::Changed(files) = step else { continue };
                files.iter_mut().for_each(|file| file.is_edit = true);
            }
            all
        };
        check(&edits(&["0\na b c\n", "0\naa b c\n", "0\naa b ccc\n", "0\naa bb ccc\n"]), 3, 0);
        check(&edits(&["0\na b c\n", "0\na b xyz\n", "0\na longer b xyz\n", "0\na longer b xYz\n"]), 3, 1);
        let mut mixed = steps(&["a b\n", "x b\n"]);
        mixed.extend(edits(&["x b\n", "x y\n"]));
        check(&mixed, 2, 1);
    }

    #[test]
    fn small_modifications_are_told_from_large_ones() {
        let large = "x\n".repeat(6);
        let changes = totals(&steps(&["1\n", "2\n", &large]));
        let expected = Changes { committed: 2, modifications: 2, small: 1, added: 7, removed: 2, reworked: 1 };
        assert_eq!(changes, expected);
    }
}
