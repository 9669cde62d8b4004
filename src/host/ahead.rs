//! Work of a graph's nodes that was done before their turn.

use std::{collections::BTreeMap, path::PathBuf};

use super::{Position, budget::Demand, change::freshness::Seen};
use adapter::contract::{Invocation, Proposal};
use base::{call::Run, error::Error, path::RepoPath};
use service::exec::Done;
use system::{
    policy::{self, Allowance},
    workspace::Overlay,
};

/// The work that was done before its turn, by the position of its call.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) commands: BTreeMap<String, (Order, Outcome)>,
    pub(super) proposals: BTreeMap<String, Early>,
}

/// A proposal that was made before its turn.
pub(super) struct Early {
    pub(super) invocation: Invocation,
    pub(super) proposal: Proposal,
    pub(super) seen: Seen,
    /// The number of the run's changes that stood then.
    pub(super) from: usize,
}

/// A command that has what it needs to run: its budget, its locks, and its intent in the record.
pub(super) struct Order {
    pub(super) run: Run,
    /// The position of its call.
    pub(super) position: Position,
    pub(super) allowance: Allowance,
    pub(super) settings: policy::Exec,
    pub(super) permitted: Vec<String>,
    pub(super) overlay: Overlay,
    /// The time limit that was asked for, in milliseconds.
    pub(super) timeout_ms: u64,
    pub(super) reserved: Demand,
    /// The path of its output in the run's folder, without the name of the stream.
    pub(super) output: String,
    pub(super) files: [PathBuf; 2],
}

/// The outcome of a command that was run.
pub(super) struct Outcome {
    pub(super) done: Result<Done, Error>,
    /// Its scratch folders, if nothing kept it from setting set-id bits there.
    pub(super) unfiltered: Vec<RepoPath>,
}
