//! Confirmations of a run: each is bound to what was shown, granted once and used once.
//!
//! The chain of events holds the state of each confirmation.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    patch::Patch,
    subject::{CONFIRM, DTA_APPLY, Subject},
};
use crate::change::subject::BoundFile;
use base::{
    change::ChangeSet,
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
    text::escape,
};
use record::{
    Pack, Record, RunFolder,
    event::{Confirmation, Question, Status, Stored},
};

/// The data to which a confirmation is bound. A person reads and signs its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bound {
    /// `c1`, `c2`, …
    pub(crate) id: String,
    /// The run that asks.
    pub(crate) run: String,
    /// The text of the question.
    pub(crate) label: String,
    /// The call that asks, which policy may grant by its name.
    pub(crate) kind: String,
    /// A proposal's id, or the hash of a value.
    pub(crate) subject: String,
    /// The hash of the change as a patch; of nothing if the subject is no change.
    pub(crate) patch_sha256: Sha256,
    /// The hash of the policy under which it was asked.
    pub(crate) policy_sha256: Sha256,
    /// The files of the change, with what they were. Their names are shown without secrets.
    pub(crate) files: Vec<BoundFile<String>>,
    /// The name of the exact list in the pack, if the one above lacks a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files_exact: Option<Stored>,
    /// When it was asked.
    pub(crate) asked_at: String,
    /// From when on it counts no more.
    pub(crate) expires_at: String,
}

impl Bound {
    /// The bytes of its file, which an approver signs.
    pub(crate) fn text(&self) -> Result<Vec<u8>, Error> {
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }

    /// Returns the data of its event, without anything that differs from run to run.
    pub(crate) fn data(&self) -> Confirmation {
        Confirmation {
            id: self.id.clone(),
            label: self.label.clone(),
            kind: self.kind.clone(),
            subject: self.subject.clone(),
            patch_sha256: Some(self.patch_sha256.into()),
            policy_sha256: Some(self.policy_sha256.into()),
            ..Confirmation::default()
        }
    }

    /// True from the moment on at which it counts no more. Of one form, moments compare as their texts do.
    pub(crate) fn has_expired(&self, now: &str) -> bool {
        now >= self.expires_at.as_str()
    }

    /// True if it was asked for exactly that. A script may confirm a proposal before it is applied; else nothing is confirmed by what was
    /// asked as something other: a value of a script can be made to have the hash of what gates object to.
    fn answers(&self, asked: &Subject) -> bool {
        let is_kind = self.kind == asked.kind || (self.kind == CONFIRM && asked.kind == DTA_APPLY);
        is_kind && self.patch_sha256 == Sha256::of(&asked.patch.bytes)
    }

    /// True if it is about that subject, under this policy, and still in time.
    fn counts_for(&self, subject: &str, policy: Sha256, now: &str) -> bool {
        self.subject == subject && self.policy_sha256 == policy && !self.has_expired(now)
    }

    /// The files of the change, by their own names; `record_damaged` if the list is not in the pack.
    pub(crate) fn exact_files(&self, pack: &Pack) -> Result<Vec<BoundFile>, Error> {
        let files = match &self.files_exact {
            Some(exact) => pack.value(exact)?,
            None => json!(self.files),
        };
        serde_json::from_value(files).map_err(|error| {
            let message = format!("the files of the confirmation `{}` can't be read: {error}", escape(&self.id));
            Error::new(Code::RecordDamaged, message)
        })
    }

    /// True if its list shows just these files, by their own names.
    pub(crate) fn names(&self, files: &[BoundFile]) -> bool {
        let is_same = |(shown, file): (&BoundFile<String>, &BoundFile)| {
            (shown.path.as_str(), shown.before) == (file.path.as_str(), file.before)
        };
        self.files.len() == files.len() && self.files.iter().zip(files).all(is_same)
    }

    /// The path of its file in the run's folder.
    pub(crate) fn file(&self) -> String {
        file(&self.id)
    }

    /// The path of a signature over its file.
    pub(crate) fn signature(&self) -> String {
        format!("{}.sig", self.file())
    }
}

/// The files of a change with what they are.
pub(crate) fn files_before(changes: &ChangeSet) -> Vec<BoundFile> {
    let file = |entry: base::change::Entry| BoundFile { path: entry.path, before: entry.before.map(|was| was.sha256) };
    changes.entries().into_iter().map(file).collect()
}

fn file(id: &str) -> String {
    format!("confirmations/{id}.json")
}

/// How a confirmation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody has answered yet.
    Pending,
    /// Somebody said yes, and nothing was done upon it yet.
    Granted {
        /// Who.
        by: String,
    },
    /// The granted action was begun.
    Used,
    /// Somebody said no.
    Refused,
}

/// A confirmation that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) bound: Bound,
    pub(crate) standing: Standing,
    /// The call that asked.
    pub(crate) position: String,
    /// True if the run waited for the answer, with the patch beside the question.
    pub(crate) was_put_off: bool,
}

/// The confirmations of a run.
#[derive(Debug, Default)]
pub(crate) struct Confirmations {
    asked: u64,
    tokens: BTreeMap<String, Token>,
    /// Kinds of which a person has granted all that are still to come.
    all: BTreeSet<String>,
    /// The questions that an applying run would have asked.
    would_ask: Vec<Question>,
    /// Of these the subjects that `nrv.gate.confirm` asked about and that were not used.
    promised: BTreeSet<String>,
    /// The edits of files that were shown and confirmed since this process began or resumed the run.
    shown: BTreeSet<(RepoPath, Sha256)>,
}

impl Confirmations {
    /// The confirmations as the chain tells; `record_damaged` if a file is not what an event says.
    pub(crate) fn restore(records: &[Record], folder: &RunFolder) -> Result<Self, Error> {
        let mut confirmations = Confirmations::default();
        for record in records {
            if let Some(end) = record.event.run_suspended() {
                confirmations.would_ask.clone_from(&end.would_ask);
            }
            let Some((status, asked)) = record.event.confirmation() else { continue };
            let standing = match status {
                Status::Pending => Standing::Pending,
                Status::Granted => Standing::Granted { by: asked.by.clone().unwrap_or_default() },
                Status::Used => Standing::Used,
                Status::Refused => Standing::Refused,
            };
            let bound = read(record, asked, folder)?;
            match confirmations.tokens.get_mut(&bound.id) {
                Some(token) => token.standing = standing,
                None => confirmations.keep(bound, standing, record.position.clone()),
            }
        }
        let numbers = confirmations.tokens.keys().filter_map(|id| id.strip_prefix('c')?.parse().ok());
        confirmations.asked = numbers.max().unwrap_or(0);
        Ok(confirmations)
    }

    /// The id of the next one.
    pub(crate) fn next_id(&mut self) -> String {
        self.asked += 1;
        format!("c{}", self.asked)
    }

    /// Takes in one that was asked for.
    pub(crate) fn keep(&mut self, bound: Bound, standing: Standing, position: String) {
        let was_put_off = standing == Standing::Pending;
        self.tokens.insert(bound.id.clone(), Token { bound, standing, position, was_put_off });
    }

    /// Changes how one stands.
    pub(crate) fn set(&mut self, id: &str, standing: Standing) {
        if let Some(token) = self.tokens.get_mut(id) {
            token.standing = standing;
        }
    }

    /// One by its id.
    pub(crate) fn get(&self, id: &str) -> Option<&Token> {
        self.tokens.get(id)
    }

    /// One that was granted for a subject and not used: under this policy, and still in time.
    pub(crate) fn granted(&self, subject: &Subject, policy: Sha256, now: &str) -> Option<&Bound> {
        let granted = self.tokens.values().filter(|token| matches!(token.standing, Standing::Granted { .. }));
        let mut bound = granted.map(|token| &token.bound);
        bound.find(|bound| bound.answers(subject) && bound.counts_for(&subject.id, policy, now))
    }

    /// The id of what the call at this position asked about a subject, and who granted it; none if nobody did, or if it was used.
    pub(crate) fn granted_at(&self, position: &str, subject: &str, policy: Sha256, now: &str) -> Option<(&str, &str)> {
        self.tokens.values().find_map(|Token { bound, standing, position: asked, .. }| match standing {
            Standing::Granted { by } => (asked == position && bound.counts_for(subject, policy, now))
                .then_some((bound.id.as_str(), by.as_str())),
            Standing::Pending | Standing::Used | Standing::Refused => None,
        })
    }

    /// The same question, asked by the same call before and not answered yet.
    pub(crate) fn asked_before(&self, position: &str, question: &Bound) -> Option<&Bound> {
        let is_it = |bound: &Bound| {
            bound.counts_for(&question.subject, question.policy_sha256, &question.asked_at)
                && (&bound.label, &bound.kind) == (&question.label, &question.kind)
                && bound.patch_sha256 == question.patch_sha256
                && (&bound.files, &bound.files_exact) == (&question.files, &question.files_exact)
        };
        let pending = self.tokens.values().filter(|token| token.standing == Standing::Pending);
        pending.filter(|token| token.position == position).map(|token| &token.bound).find(|bound| is_it(bound))
    }

    /// Returns the confirmation for which the call at this position asked, with this label and the same kind, patch and files.
    pub(crate) fn asked_as(&self, position: &str, subject: &Subject, label: &str) -> Option<&Bound> {
        let here = self.tokens.values().filter(|token| token.position == position).map(|token| &token.bound);
        here.filter(|bound| bound.kind == subject.kind && bound.label == label && bound.names(&subject.files))
            .find(|bound| bound.patch_sha256 == Sha256::of(&subject.patch.bytes))
    }

    /// The one of that id that nobody has answered; `not_approved` says why there is none.
    pub(crate) fn pending(&self, id: &str) -> Result<&Token, Error> {
        let refuse = |what: &str| {
            let error = Error::new(Code::NotApproved, format!("the confirmation `{}` {what}", escape(id)));
            error.detail("confirmation", id)
        };
        let Some(token) = self.tokens.get(id) else {
            let pending = self.tokens.values().filter(|token| token.standing == Standing::Pending);
            let pending: Vec<String> = pending.map(|token| format!("`{}`", token.bound.id)).collect();
            return Err(refuse("was not asked for in this run").hint(match pending.len() {
                0 => "no confirmation is waited for; `nrv resume RUN` goes on without one".to_owned(),
                _ => format!("the run waits for {}", pending.join(", ")),
            }));
        };
        match &token.standing {
            Standing::Pending => Ok(token),
            Standing::Granted { .. } => {
                Err(refuse("was granted already").hint("`nrv resume RUN` goes on; it needs no other approval"))
            }
            Standing::Used => Err(refuse("was used already").hint("an approval counts once")),
            Standing::Refused => Err(refuse("was refused already").hint("start the run again to be asked again")),
        }
    }

    /// A person grants all of a kind that are still to come.
    pub(crate) fn grant_all(&mut self, kind: &str) {
        self.all.insert(kind.to_owned());
    }

    /// True if a person has granted all of a kind.
    pub(crate) fn are_all_granted(&self, kind: &str) -> bool {
        self.all.contains(kind)
    }

    /// Notes what would be asked if this were no dry run, and that it would be refused if nobody is asked then.
    pub(crate) fn note_would_ask(&mut self, label: &str, subject: &str, refused: bool) {
        self.would_ask.push(Question { label: label.to_owned(), subject: subject.to_owned(), refused });
    }

    /// Notes edits that were shown and confirmed.
    pub(crate) fn show(&mut self, edits: BTreeSet<(RepoPath, Sha256)>) {
        self.shown.extend(edits);
    }

    /// True if each file's edit of a patch was shown and confirmed.
    pub(crate) fn has_shown(&self, patch: &Patch) -> bool {
        let edits = patch.edits();
        edits.len() == patch.stats.len() && edits.is_subset(&self.shown)
    }

    /// Takes a subject of a dry run as confirmed.
    pub(crate) fn promise(&mut self, subject: &str) {
        self.promised.insert(subject.to_owned());
    }

    /// Uses up what a dry run takes as confirmed; false if it does not.
    pub(crate) fn use_promise(&mut self, subject: &str) -> bool {
        self.promised.remove(subject)
    }

    /// Returns the questions that an applying run would have asked.
    pub(crate) fn would_ask(&self) -> &[Question] {
        &self.would_ask
    }
}

/// The confirmation that an event is about: its file, as the event names it.
pub(crate) fn read(record: &Record, asked: &Confirmation, folder: &RunFolder) -> Result<Bound, Error> {
    let id = asked.id.as_str();
    let damaged = |what: &str| {
        Error::new(Code::RecordDamaged, format!("the confirmation `{}` {what} (record {})", escape(id), record.seq))
            .hint(format!("`nrv runs verify {}` names everything", folder.id()))
    };
    let path = file(id);
    let named = record.files.iter().find(|file| file.path == path).ok_or_else(|| damaged("has no file"))?;
    let bytes = folder.read(&path)?;
    if Sha256::of(&bytes) != named.sha256 {
        return Err(damaged("was altered"));
    }
    let bound: Bound = serde_json::from_slice(&bytes).map_err(|_| damaged("can't be read"))?;
    // Whoever signs the file signs what is read here.
    if bound.text()? != bytes {
        return Err(damaged("is written otherwise than this version writes it"));
    }
    if bound.run != folder.id() || bound.id != id {
        return Err(damaged("is that of another run or question"));
    }
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::patch::Patch;
    use record::{Chain, Note, Runs, event::Event};

    fn bound(run: &RunFolder, id: &str) -> Bound {
        Bound {
            id: id.to_owned(),
            run: run.id().to_owned(),
            label: "apply".to_owned(),
            kind: "apply".to_owned(),
            subject: format!("subject of {id}"),
            patch_sha256: Sha256::of(b""),
            policy_sha256: Sha256::of(b"policy"),
            files: Vec::new(),
            files_exact: None,
            asked_at: "2026-11-21T20:20:00.000Z".to_owned(),
            expires_at: "2026-11-28T20:20:00.000Z".to_owned(),
        }
    }

    type Told = fn(Box<Confirmation>) -> Event;

    /// A run in which these events happened to confirmations.
    fn recorded(events: &[(Told, &str)]) -> (tempfile::TempDir, RunFolder) {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let mut chain = Chain::open(&run).unwrap();
        for (event, id) in events {
            let bound = bound(&run, id);
            run.write(&bound.file(), &bound.text().unwrap()).unwrap();
            let data = Confirmation { by: Some("alice".to_owned()), ..bound.data() };
            let files = vec![run.file_ref(&bound.file()).unwrap()];
            let note = Note::at("3", event(data.into())).with_files(files);
            chain.append("t".to_owned(), note.draft().unwrap()).unwrap();
        }
        (folder, run)
    }

    fn restored(run: &RunFolder) -> Result<Confirmations, Error> {
        Confirmations::restore(&run.records().unwrap(), run)
    }

    #[test]
    fn the_chain_tells_how_each_stands() {
        let (_folder, run) = recorded(&[
            (Event::ConfirmationGranted, "c1"),
            (Event::ConfirmationUsed, "c1"),
            (Event::ConfirmationGranted, "c2"),
            (Event::ConfirmationRefused, "c3"),
            (Event::ConfirmationPending, "c10"),
        ]);
        let mut confirmations = restored(&run).unwrap();
        let policy = Sha256::of(b"policy");
        let granted = |subject: &str, policy, now: &str| {
            confirmations.granted(&subject_of(subject, "apply", b""), policy, now).map(|bound| bound.id.clone())
        };
        let now = "2026-11-22T00:00:00.000Z";
        assert_eq!(granted("subject of c2", policy, now), Some("c2".to_owned()));
        assert_eq!(granted("subject of c1", policy, now), None);
        assert_eq!(granted("subject of c2", Sha256::of(b"other"), now), None);
        assert_eq!(granted("subject of c2", policy, "2026-11-28T20:20:00.000Z"), None);
        for (id, words) in [("c1", "used"), ("c2", "granted"), ("c3", "refused"), ("c4", "not asked for")] {
            let error = confirmations.pending(id).unwrap_err();
            assert!(error.code() == Code::NotApproved && error.message().contains(words), "{error}");
        }
        assert_eq!(confirmations.pending("c10").unwrap().position, "3");
        assert_eq!(confirmations.pending("c11").unwrap_err().hint_text(), Some("the run waits for `c10`"));
        assert_eq!(confirmations.next_id(), "c11");
    }

    fn subject_of(id: &str, kind: &'static str, patch: &[u8]) -> Subject {
        let mut shown = Patch::default();
        shown.bytes = patch.to_vec();
        Subject {
            id: id.to_owned(),
            kind,
            label: "l".to_owned(),
            shown: json!(null),
            patch: shown,
            files: Vec::new(),
            empty: false,
        }
    }

    #[test]
    fn what_was_asked_as_something_other_confirms_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let granted = Bound { kind: CONFIRM.to_owned(), patch_sha256: Sha256::of(b"patch"), ..bound(&run, "c1") };
        let check = |kind, patch: &[u8]| granted.answers(&subject_of("subject of c1", kind, patch));
        assert!(check(CONFIRM, b"patch") && check(DTA_APPLY, b"patch"));
        assert!(!check("gates", b"patch") && !check("apply", b"patch") && !check("uncertain", b"patch"));
        assert!(!check(DTA_APPLY, b"other") && !check(CONFIRM, b""));
    }

    #[test]
    fn a_file_that_was_edited_is_believed_no_more() {
        let (_folder, run) = recorded(&[(Event::ConfirmationPending, "c1")]);
        assert!(restored(&run).is_ok());
        let longer = Bound { expires_at: "9999-11-28T20:20:00.000Z".to_owned(), ..bound(&run, "c1") };
        run.write("confirmations/c1.json", &longer.text().unwrap()).unwrap();
        assert_eq!(restored(&run).unwrap_err().code(), Code::RecordDamaged);
        run.write("confirmations/c1.json", b"{}").unwrap();
        assert_eq!(restored(&run).unwrap_err().code(), Code::RecordDamaged);
    }
}
