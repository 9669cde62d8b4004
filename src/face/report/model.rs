//! What a report says, as plain data. Texts are as the record has them, without secrets; whoever shows them escapes them.

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
    /// What ran: a script's path, an adapter, a program's name for it, or the run that was rolled back.
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
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<Waiting>,
    /// How long it took, all sessions together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What was asked, as the record has it, with hashes in place of sources.
    pub asked: Value,
    /// The same for people, with the circumstances: seed, flags, version, commit, policy.
    pub facts: Vec<Fact>,
    /// The processes that the run had, one after the other.
    pub sessions: Vec<Session>,
    /// What gates said that is not plain permission.
    pub decisions: Vec<Decision>,
    /// What was to be confirmed, and who did.
    pub confirmations: Vec<Confirmation>,
    /// What a dry run would have asked.
    pub would_ask: Vec<String>,
    /// Counts before and after, and what the verifier checked.
    pub verifications: Vec<Verification>,
    /// What it committed to.
    pub commitments: Vec<Commitment>,
    /// What was asked of the finished run.
    pub evaluations: Vec<Evaluation>,
    /// The script's own numbers.
    pub metrics: BTreeMap<String, Value>,
    /// The files with their diffs.
    pub changes: Changes,
    /// Calls whose effects lie outside of the workspace.
    pub outside: Vec<Outside>,
    /// Who replied to requests to language models.
    pub models: Vec<Asked>,
    /// What was spent of each budget.
    pub budget: Vec<Spent>,
    /// What happened, in its order.
    pub timeline: Vec<Row>,
    /// What can be done now.
    pub next: Vec<Command>,
    /// What the record no longer holds or never did.
    pub missing: Vec<String>,
    /// How many events the record has.
    pub records: usize,
    /// True if the record is what was written, up to its known end.
    pub sound: bool,
    /// What is wrong with it.
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

/// Why a run did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The error's code.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Script, line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The last lines that a command said that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// What a suspended run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The confirmation.
    pub id: String,
    /// What is asked.
    pub label: String,
    /// Until when it can be granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
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
    /// What it began with, such as an approval.
    pub remarks: Vec<String>,
}

/// What a gate said.
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
    /// What would satisfy it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

/// Something that was to be confirmed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// Its name in the run.
    pub id: String,
    /// What was asked.
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
    /// What it is bound to: the hash of the change or value.
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

/// What an adapter counted and its verifier found.
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
    /// What was checked.
    pub checks: Vec<Check>,
    /// What was found.
    pub failures: Vec<Failure>,
    /// Sentences about what is no failure.
    pub remarks: Vec<String>,
}

/// A row of counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// What is counted.
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

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The check.
    pub check: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is wrong.
    pub reason: String,
}

/// Something that the run committed to, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commitment {
    /// Its name in the run.
    pub id: String,
    /// Who made it: `policy`, `plan`, `program` or `script`.
    pub source: String,
    /// What holds, in words.
    pub description: String,
    /// Whether it held when it was last looked at; none if nobody has looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// What was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last lines that its command said, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long that took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What an evaluator said of the finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// The evaluator.
    pub evaluator: String,
    /// Whether it passed; none if it only measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// What it measured.
    pub value: String,
    /// What was allowed.
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

/// What became of a change.
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
    /// What became of it.
    pub fate: Fate,
    /// `created`, `removed` or another word if it is not just its lines that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// What of the diff is shown.
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

/// What a line of a diff does.
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
    /// What it does.
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
    /// What of the text is different from its counterpart, in bytes.
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
    /// What was called.
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
    /// What recorded replies are marked as, such as `authored`.
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
    /// What they cost, in millionths.
    pub cost: u64,
}

/// A budget and what was spent of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// The budget, as policies name it.
    pub name: String,
    /// What was spent.
    pub used: f64,
    /// What might have been.
    pub limit: f64,
}

/// What a row of the timeline is about.
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
    /// What it is about.
    pub kind: RowKind,
    /// When.
    pub at: String,
    /// Where in the run.
    pub position: String,
    /// What happened.
    pub what: String,
    /// What is to be known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The last lines that a command said that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// What it cost.
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
    /// What it does.
    pub what: String,
    /// The command.
    pub command: String,
}
