//! Requests to a language model, and the parts of a prompt.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request to a language model, in no dialect. Exactly one of `prompt` and `messages` is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The provider's name in the policy; if none, the policy's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model; if none, the model that the policy names for the provider, or the provider's only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The workload of the request; `chat` if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// One message of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The conversation: `{role, content, tool_calls?, tool_call_id?}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Value>,
    /// The JSON Schema that the reply must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The tools that the model may call: `{name, description, parameters}`, or `input_schema` for `parameters`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// The obligation to call a tool: `"auto"`, `"none"`, `"required"`, or `{"named": "a_tool"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// Tokens of the reply at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// 0 for the most probable words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The seed for repeatable replies, as far as a server supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which the reply ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The time limit of one try in milliseconds; if none, the limit of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The retries: `{on: [kinds], max, wait_ms}`; if none, no retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Value>,
}

/// The parts of a prompt. Every prompt holds all that a model needs; only `prior` brings in former prompts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Who the model is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The goal.
    pub goal: String,
    /// The constraints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// The context: a path or `{path}` of a file, `{name, text}`, or `{name, value}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Value>,
    /// The JSON Schema that the reply must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Names of directives that are included word for word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<String>,
    /// Results of former rounds: `{reply, errors}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<Value>,
    /// The provider of the model that receives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model that receives it: a prompt that does not fit its context is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens reserved for the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

impl Parts {
    /// True if the prompt has to fit a model.
    pub fn is_for_a_model(&self) -> bool {
        self.provider.is_some() || self.model.is_some()
    }

    /// The paths of the files that stand in the prompt.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.context.iter().filter_map(|item| item.as_str().or_else(|| item.get("path")?.as_str()))
    }
}
