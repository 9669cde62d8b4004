//! Replies that call tools in the form of the server.

use serde_json::Value;

use super::handler::{Action, ActionHandler, Reply, Turn};
use base::error::Error;

/// Reads the calls of tools that a server hands over apart from the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeHandler;

impl ActionHandler for NativeHandler {
    fn handle(&mut self, reply: &Reply) -> Result<Turn, Error> {
        let action = |call: &Value| Action {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            tool: call["name"].as_str().unwrap_or_default().to_owned(),
            params: call["arguments"].clone(),
        };
        let actions = reply.tool_calls.iter().map(action).collect();
        Ok(Turn { message: reply.text.clone(), actions, feedback: None })
    }

    fn is_native(&self) -> bool {
        true
    }
}
