//! The outcome of a task, as the store keeps it.

use serde::{Deserialize, Serialize};

use base::hash::Sha256;

/// The kinds of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Files changed, and the change is verified.
    Changed,
    /// There was nothing to do.
    Nothing,
    /// The run waits for a confirmation.
    Waits,
    /// The run failed, and its changes were undone; or the repository could not be cloned.
    Failed,
}

impl Kind {
    /// Its words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Changed => "changed",
            Kind::Nothing => "nothing to do",
            Kind::Waits => "waits",
            Kind::Failed => "failed",
        }
    }
}

/// An error of a task, without what differs from machine to machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The code.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// The place in the script: its file and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// The outcome of a task. The same task has the same outcome wherever it is done, but for `volatile`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The task.
    pub task: Sha256,
    /// Its kind.
    pub kind: Kind,
    /// The exit code of its run.
    pub exit_code: u8,
    /// Why it failed or waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// How many files it changed.
    pub files_changed: usize,
    /// How many lines it added and removed.
    pub diff_lines: u64,
    /// The hash of its patch; none if it changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Sha256>,
    /// The hash of the run's record in its canonical form; none if no run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<Sha256>,
    /// The part that differs from attempt to attempt.
    pub volatile: Volatile,
}

/// The part of an outcome that differs from attempt to attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volatile {
    /// The number of the attempt, under which the store has its objects.
    pub attempt: u32,
    /// The run; none if none began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The folder in which it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The hash of the exported record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Sha256>,
    /// The hash of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Sha256>,
    /// How long it took with the clone, in milliseconds.
    pub duration_ms: u64,
}

impl Outcome {
    /// True if another outcome says the same but for what differs from attempt to attempt.
    pub fn agrees(&self, other: &Outcome) -> bool {
        Outcome { volatile: self.volatile.clone(), ..other.clone() } == *self
    }
}
