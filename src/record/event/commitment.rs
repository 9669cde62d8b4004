//! Events of commitments: made, and looked at.

use serde::{Deserialize, Serialize};

use super::{command::Ran, parts::Stored};

/// Who made a commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    /// The policy, of every run.
    Policy,
    /// A plan of diffs that was applied.
    Plan,
    /// The program that embeds nrv.
    Program,
    /// The script.
    Script,
}

/// A commitment was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitmentMade {
    /// Its name in the run, such as `k1`.
    pub id: String,
    /// Who made it.
    pub source: Maker,
    /// The condition that has to hold, in words.
    pub description: String,
    /// The assertion that is checked.
    #[serde(default)]
    pub assertion: Stored,
    /// How long looking may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The agent that made it; none if it is the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The files with which `tree_unchanged` compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Stored>,
}

/// A commitment was looked at. Of several for one id the last counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommitmentVerified {
    /// The commitment.
    pub id: String,
    /// True if it holds.
    pub ok: bool,
    /// The reason for the result.
    pub reason: String,
    /// The data that differs from run to run.
    #[serde(skip)]
    pub volatile: SeenTimes,
}

/// How looking at a commitment went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeenTimes {
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The end of what a command said that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How a command ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<Ran>,
}

super::plain!(CommitmentMade);
super::with_volatile!(CommitmentVerified);
