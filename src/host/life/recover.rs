//! Recovery of runs whose process died: transactions undone or finished, the record closed.

use std::collections::BTreeMap;

use super::{
    outcome::listed,
    pre_images::{moves, standing_transactions},
};
use crate::{
    Context, State,
    call::attempt::{self, set_aside_dead},
    change::commit::pack_files,
    life::recovery::Recovery,
    redact::recovered_note,
};
use base::{
    change::Stamp,
    error::{Code, Error},
    path::RepoPath,
    text::counted,
};
use record::{
    Chain, Head, Note, Record, RunFolder, Runs,
    event::{Event, Kind, Revoked, RunInterrupted, Transaction},
};
use service::exec;
use system::{
    journal::{self, Journal},
    lock::{Lease, Locks},
    workspace::Workspace,
};

/// The results of the recovery of all runs.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Runs that were recovered.
    pub(crate) recoveries: Vec<Recovery>,
    /// Why others could not be; their locks stay, so that nobody works on their files.
    pub(crate) failures: Vec<Error>,
}

/// Recovers every run that died. Live runs are not touched, and one that can't be recovered does not stop the others.
///
/// `stale_preimage` names the files that somebody else changed meanwhile, `record_damaged` a journal or pre-image that is
/// not what was written; everything else is recovered by then.
pub fn recover(context: &Context) -> Result<Vec<Recovery>, Error> {
    let Round { recoveries, failures } = look_at(context, false)?;
    if let Some(error) = failures.into_iter().next() {
        return Err(error);
    }
    recoveries.iter().try_for_each(Recovery::check)?;
    Ok(recoveries)
}

/// Recovers the runs that died, which are among those that have a lease: none begins without one, and none gives it up with
/// a transaction open. Every record is looked at only where leases may be missing.
pub(crate) fn recover_all(context: &Context) -> Result<Round, Error> {
    look_at(context, context.runs.knows_leases())
}

fn look_at(context: &Context, are_known: bool) -> Result<Round, Error> {
    let mut round = Round::default();
    context.runs.check()?;
    if !context.runs.path().join("locks").exists() {
        if context.runs.list()?.is_empty() {
            return Ok(round);
        }
        // Records without leases: copied from elsewhere, or cleared by hand.
        context.runs.prepare()?;
    }
    let locks = context.locks();
    let ids = if are_known { locks.runs()? } else { context.runs.list()? };
    let heads = if are_known { BTreeMap::new() } else { context.runs.heads()? };
    for id in ids {
        context.check_cancelled()?;
        // The lease of a run whose record was removed says nothing.
        let Some(folder) = context.runs.find(&id) else { continue };
        // A lease that is left behind is of a run that died, or of one that is going on.
        let has_lease = locks.has_file(&id);
        if !has_lease && !is_left(&folder, heads.get(&id))? {
            continue;
        }
        let Some(lease) = locks.lease(&id)? else { continue };
        match Recovery::of(context, &id, lease, has_lease) {
            Ok(recovery) => round.recoveries.push(recovery),
            Err(error) => round.failures.push(error),
        }
    }
    // Whatever was open has its lease now.
    if !context.runs.knows_leases() {
        context.runs.trust_leases()?;
    }
    Ok(round)
}

/// The runs of a workspace that [`recover`] would recover. Nothing is changed, and no policy is read.
pub fn unrecovered(workspace: &Workspace) -> Result<Vec<String>, Error> {
    leftovers(&Runs::of(workspace.root()))
}

/// The runs that [`recover`] would recover. Nothing is changed.
pub(crate) fn leftovers(runs: &Runs) -> Result<Vec<String>, Error> {
    let locks = Locks::new(runs.path());
    let heads = runs.heads()?;
    let mut dead = Vec::new();
    for id in runs.list()? {
        let is_left = locks.has_file(&id) || is_left(&runs.open(&id)?, heads.get(&id))?;
        if is_left && !locks.is_live(&id)? {
            dead.push(id);
        }
    }
    Ok(dead)
}

/// True for a run without a lease that died, as its own folder says: with a transaction open, or inside an attempt that has changed
/// files. One that is going on holds its chain.
///
/// A record that says how the run ended is none of a run that died, whether or not its head is there: a head that was removed must
/// not be made again.
fn is_left(folder: &RunFolder, head: Option<&Head>) -> Result<bool, Error> {
    if !journal::open_transactions(folder.path())?.is_empty() {
        return Ok(!folder.is_written()?);
    }
    match died_inside(folder, head) {
        // Nothing can be made of it; `nrv runs verify` says what is wrong.
        Err(error) if error.code() == Code::RecordDamaged => Ok(false),
        found => Ok(found? && !folder.is_written()?),
    }
}

/// True for a record that ends inside an attempt that has changed files, and not with the end of its run.
fn died_inside(folder: &RunFolder, head: Option<&Head>) -> Result<bool, Error> {
    let Some(last) = folder.last_record()? else { return Ok(false) };
    let has_ended = last.event.end().is_some() || last.event.run_interrupted().is_some();
    if has_ended || head.is_some_and(|head| head.seq >= last.seq) {
        return Ok(false);
    }
    attempt::is_open(folder)
}

impl Recovery {
    /// Recovers one run whose lease is held here, records what became of it, and gives the lease up. The lease may be a new one, for
    /// a run that had none.
    pub(crate) fn of(context: &Context, run: &str, lease: Lease, had_lease: bool) -> Result<Self, Error> {
        let folder = context.runs.open(run)?;
        let mut recovery = Recovery { run: run.to_owned(), without_lease: !had_lease, ..Recovery::default() };
        folder.check_links()?;
        let mut chain = Chain::open(&folder)?;
        let sealed = context.runs.head(run)?;
        let now = || context.options.clock.now();
        for name in &journal::open_transactions(folder.path())? {
            recovery.end_transaction(context, &folder, &mut chain, name)?;
        }
        recovery.changed = standing_files(&folder)?;
        journal::sweep(folder.path())?;
        exec::clear(run, &context.options.environment)?;
        // A run that had gone on after it stopped is not what it was when it stopped.
        let went_on = |head: &Head| {
            let records = folder.records()?;
            let later = records.iter().filter(|record| record.seq > head.seq);
            Ok::<bool, Error>(later.into_iter().any(|record| record.event.run_resumed().is_some()))
        };
        let died = match &sealed {
            None => true,
            Some(head) => chain.tip().0 > head.seq && went_on(head)?,
        };
        recovery.had_ended = !died;
        if died {
            match set_aside_dead(context, &folder, &mut chain, &lease) {
                Ok(files) => recovery.set_aside = files,
                // Somebody else has changed the files: the attempt's changes stand.
                Err(error) if error.code() == Code::UndoRefused => recovery.foreign.extend(named_files(&error)),
                Err(error) => return Err(error),
            }
            let interrupted = RunInterrupted { state: State::Interrupted, without_lease: recovery.without_lease };
            chain.append(now(), Note::of_run(Event::RunInterrupted(interrupted.into())).draft()?)?;
            chain.sync()?;
        }
        let (seq, hash) = chain.tip();
        if sealed.as_ref().is_none_or(|head| head.seq != seq) {
            let interrupted = State::Interrupted.as_str().to_owned();
            let state = sealed.filter(|_| !died).map_or(interrupted, |head| head.state);
            let overview = listed(context, &folder)?;
            context.runs.add_head(&Head { overview, ..Head::new(run, (seq, hash), &state) })?;
        }
        lease.retire()?;
        Ok(recovery)
    }

    /// Finishes or undoes a transaction that is open, and records its outcome.
    fn end_transaction(
        &mut self,
        context: &Context,
        folder: &RunFolder,
        chain: &mut Chain,
        name: &str,
    ) -> Result<(), Error> {
        let journal = Journal::new(&context.workspace, folder.path());
        let outcome = journal.recover(name)?;
        let records = folder.records()?;
        self.count(&outcome, is_detour(&records, name));
        if let Some(kind) = missing_outcome(&records, name, &outcome) {
            let files = if outcome.committed { pack_files(folder, name)? } else { Vec::new() };
            let note = Note::at(&outcome.position, recovered(kind, name, &outcome)).with_files(files);
            chain.append(context.options.clock.now(), recovered_note(context, folder, note)?)?;
            chain.sync()?;
            if kind == Kind::UndoneAfterCrash {
                journal.discard(name, &outcome)?;
            }
        }
        journal.settle(name)?;
        self.foreign.extend(outcome.foreign);
        Ok(())
    }

    /// Counts what became of a transaction; one that only sets changes aside or puts them back changes nothing for good.
    fn count(&mut self, outcome: &journal::Recovered, is_detour: bool) {
        if is_detour {
            return;
        }
        self.files += outcome.entries.len();
        match (outcome.committed, outcome.undoes) {
            (true, _) => self.finished += 1,
            (false, false) => self.undone += 1,
            (false, true) => self.standing += 1,
        }
    }

    /// An error that names the files that somebody else changed meanwhile.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Some(first) = self.foreign.first() else { return Ok(()) };
        let names: Vec<&str> = self.foreign.iter().map(|path| path.as_str()).collect();
        let message = format!("`{first}` was changed by somebody else after run {} had died", self.run);
        Err(Error::new(Code::StalePreimage, message)
            .detail("files", names)
            .hint("everything else was recovered; look at the named files, then start again"))
    }

    /// Summarizes the recovery in a sentence or two for people.
    pub fn sentence(&self) -> String {
        let gone = if self.without_lease { " Its lease was gone: nothing but its record said so." } else { "" };
        self.outcome() + gone
    }

    fn outcome(&self) -> String {
        let Recovery { run, files, set_aside, changed, had_ended, .. } = self;
        if *set_aside > 0 {
            let files = counted(*set_aside, "file");
            return format!(
                "Run {run} had died inside an attempt, whose changes ({files}) are set aside; `nrv resume {run}` goes on."
            );
        }
        let files = counted(*files, "file");
        match (self.undone, self.finished, self.standing) {
            (0, 0, 0) if *had_ended => format!("Run {run} had ended when its process died; nothing is left to do."),
            (0, 0, 0) if *changed == 0 => format!("Run {run} had died and has changed nothing; its record is closed."),
            (0, 0, 0) => format!(
                "Run {run} had died between its changes; those of {} stand. `nrv rollback {run}` undoes them.",
                counted(*changed, "file")
            ),
            (_, _, n) if n > 0 => format!(
                "Run {run} had died while it was undone; its change of {files} stands. `nrv rollback {run}` undoes it."
            ),
            (_, 0, _) => format!("Run {run} had died; its change of {files} was undone."),
            (0, ..) => format!("Run {run} had died; its change of {files} was finished."),
            _ => format!("Run {run} had died; its changes of {files} were undone or finished."),
        }
    }
}

/// The number of files that a run has changed, by the transactions that stand.
fn standing_files(folder: &RunFolder) -> Result<usize, Error> {
    let mut files: BTreeMap<RepoPath, (Option<Stamp>, Option<Stamp>)> = BTreeMap::new();
    for entry in standing_transactions(&moves(folder)?).into_iter().flat_map(|one| one.entries) {
        files.entry(entry.path).or_insert((entry.before, entry.after)).1 = entry.after;
    }
    Ok(files.values().filter(|(before, after)| before != after).count())
}

/// The files that an error names.
fn named_files(error: &Error) -> Vec<RepoPath> {
    let files = error.details().get("files").and_then(serde_json::Value::as_array).into_iter().flatten();
    files.filter_map(|file| RepoPath::parse(file.as_str()?).ok()).collect()
}

/// True for a transaction that sets changes aside or puts them back.
fn is_detour(records: &[Record], transaction: &str) -> bool {
    let says = |event: &Event| event.attempt_set_aside().is_some() || event.attempt_put_back().is_some();
    records.iter().any(|record| says(&record.event) && record.event.transaction() == Some(transaction))
}

/// The event that says how a transaction ended that a crash had left open.
fn recovered(kind: Kind, name: &str, outcome: &journal::Recovered) -> Event {
    let (transaction, entries, foreign) = (name.to_owned(), outcome.entries.clone(), outcome.foreign.clone());
    if kind == Kind::Revoked {
        return Event::Revoked(Revoked { transaction, entries: Some(entries), foreign }.into());
    }
    let ended = Box::new(Transaction { transaction, entries, foreign: Some(foreign) });
    match kind {
        Kind::Committed => Event::Committed(ended),
        Kind::Undone => Event::Undone(ended),
        _ => Event::UndoneAfterCrash(ended),
    }
}

/// The outcome of a transaction that the record has yet to say; none if it says how it ended.
fn missing_outcome(records: &[Record], transaction: &str, outcome: &journal::Recovered) -> Option<Kind> {
    let said = |record: &Record| match &record.event {
        Event::Committed(said) | Event::Undone(said) if said.transaction == transaction => Some(true),
        Event::UndoneAfterCrash(said) if said.transaction == transaction => Some(false),
        Event::Revoked(said) if said.transaction == transaction => Some(false),
        _ => None,
    };
    match (outcome.committed, records.iter().rev().find_map(said)) {
        (true, Some(true)) | (false, Some(false)) => None,
        (true, _) if outcome.undoes => Some(Kind::Undone),
        (true, _) => Some(Kind::Committed),
        // It was recorded and then taken back; its pack is in the record and stays.
        (false, Some(true)) => Some(Kind::Revoked),
        (false, None) => Some(Kind::UndoneAfterCrash),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_what_stands() {
        let sentence =
            |changed, had_ended| Recovery { run: "r".to_owned(), changed, had_ended, ..Recovery::default() }.sentence();
        assert_eq!(sentence(0, false), "Run r had died and has changed nothing; its record is closed.");
        assert!(sentence(2, false).contains("those of 2 files stand"));
        assert!(sentence(0, true).contains("had ended"));
    }
}
