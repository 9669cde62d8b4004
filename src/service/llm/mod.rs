//! Language models: a typed request in, ordered events and a checked reply out.
//!
//! The room owns the wire protocols and nothing else. It adds nothing to a prompt, retries only on request, decides nothing
//! about the proposals of a reply, and reaches only the given server. The caller asks gates and budgets first, and keeps the
//! record.
//!
//! An [`Orchestrator`] answers requests. [`Wire`] is a server that speaks one of the [`dialect::PROVIDERS`], [`Served`] one
//! that a program describes by a [`Service`]. [`Heuristic`] needs no model, [`Command`] is a program, [`Cassettes`] answer from
//! a record. [`client()`] checks the replies of all of them.

pub mod dialect;

mod canonical;
mod capabilities;
mod cassette;
mod check;
mod client;
mod command;
#[cfg(test)]
mod corpus;
mod difference;
mod discovery;
mod error;
mod event;
mod frame;
mod heuristic;
mod message;
mod ndjson;
mod pieces;
mod queue;
mod replies;
mod request;
mod schema;
#[cfg(test)]
mod scripted;
mod service;
mod sse;
mod transcript;
mod transport;
mod typed;
mod wire;
mod withheld;

pub use self::{
    canonical::Key,
    capabilities::{Capabilities, Model, Workload},
    cassette::{Cassettes, Mode, Redact, is_cut_short},
    client::{LlmClient, LlmClientConfig, LlmHandle, LlmStream, Orchestrator, client},
    command::{Command, CommandOptions},
    error::{Kind, broken_off, failed, kind},
    event::{Finish, LlmStreamEvent, Reply, Usage},
    heuristic::{Heuristic, RULES, Rule},
    message::{Message, Role, Tool, ToolCall, ToolChoice},
    replies::{AUTHORED, Replies, Written, counted_replies},
    request::{LlmRequest, LlmRequestBuilder, Retry, Sampling, Timeouts},
    schema::ReplySchema,
    service::{Piece, Post, Served, Service},
    sse::Sse,
    transcript::{Events, Transcript},
    transport::{Http, Outgoing, Received, Transport},
    typed::parse_as,
    wire::{Wire, WireOptions},
};
pub use system::schema::reply::{Fence, parse, parse_plan, plan_schema};
