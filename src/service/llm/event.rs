//! The answer of a model: events in their order, and the resulting reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::ToolCall;
use base::error::Error;

/// A bound that no request's or reply's tokens reach.
const MOST_TOKENS: u64 = 1 << 40;

/// One event of an answer: `started`, any number of `token`, `tool_call`, `metrics`, and one `completed` or `error` as the end.
/// If the caller asked for retries, there may be several `started` before the first `token`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LlmStreamEvent {
    /// The request is on its way.
    Started {
        /// The requested model.
        model: String,
        /// The number of the try, from 1.
        attempt: u32,
        /// The error of the try before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Box<Error>>,
    },
    /// A piece of the text.
    Token {
        /// The piece.
        text: String,
    },
    /// The model calls a tool.
    ToolCall {
        /// The call.
        call: ToolCall,
    },
    /// The cost.
    Metrics {
        /// The tokens.
        usage: Usage,
        /// Milliseconds to the first piece of text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_token_ms: Option<u64>,
        /// Milliseconds of this try.
        total_ms: u64,
    },
    /// It succeeded.
    Completed {
        /// The reply, checked.
        reply: Box<Reply>,
    },
    /// It failed.
    Error {
        /// The reason.
        error: Box<Error>,
    },
}

impl LlmStreamEvent {
    /// True if nothing comes after it.
    pub fn is_end(&self) -> bool {
        matches!(self, LlmStreamEvent::Completed { .. } | LlmStreamEvent::Error { .. })
    }
}

/// The reason that a model stopped. A later one outweighs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done, or came to a stop text.
    Stop,
    /// It waits for tools.
    ToolCalls,
    /// It reached the limit of tokens.
    Length,
    /// It, or a filter, refused.
    Refusal,
}

/// Tokens, counted alike for every server; none if it does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Of the request, including those from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Of the request, from the server's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Usage {
    /// Without implausible numbers: records can't hold them, and sums would overflow.
    pub(super) fn plausible(self) -> Self {
        let plausible = |tokens: &u64| *tokens <= MOST_TOKENS;
        Usage {
            input_tokens: self.input_tokens.filter(plausible),
            cached_tokens: self.cached_tokens.filter(plausible),
            output_tokens: self.output_tokens.filter(plausible),
        }
    }
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The requested model.
    pub model_requested: String,
    /// The model that answered, by the server's report; it may be another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The text.
    pub text: String,
    /// The model's reasoning, if the server sends it apart from the text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The text as a value, if a schema was given: it fits the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The tools to call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The reason that the model stopped.
    pub finish: Finish,
    /// The cost.
    #[serde(default)]
    pub usage: Usage,
    /// Fields of the request for which the dialect has no word, such as `seed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

impl Reply {
    /// A reply of one text, for programs that answer without a server.
    pub fn of_text(model: &str, text: impl Into<String>) -> Self {
        Reply {
            model_requested: model.to_owned(),
            model: Some(model.to_owned()),
            text: text.into(),
            reasoning: String::new(),
            value: None,
            tool_calls: Vec::new(),
            finish: Finish::Stop,
            usage: Usage::default(),
            ignored: Vec::new(),
        }
    }

    /// True if another model answered than the requested one.
    pub fn is_of_another_model(&self) -> bool {
        self.model.as_ref().is_some_and(|model| *model != self.model_requested)
    }
}
