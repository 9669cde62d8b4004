//! The run of a script: its header tightens the policy, and its calls go to the one door.

use serde_json::{Map, Value};

use crate::{Loaded, Loader, Rejected, Tapes, approval, complete, load, recordings, session, shipped};
use base::{
    call::Call,
    error::{Code, Error, Location},
    path::RepoPath,
    span::span,
};
use host::{Asked, Context, Event, Finished, Flags, Host, Positions, Request, Sink, Source};
use system::policy::{BudgetCeiling, Ceiling, Policy};

/// The options of a script's run.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The arguments, a map. [`run`] takes them as they are; [`run_file`] checks them and fills in defaults.
    pub args: Value,
    /// The seed of all random choices.
    pub seed: u64,
    /// The flags of the user.
    pub flags: Flags,
    /// The source of recorded replies of language models.
    pub tapes: Tapes,
    /// True if it runs only if `nrv.lock` approves it as it is, under a locked-down policy.
    pub locked: bool,
    /// Budgets in place of those of its header, such as `files=10`, in the form of `nrv.toml`; none may be above the policy's.
    pub budget: Vec<String>,
}

impl Default for Invocation {
    /// No arguments, the seed 0, no flags.
    fn default() -> Self {
        Invocation {
            args: Value::Object(Map::new()),
            seed: 0,
            flags: Flags::default(),
            tapes: Tapes::Policy,
            locked: false,
            budget: Vec::new(),
        }
    }
}

/// Loads a script of a workspace, checks its arguments against its header, and runs it: all that most programs need.
///
/// An error means that the run did not start; [`Finished`] has the outcome of a started one.
pub fn run_file(context: &Context, path: &str, invocation: Invocation, sink: &mut dyn Sink) -> Result<Finished, Error> {
    let loaded = load_script(context, &RepoPath::parse(path)?)?;
    let args = complete(&loaded.header, &[], Some(&invocation.args))?;
    run(context, &loaded, Invocation { args, ..invocation }, sink)
}

/// Loads a script of a workspace with everything that it imports. Nothing of it runs.
pub fn load_script(context: &Context, path: &RepoPath) -> Result<Loaded, Rejected> {
    let loader = Loader {
        origin: origin(context),
        limits: &context.policy.settings().script.limits,
        read: &|path| read_source(context, path),
        stop: &|| context.cancelled(),
    };
    load(&loader, path)
}

/// The text of a script: of a shipped workflow if `path` is the name of one, else of a file in the workspace.
pub(super) fn read_source(context: &Context, path: &RepoPath) -> Result<String, Error> {
    if let Some(text) = shipped::workflow(path) {
        return Ok(text.to_owned());
    }
    let content = context.workspace.read(path)?;
    String::from_utf8(content.into_bytes())
        .map_err(|_| Error::new(Code::ScriptSyntax, format!("the script `{path}` is not UTF-8")))
}

/// Runs a loaded script to its end, then seals its run: done or undone.
///
/// An error means that the run did not start; [`Finished`] has the outcome of a started one.
pub fn run(context: &Context, loaded: &Loaded, invocation: Invocation, sink: &mut dyn Sink) -> Result<Finished, Error> {
    let ceiling = &loaded.header.ceiling;
    let header = invocation.locked.then_some(&ceiling.budget);
    let given = BudgetCeiling::from_words(&invocation.budget)?;
    given.check_below(&context.policy, header)?;
    let policy = policy(context, loaded, given, invocation.locked)?;
    let sources = loaded.sources.iter().map(|(path, text)| {
        let sha256 = loaded.hashes.get(path).copied().unwrap_or_else(|| base::hash::Sha256::of(text.as_bytes()));
        (path.clone(), Source { sha256, text: text.clone() })
    });
    let request = Request {
        asked: Asked::Script {
            path: loaded.main.to_string(),
            sources: sources.collect(),
            imports: loaded.imports.clone(),
            args: invocation.args.clone(),
        },
        policy,
        seed: invocation.seed,
        flags: invocation.flags,
        writes: Some(ceiling.write.clone()),
    };
    let tape = recordings::choose(context, &request.policy, &loaded.main, &invocation.tapes)?;
    let mut host = Host::start(context, request, sink)?;
    if let Err(error) = recordings::give(&mut host, tape, &invocation.tapes) {
        return host.finish(Err(error), sink);
    }
    let seed = invocation.seed;
    go(context, host, loaded, (invocation.args, seed), sink)
}

/// The policy of a script's run: below its header's ceiling with the given budgets, and locked down if only approved scripts may run.
pub(crate) fn policy(context: &Context, loaded: &Loaded, given: BudgetCeiling, locked: bool) -> Result<Policy, Error> {
    let policy = if locked { approval::lock_down(context, loaded)? } else { context.policy.clone() };
    policy.tightened(&Ceiling { given, ..loaded.header.ceiling.clone() })
}

/// Runs a loaded script whose run has begun.
pub(super) fn go(
    context: &Context,
    mut host: Host<'_>,
    loaded: &Loaded,
    (args, seed): (Value, u64),
    sink: &mut dyn Sink,
) -> Result<Finished, Error> {
    let request = loaded.request(args, host.run_id(), seed, host.mode());
    let limits = host.policy().settings().script.limits.clone();
    let starting = span!("worker").entered();
    let worker = match loaded.spare.take().filter(|worker| worker.has(&limits)) {
        Some(worker) => Ok(worker),
        None => session::Worker::start(origin(context), &limits, &|| context.cancelled()),
    };
    drop(starting);
    let outcome = worker.and_then(|worker| {
        host.note_isolation(worker.isolation())?;
        let mut door = HostDoor { host: &mut host, sink, positions: Positions::default() };
        session::run(worker, request, &mut door)
    });
    host.finish(outcome, sink)
}

/// The origin of the workers for a workspace's scripts.
pub(crate) fn origin(context: &Context) -> session::Origin<'_> {
    session::Origin { program: &context.options.program, isolation: context.options.isolation }
}

/// The door of a run: the script's numbered calls, answered by the host.
pub(super) struct HostDoor<'a, 'h> {
    pub(super) host: &'a mut Host<'h>,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) positions: Positions,
}

impl session::Door for HostDoor<'_, '_> {
    fn perform(&mut self, at: Option<&Location>, call: Call) -> Result<Value, Error> {
        let position = self.positions.take(&call);
        let after = self.positions.after(&call);
        let result = self.host.perform(&position, call, self.sink);
        if result.is_ok() {
            self.positions = after;
        }
        result.map_err(|error| match at {
            Some(at) => error.at(at.clone()),
            None => error,
        })
    }

    fn open(&mut self, at: Option<&Location>, call: Call) -> Result<u64, Error> {
        let position = self.positions.take(&call);
        self.host.open_stream(&position, call, self.sink).map_err(|error| match at {
            Some(at) => error.at(at.clone()),
            None => error,
        })
    }

    fn next(&mut self, stream: u64) -> Result<Value, Error> {
        self.host.next_events(stream, self.sink)
    }

    fn close(&mut self, stream: u64, taken: u64) -> Result<(), Error> {
        self.host.close_stream(stream, taken, self.sink)
    }

    fn print(&mut self, text: &str) {
        if !self.host.has_reached(&self.positions.next()) {
            self.sink.event(Event::Print { text: text.to_owned() });
        }
    }

    fn cancelled(&self) -> Option<Error> {
        self.host.must_stop()
    }
}
