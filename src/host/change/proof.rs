//! Grants of former sessions, proven again: a record may come from somebody else, with a repository or an archive.
//!
//! A signature proves itself, and the policy says what it grants. That a person said yes, on a terminal or by a flag, only a record
//! shows that was made here. What is not proven is asked again. And what people were shown of a change has to be that change.

use serde_json::json;

use super::{
    approver::approver,
    confirm::{Asking, grants},
    confirmations::{Bound, Confirmations, Standing},
    subject::{LOCK, POLICY, Subject},
};
use crate::{Context, recorder::Recorder, terms::Terms};
use base::error::{Code, Error};
use record::{Record, RunFolder, event::Event};
use system::{journal, policy::ConfirmMode};

/// Where a run's record is made: the inodes of the workspace and of the run's folder, which nobody knows beforehand.
pub(crate) fn place(context: &Context, folder: &RunFolder) -> Result<[u64; 2], Error> {
    journal::place(&context.workspace, folder.path())
}

/// True if the session to which the last of these records belongs was made in this workspace, and in this folder.
pub(crate) fn is_own(context: &Context, folder: &RunFolder, records: &[Record]) -> Result<bool, Error> {
    let begun = |record: &Record| match &record.event {
        Event::RunStarted(started) => Some(started.volatile.place),
        Event::RunResumed(resumed) => Some(resumed.volatile.place),
        _ => None,
    };
    let place = place(context, folder)?;
    Ok(records.iter().rev().find_map(begun).flatten() == Some(place))
}

/// Takes back what former sessions granted and nothing proves: it is asked again.
pub(crate) fn doubt_grants(
    run: &Terms<'_>,
    recorder: &Recorder<'_>,
    confirmations: &mut Confirmations,
) -> Result<(), Error> {
    let Some(past) = &recorder.past else { return Ok(()) };
    let mut doubted = Vec::new();
    for (at, record) in past.records().iter().enumerate() {
        let Some(granted) = record.event.confirmation_granted() else { continue };
        let id = granted.id.as_str();
        let Some(token) = confirmations.get(id) else { continue };
        let Standing::Granted { by } = &token.standing else { continue };
        let is_own = || is_own(run.context, &recorder.folder, &past.records()[..=at]);
        if !is_proven(run, recorder, &token.bound, by, &is_own)? {
            doubted.push(id.to_owned());
        }
    }
    for id in doubted {
        confirmations.set(&id, Standing::Pending);
    }
    Ok(())
}

fn is_proven(
    run: &Terms<'_>,
    recorder: &Recorder<'_>,
    bound: &Bound,
    by: &str,
    is_own: &dyn Fn() -> Result<bool, Error>,
) -> Result<bool, Error> {
    let confirm = &run.policy.settings().confirm;
    if by == LOCK {
        return Ok(grants(confirm, &bound.label, &bound.kind));
    }
    if by == POLICY {
        let is_automatic = confirm.auto.iter().any(|auto| *auto == bound.label || *auto == bound.kind);
        return Ok(is_automatic && confirm.mode != ConfirmMode::Never);
    }
    match &confirm.approvers {
        Some(_) => Ok(approver(run, &recorder.folder, bound, Some(by)).is_ok_and(|approver| approver.by == by)),
        None => is_own(),
    }
}

impl Asking<'_, '_> {
    /// Checks that a question is recorded as it is asked: its words, its files, and the patch beside it.
    pub(crate) fn check_shown(&self, id: &str, subject: &Subject) -> Result<(), Error> {
        let Some(token) = self.confirmations.get(id).filter(|token| token.was_put_off) else { return Ok(()) };
        let bound = &token.bound;
        let is_same = bound.kind != subject.kind || bound.label == self.recorder.shown(&subject.label);
        let altered = |what: &str| {
            let run = self.recorder.folder.id();
            Error::new(Code::RecordDamaged, format!("{what} of the confirmation `{id}` is not that of the change"))
                .hint(format!("nothing was done; `nrv rollback {run}` brings back what the run changed"))
        };
        let is_shown =
            bound.names(&subject.files) || json!(bound.files) == self.recorder.redacted(json!(subject.files));
        if !is_same || !is_shown {
            return Err(altered("the question"));
        }
        if subject.patch.bytes.is_empty() {
            return Ok(());
        }
        let path = format!("artifacts/{id}.patch");
        let (shown, _) = self.run.redactor().kept_patch(&subject.patch);
        if self.recorder.folder.read_up_to(&path, shown.len() as u64).is_ok_and(|found| found == *shown) {
            return Ok(());
        }
        Err(altered("the patch"))
    }
}
