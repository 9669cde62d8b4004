//! A reply while it comes: every dialect writes into the same.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::{
        error::{Kind, lasting, passing, quoted},
        event::{Finish, Reply, Usage},
        request::LlmRequest,
    },
    calls::{CallPiece, Calls},
};
use base::error::Error;

/// The longest reply that is taken.
const MAX_REPLY: usize = 64 << 20;

/// The number of characters of the reasoning that an error shows.
const MOST_REASONING: usize = 1 << 12;

/// The part of a reply that has come so far.
#[derive(Debug, Default)]
pub struct Draft {
    model: Option<String>,
    text: String,
    reasoning: String,
    passed_on: usize,
    calls: Calls,
    usage: Usage,
    finish: Option<Finish>,
    has_ended: bool,
    /// The length of the text before the present item, where replies consist of items.
    item: usize,
    /// The number of calls that began, where each comes as a whole later.
    announced: usize,
    /// The number of the only reply.
    choice: Option<u64>,
    /// True if pieces came as `delta`.
    pub(super) has_deltas: bool,
    /// Names of fields that are not known and hold something.
    unread: BTreeSet<String>,
}

impl Draft {
    /// The model that answers.
    pub(super) fn model(&mut self, model: Option<&Value>) {
        if let Some(model) = model.and_then(Value::as_str).filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
    }

    /// A piece of the text.
    pub(super) fn text(&mut self, piece: &str) -> Result<(), Error> {
        self.text.push_str(piece);
        bounded(self.text.len())
    }

    /// A piece of the model's reasoning, which is not a part of its text.
    pub(super) fn reasoning(&mut self, piece: &str) -> Result<(), Error> {
        self.reasoning.push_str(piece);
        bounded(self.reasoning.len())
    }

    /// The whole reasoning, unless its pieces came before.
    pub(super) fn whole_reasoning(&mut self, words: &str) -> Result<(), Error> {
        if self.reasoning.contains(words) { Ok(()) } else { self.reasoning(words) }
    }

    /// Pieces of tool calls that came together.
    pub(super) fn calls(&mut self, pieces: Vec<CallPiece>) -> Result<(), Error> {
        bounded(self.calls.take(pieces)?)
    }

    /// A whole tool call.
    pub(super) fn whole_call(&mut self, call: CallPiece) -> Result<(), Error> {
        bounded(self.calls.take_whole(call)?)
    }

    /// Takes the whole reply. It has to repeat the pieces that came before.
    pub(super) fn complete(&mut self, whole: Draft) -> Result<(), Error> {
        self.whole_reasoning(&whole.reasoning)?;
        if self.text.is_empty() {
            self.text(&whole.text)?;
        } else if !whole.text.is_empty() && whole.text != self.text {
            return Err(contradictory("text"));
        }
        if self.calls.is_empty() {
            self.calls = whole.calls;
        } else if !whole.calls.is_empty() && !self.calls.are(&whole.calls) {
            return Err(contradictory("tool calls"));
        }
        self.unread.extend(whole.unread);
        self.finish = self.finish.max(whole.finish);
        Ok(())
    }

    /// The sizes of all that came so far, to tell whether more has come.
    pub(super) fn sizes(&self) -> (usize, usize, usize) {
        (self.text.len(), self.reasoning.len(), self.calls.len())
    }

    /// The text before and behind a position.
    pub(super) fn text_at(&self, position: usize) -> (&str, &str) {
        self.text.split_at_checked(position).unwrap_or((&self.text, ""))
    }

    /// Forgets a text that repeats another.
    pub(super) fn forget_text(&mut self) {
        self.text.clear();
    }

    /// Notes the number of the reply that a piece belongs to: there is to be one reply.
    pub(super) fn choose(&mut self, index: u64) -> Result<(), Error> {
        if *self.choice.get_or_insert(index) == index { Ok(()) } else { Err(unknown("several `choices`", index)) }
    }

    /// The text of the present item so far.
    pub(super) fn said_of_item(&self) -> &str {
        self.text_at(self.item).1
    }

    /// The present item is complete.
    pub(super) fn end_item(&mut self) {
        self.item = self.text.len();
    }

    /// A call began that is to come as a whole later.
    pub(super) fn announce_call(&mut self) {
        self.announced += 1;
    }

    /// Notes a field that is not known. It matters if the reply has nothing else.
    pub(super) fn unread(&mut self, field: &str) {
        if self.unread.len() < 16 {
            self.unread.insert(quoted(field));
        }
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

    /// The reason that the model stopped, in the server's word; null and an empty word mean that it goes on.
    pub(super) fn finish(&mut self, word: &Value) -> Result<(), Error> {
        let word = match word {
            Value::Null => return Ok(()),
            Value::String(word) if word.trim().is_empty() => return Ok(()),
            Value::String(word) => word.trim().to_ascii_lowercase(),
            other => return Err(unknown_finish(&other.to_string())),
        };
        let finish = match word.as_str() {
            "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "complete" | "completed" => Finish::Stop,
            "length" | "max_tokens" | "max_output_tokens" | "model_length" | "model_context_window_exceeded" => {
                Finish::Length
            }
            "tool_calls" | "tool_call" | "tool_use" | "function_call" => Finish::ToolCalls,
            "content_filter" | "refusal" | "safety" => Finish::Refusal,
            _ => return Err(unknown_finish(&word)),
        };
        // Some servers say it twice. A reply that was cut off stays one.
        self.finish = self.finish.max(Some(finish));
        Ok(())
    }

    /// The model refused; what it says stays the text.
    pub(super) fn refused(&mut self) {
        self.finish = Some(Finish::Refusal);
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

    /// The reply, if it is all there. A body that ended in order may lack the last event, but not the reason that the model stopped.
    pub(crate) fn into_reply(self, request: &LlmRequest, ignored: &[&str]) -> Result<Reply, Error> {
        // A reply of fewer tokens than it may have was not cut off: some servers never say why the model stopped.
        let spent = self.usage.output_tokens.filter(|spent| *spent > 0).zip(request.sampling().max_tokens);
        let is_whole = self.has_ended && spent.is_some_and(|(spent, max)| spent < max);
        let finish = self.finish.or(is_whole.then_some(Finish::Stop)).ok_or_else(|| match self.has_ended {
            false => passing(Kind::Truncated, "the reply ended without its last event"),
            true => lasting(Kind::Server, "the server ended the reply and did not say why the model stopped")
                .hint("take another server: a whole reply can't be told from one that was cut off"),
        })?;
        let tool_calls = self.calls.whole(finish == Finish::Length)?;
        if tool_calls.len() < self.announced {
            return Err(lasting(
                Kind::ToolChoice,
                "the server says that the model calls a tool, and sends no such call",
            ));
        }
        // Some servers say `stop` in any case.
        let waits = finish == Finish::Stop && !tool_calls.is_empty();
        let reply = Reply {
            model_requested: request.model().to_owned(),
            model: self.model,
            text: self.text,
            reasoning: self.reasoning,
            value: None,
            tool_calls,
            finish: if waits { Finish::ToolCalls } else { finish },
            usage: self.usage,
            ignored: ignored.iter().filter(|field| is_given(request, field)).map(|field| (*field).to_owned()).collect(),
        };
        says_something(reply, &self.unread)
    }
}

/// The reply, if it has what its end promises.
fn says_something(reply: Reply, unread: &BTreeSet<String>) -> Result<Reply, Error> {
    let is_silent = reply.text.is_empty() && reply.tool_calls.is_empty();
    Err(match reply.finish {
        Finish::ToolCalls if reply.tool_calls.is_empty() => {
            lasting(Kind::ToolChoice, "the server says that the model calls tools, and sends no call")
        }
        Finish::Stop if is_silent && !reply.reasoning.is_empty() => {
            let shown: String = reply.reasoning.chars().take(MOST_REASONING).collect();
            lasting(Kind::Truncated, "the model gave its reasoning and no text")
                .detail("reasoning", shown)
                .hint("allow more with `max_tokens`, or switch the model's reasoning off")
        }
        Finish::Stop | Finish::Length if is_silent && reply.reasoning.is_empty() && !unread.is_empty() => {
            let fields = unread.iter().map(String::as_str).collect::<Vec<_>>().join("`, `");
            lasting(Kind::Server, format!("the reply has no text, but fields that can't be read: `{fields}`"))
                .hint(OTHER)
        }
        Finish::Stop | Finish::Length | Finish::ToolCalls | Finish::Refusal => return Ok(reply),
    })
}

/// True if a request has a field of its sampling, or a choice of tools.
fn is_given(request: &LlmRequest, field: &str) -> bool {
    match field {
        "tool_choice" => !request.tools().is_empty() && *request.tool_choice() != super::super::ToolChoice::Auto,
        _ => json!(request.sampling()).get(field).is_some(),
    }
}

/// The next step where a server sends a form that is not known.
pub(super) const OTHER: &str = "take another server or model, or ask it for text alone";

/// The error for a part of a reply that is not known: to pass over it could lose what the model said.
pub(super) fn unknown(what: &str, shown: impl std::fmt::Display) -> Error {
    lasting(Kind::Server, format!("the reply has {what} that can't be read: `{}`", quoted(&shown.to_string())))
        .hint(OTHER)
}

fn contradictory(what: &str) -> Error {
    lasting(Kind::Server, format!("the server repeats the {what} of its reply, and it is not the same")).hint(OTHER)
}

fn unknown_finish(word: &str) -> Error {
    lasting(Kind::Server, format!("the model stopped because of `{}`, which is unknown", quoted(word)))
}

fn bounded(length: usize) -> Result<(), Error> {
    match length > MAX_REPLY {
        true => Err(lasting(Kind::Server, format!("the reply is longer than {} MiB", MAX_REPLY >> 20))),
        false => Ok(()),
    }
}
