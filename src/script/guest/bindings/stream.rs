//! Streams of events: one event at a time for the script, many at a time from the host.
//!
//! No event is kept. A stream is closed once: at its end, at the end of a loop over it, when the script drops its last value of
//! it, or when the script itself ends.

use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult, FnPtr, NativeCallContext};
use serde_json::{Value, json};

use crate::guest::{
    bindings::host::{Host, Reply, Waiting, terminated},
    place, value,
};
use base::{
    call::Call,
    error::{Code, Error, Location},
};

/// A stream, as a script holds it. An event that is read through one copy is gone from all others.
#[derive(Clone)]
pub(super) struct EventStream(Arc<Open>);

/// A stream that is closed when its last holder drops it.
struct Open {
    host: Host,
    number: u64,
    at: Option<Location>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.host.close(self.number);
    }
}

impl Host {
    /// Tells the host that a stream needs no more events, unless it was told. After the end of a script the host closes it by itself.
    fn close(&self, number: u64) {
        let waiting = self.streams().remove(&number);
        if let Some(waiting) = waiting.filter(|_| !self.has_ended()) {
            // No code could catch the error here, and an unrecorded script must not go on.
            let _ = self.close_stream(number, waiting.taken).map_err(|error| self.end(error));
        }
    }

    /// Closes the streams that a script has left open.
    pub(crate) fn close_all(&self) {
        let open: Vec<u64> = self.streams().keys().copied().collect();
        open.into_iter().for_each(|number| self.close(number));
    }
}

impl EventStream {
    /// Begins a stream.
    pub(super) fn begin(ctx: &NativeCallContext<'_>, host: &Host, call: Call) -> Result<Self, Box<EvalAltResult>> {
        let number = host.open_stream(ctx, call)?;
        host.streams().insert(number, Waiting::default());
        Ok(EventStream(Arc::new(Open { host: host.clone(), number, at: place::of_call(ctx) })))
    }

    /// The next event; none after the end. With the end of the stream it is closed.
    fn take(&self) -> Result<Option<Value>, Box<EvalAltResult>> {
        let Open { host, number, at } = &*self.0;
        if host.has_ended() {
            return Err(terminated());
        }
        let event = match self.waiting() {
            None => return Ok(None),
            Some(Some(event)) => event,
            Some(None) => match self.fetch() {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(None),
                Err(error) => {
                    let error = host.raise_at(at.clone(), error);
                    host.close(*number);
                    return Err(error);
                }
            },
        };
        let kind = event.get("type").and_then(Value::as_str);
        if matches!(kind, Some("completed" | "error")) {
            host.close(*number);
            // An error that can't be caught elsewhere can't be skipped here.
            if let Some(error) = failure(&event).filter(|error| error.is_final()) {
                return Err(host.raise_at(at.clone(), error));
            }
        }
        if host.has_ended() { Err(terminated()) } else { Ok(Some(event)) }
    }

    /// An event that is there; none in none if the stream is closed.
    fn waiting(&self) -> Option<Option<Value>> {
        let mut streams = self.0.host.streams();
        let waiting = streams.get_mut(&self.0.number)?;
        let event = waiting.events.pop_front();
        waiting.taken += u64::from(event.is_some());
        Some(event)
    }

    /// Waits for events, and gives the first.
    fn fetch(&self) -> Result<Option<Value>, Error> {
        let events = self.0.host.next_events(self.0.number)?;
        if events.is_empty() {
            self.0.host.close(self.0.number);
        } else if let Some(waiting) = self.0.host.streams().get_mut(&self.0.number) {
            waiting.events = events.into();
        }
        Ok(self.waiting().flatten())
    }
}

impl IntoIterator for EventStream {
    type Item = Reply;
    type IntoIter = Events;

    fn into_iter(self) -> Events {
        Events { stream: self, is_over: false }
    }
}

/// The events of a stream in a loop. When the loop ends the stream does.
pub(super) struct Events {
    stream: EventStream,
    is_over: bool,
}

impl Iterator for Events {
    type Item = Reply;

    fn next(&mut self) -> Option<Reply> {
        if self.is_over {
            return None;
        }
        let event = self.stream.take();
        // A loop with an empty body goes on after an error.
        self.is_over = !matches!(event, Ok(Some(_)));
        event.map(|event| event.map(value::from_json)).transpose()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.stream.0.host.close(self.stream.0.number);
    }
}

/// Passes each event of a stream to a function; returns the reply, or its parts so far when the function returned `true`.
pub(super) fn each(ctx: &NativeCallContext<'_>, host: &Host, call: Call, callback: &FnPtr) -> Reply {
    let stream = EventStream::begin(ctx, host, call)?;
    let mut come = Come::default();
    while let Some(mut event) = stream.take()? {
        let end = come.note(&mut event);
        let said = callback.call_within_context::<Dynamic>(ctx, (value::from_json(event),))?;
        if host.has_ended() {
            return Err(terminated());
        }
        match end {
            Some(Ok(reply)) => return Ok(value::from_json(reply)),
            Some(Err(error)) => return Err(host.raise(ctx, error)),
            None if said.flatten().as_bool().is_ok_and(|stop| stop) => {
                host.close(stream.0.number);
                return if host.has_ended() { Err(terminated()) } else { Ok(value::from_json(come.cut())) };
            }
            None => {}
        }
    }
    Err(host.raise(ctx, Error::new(Code::Internal, "the host ended a stream without saying how")))
}

/// The parts of a reply before its end.
#[derive(Default)]
struct Come {
    model: Value,
    text: String,
    tool_calls: Vec<Value>,
    usage: Value,
}

impl Come {
    /// Notes an event; the reply or the error if it is the last.
    fn note(&mut self, event: &mut Value) -> Option<Result<Value, Error>> {
        match event.get("type").and_then(Value::as_str) {
            Some("started") => self.model = event["model"].clone(),
            Some("token") => self.text.push_str(event["text"].as_str().unwrap_or_default()),
            Some("tool_call") => self.tool_calls.push(event["call"].clone()),
            Some("metrics") => self.usage = event["usage"].clone(),
            Some("completed") => return Some(Ok(event["reply"].clone())),
            Some("error") => return failure(event).map(Err),
            _ => {}
        }
        None
    }

    /// The reply of a stream that the script has ended.
    fn cut(self) -> Value {
        let mut reply = json!({
            "finish": "cancelled", "model_requested": self.model, "text": self.text, "tool_calls": self.tool_calls,
        });
        if !self.usage.is_null() {
            reply["usage"] = self.usage;
        }
        reply
    }
}

/// The error of an event that ends a stream badly.
fn failure(event: &Value) -> Option<Error> {
    let error = event.get("error")?;
    let unreadable = |_| Error::new(Code::Internal, "the host ended a stream with an error that can't be read");
    Some(serde_json::from_value(error.clone()).unwrap_or_else(unreadable))
}
