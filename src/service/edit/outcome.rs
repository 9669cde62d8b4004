//! The outcome of an edit. Plain data.

use serde::{Deserialize, Serialize};

use base::{
    hash::Sha256,
    micro::{Handle, Tool},
    path::RepoPath,
};

/// The effect of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditStatus {
    /// It changes the file, or would if written.
    Applied,
    /// The place has the new text already.
    Noop,
}

/// The outcome of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditOutcome {
    /// The tool.
    pub tool: Tool,
    /// The file.
    pub path: RepoPath,
    /// The line that changes, from 1.
    pub line: u64,
    /// The column at which the change begins, from 1 in characters.
    pub column: u64,
    /// The effect.
    pub status: EditStatus,
    /// True if the change is on the disk.
    pub written: bool,
    /// The replaced text; empty if something is added.
    pub before: String,
    /// The text in its place.
    pub after: String,
    /// The hash of the file before.
    pub pre_sha256: Sha256,
    /// The hash of the file after.
    pub post_sha256: Sha256,
    /// A fresh handle of the target.
    pub target: Handle,
    /// Warnings about the new text, as sentences without final period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
