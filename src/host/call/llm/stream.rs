//! Replies that are taken piece by piece: a stream is a call whose answer is recorded when it is closed.
//!
//! The events of a stream that a script has seen decide what it does next. So they are recorded before any other call is made.
//! A run that goes on after a crash sees the same events again, and then an error that the stream broke off.

use std::collections::VecDeque;

use serde_json::Value;
use tracing::field::Empty;

use super::{flight::Flight, models::Requests};
use crate::{
    Host, Position, Sink,
    budget::Cost,
    call::llm::streams::{BATCH, Left, Live, Open, Told, no_such_stream},
    life::history::check_same,
    record_call::Answered,
    recorder::Recorder,
    reply::recorded_form,
};
use base::{
    call::Call,
    error::{Code, Error},
    span::span,
};
use gate::Verdict;
use llm::Transcript;
use record::{
    Note,
    event::{Event, LlmSeen},
};
use system::clock::Stopwatch;

/// How many streams may be open.
const MOST_OPEN: usize = 64;

impl Host<'_> {
    /// Begins a stream: a call `llm.stream` whose reply is taken piece by piece. Its number, for [`Host::next_events`] and
    /// [`Host::close_stream`].
    pub fn open_stream(&mut self, position: &Position, call: Call, sink: &mut dyn Sink) -> Result<u64, Error> {
        if let Some(answer) = self.recorder.answered_before(position, &call)? {
            let told = Told::of(&answer?)?;
            return Ok(self.models.streams.add(Open::Told(told)));
        }
        self.requests(sink).note_seen()?;
        let watch = Stopwatch::start();
        let verdict = self.run.judge_call(&call);
        self.turn.reserved = Cost::default();
        if let Some(told) = broken_off(&self.recorder, position, &call)? {
            let cost = Cost { demand: self.requests(sink).take_in_lost(position), ..Cost::default() };
            let result = self.run.budget.reserve_call().map(|()| told.value());
            let form = self.recorder.recorded(&call)?;
            let answered = Answered { call: &call, form, verdict: &verdict, result, cost: &cost, watch };
            self.recorder.record_call(position, answered)??;
            return Ok(self.models.streams.add(Open::Told(Told(told.into_events()))));
        }
        let span =
            span!(in &self.tally.span, "stream", name = call.name(), position = position.as_str(), error = Empty);
        match span.in_scope(|| self.begin_stream(position, &call, &verdict, sink)) {
            Ok(flight) => {
                let live = Live {
                    position: position.clone(),
                    call,
                    verdict,
                    watch,
                    flight,
                    span,
                    waiting: VecDeque::new(),
                    told: 0,
                    noted: 0,
                };
                Ok(self.models.streams.add(Open::Live(Box::new(live))))
            }
            Err(error) if error.code() == Code::Diverged => Err(error),
            Err(error) => {
                span.record("error", error.code().as_str());
                self.turn.waits = error.code().waits();
                let result = Err(error);
                let cost = std::mem::take(&mut self.turn.reserved);
                let form = self.recorder.form_of(&call)?.0;
                let answered = Answered { call: &call, form, verdict: &verdict, result, cost: &cost, watch };
                self.recorder.record_call(position, answered)?.map(|_: Value| 0)
            }
        }
    }

    fn begin_stream(
        &mut self,
        position: &Position,
        call: &Call,
        verdict: &Verdict,
        sink: &mut dyn Sink,
    ) -> Result<Flight, Error> {
        let Call::LlmStream(ask) = call else {
            let message = format!("`{}` is no call whose reply comes in pieces", call.name());
            return Err(Error::new(Code::InvalidInput, message));
        };
        self.settle_call(position, call, sink)?;
        self.run.check_cancelled()?;
        self.run.budget.reserve_call()?;
        self.tally.heed(verdict, sink)?;
        self.asking(position, sink).confirm_call(call, verdict)?;
        if self.models.streams.open.len() >= MOST_OPEN {
            return Err(Error::new(Code::InvalidInput, format!("more than {MOST_OPEN} streams are open"))
                .hint("read streams to their end, or leave them, before others are begun"));
        }
        self.requests(sink).send(position, call, ask)
    }

    /// All events of a stream that are there, at most 256 and at least one unless it has ended: they are waited for.
    pub fn next_events(&mut self, stream: u64, sink: &mut dyn Sink) -> Result<Value, Error> {
        self.requests(sink).record_left()?;
        let mut live = match self.models.streams.find(stream)? {
            Open::Told(told) => return told.next_events(),
            // The door is needed while they are waited for.
            Open::Live(_) => match self.models.streams.open.remove(&stream) {
                Some(Open::Live(live)) => live,
                Some(Open::Told(_)) | None => return Err(no_such_stream()),
            },
        };
        let came = match live.waiting.is_empty() && !live.flight.has_ended() {
            true => self.requests(sink).advance(&mut live.flight),
            false => Ok(Vec::new()),
        };
        let told = came.map(|came| {
            live.waiting.extend(came);
            let batch = live.waiting.len().min(BATCH);
            live.told += batch;
            live.waiting.drain(..batch).collect()
        });
        self.models.streams.open.insert(stream, Open::Live(live));
        told
    }

    /// Ends a stream of which that many events were seen, and records it.
    pub fn close_stream(&mut self, stream: u64, taken: u64, sink: &mut dyn Sink) -> Result<(), Error> {
        match self.models.streams.open.remove(&stream) {
            Some(Open::Live(live)) => {
                self.requests(sink).leave(live, usize::try_from(taken).unwrap_or(usize::MAX));
                // A run that waits comes back to this call, and is told what was seen of it.
                if self.turn.waits { Ok(()) } else { self.requests(sink).record_left() }
            }
            Some(Open::Told(_)) => Ok(()),
            None => Err(no_such_stream()),
        }
    }
}

impl Requests<'_, '_> {
    fn leave(&mut self, mut live: Box<Live>, taken: usize) {
        let demand = self.land(&mut live.flight);
        self.models.streams.left.push(Left { live, taken, demand });
    }

    /// Records the streams that were left: the run does not wait, whatever it seemed.
    fn record_left(&mut self) -> Result<(), Error> {
        self.turn.waits = false;
        for Left { live, taken, demand } in std::mem::take(&mut self.models.streams.left) {
            let Live { position, call, verdict, watch, flight, span, .. } = *live;
            let _entered = span.enter();
            let transcript = flight.closed(taken);
            let cost = Cost { demand, ..Cost::default() };
            let result = Ok(transcript.value());
            let form = self.recorder.form_of(&call)?.0;
            let answered = Answered { call: &call, form, verdict: &verdict, result, cost: &cost, watch };
            self.recorder.record_call(&position, answered)??;
        }
        Ok(())
    }

    /// Records what was told of open streams, since what is done next may follow from it.
    pub(crate) fn note_seen(&mut self) -> Result<(), Error> {
        self.record_left()?;
        let mut seen = Vec::new();
        for live in self.models.streams.live().filter(|live| live.told > live.noted) {
            seen.push((live.position.to_string(), live.flight.transcript().part(live.noted, live.told)));
            live.noted = live.told;
        }
        for (position, part) in seen {
            let seen = LlmSeen { events: self.recorder.packed(&part.value(), false)? };
            self.recorder.note(Note::at(&position, Event::LlmSeen(seen.into())))?;
        }
        Ok(())
    }

    /// Ends the streams that are still open when the run ends.
    pub(crate) fn close_streams(&mut self) -> Result<(), Error> {
        let open = std::mem::take(&mut self.models.streams.open);
        for open in open.into_values() {
            if let Open::Live(live) = open {
                let told = live.told;
                self.leave(live, told);
            }
        }
        self.record_left()
    }
}

/// Returns the recorded events of a stream that a crash broke off, with an error as the end; none if no event was recorded.
fn broken_off(recorder: &Recorder<'_>, position: &Position, call: &Call) -> Result<Option<Transcript>, Error> {
    let Some(past) = &recorder.past else { return Ok(None) };
    let Some((intent, recorded)) = past.in_flight(position) else { return Ok(None) };
    check_same(&recorded, position, &recorded_form(call, recorder.rules.secrets())?)?;
    let mut told: Option<Transcript> = None;
    let seen = past.all(position.as_str(), Event::llm_seen).filter(|(record, _)| record.seq > intent);
    for (_, seen) in seen {
        let part = Transcript::of(&past.pack().value(&seen.events)?)?;
        match &mut told {
            Some(told) => told.append(part),
            None => told = Some(part),
        }
    }
    Ok(told.map(|mut told| {
        told.fail(&llm::broken_off());
        told
    }))
}
