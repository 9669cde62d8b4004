//! Attempts: what is changed between a begin and its end is kept or undone as one. Attempts nest.
//!
//! A run that stops inside an attempt takes the attempt's changes back and *sets them aside*. When it goes on it first puts them
//! back, so that the calls which it made keep the answers that they got.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    Context, Position,
    change::{
        attempts::{Attempt, Attempts, Proposed},
        draft::{Draft, Previewed},
        ledger::Ledger,
        pipeline::Pipeline,
        restored::restore_targets,
        transaction::{Transacted, names},
        undo::{Dead, Reason},
    },
    life::{attempts::BEGIN, history::Past},
    recorder::Recorder,
};
use base::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
    text::counted,
};
use record::{Chain, RunFolder};
use system::lock::Lease;

impl Pipeline<'_, '_> {
    /// Ends the innermost attempt: what it changed is kept, or undone.
    ///
    /// `undo_refused` names files that somebody else changed since; then the attempt stays open.
    pub(crate) fn end_attempt(&mut self, keep: bool) -> Result<Value, Error> {
        let Pipeline { recorder, ledger, draft, sink, .. } = self;
        let Some(attempt) = ledger.attempts.open.pop() else {
            let error = Error::new(Code::InvalidInput, "no attempt is open that could be ended");
            return Err(error.hint("begin one with `attempt.begin`, and end each of them once"));
        };
        let files = match (&attempt.before, keep) {
            (Some(before), _) => draft.differing(before),
            (None, true) => ledger.changed_files(attempt.from),
            (None, false) => match ledger.take_back(recorder, attempt.from, &Reason::Attempt(&attempt.position)) {
                Ok(files) => {
                    ledger.undone += files;
                    files.max(recorder.past.as_ref().map_or(0, |past| past.brought_back(&attempt.position)))
                }
                Err(error) => {
                    ledger.attempts.open.push(attempt);
                    return Err(error);
                }
            },
        };
        if keep {
            ledger.attempts.kept += 1;
        } else {
            ledger.attempts.undone += 1;
            let files = counted(files, "file");
            sink.event(crate::Event::Notice {
                text: format!("The attempt at {} was undone: {files}.", attempt.position),
            });
            draft.propose_again(attempt.before);
        }
        Ok(json!({"kept": keep, "files": files}))
    }
}

impl Ledger<'_> {
    /// Begins an attempt. Only a dry run has a draft.
    pub(crate) fn begin_attempt(&mut self, position: &Position, draft: Option<&Draft<'_>>) -> Value {
        let before = draft.map(|draft| Proposed { overlay: draft.overlay.clone(), files: draft.proposed.clone() });
        let from = self.transactions.len();
        self.attempts.open.push(Attempt { position: position.to_string(), from, before });
        Value::Null
    }

    /// Leaves the attempts that are open when the run comes to its end: nothing of them stays, whatever else does.
    pub(crate) fn leave_attempts(
        &mut self,
        recorder: &mut Recorder<'_>,
        draft: Option<&mut Draft<'_>>,
        outcome: Result<Value, Error>,
        keeps: bool,
    ) -> Result<Value, Error> {
        let Some(outermost) = self.attempts.open.first_mut() else { return outcome };
        // What a former session set aside and this one did not put back stays as it is now.
        self.undone += recorder.past.as_ref().and_then(Past::aside).map_or(0, |aside| aside.undo.entries.len());
        if let Some(draft) = draft {
            draft.propose_again(outermost.before.take());
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
    pub(crate) fn set_aside(&mut self, recorder: &mut Recorder<'_>) -> Result<usize, Error> {
        let Some(outermost) = self.attempts.open.first() else { return Ok(0) };
        let (from, position) = (outermost.from, outermost.position.clone());
        self.take_back(recorder, from, &Reason::SetAside(&position))
    }

    /// Puts back what was set aside. `stale_preimage` names files that somebody changed meanwhile.
    pub(crate) fn put_back(&mut self, recorder: &mut Recorder<'_>) -> Result<(), Error> {
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

/// True for a run whose record ends inside an attempt that has changed files.
pub(crate) fn is_open(folder: &RunFolder) -> Result<bool, Error> {
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
pub(crate) fn set_aside_dead(
    context: &Context,
    folder: &RunFolder,
    chain: &mut Chain,
    lease: &Lease,
) -> Result<usize, Error> {
    let Some((past, attempt, of)) = open_changes(folder)?.filter(|(_, _, of)| !of.is_empty()) else { return Ok(0) };
    let current = restore_targets(folder, &of, false)?.current(context)?;
    let name = format!("t{}", past.transactions(folder)? + 1);
    let reason = Reason::SetAside(&attempt);
    Dead { context, folder, chain, lease }.bring_back(&current, &name, &reason, &names(&of))
}
