//! Events of adapters: started, proposed, applied, verified, failed.

use serde::{Deserialize, Serialize};

use super::parts::{Free, Shown, Stored, is_zero};
use crate::FileRef;
use base::{
    error::Code,
    hash::Sha256,
    output::{Counts, Output},
};

/// An adapter begins to look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DtaStarted {
    /// The adapter.
    pub tool: String,
    /// Its invocation.
    pub input: Free,
    /// The source of the adapter, if a user wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceFile>,
}

/// The source of an adapter that a user wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The file in the workspace.
    pub path: String,
    /// The hash of everything that the adapter is made of.
    pub sha256: Sha256,
}

/// An adapter proposed a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DtaProposed {
    /// The adapter.
    pub tool: String,
    /// The proposal's id.
    pub proposal: String,
    /// The numbers of proposed changes, by name.
    #[serde(default)]
    pub proposed_changes: Counts,
    /// True if the adapter found nothing to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_match: bool,
    /// How many places and files the proposal leaves, for which the baseline has the reasons.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u64,
    /// The hash of the exact patch.
    pub patch_sha256: Shown<Sha256>,
    /// The files, as [`FileRow`](super::FileRow)s.
    #[serde(default)]
    pub files: Stored,
}

/// A proposal was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DtaApplied {
    /// The adapter.
    pub tool: String,
    /// The proposal's id.
    pub proposal: String,
    /// The numbers of applied changes, by name.
    #[serde(default)]
    pub applied_changes: Counts,
    /// The transaction; none if nothing had to be changed.
    pub transaction: Option<String>,
    /// The baseline: the state of the files before.
    pub baseline: FileRef,
    /// The manifest: the changes, file by file.
    pub manifest: FileRef,
}

/// A verifier judged a proposal or a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DtaVerified {
    /// The adapter.
    #[serde(default)]
    pub tool: String,
    /// The output of the adapter.
    pub output: Output,
    /// The numbers that the verifier counted.
    #[serde(default)]
    pub after: Counts,
}

/// An adapter's call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DtaFailed {
    /// The adapter.
    pub tool: String,
    /// The error's code.
    pub code: Code,
    /// Why.
    pub reason: String,
}

super::plain!(DtaStarted, DtaProposed, DtaApplied, DtaVerified, DtaFailed);
