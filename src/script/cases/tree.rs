//! The files of a case: contents by path, and the differences of two such trees as text.
//!
//! Folders are no part of a tree, since git keeps no empty folder.

use std::{collections::BTreeMap, fmt::Write};

use base::{
    change::Content,
    diff::{self, Side},
    error::{Code, Error},
    path::{RepoPath, protected},
    text::escape,
};
use system::workspace::{Globs, Kind, Visit, Workspace};

/// The bit of a mode that git keeps.
const EXECUTABLE: u32 = 0o100;

/// Files and links by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<RepoPath, Content>);

/// The bits of a mode that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modes {
    /// All: both sides were made here.
    All,
    /// The one that git keeps: the others differ from checkout to checkout.
    Executable,
}

/// The differences of two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// A line for each file.
    pub(super) lines: Vec<String>,
    /// The differences of text files, as a patch from the first tree to the second.
    pub(super) patch: Vec<u8>,
}

impl Tree {
    /// Reads the files of a folder of a workspace, or of all of it, without `.git`, `.runs` and the files that the globs match.
    pub(super) fn read(
        workspace: &Workspace,
        below: Option<&RepoPath>,
        without: Option<&Globs>,
    ) -> Result<Self, Error> {
        let relative = |path: &RepoPath| match below {
            Some(folder) => RepoPath::parse(path.strip_prefix(folder.as_str()).unwrap_or(path).trim_start_matches('/')),
            None => Ok(path.clone()),
        };
        let is_left_out = |path: &RepoPath| {
            protected::is_hidden_folder(path.file_name())
                || without.is_some_and(|globs| relative(path).is_ok_and(|path| globs.matches(&path)))
        };
        let visit = |path: &RepoPath, kind| match kind {
            _ if is_left_out(path) => Visit::Skip,
            Kind::Folder => Visit::Enter,
            Kind::File | Kind::Link | Kind::Other => Visit::Take,
        };
        let survey = match below {
            Some(folder) => workspace.survey_below(std::slice::from_ref(folder), 1, visit)?,
            None => workspace.survey(1, visit)?,
        };
        if let Some(name) = survey.unnameable.first() {
            return Err(Error::new(Code::InvalidInput, format!("the name of `{}` is not UTF-8", escape(name)))
                .hint("rename the file: a case is compared by its paths"));
        }
        let read = |path: &RepoPath| Ok((relative(path)?, workspace.read_entry(path)?));
        survey.seen.iter().map(|seen| read(&seen.path)).collect::<Result<_, _>>().map(Tree)
    }

    /// The files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&RepoPath, &Content)> {
        self.0.iter()
    }

    /// A file's content.
    pub(super) fn get(&self, path: &RepoPath) -> Option<&Content> {
        self.0.get(path)
    }

    /// True if there is no file.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum of the sizes in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(|content| content.bytes.len()).sum()
    }

    /// The differences of a found tree from this one, which is expected; none if they agree.
    pub(super) fn differences(&self, found: &Tree, modes: Modes) -> Result<Option<Differences>, Error> {
        let mut differences = Differences::default();
        let mut paths: Vec<&RepoPath> = self.0.keys().chain(found.0.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        for path in paths {
            let sides = (self.get(path), found.get(path));
            if let Some(line) = difference(path, sides, modes) {
                differences.lines.push(line);
                differences.patch.extend(patch(path, sides)?);
            }
        }
        Ok((!differences.lines.is_empty()).then_some(differences))
    }
}

impl Differences {
    /// The patch as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.patch).into_owned()
    }

    /// The number of files that differ, and the difference of each.
    pub(super) fn told(&self) -> String {
        let n = self.lines.len();
        let mut text = if n == 1 { "1 file differs".to_owned() } else { format!("{n} files differ") };
        for line in &self.lines {
            let _ = write!(text, "\n  {line}");
        }
        text
    }
}

/// The difference of a file from the expected one; none if they agree.
fn difference(path: &RepoPath, sides: (Option<&Content>, Option<&Content>), modes: Modes) -> Option<String> {
    let path = escape(path);
    match sides {
        (None, None) => None,
        (Some(_), None) => Some(format!("`{path}` is missing")),
        (None, Some(_)) => Some(format!("`{path}` should not be there")),
        (Some(expected), Some(found)) if expected.is_link() != found.is_link() => {
            let kind = |content: &Content| if content.is_link() { "link" } else { "file" };
            Some(format!("`{path}` is a {}, not a {}", kind(found), kind(expected)))
        }
        (Some(expected), Some(found)) if expected.sha256 != found.sha256 && is_binary(expected, found) => {
            let (has, wants) = (found.sha256.short(), expected.sha256.short());
            Some(format!("`{path}` is binary and has the SHA-256 hash {has}…, not {wants}…"))
        }
        (Some(expected), Some(found)) if expected.sha256 != found.sha256 => Some(format!("`{path}` holds other text")),
        (Some(expected), Some(found)) if !same_mode(expected.mode, found.mode, modes) => {
            Some(format!("`{path}` has the mode {:o}, not {:o}", found.mode, expected.mode))
        }
        (Some(_), Some(_)) => None,
    }
}

fn same_mode(expected: u32, found: u32, modes: Modes) -> bool {
    match modes {
        Modes::All => expected == found,
        Modes::Executable => expected & EXECUTABLE == found & EXECUTABLE,
    }
}

/// The mode of a file as an update writes it: the bits that git keeps.
pub(super) fn kept_mode(mode: u32) -> u32 {
    if mode & EXECUTABLE == 0 { 0o644 } else { 0o755 }
}

fn is_binary(one: &Content, other: &Content) -> bool {
    [one, other].iter().any(|content| memchr::memchr(0, &content.bytes).is_some())
}

/// The patch between two contents, as far as they are text.
fn patch(path: &RepoPath, (expected, found): (Option<&Content>, Option<&Content>)) -> Result<Vec<u8>, Error> {
    match diff::render(path, expected.map(Side::from), found.map(Side::from)) {
        Ok((patch, _)) => Ok(patch),
        Err(error) if error.code() == Code::Unreadable => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl FromIterator<(RepoPath, Content)> for Tree {
    fn from_iter<I: IntoIterator<Item = (RepoPath, Content)>>(files: I) -> Self {
        Tree(files.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &[u8], u32)]) -> Tree {
        let file = |(path, bytes, mode): &(&str, &[u8], u32)| {
            (RepoPath::parse(path).unwrap(), Content::new(bytes.to_vec(), *mode))
        };
        files.iter().map(file).collect()
    }

    #[track_caller]
    fn check(expected: &[(&str, &[u8], u32)], found: &[(&str, &[u8], u32)], lines: &[&str]) -> String {
        let differences = tree(expected).differences(&tree(found), Modes::Executable).unwrap().unwrap_or_default();
        assert_eq!(differences.lines, lines);
        String::from_utf8(differences.patch).unwrap()
    }

    #[test]
    fn each_file_that_differs_is_told_in_a_line() {
        check(&[("a", b"1", 0o644)], &[("a", b"1", 0o664)], &[]);
        check(&[("a", b"1", 0o644)], &[("b", b"1", 0o644)], &["`a` is missing", "`b` should not be there"]);
        check(&[("a", b"1", 0o755)], &[("a", b"1", 0o644)], &["`a` has the mode 644, not 755"]);
        let binary = check(
            &[("a", b"\0", 0o644)],
            &[("a", b"1", 0o644)],
            &["`a` is binary and has the SHA-256 hash 6b86b273ff34…, not 6e340b9cffb3…"],
        );
        assert_eq!(binary, "");
    }

    #[test]
    fn what_a_text_differs_in_is_a_patch_from_what_is_expected() {
        let patch = check(&[("a", b"1\n2\n", 0o644)], &[("a", b"1\n3\n", 0o644)], &["`a` holds other text"]);
        assert!(patch.ends_with("@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"), "{patch}");
    }

    #[test]
    fn all_bits_of_a_mode_count_where_both_trees_were_made_here() {
        let differ = tree(&[("a", b"1", 0o644)]).differences(&tree(&[("a", b"1", 0o600)]), Modes::All).unwrap();
        assert_eq!(differ.unwrap().lines, ["`a` has the mode 600, not 644"]);
    }
}
