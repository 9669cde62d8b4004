//! A batch of files for the adapter of a user, and the answer to it, as they travel between processes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A phase of an adapter's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Counts the files before the change.
    Discover,
    /// Gives new texts.
    Propose,
    /// Counts again, for the verifier.
    Measure,
}

impl Phase {
    /// Its name on the wire, which is that of the function too.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Discover => "discover",
            Phase::Propose => "propose",
            Phase::Measure => "measure",
        }
    }
}

/// A file of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// Its path in the workspace.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A batch of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The phase.
    pub phase: Phase,
    /// The input of the adapter: `tool`, `version`, `target`, `params` and `constraints`.
    pub input: Value,
    /// The files, sorted by path.
    pub files: Vec<Text>,
}

/// The answer to a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The counts of all files of the batch together.
    Counts(BTreeMap<String, u64>),
    /// For each file its new text; none if it stays.
    Texts(Vec<Option<String>>),
}
