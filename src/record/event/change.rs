//! Events of changes: judged, written, taken back.

use serde::{Deserialize, Serialize};

use super::parts::{Shown, Stored};
use crate::FileRef;
use base::{
    change::Entry,
    path::RepoPath,
    verdict::{Decision, GateResult},
};

/// Gates judged a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The adapter that proposed it, if one did.
    #[serde(default)]
    pub adapter: Option<String>,
    /// The files, as [`FileRow`]s.
    #[serde(default)]
    pub files: Stored,
    /// The patch.
    pub patch: JudgedPatch,
    /// How many lines the run had changed before.
    #[serde(default)]
    pub run_lines_so_far: u64,
    /// The decision of the gates.
    #[serde(default)]
    pub decision: Decision,
    /// The gates that object or remark.
    #[serde(default)]
    pub results: Vec<Shown<GateResult>>,
}

impl Judged {
    /// The results of gates, without those that lack what a rule on secrets took out.
    pub fn gate_results(&self) -> impl Iterator<Item = &GateResult> {
        self.results.iter().filter_map(Shown::exact)
    }
}

/// Where the patch of a change stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JudgedPatch {
    /// In a file of the record.
    File(FileRef),
    /// In the pack.
    Kept(Stored),
}

/// A file of a change, as gates judge it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// The file.
    pub path: RepoPath,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The length of its part of the patch, in bytes; none in records of an earlier release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// True if it only keeps what another file was.
    #[serde(default, skip_serializing_if = "super::parts::is_false")]
    pub backup: bool,
}

/// A transaction that stands: a change, or files that were brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Its name.
    pub transaction: String,
    /// Its files before and after.
    pub entries: Vec<Entry>,
    /// Files that somebody else had changed when a crash was recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Vec<RepoPath>>,
}

/// A change that could not be recorded was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// The transaction.
    pub transaction: String,
    /// Its files, if a crash was recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<Entry>>,
    /// Files that somebody else had changed.
    #[serde(default)]
    pub foreign: Vec<RepoPath>,
}

/// Changes are about to be taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Undoing {
    /// The transaction that does it.
    pub transaction: String,
    /// The transactions that it takes back.
    pub of: Vec<String>,
    /// Where the attempt was begun, if that is undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
}

/// The run stops inside an attempt, whose changes are about to be taken back until it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptSetAside {
    /// The transaction that does it.
    pub transaction: String,
    /// The transactions that it takes back.
    pub of: Vec<String>,
    /// Where the attempt was begun.
    pub attempt: String,
}

/// The run goes on inside an attempt, whose changes are about to be put back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptPutBack {
    /// The transaction that does it.
    pub transaction: String,
    /// The transactions that stand again.
    pub of: Vec<String>,
    /// Where the attempt was begun.
    pub attempt: String,
    /// The transaction that had taken them back.
    pub aside: String,
}

super::plain!(Judged, Transaction, Revoked, Undoing, AttemptSetAside, AttemptPutBack);
