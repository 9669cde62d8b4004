//! The object `nrv` itself, and the parts that all bindings share: the way to the host, and the way of its errors to the script.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use rhai::{Dynamic, Engine, EvalAltResult, FnPtr, NativeCallContext, Position};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    base::{
        call,
        error::{Code, Error, Location},
        frame::{Limits, RunRequest},
        json::Keyed,
        seed::Stream,
        text::counted,
    },
    script::guest::{
        bindings::{Field, Namespace, attempt::attempt, dta::Adapter, fields, registry, stream::Streams},
        fault,
        link::Link,
        value,
    },
};

/// The fields of a commitment for `nrv.commit`.
pub(super) const COMMITMENT: &[Field] =
    fields! { description: "string", assertion: "map" = ASSERTION, timeout_ms: "int | ()?" };

const ASSERTION: &[Field] = fields! {
    command: "map?" = fields! { program: "string", args: "array?", cwd: "string | ()?", env: "map?", status: "int?" },
    count: "map?" = fields! {
        pattern: "string", glob: "string | array", equals: "int | ()?", at_least: "int | ()?", at_most: "int | ()?",
    },
    file_exists: "string?", json_valid: "string | array?", tree_unchanged: "string | array?",
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv",
    doc: "The host: all access of a script to the world.",
    calls: registry! {
        "nrv";
        /// Runs a closure, and keeps or undoes all of its changes together: `#{kept, value, error}`.
        ///
        /// If the closure throws or returns `false`, all of its changes are undone, also those by adapters. `value` is the value of its last
        /// statement, even with a semicolon. `error` is the thrown value: a map with `code` and `message` for an error of the host or the
        /// language, and `()` without an error. Attempts nest, and a kept one shares the fate of the one around it. In a dry run an undone
        /// change is not proposed. Budgets stay spent and confirmations used, and the effects of `nrv.custom` elsewhere are not undone. An
        /// error that can't be caught ends the run here too, as does `lock_timeout` unless the closure catches it.
        ///
        /// ```rhai
        /// let tried = nrv.attempt(|| {
        ///     nrv.apply.create("docs/new.md", "# New\n");
        ///     nrv.files.exists("docs/index.md")
        /// });
        /// if !tried.kept { print("it was undone"); }
        /// ```
        attempt(closure: "function") -> "map" = fields! { kept: "bool", value: "any", error: "any" };
        /// Adds a commitment to the run, `#{description, assertion, timeout_ms}`, and returns its id; `timeout_ms` may be left out.
        ///
        /// When the script has ended, the host checks all commitments in processes of its own. The run succeeds only if all of them hold,
        /// whatever the script prints or returns. An assertion is a map with one key: `file_exists` (a path), `count`
        /// (`#{pattern, glob, equals}`, or `at_least`, `at_most`), `json_valid`, `tree_unchanged` (globs), or `command`
        /// (`#{program, args, cwd, env, status}`).
        ///
        /// ```rhai
        /// nrv.commit(#{ description: "no page says that it is a draft",
        ///     assertion: #{ count: #{ pattern: "(?i)draft", glob: "site/**/*.html", equals: 0 } } });
        /// ```
        commit(commitment: "map" = COMMITMENT) -> "string";
        /// Makes a call that the embedding program adds, by its name; returns its reply.
        ///
        /// The params are checked against the call's schema. The header has to permit it by `permissions: #{ calls: ["tickets.create"] }`,
        /// unless the program permits it to all scripts. In a dry run it may be refused (`blocked`). `nrv` itself adds none (`not_found`).
        ///
        /// ```rhai
        /// let ticket = nrv.custom("tickets.create", #{ title: "a page has no heading" });
        /// ```
        custom(name: "string", params: "map") -> "any";
        /// The handle of an approved adapter, by name. An unknown name is an error when the handle is first used.
        ///
        /// ```rhai
        /// let links = nrv.dta("link_updater");
        /// ```
        dta(name: "string") -> "adapter";
        /// The approved adapters: `[#{name, version, summary}]`, sorted by name.
        ///
        /// ```rhai
        /// for adapter in nrv.dtas() { print(adapter.name); }
        /// ```
        dtas() -> "array" = fields! { name: "string", version: "string", summary: "string" };
    },
    register,
};

/// The most bytes of one print that reach the host; the rest is cut off.
const MAX_PRINT: usize = 1 << 20;

/// The most bytes that a script may print in all.
const MAX_OUTPUT: usize = 16 << 20;

/// The result of a native function.
pub(super) type Reply = Result<Dynamic, Box<EvalAltResult>>;

/// The object `nrv`.
#[derive(Clone)]
pub(super) struct Nrv(pub(super) Host);

/// The way to the host, shared by all bindings of a run.
#[derive(Clone)]
pub(in crate::script::guest) struct Host(Arc<State>);

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

/// The argument of `nrv.commit`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commitment {
    description: String,
    assertion: Value,
    timeout_ms: Option<u64>,
}

impl Commitment {
    fn call(commitment: Value) -> Result<call::Call, Error> {
        let Keyed(commitment): Keyed<Commitment> = serde_json::from_value(commitment).map_err(|error| {
            Error::new(Code::InvalidInput, format!("the commitment can't be made: {error}"))
                .hint("its form is `#{description, assertion, timeout_ms}`; the last may be left out")
        })?;
        let Commitment { description, assertion, timeout_ms } = commitment;
        Ok(call::Call::CommitAdd { description, assertion, timeout_ms })
    }
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Nrv>("nrv");
    engine.register_fn("attempt", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, closure: FnPtr| {
        attempt(&ctx, &nrv.0, &closure)
    });
    // Not `call`: the engine takes that name for its own, whatever the type.
    engine.register_fn("custom", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, name: &str, params: Dynamic| {
        let params = nrv.0.json(&ctx, &params)?;
        nrv.0.call(&ctx, call::Call::Custom { name: name.to_owned(), params })
    });
    engine.register_fn("commit", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, commitment: Dynamic| {
        let commitment = nrv.0.json(&ctx, &commitment)?;
        let call = Commitment::call(commitment).map_err(|error| nrv.0.raise(&ctx, error))?;
        nrv.0.call(&ctx, call)
    });
    engine.register_fn("dta", |nrv: &mut Nrv, name: &str| Adapter::new(&nrv.0, name));
    engine.register_fn("dtas", |ctx: NativeCallContext<'_>, nrv: &mut Nrv| nrv.0.call(&ctx, call::Call::DtaList {}));
}

impl Host {
    /// The host of one run.
    pub(in crate::script::guest) fn new(request: &RunRequest, limits: &Limits, link: Box<dyn Link>) -> Self {
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
    pub(super) fn call(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Reply {
        self.ask(ctx, call).map(value::from_json)
    }

    /// Makes a call and gives its reply as JSON.
    pub(super) fn ask(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Result<Value, Box<EvalAltResult>> {
        if self.has_ended() {
            return Err(terminated());
        }
        let reply = lock(&self.0.link).call(fault::place_of(ctx), call);
        reply.map_err(|error| self.raise(ctx, error))
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
        match lock(&self.0.link).call(fault::place_of(ctx), call) {
            Err(error) if error.code().is_final() => Err(self.raise(ctx, error)),
            answer => Ok(answer),
        }
    }

    /// Makes a call whose failure ends the script, whatever the code.
    pub(super) fn ask_finally(&self, ctx: &NativeCallContext<'_>, call: call::Call) -> Result<(), Box<EvalAltResult>> {
        let place = fault::place_of(ctx);
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
        let opened = lock(&self.0.link).open(fault::place_of(ctx), call);
        opened.map_err(|error| self.raise(ctx, error))
    }

    /// Waits for events of a stream; none after the last.
    pub(super) fn next_events(&self, stream: u64) -> Result<Vec<Value>, Error> {
        lock(&self.0.link).next(stream)
    }

    /// Tells the host that a stream needs no more events, and how many the script has seen.
    pub(super) fn close_stream(&self, stream: u64, taken: u64) -> Result<(), Error> {
        lock(&self.0.link).close(stream, taken)
    }

    /// The open streams.
    pub(super) fn streams(&self) -> MutexGuard<'_, Streams> {
        lock(&self.0.streams)
    }

    /// An argument as JSON.
    pub(super) fn json(&self, ctx: &NativeCallContext<'_>, value: &Dynamic) -> Result<Value, Box<EvalAltResult>> {
        value::to_json(value).map_err(|error| self.raise(ctx, error))
    }

    /// An error as the script meets it: thrown, or the end if its code is final.
    pub(super) fn raise(&self, ctx: &NativeCallContext<'_>, error: Error) -> Box<EvalAltResult> {
        self.raise_at(fault::place_of(ctx), error)
    }

    /// [`Host::raise`] of an error that comes after the call at this place.
    pub(super) fn raise_at(&self, place: Option<Location>, error: Error) -> Box<EvalAltResult> {
        let error = match place {
            Some(place) => error.at(place),
            None => error,
        };
        if error.code().is_final() {
            self.end(error);
            return terminated();
        }
        lock(&self.0.said).insert(error.code());
        EvalAltResult::ErrorRuntime(fault::thrown(&error), Position::NONE).into()
    }

    /// Ends the script for this reason, unless it has ended for another one. The script can't undo that.
    pub(in crate::script::guest) fn end(&self, error: Error) {
        lock(&self.0.ending).get_or_insert(error);
        self.0.ended.store(true, Ordering::Relaxed);
    }

    /// Begins the next text of a session, whose calls belong to this run: the end of the text before it does not end this one.
    pub(in crate::script::guest) fn begin(&self, run: &str) {
        *lock(&self.0.ending) = None;
        self.0.ended.store(false, Ordering::Relaxed);
        self.0.operations.store(0, Ordering::Relaxed);
        self.0.printed.store(0, Ordering::Relaxed);
        run.clone_into(&mut lock(&self.0.run));
    }

    /// Counts an operation of the engine; returns the number before it.
    pub(in crate::script::guest) fn count_operation(&self) -> u64 {
        self.0.operations.fetch_add(1, Ordering::Relaxed)
    }

    /// True once the script has to end.
    pub(in crate::script::guest) fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Relaxed)
    }

    /// The error for which the script has to end.
    pub(in crate::script::guest) fn ending(&self) -> Option<Error> {
        lock(&self.0.ending).clone()
    }

    /// True if the host has used this code in this run.
    pub(in crate::script::guest) fn has_said(&self, code: Code) -> bool {
        lock(&self.0.said).contains(&code)
    }

    /// Ends the script if the host asks for that.
    pub(in crate::script::guest) fn look(&self) {
        let interruption = lock(&self.0.link).interrupted();
        if let Some(error) = interruption {
            self.end(error);
        }
    }

    /// Hands the first [`MAX_PRINT`] bytes of a printed text to the host, and at most [`MAX_OUTPUT`] bytes of all prints.
    ///
    /// More output ends the script. Each print counts its line feed, so that a flood of empty ones ends too.
    pub(in crate::script::guest) fn print(&self, text: &str) {
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
    pub(super) fn random(&self) -> MutexGuard<'_, Stream> {
        lock(&self.0.random)
    }

    /// The run's id.
    pub(super) fn run(&self) -> String {
        lock(&self.0.run).clone()
    }

    /// The run's seed.
    pub(super) fn seed(&self) -> u64 {
        self.0.seed
    }

    /// The script's limits.
    pub(super) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// `dry-run` or `apply`.
    pub(super) fn mode(&self) -> &str {
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
