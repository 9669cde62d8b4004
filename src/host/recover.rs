//! Recovery of runs whose process died: transactions undone or finished, the record closed.

use serde::Serialize;
use serde_json::json;

use super::{Context, State, commit::pack_files};
use crate::{
    error::{Code, Error},
    journal,
    ledger::{Chain, Head, Note},
    lock::Lease,
    path::RepoPath,
};

/// What was recovered of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// The run.
    pub run: String,
    /// How many transactions were undone.
    pub undone: usize,
    /// How many were finished.
    pub finished: usize,
    /// How many files were in them.
    pub files: usize,
    /// Files that somebody else changed meanwhile, left alone.
    pub foreign: Vec<RepoPath>,
}

/// Recovers every run that died with an open transaction. Live runs are not touched.
///
/// `stale_preimage` names the files that somebody else changed meanwhile; everything else is recovered by then.
pub fn recover(context: &Context) -> Result<Vec<Recovery>, Error> {
    let mut recoveries = Vec::new();
    let locks = context.locks();
    for id in context.runs.list()? {
        let folder = context.runs.open(&id)?;
        if journal::open_transactions(folder.path())?.is_empty() {
            continue;
        }
        if let Some(lease) = locks.lease(&id)? {
            recoveries.push(Recovery::of(context, &id, lease)?);
        }
    }
    let foreign: Vec<&RepoPath> = recoveries.iter().flat_map(|recovery| &recovery.foreign).collect();
    if let Some(first) = foreign.first() {
        let names: Vec<&str> = foreign.iter().map(|path| path.as_str()).collect();
        return Err(Error::new(
            Code::StalePreimage,
            format!("`{first}` was changed by somebody else while a run was open"),
        )
        .detail("files", names)
        .hint("everything else was recovered; look at the named files, then start again"));
    }
    Ok(recoveries)
}

impl Recovery {
    /// Recovers one run whose lease is held here, records what became of it, and gives the lease up.
    pub(super) fn of(context: &Context, run: &str, lease: Lease) -> Result<Self, Error> {
        let folder = context.runs.open(run)?;
        let mut recovery = Recovery { run: run.to_owned(), ..Recovery::default() };
        let open = journal::open_transactions(folder.path())?;
        let now = || context.options.clock.now();
        let mut chain = Chain::open(&folder)?;
        for name in &open {
            let outcome = journal::recover(&context.workspace, folder.path(), name)?;
            recovery.files += outcome.entries.len();
            let kind = if outcome.committed { "committed" } else { "undone_after_crash" };
            let mut files = Vec::new();
            if outcome.committed {
                recovery.finished += 1;
                files = pack_files(&folder, name)?;
            } else {
                recovery.undone += 1;
            }
            let data = json!({"transaction": name, "entries": outcome.entries, "foreign": outcome.foreign});
            let known = outcome.committed && is_recorded(&folder.records()?, name);
            if !known {
                chain.append(now(), Note { position: outcome.position, kind, data, files, ..Note::default() })?;
            }
            chain.sync()?;
            journal::settle(folder.path(), name)?;
            recovery.foreign.extend(outcome.foreign);
        }
        if context.runs.head(run)?.is_none() && !open.is_empty() {
            let data = json!({"state": State::Interrupted});
            chain.append(now(), Note { kind: "run_interrupted", data, ..Note::default() })?;
            chain.sync()?;
            let (seq, hash) = chain.tip();
            let state = State::Interrupted.as_str().to_owned();
            context.runs.add_head(&Head { run: run.to_owned(), seq, hash: hash.to_owned(), state })?;
        }
        lease.retire()?;
        Ok(recovery)
    }

    /// What a person wants to know, in one sentence.
    pub fn sentence(&self) -> String {
        let what = match (self.undone, self.finished) {
            (_, 0) => "undone",
            (0, _) => "finished",
            _ => "undone or finished",
        };
        format!("Run {} had died; its change of {} files was {what}.", self.run, self.files)
    }
}

/// True if the outcome of a transaction reached the record before the crash.
fn is_recorded(records: &[crate::ledger::Record], transaction: &str) -> bool {
    let kinds = ["committed", "undone"];
    records.iter().any(|record| kinds.contains(&record.kind.as_str()) && record.data["transaction"] == transaction)
}
