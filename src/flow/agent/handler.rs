//! Handlers: from the reply of a model to what is shown, what is done and what is said back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::error::Error;

/// The reply of a model, as it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text.
    #[serde(default)]
    pub text: String,
    /// The calls of tools in the form of the server.
    #[serde(default)]
    pub tool_calls: Vec<Value>,
}

/// Something that an agent wants done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// The name by which the agent finds the result.
    #[serde(default)]
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Value,
}

/// A reply as a handler has read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The text that is shown, byte for byte as it came.
    pub message: String,
    /// The actions, in their order.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// The words to the agent in the next turn, beside the results of its actions. Without them and without actions, the loop ends.
    #[serde(default)]
    pub feedback: Option<String>,
}

impl Turn {
    /// The turn of a reply that the handler can't read: it is shown as it came, and nothing follows.
    pub fn unread(reply: &Reply) -> Self {
        Turn { message: reply.text.clone(), ..Turn::default() }
    }
}

/// Reads the replies of a model.
pub trait ActionHandler {
    /// Reads a reply. One that it can't read is [`Turn::unread`]; an error ends the conversation.
    fn handle(&mut self, reply: &Reply) -> Result<Turn, Error>;

    /// The form of replies, in words that stand in each prompt.
    fn instructions(&self) -> String {
        String::new()
    }

    /// True if the model is given the tools in the form of its server, and calls them in that form.
    fn is_native(&self) -> bool {
        false
    }
}
