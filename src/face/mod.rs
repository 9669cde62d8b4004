//! The faces of the host: a request from a person or a program becomes calls, and a reply becomes text.
//!
//! Only `cli` prints and reads the environment; `mcp` writes the protocol to standard output. Nothing here decides on a change.

pub mod adapter;
pub mod cli;
pub mod entry;
pub mod fleet;
pub mod mcp;
pub mod modules;
pub mod report;
pub mod toolkit;
