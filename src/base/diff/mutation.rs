//! Cases for the differential tests: patches of small files, damaged as people and models damage them, and files that have
//! changed since.

use std::collections::BTreeMap;

use super::*;

/// Numbers that are the same for the same seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Similar seeds must not give the same numbers later.
        let mut random = Random(seed);
        Random(random.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `end`, which is above 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

type Tree = BTreeMap<String, (u32, Vec<u8>)>;
type Lines = Vec<Vec<u8>>;

const WORDS: &[&str] =
    &["", "a", "b", "c", "x y", "-- x", "++ y", "\\ No newline at end of file", " ", "\tt", "\u{e9}"];

fn line(random: &mut Random, ends: &str) -> Vec<u8> {
    let mut line = match random.below(30) {
        0 => vec![0xff, 0xfe, b'z'],
        1..=12 => format!("line {}", random.below(40)).into_bytes(),
        _ => random.pick(WORDS).as_bytes().to_vec(),
    };
    line.extend_from_slice(ends.as_bytes());
    line
}

fn text(random: &mut Random, most: usize) -> Lines {
    let ends = if random.chance(10) { "\r\n" } else { "\n" };
    let mut lines: Lines = (0..random.below(most)).map(|_| line(random, ends)).collect();
    if random.chance(15) {
        lines.last_mut().map(Vec::pop);
        lines.retain(|line| !line.is_empty());
    }
    lines
}

fn edited(random: &mut Random, before: &Lines) -> Lines {
    let mut lines = before.clone();
    for _ in 0..1 + random.below(3) {
        let at = random.below(lines.len() + 1);
        let end = (at + random.below(3)).min(lines.len());
        let new: Lines = (0..random.below(3)).map(|_| line(random, "\n")).collect();
        lines.splice(at..end, new);
    }
    // Only the last line may be without an end.
    let last = lines.len().saturating_sub(1);
    lines[..last].iter_mut().filter(|line| !line.ends_with(b"\n")).for_each(|line| line.push(b'\n'));
    lines
}

/// A tree and a patch for it that may or may not fit.
pub(super) fn case(random: &mut Random) -> (Tree, Vec<u8>) {
    let mut tree = Tree::new();
    let mut patch = Lines::new();
    for name in &["d/f.txt", "g h"][..1 + usize::from(random.chance(20))] {
        one(random, name, &mut tree, &mut patch);
    }
    let harmless = random.chance(45);
    for _ in 0..random.below(3) {
        if harmless || random.chance(30) {
            gently(random, &mut patch, &mut tree);
        } else {
            roughly(random, &mut patch);
        }
    }
    (tree, patch.concat())
}

/// Adds a file and its part of the patch.
fn one(random: &mut Random, name: &str, tree: &mut Tree, patch: &mut Lines) {
    let size = if random.chance(50) { 40 } else { 8 };
    let before = text(random, size);
    let after = if random.chance(95) { edited(random, &before) } else { text(random, 8) };
    let mode = |random: &mut Random| if random.chance(10) { 0o755 } else { 0o644 };
    let (old, new) = (mode(random), mode(random));
    let link = random.chance(3);
    let side = |bytes: &Vec<u8>, mode: u32| -> Option<(Vec<u8>, u32)> {
        if !link {
            return Some((bytes.clone(), mode));
        }
        let target: Vec<u8> = bytes.iter().copied().filter(|byte| byte.is_ascii_alphanumeric()).collect();
        (!target.is_empty()).then_some((target, 0o120_777))
    };
    let (mut from, mut to) = (side(&before.concat(), old), side(&after.concat(), new));
    match random.below(20) {
        0 => from = None,
        1 => to = None,
        _ => {}
    }
    if let Some((bytes, mode)) = &from {
        tree.insert(name.to_owned(), (*mode, bytes.clone()));
    }
    let from = from.as_ref().map(|(bytes, mode)| Side { bytes, mode: *mode });
    let to = to.as_ref().map(|(bytes, mode)| Side { bytes, mode: *mode });
    let path = RepoPath::parse(name).unwrap();
    let Ok((part, _)) = render(&path, from, to) else { return };
    let mut lines: Lines = line::split(&part).into_iter().map(<[u8]>::to_vec).collect();
    restyle(random, name, &mut lines);
    patch.extend(lines);
}

/// The same part as another program would write it.
fn restyle(random: &mut Random, name: &str, lines: &mut Lines) {
    let names = lines.iter().position(|line| line.starts_with(b"--- "));
    match (random.below(10), names) {
        (0..=2, Some(names)) => drop(lines.drain(..names)),
        (3, Some(names)) => {
            for at in [names, names + 1] {
                let date = if lines[at].ends_with(b"/dev/null\n") {
                    "1970-01-01 00:00:00 +0000"
                } else {
                    "2024-05-06 07:08:09.123 +0200"
                };
                lines[at] = [lines[at].trim_ascii_end(), b"\t", date.as_bytes(), b"\n"].concat();
            }
            lines.drain(..names);
        }
        (4, Some(names)) if lines[names + 1].starts_with(b"+++ b") && lines[names].starts_with(b"--- a") => {
            let word = if random.chance(50) { "rename" } else { "copy" };
            let quoted =
                format!("diff --git a/{name} b/new\nsimilarity index 70%\n{word} from {name}\n{word} to new\n");
            let old = lines[names].clone();
            lines.splice(..=names + 1, [quoted.into_bytes(), old, b"+++ b/new\n".to_vec()]);
        }
        (5, Some(names)) => lines.insert(names, b"index 1234567..89abcde 100644\n".to_vec()),
        _ => {}
    }
}

fn headers(patch: &Lines) -> Vec<usize> {
    (0..patch.len()).filter(|at| body::header(&patch[*at]).is_some()).collect()
}

/// Writes the header of a hunk anew.
fn with_header(patch: &mut Lines, at: usize, change: impl FnOnce(&mut Position, &mut Position)) {
    let Some((mut old, mut new)) = body::header(&patch[at]) else { return };
    change(&mut old, &mut new);
    patch[at] = format!("@@ -{},{} +{},{} @@\n", old.start, old.count, new.start, new.count).into_bytes();
}

const PROSE: &[&str] = &[
    "Here is the change:\n",
    "```diff\n",
    "```\n",
    "*** End of patch ***\n",
    "Index: d/f.txt\n",
    "===================================================================\n",
    "-- \n2.47.3\n\n",
    "diff -u d/f.txt d/f.txt\n",
    "From 0123456789 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n---\n f | 2 +-\n\n",
    "Only in d: x\n",
    "\n",
];

/// Changes that leave a patch valid, and later changes of the files.
fn gently(random: &mut Random, patch: &mut Lines, tree: &mut Tree) {
    let headers = headers(patch);
    let hunk = |random: &mut Random| (!headers.is_empty()).then(|| headers[random.below(headers.len())]);
    match random.below(8) {
        0 => {
            let ends = [0, patch.len()];
            patch.insert(ends[random.below(2)], random.pick(PROSE).into());
        }
        1 => {
            let Some(at) = hunk(random) else { return };
            let shift = random.below(9);
            with_header(patch, at, |old, new| (old.start, new.start) = (old.start + shift, new.start + shift));
        }
        2 | 3 => {
            let Some(at) = hunk(random) else { return };
            trim(random, patch, at);
        }
        4 => patch.iter_mut().filter(|line| *line == b" \n").for_each(|line| *line = b"\n".to_vec()),
        _ => {
            for (_, bytes) in tree.values_mut().filter(|file| file.0 != 0o120_777) {
                let mut lines: Lines = line::split(bytes).into_iter().map(<[u8]>::to_vec).collect();
                let at = if random.chance(50) { 0 } else { random.below(lines.len() + 1) };
                match random.below(6) {
                    0 => drop((at < lines.len()).then(|| lines.remove(at))),
                    1 => lines.extend(lines.clone()),
                    _ => drop(
                        lines.splice(at..at, (0..1 + random.below(4)).map(|_| line(random, "\n")).collect::<Lines>()),
                    ),
                }
                *bytes = lines.concat();
            }
        }
    }
}

/// Takes a line of context away from one end of a hunk.
fn trim(random: &mut Random, patch: &mut Lines, at: usize) {
    let Some((old, new)) = body::header(&patch[at]) else { return };
    let text = text::Text::new(&patch.concat());
    let (_, end) = body::measure(&text, at, old, new);
    if end > patch.len() || end < at + 3 {
        return;
    }
    if random.chance(50) && patch[at + 1].starts_with(b" ") && !patch[at + 2].starts_with(b"\\") {
        patch.remove(at + 1);
        with_header(patch, at, |old, new| {
            (old.start, new.start) = (old.start + 1, new.start + 1);
            (old.count, new.count) = (old.count.saturating_sub(1), new.count.saturating_sub(1));
        });
    } else if patch[end - 1].starts_with(b" ") {
        patch.remove(end - 1);
        with_header(patch, at, |old, new| {
            (old.count, new.count) = (old.count.saturating_sub(1), new.count.saturating_sub(1))
        });
    }
}

const HEADS: &[&str] = &[
    "old mode 100644\n",
    "new mode 100755\n",
    "new file mode 100644\n",
    "new file mode 120000\n",
    "deleted file mode 100644\n",
    "index 1234567..89abcde 100755\n",
    "index 1234567..89abcde 120000\n",
    "rename from d/f.txt\n",
    "rename to new\n",
    "copy from d/f.txt\n",
    "diff --git a/d/f.txt b/d/f.txt\n",
    "--- a/d/f.txt\n",
    "+++ b/d/f.txt\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "--- a/d/../f.txt\n",
    "+++ /d/f.txt\n",
    "+++ \"b/d/f.txt\"\n",
    "+++ b/d/f.txt.orig\n",
    "--- a/./d/f.txt\n",
    "--- d/f.txt\n",
    "+++ b//d/f.txt\n",
    "+++ b/d/f.txt\t2020-01-01\n",
    "--- a/d/f.txt\t1970-01-01 01:00:00 +0100\n",
    "@@ -1 +1 @@\n",
    "@@ -0,0 +1,2 @@\n",
    "@@ -2,0 +3 @@\n",
    "@@ ... @@\n",
    "@@ -1,2 +1,2 @\n",
    "\\ No newline at end of file\n",
    "\\ Kein Zeilenende\n",
    "\\ short\n",
    "Binary files a/x and b/x differ\n",
    "GIT binary patch\n",
];

/// Changes that may break a patch.
fn roughly(random: &mut Random, patch: &mut Lines) {
    if patch.is_empty() {
        return;
    }
    let headers = headers(patch);
    let hunk = |random: &mut Random| headers.get(random.below(headers.len().max(1))).copied();
    let at = random.below(patch.len());
    match random.below(18) {
        0 => {
            let (shift, side) = (random.below(5), random.chance(50));
            let Some(at) = hunk(random) else { return };
            with_header(patch, at, |old, new| if side { old.start += shift } else { new.start += shift });
        }
        1 => {
            let (old_less, new_less, more) = (random.below(3), random.below(3), random.below(2));
            let Some(at) = hunk(random) else { return };
            with_header(patch, at, |old, new| {
                old.count = (old.count + more).saturating_sub(old_less);
                new.count = (new.count + more).saturating_sub(new_less);
            });
        }
        2 => drop(patch.remove(at)),
        3 => patch.insert(at, patch[at].clone()),
        4 if at > 0 => patch.swap(at, at - 1),
        5 => patch.insert(at, random.pick(PROSE).into()),
        6 => patch[at][0] = b" +-\\@#"[random.below(6)],
        7 => {
            let byte = random.below(patch[at].len());
            patch[at][byte] = b"a1 -+\t\n\\/"[random.below(9)];
        }
        8 => patch.iter_mut().for_each(|line| *line = [line.trim_ascii_end(), b"\n"].concat()),
        9 => patch
            .iter_mut()
            .filter(|line| line.ends_with(b"\n"))
            .for_each(|line| line.splice(line.len() - 1.., *b"\r\n").for_each(drop)),
        10 => patch.extend(patch.clone()),
        11 => patch.truncate(at + 1),
        12 => drop(patch.last_mut().map(Vec::pop)),
        13 if headers.len() > 1 => {
            let (first, second) = (headers[0], headers[1]);
            patch[first..].rotate_left(second - first);
        }
        14 | 15 => patch.insert(at, random.pick(HEADS).into()),
        16 => patch[at] = random.pick(HEADS).into(),
        17 => {
            let Some(at) = hunk(random) else { return };
            with_header(patch, at, |old, new| (old.start, new.start) = (1, 1));
        }
        _ => patch.insert(at, line(random, "\n")),
    }
}
