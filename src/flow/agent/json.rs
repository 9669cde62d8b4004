//! Replies in JSON: a message, and the actions that follow it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::handler::{Action, ActionHandler, Reply, Turn};
use base::error::Error;
use system::schema::{
    Schema,
    reply::{Fence, parse},
};

/// Reads `{"message", "spawn"?, "actions"?}`. `spawn` comes first, and is the tool `summon_servitor`.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonHandler;

/// The form of a reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    message: String,
    #[serde(default)]
    spawn: Option<Value>,
    #[serde(default)]
    actions: Vec<Action>,
}

impl ActionHandler for JsonHandler {
    fn handle(&mut self, reply: &Reply) -> Result<Turn, Error> {
        let read = parse(&reply.text, None, Fence::Allowed).ok();
        let fits = |value: &Value| Schema::compile(&reply_schema()).is_ok_and(|schema| schema.check(value).is_ok());
        let form = read.filter(fits).and_then(|value| Form::deserialize(&value).ok());
        let Some(Form { message, spawn, actions }) = form else { return Ok(Turn::unread(reply)) };
        let spawn = spawn.map(|params| Action { id: "spawn".to_owned(), tool: "summon_servitor".to_owned(), params });
        Ok(Turn { message, actions: spawn.into_iter().chain(actions).collect(), feedback: None })
    }

    fn instructions(&self) -> String {
        format!(
            "Reply with one JSON object and nothing else. Its JSON Schema is {}. Leave `spawn` and `actions` out when nothing is to be done.",
            reply_schema()
        )
    }
}

/// The JSON Schema of a reply.
pub fn reply_schema() -> Value {
    let text = |meaning: &str| json!({"type": "string", "description": meaning});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The reply of an agent",
        "type": "object", "additionalProperties": false, "required": ["message"],
        "properties": {
            "message": text("The text that is shown."),
            "spawn": {
                "type": "object", "additionalProperties": false, "required": ["assignment"],
                "description": "An agent to summon, before the actions.",
                "properties": {"assignment": text("Its assignment."), "name": text("Its name; one is chosen if there is none.")},
            },
            "actions": {
                "type": "array", "description": "The actions, in their order.",
                "items": {
                    "type": "object", "additionalProperties": false, "required": ["id", "tool", "params"],
                    "properties": {
                        "id": text("A name by which the result is found."),
                        "tool": text("The tool."),
                        "params": {"type": "object", "description": "Its parameters."},
                    },
                },
            },
        },
    })
}
