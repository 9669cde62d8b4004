//! The patch of a change: pre-images from the tree, post-images from the change, rendered by several threads.

use std::{collections::BTreeSet, ops::Range};

use serde_json::{Value, json};

use base::{
    diff::{self, FilePatch, Kind, Lines, ParseOptions, Stat},
    hash::Sha256,
    path::RepoPath,
};
use gate::Text;
use record::event::FileRow;

/// A patch, and what each file has in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    /// All of it.
    pub(crate) bytes: Vec<u8>,
    /// The size of every file's change, in the order of paths.
    pub(crate) stats: Vec<Stat>,
    parts: Vec<Range<usize>>,
    /// Files that only keep what others were. Their lines are nobody's work, and don't count.
    backups: BTreeSet<RepoPath>,
}

impl Patch {
    /// The diffs of a value that is a plan, or one diff, as they are written; none of any other value, and of one whose diffs can't be
    /// read. Whether they apply is not looked at.
    pub(crate) fn of_plan(value: &Value) -> Option<Patch> {
        let one = std::slice::from_ref(value);
        let diffs = value.get("diffs").map_or(Some(one), |diffs| diffs.as_array().map(Vec::as_slice))?;
        let mut parts = diffs.iter().map(written).collect::<Option<Vec<_>>>()?;
        parts.sort_by(|one, other| one.1.path.cmp(&other.1.path));
        let mut patch = Patch::default();
        parts.iter().for_each(|(text, stat)| patch.push(text.as_bytes(), stat.clone()));
        Some(patch)
    }

    /// Appends one file's part.
    pub(crate) fn push(&mut self, part: &[u8], stat: Stat) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(part);
        self.parts.push(start..self.bytes.len());
        self.stats.push(stat);
    }

    /// Appends the part of a file that only keeps what another was.
    pub(crate) fn push_backup(&mut self, part: &[u8], path: &RepoPath) {
        self.push(part, Stat { path: path.clone(), lines: Lines::default() });
        self.backups.insert(path.clone());
    }

    /// Every file as records have it, in the order of paths.
    pub(crate) fn rows(&self) -> Value {
        let row = |(part, stat): (&[u8], &Stat)| FileRow {
            path: stat.path.clone(),
            added: stat.lines.added,
            removed: stat.lines.removed,
            length: Some(part.len()),
            backup: self.backups.contains(&stat.path),
        };
        self.parts().map(|part| json!(row(part))).collect()
    }

    /// Returns the texts before and after the change of each file, as far as the patch shows them. Context lines are in both.
    pub(crate) fn texts(&self) -> Vec<Text<'_>> {
        let texts = |(part, stat): (&[u8], &'_ Stat)| {
            let Sides { before, after, .. } = Sides::of(part);
            let text = |before: Vec<u8>, after: Vec<u8>| Text {
                place: Some(stat.path.to_string().into()),
                is_file: true,
                before: before.into(),
                after: after.into(),
            };
            // A file that only gets another name has contents as before, and a new name.
            let is_renamed = !before.is_empty() && makes_name(part);
            let named = is_renamed.then(|| text(Vec::new(), Vec::new()));
            std::iter::once(text(before, after)).chain(named)
        };
        self.parts().flat_map(texts).collect()
    }

    /// The edits of each part: a hash of the lines that it takes away and adds, with their numbers, whatever context is beside them.
    /// A part that can't be read, such as that of a binary file, has none.
    pub(crate) fn edits(&self) -> BTreeSet<(RepoPath, Sha256)> {
        let edit = |(part, stat): (&[u8], &Stat)| {
            let read = diff::parse(part, &ParseOptions::default()).ok()?;
            let [file] = read.files.as_slice() else { return None };
            Some((stat.path.clone(), edit(file)))
        };
        self.parts().filter_map(edit).collect()
    }

    /// The parts with their sizes, in the order of paths.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[u8], &Stat)> {
        self.parts.iter().map(|range| &self.bytes[range.clone()]).zip(&self.stats)
    }
}

/// The hash of an edit of a file: what becomes of it, and each line that goes or comes, with its number.
fn edit(file: &FilePatch) -> Sha256 {
    let mut text =
        format!("{:?} {:?}\n", file.operation, file.new_mode.filter(|_| file.old_mode.is_some())).into_bytes();
    for hunk in &file.hunks {
        let (mut old, mut new) = (hunk.old.start, hunk.new.start);
        for (kind, line) in hunk.lines() {
            match kind {
                Kind::Context => (old, new) = (old + 1, new + 1),
                Kind::Removed => {
                    text.extend(format!("-{old} ").bytes().chain(line.iter().copied()));
                    old += 1;
                }
                Kind::Added => {
                    text.extend(format!("+{new} ").bytes().chain(line.iter().copied()));
                    new += 1;
                }
            }
        }
    }
    Sha256::of(&text)
}

/// A diff of a plan as a part of a patch; none if it is not about the file that it is given for, and no other.
fn written(diff: &Value) -> Option<(&str, Stat)> {
    let path = RepoPath::parse(diff.get("path")?.as_str()?).ok()?;
    let text = diff.get("unified_diff")?.as_str()?;
    let parsed = diff::parse(text.as_bytes(), &ParseOptions::default()).ok()?;
    let [file] = parsed.files.as_slice() else { return None };
    if ![file.source(), file.target()].contains(&Some(&path)) {
        return None;
    }
    Some((text, Stat { path, lines: file.size() }))
}

/// The two sides of a file that a part of a patch shows.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    /// The lines of before. Lines have the numbers that they have in the file; the others are empty.
    pub(crate) before: Vec<u8>,
    /// The lines of after, likewise.
    pub(crate) after: Vec<u8>,
    /// Where lines of `after` begin there and in the part.
    places: Vec<(usize, usize)>,
}

impl Sides {
    /// Reads a part.
    pub(crate) fn of(part: &[u8]) -> Self {
        let mut sides = Sides::default();
        let mut in_hunk = false;
        let (mut old, mut new, mut at) = (1, 1, 0);
        for line in part.split_inclusive(|byte| *byte == b'\n') {
            let (is_old, is_new) = match line.first() {
                Some(b'@') if line.starts_with(b"@@") => {
                    in_hunk = true;
                    fill(&mut sides.before, &mut old, first_line(line, b'-'));
                    fill(&mut sides.after, &mut new, first_line(line, b'+'));
                    (false, false)
                }
                Some(b'+') => (false, in_hunk),
                Some(b'-') => (in_hunk, false),
                Some(b' ') => (in_hunk, in_hunk),
                _ => (false, false),
            };
            if is_old {
                sides.before.extend_from_slice(&line[1..]);
                old += 1;
            }
            if is_new {
                sides.places.push((sides.after.len(), at + 1));
                sides.after.extend_from_slice(&line[1..]);
                new += 1;
            }
            at += line.len();
        }
        sides
    }

    /// Where a byte of `after` stands in the part.
    pub(crate) fn in_part(&self, at: usize) -> usize {
        let line = self.places.partition_point(|(after, _)| *after <= at);
        line.checked_sub(1).map_or(0, |line| self.places[line].1 + (at - self.places[line].0))
    }
}

/// True for a part that makes a file where none was, under a new name or from nothing.
pub(crate) fn makes_name(part: &[u8]) -> bool {
    let head = part.split(|byte| *byte == b'\n').take_while(|line| !line.starts_with(b"@@"));
    let words: [&[u8]; 3] = [b"new file mode ", b"rename to ", b"copy to "];
    head.into_iter().any(|line| words.iter().any(|word| line.starts_with(word)))
}

/// Appends empty lines until the next one has a number.
fn fill(side: &mut Vec<u8>, next: &mut u64, number: u64) {
    while *next < number {
        side.push(b'\n');
        *next += 1;
    }
}

/// The number of the first line of a hunk on the side of that sign, from its head `@@ -1,2 +3,4 @@`.
fn first_line(head: &[u8], sign: u8) -> u64 {
    let number = head.split(|byte| *byte == sign).nth(1).unwrap_or_default();
    let digits: Vec<u8> = number.iter().copied().take_while(u8::is_ascii_digit).collect();
    String::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_is_shown_as_its_diffs_and_other_values_are_not() {
        let diff = |path: &str| json!({"path": path, "unified_diff": format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")});
        let patch = Patch::of_plan(&json!({"diffs": [diff("b"), diff("a")], "post": {}})).unwrap();
        let named = |patch: &Patch| {
            patch.stats.iter().map(|stat| (stat.path.to_string(), stat.lines.added)).collect::<Vec<_>>()
        };
        assert_eq!(named(&patch), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
        assert!(patch.bytes.starts_with(b"--- /dev/null\n+++ b/a\n") && patch.bytes.ends_with(b"+x\n"));
        assert_eq!(named(&Patch::of_plan(&diff("c")).unwrap()).len(), 1);
        let mut other = diff("a");
        other["path"] = json!("b");
        let broken = json!({"path": "a", "unified_diff": "+x"});
        for value in
            [json!("text"), json!({"id": 1}), json!({"diffs": 1}), json!({"diffs": [other]}), broken, json!({})]
        {
            assert!(Patch::of_plan(&value).is_none(), "{value}");
        }
    }

    #[test]
    fn a_file_that_gets_another_name_shows_that_as_new() {
        let stat = Stat { path: RepoPath::parse("b").unwrap(), lines: base::diff::Lines::default() };
        let texts = |part: &[u8]| {
            let mut patch = Patch::default();
            patch.push(part, stat.clone());
            patch.texts().into_iter().map(|text| text.before.is_empty()).collect::<Vec<_>>()
        };
        let hunk = b"--- a/a\n+++ b/b\n@@ -1,2 +1,2 @@\n same\n-rename to x\n+y\n".as_slice();
        assert_eq!(
            texts(&[b"diff --git a/a b/b\nrename from a\nrename to b\n".as_slice(), hunk].concat()),
            [false, true]
        );
        assert_eq!(texts(hunk), [false]);
        assert_eq!(texts(b"diff --git a/a b/b\nrename from a\nrename to b\n"), [true]);
    }

    #[test]
    fn a_part_shows_both_sides_and_the_numbers_of_lines() {
        let part = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -3,2 +3,3 @@\n three\n-four\n+FOUR\n+and\n@@ -9 +10 @@ fn\n-++x\n+--y\n";
        let sides = Sides::of(part);
        assert_eq!(sides.in_part(sides.after.len() - 2), part.len() - 2);
        assert_eq!(&part[sides.in_part(8)..][..4], b"FOUR");
        assert_eq!(String::from_utf8(sides.before).unwrap(), "\n\nthree\nfour\n\n\n\n\n++x\n");
        assert_eq!(String::from_utf8(sides.after).unwrap(), "\n\nthree\nFOUR\nand\n\n\n\n\n--y\n");
    }
}
