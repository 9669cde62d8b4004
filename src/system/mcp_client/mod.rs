//! Servers of the Model Context Protocol: programs and hosts that offer tools, asked by the official SDK.
//!
//! Nothing here trusts a server: what it sends is bounded, its own questions are declined, and its definitions are data that the
//! caller compares with those that a person approved. `pipes` carries lines to
//! programs, `web` requests to URLs, `watch` keeps the bounds, `definition` reads definitions, and `client` asks.

mod client;
mod definition;
mod pipes;
mod watch;
mod web;

use serde_json::Value;

pub use self::{
    client::{Client, Named, failed},
    definition::Definition,
    pipes::{Heard, Pipes, Said, pipes},
    web::{Answer, Post, Web},
};

/// The reply of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The parts of the reply, as the protocol has them.
    pub content: Vec<Value>,
    /// The reply as one value; none if the tool gives none.
    pub structured: Option<Value>,
    /// True if the tool says that it failed.
    pub is_error: bool,
}

impl Reply {
    /// The texts among the parts, each from a new line on.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}
