//! A request for a run: the work that it asks for, and who makes its calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Context, Flags};
use adapter::contract::Mode;
use base::{
    call::Call,
    error::Error,
    hash::Sha256,
    micro::{Edit, Tool},
};
use record::event::{self, Input};
use service::apply;
use system::{policy::Policy, workspace::Globs};

/// The work that a run is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Asked {
    /// A script with everything that it imports.
    Script {
        /// The script's path.
        path: String,
        /// Its source and the modules', by path.
        sources: BTreeMap<String, Source>,
        /// Importing path and literal to imported path.
        imports: BTreeMap<String, BTreeMap<String, String>>,
        /// The checked arguments.
        args: Value,
    },
    /// One adapter.
    Adapter {
        /// Its name.
        tool: String,
        /// Its invocation.
        input: Value,
    },
    /// Texts that a person gives one after another, each of which is recorded when it comes.
    Session {
        /// The name of the session.
        name: String,
    },
    /// Calls of the program that embeds nrv, which is no script.
    Program {
        /// The name that the program gives this run.
        name: String,
    },
    /// Calls of a client of the Model Context Protocol.
    Client {
        /// The name and version that the client states.
        name: String,
    },
    /// Patches, or a plan of diffs, that a person applies.
    Patch {
        /// The names and hashes of the inputs, in their order.
        inputs: Vec<Input>,
    },
    /// One micro-edit that a person makes.
    Edit {
        /// The tool.
        tool: Tool,
        /// The file.
        path: String,
    },
    /// A change that was planned before.
    Planned {
        /// The plan.
        plan: Input,
    },
    /// Undoing another run.
    Rollback {
        /// That run.
        parent: String,
        /// True if files that changed since are to be left alone.
        keep_later: bool,
        /// The position of the change that is undone by itself; none if all of the run is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<String>,
    },
}

/// Who makes the calls of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A script, from which the policy keeps secrets.
    Script,
    /// Texts of a session, which are as a script's; but nobody goes on with it, so that it can't wait for an answer.
    Session,
    /// The program, whose own call is the decision.
    Program,
    /// A client of the Model Context Protocol: the policy keeps secrets from it, and somebody is asked before anything is written.
    Client,
    /// A person's command line, which is asked before anything is written.
    Person,
}

impl Origin {
    /// True if the policy keeps the contents of some files from whoever makes the calls.
    pub(crate) fn is_kept_from_secrets(self) -> bool {
        matches!(self, Origin::Script | Origin::Session | Origin::Client)
    }

    /// True if a change is asked about before it is made, whatever gates say of it.
    pub(crate) fn asks_before_writing(self) -> bool {
        matches!(self, Origin::Client | Origin::Person)
    }

    /// True if whoever makes the calls reads each error, so that a failed verification does not end the run.
    pub(crate) fn reads_errors(self) -> bool {
        matches!(self, Origin::Session | Origin::Client)
    }
}

impl Asked {
    /// As a record has it, with hashes in place of sources.
    pub(crate) fn recorded(&self) -> event::Asked {
        match self.clone() {
            Asked::Script { path, sources, args, .. } => {
                let sources = sources.into_iter().map(|(path, source)| (path, source.sha256.into())).collect();
                event::Asked::Script { path, sources, args: event::Free(args) }
            }
            Asked::Adapter { tool, input } => event::Asked::Adapter { tool, input: event::Free(input) },
            Asked::Session { name } => event::Asked::Session { name },
            Asked::Program { name } => event::Asked::Program { name },
            Asked::Client { name } => event::Asked::Client { name },
            Asked::Patch { inputs } => event::Asked::Patch { inputs },
            Asked::Edit { tool, path } => event::Asked::Edit { tool, path },
            Asked::Planned { plan } => event::Asked::Planned { plan },
            Asked::Rollback { parent, keep_later, position } => event::Asked::Rollback { parent, keep_later, position },
        }
    }

    pub(crate) fn origin(&self) -> Origin {
        match self {
            Asked::Script { .. } => Origin::Script,
            Asked::Session { .. } => Origin::Session,
            Asked::Program { .. } => Origin::Program,
            Asked::Client { .. } => Origin::Client,
            Asked::Adapter { .. }
            | Asked::Patch { .. }
            | Asked::Edit { .. }
            | Asked::Planned { .. }
            | Asked::Rollback { .. } => Origin::Person,
        }
    }
}

/// A source as it was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its hash.
    pub sha256: Sha256,
    /// Its text.
    pub text: String,
}

/// A run that is to start.
#[derive(Debug)]
pub struct Request {
    /// The work that the run is asked to do.
    pub asked: Asked,
    /// The policy, tightened by the script's header.
    pub policy: Policy,
    /// The seed of everything that is chosen by chance.
    pub seed: u64,
    /// The flags that the user gives.
    pub flags: Flags,
    /// The globs that it may write; their files must be clean. None: it writes nothing, or files that it checks itself.
    pub writes: Option<Vec<String>>,
}

impl Request {
    /// A run of one adapter, of which [`Call::DtaRun`](base::call::Call::DtaRun) is the only call.
    ///
    /// The invocation is checked as a whole; one that asks for a dry run makes the run one.
    pub fn adapter(context: &Context, tool: &str, input: &Value, flags: Flags) -> Result<Self, Error> {
        let invocation = adapter::parse(context.options.adapters.find(tool)?, input)?;
        let globs = invocation.target.globs(context.view())?;
        Ok(Request {
            asked: Asked::Adapter { tool: tool.to_owned(), input: input.clone() },
            policy: context.policy.clone(),
            seed: invocation.constraints.seed,
            flags: Flags { dry_run: flags.dry_run || invocation.mode == Mode::DryRun, ..flags },
            writes: Some(globs.patterns().to_vec()),
        })
    }

    /// A run of one call `apply.*` that a person makes on a command line, under the policy of the workspace.
    ///
    /// The files that it names must be clean, as far as a repository can say; a call that is wrong in itself says so when it is made.
    pub fn apply(context: &Context, asked: Asked, call: &Call, flags: Flags) -> Self {
        let matters = !flags.allow_dirty && !context.policy.settings().run.allow_dirty && context.is_in_repository();
        let parsed = matters.then(|| apply::Request::of(call).ok()).flatten();
        let writes = parsed.map(|request| request.targets().iter().map(Globs::literal).collect());
        Request { asked, policy: context.policy.clone(), seed: 0, flags, writes }
    }

    /// A run of one micro-edit that a person makes on a command line, under the policy of the workspace.
    ///
    /// The edit names the present text, so that other uncommitted changes of its file may stand.
    pub fn edit(context: &Context, edit: &Edit, flags: Flags) -> Self {
        let asked = Asked::Edit { tool: edit.tool, path: edit.path.clone() };
        Request { asked, policy: context.policy.clone(), seed: 0, flags, writes: None }
    }

    /// A run of the calls of a client of the Model Context Protocol, under the policy of the workspace.
    ///
    /// The files that it will write are not known; its changes name what they expect of a file.
    pub fn client(context: &Context, name: &str, flags: Flags) -> Self {
        let asked = Asked::Client { name: name.to_owned() };
        Request { asked, policy: context.policy.clone(), seed: 0, flags, writes: None }
    }

    /// A run of which the program makes the calls itself, under the policy of the workspace. The name stands in the record.
    ///
    /// The files that it will write are not known. Set `writes` if some of them must be clean when the run starts.
    pub fn program(context: &Context, name: &str) -> Self {
        Request {
            asked: Asked::Program { name: name.to_owned() },
            policy: context.policy.clone(),
            seed: 0,
            flags: Flags::default(),
            writes: None,
        }
    }
}
