//! Edits texts in memory: one JSON request a line, one JSON answer a line. Nothing is read or written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Edited, edited};
use base::{
    error::Error,
    micro::{Edit, tool_of},
    pulse::Pulse,
};

/// A line of input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Returned in the answer.
    pub id: Value,
    /// The tool.
    pub op: String,
    /// Its parameters; the path decides the format.
    pub args: Value,
    /// The text of the file.
    pub text: String,
}

/// A line of output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The request's.
    pub id: Value,
    /// The new text of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Warnings about the new text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The reason that the edit is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The error behind it, with fresh handles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

impl Answer {
    /// A refusal.
    pub fn refused(id: Value, error: Error) -> Self {
        let refused = Some(error.message().to_owned());
        Answer { id, text: None, warnings: Vec::new(), refused, error: Some(error) }
    }
}

/// Edits a text.
pub fn answer(request: Request, pulse: Pulse<'_>) -> Answer {
    let Request { id, op, args, text } = request;
    let edited = tool_of(&op).and_then(|tool| Edit::parse(tool, &args)).and_then(|edit| edited(&text, &edit, pulse));
    match edited {
        Ok(Edited { text, warnings }) => Answer { id, text: Some(text), warnings, refused: None, error: None },
        Err(error) => Answer::refused(id, error),
    }
}
