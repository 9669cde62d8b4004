//! How a run starts: recovery first, a clean tree, a record, a lease.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    git_status,
    recover::{self, Round},
    run_json::{RUN_FILE, Started},
};
use crate::{
    base::{
        call::Call,
        error::{Code, Error},
        frame::Isolation,
        hash::Sha256,
    },
    host::{
        Context, Event, Flags, Host, Sink,
        budget::{Budget, Deadline},
        change::{ledger::Ledger, proof},
        recorder::Recorder,
        terms::Terms,
    },
    record::{
        Chain, FileRef, Keeper, Note,
        event::{self, Input, Place, RunStarted, WorkerStarted},
    },
    service::{
        adapter::{self, contract::Mode},
        apply,
    },
    system::{clock, policy::Policy, workspace::Globs},
};

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
    /// Patches, or a plan of diffs, that a person applies.
    Patch {
        /// The names and hashes of the inputs, in their order.
        inputs: Vec<Input>,
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
    },
}

/// Who makes the calls of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Origin {
    /// A script, from which the policy keeps secrets.
    Script,
    /// Texts of a session, which are as a script's; but nobody goes on with it, so that it can't wait for an answer.
    Session,
    /// The program, whose own call is the decision.
    Program,
    /// A person's command line, which is asked before anything is written.
    Person,
}

impl Asked {
    /// As a record has it, with hashes in place of sources.
    pub(in crate::host) fn recorded(&self) -> event::Asked {
        match self.clone() {
            Asked::Script { path, sources, args, .. } => {
                let sources = sources.into_iter().map(|(path, source)| (path, source.sha256.into())).collect();
                event::Asked::Script { path, sources, args: event::Free(args) }
            }
            Asked::Adapter { tool, input } => event::Asked::Adapter { tool, input: event::Free(input) },
            Asked::Session { name } => event::Asked::Session { name },
            Asked::Program { name } => event::Asked::Program { name },
            Asked::Patch { inputs } => event::Asked::Patch { inputs },
            Asked::Planned { plan } => event::Asked::Planned { plan },
            Asked::Rollback { parent, keep_later } => event::Asked::Rollback { parent, keep_later },
        }
    }

    pub(in crate::host) fn origin(&self) -> Origin {
        match self {
            Asked::Script { .. } => Origin::Script,
            Asked::Session { .. } => Origin::Session,
            Asked::Program { .. } => Origin::Program,
            Asked::Adapter { .. } | Asked::Patch { .. } | Asked::Planned { .. } | Asked::Rollback { .. } => {
                Origin::Person
            }
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
///
/// ```
/// use nrv::{Context, Flags, Options, Request, Workspace};
///
/// let folder = tempfile::tempdir()?;
/// let context = Context::new(Workspace::open(folder.path())?, Options::default())?;
/// let flags = Flags { dry_run: true, ..Flags::default() };
/// let request = Request { flags, seed: 7, ..Request::program(&context, "rename pages") };
/// assert_eq!(request.writes, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// A run of one adapter, of which [`Call::DtaRun`](crate::base::call::Call::DtaRun) is the only call.
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

impl<'a> Host<'a> {
    /// Starts a run: finishes what a crash left, checks that the tree is clean, opens the record.
    pub fn start(context: &'a Context, request: Request, sink: &mut dyn Sink) -> Result<Self, Error> {
        context.runs.prepare()?;
        recover_dead(context, sink)?;
        check_flags(&request.policy, request.flags)?;
        let git = check_clean(context, &request, sink)?;
        let budget = Budget::new(request.policy.settings().budget.clone());
        let deadline = Deadline::start(budget.wall(), Arc::clone(&context.options.cancel))?;
        let now_ms = context.options.clock.now_ms();
        let folder = context.runs.create(now_ms, std::process::id())?;
        // Without a lease nothing was written, and nobody would close the record.
        let lease = context.locks().lease(folder.id()).or_else(|error| folder.remove().and(Err(error)))?;
        let started = Started::new(&folder, clock::rfc3339(now_ms), &request, git.head.clone());
        let text = started.write(&folder, context.rules.secrets())?;
        let rules = Arc::clone(&context.rules);
        let (budget, origin) = (Arc::new(budget), request.asked.origin());
        let recorder = Recorder {
            context,
            rules: Arc::clone(&rules),
            budget: Arc::clone(&budget),
            origin,
            chain: Chain::open(&folder)?,
            keeper: Keeper::new(&folder),
            ends: false,
            folder,
            past: None,
        };
        let (flags, seed, policy) = (request.flags, request.seed, request.policy);
        let run = Terms { context, policy, rules, flags, origin, seed, budget, deadline };
        let mut host = Host::of(run, recorder, Ledger::new(context, lease));
        host.note_start(&request.asked, &text, git.head.as_deref())?;
        sink.event(Event::RunStarted { run: host.recorder.run_id().to_owned() });
        host.bound_to_policy(&request.asked, sink)
    }

    fn note_start(&mut self, asked: &Asked, text: &[u8], head: Option<&str>) -> Result<(), Error> {
        let started = RunStarted {
            asked: asked.recorded(),
            seed: event::Whole(self.run.seed),
            flags: self.run.flags,
            mode: self.run.mode().to_owned(),
            policy_sha256: self.run.policy.sha256().into(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // A commit's id covers the time at which it was made.
            volatile: Place {
                git_head: Some(head.map(str::to_owned)),
                place: Some(proof::place(self.run.context, &self.recorder.folder)?),
            },
        };
        // The file names the run and its time, so that its hash differs from run to run.
        let files = vec![FileRef { path: RUN_FILE.to_owned(), sha256: Sha256::of(text) }];
        self.recorder.note(Note::of_run(event::Event::RunStarted(started.into())).with_files(files))
    }

    /// Records what confines the script's process.
    pub fn note_isolation(&mut self, isolation: &Isolation) -> Result<(), Error> {
        // What the kernel offers differs from machine to machine, and decides nothing.
        let started = WorkerStarted { isolation: isolation.clone() };
        self.recorder.note(Note::of_run(event::Event::WorkerStarted(started.into())))
    }
}

/// Finishes or undoes what runs left that died, and tells it.
fn recover_dead(context: &Context, sink: &mut dyn Sink) -> Result<(), Error> {
    let Round { recoveries, failures } = recover::recover_all(context)?;
    for recovery in &recoveries {
        sink.event(Event::Notice { text: recovery.sentence() });
        recovery.check()?;
    }
    for error in failures {
        // Whoever needs the files of that run is stopped by its lock.
        sink.event(Event::Notice { text: format!("A run that died can't be recovered: {}.", error.message()) });
    }
    Ok(())
}

/// Flags that loosen can be switched off by the policy.
pub(in crate::host) fn check_flags(policy: &Policy, flags: Flags) -> Result<(), Error> {
    let settings = policy.settings();
    let switched_off = [
        (flags.yes, settings.confirm.yes_flag, "--yes", "confirm.yes_flag"),
        (flags.keep, settings.run.keep_flag, "--keep", "run.keep_flag"),
        (flags.allow_dirty, settings.run.allow_dirty_flag, "--allow-dirty", "run.allow_dirty_flag"),
    ];
    for (given, allowed, flag, key) in switched_off {
        if given && !allowed {
            return Err(Error::new(Code::PermissionDenied, format!("the policy switches `{flag}` off"))
                .detail("key", key)
                .hint(format!("`{key}` comes from {}", policy.origin(key))));
        }
    }
    Ok(())
}

fn check_clean(context: &Context, request: &Request, sink: &mut dyn Sink) -> Result<git_status::GitState, Error> {
    let allowed = request.flags.allow_dirty || request.policy.settings().run.allow_dirty;
    let Some(writes) = request.writes.as_ref().filter(|writes| !allowed && !writes.is_empty()) else {
        return Ok(git_status::head(context));
    };
    let state = git_status::git_state(context)?;
    let mut dirty = git_status::dirty(context, &state, &Globs::of_any_size(writes)?)?;
    dirty.retain(|(path, _)| !git_status::belongs(&request.asked, path));
    if dirty.is_empty() {
        return Ok(state);
    }
    let error = git_status::dirty_tree(&dirty);
    if request.flags.dry_run {
        sink.event(Event::Notice { text: format!("Applying this would be refused: {}.", error.message()) });
        return Ok(state);
    }
    Err(error)
}
