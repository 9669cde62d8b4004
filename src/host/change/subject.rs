//! The subject of a question, and who may answer it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::change::patch::Patch;
use base::{hash::Sha256, path::RepoPath};

/// Who granted what a person was asked.
pub(in crate::host) const PERSON: &str = "person";

/// Who granted what the policy grants by itself.
pub(in crate::host) const POLICY: &str = "policy";

/// The name of the grantor if the flag `--yes` grants a confirmation.
pub(in crate::host) const FLAG: &str = "--yes";

/// The name of the grantor if the script's approval grants a confirmation.
pub(in crate::host) const LOCK: &str = "nrv.lock";

/// The kind of a confirmation that a gate requires, by which the policy can grant it.
pub(in crate::host) const GATES: &str = "gates";

/// The kind of what `nrv.gate.confirm` asks.
pub(in crate::host) const CONFIRM: &str = "gate.confirm";

/// The kind of what the apply of an adapter asks.
pub(in crate::host) const DTA_APPLY: &str = "dta.apply";

/// The kind of what is asked for a change that its script does not ask for.
pub(in crate::host) const WRITES: &str = "writes";

/// The subject of a confirmation.
pub struct Subject {
    /// The id to which the token is bound: a proposal's id, or the hash of a value.
    pub(in crate::host) id: String,
    /// The call that asks, which policy may grant by its name.
    pub(in crate::host) kind: &'static str,
    /// The text of the question.
    pub(in crate::host) label: String,
    /// The value that is shown to a person.
    pub(in crate::host) shown: Value,
    /// The change as a patch; empty if it is none.
    pub(in crate::host) patch: Patch,
    /// The files of the change, with what they are.
    pub(in crate::host) files: Vec<BoundFile>,
    /// True if there is nothing to decide, since nothing would change.
    pub(in crate::host) empty: bool,
}

/// A file that a confirmed change is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::host) struct BoundFile<P = RepoPath> {
    /// The file.
    pub(in crate::host) path: P,
    /// Its hash when it was asked; null if it did not exist.
    pub(in crate::host) before: Option<Sha256>,
}
