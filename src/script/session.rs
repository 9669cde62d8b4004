//! Runs a script in its worker, answers its calls, and explains the death of a worker.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

use crate::worker::{Ended, Event, Session, Stop};
use base::{
    batch::{Answer, Batch},
    call::Call,
    error::{Code, Error, Location},
    frame::{Completion, Evaluated, Input, Inspection, Isolation, Limits, Outcome, Parsed, RunRequest, Shown},
};
use system::{
    clock::Stopwatch,
    process::{self, Child, Program},
};

/// The hidden subcommand that makes this binary a worker.
const SUBCOMMAND: &str = "__worker";

/// The time that a worker has to end after it closed its pipe.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time that a new worker has to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// The hint when a program that embeds nrv does not become a worker.
const EMBEDDERS: &str = "a program that embeds nrv calls `nrv::entry::main_if_requested` first in its `main`";

/// The name of a session's worker in errors.
const SESSION: &str = "the session";

const SIGABRT: i32 = 6;
const SIGBUS: i32 = 7;
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGXCPU: i32 = 24;

/// The one door between a script and the world.
pub trait Door {
    /// Answers a call. An error with a final code ends the script; it can catch any other.
    fn perform(&mut self, at: Option<&Location>, call: Call) -> Result<Value, Error>;

    /// Begins a stream and returns its number.
    fn open(&mut self, at: Option<&Location>, call: Call) -> Result<u64, Error>;

    /// All events of a stream that are there, at least one unless it has ended: they wait for it.
    fn next(&mut self, stream: u64) -> Result<Value, Error>;

    /// Ends a stream of which the script has seen that many events.
    fn close(&mut self, stream: u64, taken: u64) -> Result<(), Error>;

    /// Takes a printed line.
    fn print(&mut self, text: &str);

    /// The reason to stop the script, once there is one. Called every few milliseconds.
    fn cancelled(&self) -> Option<Error>;
}

/// The origin of workers.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The program that knows the worker subcommand.
    pub program: &'a Program,
    /// The isolation of workers: processes of the program, or threads.
    pub isolation: process::Isolation,
}

/// A process, or a thread in its place, that parses scripts and runs one. Dropping it kills it.
pub struct Worker {
    child: Child,
    session: Session,
    limits: Limits,
    isolation: Isolation,
}

/// A worker that has parsed a script and may run it. The first taker gets it.
#[derive(Clone, Default)]
pub struct Spare(Arc<Mutex<Option<Worker>>>);

impl Spare {
    pub(super) fn new(worker: Option<Worker>) -> Self {
        Spare(Arc::new(Mutex::new(worker)))
    }

    pub(super) fn take(&self) -> Option<Worker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spare")
    }
}

impl Worker {
    /// Starts a worker and waits until it is confined, as far as the system can. The calling thread must outlive it.
    pub fn start(origin: Origin<'_>, limits: &Limits, stop: Stop<'_>) -> Result<Self, Error> {
        let mut child = match origin.isolation {
            process::Isolation::Process => process::spawn_piped(origin.program, &[SUBCOMMAND])?,
            process::Isolation::Thread(start) => process::start_thread(start)?,
        };
        let pipes = child.take_pipes();
        let pipes = pipes.ok_or_else(|| Error::new(Code::Internal, "a worker was started without pipes"))?;
        let session = Session::new(pipes.stdout, pipes.stdin)?;
        let mut worker = Worker { child, session, limits: limits.clone(), isolation: Isolation::default() };
        let watch = Stopwatch::start();
        let silent = || Error::new(Code::ScriptCrashed, "a new worker does not answer").hint(EMBEDDERS);
        let stop = || stop().or_else(|| (watch.elapsed() > ANSWERS_WITHIN).then(silent));
        match worker.session.hello(limits, &stop) {
            Ok(isolation) => worker.isolation = isolation,
            Err(Ended::Closed) => return Err(worker.cause_of_death("a new worker").hint(EMBEDDERS)),
            Err(ended) => return Err(ended.into_error()),
        }
        Ok(worker)
    }

    /// True if it was started with these limits.
    pub(super) fn has(&self, limits: &Limits) -> bool {
        self.limits == *limits
    }

    /// Its isolation.
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// Parses a source; nothing runs. After an error the worker can't be used any more.
    pub fn inspect(&mut self, path: &str, source: &str, main: bool, stop: Stop<'_>) -> Result<Inspection, Error> {
        let inspected = self.session.inspect(path, source, main, stop);
        inspected.map_err(|ended| self.post_mortem(ended, &format!("`{path}`"), None))
    }

    /// Begins a session; the worker evaluates its texts and runs nothing else.
    pub(super) fn interact(&mut self, request: RunRequest) -> Result<(), Error> {
        let begun = self.session.interact(request);
        begun.map_err(|ended| self.post_mortem(ended, SESSION, None))
    }

    /// Parses the next text of the session. After an error the worker can't be used any more.
    pub(super) fn parse(&mut self, text: &str, stop: Stop<'_>) -> Result<Parsed, Error> {
        let parsed = self.session.parse(text, stop);
        parsed.map_err(|ended| self.post_mortem(ended, SESSION, None))
    }

    /// The candidates at a place of such a text. After an error the worker can't be used any more.
    pub(super) fn complete(&mut self, text: &str, cursor: usize, stop: Stop<'_>) -> Result<Completion, Error> {
        let completed = self.session.complete(text, cursor, stop);
        completed.map_err(|ended| self.post_mortem(ended, SESSION, None))
    }

    /// Evaluates the next text of the session. The second error means that the worker died, or would not stop, and was killed.
    pub(super) fn evaluate(&mut self, input: Input, door: &mut dyn Door) -> Result<Result<Shown, Error>, Error> {
        let mut last = None;
        let begun = self.session.evaluate(input);
        match begun.and_then(|()| converse(&mut self.session, door, &mut last)) {
            Ok(End::Evaluated(Evaluated::Value(shown))) => Ok(Ok(shown)),
            Ok(End::Evaluated(Evaluated::Error(error))) => Ok(Err(error)),
            Err(Ended::Paused(reason)) => Ok(Err(*reason)),
            Ok(End::Done(_)) => {
                let ended = Ended::Malformed("a session's worker ended like a script".to_owned());
                Err(self.post_mortem(ended, SESSION, last.as_ref()))
            }
            Err(ended) => Err(self.post_mortem(ended, SESSION, last.as_ref())),
        }
    }

    /// Gives the worker the source of an adapter; it then answers batches and nothing else.
    pub(super) fn adapt(&mut self, path: &str, source: &str) -> Result<(), Error> {
        let begun = self.session.adapt(path, source);
        begun.map_err(|ended| self.post_mortem(ended, &format!("`{path}`"), None))
    }

    /// The adapter's answer to a batch. The outer error means that the worker died, or would not stop, and was killed.
    pub(super) fn work(&mut self, path: &str, batch: Batch, stop: Stop<'_>) -> Result<Result<Answer, Error>, Error> {
        let answer = self.session.work(batch, stop);
        answer.map_err(|ended| self.post_mortem(ended, &format!("`{path}`"), None))
    }

    /// The error for a conversation that ended early.
    fn post_mortem(&mut self, ended: Ended, what: &str, last: Option<&Location>) -> Error {
        let error = match ended {
            Ended::Closed => self.cause_of_death(what),
            Ended::Malformed(_) | Ended::Stopped(_) | Ended::Paused(_) => {
                self.child.kill();
                ended.into_error()
            }
        };
        match last {
            Some(place) => error.at(place.clone()),
            None => error,
        }
    }

    fn cause_of_death(&mut self, what: &str) -> Error {
        let exit = self.child.wait(PATIENCE);
        let limit = |code, message: String, name: &str| {
            Error::new(code, message)
                .detail("limit", format!("script.limits.{name}"))
                .hint(format!("`script.limits.{name}` in `nrv.toml` bounds it"))
        };
        let error = match (exit.signal, exit.code) {
            (Some(SIGXCPU), _) => {
                let message = format!("{what} needed more than {} s of processor time", self.limits.cpu_s);
                limit(Code::ScriptLimit, message, "cpu_s")
            }
            (Some(SIGABRT | SIGSEGV | SIGBUS), _) => {
                let message = format!("{what} ran out of memory or overflowed its stack, and its process died");
                limit(Code::ScriptCrashed, message, "memory")
            }
            (Some(SIGKILL), _) => Error::new(Code::ScriptCrashed, format!("the process of {what} was killed"))
                .hint("someone killed it, or the system was short of memory"),
            (Some(signal), _) => {
                Error::new(Code::ScriptCrashed, format!("the process of {what} was ended by signal {signal}"))
            }
            (None, Some(code)) => {
                Error::new(Code::ScriptCrashed, format!("the process of {what} exited with code {code}"))
            }
            (None, None) => Error::new(Code::ScriptCrashed, format!("{what} ended without a result")),
        };
        let error = match exit.signal {
            Some(signal) => error.detail("signal", signal),
            None => error,
        };
        match exit.stderr.trim() {
            "" => error,
            text => error.detail("stderr", text),
        }
    }
}

/// Runs a script to its end; returns the value of its last expression, or an error.
///
/// It returns whatever the script does to its process: `script_limit` or `script_crashed` if the process died, and the door's
/// reason if the door asked for a stop.
pub fn run(mut worker: Worker, request: RunRequest, door: &mut dyn Door) -> Result<Value, Error> {
    let what = format!("`{}`", request.main);
    let mut last = None;
    let begun = worker.session.run(request);
    let end = begun.and_then(|()| converse(&mut worker.session, door, &mut last)).and_then(|end| match end {
        End::Done(outcome) => Ok(outcome),
        End::Evaluated(_) => Err(Ended::Malformed("an `evaluated` frame came where nothing was to be".to_owned())),
    });
    end.unwrap_or_else(|ended| Err(worker.post_mortem(ended, &what, last.as_ref())))
}

/// The end of a script or of a text.
enum End {
    Done(Result<Value, Error>),
    Evaluated(Evaluated),
}

/// Answers a script's calls until it ends.
fn converse(session: &mut Session, door: &mut dyn Door, last: &mut Option<Location>) -> Result<End, Ended> {
    loop {
        match session.event(&|| door.cancelled())? {
            Event::Call { id, at, call } => {
                let answer = door.perform(at.as_ref(), call);
                *last = at;
                session.reply(id, outcome(answer))?;
            }
            Event::Open { id, at, call } => {
                let opened = door.open(at.as_ref(), call).map(Value::from);
                *last = at;
                session.reply(id, outcome(opened))?;
            }
            Event::Next { id, stream } => session.reply(id, outcome(door.next(stream)))?,
            Event::Close { id, stream, taken } => {
                let closed = door.close(stream, taken).map(|()| Value::Null);
                session.reply(id, outcome(closed))?;
            }
            Event::Print(text) => door.print(&text),
            Event::Done(value) => return Ok(End::Done(Ok(value))),
            Event::Failed(error) => return Ok(End::Done(Err(error))),
            Event::Evaluated(evaluated) => return Ok(End::Evaluated(evaluated)),
        }
    }
}

fn outcome(answer: Result<Value, Error>) -> Outcome {
    match answer {
        Ok(value) => Outcome::Ok(value),
        Err(error) => Outcome::Error(error),
    }
}
