//! The way back: changes of a run are taken back or put back, exactly or not at all.
//!
//! Gates and budgets have no say: a change that can't stay must be undone. The files are [`Current`] first.

use serde::Deserialize;

use super::{
    commit::{pack_files, settle},
    ledger::Ledger,
    restored::{Current, restore_targets},
    transaction::Transacted,
};
use crate::{Context, change::transaction::names, life::attempts::Aside, recorder::Recorder, redact::recovered_note};
use base::{
    change::{Content, Entry},
    error::{Code, Error},
    output::Output,
};
use record::{
    Chain, Note, RunFolder,
    event::{AttemptPutBack, AttemptSetAside, Event, Undoing},
};
use system::{
    journal::{Journal, Target, Transaction},
    lock::Lease,
};

/// Why changes of a run are taken back, or put back.
#[derive(Clone, Copy)]
pub(crate) enum Reason<'a> {
    /// A step failed, or the run.
    Failed,
    /// The attempt that was begun there is undone.
    Attempt(&'a str),
    /// The run stops inside that attempt.
    SetAside(&'a str),
    /// It goes on.
    PutBack(&'a Aside),
}

impl Reason<'_> {
    /// The event that says it, before the transaction that does it.
    pub(crate) fn event(&self, transaction: &str, of: &[String]) -> Event {
        let (transaction, of) = (transaction.to_owned(), of.to_vec());
        match self {
            Reason::Failed => Event::Undoing(Undoing { transaction, of, attempt: None }.into()),
            Reason::Attempt(attempt) => {
                Event::Undoing(Undoing { transaction, of, attempt: Some((*attempt).to_owned()) }.into())
            }
            Reason::SetAside(attempt) => {
                Event::AttemptSetAside(AttemptSetAside { transaction, of, attempt: (*attempt).to_owned() }.into())
            }
            Reason::PutBack(aside) => {
                let (attempt, aside) = (aside.attempt.clone(), aside.undo.transaction.clone());
                Event::AttemptPutBack(AttemptPutBack { transaction, of, attempt, aside }.into())
            }
        }
    }
}

/// Returns the entries of a record for the files that a transaction brings back.
pub(crate) fn restored_entries(targets: &[Target<'_>]) -> Vec<Entry> {
    let entry = |target: &Target<'_>| Entry {
        path: target.path.clone(),
        before: target.before,
        after: target.after.map(Content::stamp),
    };
    targets.iter().map(entry).collect()
}

/// A run that died, whose lease and record are held here.
pub(crate) struct Dead<'d> {
    pub(crate) context: &'d Context,
    pub(crate) folder: &'d RunFolder,
    pub(crate) chain: &'d mut Chain,
    pub(crate) lease: &'d Lease,
}

impl Dead<'_> {
    /// Brings files back in a transaction of that name, with the record of why before it; how many files that are.
    pub(crate) fn bring_back(
        &mut self,
        current: &Current,
        name: &str,
        reason: &Reason<'_>,
        of: &[String],
    ) -> Result<usize, Error> {
        let Dead { context, folder, chain, lease } = self;
        let now = || context.options.clock.now();
        chain.append(now(), Note::of_run(reason.event(name, of)).draft()?)?;
        let targets = current.targets();
        let journal = Journal::new(&context.workspace, folder.path());
        let transaction =
            Transaction { name, position: "", patch: b"", undoes: true, threads: context.options.threads };
        journal.apply(&transaction, &targets, &|| lease.check())?;
        let entries = restored_entries(&targets);
        let undone = record::event::Transaction { transaction: name.to_owned(), entries, foreign: None };
        let note = Note::of_run(Event::Undone(undone.into())).with_files(pack_files(folder, name)?);
        chain.append(now(), recovered_note(context, folder, note)?)?;
        chain.sync()?;
        journal.settle(name)?;
        Ok(targets.len())
    }
}

impl Ledger<'_> {
    /// Undoes the run's transactions from this one on, in one transaction of their own.
    pub(crate) fn undo(&mut self, recorder: &mut Recorder<'_>, from: usize) -> Result<(), Error> {
        self.undone += self.take_back(recorder, from, &Reason::Failed)?;
        Ok(())
    }

    /// Undoes what could not be verified; the error, with what came of that. If it can't be undone, it stands, and the run can't be done.
    pub(crate) fn undo_unverified(&mut self, recorder: &mut Recorder<'_>, from: usize, error: Error) -> Error {
        match self.undo(recorder, from) {
            Ok(()) => {
                let output = error.details().get("output").and_then(|output| Output::deserialize(output).ok());
                let output = output.and_then(|output| serde_json::to_value(output.into_undone()).ok());
                let error = error.detail("undone", true);
                output.into_iter().fold(error, |error, output| error.detail("output", output))
            }
            Err(undo) => {
                let standing = self.transactions.get(from..).unwrap_or_default();
                self.unproven.extend(standing.iter().map(|one| one.transaction.clone()));
                undo.detail("cause", error.message())
            }
        }
    }

    /// An error if a change stands that was not verified, whatever became of the error that said so.
    pub(crate) fn refuse_unproven(&mut self, recorder: &Recorder<'_>) -> Result<(), Error> {
        // What a former session could not verify stands in the record.
        if recorder.past.is_some() && !self.transactions.is_empty() {
            recorder.sync()?;
            self.unproven = record::outcome::unverified(&recorder.folder.records()?);
        }
        let standing = self.transactions.iter().filter(|one| self.unproven.contains(&one.transaction));
        let files: Vec<_> = standing.flat_map(|one| &one.entries).map(|entry| entry.path.to_string()).collect();
        let Some(first) = files.first() else { return Ok(()) };
        let more = match files.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        let message = format!("the change of `{first}`{more} was not verified and could not be undone");
        Err(Error::new(Code::UndoRefused, message)
            .detail("files", files)
            .hint("look at the files; `nrv runs show` says what the verifier found"))
    }

    /// Takes the run's transactions from this one on back, in one transaction of their own; how many files that are.
    pub(crate) fn take_back(
        &mut self,
        recorder: &mut Recorder<'_>,
        from: usize,
        reason: &Reason<'_>,
    ) -> Result<usize, Error> {
        let undone = self.transactions.split_off(from.min(self.transactions.len()));
        if undone.is_empty() {
            return Ok(0);
        }
        // What is to be taken back is, however long that takes: nobody else would do it.
        let _section = self.context.options.critical.entered();
        let result = restore_targets(&recorder.folder, &undone, false)
            .and_then(|restored| restored.current(self.context))
            .and_then(|current| self.bring_back(recorder, &current, Some((reason, names(&undone)))));
        match result {
            Ok(restored) => Ok(restored.entries.len()),
            Err(error) => {
                self.transactions.extend(undone);
                Err(error)
            }
        }
    }

    /// Brings files back in a transaction of its own.
    ///
    /// With it goes why, and the names of the changes of this run that it is about.
    pub(crate) fn bring_back(
        &mut self,
        recorder: &mut Recorder<'_>,
        current: &Current,
        own: Option<(&Reason<'_>, Vec<String>)>,
    ) -> Result<Transacted, Error> {
        let name = self.next_transaction();
        if let Some((reason, of)) = own {
            match (recorder.note(Note::of_run(reason.event(&name, &of))), reason) {
                // What can't be recorded is undone all the same.
                (Err(error), Reason::Failed) => tracing::warn!("{error}"),
                (recorded, _) => recorded?,
            }
        }
        let targets = current.targets();
        let transaction = Transaction { undoes: true, ..self.transaction("", &name) };
        let _section = self.transact(&recorder.folder, &transaction, &targets)?;
        let entries = restored_entries(&targets);
        if let Err(error) = settle(recorder, "", Event::Undone, &name, &entries) {
            // The tree is as it should be, and the journal keeps the outcome until recovery can record it.
            tracing::warn!("the undoing is not recorded yet: {error}");
        }
        Ok(Transacted { transaction: name, entries })
    }
}
