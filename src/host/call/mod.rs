//! The calls of a run, one file a family: each prepares its service's request and records the service's reply.
//!
//! Gates and budgets are not asked here, and a change reaches the tree only through `host::change`.

pub(crate) mod adapter;
pub(crate) mod agent;
mod ahead;
pub(crate) mod apply;
pub(super) mod approved_tools;
pub(crate) mod attempt;
pub(crate) mod code;
pub(super) mod command_output;
pub(super) mod custom;
pub(crate) mod custom_call;
mod early;
pub(crate) mod edit;
pub(crate) mod evaluate;
pub(crate) mod exec;
pub(crate) mod files;
pub(crate) mod graph;
mod key;
mod language_server;
pub(crate) mod llm;
pub(crate) mod mcp;
pub(super) mod mcp_session;
mod mcp_web;
pub(crate) mod prompt;
pub(super) mod samples;
mod server_process;
pub(crate) mod show;
pub(super) mod verifier;
pub(super) mod violation;
mod withheld;
