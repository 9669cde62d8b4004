//! The outcome of recovering a run.

use serde::Serialize;

use base::path::RepoPath;

/// The result of the recovery of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// The run.
    pub run: String,
    /// How many transactions were undone.
    pub undone: usize,
    /// How many were finished.
    pub finished: usize,
    /// How many undid an earlier change and were stopped, so that the earlier change stands.
    pub standing: usize,
    /// How many files of an open attempt were set aside until the run goes on.
    pub set_aside: usize,
    /// How many files were in the transactions.
    pub files: usize,
    /// How many files the run had changed before, whose changes stand.
    pub changed: usize,
    /// True if the run had ended, and only its lease was left.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub had_ended: bool,
    /// Files that somebody else changed meanwhile, left alone.
    pub foreign: Vec<RepoPath>,
    /// True if nothing but its record said that it had died: its lease was gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_lease: bool,
}
