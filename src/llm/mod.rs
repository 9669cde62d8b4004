//! Language models: a typed request in, ordered events and a checked reply out.
//!
//! The room owns the wire and nothing else. It adds nothing to a prompt, repeats nothing that the caller did not ask it to
//! repeat, decides nothing about what a reply proposes, and reaches no server but the one that it is given. Who sends
//! requests has to ask gates and budgets first, and keeps the record.
//!
//! An [`Orchestrator`] answers requests: [`Wire`] is a server that speaks one of the [`dialect::PROVIDERS`], [`Heuristic`]
//! needs no model, [`Cassettes`] answer from a record. [`client()`] checks what any of them replies.

pub mod dialect;

mod canonical;
mod capabilities;
mod cassette;
mod check;
mod client;
mod difference;
mod discovery;
mod error;
mod event;
mod frame;
mod heuristic;
mod message;
mod ndjson;
mod parse;
mod pieces;
mod queue;
mod request;
mod schema;
#[cfg(test)]
mod scripted;
mod sse;
mod transport;
mod wire;

pub use self::{
    canonical::Key,
    capabilities::{Capabilities, Model, Workload},
    cassette::{Cassettes, Mode, Redact},
    client::{LlmClient, LlmClientConfig, LlmHandle, LlmStream, Orchestrator, client},
    error::{Kind, kind},
    event::{Finish, LlmStreamEvent, Reply, Usage},
    heuristic::{Heuristic, RULES, Rule},
    message::{Message, Role, Tool, ToolCall, ToolChoice},
    parse::{Fence, parse, parse_plan, plan_schema},
    request::{LlmRequest, LlmRequestBuilder, Retry, Sampling, Timeouts},
    schema::ReplySchema,
    transport::{Http, Outgoing, Received, Transport},
    wire::{Wire, WireOptions},
};
