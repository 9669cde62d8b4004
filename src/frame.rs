//! What travels between the host and a script's process: one JSON frame a line, each way.
//!
//! The name `invoke` is kept for functions of a script that the host calls; nothing else may take it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::Call,
    error::{Error, Location},
};

/// Frame names that a later version uses.
pub const RESERVED: &[&str] = &["invoke"];

/// What the host sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToWorker {
    /// The first frame: the limits that the worker puts on itself before it reads anything else.
    Hello {
        /// The limits.
        limits: Limits,
    },
    /// Parse a script or module and say what is in it; nothing runs.
    Inspect {
        /// The source's path.
        path: String,
        /// Its text.
        source: String,
        /// True for the script itself, which may have a header; false for a module.
        main: bool,
    },
    /// Run the script. Everything that it imports is in `sources`.
    Run(RunRequest),
    /// The answer to a call.
    Reply {
        /// The call's id.
        id: u64,
        /// What the host said.
        outcome: Outcome,
    },
    /// Stop as soon as possible.
    Cancel {},
}

/// A script to run, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The script's path in `sources`.
    pub main: String,
    /// Path to text of the script and of every module in its import graph.
    pub sources: BTreeMap<String, String>,
    /// Importing path and literal to imported path: what each `import` in each source means.
    pub imports: BTreeMap<String, BTreeMap<String, String>>,
    /// The checked arguments.
    pub args: Value,
    /// The run's id, `nrv.run.id`.
    pub run: String,
    /// The run's seed, `nrv.run.seed`.
    pub seed: u64,
    /// `dry-run` or `apply`, `nrv.run.mode`.
    pub mode: String,
}

/// What a script's process may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Engine operations in all.
    pub operations: u64,
    /// Bytes of address space beyond what the process starts with.
    pub memory: u64,
    /// Seconds of processor time.
    pub cpu_s: u64,
    /// Nested function calls.
    pub call_depth: usize,
    /// Bytes of a string; none: bounded by `memory` only.
    pub string: Option<usize>,
    /// Items of an array; none: bounded by `memory` only.
    pub array: Option<usize>,
    /// Entries of a map; none: bounded by `memory` only.
    pub map: Option<usize>,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The reply's value.
    Ok(Value),
    /// Why there is none.
    Error(Error),
}

/// What the worker sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromWorker {
    /// The worker is locked down and listens.
    Ready {
        /// What it is locked down with.
        isolation: Isolation,
    },
    /// What an inspected source holds.
    Inspected(Inspection),
    /// The script asks the host for something.
    Call {
        /// Counts from 1.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// What it asks.
        call: Call,
    },
    /// The script asks the host for a stream; the reply has its number.
    Open {
        /// Counts with those of calls.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// What it asks.
        call: Call,
    },
    /// The script waits for events of a stream; the reply is a list of all that are there, empty after the last.
    Next {
        /// Counts with those of calls.
        id: u64,
        /// The stream.
        stream: u64,
    },
    /// The script needs no more events of a stream.
    Close {
        /// Counts with those of calls.
        id: u64,
        /// The stream.
        stream: u64,
        /// How many of its events the script has seen.
        taken: u64,
    },
    /// The script printed a line.
    Print {
        /// The line.
        text: String,
    },
    /// The script ended; its last expression.
    Done {
        /// The result.
        result: Value,
    },
    /// The script did not end well.
    Failed {
        /// Why, with the place.
        error: Error,
    },
}

/// What keeps the worker in its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// True if Landlock denies every file.
    pub landlock: bool,
    /// True if seccomp allows only what a computation needs.
    pub seccomp: bool,
    /// What is missing, and what that means; empty if nothing is.
    pub missing: Vec<String>,
}

/// What a source holds, found without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// The source's path.
    pub path: String,
    /// The `//!` lines at its head.
    pub doc: Option<String>,
    /// The literal `WORKFLOW`, as JSON; none if there is none.
    pub header: Option<Value>,
    /// Every `import`, in the order of the text.
    pub imports: Vec<Import>,
    /// Every call that needs a permission of the header, in the order of the text.
    #[serde(default)]
    pub uses: Vec<Use>,
    /// What is likely not meant so; it can run.
    #[serde(default)]
    pub warnings: Vec<Error>,
    /// Everything wrong with it; empty if it can run.
    pub errors: Vec<Error>,
}

/// A call that needs a permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// The list of `permissions` that has to cover it: `calls`, `exec`, `llm`, `network` or `write`.
    pub permission: String,
    /// The path, program, provider, host or name, if it is written there.
    pub value: Option<String>,
    /// The call, such as `nrv.apply.create`.
    pub call: String,
    /// Where.
    pub at: Location,
}

/// An `import` with a literal path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// What is written.
    pub literal: String,
    /// Where.
    pub at: Location,
}
