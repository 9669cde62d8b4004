//! One record: an event with its place in the chain, as it is read, and as it is about to be written.

use std::fmt::Display;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    event::{self, Event, Free, Kind, Stored, named},
    line,
};
use crate::{file_ref::FileRef, wire::Wire};
use base::{
    error::{Code, Error},
    hash::Sha256,
};

/// The member of a record's data that names the exact data in the pack, where what stands there lacks a secret.
const EXACT: &str = "exact";

/// One event of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Counts from 1 without a gap.
    pub seq: u64,
    /// Where in the run: `3`, `7.b.2`; empty for the run itself.
    pub position: String,
    /// When, RFC 3339. No decision and no comparison looks at it.
    pub at: String,
    /// The event.
    pub event: Event,
    /// Files of the record that belong to it.
    pub files: Vec<FileRef>,
    /// The hash of the record before, [`GENESIS`](super::GENESIS) for the first.
    pub prev: String,
    /// The hash of this record without this field.
    pub hash: String,
    /// The event's data as it stands in the record.
    data: Box<str>,
    volatile: Option<Box<str>>,
}

/// The same, of which the values are not looked at yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw<'l> {
    seq: u64,
    position: String,
    at: String,
    kind: String,
    #[serde(borrow)]
    data: &'l RawValue,
    #[serde(default)]
    files: Vec<FileRef>,
    #[serde(borrow, default)]
    volatile: Option<&'l RawValue>,
    prev: String,
    hash: String,
}

impl Record {
    /// Reads a line of a chain.
    pub(super) fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        let Raw { seq, position, at, kind, data, files, volatile, prev, hash } = serde_json::from_slice(line)?;
        let event = Event::read(&kind, data.get(), volatile.map(RawValue::get));
        let (data, volatile) = (data.get().into(), volatile.map(|volatile| volatile.get().into()));
        Ok(Record { seq, position, at, event, files, prev, hash, data, volatile })
    }

    /// A record of an event, without a place in a chain, as tests of rules about records make it.
    pub fn of_event(position: &str, event: Event) -> Self {
        let text = |value: Value| value.to_string().into();
        let (data, volatile) = (text(event.data().unwrap_or_default()), event.volatile().ok().map(text));
        let (at, prev, hash) = (String::new(), String::new(), String::new());
        Record { seq: 1, position: position.to_owned(), at, event, files: Vec::new(), prev, hash, data, volatile }
    }

    /// The name of the event's kind.
    pub fn kind(&self) -> &str {
        self.event.name()
    }

    /// The event's data as it stands in the record, for whoever shows or compares it whole.
    ///
    /// `record_damaged` if it is no value: a number is out of range, or it is nested too deep.
    pub fn data(&self) -> Result<Free, Error> {
        serde_json::from_str(&self.data).map(Free).map_err(|error| self.unreadable(&error))
    }

    /// The hash that the record should have, if its data is as it stands in the chain.
    pub fn computed_hash(&self) -> Result<Sha256, Error> {
        line::write(&self.wire()?, &mut String::new())
    }

    /// An error if this release knows the kind of the event and can't read it.
    pub fn check(&self) -> Result<(), Error> {
        self.event.unreadable().map_or(Ok(()), |why| Err(self.unreadable(&why)))
    }

    fn unreadable(&self, why: &dyn Display) -> Error {
        let message = format!("the record {} (`{}`) can't be read: {why}", self.seq, self.kind());
        Error::new(Code::RecordDamaged, message)
    }

    /// The record with what a function makes of its data, and of the output of a command.
    pub fn edited(&self, edit: &dyn Fn(&mut Value)) -> Result<Self, Error> {
        let mut data = self.data()?.0;
        edit(&mut data);
        let mut record = self.with_data(&data);
        let mut volatile = self.volatile();
        if let Some(output) = volatile.get_mut("output") {
            edit(output);
            record.volatile = Some(volatile.to_string().into());
            record.read_again();
        }
        Ok(record)
    }

    /// The record with other data.
    pub(super) fn with_data(&self, data: &Value) -> Self {
        let mut record = Record { data: data.to_string().into(), ..self.clone() };
        record.read_again();
        record
    }

    fn read_again(&mut self) {
        self.event = Event::read(self.event.name(), &self.data, self.volatile.as_deref());
    }

    /// The name of the exact data, if the record names it.
    pub(super) fn exact(&self) -> Option<Value> {
        if !self.event.is_exact() || !self.data.contains(EXACT) {
            return None;
        }
        self.data().ok()?.0.get(EXACT).filter(|exact| named(exact).is_some()).cloned()
    }

    fn volatile(&self) -> Value {
        let volatile = self.volatile.as_deref().map(serde_json::from_str::<Value>);
        volatile.and_then(Result::ok).unwrap_or_default()
    }

    /// The record as its line has it; `record_damaged` if its data is no value.
    pub fn to_json(&self) -> Result<Value, Error> {
        serde_json::to_value(self.wire()?).map_err(|error| Error::new(Code::Internal, error.to_string()))
    }

    fn wire(&self) -> Result<Wire, Error> {
        let Record { seq, position, at, event, files, prev, hash, .. } = self.clone();
        let kind = event.name().to_owned();
        Ok(Wire { seq, position, at, kind, data: self.data()?.0, files, volatile: self.volatile(), prev, hash })
    }
}

/// An event that is to be recorded.
#[derive(Clone, Debug)]
pub struct Note {
    /// Where in the run; empty for the run itself.
    pub position: String,
    /// The event.
    pub event: Event,
    /// Files of the record that belong to it.
    pub files: Vec<FileRef>,
}

impl Note {
    /// An event of a call.
    pub fn at(position: &str, event: Event) -> Self {
        Note { position: position.to_owned(), event, files: Vec::new() }
    }

    /// An event of the run itself.
    pub fn of_run(event: Event) -> Self {
        Note::at("", event)
    }

    /// The event with files of the record that belong to it.
    #[must_use]
    pub fn with_files(mut self, files: Vec<FileRef>) -> Self {
        self.files = files;
        self
    }

    /// The event as it will stand in the record.
    pub fn draft(self) -> Result<Draft, Error> {
        let unwritable = |error: serde_json::Error| Error::new(Code::Internal, error.to_string());
        let Some(kind) = self.event.kind() else {
            return Err(Error::new(Code::Internal, "an event of a later release can't be recorded"));
        };
        let data = self.event.data().map_err(unwritable)?;
        let volatile = self.event.volatile().map_err(unwritable)?;
        Ok(Draft { position: self.position, kind, data, volatile, files: self.files })
    }
}

/// An event as JSON, from which secrets are taken before it is recorded.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) position: String,
    pub(super) kind: Kind,
    pub(super) data: Value,
    pub(super) volatile: Value,
    pub(super) files: Vec<FileRef>,
}

impl Draft {
    /// True if changes are undone from the event: its exact data has to be kept.
    pub fn is_exact(&self) -> bool {
        event::is_exact(self.kind.as_str())
    }

    /// Returns the data that is compared between runs.
    pub fn content(&mut self) -> &mut Value {
        &mut self.data
    }

    /// Names the exact data in the pack.
    pub fn set_exact(&mut self, kept: Stored) {
        if let Value::Object(data) = &mut self.data {
            data.insert(EXACT.to_owned(), kept.form().clone());
        }
    }
}
