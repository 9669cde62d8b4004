//! The options of an application, and its outcomes. Plain data.

use serde::{Deserialize, Serialize};

pub use base::call::LineEnds;
use base::{call::Strategy, hash::Sha256, path::RepoPath};

/// The mode of an application: a dry run, a write, or a write with backups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyStrategy<'a> {
    /// Nothing is written; the refusals of [`ApplyStrategy::Write`] are reported.
    #[default]
    DryRun,
    /// The files are written.
    Write,
    /// The files are written, and each former content is kept beside the new one. No file of that name may exist.
    WriteBackup {
        /// The suffix of the kept file's name, such as `.bak`.
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

/// The options of applying patches. The default is a dry run with git's rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions<'a> {
    /// The mode: a dry run, a write, or a write with backups.
    pub strategy: ApplyStrategy<'a>,
    /// True if every hunk must apply exactly at the position in its header, and a patch may hold diffs only.
    pub strict: bool,
    /// True if the line counts of hunk headers are computed again.
    pub recount: bool,
    /// True if the patches are reversed.
    pub reverse: bool,
    /// The number of leading path components to remove; if none, `a/` and `b/` where both sides have them.
    pub strip: Option<usize>,
    /// The line ends of the patches' lines.
    pub line_ends: LineEnds,
}

/// The effect of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyStatus {
    /// It changes the file, or would if written.
    Applied,
    /// The file has the wanted content already.
    Noop,
}

/// A placed hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppliedHunk {
    /// The line of the hunk's header in its diff, from 1.
    pub header_line: usize,
    /// The line of the file before this step at which it applies, from 1.
    pub line: usize,
    /// The distance of that line below the one in the header.
    pub offset: i64,
}

/// The outcome of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyOutcome {
    /// The file; for a renamed one, the new path.
    pub path: RepoPath,
    /// The file that it is renamed or copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<RepoPath>,
    /// True if that file stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
    /// The effect of the step.
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
    /// The path of the backup of the file before all steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<RepoPath>,
    /// Warnings, as sentences without final period.
    pub warnings: Vec<String>,
}
