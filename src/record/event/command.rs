//! Events of commands: started and ended.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::parts::Free;
use base::hash::Sha256;
use system::process::sandbox::Bound;

pub use system::process::sandbox::Confinement;

/// A command is started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecStarted {
    /// True if it can have no effect but on the files that it may write.
    pub repeatable: bool,
    /// The data that differs from machine to machine.
    #[serde(skip)]
    pub volatile: Confined,
}

/// Which program runs, and what confines it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Confined {
    /// The program; none only where a record does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// The confinement of the program.
    pub confinement: Confinement,
}

/// A program as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its hash.
    pub sha256: Sha256,
}

/// A command ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecEnded {
    /// The exit code, if it exited.
    pub status: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// True if it took too long and was ended.
    pub timed_out: bool,
    /// True if it was ended since the run was cancelled.
    pub cancelled: bool,
    /// How many files it changed.
    pub changed: u64,
    /// Files in scratch whose set-id bits were cleared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_id_cleared: Vec<String>,
    /// Files in scratch whose set-id bits can't be cleared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_id_left: Vec<String>,
    /// The bound for which it was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<Bound>,
    /// The data that differs from run to run.
    #[serde(skip)]
    pub volatile: ExecTimes,
}

/// The resources that a command took, and its output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecTimes {
    /// How long it took.
    pub duration_ms: u64,
    /// Processor time.
    pub cpu_ms: u64,
    /// The most memory that it had at once.
    pub peak_bytes: u64,
    /// The standard output.
    pub stdout: Output,
    /// The standard error.
    pub stderr: Output,
    /// The confinement of the command.
    pub confinement: Confinement,
    /// The end of what it said, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl ExecTimes {
    /// The parts of the command's reply that differ each time.
    pub fn reply(&self) -> Free {
        let ExecTimes { duration_ms, cpu_ms, peak_bytes, .. } = self;
        Free(serde_json::json!({"duration_ms": duration_ms, "cpu_ms": cpu_ms, "peak_bytes": peak_bytes}))
    }
}

/// The size and the hash of one output stream of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// How many bytes.
    pub length: u64,
    /// The hash of all of them, if it is known.
    pub sha256: Option<Sha256>,
    /// How many are in the record.
    pub stored: u64,
}

/// How the command of a commitment ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// The program.
    pub program: Program,
    /// The confinement of the command.
    pub confinement: Confinement,
    /// Files in scratch whose set-id bits were cleared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_id_cleared: Vec<String>,
    /// Files in scratch whose set-id bits can't be cleared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_id_left: Vec<String>,
}

super::with_volatile!(ExecStarted, ExecEnded);
