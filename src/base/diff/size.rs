//! The sizes of changes in lines.

use serde::{Deserialize, Serialize};

use crate::path::RepoPath;

/// Lines that a change adds and removes, as `git diff --numstat` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// Lines that are only in the post-image.
    pub added: u64,
    /// Lines that are only in the pre-image.
    pub removed: u64,
}

impl Lines {
    /// Added and removed together: the number that budgets and gates count.
    pub fn total(self) -> u64 {
        self.added.saturating_add(self.removed)
    }
}

impl std::iter::Sum for Lines {
    fn sum<I: Iterator<Item = Lines>>(iter: I) -> Self {
        iter.fold(Lines::default(), |sum, lines| Lines {
            added: sum.added.saturating_add(lines.added),
            removed: sum.removed.saturating_add(lines.removed),
        })
    }
}

/// The size of one file's change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stat {
    /// The file.
    pub path: RepoPath,
    /// Lines added and removed.
    pub lines: Lines,
}

impl Stat {
    /// A change without lines.
    pub(super) fn unchanged(path: &RepoPath) -> Self {
        Stat { path: path.clone(), lines: Lines::default() }
    }
}
