//! Attempts: what is changed between a begin and its end is kept or undone as one. Attempts nest.
//!
//! A run that stops inside an attempt takes the attempt's changes back and *sets them aside*. When it goes on it first puts them
//! back, so that the calls which it made keep the answers that they got.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    base::{
        change::Content,
        error::{Code, Error},
        path::RepoPath,
        text::counted,
    },
    host::{
        self, Context, Position, Sink,
        change::{
            commit::Transacted,
            ledger::Ledger,
            preview::{Draft, Previewed},
            restored::restore_targets,
            undo::{Dead, Reason},
        },
        life::history::Past,
        recorder::Recorder,
    },
    record::{
        Chain, Record, RunFolder,
        event::{self, AttemptCounts, Event},
    },
    system::{lock::Lease, workspace::Overlay},
};

/// The names of the calls by which attempts begin and end.
pub(in crate::host) const BEGIN: &str = "attempt.begin";
pub(in crate::host) const END: &str = "attempt.end";

/// True for the call by which an attempt ended that was kept.
fn keeps(end: &event::Call) -> bool {
    end.args.form().get("keep").is_some_and(|keep| *keep == true)
}

/// The attempts of a run.
#[derive(Debug, Default)]
pub(in crate::host) struct Attempts {
    /// Those that are open, outermost first.
    open: Vec<Attempt>,
    kept: u64,
    undone: u64,
}

/// An attempt that is open.
#[derive(Debug)]
struct Attempt {
    /// Where it was begun.
    position: String,
    /// How many changes of the run stood then.
    from: usize,
    /// In a dry run, what was proposed then.
    before: Option<Proposed>,
}

/// The changes that a dry run proposes.
#[derive(Debug)]
struct Proposed {
    overlay: Overlay,
    files: BTreeMap<RepoPath, Previewed>,
}

impl Attempts {
    /// True as long as one is open.
    pub(in crate::host) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many were kept, and how many undone so far.
    pub(in crate::host) fn tally(&self) -> AttemptCounts {
        AttemptCounts { kept: self.kept, undone: self.undone }
    }

    /// The same of a run that is over: what is open then counts as undone. None if there were no attempts.
    pub(in crate::host) fn final_tally(&self) -> Option<AttemptCounts> {
        let undone = self.undone + self.open.len() as u64;
        (self.kept + undone > 0).then_some(AttemptCounts { kept: self.kept, undone })
    }

    /// Those of the former sessions of a run.
    pub(in crate::host) fn restore(past: &Past) -> Self {
        let (kept, undone) = past.ended_attempts();
        let open = past.open_attempts().into_iter();
        Attempts { kept, undone, open: open.map(|(position, from)| Attempt { position, from, before: None }).collect() }
    }
}

impl Ledger<'_> {
    /// Begins an attempt.
    pub(in crate::host) fn begin_attempt(&mut self, position: &Position, draft: Option<&Draft<'_>>) -> Value {
        let before = draft.map(|draft| Proposed { overlay: draft.overlay.clone(), files: draft.proposed.clone() });
        let from = self.transactions.len();
        self.attempts.open.push(Attempt { position: position.to_string(), from, before });
        Value::Null
    }

    /// Ends the innermost attempt: what it changed is kept, or undone.
    ///
    /// `undo_refused` names files that somebody else changed since; then the attempt stays open.
    pub(in crate::host) fn end_attempt(
        &mut self,
        (recorder, draft): (&mut Recorder<'_>, &mut Draft<'_>),
        keep: bool,
        sink: &mut dyn Sink,
    ) -> Result<Value, Error> {
        let Some(attempt) = self.attempts.open.pop() else {
            let error = Error::new(Code::InvalidInput, "no attempt is open that could be ended");
            return Err(error.hint("begin one with `attempt.begin`, and end each of them once"));
        };
        let files = match (&attempt.before, keep) {
            (Some(before), _) => draft.differing(before),
            (None, true) => self.changed_files(attempt.from),
            (None, false) => match self.take_back(recorder, attempt.from, &Reason::Attempt(&attempt.position)) {
                Ok(files) => {
                    self.undone += files;
                    files.max(recorder.past.as_ref().map_or(0, |past| past.brought_back(&attempt.position)))
                }
                Err(error) => {
                    self.attempts.open.push(attempt);
                    return Err(error);
                }
            },
        };
        if keep {
            self.attempts.kept += 1;
        } else {
            self.attempts.undone += 1;
            let files = counted(files, "file");
            sink.event(host::Event::Notice {
                text: format!("The attempt at {} was undone: {files}.", attempt.position),
            });
            draft.propose_again(attempt.before);
        }
        Ok(json!({"kept": keep, "files": files}))
    }

    /// Leaves the attempts that are open when the run comes to its end: nothing of them stays, whatever else does.
    pub(in crate::host) fn leave_attempts(
        &mut self,
        (recorder, draft): (&mut Recorder<'_>, &mut Draft<'_>),
        outcome: Result<Value, Error>,
        (dry_run, keeps): (bool, bool),
    ) -> Result<Value, Error> {
        let Some(outermost) = self.attempts.open.first_mut() else { return outcome };
        // What a former session set aside and this one did not put back stays as it is now.
        self.undone += recorder.past.as_ref().and_then(Past::aside).map_or(0, |aside| aside.undo.entries.len());
        if dry_run {
            let before = outermost.before.take();
            draft.propose_again(before);
        } else if outcome.is_ok() || keeps {
            // A run that fails is undone as a whole.
            return match (self.set_aside(recorder), outcome) {
                (Ok(files), outcome) => {
                    self.undone += files;
                    outcome
                }
                (Err(undo), Ok(_)) => Err(undo),
                (Err(undo), Err(error)) => Err(error.detail("undo_error", undo.message())),
            };
        }
        outcome
    }

    /// Sets aside what the open attempts changed; how many files that are.
    pub(in crate::host) fn set_aside(&mut self, recorder: &mut Recorder<'_>) -> Result<usize, Error> {
        let Some(outermost) = self.attempts.open.first() else { return Ok(0) };
        let (from, position) = (outermost.from, outermost.position.clone());
        self.take_back(recorder, from, &Reason::SetAside(&position))
    }

    /// Puts back what was set aside. `stale_preimage` names files that somebody changed meanwhile.
    pub(in crate::host) fn put_back(&mut self, recorder: &mut Recorder<'_>) -> Result<(), Error> {
        let Some(aside) = recorder.past.as_ref().and_then(Past::aside).cloned() else { return Ok(()) };
        let restored = restore_targets(&recorder.folder, std::slice::from_ref(&aside.undo), false)?;
        let current = restored.current(self.context).map_err(|error| {
            let files = error.details().get("files").cloned().unwrap_or_default();
            Error::new(Code::StalePreimage, "files of an attempt that was set aside changed meanwhile")
                .detail("files", files)
                .hint("bring the named files back as the run left them, then resume again")
        })?;
        self.bring_back(recorder, &current, Some((&Reason::PutBack(&aside), aside.of.clone())))?;
        let Some(past) = &mut recorder.past else { return Ok(()) };
        past.put_back();
        self.transactions = past.standing();
        self.attempts = Attempts::restore(past);
        Ok(())
    }
}

impl Draft<'_> {
    /// Takes what a dry run proposed within an attempt back.
    fn propose_again(&mut self, before: Option<Proposed>) {
        if let Some(Proposed { overlay, files }) = before {
            self.overlay = overlay;
            self.proposed = files;
        }
    }

    /// How many files a dry run proposes otherwise than it did.
    fn differing(&self, before: &Proposed) -> usize {
        let stamp = |files: &BTreeMap<RepoPath, Previewed>, path: &RepoPath| {
            files.get(path).map(|file| file.after.as_ref().map(Content::stamp))
        };
        let paths: BTreeSet<&RepoPath> = before.files.keys().chain(self.proposed.keys()).collect();
        paths.into_iter().filter(|path| stamp(&before.files, path) != stamp(&self.proposed, path)).count()
    }
}

/// The state of a run's attempts, according to its calls.
#[derive(Debug, Default)]
pub(in crate::host) struct AttemptState<'r> {
    /// The calls that began those which are open, outermost first.
    pub(in crate::host) open: Vec<&'r Record>,
    pub(in crate::host) kept: u64,
    pub(in crate::host) undone: u64,
}

impl<'r> AttemptState<'r> {
    /// By the records of the calls that were answered, in their order.
    pub(in crate::host) fn of(calls: impl Iterator<Item = &'r Record>) -> Self {
        let mut state = AttemptState::default();
        for record in calls {
            let Some(call) = record.event.call().filter(|call| call.reply.is_some()) else { continue };
            match call.call.as_str() {
                BEGIN => state.open.push(record),
                END => {
                    state.open.pop();
                    *(if keeps(call) { &mut state.kept } else { &mut state.undone }) += 1;
                }
                _ => {}
            }
        }
        state
    }
}

/// Changes that a run took back when it stopped inside an attempt.
#[derive(Clone, Debug)]
pub(in crate::host) struct Aside {
    /// Where the attempt was begun.
    pub(in crate::host) attempt: String,
    /// The transactions that do not stand meanwhile.
    of: Vec<String>,
    /// The transaction that took them back.
    pub(in crate::host) undo: Transacted,
}

/// The transactions that a run took back.
#[derive(Debug, Default)]
pub(in crate::host) struct Taken {
    /// Those that do not stand.
    back: BTreeSet<String>,
    /// Those of them that were taken back with their attempt, so that the run went on all the same.
    with_attempt: BTreeSet<String>,
    /// How many files were brought back at the end of each attempt that was undone, by its position.
    pub(in crate::host) files: BTreeMap<String, usize>,
    /// The changes that are set aside now.
    pub(in crate::host) aside: Option<Aside>,
}

impl Taken {
    /// By the records of a run.
    pub(in crate::host) fn of(records: &[Record]) -> Self {
        let mut taken = Taken::default();
        let mut begun: BTreeMap<&str, &Event> = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::Undoing(_) | Event::AttemptSetAside(_) | Event::AttemptPutBack(_) => {
                    begun.extend(record.event.transaction().map(|name| (name, &record.event)));
                }
                Event::Revoked(revoked) => drop(taken.back.insert(revoked.transaction.clone())),
                Event::Undone(undone) => {
                    if let Some(begun) = begun.remove(undone.transaction.as_str()) {
                        taken.take(begun, undone);
                    }
                }
                _ => {}
            }
        }
        taken
    }

    /// Takes in a transaction by which others were taken back, or put back.
    fn take(&mut self, begun: &Event, undone: &event::Transaction) {
        match begun {
            Event::AttemptPutBack(_) => self.put_back(),
            Event::AttemptSetAside(set_aside) => {
                self.back.extend(set_aside.of.iter().cloned());
                self.with_attempt.extend(set_aside.of.iter().cloned());
                let (attempt, of) = (set_aside.attempt.clone(), set_aside.of.clone());
                self.aside = Some(Aside { attempt, of, undo: undone.into() });
            }
            Event::Undoing(undoing) => {
                self.back.extend(undoing.of.iter().cloned());
                if let Some(attempt) = &undoing.attempt {
                    self.with_attempt.extend(undoing.of.iter().cloned());
                    self.files.insert(attempt.clone(), undone.entries.len());
                }
            }
            _ => {}
        }
    }

    /// Marks the transactions that were set aside as standing again.
    pub(in crate::host) fn put_back(&mut self) {
        for name in self.aside.take().into_iter().flat_map(|aside| aside.of) {
            self.back.remove(&name);
            self.with_attempt.remove(&name);
        }
    }

    /// True for a transaction that does not stand.
    pub(in crate::host) fn is_back(&self, name: &str) -> bool {
        self.back.contains(name)
    }

    /// True for one that was taken back because the run had failed.
    pub(in crate::host) fn is_gone(&self, name: &str) -> bool {
        self.is_back(name) && !self.with_attempt.contains(name)
    }
}

/// The transactions that set changes aside or put them back, each of which cancels another one out.
pub(in crate::host) fn detours(records: &[Record]) -> BTreeSet<&str> {
    let done: BTreeSet<&str> =
        records.iter().filter_map(|record| record.event.undone()).map(|undone| undone.transaction.as_str()).collect();
    let put_back = records.iter().filter_map(|record| record.event.attempt_put_back());
    let put_back = put_back.filter(|put_back| done.contains(put_back.transaction.as_str()));
    put_back.flat_map(|put_back| [put_back.transaction.as_str(), put_back.aside.as_str()]).collect()
}

/// True for a run whose record ends inside an attempt that has changed files.
pub(in crate::host) fn is_open(folder: &RunFolder) -> Result<bool, Error> {
    Ok(open_changes(folder)?.is_some_and(|(_, _, of)| !of.is_empty()))
}

/// Reads the record of a run that ends inside an attempt.
///
/// Returns the record, the position of the outermost open attempt, and the changes since it began.
fn open_changes(folder: &RunFolder) -> Result<Option<(Past, String, Vec<Transacted>)>, Error> {
    if folder.records_of_calls(&[], &[BEGIN])?.is_empty() {
        return Ok(None);
    }
    let past = Past::of(folder, folder.records()?)?;
    let Some((attempt, from)) = past.open_attempts().into_iter().next() else { return Ok(None) };
    let of = past.standing().split_off(from);
    Ok(Some((past, attempt, of)))
}

/// Sets aside what the open attempts of a run changed whose process died; how many files that are.
///
/// `undo_refused` names files that somebody else changed meanwhile; then nothing is taken back.
pub(in crate::host) fn set_aside_dead(
    context: &Context,
    folder: &RunFolder,
    chain: &mut Chain,
    lease: &Lease,
) -> Result<usize, Error> {
    let Some((past, attempt, of)) = open_changes(folder)?.filter(|(_, _, of)| !of.is_empty()) else { return Ok(0) };
    let current = restore_targets(folder, &of, false)?.current(context)?;
    let name = format!("t{}", past.transactions(folder)? + 1);
    let reason = Reason::SetAside(&attempt);
    Dead { context, folder, chain, lease }.bring_back(&current, &name, (&reason, &names(&of)))
}

/// The names of transactions.
pub(in crate::host) fn names(transactions: &[Transacted]) -> Vec<String> {
    transactions.iter().map(|one| one.transaction.clone()).collect()
}
