//! A request on its way, taken further and ended.

use serde_json::Value;

use crate::{
    Event,
    budget::Demand,
    call::llm::{
        flight::{Flight, TICK},
        models::{Models, Requests},
    },
};
use base::error::{Code, Error};
use llm::{Key, LlmRequest, LlmStreamEvent};
use record::{
    Note,
    event::{self, LlmTried},
};

impl Requests<'_, '_> {
    /// Waits for the next events of a request and takes them in.
    pub(super) fn advance(&mut self, flight: &mut Flight) -> Result<Vec<Value>, Error> {
        let Some((_, stream)) = &mut flight.going else { return Ok(Vec::new()) };
        let events = loop {
            self.run.check_cancelled()?;
            match stream.next_batch_within(TICK) {
                None => return Ok(Vec::new()),
                Some(events) if events.is_empty() => {}
                Some(events) => break events,
            }
        };
        for event in &events {
            if let LlmStreamEvent::Started { attempt, after, .. } = event {
                let tried = LlmTried { attempt: u64::from(*attempt), after: after.as_deref().cloned() };
                self.recorder.note(Note::at(flight.position.as_str(), event::Event::LlmTried(tried.into())))?;
            }
        }
        let told = flight.take(events);
        if let Some(end) = &flight.end {
            let label = flight.reply.as_ref().and_then(|reply| reply["label"].as_str()).map(str::to_owned);
            self.sink.event(Event::ModelAnswered {
                provider: flight.provider().to_owned(),
                model: flight.request.model().to_owned(),
                usage: end.as_ref().map(|reply| reply.usage).unwrap_or_default(),
                error: end.as_ref().err().map(|error| error.message().to_owned()),
                label,
                recorded: flight.is_recorded,
            });
        }
        Ok(told)
    }

    /// Ends a request, whether or not it has come to its end: its connection is closed, and the budgets are settled. What it took,
    /// as often as it was made.
    pub(super) fn land(&mut self, flight: &mut Flight) -> Demand {
        flight.going = None;
        let spent = match (&flight.end, flight.spent) {
            (_, Some(spent)) => spent,
            (Some(Err(error)), None) => flight.took(Err(error)).0,
            // It was stopped: how far the model had come, nobody says.
            (Some(Ok(_)) | None, None) => flight.took(Err(&Error::new(Code::Cancelled, "stopped"))).0,
        };
        self.run.budget.settle(flight.reserved, spent);
        spent.and(flight.lost)
    }
}

impl Models {
    /// The key of a request that is made now.
    pub(crate) fn next_key(&self, request: &LlmRequest) -> Key {
        let count = self.counts.get(&request.key(1).request).copied().unwrap_or_default();
        request.key(count + 1)
    }

    /// Counts a request that is made.
    pub(crate) fn count(&mut self, key: &Key) {
        let count = self.counts.entry(key.request).or_default();
        *count = key.occurrence.max(*count);
    }
}
