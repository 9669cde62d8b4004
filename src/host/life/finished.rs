//! The outcome of a run that came to its end.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{left::Left, pre_images::standing_transactions};
use crate::{Commitment, Preview, Tape};
use base::{change::Stamp, error::Error, path::RepoPath, text::counted};
use record::{
    Record,
    event::{Evaluation, Event, Question, State},
};

/// The result of a run that has ended or is suspended.
#[derive(Clone, Debug, Serialize)]
pub struct Finished {
    /// The run.
    pub run: String,
    /// How it ended.
    pub state: State,
    /// The value of the script's last expression, or the adapter's output; null if it failed.
    pub result: Value,
    /// Why it did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// `dry-run` or `apply`.
    pub mode: String,
    /// How many files it changed, or would change in a dry run.
    pub files_changed: usize,
    /// Lines that it added and removed, or would.
    pub diff_lines: u64,
    /// The adapters whose verifiers passed changes of the run that stand, sorted; all other files were read back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verified_by: Vec<Verified>,
    /// The outcome of a run that is done, if it is no change; none for a run without adapters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The places and files that the adapters left.
    #[serde(flatten)]
    pub left: Left,
    /// How many files were brought back, by steps that failed or in the end.
    pub undone: usize,
    /// How many files of an open attempt were set aside until the run goes on.
    #[serde(skip_serializing_if = "is_zero")]
    pub set_aside: usize,
    /// The path of a dry run's patch, relative to the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// True if that patch has lost secrets, so that nothing can apply it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub patch_redacted: bool,
    /// The secrets that the change adds, for which its patch is not whole: `path`, `line`, `rule`, and the row of
    /// `gates.secrets.allow` that would permit it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Value>,
    /// The questions that a dry run would have asked.
    pub would_ask: Vec<Question>,
    /// The commitments of the run, each with its last result.
    pub commitments: Vec<Commitment>,
    /// The evaluations of the run as a whole; empty if the run goes on later.
    pub evaluations: Vec<Evaluation>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Replies of language models that were recorded, for whoever keeps them.
    #[serde(skip)]
    pub cassettes: Option<Tape>,
    /// The change that a dry run proposes, from which a plan is made.
    #[serde(skip)]
    pub preview: Option<Preview>,
}

pub(super) fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// The outcome of a run that is done, if it is no change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Adapters looked, none found anything to do, and no file changed.
    NoMatch,
}

/// The outcome of a run in that state with that number of changed files, by the records of its adapters.
pub fn outcome(state: State, files_changed: usize, records: &[Record]) -> Option<Outcome> {
    let mut proposed = records.iter().filter_map(|record| match &record.event {
        Event::DtaProposed(proposed) => Some(proposed.no_match),
        _ => None,
    });
    let is_settled = state == State::Done && files_changed == 0;
    let first = proposed.next().filter(|_| is_settled)?;
    (first && proposed.all(|no_match| no_match)).then_some(Outcome::NoMatch)
}

/// Files whose last change that stands is an adapter's, which its verifier passed: another change would be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The adapter.
    pub tool: String,
    /// How many files.
    pub files: usize,
}

/// The adapters that made the last changes of files, by the records of a run's transactions and adapters; sorted.
pub fn verified_by(records: &[Record]) -> Vec<Verified> {
    let standing = standing_transactions(records);
    let mut last: BTreeMap<&RepoPath, (Option<Stamp>, Option<Stamp>, &str)> = BTreeMap::new();
    for one in &standing {
        for entry in &one.entries {
            let before = last.get(&entry.path).map_or(entry.before, |(before, ..)| *before);
            last.insert(&entry.path, (before, entry.after, &one.transaction));
        }
    }
    let of_adapters: BTreeMap<&str, &str> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::DtaApplied(applied) => Some((applied.transaction.as_deref()?, applied.tool.as_str())),
            _ => None,
        })
        .collect();
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, _, transaction) in last.values().filter(|(before, after, _)| before != after) {
        if let Some(tool) = of_adapters.get(transaction) {
            *files.entry(tool).or_default() += 1;
        }
    }
    files.into_iter().map(|(tool, files)| Verified { tool: tool.to_owned(), files }).collect()
}

impl Finished {
    /// Summarizes the outcome in one sentence for people.
    pub fn sentence(&self) -> String {
        let files = |n: usize| counted(n, "file");
        if self.error.as_ref().is_some_and(|error| error.details().contains_key("undo_error")) {
            return "The run failed, and its changes could not all be undone.".to_owned();
        }
        match (self.state, self.mode.as_str()) {
            (State::Failed, "dry-run") if self.is_evaluated() => {
                "The dry run came to its end, and failed as a whole; nothing was written.".to_owned()
            }
            (
                State::Failed | State::Cancelled | State::Interrupted | State::Suspended | State::UndoRefused,
                "dry-run",
            ) => "The dry run did not come to its end; nothing was written.".to_owned(),
            (State::Done, mode) if self.outcome == Some(Outcome::NoMatch) => {
                let done = if mode == "dry-run" { "Nothing would change" } else { "Nothing was changed" };
                format!("No match. {done}{}.", self.left())
            }
            (State::Done, "dry-run") if self.files_changed == 0 => "Nothing would change.".to_owned(),
            (State::Done, "dry-run") => {
                let lines = counted(self.diff_lines, "line");
                format!("{} would change ({lines}){}; nothing was written.", files(self.files_changed), self.left())
            }
            (State::Done, _) if self.files_changed == 0 => "Nothing was changed.".to_owned(),
            (State::Done, _) => format!("{}.", self.changed()),
            (State::Suspended, _) if self.set_aside > 0 => format!(
                "The run is suspended inside an attempt, whose changes ({}) are set aside until it goes on; others stay.",
                files(self.set_aside)
            ),
            (State::Suspended, _) if self.files_changed == 0 => {
                "The run is suspended; nothing was changed yet.".to_owned()
            }
            (State::Suspended, _) => "The run is suspended; its changes so far stay.".to_owned(),
            (State::Failed, _) if self.files_changed > 0 && self.is_evaluated() => {
                format!("{}; they stay, although the run failed.", self.changed())
            }
            (State::UndoRefused, _) => "The run failed and was not undone, to keep later work.".to_owned(),
            // Whatever stays, an attempt or a step of it may have been taken back.
            (State::Failed | State::Cancelled | State::Interrupted, _) if self.files_changed > 0 => {
                format!("The changes of {} were kept.", files(self.files_changed))
            }
            (State::Failed | State::Cancelled | State::Interrupted, _) if self.undone > 0 => {
                format!("The run was undone: {} brought back.", files(self.undone))
            }
            (State::Failed | State::Cancelled | State::Interrupted, _) => "Nothing was changed.".to_owned(),
        }
    }

    /// The files that were changed, and who checked them: every file is read back, and those of adapters are verified.
    fn changed(&self) -> String {
        let all = counted(self.files_changed, "file");
        let verified: usize = self.verified_by.iter().map(|one| one.files).sum();
        let tools: Vec<&str> = self.verified_by.iter().map(|one| one.tool.as_str()).collect();
        let left = self.left();
        let tools = match tools.as_slice() {
            [] => return format!("{all} changed and read back"),
            [one] => (*one).to_owned(),
            [others @ .., last] => format!("{} and {last}", others.join(", ")),
        };
        match verified < self.files_changed {
            true => format!("{all} changed, {verified} of them verified by {tools}, the others read back{left}"),
            false => format!("{all} changed and verified by {tools}{left}"),
        }
    }

    /// The end of a sentence about changes: the number of places and files that were left.
    fn left(&self) -> String {
        self.left.words().map_or_else(String::new, |left| format!("; left: {left}"))
    }

    /// True if an evaluator failed the run, and nothing else did.
    fn is_evaluated(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.details().contains_key("evaluators"))
    }

    /// The exit code of a command that ends with this run.
    pub fn exit_code(&self) -> u8 {
        self.error.as_ref().map_or(0, |error| error.code().exit_code())
    }
}
