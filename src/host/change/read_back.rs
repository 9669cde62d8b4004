//! The proof of diffs and commands: every file is read back, and has to be as it was to be written.

use serde_json::{Value, json};

use super::{
    confirmations::files_before,
    patch::Patch,
    pipeline::{Pipeline, Proof},
    subject::Subject,
};
use base::{
    change::{Content, Stamp},
    error::{Code, Error},
    path::RepoPath,
};
use record::{
    Note,
    event::{Checked, Event},
};
use service::apply::Proposed;
use system::workspace::{View, parallel_map};

/// A change that is verified by reading its files back.
pub(crate) struct ReadBack<'p> {
    pub(crate) proposed: &'p Proposed,
    pub(crate) patch: &'p Patch,
    /// The reply of the call, without parts that differ each time.
    pub(crate) reply: &'p Value,
    /// The question that a person is asked; none if nobody is asked.
    pub(crate) asks: Option<Asks<'p>>,
}

/// A question about a change: its kind, by which the policy can grant it, and its label.
#[derive(Clone, Copy)]
pub(crate) struct Asks<'p> {
    pub(crate) kind: &'static str,
    pub(crate) label: &'p str,
}

impl Asks<'static> {
    /// The question that has the name of its kind.
    pub(crate) fn of(kind: &'static str) -> Self {
        Asks { kind, label: kind }
    }
}

impl Proof for ReadBack<'_> {
    fn question(&self) -> Result<Option<Subject>, Error> {
        let changes = &self.proposed.changes;
        let Some(Asks { kind, label }) = self.asks else { return Ok(None) };
        Ok(Some(Subject {
            id: changes.sha256()?.to_string(),
            kind,
            label: label.to_owned(),
            shown: json!({"files": self.patch.stats}),
            patch: self.patch.clone(),
            files: files_before(changes),
            empty: changes.is_empty(),
        }))
    }

    fn prepare(&self, Pipeline { run, ledger, draft, .. }: &mut Pipeline<'_, '_>, _waited: bool) -> Result<(), Error> {
        let paths: Vec<String> = self.proposed.changes.changes().iter().map(|change| change.path.to_string()).collect();
        ledger.lock(run, &paths)?;
        // The transaction looks at the files that it replaces; what only decides what they become is looked at here.
        for (path, was) in &self.proposed.sources {
            if was.is_some_and(|was| stamp(draft.view(), path, was.is_link()).ok() != Some(was)) {
                return Err(Error::new(Code::StalePreimage, format!("`{path}` changed while it was used"))
                    .detail("path", path.as_str())
                    .hint("run it again"));
            }
        }
        Ok(())
    }

    fn reply(&self) -> Option<&Value> {
        Some(self.reply)
    }

    fn verifies_empty(&self) -> bool {
        false
    }

    fn try_out(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error> {
        pipeline.draft.check_targets(&self.proposed.changes).map(|()| Value::Null)
    }

    fn preview(&self, _pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn verify(&self, pipeline: &mut Pipeline<'_, '_>, transaction: Option<&str>) -> Result<Value, Error> {
        let Some(transaction) = transaction else { return Ok(Value::Null) };
        let Pipeline { run, recorder, draft, position, .. } = pipeline;
        self.compare(draft.view(), run.context.options.threads)?;
        let checked = Checked { transaction: transaction.to_owned(), files: self.proposed.changes.len() as u64 };
        recorder.note(Note::at(position.as_str(), Event::Checked(checked.into())))?;
        Ok(Value::Null)
    }
}

impl ReadBack<'_> {
    /// Compares what is on the disk with what was to be written.
    fn compare(&self, view: View<'_>, threads: usize) -> Result<(), Error> {
        let wrong = parallel_map(threads, self.proposed.changes.changes(), |change| {
            let expected = change.after.as_ref().map(Content::stamp);
            let found = match stamp(view, &change.path, expected.is_some_and(|stamp| stamp.is_link())) {
                Ok(stamp) => Some(stamp),
                Err(error) if error.code() == Code::NotFound => None,
                Err(error) => return Some(format!("`{}` can't be read back: {error}", change.path)),
            };
            (found != expected).then(|| format!("`{}` is not what was written", change.path))
        });
        let mut wrong = wrong.into_iter().flatten();
        let Some(first) = wrong.next() else { return Ok(()) };
        let more = wrong.count();
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        Err(Error::new(Code::VerificationFailed, format!("{first}{more}"))
            .hint("somebody else changes these files at the same time; run it again when they are done"))
    }
}

/// Returns the stamp of the file at a path; for a link, that of the link itself.
fn stamp(view: View<'_>, path: &RepoPath, is_link: bool) -> Result<Stamp, Error> {
    if is_link { view.read_entry(path).map(|link| link.stamp()) } else { view.hash(path) }
}
