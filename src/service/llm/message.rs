//! Messages and tools of a conversation with a model, in no dialect.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::named::named;

named! {
    /// The author of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Role {
        /// Orders for the whole conversation.
        System = "system",
        /// The caller.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// The result of a tool.
        Tool = "tool",
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its text.
    pub content: String,
    /// The tools that the model called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that this is the result of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A message of an author.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Message { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }

    /// The result of a tool's call.
    pub fn result(call: &ToolCall, content: impl Into<String>) -> Self {
        Message { tool_call_id: Some(call.id.clone()), ..Message::new(Role::Tool, content) }
    }
}

/// A model's call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
}

/// A tool that a model may call. Nothing here calls it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The JSON Schema of its arguments; `input_schema` is the same.
    #[serde(alias = "input_schema")]
    pub parameters: Value,
}

/// The obligation to call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}
