//! Events of a run itself: started, resumed, ended, and the texts of a session.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::parts::{Free, Shown, Stored, is_false, is_zero};
use base::{error::Error, frame::Isolation, hash::Sha256, micro::Tool, named::named, verdict::GateResult};

/// The run started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The work of the run, with hashes in place of sources.
    pub asked: Asked,
    /// The seed of everything that is chosen by chance.
    #[serde(default)]
    pub seed: u64,
    /// The flags of the user.
    #[serde(default)]
    pub flags: Flags,
    /// `dry-run` or `apply`.
    #[serde(default)]
    pub mode: String,
    /// The policy.
    pub policy_sha256: Shown<Sha256>,
    /// The version of nrv.
    #[serde(default)]
    pub version: String,
    /// The data that differs from machine to machine.
    #[serde(skip)]
    pub volatile: Place,
}

/// Where a session was begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// The commit; none without git or before the first commit. A session that goes on does not say it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::parts::present")]
    pub git_head: Option<Option<String>>,
    /// The inodes of the workspace and of the run's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<[u64; 2]>,
}

/// The work of a run, with hashes in place of sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Asked {
    /// A script with everything that it imports.
    Script {
        /// The script's path.
        path: String,
        /// The hashes of its source and the modules', by path.
        #[serde(default)]
        sources: BTreeMap<String, Shown<Sha256>>,
        /// The checked arguments.
        #[serde(default)]
        args: Free,
    },
    /// One adapter.
    Adapter {
        /// Its name.
        tool: String,
        /// Its invocation.
        #[serde(default)]
        input: Free,
    },
    /// Texts that a person gives one after another.
    Session {
        /// The session's name.
        name: String,
    },
    /// Calls of the program that embeds nrv.
    Program {
        /// The program's name for the run.
        name: String,
    },
    /// Calls of a client of the Model Context Protocol.
    Client {
        /// The name and version that the client states.
        name: String,
    },
    /// Patches, or a plan of diffs, that a person applies.
    Patch {
        /// The inputs in their order.
        inputs: Vec<Input>,
    },
    /// One micro-edit that a person makes.
    Edit {
        /// The tool.
        tool: Tool,
        /// The file.
        path: String,
    },
    /// A change that was planned before.
    Planned {
        /// The plan.
        plan: Input,
    },
    /// Undoing another run.
    Rollback {
        /// That run.
        parent: String,
        /// True if files that changed since are left alone.
        #[serde(default)]
        keep_later: bool,
        /// The position of the change that is undone by itself; none if all of the run is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<String>,
    },
}

impl Asked {
    /// The name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Asked::Script { .. } => "script",
            Asked::Adapter { .. } => "adapter",
            Asked::Session { .. } => "session",
            Asked::Program { .. } => "program",
            Asked::Client { .. } => "client",
            Asked::Patch { .. } => "patch",
            Asked::Edit { .. } => "edit",
            Asked::Planned { .. } => "planned",
            Asked::Rollback { .. } => "rollback",
        }
    }

    /// Returns the subject of the run: its script, adapter, inputs, plan, or name, or the run that it rolled back.
    pub fn subject(&self) -> String {
        match self {
            Asked::Script { path, .. } => path.clone(),
            Asked::Adapter { tool, .. } => format!("dta {tool}"),
            Asked::Program { name } | Asked::Session { name } => name.clone(),
            Asked::Client { name } => format!("mcp {name}"),
            Asked::Patch { inputs } => {
                let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
                format!("apply {}", names.join(" "))
            }
            Asked::Edit { tool, path } => format!("edit {} {path}", tool.as_str()),
            Asked::Planned { plan } => format!("apply {}", plan.name),
            Asked::Rollback { parent, position: None, .. } => format!("rollback of {parent}"),
            Asked::Rollback { parent, position: Some(at), .. } => format!("rollback of {parent} at {at}"),
        }
    }
}

/// Something that a person gave to be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The name of its file; `-` for the standard input.
    pub name: String,
    /// The hash of its bytes.
    pub sha256: Sha256,
}

/// The flags with which a user starts a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flags {
    /// Propose and verify, change nothing.
    pub dry_run: bool,
    /// Answer the confirmations that policy lets a flag answer.
    pub yes: bool,
    /// Keep the changes of a run that fails.
    pub keep: bool,
    /// Start although the tree has uncommitted changes.
    pub allow_dirty: bool,
}

impl Flags {
    /// The flags that are set, by their names.
    pub fn given(self) -> impl Iterator<Item = &'static str> {
        let Flags { dry_run, yes, keep, allow_dirty } = self;
        let all = [("allow_dirty", allow_dirty), ("dry_run", dry_run), ("keep", keep), ("yes", yes)];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name)
    }
}

/// The script's process started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerStarted {
    /// The isolation of the process. It differs from machine to machine.
    pub isolation: Isolation,
}

impl super::Data for WorkerStarted {
    fn data(&self) -> Result<Value, serde_json::Error> {
        Ok(Value::Null)
    }

    fn volatile(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    fn read(_data: &str, volatile: Option<&str>) -> Result<Self, serde_json::Error> {
        volatile.map_or_else(|| Ok(WorkerStarted::default()), serde_json::from_str)
    }
}

/// The run goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResumed {
    /// The policy in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_sha256: Option<Shown<Sha256>>,
    /// True if the workspace's policy is not that of the start.
    #[serde(default)]
    pub policy_changed: bool,
    /// Reads that give something else now, and with which the run goes on.
    #[serde(default)]
    pub accepted_stale_reads: StaleReads,
    /// The version of the built-in rules; 0 in records of an earlier release.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rules: u64,
    /// The workspace's policy of that day, if it had changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_source: Option<Stored>,
    /// The confirmation that a person granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Ruling>,
    /// The confirmation that a person refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Ruling>,
    /// The data that differs from machine to machine.
    #[serde(skip)]
    pub volatile: Place,
}

/// A person's decision on a confirmation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ruling {
    /// The confirmation, such as `c1`.
    pub id: String,
    /// Who decides.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// Reads with which a run went on although they give something else now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StaleReads {
    /// Which.
    Reads(Vec<Shown<StaleRead>>),
    /// An earlier release says only whether there were any.
    Any(bool),
}

impl Default for StaleReads {
    fn default() -> Self {
        StaleReads::Reads(Vec::new())
    }
}

impl StaleReads {
    /// How many, as far as the record says.
    pub fn count(&self) -> u64 {
        match self {
            StaleReads::Reads(reads) => reads.len() as u64,
            StaleReads::Any(any) => u64::from(*any),
        }
    }
}

/// Something that a run read and that is otherwise now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleRead {
    /// A path, or the globs that were looked for.
    pub what: String,
    /// Where in the run.
    pub position: String,
}

/// A text of a session is about to be evaluated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputGiven {
    /// Its name, as places of errors have it.
    pub name: String,
    /// The text.
    pub text: String,
}

/// The text before it did not end well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputFailed {
    /// How it ended.
    pub error: Error,
}

named! {
    /// How a run ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum State {
        /// Everything was done and verified.
        Done = "done",
        /// It failed; its changes were undone, or kept on demand.
        Failed = "failed",
        /// It was cancelled; its changes were undone.
        Cancelled = "cancelled",
        /// It waits for a confirmation; its changes stay.
        Suspended = "suspended",
        /// It failed, and undoing its changes would have lost later work.
        UndoRefused = "undo_refused",
        /// Its process died.
        Interrupted = "interrupted",
    }
}

/// A session stopped by itself: the run is over, or waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// How.
    pub state: State,
    /// The exit code of the command.
    #[serde(default)]
    pub exit_code: Option<u64>,
    /// Why it did not end well.
    #[serde(default)]
    pub error: Option<Error>,
    /// The value of the script's last expression, or the adapter's output.
    #[serde(default)]
    pub result: Stored,
    /// How many files it changed, or would change.
    #[serde(default)]
    pub files_changed: u64,
    /// Lines added and removed.
    #[serde(default)]
    pub diff_lines: u64,
    /// How many files were brought back.
    #[serde(default)]
    pub undone: u64,
    /// The questions that an applying run would have asked.
    #[serde(default)]
    pub would_ask: Vec<Question>,
    /// The adapters that were used.
    #[serde(default)]
    pub tools: BTreeSet<String>,
    /// How many calls were made.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Metrics that the script gave, by name.
    #[serde(default)]
    pub metrics: BTreeMap<String, Free>,
    /// The results of gates that block, warn or require a confirmation.
    #[serde(default)]
    pub violations: Vec<Shown<GateResult>>,
    /// How many files of an open attempt are set aside.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub set_aside: u64,
    /// The numbers of kept and undone attempts; none if the run made no attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<AttemptCounts>,
    /// The statistics of the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// The results of the evaluators for the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluations: Option<Vec<Evaluation>>,
    /// The data that differs from run to run.
    #[serde(skip)]
    pub volatile: Duration,
}

impl RunEnd {
    /// True if what the run had changed was taken back when it failed.
    ///
    /// Files that only an attempt or a step gave back say nothing of that: the rest may have been kept.
    pub fn was_undone(&self) -> bool {
        self.state != State::Done && self.undone > 0 && self.files_changed == 0
    }
}

/// How long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Duration {
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A question that an applying run would have asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// The text of the question.
    pub label: String,
    /// The subject of the question.
    pub subject: String,
    /// True if nobody is asked, so that it would be refused.
    #[serde(skip_serializing_if = "is_false")]
    pub refused: bool,
}

/// How many attempts were kept, and how many undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptCounts {
    /// Kept.
    pub kept: u64,
    /// Undone.
    pub undone: u64,
}

/// Statistics of the changes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// Changes that were committed.
    pub committed: u64,
    /// Changes of one file each.
    pub modifications: u64,
    /// Those of at most five lines.
    pub small: u64,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Lines added that were changed, removed or rolled back later.
    pub reworked: u64,
}

/// The result of an evaluator for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The evaluator.
    pub evaluator: String,
    /// True if the run passed; none if there was nothing to judge, or there is no limit.
    pub passed: Option<bool>,
    /// The number that was measured or counted.
    #[serde(serialize_with = "shortest")]
    pub value: f64,
    /// The limit, if it is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// The numbers that it counted, and its first findings.
    pub details: Map<String, Value>,
}

impl Evaluation {
    /// True if nobody has to be told: there was nothing to look at, or nothing was found.
    pub fn is_trivial(&self) -> bool {
        self.passed != Some(false) && (self.passed.is_none() || self.value == 0.0)
    }

    /// Summarizes the evaluation in one line for people.
    pub fn sentence(&self) -> String {
        let number = |value: f64| format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned();
        let verdict = match self.passed {
            Some(true) => "passed",
            Some(false) => "FAILED",
            None => "not judged",
        };
        let limit = self.limit.map(|limit| format!(" of at most {}", number(limit))).unwrap_or_default();
        let named = self.details.get("found").and_then(Value::as_array).map(|found| {
            let found: Vec<&str> = found.iter().filter_map(Value::as_str).take(3).collect();
            format!(": {}", found.join(", "))
        });
        let counts: Vec<String> = self
            .details
            .iter()
            .filter_map(|(name, count)| Some(format!("{} {}", count.as_u64()?, name.replace('_', " "))))
            .collect();
        let counts = if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
        let named = base::text::escape(&named.unwrap_or_default());
        format!("{} {verdict}: {}{limit}{counts}{named}", self.evaluator, number(self.value))
    }
}

/// A whole number is written as one, as it is in records.
fn shortest<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "whole numbers up to there are exact")]
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => serializer.serialize_i64(*value as i64),
        false => serializer.serialize_f64(*value),
    }
}

/// The run's process had died, and its transactions were recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInterrupted {
    /// `interrupted`.
    pub state: State,
    /// True if nothing but the record said so.
    #[serde(default, skip_serializing_if = "is_false")]
    pub without_lease: bool,
}

super::plain!(InputGiven, InputFailed, RunInterrupted);
super::with_volatile!(RunStarted, RunResumed, RunEnd);
