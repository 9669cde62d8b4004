//! Conversations with MCP servers: a program is started like a command, a server elsewhere gets requests.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    mcp_web::{Connection, Remote},
    server_process::{Process, Starting, Streams, Surroundings},
};
use crate::Context;
use base::{
    error::{Code, Error},
    pulse::Pulse,
};
use system::{
    clock::Stopwatch,
    mcp_client::{self, Client, Definition, failed},
    policy::{Exec, McpServer, Policy},
    workspace::Overlay,
};

/// The servers with which a run converses. Dropping them ends them all at once.
#[derive(Default)]
pub(crate) struct Servers(BTreeMap<String, Session>);

impl Servers {
    /// The conversation with a server, taken out; none if there is none, or if its program sees another tree.
    pub(super) fn take(&mut self, name: &str, tree: &Tree<'_>) -> Option<Session> {
        self.0.remove(name).filter(|session| session.sees(tree))
    }

    /// Keeps a conversation until the next call.
    pub(super) fn keep(&mut self, name: &str, session: Session) {
        self.0.insert(name.to_owned(), session);
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // All are told before the first is waited for.
        let running = std::mem::take(&mut self.0).into_values().map(|Session { client, mut running, .. }| {
            drop(client);
            if let Running::Program(process, ..) = &mut running {
                process.bid();
            }
            running
        });
        drop(running.collect::<Vec<_>>());
    }
}

/// The tree as a run sees it.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    /// The proposals of a dry run.
    pub(super) overlay: &'a Overlay,
    /// How often the run has changed files.
    pub(super) changes: u64,
}

/// A conversation with a server.
pub(super) struct Session {
    // Dropped first: a program ends by itself when nobody speaks to it any more.
    client: Client,
    running: Running,
    tools: Vec<Definition>,
}

/// The server of a conversation. Dropping it ends it.
enum Running {
    /// A program, and the tree that it sees.
    Program(Process, Overlay, u64),
    /// A server elsewhere.
    Elsewhere(#[expect(dead_code, reason = "dropping it ends the requests")] Connection),
}

/// The surroundings in which a program starts.
pub(super) struct Place<'a> {
    pub(super) context: &'a Context,
    pub(super) policy: &'a Policy,
    pub(super) tree: Tree<'a>,
    /// The run, whose id is part of the names of private folders.
    pub(super) run: &'a str,
    /// Records what is started just before it is.
    pub(super) note: &'a mut dyn FnMut(&Starting) -> Result<(), Error>,
}

/// A server of a policy, with its name.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) server: &'a McpServer,
}

impl<'a> Named<'a> {
    pub(super) fn of(policy: &'a Policy, name: &'a str) -> Result<Self, Error> {
        let server = policy.settings().mcp.servers.get(name).ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no MCP server `{}`", name.escape_debug()))
                .hint("name one in `[mcp.servers.NAME]` of `nrv.toml`")
        })?;
        Ok(Named { name, server })
    }

    /// An error once a call takes longer than it may.
    pub(super) fn in_time(self, watch: Stopwatch) -> Result<(), Error> {
        let most = self.server.timeout_ms;
        if watch.elapsed_ms() < most {
            return Ok(());
        }
        let hint = format!("raise `timeout_ms` in `[mcp.servers.{}]` of `nrv.toml`", self.name);
        Err(failed(self.name, format_args!("took longer than {most} ms")).hint(hint))
    }

    /// Begins a conversation, and looks at the tools.
    pub(super) fn begin(self, place: Place<'_>, pulse: Pulse<'_>) -> Result<Session, Error> {
        let within = |error: Error| error.within(format_args!("the MCP server `{}`", self.name));
        let begun = match &self.server.url {
            Some(url) => {
                let remote = Remote::new(place.context, place.policy, self.name, self.server).map_err(within)?;
                let running = Running::Elsewhere(remote.connection());
                let client = Client::over_web(self.name, url, Arc::new(remote), pulse)?;
                Session { client, running, tools: Vec::new() }
            }
            None => self.start(place, pulse, &within)?,
        };
        let mut session = begun;
        match session.look(self, pulse) {
            Ok(()) => Ok(session),
            Err(error) => Err(session.end(error)),
        }
    }

    /// Starts a program, and begins a conversation.
    fn start(self, place: Place<'_>, pulse: Pulse<'_>, within: &dyn Fn(Error) -> Error) -> Result<Session, Error> {
        let Place { context, policy, tree: Tree { overlay, changes }, run, note } = place;
        let (of_commands, McpServer { command, env, network, .. }) = (&policy.settings().exec, self.server);
        let env = of_commands.env.iter().chain(env).cloned().collect();
        let exec = Exec { network: *network, env, ..of_commands.clone() };
        let surroundings = Arc::new(Surroundings::new(context, exec, overlay, run)?);
        let (pipes, said, mut heard) = mcp_client::pipes();
        let streams = Streams { said, heard: move |bytes: &[u8]| heard.hear(bytes) };
        let mut process = Process::start(surroundings, command, streams, pulse, note).map_err(within)?;
        match Client::over_pipes(self.name, pipes, pulse) {
            Ok(client) => {
                let running = Running::Program(process, overlay.clone(), changes);
                Ok(Session { client, running, tools: Vec::new() })
            }
            Err(error) => Err(process.explained(error)),
        }
    }
}

impl Session {
    /// True if its server sees the tree as the run does, or none at all.
    fn sees(&self, tree: &Tree<'_>) -> bool {
        match &self.running {
            Running::Program(_, overlay, changes) => (overlay, *changes) == (tree.overlay, tree.changes),
            Running::Elsewhere(_) => true,
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The tools that the policy names, in its order.
    pub(super) fn tools(&self) -> &[Definition] {
        &self.tools
    }

    /// Looks at the tools of the server as they are now. If that can't be told, it has none.
    pub(super) fn look(&mut self, named: Named<'_>, pulse: Pulse<'_>) -> Result<(), Error> {
        self.tools.clear();
        self.tools = used(named, &self.client.tools(pulse)?)?;
        Ok(())
    }

    /// Ends a conversation that failed; the error with the last words of the program.
    pub(super) fn end(self, error: Error) -> Error {
        let Session { client, running, .. } = self;
        drop(client);
        match running {
            Running::Program(mut process, ..) => process.explained(error),
            Running::Elsewhere(_) => error,
        }
    }
}

/// Those of a server's tools that the policy names, in its order.
fn used(named: Named<'_>, tools: &[Definition]) -> Result<Vec<Definition>, Error> {
    let find = |name: &String| {
        let mut found = tools.iter().filter(|tool| tool.name == *name);
        match (found.next(), found.next()) {
            (Some(tool), None) => Ok(tool.clone()),
            (None, _) => Err(failed(named.name, format_args!("has no tool `{name}`"))
                .hint(format!("name a tool that it has in `mcp.servers.{}.tools` of `nrv.toml`", named.name))),
            (Some(_), Some(_)) => Err(failed(named.name, format_args!("has several tools `{name}`"))),
        }
    };
    named.server.tools.iter().map(find).collect()
}

/// The tools of a server of the policy in force, as the server defines them now: its name and version, and those that the policy names.
/// The policy has to be trusted.
pub fn mcp_tools(context: &Context, name: &str) -> Result<(mcp_client::Named, Vec<Definition>), Error> {
    context.check_trust()?;
    let named = Named::of(&context.policy, name)?;
    let watch = Stopwatch::start();
    let pulse = || context.check_cancelled().and_then(|()| named.in_time(watch));
    let tree = Tree { overlay: &Overlay::default(), changes: 0 };
    let place = Place { context, policy: &context.policy, tree, run: "mcp", note: &mut |_| Ok(()) };
    let session = named.begin(place, &pulse)?;
    Ok((session.client.named(), session.tools.clone()))
}
