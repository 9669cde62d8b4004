//! The object `nrv` itself, and what all bindings share: the way to the host, and how its errors reach the script.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use rhai::{Dynamic, Engine, EvalAltResult, NativeCallContext, Position};
use serde_json::Value;

use crate::{
    call,
    error::{Code, Error},
    frame::RunRequest,
    guest::{
        bindings::{Namespace, dta::Adapter, registry},
        fault,
        link::Link,
        value,
    },
    seed::Stream,
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv",
    doc: "The host: everything that a script learns from the world or does to it.",
    calls: registry! {
        "nrv";
        /// Makes a call that the program which embeds nrv adds, by its name; gives its reply.
        ///
        /// Its params are checked against its schema. The header has to permit it by `permissions: #{ calls: ["tickets.create"] }`,
        /// unless the program gives it to everybody. In a dry run it may be refused (`blocked`). `nrv` itself adds none (`not_found`).
        ///
        /// ```rhai
        /// let ticket = nrv.custom("tickets.create", #{ title: "a page has no heading" });
        /// ```
        custom(name: "string", params: "map") -> "any";
        /// An approved adapter, by name; whether it exists is found when it is used.
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
        dtas() -> "array";
    },
    register,
};

/// Bytes of one print that reach the host; the rest is cut off.
const MAX_PRINT: usize = 1 << 20;

/// Bytes that a script may print in all.
const MAX_OUTPUT: usize = 16 << 20;

/// What a native function of ours gives.
pub(super) type Reply = Result<Dynamic, Box<EvalAltResult>>;

/// The object `nrv`.
#[derive(Clone)]
pub(super) struct Nrv(pub(super) Host);

/// The way to the host, shared by all bindings of a run.
#[derive(Clone)]
pub(in crate::guest) struct Host(Arc<State>);

struct State {
    link: Mutex<Box<dyn Link>>,
    ended: AtomicBool,
    ending: Mutex<Option<Error>>,
    said: Mutex<BTreeSet<Code>>,
    random: Mutex<Stream>,
    printed: AtomicUsize,
    run: String,
    seed: u64,
    mode: String,
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Nrv>("nrv");
    // Not `call`: the engine takes that name for its own, whatever the type.
    engine.register_fn("custom", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, name: &str, params: Dynamic| {
        let params = nrv.0.json(&ctx, &params)?;
        nrv.0.call(&ctx, call::Call::Custom { name: name.to_owned(), params })
    });
    engine.register_fn("dta", |nrv: &mut Nrv, name: &str| Adapter::new(&nrv.0, name));
    engine.register_fn("dtas", |ctx: NativeCallContext<'_>, nrv: &mut Nrv| nrv.0.call(&ctx, call::Call::DtaList {}));
}

impl Host {
    /// The host of one run.
    pub(in crate::guest) fn new(request: &RunRequest, link: Box<dyn Link>) -> Self {
        Host(Arc::new(State {
            link: Mutex::new(link),
            ended: AtomicBool::new(false),
            ending: Mutex::default(),
            said: Mutex::default(),
            random: Mutex::new(Stream::new(request.seed, "script")),
            printed: AtomicUsize::new(0),
            run: request.run.clone(),
            seed: request.seed,
            mode: request.mode.clone(),
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

    /// An argument as JSON.
    pub(super) fn json(&self, ctx: &NativeCallContext<'_>, value: &Dynamic) -> Result<Value, Box<EvalAltResult>> {
        value::to_json(value).map_err(|error| self.raise(ctx, error))
    }

    /// An error as the script meets it: thrown, or the end if its code is final.
    pub(super) fn raise(&self, ctx: &NativeCallContext<'_>, error: Error) -> Box<EvalAltResult> {
        let error = match fault::place_of(ctx) {
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

    /// Ends the script for this reason, unless it has ended for another one. Nothing that it does can change that.
    pub(in crate::guest) fn end(&self, error: Error) {
        lock(&self.0.ending).get_or_insert(error);
        self.0.ended.store(true, Ordering::Relaxed);
    }

    /// True once the script has to end.
    pub(in crate::guest) fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Relaxed)
    }

    /// Why the script has to end.
    pub(in crate::guest) fn ending(&self) -> Option<Error> {
        lock(&self.0.ending).clone()
    }

    /// True if the host has used this code in this run.
    pub(in crate::guest) fn has_said(&self, code: Code) -> bool {
        lock(&self.0.said).contains(&code)
    }

    /// Ends the script if the host wants it to.
    pub(in crate::guest) fn look(&self) {
        let interruption = lock(&self.0.link).interrupted();
        if let Some(error) = interruption {
            self.end(error);
        }
    }

    /// Hands a printed text to the host: its first [`MAX_PRINT`] bytes, and no more than [`MAX_OUTPUT`] of all prints.
    ///
    /// Beyond, the script ends. Each print counts its line feed, so that empty ones end too.
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
            let cut = format!("{}… ({} more bytes)", &text[..kept], text.len() - kept);
            lock(&self.0.link).print(&cut);
        } else {
            lock(&self.0.link).print(text);
        }
    }

    /// The run's stream of chance for scripts.
    pub(super) fn random(&self) -> MutexGuard<'_, Stream> {
        lock(&self.0.random)
    }

    /// The run's id.
    pub(super) fn run(&self) -> &str {
        &self.0.run
    }

    /// The run's seed.
    pub(super) fn seed(&self) -> u64 {
        self.0.seed
    }

    /// `dry-run` or `apply`.
    pub(super) fn mode(&self) -> &str {
        &self.0.mode
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the engine does not let a script catch.
fn terminated() -> Box<EvalAltResult> {
    EvalAltResult::ErrorTerminated(Dynamic::UNIT, Position::NONE).into()
}
