//! The words that a patch replaces, for display: those of lines that stay in their places.

use serde::Serialize;

use super::{Kind, ParseOptions, line, parse, parts};
use crate::{path::RepoPath, text::shortened};

/// Longer texts are shortened, in characters.
const LONGEST: usize = 160;

/// Words of a line that become others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replacement {
    /// The file before the change.
    pub path: RepoPath,
    /// The line before the change, 1-based.
    pub line: usize,
    /// The words before the change, shortened to 160 characters.
    pub old: String,
    /// The words after the change, shortened likewise.
    pub new: String,
}

/// The first replacements of a patch that git or nrv wrote. Lines that come or go without another in their place are none, nor are
/// parts that can't be read.
pub fn replacements(patch: &[u8], most: usize) -> Vec<Replacement> {
    let files = parts(patch).into_iter().filter_map(|part| parse(part.bytes, &ParseOptions::default()).ok());
    let files = files.flat_map(|patch| patch.files);
    let of_file = |file: super::FilePatch| {
        let path = file.source().cloned();
        let lines: Vec<_> = file.hunks.iter().flat_map(pairs).collect();
        let found = lines.iter().flat_map(|(number, old, new)| words(old, new).map(move |texts| (*number, texts)));
        let found: Vec<_> = found.take(most).collect();
        path.into_iter().flat_map(move |path| {
            let place = move |(line, (old, new))| Replacement { path: path.clone(), line, old, new };
            found.clone().into_iter().map(place)
        })
    };
    files.flat_map(of_file).take(most).collect()
}

/// The lines of a hunk that take the place of another, each with the number of that.
fn pairs(hunk: &super::Hunk) -> Vec<(usize, &[u8], &[u8])> {
    let (mut number, mut pairs) = (hunk.old.start, Vec::new());
    let lines: Vec<(Kind, &[u8])> = hunk.lines().collect();
    for run in lines.chunk_by(|one, other| (one.0 == Kind::Context) == (other.0 == Kind::Context)) {
        let of = |kind: Kind| run.iter().filter(move |line| line.0 == kind).map(|line| line.1);
        let (old, new) = (of(Kind::Removed).count(), of(Kind::Added).count());
        if old == new {
            let numbered = of(Kind::Removed).zip(of(Kind::Added)).enumerate();
            pairs.extend(numbered.map(|(at, (old, new))| (number + at, old, new)));
        }
        number += of(Kind::Context).count() + old;
    }
    pairs
}

/// The words of a line that become others.
fn words(old: &[u8], new: &[u8]) -> impl Iterator<Item = (String, String)> {
    let (old, new) = (line::words(old), line::words(new));
    let changed = line::compare(&old, &new).into_iter();
    let replaced = changed.filter(|one| !one.before.is_empty() && !one.after.is_empty());
    let texts = replaced.map(|one| (text(&old[one.before]), text(&new[one.after])));
    texts.filter(|(old, new)| old != new).collect::<Vec<_>>().into_iter()
}

/// The beginning of a text without its line end.
fn text(words: &[&[u8]]) -> String {
    shortened(String::from_utf8_lossy(&words.concat()).trim_end_matches(['\r', '\n']), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Side, render};

    fn found(old: &str, new: &str) -> Vec<(usize, String, String)> {
        let side = |text: &'static str| Some(Side { bytes: text.as_bytes(), mode: 0o644 });
        let leak = |text: &str| &*Box::leak(text.to_owned().into_boxed_str());
        let path = RepoPath::parse("a.md").unwrap();
        let (patch, _) = render(&path, side(leak(old)), side(leak(new))).unwrap();
        let found = replacements(&patch, 3);
        assert!(found.iter().all(|one| one.path == path));
        found.into_iter().map(|one| (one.line, one.old, one.new)).collect()
    }

    fn pair(line: usize, old: &str, new: &str) -> (usize, String, String) {
        (line, old.to_owned(), new.to_owned())
    }

    #[test]
    fn words_of_lines_in_their_places_are_told() {
        let old = "# A\n\nSee [x](old/a.md#b) and [y](Y.md).\nz\n";
        let new = "# A\n\nSee [x](new/a.md#c) and [y](y.md).\nz\n";
        assert_eq!(found(old, new), [pair(3, "old/a.md#b", "new/a.md#c"), pair(3, "Y.md", "y.md")]);
        // The bound, and lines after a context that is left out.
        let many = |word: &str| (0..40).map(|n| format!("{word} {n}\n")).collect::<String>();
        assert_eq!(found(&many("a"), &many("b")), [pair(1, "a", "b"), pair(2, "a", "b"), pair(3, "a", "b")]);
        let far = |word: &str| format!("{}x = {word}\r\n", "\n".repeat(99));
        assert_eq!(found(&far("1"), &far("2")), [pair(100, "1", "2")]);
    }

    #[test]
    fn lines_that_come_or_go_are_none() {
        assert_eq!(found("a\nb\n", "a\nc\nd\n"), []);
        assert_eq!(found("", "a\n"), []);
        assert_eq!(found("a\n", ""), []);
        assert_eq!(found("a b\n", "a\n"), []);
        assert_eq!(replacements(b"no patch", 9), []);
    }

    #[test]
    fn long_words_are_shortened() {
        let [(_, old, new)] = &found(&"ä".repeat(999), "b")[..] else { panic!("there is one") };
        assert_eq!((old.chars().count(), new.as_str()), (161, "b"));
    }
}
