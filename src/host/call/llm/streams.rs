//! The streams of a run that are open.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use tracing::Span;

use crate::{Position, budget::Demand, call::llm::flight::Flight};
use base::{
    call::Call,
    error::{Code, Error},
};
use gate::Verdict;
use llm::{Events, Transcript};
use system::clock::Stopwatch;

/// How many events are told at once.
pub(super) const BATCH: usize = 256;

/// The streams of a run that are open.
#[derive(Default)]
pub(crate) struct Streams {
    last: u64,
    pub(super) open: BTreeMap<u64, Open>,
    /// Those that were left when the run had to wait: recorded only if it goes on all the same.
    pub(super) left: Vec<Left>,
}

pub(crate) enum Open {
    /// The record tells it.
    Told(Told),
    /// A model is answering.
    Live(Box<Live>),
}

/// A stream that is over, of which that many events were seen.
pub(crate) struct Left {
    pub(super) live: Box<Live>,
    pub(super) taken: usize,
    pub(super) demand: Demand,
}

/// A stream of which the record has the events.
#[derive(Debug)]
pub struct Told(pub(super) Events);

/// A stream that a model is answering.
pub(crate) struct Live {
    pub(super) position: Position,
    pub(super) call: Call,
    pub(super) verdict: Verdict,
    pub(super) watch: Stopwatch,
    pub(super) flight: Flight,
    /// The span from its begin to its record.
    pub(super) span: Span,
    /// Events that were not told yet.
    pub(super) waiting: VecDeque<Value>,
    /// How many were told.
    pub(super) told: usize,
    /// How many of those are in the record.
    pub(super) noted: usize,
}

impl Told {
    /// Of a recorded answer.
    pub fn of(answer: &Value) -> Result<Self, Error> {
        Ok(Told(Transcript::of(answer)?.into_events()))
    }

    /// The next events; none after the last.
    ///
    /// Whoever asks for more than the record says was taken does something else than was recorded: `diverged`.
    pub fn next_events(&mut self) -> Result<Value, Error> {
        let events: Vec<Value> = self.0.by_ref().take(BATCH).collect();
        if events.is_empty() && self.0.is_closed() {
            return Err(Error::new(Code::Diverged, "a stream is read further than its record says")
                .hint("a version of nrv that behaves otherwise may have written the record; start the run again"));
        }
        Ok(Value::Array(events))
    }
}

impl Streams {
    pub(crate) fn add(&mut self, stream: Open) -> u64 {
        self.last += 1;
        self.open.insert(self.last, stream);
        self.last
    }

    pub(crate) fn find(&mut self, stream: u64) -> Result<&mut Open, Error> {
        self.open.get_mut(&stream).ok_or_else(no_such_stream)
    }

    pub(super) fn live(&mut self) -> impl Iterator<Item = &mut Live> {
        self.open.values_mut().filter_map(|open| match open {
            Open::Live(live) => Some(&mut **live),
            Open::Told(_) => None,
        })
    }
}

pub(super) fn no_such_stream() -> Error {
    Error::new(Code::Internal, "there is no such stream")
}
