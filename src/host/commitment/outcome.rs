//! A commitment as people and records see it.

use serde::{Deserialize, Serialize};

use record::event::Maker;

/// A commitment, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    /// Its name in the run, such as `k1`.
    pub id: String,
    /// Who made it.
    pub source: Maker,
    /// The statement that has to hold, in words.
    pub description: String,
    /// The agent that made it; none if it is the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// True if it held when it was last looked at; none if nobody has looked.
    pub ok: Option<bool>,
    /// The reason for the last result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The end of what a command said that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long that took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}
