//! The calls of a run, one file a family: each prepares its service's request and records the service's reply.
//!
//! Gates and budgets are not asked here, and a change reaches the tree only through `host::change`.

pub(super) mod adapter;
pub(super) mod agent;
mod ahead;
pub(super) mod apply;
pub(super) mod approved_tools;
pub(super) mod attempt;
pub(super) mod code;
pub(super) mod command_output;
pub(super) mod custom;
pub(crate) mod custom_call;
mod early;
pub(super) mod edit;
pub(super) mod evaluate;
pub(super) mod exec;
pub(super) mod files;
pub(super) mod graph;
mod key;
mod language_server;
pub(super) mod llm;
pub(super) mod mcp;
pub(super) mod mcp_session;
mod mcp_web;
pub(super) mod prompt;
pub(super) mod samples;
mod server_process;
pub(super) mod show;
pub(super) mod verifier;
pub(super) mod violation;
mod withheld;
