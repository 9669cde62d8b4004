//! Language servers: programs that know a language, asked over the Language Server Protocol 3.17.
//!
//! Answers are data that the caller has to prove; nothing here trusts them. `frame` cuts messages, `client` asks, `check` has it
//! check a program, `answer` answers the server's own requests, and `edit` checks what it proposes. A host starts and ends servers ([`Servers`]).

mod answer;
mod check;
mod client;
mod edit;
mod frame;

use serde::{Deserialize, Serialize};

pub use self::{
    check::Errors,
    client::{Caller, Client, Definition, Ends, failed},
    edit::{Edit, Edits},
};
use base::{
    error::{Code, Error},
    hash::Sha256,
};

/// Starts servers for questions, and ends them.
pub trait Servers: Sync {
    /// The name of the server that is asked about a language; none if there is none.
    fn of_language(&self, language: &str) -> Option<&str>;

    /// The error for a language without a server.
    fn missing(&self, language: &str) -> Error {
        Error::new(Code::NotFound, format!("no language server for `{language}` is configured")).hint(format!(
            "write `command` and `languages = [\"{language}\"]` below `[language_servers.NAME]` in `nrv.toml` \
                 (docs/rename.md#language-servers)"
        ))
    }

    /// Starts a server, has it asked, and ends it. What it writes is thrown away.
    ///
    /// `command_failed` if it can't be started or does not answer, `verification_failed` if an answer can't be honest.
    fn converse(
        &self,
        server: &str,
        caller: &Caller<'_>,
        work: &mut dyn FnMut(&mut Client<'_>) -> Result<(), Error>,
    ) -> Result<Asked, Error>;
}

/// The servers of a place that has none.
#[derive(Clone, Copy, Debug)]
pub struct NoServers;

impl Servers for NoServers {
    fn of_language(&self, _language: &str) -> Option<&str> {
        None
    }

    fn missing(&self, language: &str) -> Error {
        let message =
            format!("no language server for `{language}` can be asked: servers read files, and here are only texts");
        Error::new(Code::NotFound, message).hint("run the adapter on a tree, with a language server in `nrv.toml`")
    }

    fn converse(
        &self,
        server: &str,
        _caller: &Caller<'_>,
        _work: &mut dyn FnMut(&mut Client<'_>) -> Result<(), Error>,
    ) -> Result<Asked, Error> {
        Err(failed(server, "can't be started here"))
    }
}

/// The server that was asked, as the record names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Its name in the policy.
    pub server: String,
    /// The name that it gives itself; empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its version as it says; empty if it says none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The hash of its program's file; none if the host does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
}
