//! The moves that a history knows, looked up by the old path and by the new one. It reads nothing.

use std::collections::{BTreeMap, BTreeSet};

use system::git::Trace;

/// Paths that are gone, with the files that they became.
type Moves = BTreeMap<String, BTreeSet<String>>;

/// Moves of files.
#[derive(Debug, Default)]
pub(super) struct History {
    renames: Moves,
    /// The renames by the old path in lower case.
    folded: Moves,
    contents: Moves,
    /// Files that moved from a path that another one has now.
    replaced: Moves,
    /// Paths that were removed, with other files of their name.
    apart: Moves,
    /// Files, with the paths that they had.
    earlier: Moves,
    /// The files that the history begins with.
    pub(super) originals: BTreeSet<String>,
    /// The names of the contents that each file had.
    pub(super) versions: BTreeMap<String, Vec<String>>,
    /// The reason that older moves are unknown, if they are.
    pub(super) remark: Option<String>,
}

impl History {
    /// Records the way of a file from a path that is gone.
    pub(super) fn add(&mut self, from: &str, to: &str, trace: Trace) {
        let note = |moves: &mut Moves, from: &str, to: &str| {
            moves.entry(from.to_owned()).or_default().insert(to.to_owned());
        };
        match trace {
            Trace::Content => note(&mut self.contents, from, to),
            Trace::Apart => note(&mut self.apart, from, to),
            Trace::Replaced => {
                note(&mut self.replaced, from, to);
                note(&mut self.earlier, to, from);
            }
            Trace::Rename => {
                note(&mut self.renames, from, to);
                note(&mut self.folded, &from.to_lowercase(), to);
                note(&mut self.earlier, to, from);
            }
        }
    }

    /// True if a file was there beside the one at that path, and is another one.
    pub(super) fn are_apart(&self, from: &str, file: &str) -> bool {
        self.apart.get(from).is_some_and(|files| files.contains(file))
    }

    /// The files and folders that the first known one of some paths was renamed to.
    pub(super) fn renamed(&self, paths: &[String]) -> BTreeSet<String> {
        paths.iter().find_map(|path| self.renames.get(path)).cloned().unwrap_or_default()
    }

    /// The files that the first known one of some paths was renamed to; letter case does not count.
    pub(super) fn renamed_in_any_case(&self, paths: &[String]) -> BTreeSet<String> {
        paths.iter().find_map(|path| self.folded.get(&path.to_lowercase())).cloned().unwrap_or_default()
    }

    /// True if Git tracked a file at a path, which moved from there.
    pub(super) fn has_moved(&self, path: &str) -> bool {
        self.renames.contains_key(path)
    }

    /// The files that were at the first known one of some paths, before another took it.
    pub(super) fn replaced(&self, paths: &[String]) -> BTreeSet<String> {
        paths.iter().find_map(|path| self.replaced.get(path)).cloned().unwrap_or_default()
    }

    /// The files with a content that was at the first known one of some paths.
    pub(super) fn with_content_of(&self, paths: &[String]) -> BTreeSet<String> {
        paths.iter().find_map(|path| self.contents.get(path)).cloned().unwrap_or_default()
    }

    /// The earlier paths of a file.
    pub(super) fn earlier(&self, file: &str) -> impl Iterator<Item = &str> {
        self.earlier.get(file).into_iter().flatten().map(String::as_str)
    }
}
