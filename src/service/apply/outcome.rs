//! How an application is asked for, and what is said of it. Plain data.

use serde::{Deserialize, Serialize};

use crate::base::{call::Strategy, hash::Sha256, path::RepoPath};

/// Whether an application writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyStrategy<'a> {
    /// Nothing is written; what [`ApplyStrategy::Write`] would refuse is refused.
    #[default]
    DryRun,
    /// The files are written.
    Write,
    /// The files are written, and each that was there before is kept beside the new one. No file of that name may be there.
    WriteBackup {
        /// What stands at the end of the kept file's name, such as `.bak`.
        backup_suffix: &'a str,
    },
}

impl From<ApplyStrategy<'_>> for Strategy {
    fn from(strategy: ApplyStrategy<'_>) -> Self {
        match strategy {
            ApplyStrategy::DryRun => Strategy::DryRun,
            ApplyStrategy::Write => Strategy::Write,
            ApplyStrategy::WriteBackup { backup_suffix } => Strategy::WriteBackup(backup_suffix.to_owned()),
        }
    }
}

/// How patches are applied. The default is a dry run that does what git does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions<'a> {
    /// Whether anything is written.
    pub strategy: ApplyStrategy<'a>,
    /// Every hunk has to apply exactly where it says, and nothing but diffs may stand in a patch.
    pub strict: bool,
    /// The numbers of lines in hunk headers are counted anew.
    pub recount: bool,
    /// The patches are taken back.
    pub reverse: bool,
    /// How many leading components of paths are taken off; none: `a/` and `b/` where both sides have them.
    pub strip: Option<usize>,
}

/// Whether a step changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyStatus {
    /// It does, or would if it was written.
    Applied,
    /// Everything is as it should be already.
    Noop,
}

/// A hunk in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppliedHunk {
    /// The line of the hunk's header in its diff, from 1.
    pub header_line: usize,
    /// The line of the file before this step at which it applies, from 1.
    pub line: usize,
    /// How many lines that is below the line of the header.
    pub offset: i64,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyOutcome {
    /// The file; of one that gets another path, the new one.
    pub path: RepoPath,
    /// The file that it is renamed or copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<RepoPath>,
    /// True if that file stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
    /// Whether the step changes anything.
    pub status: ApplyStatus,
    /// True if the change is on the disk.
    pub written: bool,
    /// The hunks of its diff, in their order.
    pub hunks: Vec<AppliedHunk>,
    /// Lines that the step adds.
    pub added: u64,
    /// Lines that it removes.
    pub removed: u64,
    /// The hash of the file before this step; null if there was none.
    pub pre_sha256: Option<Sha256>,
    /// The hash of the file after it; null if there is none.
    pub post_sha256: Option<Sha256>,
    /// Where the file as it was before all steps is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<RepoPath>,
    /// What is to be known, as sentences without final period.
    pub warnings: Vec<String>,
}
