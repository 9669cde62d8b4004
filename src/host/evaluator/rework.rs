//! Rework: lines that a run added and later changed or removed.
//!
//! Each line that the run adds is followed through its later changes of the file. One that is changed, removed or rolled back later
//! is rework. Rework over added lines is the ratio. What an attempt tried that was undone is as if it had not happened.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    base::{
        diff::{FilePatch, Hunk, Kind, Lines},
        hash::Sha256,
        path::RepoPath,
    },
    record::event::Changes,
};

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
}

impl Changes {
    /// Computes the totals of some steps, in their order.
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut changes = Changes::default();
        let mut followed = Followed::new(steps);
        for step in steps {
            match step {
                Step::Back(files) => files.iter().for_each(|(path, state)| followed.bring_back(path, *state)),
                Step::Changed(files) => {
                    changes.committed += 1;
                    for file in files {
                        changes.count(file.lines);
                        followed.change(file);
                    }
                }
            }
        }
        changes.reworked = followed.reworked.len() as u64;
        changes
    }

    fn count(&mut self, lines: Lines) {
        self.modifications += 1;
        self.small += u64::from(lines.total() <= SMALL);
        self.added += lines.added;
        self.removed += lines.removed;
    }
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
            let lines = self.follow(&lines, &part.hunks);
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
    use crate::base::diff::{self, ParseOptions, Side};

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
        Step::Changed(vec![Changed { path: path(), before, after, lines: stat.lines, parts }])
    }

    fn back(text: Option<&str>) -> Step {
        Step::Back(vec![(path(), state(text))])
    }

    /// Added and reworked lines.
    #[track_caller]
    fn check(steps: &[Step], added: u64, reworked: u64) {
        let changes = Changes::of(steps);
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
    fn small_modifications_are_told_from_large_ones() {
        let large = "x\n".repeat(6);
        let changes = Changes::of(&steps(&["1\n", "2\n", &large]));
        let expected = Changes { committed: 2, modifications: 2, small: 1, added: 7, removed: 2, reworked: 1 };
        assert_eq!(changes, expected);
    }
}
