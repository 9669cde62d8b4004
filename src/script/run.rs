//! A script's run: its header tightens the policy, its calls go to the one door.

use serde_json::Value;

use crate::{
    call::Call,
    error::{Code, Error, Location},
    host::{Asked, Context, Event, Finished, Flags, Host, Position, Request, Sink, Source},
    path::RepoPath,
    script::{Loaded, Loader, Rejected, load, session},
};

/// How a loaded script is to be run.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The arguments, checked against the header.
    pub args: Value,
    /// The seed of everything that is chosen by chance.
    pub seed: u64,
    /// What the user asks beside the work.
    pub flags: Flags,
}

/// Loads a script of a workspace with everything that it imports. Nothing of it runs.
pub fn load_script(context: &Context, path: &RepoPath) -> Result<Loaded, Rejected> {
    let read = |path: &RepoPath| {
        let content = context.workspace.read(path)?;
        String::from_utf8(content.into_bytes())
            .map_err(|_| Error::new(Code::ScriptSyntax, format!("the script `{path}` is not UTF-8")))
    };
    let loader = Loader {
        program: &context.options.program,
        limits: &context.policy.settings().script.limits,
        read: &read,
        stop: &|| context.cancelled(),
    };
    load(&loader, path)
}

/// Runs a loaded script to its end, and its run with it: done and sealed, or undone and sealed.
///
/// An error means that the run did not start; how a started run ended is in [`Finished`].
pub fn run(context: &Context, loaded: &Loaded, invocation: Invocation, sink: &mut dyn Sink) -> Result<Finished, Error> {
    let ceiling = &loaded.header.ceiling;
    let policy = context.policy.tightened(ceiling)?;
    let sources = loaded.sources.iter().map(|(path, text)| {
        let sha256 = loaded.hashes.get(path).copied().unwrap_or_else(|| crate::hash::Sha256::of(text.as_bytes()));
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
    let mut host = Host::start(context, request, sink)?;
    host.note_isolation(&loaded.isolation)?;
    let request = loaded.request(invocation.args, host.run_id(), invocation.seed, host.mode());
    let limits = host.policy().settings().script.limits.clone();
    let worker = session::Worker::start(&context.options.program, &limits, &|| context.cancelled());
    let outcome = worker.and_then(|worker| {
        let mut door = HostDoor { host: &mut host, sink, calls: 0 };
        session::run(worker, request, &mut door)
    });
    host.finish(outcome)
}

/// The script's calls, numbered, at the host's door.
struct HostDoor<'a, 'h> {
    host: &'a mut Host<'h>,
    sink: &'a mut dyn Sink,
    calls: u64,
}

impl session::Door for HostDoor<'_, '_> {
    fn perform(&mut self, at: Option<&Location>, call: Call) -> Result<Value, Error> {
        self.calls += 1;
        let result = self.host.perform(&Position::nth(self.calls), call, self.sink);
        result.map_err(|error| match at {
            Some(at) => error.at(at.clone()),
            None => error,
        })
    }

    fn print(&mut self, text: &str) {
        self.sink.event(Event::Print { text: text.to_owned() });
    }

    fn cancelled(&self) -> Option<Error> {
        self.host.must_stop()
    }
}
