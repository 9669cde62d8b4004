//! A reply while it comes: every dialect writes into the same.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::{
    error::{Kind, lasting, passing, quoted},
    event::{Finish, Reply, Usage},
    message::ToolCall,
    request::LlmRequest,
};
use base::{error::Error, json};

/// The longest reply that is taken.
const MAX_REPLY: usize = 64 << 20;

/// The most calls of tools that a reply may have.
const MAX_CALLS: usize = 4096;

/// The part of a reply that has come so far.
#[derive(Debug, Default)]
pub struct Draft {
    model: Option<String>,
    text: String,
    passed_on: usize,
    calls: BTreeMap<u64, PartialCall>,
    usage: Usage,
    finish: Option<Finish>,
    has_ended: bool,
}

#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl Draft {
    /// The model that answers.
    pub(super) fn model(&mut self, model: Option<&Value>) {
        if let Some(model) = model.and_then(Value::as_str).filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
    }

    /// A piece of the text.
    pub(super) fn text(&mut self, piece: Option<&Value>) -> Result<(), Error> {
        let Some(piece) = piece.and_then(Value::as_str) else { return Ok(()) };
        self.text.push_str(piece);
        self.bounded(self.text.len())
    }

    fn bounded(&self, length: usize) -> Result<(), Error> {
        match length > MAX_REPLY {
            true => Err(lasting(Kind::Server, format!("the reply is longer than {} MiB", MAX_REPLY >> 20))),
            false => Ok(()),
        }
    }

    /// A piece of a tool's call: what is known of its id and name, and more of its arguments.
    pub(super) fn call(
        &mut self,
        index: u64,
        id: Option<&Value>,
        name: Option<&Value>,
        more: &str,
    ) -> Result<(), Error> {
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&index) {
            return Err(lasting(Kind::Server, format!("the reply calls more than {MAX_CALLS} tools")));
        }
        let call = self.calls.entry(index).or_default();
        if let Some(id) = id.and_then(Value::as_str) {
            id.clone_into(&mut call.id);
        }
        if let Some(name) = name.and_then(Value::as_str) {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(more);
        let length = call.arguments.len();
        self.bounded(length)
    }

    /// A tool's call as a whole.
    pub(super) fn whole_call(
        &mut self,
        id: Option<&Value>,
        name: Option<&Value>,
        arguments: &Value,
    ) -> Result<(), Error> {
        let index = self.calls.len() as u64;
        let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        self.call(index, id, name, &text)
    }

    /// Takes the token counts of the reply, as far as they are given. A new count replaces the earlier one.
    pub(super) fn usage(&mut self, usage: Usage) {
        let usage = usage.plausible();
        self.usage = Usage {
            input_tokens: usage.input_tokens.or(self.usage.input_tokens),
            cached_tokens: usage.cached_tokens.or(self.usage.cached_tokens),
            output_tokens: usage.output_tokens.or(self.usage.output_tokens),
        };
    }

    /// The token counts of the reply so far.
    pub(super) fn used(&self) -> Usage {
        self.usage
    }

    /// Why the model stopped, in the word of the server.
    pub(super) fn finish(&mut self, word: &str) -> Result<(), Error> {
        self.finish = Some(match word {
            "stop" | "end_turn" | "stop_sequence" | "eos" | "completed" => Finish::Stop,
            "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_calls" | "tool_use" | "function_call" => Finish::ToolCalls,
            "content_filter" | "refusal" => Finish::Refusal,
            _ => {
                let message = format!("the model stopped because of `{}`, which is unknown", quoted(word));
                return Err(lasting(Kind::Server, message));
            }
        });
        Ok(())
    }

    /// The model refused; what it says stays the text.
    pub(super) fn refused(&mut self) {
        self.finish = Some(Finish::Refusal);
    }

    /// True if the model refused.
    pub(super) fn is_refused(&self) -> bool {
        self.finish == Some(Finish::Refusal)
    }

    /// The server said that this is all.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// True if nothing has come that a caller could see.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// True if the server said that this is all.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The text that came since this was asked before.
    pub(crate) fn news(&mut self) -> Option<&str> {
        let from = std::mem::replace(&mut self.passed_on, self.text.len());
        self.text.get(from..).filter(|news| !news.is_empty())
    }

    /// The reply, if it is all there.
    pub(crate) fn into_reply(self, request: &LlmRequest, ignored: &[&str]) -> Result<Reply, Error> {
        let Some(finish) = self.finish.filter(|_| self.has_ended) else {
            return Err(passing(Kind::Truncated, "the reply ended without its last event"));
        };
        let cut = finish == Finish::Length;
        let tool_calls: Vec<ToolCall> = self
            .calls
            .into_values()
            .enumerate()
            .map(|(index, call)| call.whole(index, cut))
            .collect::<Result<_, _>>()?;
        // Some servers say `stop` in any case.
        let waits = finish == Finish::Stop && !tool_calls.is_empty();
        Ok(Reply {
            model_requested: request.model().to_owned(),
            model: self.model,
            text: self.text,
            value: None,
            tool_calls,
            finish: if waits { Finish::ToolCalls } else { finish },
            usage: self.usage,
            ignored: ignored.iter().filter(|field| is_given(request, field)).map(|field| (*field).to_owned()).collect(),
        })
    }
}

/// True if a request has a field of its sampling, or a choice of tools.
fn is_given(request: &LlmRequest, field: &str) -> bool {
    match field {
        "tool_choice" => !request.tools().is_empty() && *request.tool_choice() != super::super::ToolChoice::Auto,
        _ => json!(request.sampling()).get(field).is_some(),
    }
}

impl PartialCall {
    fn whole(self, index: usize, cut: bool) -> Result<ToolCall, Error> {
        let PartialCall { id, name, arguments } = self;
        let text = if arguments.trim().is_empty() { "{}" } else { arguments.as_str() };
        let arguments = json::parse_distinct(text).map_err(|error| match cut {
            true => lasting(Kind::Truncated, format!("the call of `{}` was cut off", quoted(&name))),
            false => {
                lasting(Kind::MalformedJson, format!("the arguments of `{}` are not JSON: {error}", quoted(&name)))
                    .detail("excerpt", quoted(text))
            }
        })?;
        // Not every server gives calls an id.
        let id = if id.is_empty() { format!("call_{}", index + 1) } else { id };
        Ok(ToolCall { id, name, arguments })
    }
}
