//! The fourth step: the files are locked and written in one transaction, and the record says so.

use serde_json::{Value, json};

use super::{
    judge::Submitted,
    ledger::Ledger,
    permit::Permitted,
    pipeline::{Pipeline, Proof},
};
use crate::{Position, Recovery, change::transaction::Transacted, recorder::Recorder, terms::Terms};
use base::{
    change::Entry,
    error::{Code, Error},
    span::span,
};
use record::{
    FileRef, Note, RunFolder,
    event::{Event, Prepared, Revoked},
};
use system::{
    journal::{self, Journal, Target, Transaction},
    lock::Wait,
    process::Section,
};

/// The name of a run's first transaction.
const FIRST: &str = "t1";

/// A change that is in the tree, and is to be verified.
pub struct Committed {
    /// The name of its transaction; none if it changes nothing.
    transaction: Option<String>,
    /// How many transactions of the run stood before it.
    first: usize,
}

impl Permitted<'_> {
    /// Writes the change to the tree, all or nothing, and records it. Its confirmations count no more, whatever becomes of it.
    pub fn commit(self, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) -> Result<Committed, Error> {
        let (submitted, leave) = self.into_parts();
        let changes = submitted.changes;
        let _span = span!("commit", files = changes.len()).entered();
        proof.prepare(pipeline, leave.waited)?;
        let first = pipeline.ledger.transactions.len();
        if changes.is_empty() && !proof.verifies_empty() {
            return Ok(Committed { transaction: None, first });
        }
        pipeline.asking().use_up(leave)?;
        if changes.is_empty() {
            return Ok(Committed { transaction: None, first });
        }
        let Pipeline { ledger, recorder, position, .. } = pipeline;
        let transaction =
            ledger.commit(recorder, position, submitted, proof.reply().zip(Some(proof.replies_with_contents())))?;
        Ok(Committed { transaction: Some(transaction), first })
    }
}

impl Committed {
    /// A change that stands although its call was never answered: a former session of the run committed it.
    pub(crate) fn recalled(ledger: &Ledger<'_>, standing: &Transacted) -> Self {
        let first = ledger.transactions.iter().position(|one| one.transaction == standing.transaction);
        Committed { transaction: Some(standing.transaction.clone()), first: first.unwrap_or(ledger.transactions.len()) }
    }

    pub(super) fn transaction(&self) -> Option<&str> {
        self.transaction.as_deref()
    }

    pub(super) fn first(&self) -> usize {
        self.first
    }
}

/// Returns the manifest and the patch of a transaction's pack. The hashes of the entries cover the pre-images.
pub(crate) fn pack_files(folder: &RunFolder, transaction: &str) -> Result<Vec<FileRef>, Error> {
    let file = |name| folder.file_ref(&format!("packs/{transaction}/{name}"));
    Ok(vec![file("manifest.json")?, file("patch")?])
}

impl Ledger<'_> {
    /// Adds path prefixes to the run's lock; a run that died holding one is recovered first.
    pub(crate) fn lock(&mut self, run: &Terms<'_>, prefixes: &[String]) -> Result<(), Error> {
        let context = self.context;
        let locks = context.locks();
        let Some(lease) = &mut self.lease else {
            return Err(Error::new(Code::Internal, "the run has no lease"));
        };
        let wait = Wait { limit_ms: run.policy.settings().run.lock_wait_ms, cancel: run.deadline.stop() };
        let mut bury = |dead: &str| {
            let Some(lease) = locks.lease(dead)? else { return Ok(()) };
            Recovery::of(context, dead, lease, true)?.check()
        };
        lease.acquire(prefixes, wait, &mut bury)
    }

    /// Gives up the claims that no standing change of the run needs.
    pub(crate) fn unlock_untouched(&mut self) -> Result<(), Error> {
        let entries = self.transactions.iter().flat_map(|transaction| &transaction.entries);
        let changed: Vec<String> = entries.map(|entry| entry.path.to_string()).collect();
        self.lease.as_mut().map_or(Ok(()), |lease| lease.reduce(&changed))
    }

    /// Writes a change to the tree, all or nothing, and records it. The caller holds the lock.
    ///
    /// `reply` is what the call will reply if the change stands, and true if it holds texts of files: should the run die, it is
    /// answered with that.
    fn commit(
        &mut self,
        recorder: &mut Recorder<'_>,
        position: &Position,
        Submitted { changes, patch, .. }: Submitted<'_>,
        reply: Option<(&Value, bool)>,
    ) -> Result<String, Error> {
        let patch = patch.bytes.as_slice();
        recorder.room(patch.len() as u64)?;
        let name = self.next_transaction();
        if let Some((reply, is_content)) = reply {
            let prepared = Prepared { transaction: name.clone(), reply: recorder.packed(reply, is_content)? };
            recorder.note_as_is(Note::at(position.as_str(), Event::Prepared(prepared.into())))?;
        }
        let transaction = Transaction { patch, ..self.transaction(position.as_str(), &name) };
        let _section = self.transact(&recorder.folder, &transaction, &Target::of(changes))?;
        self.reached_tree = true;
        let entries = changes.entries();
        if let Err(error) = settle(recorder, position.as_str(), Event::Committed, &name, &entries) {
            // Nobody would know how to undo what is not in the record.
            let revoked = journal_of(recorder).revoke(&name);
            return Err(match revoked {
                Ok(recovered) => {
                    // If not even this can be written, the record does not know of the change at all.
                    let foreign = recovered.foreign.clone();
                    let event = Event::Revoked(Revoked { transaction: name, entries: None, foreign }.into());
                    if let Err(second) = recorder.note(Note::at(position.as_str(), event)) {
                        tracing::warn!("{second}");
                    }
                    if recovered.foreign.is_empty() { error } else { error.detail("files", json!(recovered.foreign)) }
                }
                Err(second) => {
                    // With its mark the change stands, whatever the record says.
                    if journal::is_committed(recorder.folder.path(), &name) {
                        self.transactions.push(Transacted { transaction: name, entries });
                    }
                    error.detail("undo_error", second.message()).hint("run `nrv recover` when the cause is gone")
                }
            });
        }
        self.transactions.push(Transacted { transaction: name.clone(), entries });
        Ok(name)
    }

    /// One transaction in this run's folder, fenced by its lease. What is given holds off who wants the process to end, from the
    /// first file that is replaced on.
    pub(super) fn transact(
        &self,
        folder: &RunFolder,
        transaction: &Transaction<'_>,
        targets: &[Target<'_>],
    ) -> Result<Section, Error> {
        if transaction.name == FIRST {
            self.context.runs.sync_leases()?;
        }
        let (lease, options) = (self.lease.as_ref(), &self.context.options);
        let section = options.critical.section();
        let before_commit = || {
            section.enter();
            lease.map_or(Ok(()), |lease| lease.check())
        };
        let journal = Journal::new(&self.context.workspace, folder.path()).with_stop(&options.cancel);
        journal.apply(transaction, targets, &before_commit).map(|()| section)
    }

    pub(super) fn transaction<'t>(&'t self, position: &'t str, name: &'t str) -> Transaction<'t> {
        let threads = self.context.options.threads;
        Transaction { name, position, patch: b"", undoes: false, threads }
    }

    /// A name that no transaction of the run has had.
    pub(crate) fn next_transaction(&mut self) -> String {
        self.transaction_count += 1;
        format!("t{}", self.transaction_count)
    }
}

/// The event of a transaction's outcome.
type Outcome = fn(Box<record::event::Transaction>) -> Event;

/// Records a transaction's outcome durably, then takes it out of the journal.
pub(super) fn settle(
    recorder: &mut Recorder<'_>,
    position: &str,
    event: Outcome,
    name: &str,
    entries: &[Entry],
) -> Result<(), Error> {
    let settled = record::event::Transaction { transaction: name.to_owned(), entries: entries.to_vec(), foreign: None };
    let files = pack_files(&recorder.folder, name)?;
    recorder.note(Note::at(position, event(settled.into())).with_files(files))?;
    recorder.sync()?;
    // The outcome is known now; what is left of the entry is recovery's to clear.
    if let Err(error) = journal_of(recorder).settle(name) {
        tracing::warn!("the journal's entry stays for now: {error}");
    }
    Ok(())
}

fn journal_of<'j>(recorder: &'j Recorder<'_>) -> Journal<'j> {
    Journal::new(&recorder.context.workspace, recorder.folder.path())
}
