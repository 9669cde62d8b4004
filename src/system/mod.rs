//! The sole owners of one effect each: the tree, locks, processes, sockets, time, git, and the formats that they read.
//!
//! Nothing here knows runs, records or scripts.

pub mod clock;
pub mod git;
pub mod journal;
pub mod language_server;
pub mod lock;
pub mod mcp_client;
pub mod net;
pub mod plain_file;
pub mod policy;
pub mod process;
pub mod schema;
pub mod signature;
pub mod store;
pub mod threads;
pub mod workspace;
