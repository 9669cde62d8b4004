//! A run that waits for a confirmation: what its record and its error say, how it is answered, and what listings show.

use serde::Serialize;
use serde_json::{Value, json};

use super::request::Origin;
use crate::change::{
    confirm::Asking,
    confirmations::{self, Bound, Standing},
    subject::{GATES, Subject},
};
use base::{
    diff::{self, Mark, Stat},
    error::{Code, Error},
    text::escape,
};
use record::{
    Record, RunFolder,
    event::{Event, Status},
};

/// How many files an error names of those that wait for a confirmation.
const NAMED: usize = 20;

/// The namespace of signatures over confirmations.
pub(crate) const NAMESPACE: &str = "nrv-confirm";

/// A confirmation for which a run waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Its id, such as `c1`.
    pub id: String,
    /// The text of the question.
    pub label: String,
    /// From when on it can't be given any more.
    pub expires_at: String,
}

/// Returns the confirmation for which a run waits, from its records: the latest one that was asked for.
///
/// None if the run is not suspended, or if that confirmation was answered.
pub fn waiting(folder: &RunFolder, records: &[Record]) -> Option<Waiting> {
    records.last().and_then(|record| record.event.run_suspended())?;
    let mut pending = records.iter().rev().filter_map(|record| Some((record, record.event.confirmation_pending()?)));
    let (record, asked) = pending.next()?;
    let is_answer = |record: &Record| match record.event.confirmation() {
        Some((Status::Granted | Status::Refused, answered)) => answered.id == asked.id,
        _ => false,
    };
    let bound = confirmations::read(record, asked, folder).ok().filter(|_| !records.iter().any(is_answer))?;
    Some(Waiting { id: bound.id, label: bound.label, expires_at: bound.expires_at })
}

impl Waiting {
    /// Summarizes the wait in one line for people: the confirmation's id, its text and the day on which it expires.
    pub fn sentence(&self) -> String {
        let day = self.expires_at.get(..10).unwrap_or_default();
        format!("waits for `{}`: {}, until {day}", self.id, escape(&self.label))
    }
}

/// The shell commands that approve, reject or sign a confirmation of a suspended run.
pub(crate) struct Commands {
    pub(crate) approve: String,
    pub(crate) reject: String,
    pub(crate) sign: String,
}

impl Commands {
    pub(crate) fn of(bound: &Bound) -> Self {
        let Bound { id, run, .. } = bound;
        Commands {
            approve: format!("nrv resume {run} --approve {id}"),
            reject: format!("nrv resume {run} --reject {id}"),
            sign: format!("ssh-keygen -Y sign -n {NAMESPACE} -f KEY .runs/{run}/{}", bound.file()),
        }
    }
}

impl Asking<'_, '_> {
    /// Records that the run waits, with the change as a patch beside it. The error says for what, and how to go on.
    pub(crate) fn suspend(&mut self, bound: &Bound, subject: &Subject) -> Error {
        match self.note_pending(bound, subject) {
            Ok(patch) => self.suspended(bound, subject, patch),
            Err(error) => error,
        }
    }

    /// The path of the patch, if there is one.
    fn note_pending(&mut self, bound: &Bound, subject: &Subject) -> Result<Option<String>, Error> {
        let path = Some(format!("artifacts/{}.patch", bound.id)).filter(|_| !subject.patch.bytes.is_empty());
        let patch = path.as_ref().map(|path| format!(".runs/{}/{path}", self.recorder.folder.id()));
        // Asked by a former session, which has recorded that.
        if self.confirmations.get(&bound.id).is_some() {
            return Ok(patch);
        }
        if let Some(path) = &path {
            let (shown, _) = self.run.redactor().kept_patch(&subject.patch);
            self.recorder.room(shown.len() as u64)?;
            self.recorder.folder.write(path, &shown)?;
        }
        let files = [bound.file()].into_iter().chain(path).collect();
        self.recorder.note_confirmation(self.position.as_str(), Event::ConfirmationPending, bound.data(), files)?;
        self.confirmations.keep(bound.clone(), Standing::Pending, self.position.to_string());
        Ok(patch)
    }

    fn suspended(&self, bound: &Bound, subject: &Subject, patch: Option<String>) -> Error {
        let Commands { approve, reject, sign } = Commands::of(bound);
        let stats = diff::marked(&subject.patch.stats, &subject.patch.bytes);
        let file = |(stat, marks): &(&Stat, Vec<Mark>)| json!({"path": stat.path, "added": stat.lines.added, "removed": stat.lines.removed, "marks": marks});
        let more = diff::counted(stats.iter().skip(NAMED).map(|(_, marks)| marks.as_slice()));
        let message = format!("the run waits for the confirmation `{}`: {}", bound.id, escape(&bound.label));
        let mut error = Error::new(Code::Suspended, message)
            .detail("confirmation", bound.id.as_str())
            .detail("label", bound.label.as_str())
            .detail("kind", bound.kind.as_str())
            .detail("run", bound.run.as_str())
            .detail("files", stats.iter().take(NAMED).map(file).collect::<Vec<Value>>())
            .detail("n_files", stats.len())
            .detail("expires_at", bound.expires_at.as_str())
            .detail("approve", approve.as_str())
            .detail("reject", reject.as_str());
        if !more.is_empty() {
            error =
                error.detail("more_files", Value::Object(more.into_iter().map(|(word, n)| (word, json!(n))).collect()));
        }
        if let Some(patch) = patch {
            error = error.detail("patch", patch);
        }
        if let Some(results) = subject.shown.get("results").filter(|_| subject.kind == GATES) {
            error = error.detail("results", results.clone());
        }
        let goes_on = match self.run.origin {
            Origin::Script | Origin::Session | Origin::Client | Origin::Person => {
                format!("`{approve}` goes on, `{reject}` undoes the run")
            }
            Origin::Program => "the program goes on with `Host::resume` and an approval".to_owned(),
        };
        match self.run.policy.settings().confirm.approvers {
            None => error.hint(goes_on),
            Some(_) => {
                error.detail("sign", sign.as_str()).hint(format!("an approver signs it with `{sign}`; then {goes_on}"))
            }
        }
    }
}
