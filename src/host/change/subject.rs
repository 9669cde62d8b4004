//! The subject of a question, and who may answer it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::patch::Patch;
use base::{hash::Sha256, path::RepoPath};

/// Who granted what a person was asked.
pub(crate) const PERSON: &str = "person";

/// Who granted what the policy grants by itself.
pub(crate) const POLICY: &str = "policy";

/// The name of the grantor if the flag `--yes` grants a confirmation.
pub(crate) const FLAG: &str = "--yes";

/// The name of the grantor if the script's approval grants a confirmation.
pub(crate) const LOCK: &str = "nrv.lock";

/// The kind of a confirmation that a gate requires, by which the policy can grant it.
pub(crate) const GATES: &str = "gates";

/// The kind of what `nrv.gate.confirm` asks.
pub(crate) const CONFIRM: &str = "gate.confirm";

/// The kind of what the apply of an adapter asks.
pub(crate) const DTA_APPLY: &str = "dta.apply";

/// The kind of what is asked for a change that its script does not ask for.
pub(crate) const WRITES: &str = "writes";

/// The subject of a confirmation.
pub struct Subject {
    /// The id to which the token is bound: a proposal's id, or the hash of a value.
    pub(crate) id: String,
    /// The call that asks, which policy may grant by its name.
    pub(crate) kind: &'static str,
    /// The text of the question.
    pub(crate) label: String,
    /// The value that is shown to a person.
    pub(crate) shown: Value,
    /// The change as a patch; empty if it is none.
    pub(crate) patch: Patch,
    /// The files of the change, with what they are.
    pub(crate) files: Vec<BoundFile>,
    /// True if there is nothing to decide, since nothing would change.
    pub(crate) empty: bool,
}

/// A file that a confirmed change is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoundFile<P = RepoPath> {
    /// The file.
    pub(crate) path: P,
    /// Its hash when it was asked; null if it did not exist.
    pub(crate) before: Option<Sha256>,
}
