//! The record of a run: every event is appended here, without secrets, and bytes too large for events go into the pack.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Context, Position,
    budget::Budget,
    life::{history::Past, request::Origin},
    reply::recorded_form,
};
use base::{
    call::Call,
    error::{Code, Error},
};
use gate::{Rules, secrets};
use record::{
    Chain, Draft, FileRef, Keeper, Note, RunFolder,
    event::{self, Confirmation},
};

/// The record of a run.
pub(super) struct Recorder<'a> {
    pub(super) context: &'a Context,
    pub(super) rules: Arc<Rules>,
    pub(super) budget: Arc<Budget>,
    pub(super) origin: Origin,
    pub(super) folder: RunFolder,
    pub(super) chain: Chain,
    /// The pack of what is too large for events.
    pub(super) keeper: Keeper,
    /// True once the run is ending, which is recorded in any case.
    pub(super) ends: bool,
    /// The record of the former sessions, if the run was resumed.
    pub(super) past: Option<Past>,
}

impl Recorder<'_> {
    /// The run's id.
    pub(super) fn run_id(&self) -> &str {
        self.folder.id()
    }

    /// Appends an event to the run's record, without secrets.
    pub(super) fn note(&mut self, note: Note) -> Result<(), Error> {
        let draft = self.redacted_note(note)?;
        self.append(draft)
    }

    /// The same for an event in which there can be no secret any more.
    pub(super) fn note_as_is(&mut self, note: Note) -> Result<(), Error> {
        self.append(note.draft()?)
    }

    fn append(&mut self, draft: Draft) -> Result<(), Error> {
        let before = self.chain.length();
        self.chain.append(self.context.options.clock.now(), draft).map_err(unrecorded)?;
        self.budget.count_record(self.chain.length() - before);
        Ok(())
    }

    /// Waits until the record is on the disk.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.chain.sync().map_err(unrecorded)
    }

    /// Records what became of a confirmation, with the files of the record that it is about.
    pub(super) fn note_confirmation(
        &mut self,
        position: &str,
        event: fn(Box<Confirmation>) -> event::Event,
        data: Confirmation,
        files: Vec<String>,
    ) -> Result<(), Error> {
        let files = files.iter().map(|file| self.folder.file_ref(file)).collect::<Result<Vec<FileRef>, Error>>()?;
        self.note(Note::at(position, event(data.into())).with_files(files))
    }

    /// A label without secrets.
    pub(super) fn shown(&self, label: &str) -> String {
        secrets::redact(label, self.rules.secrets()).into_owned()
    }

    /// A text without secrets, as the record would have it.
    pub(super) fn without_secrets(&self, text: String) -> String {
        match self.redacted(Value::from(text)) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// The reply to a call in a former session; none if it was not answered.
    pub(super) fn answered_before(
        &mut self,
        position: &Position,
        call: &Call,
    ) -> Result<Option<Result<Value, Error>>, Error> {
        let Some(past) = self.past.as_mut().filter(|past| past.is_ahead()) else { return Ok(None) };
        if !past.is_answered(position.as_str()) {
            return Ok(None);
        }
        past.answer(position, &recorded_form(call, self.rules.secrets())?)
    }

    /// The name of the artefacts of a call. One that is made again leaves those of the first time alone.
    pub(super) fn stem(&self, position: &Position) -> String {
        match &self.past {
            Some(past) if past.knows(position) => format!("{position}@{}", past.session()),
            Some(_) | None => position.to_string(),
        }
    }
}

/// Returns the error that ends the run if something can't be recorded. A script must not catch it.
pub(super) fn unrecorded(error: Error) -> Error {
    let message = format!("the run can't go on without its record: {}", error.message());
    Error::new(Code::RecordUnwritable, message)
        .hint("make room on the disk, or make `.runs` writable, then start again")
}
