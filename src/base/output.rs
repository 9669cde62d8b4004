//! The outcome of an adapter's run, as plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Named numbers, in the order of their names.
pub type Counts = BTreeMap<String, u64>;

/// The last phase of an adapter's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Nothing was written; the proposed contents were verified.
    DryRun,
    /// The change was made, but not verified.
    Apply,
    /// The change was made and the verifier ran.
    Verify,
}

/// A finding of the verifier.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The check that failed.
    pub check: String,
    /// The file, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The expected and the actual value.
    pub reason: String,
}

impl Failure {
    /// A failure of a check of the whole.
    pub fn new(check: &str, reason: impl Into<String>) -> Self {
        Failure { check: check.to_owned(), path: None, reason: reason.into() }
    }

    /// A failure of a check of one file.
    pub fn at(check: &str, path: &str, reason: impl Into<String>) -> Self {
        Failure { check: check.to_owned(), path: Some(path.to_owned()), reason: reason.into() }
    }
}

/// The verifier's part of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// True if every check passed.
    pub passed: bool,
    /// The checks that were made.
    pub checks: Vec<String>,
    /// The number of links probed over the network.
    pub sample_size: u64,
    /// The failures; empty if and only if `passed`.
    pub failures: Vec<Failure>,
    /// Further remarks, as sentences without final period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// The result of an adapter's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The adapter's name.
    pub tool: String,
    /// True if the request was fulfilled and the verifier passed.
    pub ok: bool,
    /// Its last phase.
    pub phase: Phase,
    /// The counts before.
    pub baseline: Counts,
    /// The counts of the proposal.
    pub proposed_changes: Counts,
    /// The counts of the change; zeros if nothing was changed, or the change was undone.
    pub applied_changes: Counts,
    /// True if the change was made and undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// The run, whose folder `.runs/RUN` holds the artefacts; none outside of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The artefacts, relative to the run's folder.
    pub artifacts: Vec<String>,
    /// The verifier's findings.
    pub verifier: Verdict,
}

impl Output {
    /// The output after its change was undone.
    #[must_use]
    pub fn into_undone(mut self) -> Self {
        self.applied_changes.values_mut().for_each(|count| *count = 0);
        self.undone = true;
        self
    }
}
