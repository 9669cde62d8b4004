//! The parts that all bindings share: the way to the host, and the way of its errors to the script.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use rhai::{Dynamic, EvalAltResult, NativeCallContext, Position};
use serde_json::Value;

use crate::guest::{link::Link, place, thrown::thrown, value};
use base::{
    call,
    error::{Code, Error, Location},
    frame::{Limits, RunRequest},
    seed::Stream,
    text::counted,
};

/// The most bytes of one print that reach the host; the rest is cut off.
const MAX_PRINT: usize = 1 << 20;

/// The most bytes that a script may print in all.
const MAX_OUTPUT: usize = 16 << 20;

/// The result of a native function.
pub(crate) type Reply = Result<Dynamic, Box<EvalAltResult>>;

/// The object `nrv`.
#[derive(Clone)]
pub(super) struct Nrv(pub(super) Host);

/// The way to the host, shared by all bindings of a run.
#[derive(Clone)]
pub(crate) struct Host(Arc<State>);

/// The unseen events of the open streams, by the host's numbers.
pub(super) type Streams = BTreeMap<u64, Waiting>;

/// The unseen events of one stream.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(super) events: VecDeque<Value>,
    /// The number of events that were seen.
    pub(super) taken: u64,
}

struct State {
    link: Mutex<Box<dyn Link>>,
    ended: AtomicBool,
    ending: Mutex<Option<Error>>,
    said: Mutex<BTreeSet<Code>>,
    streams: Mutex<Streams>,
    random: Mutex<Stream>,
    operations: AtomicU64,
    printed: AtomicUsize,
    run: Mutex<String>,
    seed: u64,
    mode: String,
    limits: Limits,
}

impl Host {
    /// The host of one run.
    pub(crate) fn new(request: &RunRequest, limits: &Limits, link: Box<dyn Link>) -> Self {
        Host(Arc::new(State {
            link: Mutex::new(link),
            ended: AtomicBool::new(false),
            ending: Mutex::default(),
            said: Mutex::default(),
            streams: Mutex::default(),
            random: Mutex::new(Stream::new(request.seed, "script")),
            operations: AtomicU64::new(0),
            printed: AtomicUsize::new(0),
            run: Mutex::new(request.run.clone()),
            seed: request.seed,
            mode: request.mode.clone(),
            limits: limits.clone(),
        }))
    }

    /// Makes a call and gives its reply to the script.
    pub(crate) fn call(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Reply {
        self.ask(ctx, call).map(value::from_json)
    }

    /// Makes a call and gives its reply as JSON.
    pub(crate) fn ask(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Result<Value, Box<EvalAltResult>> {
        if self.has_ended() {
            return Err(terminated());
        }
        let reply = lock(&self.0.link).call(place::of_call(ctx), call);
        reply.map_err(|error| self.raise(ctx, error))
    }

    /// Makes a call of a protocol, which hands on an error that ends the script.
    pub(crate) fn answer(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Result<Value, Error> {
        if self.has_ended() {
            return Err(Error::new(Code::Cancelled, "the script has ended"));
        }
        lock(&self.0.link).call(place::of_call(ctx), call)
    }

    /// Makes a call and gives its reply or its error as JSON, unless that ends the script.
    pub(super) fn try_ask(
        &self,
        ctx: &NativeCallContext<'_>,
        call: call::Call,
    ) -> Result<Result<Value, Error>, Box<EvalAltResult>> {
        if self.has_ended() {
            return Err(terminated());
        }
        match lock(&self.0.link).call(place::of_call(ctx), call) {
            Err(error) if error.is_final() => Err(self.raise(ctx, error)),
            answer => Ok(answer),
        }
    }

    /// Makes a call whose failure ends the script, whatever the code.
    pub(super) fn ask_finally(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Result<(), Box<EvalAltResult>> {
        let place = place::of_call(ctx);
        let reply = lock(&self.0.link).call(place.clone(), call);
        reply.map(drop).map_err(|error| {
            self.end(match place {
                Some(place) => error.at(place),
                None => error,
            });
            terminated()
        })
    }

    /// Begins a stream; its number.
    pub(super) fn open_stream(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Result<u64, Box<EvalAltResult>> {
        if self.has_ended() {
            return Err(terminated());
        }
        let opened = lock(&self.0.link).open(place::of_call(ctx), call);
        opened.map_err(|error| self.raise(ctx, error))
    }

    /// Waits for events of a stream; none after the last.
    pub(crate) fn next_events(&self, stream: u64) -> Result<Vec<Value>, Error> {
        lock(&self.0.link).next(stream)
    }

    /// Tells the host that a stream needs no more events, and how many the script has seen.
    pub(super) fn close_stream(&self, stream: u64, taken: u64) -> Result<(), Error> {
        lock(&self.0.link).close(stream, taken)
    }

    /// The open streams.
    pub(crate) fn streams(&self) -> MutexGuard<'_, Streams> {
        lock(&self.0.streams)
    }

    /// An argument as JSON.
    pub(crate) fn json(&self, ctx: &NativeCallContext<'_>, value: &Dynamic) -> Result<Value, Box<EvalAltResult>> {
        value::to_json(value).map_err(|error| self.raise(ctx, error))
    }

    /// An error as the script meets it: thrown, or the end if its code is final.
    pub(in crate::guest) fn raise(&self, ctx: &NativeCallContext<'_>, error: Error) -> Box<EvalAltResult> {
        self.raise_at(place::of_call(ctx), error)
    }

    /// [`Host::raise`] of an error that comes after the call at this place.
    pub(super) fn raise_at(&self, place: Option<Location>, error: Error) -> Box<EvalAltResult> {
        let error = match place {
            Some(place) => error.at(place),
            None => error,
        };
        if error.is_final() {
            self.end(error);
            return terminated();
        }
        lock(&self.0.said).insert(error.code());
        EvalAltResult::ErrorRuntime(thrown(&error), Position::NONE).into()
    }

    /// Ends the script for this reason, unless it has ended for another one. The script can't undo that.
    pub(crate) fn end(&self, error: Error) {
        lock(&self.0.ending).get_or_insert(error);
        self.0.ended.store(true, Ordering::Relaxed);
    }

    /// Begins the next text of a session, whose calls belong to this run: the end of the text before it does not end this one.
    pub(crate) fn begin(&self, run: &str) {
        *lock(&self.0.ending) = None;
        self.0.ended.store(false, Ordering::Relaxed);
        self.0.operations.store(0, Ordering::Relaxed);
        self.0.printed.store(0, Ordering::Relaxed);
        run.clone_into(&mut lock(&self.0.run));
    }

    /// Counts an operation of the engine; returns the number before it.
    pub(in crate::guest) fn count_operation(&self) -> u64 {
        self.0.operations.fetch_add(1, Ordering::Relaxed)
    }

    /// True once the script has to end.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Relaxed)
    }

    /// The error for which the script has to end.
    pub(crate) fn ending(&self) -> Option<Error> {
        lock(&self.0.ending).clone()
    }

    /// Takes back that the script has to end; returns the reason.
    pub(super) fn take_ending(&self) -> Option<Error> {
        let ending = lock(&self.0.ending).take();
        self.0.ended.store(false, Ordering::Relaxed);
        ending
    }

    /// True if the host has used this code in this run.
    pub(in crate::guest) fn has_said(&self, code: Code) -> bool {
        lock(&self.0.said).contains(&code)
    }

    /// Ends the script if the host asks for that.
    pub(crate) fn look(&self) {
        let interruption = lock(&self.0.link).interrupted();
        if let Some(error) = interruption {
            self.end(error);
        }
    }

    /// Hands the first [`MAX_PRINT`] bytes of a printed text to the host, and at most [`MAX_OUTPUT`] bytes of all prints.
    ///
    /// More output ends the script. Each print counts its line feed, so that a flood of empty ones ends too.
    pub(in crate::guest) fn print(&self, text: &str) {
        if self.has_ended() {
            return;
        }
        let kept = text.floor_char_boundary(MAX_PRINT);
        let printed = self.0.printed.fetch_add(kept + 1, Ordering::Relaxed) + kept + 1;
        if printed > MAX_OUTPUT {
            let message = format!("the script prints more than {} MiB", MAX_OUTPUT >> 20);
            let error = Error::new(Code::ScriptLimit, message).detail("limit", "output");
            self.end(error.hint("print less; what a caller needs is the script's result"));
        } else if kept < text.len() {
            let cut = format!("{}… ({})", &text[..kept], counted(text.len() - kept, "more byte"));
            lock(&self.0.link).print(&cut);
        } else {
            lock(&self.0.link).print(text);
        }
    }

    /// The run's random stream for scripts.
    pub(crate) fn random(&self) -> MutexGuard<'_, Stream> {
        lock(&self.0.random)
    }

    /// The run's id.
    pub(crate) fn run(&self) -> String {
        lock(&self.0.run).clone()
    }

    /// The run's seed.
    pub(crate) fn seed(&self) -> u64 {
        self.0.seed
    }

    /// The script's limits.
    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// `dry-run` or `apply`.
    pub(crate) fn mode(&self) -> &str {
        &self.0.mode
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error that the engine does not let a script catch.
pub(super) fn terminated() -> Box<EvalAltResult> {
    EvalAltResult::ErrorTerminated(Dynamic::UNIT, Position::NONE).into()
}
