//! From a change set to the tree: gates, budget, lock, transaction, record.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::patch::Patch;
use crate::{
    base::{
        change::{ChangeSet, Content, Entry},
        diff::Stat,
        error::{Code, Error},
        hash::Sha256,
    },
    host::{
        Host, Position, Recovery, Sink,
        call::attempt::{Aside, PUT_BACK, SET_ASIDE, names},
        life::outcome::unverified,
    },
    record::{FileRef, Note, RunFolder},
    service::{
        adapter::{Adapter, Adapters},
        gate::{self, Domain, Subject, Text, Verdict},
    },
    system::{
        journal::{self, Journal, Target, Transaction},
        lock::Wait,
        policy::Policy,
        process::Section,
    },
};

/// The name of a run's first transaction.
const FIRST: &str = "t1";

/// A transaction of the run, as far as undoing it needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::host) struct Committed {
    /// The transaction's name.
    pub(in crate::host) transaction: String,
    /// Its files.
    pub(in crate::host) entries: Vec<Entry>,
}

/// Why changes of a run are taken back, or put back.
#[derive(Clone, Copy)]
pub(in crate::host) enum Reason<'a> {
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
    /// The kind and data of the record that says it, before the transaction that does it.
    pub(in crate::host) fn record(&self, transaction: &str, of: &Value) -> (&'static str, Value) {
        let mut data = json!({"transaction": transaction, "of": of});
        let kind = match self {
            Reason::Failed => return ("undoing", data),
            Reason::Attempt(attempt) => {
                data["attempt"] = json!(attempt);
                "undoing"
            }
            Reason::SetAside(attempt) => {
                data["attempt"] = json!(attempt);
                SET_ASIDE
            }
            Reason::PutBack(aside) => {
                data["attempt"] = json!(aside.attempt);
                data["aside"] = json!(aside.undo.transaction);
                PUT_BACK
            }
        };
        (kind, data)
    }
}

/// What a record says of the files that a transaction brings back.
pub(in crate::host) fn restored_entries(targets: &[Target<'_>]) -> Vec<Entry> {
    let entry = |target: &Target<'_>| Entry {
        path: target.path.clone(),
        before: target.before,
        after: target.after.map(Content::stamp),
    };
    targets.iter().map(entry).collect()
}

/// A change that gates are to judge.
#[derive(Clone, Copy)]
pub(in crate::host) struct Submitted<'a> {
    pub(in crate::host) adapter: Option<&'a str>,
    pub(in crate::host) patch: &'a Patch,
    /// Where in the run's folder the patch stands, unless it shows a secret there.
    pub(in crate::host) file: Option<&'a str>,
}

/// What a transaction's pack says of it; the pre-images are covered by the hashes of the entries.
pub(in crate::host) fn pack_files(folder: &RunFolder, transaction: &str) -> Result<Vec<FileRef>, Error> {
    let file = |name| folder.file_ref(&format!("packs/{transaction}/{name}"));
    Ok(vec![file("manifest.json")?, file("patch")?])
}

fn owned(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

/// The files of each adapter. Whose files they are matters only if nobody else may change them.
pub(in crate::host) fn domains(adapters: &Adapters, policy: &Policy, adapter: Option<&str>) -> Vec<Domain> {
    let strict = policy.settings().adapters.strict_tools && adapter.is_none();
    let domain = |one: &&'_ dyn Adapter| Domain { adapter: one.name().to_owned(), globs: owned(&one.domain()) };
    adapters.all().iter().filter(|_| strict).map(domain).collect()
}

impl Host<'_> {
    /// Judges a change, with the adapter that proposed it if one did. Nothing is written, and nothing is paid for yet.
    pub(in crate::host) fn admit(
        &mut self,
        position: &Position,
        submitted: Submitted<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Verdict, Error> {
        let Submitted { adapter, patch, .. } = submitted;
        let verdict = self.judge(adapter, &patch.stats, &patch.texts());
        self.note_judged(position, submitted, &verdict)?;
        self.heed(&verdict, sink)?;
        Ok(verdict)
    }

    /// Records what the gates said of a change, with the change, so that they can be asked again.
    pub(in crate::host) fn note_judged(
        &mut self,
        position: &Position,
        submitted: Submitted<'_>,
        verdict: &Verdict,
    ) -> Result<(), Error> {
        let Submitted { adapter, patch, file } = submitted;
        let sha256 = Sha256::of(&patch.bytes);
        let written = match file {
            Some(path) => Some(self.folder.file_ref(path)?).filter(|file| file.sha256 == sha256),
            None => None,
        };
        let place = match &written {
            Some(file) => json!(file),
            None => self.kept_bytes(&patch.bytes)?,
        };
        let files = self.packed(&patch.rows(), false)?;
        let data = json!({
            "adapter": adapter, "files": files, "patch": place, "run_lines_so_far": self.budget.lines(),
            "decision": verdict.decision, "results": verdict.remarks().collect::<Vec<_>>(),
        });
        self.note(Note { position: position.to_string(), kind: "judged", data, ..Note::default() })
    }

    /// What the gates say of a change.
    pub(in crate::host) fn judge(&self, adapter: Option<&str>, files: &[Stat], texts: &[Text<'_>]) -> Verdict {
        let domains = domains(&self.context.options.adapters, &self.policy, adapter);
        let subject =
            Subject::Changes { files, texts, run_lines_so_far: self.budget.lines(), adapter, domains: &domains };
        gate::decide(&subject, &self.policy, &self.rules)
    }

    /// Adds path prefixes to the run's lock; a run that died holding one is recovered first.
    pub(in crate::host) fn lock(&mut self, prefixes: &[String]) -> Result<(), Error> {
        let context = self.context;
        let locks = context.locks();
        let Some(lease) = &mut self.lease else {
            return Err(Error::new(Code::Internal, "the run has no lease"));
        };
        let wait = Wait { limit_ms: self.policy.settings().run.lock_wait_ms, cancel: self.deadline.stop() };
        let mut bury = |run: &str| {
            let Some(lease) = locks.lease(run)? else { return Ok(()) };
            Recovery::of(context, run, (lease, true))?.check()
        };
        lease.acquire(prefixes, wait, &mut bury)
    }

    /// Gives up the claims that no standing change of the run needs.
    pub(in crate::host) fn unlock_untouched(&mut self) -> Result<(), Error> {
        let entries = self.transactions.iter().flat_map(|transaction| &transaction.entries);
        let changed: Vec<String> = entries.map(|entry| entry.path.to_string()).collect();
        self.lease.as_mut().map_or(Ok(()), |lease| lease.reduce(&changed))
    }

    /// Writes a change to the tree, all or nothing, and records it. The caller holds the lock.
    ///
    /// `reply` is what the call will reply if the change stands: should the run die, it is answered with that.
    pub(in crate::host) fn commit(
        &mut self,
        position: &Position,
        changes: &ChangeSet,
        patch: &[u8],
        reply: Option<&Value>,
    ) -> Result<String, Error> {
        self.room(patch.len() as u64)?;
        let name = self.next_transaction();
        if let Some(reply) = reply {
            let data = json!({"transaction": name, "reply": self.packed(reply, false)?});
            self.note_as_is(Note { position: position.to_string(), kind: "prepared", data, ..Note::default() })?;
        }
        let transaction = Transaction { patch, ..self.transaction(position.as_str(), &name) };
        let _section = self.transact(&transaction, &Target::of(changes))?;
        self.reached_tree = true;
        let entries = changes.entries();
        if let Err(error) = self.settle(position.as_str(), "committed", &name, entries.clone()) {
            // Nobody would know how to undo what is not in the record.
            let revoked = self.journal().revoke(&name);
            return Err(match revoked {
                Ok(recovered) => {
                    let data = json!({"transaction": name, "foreign": recovered.foreign});
                    // If not even this can be written, the record does not know of the change at all.
                    let note = Note { position: position.to_string(), kind: "revoked", data, ..Note::default() };
                    if let Err(second) = self.note(note) {
                        tracing::warn!("{second}");
                    }
                    if recovered.foreign.is_empty() { error } else { error.detail("files", json!(recovered.foreign)) }
                }
                Err(second) => {
                    // With its mark the change stands, whatever the record says.
                    if journal::is_committed(self.folder.path(), &name) {
                        self.transactions.push(Committed { transaction: name, entries });
                    }
                    error.detail("undo_error", second.message()).hint("run `nrv recover` when the cause is gone")
                }
            });
        }
        self.transactions.push(Committed { transaction: name.clone(), entries });
        Ok(name)
    }

    /// One transaction in this run's folder, fenced by its lease. What is given holds off who wants the process to end, from the
    /// first file that is replaced on.
    fn transact(&self, transaction: &Transaction<'_>, targets: &[Target<'_>]) -> Result<Section, Error> {
        if transaction.name == FIRST {
            self.context.runs.sync_leases()?;
        }
        let (lease, options) = (self.lease.as_ref(), &self.context.options);
        let section = options.critical.section();
        let before_commit = || {
            section.enter();
            lease.map_or(Ok(()), |lease| lease.check())
        };
        let journal = self.journal().with_stop(&options.cancel);
        journal.apply(transaction, targets, &before_commit).map(|()| section)
    }

    fn journal(&self) -> Journal<'_> {
        Journal::new(&self.context.workspace, self.folder.path())
    }

    fn transaction<'t>(&'t self, position: &'t str, name: &'t str) -> Transaction<'t> {
        let threads = self.context.options.threads;
        Transaction { name, position, patch: b"", undoes: false, threads }
    }

    /// Records a transaction's outcome durably, then takes it out of the journal.
    pub(in crate::host) fn settle(
        &mut self,
        position: &str,
        kind: &'static str,
        name: &str,
        entries: Vec<Entry>,
    ) -> Result<(), Error> {
        let data = json!({"transaction": name, "entries": entries});
        let files = pack_files(&self.folder, name)?;
        self.note(Note { position: position.to_owned(), kind, data, files, ..Note::default() })?;
        self.sync()?;
        // The outcome is known now; what is left of the entry is recovery's to clear.
        if let Err(error) = self.journal().settle(name) {
            tracing::warn!("the journal's entry stays for now: {error}");
        }
        Ok(())
    }

    /// Undoes the run's transactions from this one on, in one transaction of their own.
    pub(in crate::host) fn undo(&mut self, from: usize) -> Result<(), Error> {
        self.undone += self.take_back(from, &Reason::Failed)?;
        Ok(())
    }

    /// Undoes what could not be verified; the error, with what came of that. If it can't be undone, it stands, and the run can't be done.
    pub(in crate::host) fn undo_unverified(&mut self, from: usize, error: Error) -> Error {
        match self.undo(from) {
            Ok(()) => error.detail("undone", true),
            Err(undo) => {
                let standing = self.transactions.get(from..).unwrap_or_default();
                self.unproven.extend(standing.iter().map(|one| one.transaction.clone()));
                undo.detail("cause", error.message())
            }
        }
    }

    /// An error if a change stands that was not verified, whatever became of the error that said so.
    pub(in crate::host) fn refuse_unproven(&mut self) -> Result<(), Error> {
        // What a former session could not verify stands in the record.
        if self.past.is_some() && !self.transactions.is_empty() {
            self.sync()?;
            self.unproven = unverified(&self.folder.records()?);
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
    pub(in crate::host) fn take_back(&mut self, from: usize, reason: &Reason<'_>) -> Result<usize, Error> {
        let undone = self.transactions.split_off(from.min(self.transactions.len()));
        if undone.is_empty() {
            return Ok(0);
        }
        // What is to be taken back is, however long that takes: nobody else would do it.
        let _section = self.context.options.critical.entered();
        let result = crate::host::life::rollback::restore_targets(&self.folder, &undone, false)
            .and_then(|mut restored| restored.check_current(self.context).map(|()| restored))
            .and_then(|restored| self.undo_targets(&restored, Some((reason, json!(names(&undone))))));
        match result {
            Ok(restored) => Ok(restored.entries.len()),
            Err(error) => {
                self.transactions.extend(undone);
                Err(error)
            }
        }
    }

    /// A name that no transaction of the run has had.
    pub(in crate::host) fn next_transaction(&mut self) -> String {
        self.transaction_count += 1;
        format!("t{}", self.transaction_count)
    }

    /// Brings files back in a transaction of its own.
    ///
    /// With it goes why, and the names of the changes of this run that it is about.
    pub(in crate::host) fn undo_targets(
        &mut self,
        restored: &crate::host::life::rollback::Restored,
        own: Option<(&Reason<'_>, Value)>,
    ) -> Result<Committed, Error> {
        let name = self.next_transaction();
        if let Some((reason, of)) = own {
            let (kind, data) = reason.record(&name, &of);
            match (self.note(Note { kind, data, ..Note::default() }), reason) {
                // What can't be recorded is undone all the same.
                (Err(error), Reason::Failed) => tracing::warn!("{error}"),
                (recorded, _) => recorded?,
            }
        }
        let targets = restored.targets();
        let transaction = Transaction { undoes: true, ..self.transaction("", &name) };
        let _section = self.transact(&transaction, &targets)?;
        let entries = restored_entries(&targets);
        if let Err(error) = self.settle("", "undone", &name, entries.clone()) {
            // The tree is as it should be, and the journal keeps the outcome until recovery can record it.
            tracing::warn!("the undoing is not recorded yet: {error}");
        }
        Ok(Committed { transaction: name, entries })
    }
}
