//! What is asked of a language model, and what a prompt is made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request to a language model, in no dialect. Exactly one of `prompt` and `messages` says something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The provider by its name in the policy; none: the policy's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model; none: the one that the policy names for the provider, or the only one that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is asked for: `chat`, unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// One message of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What is said: `{role, content, tool_calls?, tool_call_id?}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Value>,
    /// The JSON Schema that the reply has to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The tools that the model may want to be called: `{name, description, parameters}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// Whether it has to: `"auto"`, `"none"`, `"required"`, or `{"named": "a_tool"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// Tokens of the reply at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// 0 for the most probable words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// For replies that are the same again, as far as a server can do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which the reply ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Milliseconds that one try may take; none: as many as the policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// When it is tried again: `{on: [kinds], max, wait_ms}`; none: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Value>,
}

/// The parts of a prompt. All that a model needs is in every prompt; nothing is taken from former ones but what `prior` says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Who the model is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What is to be reached.
    pub goal: String,
    /// What holds on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// What it has to know: a path or `{path}` of a file, `{name, text}`, or `{name, value}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Value>,
    /// The JSON Schema that the reply has to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Names of directives that are put in word for word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<String>,
    /// What came of former rounds: `{reply, errors}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<Value>,
    /// The provider whose model is to take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model that is to take it: a prompt that does not fit its context is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that are kept free for the reply.
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
