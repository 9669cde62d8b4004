//! `nrv mcp`: the host as a server for agents.

mod changes;
mod confirmations;
mod hostile;
mod http;
mod install;
mod lists;
mod oracles;
mod peers;
mod runs;
mod strict;
mod transcripts;

pub(crate) use self::peers::tools;
