//! The objects of a task in the store: those of each attempt, and the one that says which attempt stands.

use serde::Serialize;

use super::{
    outcome::{Kind, Outcome},
    plan::Head,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
};
use system::{plain_file::LONGEST, store::Store};

/// The folder of keys of tasks that are done.
pub(super) const DONE: &str = "done";

/// The size limit of claims, outcomes and deliveries, in bytes.
pub(super) const SHORT: u64 = 1 << 20;

/// The folder of keys of claims.
pub(super) const CLAIMS: &str = "claims";

/// The objects of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Record,
    Patch,
    Report,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Record => "record",
            Part::Patch => "patch",
            Part::Report => "report",
        }
    }
}

/// Writes an object of an attempt; its hash.
pub(super) fn put(store: &Store, task: Sha256, attempt: u32, part: Part, bytes: &[u8]) -> Result<Sha256, Error> {
    let key = key(task, attempt, part);
    if !store.create(&key, bytes)? && store.get(&key, LONGEST)?.as_deref() != Some(bytes) {
        return Err(Error::new(Code::Temporary, format!("the store has another `{key}` already")));
    }
    Ok(Sha256::of(bytes))
}

/// The object of an attempt that stands, with the hash that the outcome gives.
///
/// `record_damaged` if it is missing or another one.
pub(super) fn part(store: &Store, outcome: &Outcome, part: Part, sha256: Sha256) -> Result<Vec<u8>, Error> {
    let key = key(outcome.task, outcome.volatile.attempt, part);
    let bytes = store.get(&key, LONGEST)?.filter(|bytes| Sha256::of(bytes) == sha256);
    bytes.ok_or_else(|| {
        Error::new(Code::RecordDamaged, format!("the object `{key}` of the store is not what its worker wrote"))
            .hint("somebody else writes to the store; work the task again with another store")
    })
}

/// Makes an attempt the one that stands; false if another one stands already.
pub(super) fn finish(store: &Store, outcome: &Outcome) -> Result<bool, Error> {
    store.create(&done(outcome.task), text(outcome)?.as_bytes())
}

/// The outcome of a task; none if it is not done.
pub(super) fn outcome(store: &Store, task: Sha256) -> Result<Option<Outcome>, Error> {
    let Some(bytes) = store.get(&done(task), SHORT)? else { return Ok(None) };
    let outcome: Option<Outcome> = serde_json::from_slice(&bytes).ok();
    match outcome.filter(|outcome| outcome.task == task) {
        Some(outcome) => Ok(Some(outcome)),
        None => Err(Error::new(Code::RecordDamaged, format!("the object `{}` is no outcome of its task", done(task)))
            .hint("somebody else writes to the store")),
    }
}

/// Notes that a task of a plan has failed. A bound that the plan gets later counts it, too.
pub(super) fn note(store: &Store, head: &Head, outcome: &Outcome) -> Result<(), Error> {
    match (failed(head), outcome.kind) {
        (Some(folder), Kind::Failed) => store.create(&format!("{folder}/{}", outcome.task), b"").map(drop),
        _ => Ok(()),
    }
}

/// An error if more tasks of a plan have failed than may.
///
/// Workers that begin at the same time see the same number: as many tasks more can fail as there are workers.
pub(super) fn check_failures(store: &Store, head: &Head) -> Result<(), Error> {
    let (Some(most), Some(folder)) = (head.max_failures, failed(head)) else { return Ok(()) };
    let found = store.list(&folder)?.len();
    if found <= most {
        return Ok(());
    }
    let message = format!("the fleet has stopped: {found} of its tasks have failed, and `max_failures` is {most}");
    Err(Error::new(Code::BudgetExhausted, message)
        .hint("`nrv fleet collect` tells why they failed; plan with a larger `max_failures` to go on"))
}

/// The folder of keys of tasks that failed, of plans with the same tasks.
fn failed(head: &Head) -> Option<String> {
    head.set.map(|set| format!("failed/{set}"))
}

fn text(value: &impl Serialize) -> Result<String, Error> {
    Ok(json::canonical(value)? + "\n")
}

fn done(task: Sha256) -> String {
    format!("{DONE}/{task}")
}

fn key(task: Sha256, attempt: u32, part: Part) -> String {
    format!("results/{task}-{attempt}/{}", part.name())
}
