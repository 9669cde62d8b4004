//! The content of a report as plain data. Texts are those of the record without secrets. Whoever shows them has to escape them.

use std::{collections::BTreeMap, ops::Range};

use serde::Serialize;
use serde_json::Value;

/// The report of one run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The form of this document.
    pub format: u32,
    /// The run.
    pub run: String,
    /// The subject of the run: a script's path, an adapter, a program's name for it, or the run that was rolled back.
    pub subject: String,
    /// `dry-run` or `apply`.
    pub mode: String,
    /// `running`, or how it ended.
    pub state: String,
    /// When it started.
    pub started: String,
    /// How it ended, in one sentence.
    pub sentence: String,
    /// The exit code; none while it runs and after a crash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u64>,
    /// Why it did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Trouble>,
    /// The confirmation that a suspended run waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<Waiting>,
    /// How long it took, all sessions together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The request of the run, as the record has it, with hashes in place of sources.
    pub asked: Value,
    /// The same for people, with the circumstances: seed, flags, version, commit, policy.
    pub facts: Vec<Fact>,
    /// The processes that the run had, one after the other.
    pub sessions: Vec<Session>,
    /// The decisions of gates other than `allow`.
    pub decisions: Vec<Decision>,
    /// The confirmations that the run asked for, with the answers.
    pub confirmations: Vec<Confirmation>,
    /// The labels of the confirmations that a dry run would have asked for.
    pub would_ask: Vec<String>,
    /// Counts before and after, and what the verifier checked.
    pub verifications: Vec<Verification>,
    /// The files that no proposal read, sorted by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// The commitments of the run.
    pub commitments: Vec<Commitment>,
    /// The agents of the run, in the order in which they were summoned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Worker>,
    /// The results of the evaluators of the finished run.
    pub evaluations: Vec<Evaluation>,
    /// The script's own numbers.
    pub metrics: BTreeMap<String, Value>,
    /// The files with their diffs.
    pub changes: Changes,
    /// Calls whose effects lie outside of the workspace.
    pub outside: Vec<Outside>,
    /// Who replied to requests to language models.
    pub models: Vec<Asked>,
    /// The amount spent of each budget that has a limit.
    pub budget: Vec<Spent>,
    /// The sessions, calls and events of the run, in the order of the record.
    pub timeline: Vec<Row>,
    /// The commands for the next step.
    pub next: Vec<Command>,
    /// Sentences about the parts that the record lacks.
    pub missing: Vec<String>,
    /// How many events the record has.
    pub records: usize,
    /// True if the record is intact up to its known end.
    pub sound: bool,
    /// The findings of the verification of the record, a sentence each.
    pub findings: Vec<String>,
}

impl Report {
    /// The commands with which a suspended run goes on.
    pub(super) fn ways_on(&self) -> impl Iterator<Item = &Command> {
        self.next.iter().filter(|next| self.state == "suspended" && next.command.starts_with("nrv resume "))
    }
}

/// A name and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value as text.
    pub value: String,
}

/// A file that an adapter could not read as its format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Its path.
    pub path: String,
    /// Why it was not read.
    pub reason: String,
}

/// Why a run did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The error's code.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// Advice on what to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Script, line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The last lines that a command said that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// The confirmation that a suspended run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The confirmation.
    pub id: String,
    /// The label of the confirmation.
    pub label: String,
    /// Until when it can be granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// An agent of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// Its state, such as `done`.
    pub state: String,
    /// Its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignment: Option<String>,
    /// The name of the agent that has summoned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How many commitments it has.
    pub commitments: usize,
    /// How many calls it has made.
    pub calls: u64,
}

/// A process of the run, from its start to its stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// When it began.
    pub from: String,
    /// When it stopped, if the record says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How it stopped; none if it is going on or died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Remarks on its start, such as an approval.
    pub remarks: Vec<String>,
}

/// A decision of a gate other than `allow`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Where in the run; empty if the record does not say.
    pub position: String,
    /// `warn`, `require-confirmation` or `block`.
    pub decision: String,
    /// The gate.
    pub gate: String,
    /// Why.
    pub reason: String,
    /// Advice on how to satisfy the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

/// Something that was to be confirmed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// Its name in the run.
    pub id: String,
    /// The label of the confirmation.
    pub label: String,
    /// `pending`, `granted`, `used` or `refused`.
    pub status: String,
    /// Where in the run.
    pub position: String,
    /// When that was settled, or asked if it was not.
    pub at: String,
    /// Who granted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, in their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How they showed who they are; none if nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_by: Option<String>,
    /// The subject that it is bound to: the hash of the change or value.
    pub subject: String,
    /// The hash of the patch that was shown.
    pub patch_sha256: String,
    /// The policy under which it was asked.
    pub policy_sha256: String,
    /// How many files it covers.
    pub files: usize,
    /// Until when it could be granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// The counts and checks of an adapter's change, or of all changes by `apply`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Where in the run.
    pub position: String,
    /// The adapter, or `apply`.
    pub tool: String,
    /// True if nothing was written.
    pub dry: bool,
    /// True if it passed.
    pub passed: bool,
    /// Counts before and after.
    pub counts: Vec<Count>,
    /// The checks that were made.
    pub checks: Vec<Check>,
    /// The failures that the checks found.
    pub failures: Vec<Failure>,
    /// Sentences about what is no failure.
    pub remarks: Vec<String>,
}

/// A row of counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The name of the count.
    pub name: String,
    /// Before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// After it, as the verifier counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// A check of a verifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// False if it found something.
    pub passed: bool,
}

/// A failure that a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The check.
    pub check: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The description of the failure.
    pub reason: String,
}

/// Something that the run committed to, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commitment {
    /// Its name in the run.
    pub id: String,
    /// Who made it: `policy`, `plan`, `program` or `script`.
    pub source: String,
    /// The condition that has to hold, in words.
    pub description: String,
    /// The result of the last check: true if the condition held. None if it was never checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The reason for the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last lines that its command said, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long that took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// The result of an evaluator of the finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// The evaluator.
    pub evaluator: String,
    /// True if the run passed, false if it failed. None if the evaluator only measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// The measured value.
    pub value: String,
    /// The limit of the value; empty if there is none.
    pub limit: String,
    /// More about it.
    pub details: String,
}

/// The files that a run changed, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Lines added, in all files.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The files, by transaction and path. One that was changed twice is there twice.
    pub files: Vec<Change>,
}

/// The outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It stands.
    Changed,
    /// It was made and undone.
    Undone,
    /// A dry run would make it.
    WouldChange,
    /// It was proposed and not made.
    Proposed,
    /// The file was brought back to what it was before another run, or before a crash.
    BroughtBack,
    /// It was made inside an attempt, and waits until the run goes on.
    SetAside,
}

impl Fate {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Fate::Changed => "changed",
            Fate::Undone => "undone",
            Fate::WouldChange => "would change",
            Fate::Proposed => "proposed",
            Fate::BroughtBack => "brought back",
            Fate::SetAside => "set aside",
        }
    }
}

/// One file of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The file.
    pub path: String,
    /// Where in the run.
    pub position: String,
    /// The transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// The outcome of the change.
    pub fate: Fate,
    /// `created`, `removed` or another word if it is not just its lines that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The hunks of the diff that are shown.
    pub hunks: Vec<Hunk>,
    /// How many lines of it are not.
    pub left_out: u64,
    /// Why there is no diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A hunk of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its header.
    pub header: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// The kind of a line of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is on both sides.
    Same,
    /// It is only in the new file.
    Added,
    /// It was only in the old file.
    Removed,
    /// It says something about the line before.
    Remark,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The kind of the line.
    pub kind: Kind,
    /// Its number in the old file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<u64>,
    /// Its number in the new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<u64>,
    /// Its text, cut if it is very long.
    pub text: String,
    /// How many characters were cut off.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: usize,
    /// The byte ranges of the text that differ from the counterpart.
    #[serde(skip)]
    pub marks: Vec<Range<usize>>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A call whose effects lie outside of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// Where in the run.
    pub position: String,
    /// The name of the call.
    pub call: String,
    /// With what, shortened.
    pub args: String,
    /// The error's code if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A language model that was asked, or a record of its replies, with all requests together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The provider, as the policy names it.
    pub provider: String,
    /// The model that replied; of requests without a reply, the one that was asked.
    pub model: String,
    /// The label of recorded replies, such as `authored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// True if the replies were recorded before, so that no model was asked.
    pub recorded: bool,
    /// How many requests there were.
    pub requests: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Tokens that they took of the budget.
    pub tokens: u64,
    /// The cost of the requests, in millionths.
    pub cost: u64,
}

/// A budget and what was spent of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// The budget, as policies name it.
    pub name: String,
    /// The amount that was spent.
    pub used: f64,
    /// The limit of the budget.
    pub limit: f64,
}

/// The kind of a row of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// The run began, went on or stopped.
    Session,
    /// A call.
    Call,
    /// Several calls in a row with nothing to be said of them.
    Calls,
    /// Something that the host did.
    Event,
    /// Rows that are left out.
    More,
}

/// A row of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The kind of the row.
    pub kind: RowKind,
    /// When.
    pub at: String,
    /// Where in the run.
    pub position: String,
    /// The name of a call, or a phrase about an event.
    pub what: String,
    /// Details, such as the subject of a call and the decision on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The last lines that a command said that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The cost in words, such as `2 files, 30 diff lines`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// True if it failed.
    pub failed: bool,
}

/// A command, and what it is good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    /// The purpose of the command.
    pub what: String,
    /// The command.
    pub command: String,
}
