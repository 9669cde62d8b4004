//! Unified diffs: rendered as text that `git apply` takes, byte for byte, and parsed, applied and reversed by git's rules.
//!
//! Pure and deterministic: no time limit decides how good a diff is, so the same contents give the same bytes everywhere.
//! Where git would guess, or silently skip a possible change, a diff is refused.
//!
//! - Parsing: `parse`, `header`, `name`, `body`, `text`, `repair`, `line_ends`; the result is a `patch`.
//! - Applying: `apply`, `place`, `reject`.
//! - Rendering: `line`, `hunk`, `placed`.
//! - Display: `split`, `risk`.
//! - Comparing with a record: `recorded`.

mod apply;
#[cfg(test)]
mod apply_tests;
mod blob;
mod body;
#[cfg(test)]
mod differential;
mod header;
mod hunk;
mod line;
mod line_ends;
mod merge;
#[cfg(test)]
mod mutation;
mod name;
#[cfg(test)]
mod oracle;
mod parse;
#[cfg(test)]
mod parse_tests;
mod patch;
mod place;
mod placed;
mod placer;
mod recorded;
mod reject;
mod repair;
mod replacement;
mod risk;
#[cfg(test)]
mod roundtrip;
mod size;
mod split;
mod text;

use std::borrow::Cow;

pub use self::{
    apply::{Patched, PlacedHunk},
    merge::{TakenBack, take_back},
    patch::{FilePatch, Hunk, Kind, Operation, Patch, Position},
    placed::render_placed,
    placer::Placement,
    recorded::{is_content, objection, seen},
    repair::Repaired,
    replacement::{Replacement, replacements},
    risk::{Mark, counted, marked, marks, marks_of_path, sort_by_risk},
    size::{Lines, Stat},
    split::{Part, parts},
};
use self::{hunk::Hunks, line_ends::Converted};
use crate::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
};

/// The number of leading folders removed from the names of a diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strip {
    /// This many, like `-p` of `git apply`.
    Exactly(usize),
    /// `a/` and `b/` if both names of a part begin so, or the one that is not `/dev/null`; else nothing.
    #[default]
    Guess,
}

/// The treatment of text around the parts of a diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prose {
    /// It is an error.
    #[default]
    Refuse,
    /// It is skipped with a warning.
    Skip,
}

/// The options of reading a diff.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions {
    /// The leading folders removed from the names.
    pub strip: Strip,
    /// True if the line counts in the headers of hunks are not to be trusted.
    pub recount: bool,
    /// The treatment of text around the diff.
    pub prose: Prose,
}

/// Reads a unified diff of any number of files. A malformed part is `invalid_input`, or `invalid_path`, with its line.
pub fn parse(text: &[u8], options: &ParseOptions) -> Result<Patch, Error> {
    parse::read(text, options).map(|read| read.patch)
}

/// Repairs the form of a diff: wrong line counts, text and fences around it, context that has lost its space. With the contents of
/// its file, it gets the line ends of that file, too.
///
/// A defect that only a guess could repair is an error.
pub fn repair(text: &[u8], file: Option<&[u8]>) -> Result<Repaired, Error> {
    repair::repair(text, file)
}

impl FilePatch {
    /// The part with the line ends of its file, and a remark if that changes it.
    ///
    /// `patch_rejected` if the file has lines of both ends, or if the diff only changes the end of a line.
    pub fn with_line_ends_of(&self, before: &[u8]) -> Result<(Cow<'_, Self>, Option<String>), Error> {
        Ok(match line_ends::converted(self, before)? {
            Some(Converted { part, remark, .. }) => (Cow::Owned(part), Some(remark)),
            None => (Cow::Borrowed(self), None),
        })
    }

    /// Applies the part to its file: all of it, or nothing and `patch_rejected` gives the reason.
    ///
    /// `before` is the file that [`FilePatch::source`] names, after the parts before; none if it does not exist. The caller
    /// checks that the target of a rename or a copy does not exist.
    pub fn apply(&self, before: Option<Side<'_>>, placement: Placement) -> Result<Patched, Error> {
        apply::apply(self, before, placement)
    }
}

/// Counts the lines between two contents; a file that does not exist is empty.
pub fn count(before: &[u8], after: &[u8]) -> Lines {
    Hunks::new(before, after).lines()
}

/// One side of a file's change.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// All bytes of the file.
    pub bytes: &'a [u8],
    /// Permission bits, `0o7777` at most; `0o120777` of a symbolic link, whose bytes are its target.
    pub mode: u32,
}

impl<'a> From<&'a Content> for Side<'a> {
    fn from(content: &'a Content) -> Self {
        Side { bytes: &content.bytes, mode: content.mode }
    }
}

/// Renders one file's part of a patch in git's format, with three lines of context, and counts its lines. Parts put together
/// in the order of their paths are a patch.
///
/// Git keeps one permission bit, the owner's execute bit; changes of other bits are not in the patch. As in git, a file that
/// becomes a symbolic link, or the reverse, is a deletion and a creation. A file that holds a NUL byte is `unreadable`, since a
/// patch of text can't show it. Its deletion shows git's object name.
pub fn render(path: &RepoPath, before: Option<Side<'_>>, after: Option<Side<'_>>) -> Result<(Vec<u8>, Stat), Error> {
    render_with(path, before, after, Hunks::new)
}

/// As [`render`], with a function that knows the lines that differ.
fn render_with<'a>(
    path: &RepoPath,
    before: Option<Side<'a>>,
    after: Option<Side<'a>>,
    compare: impl FnOnce(&'a [u8], &'a [u8]) -> Hunks<'a>,
) -> Result<(Vec<u8>, Stat), Error> {
    let modes = (before.map(git_mode), after.map(git_mode));
    if let (Some(old), Some(new)) = modes
        && old & TYPE != new & TYPE
    {
        let (mut out, gone) = render(path, before, None)?;
        let (new, come) = render(path, None, after)?;
        out.extend_from_slice(&new);
        return Ok((out, Stat { path: path.clone(), lines: [gone.lines, come.lines].into_iter().sum() }));
    }
    let (before, after) = (before.map_or(&[][..], |side| side.bytes), after.map_or(&[][..], |side| side.bytes));
    let binary = [(before, "is"), (after, "would be")].into_iter().find(|side| memchr::memchr(0, side.0).is_some());
    if let Some(side) = binary.filter(|_| before != after) {
        if modes.1.is_none() {
            return Ok((name::binary_deletion(path, modes, &blob::name(before)), Stat::unchanged(path)));
        }
        return Err(Error::new(
            Code::Unreadable,
            format!("`{path}` {} binary (it holds a NUL byte) and can't be shown as a diff", side.1),
        )
        .detail("path", path.as_str())
        .hint("leave the file out and change it by other means"));
    }
    let mut stat = Stat::unchanged(path);
    let mut out = Vec::new();
    if before == after && modes.0 == modes.1 {
        return Ok((out, stat));
    }
    name::write_header(path, modes, &mut out);
    if before != after {
        name::write_sides(path, modes, &mut out);
        let hunks = compare(before, after);
        hunks.write(&mut out);
        stat.lines = hunks.lines();
    }
    Ok((out, stat))
}

/// The type of file in a mode, and that of a symbolic link.
const TYPE: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// The mode as git knows it: of a link, or one of two of regular files.
fn git_mode(side: Side<'_>) -> u32 {
    if side.mode & TYPE == LINK {
        return LINK;
    }
    if side.mode & 0o100 == 0 { 0o100_644 } else { 0o100_755 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: &[u8], mode: u32) -> Option<Content> {
        Some(Content::new(bytes.to_vec(), mode))
    }

    #[track_caller]
    fn check(path: &str, before: Option<Content>, after: Option<Content>, expected: &str) {
        let side = |content| Option::as_ref(content).map(Side::from);
        let (patch, _) = render(&RepoPath::parse(path).unwrap(), side(&before), side(&after)).unwrap();
        assert_eq!(String::from_utf8_lossy(&patch), expected);
    }

    #[test]
    fn an_edit_has_three_lines_of_context() {
        check(
            "d/a.txt",
            content(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", 0o644),
            content(b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n", 0o644),
            "diff --git a/d/a.txt b/d/a.txt\n--- a/d/a.txt\n+++ b/d/a.txt\n\
             @@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
        );
    }

    #[test]
    fn distant_edits_are_hunks_of_their_own() {
        let lines = |edit: &[usize]| -> Vec<u8> {
            (0..40).flat_map(|i| format!("{i}{}\n", if edit.contains(&i) { "!" } else { "" }).into_bytes()).collect()
        };
        let hunks = |edit: &[usize]| {
            let mut out = Vec::new();
            Hunks::new(&lines(&[]), &lines(edit)).write(&mut out);
            String::from_utf8(out).unwrap().matches("@@ -").count()
        };
        assert_eq!((hunks(&[10, 17]), hunks(&[10, 18]), hunks(&[0, 39])), (1, 2, 2));
    }

    #[test]
    fn the_end_without_a_newline_is_marked_on_its_side() {
        check(
            "a",
            content(b"x\ny", 0o644),
            content(b"x\ny\n", 0o644),
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+y\n",
        );
    }

    #[test]
    fn creation_and_removal_name_dev_null() {
        check(
            "a",
            None,
            content(b"x\n", 0o755),
            "diff --git a/a b/a\nnew file mode 100755\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n",
        );
        check(
            "a",
            content(b"x", 0o644),
            None,
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n\
             @@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n",
        );
        check("a", None, content(b"", 0o644), "diff --git a/a b/a\nnew file mode 100644\n");
        check("a", content(b"", 0o644), None, "diff --git a/a b/a\ndeleted file mode 100644\n");
    }

    #[test]
    fn only_the_mode_that_git_keeps_is_shown() {
        let modes = "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n";
        check("a", content(b"x", 0o644), content(b"x", 0o755), modes);
        check("a", content(b"x", 0o600), content(b"x", 0o640), "");
    }

    #[test]
    fn a_file_that_becomes_a_link_goes_and_comes() {
        check(
            "a",
            content(b"x\n", 0o644),
            content(b"b/c", 0o120_777),
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
             diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+b/c\n\
             \\ No newline at end of file\n",
        );
        check(
            "a",
            content(b"b", 0o120_777),
            content(b"c", 0o120_777),
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-b\n\\ No newline at end of file\n\
             +c\n\\ No newline at end of file\n",
        );
    }

    #[test]
    fn a_binary_file_is_refused_by_name() {
        let binary = Side { bytes: b"\0", mode: 0o644 };
        let error = render(&RepoPath::parse("b.bin").unwrap(), None, Some(binary)).unwrap_err();
        assert_eq!((error.code(), error.message().contains("`b.bin`")), (Code::Unreadable, true));
    }

    #[test]
    fn a_binary_file_that_goes_is_named_and_not_shown() {
        let (path, before) = (RepoPath::parse("b c.bin").unwrap(), Side { bytes: b"\0", mode: 0o644 });
        let (diff, stat) = render(&path, Some(before), None).unwrap();
        let text = String::from_utf8(diff.clone()).unwrap();
        let index = format!("index f76dd238ade08917e6712764a16a22005a50573d..{}", "0".repeat(40));
        assert!(text.ends_with(&format!("{index}\nBinary files a/b c.bin and /dev/null differ\n")), "{text}");
        assert_eq!(stat.lines.total(), 0);
        let patch = parse(&diff, &ParseOptions::default()).unwrap();
        let patched = patch.files[0].apply(Some(before), Placement::Exact).unwrap();
        assert_eq!(patched.after, None);
    }

    #[test]
    fn lines_are_counted_as_the_patch_shows_them() {
        assert_eq!(count(b"a\nb\n", b"a\nc\nd\n"), Lines { added: 2, removed: 1 });
        assert_eq!(count(b"", b"a"), Lines { added: 1, removed: 0 });
        assert_eq!(count(b"a\r\n", b"a\n"), Lines { added: 1, removed: 1 });
        assert_eq!(count(b"a", b"a").total(), 0);
    }
}
