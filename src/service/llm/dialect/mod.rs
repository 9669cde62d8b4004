//! The forms in which servers are asked and answer. A dialect only translates: it sends nothing and checks no reply.

mod anthropic;
mod calls;
mod draft;
mod ollama;
mod openai_chat;
mod openai_responses;
mod parts;
mod providers;

use serde_json::Value;

pub use self::{
    draft::Draft,
    providers::{PROVIDERS, named},
};
use super::{
    capabilities::Capabilities,
    error::{Kind, is_error, of_event, passing, quoted},
    request::LlmRequest,
};
use base::error::Error;

/// The form of one kind of server.
pub trait Dialect: Send + Sync {
    /// The name in configurations.
    fn name(&self) -> &'static str;

    /// A sentence about the servers that speak it, and the form of the base URL.
    fn doc(&self) -> &'static str;

    /// Where requests go, after the base URL.
    fn path(&self) -> &'static str;

    /// The header that the key goes into, and what stands before the key.
    fn auth(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// How the events of a stream are told apart.
    fn framing(&self) -> Framing {
        Framing::Sse
    }

    /// Fields of a request that it has no word for.
    fn ignored(&self) -> &'static [&'static str] {
        &[]
    }

    /// The body of a request.
    fn body(&self, request: &LlmRequest, stream: bool) -> Result<Value, Error>;

    /// Takes a reply that came as a whole.
    fn whole(&self, body: &Value, draft: &mut Draft) -> Result<(), Error>;

    /// Takes one event of a stream.
    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error>;

    /// Asks a server what it can do.
    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error>;
}

/// Asks a server for something beside a reply: at a place, with a body if it is to be posted.
pub type Ask<'a> = dyn Fn(Place<'_>, Option<&Value>) -> Result<Value, Error> + 'a;

/// Where something is.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// After the base URL.
    Base(&'a str),
    /// After the base URL without its `/v1`.
    Server(&'a str),
}

/// How the events of a stream are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A line of JSON each.
    Ndjson,
}

/// One event of a stream, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name, if it has one.
    pub event: Option<String>,
    /// The data of the event.
    pub data: String,
}

impl Frame {
    /// True if it is the mark of OpenAI's that nothing follows, however it is written.
    pub(super) fn is_done(&self) -> bool {
        self.data.trim().trim_matches('"').eq_ignore_ascii_case("[done]")
    }

    /// The body of a server-sent event, if it has one. An event that reports an error is that error.
    fn body(&self, draft: &mut Draft) -> Result<Option<Value>, Error> {
        let data = self.data.trim();
        if self.event.as_deref() == Some("error") {
            return Err(of_event(&serde_json::from_str(data).unwrap_or_else(|_| Value::from(data))));
        }
        if self.is_done() {
            draft.end();
        }
        // Empty ones keep a connection alive.
        if data.is_empty() || self.is_done() {
            return Ok(None);
        }
        let body = self.json()?;
        if is_error(&body) { Err(of_event(&body)) } else { Ok(Some(body)) }
    }

    /// Parses the data of the event as JSON.
    pub fn json(&self) -> Result<Value, Error> {
        serde_json::from_str(&self.data).map_err(|error| {
            passing(Kind::MalformedJson, format!("the server sends an event that is not JSON: {error}"))
                .detail("excerpt", quoted(&self.data))
        })
    }
}

/// A value with a field added, unless there is nothing to add.
fn put(body: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let (Value::Object(map), Some(value)) = (body, value) {
        map.insert(field.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests;
