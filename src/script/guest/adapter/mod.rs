//! Adapters of users, as the engine runs them: functions on texts, without a host.
//!
//! One side of an adapter proposes (`discover`, `propose`), the other one verifies (`measure`, `expect`). A process keeps the
//! functions of its own side only, so that a function of the other side could not even be called by a computed name.

mod format;
mod part;
mod reach;

use std::collections::BTreeMap;

use rhai::{AST, CallFnOptions, Dynamic, Engine, FuncArgs, Scope};
use serde_json::Value;

use self::{
    format::Readers,
    part::{PROPOSING, VERIFYING},
};
pub use self::{
    format::is_reader,
    part::{HEADER, names, parts},
};
use crate::guest::{
    bindings::{self, Host},
    engine, fault,
    link::{Link, SharedWire},
    source, value,
};
use base::{
    batch::{Answer, Batch, Body, File, Phase},
    error::{Code, Error, Location},
    frame::{FromWorker, Limits, RunRequest, ToWorker},
};

/// A side of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `discover` and `propose`.
    Propose,
    /// `measure` and `expect`.
    Verify,
}

impl Side {
    fn functions(self) -> &'static [&'static str] {
        match self {
            Side::Propose => PROPOSING,
            Side::Verify => VERIFYING,
        }
    }

    fn readers(self) -> &'static Readers {
        match self {
            Side::Propose => &format::PROPOSING,
            Side::Verify => &format::VERIFYING,
        }
    }
}

/// One side of an adapter's source.
pub struct Adapter {
    engine: Engine,
    ast: AST,
    host: Host,
    path: String,
    limits: Limits,
}

impl Adapter {
    /// Parses a source and keeps the functions of one side.
    pub fn new(path: &str, text: &str, side: Side, limits: &Limits) -> Result<Self, Error> {
        Self::linked(path, text, (side, limits), Box::new(Nobody))
    }

    fn linked(path: &str, text: &str, (side, limits): (Side, &Limits), link: Box<dyn Link>) -> Result<Self, Error> {
        let host = Host::new(&request(path), limits, link);
        let mut engine = engine::confined(limits, &host);
        bindings::register_pure(&mut engine);
        format::register(&mut engine);
        engine::show(
            &mut engine,
            vec![(part::NRV, bindings::object(&host)), (part::FORMAT, format::object(&host, side.readers()))],
        );
        let (ast, errors) = source::parse(&engine, &names(), path, text);
        let mut ast = match (ast, errors.into_iter().next()) {
            (Some(ast), None) => ast,
            (_, Some(error)) => return Err(error),
            (None, None) => return Err(Error::new(Code::Internal, "a source has neither a syntax tree nor an error")),
        };
        let reached = reach::reached(&ast, side.functions());
        ast.retain_functions(|_, _, name, _| reached.contains(name));
        Ok(Adapter { engine, ast, host, path: path.to_owned(), limits: limits.clone() })
    }

    /// Runs `measure` on each file of a batch.
    pub fn measure(&self, batch: Batch) -> Result<Vec<BTreeMap<String, u64>>, Error> {
        self.host.begin("");
        let input = value::from_json(batch.input);
        let counts = |file| {
            let (path, text) = self.text(file)?;
            let found = self.call("measure", (input.clone(), path.clone(), text), Some(&path))?;
            self.counts("measure", &found)
        };
        batch.files.into_iter().map(counts).collect()
    }

    /// Runs the function of a phase of the proposing side on a batch.
    pub fn work(&self, batch: Batch) -> Result<Answer, Error> {
        self.host.begin("");
        let Batch { phase, input, files } = batch;
        let input = value::from_json(input);
        match phase {
            Phase::Discover => {
                let files =
                    files.into_iter().map(|file| self.text(file).map(map)).collect::<Result<rhai::Array, _>>()?;
                let found = self.call("discover", (input, files), None)?;
                self.counts("discover", &found).map(Answer::Counts)
            }
            Phase::Measure => Err(Error::new(Code::Internal, "a worker that proposes was asked to measure")),
            Phase::Propose => {
                files.into_iter().map(|file| self.propose(&input, file)).collect::<Result<_, _>>().map(Answer::Files)
            }
        }
    }

    /// Asks if the counts after a change are the right ones; returns the reasons if they are not.
    pub fn expect(
        &self,
        baseline: &BTreeMap<String, u64>,
        after: &BTreeMap<String, u64>,
    ) -> Result<Vec<String>, Error> {
        self.host.begin("");
        let map = |counts: &BTreeMap<String, u64>| {
            value::from_json(counts.iter().map(|(name, n)| (name.clone(), Value::from(*n))).collect())
        };
        let said = self.call("expect", (map(baseline), map(after)), None)?;
        match value::to_json(&said) {
            Ok(Value::Bool(true)) => Ok(Vec::new()),
            Ok(Value::Bool(false)) => Ok(vec!["`expect` gave no reason".to_owned()]),
            Ok(Value::Array(reasons)) if reasons.iter().all(Value::is_string) => {
                Ok(reasons.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => Err(self.wrong("expect", "gives `true` or an array of reasons", &said)),
        }
    }

    /// The path and the text of a file.
    fn text(&self, File { path, body }: File) -> Result<(String, String), Error> {
        match body {
            Body::Text(text) => Ok((path, text)),
            Body::B64(_) => Err(Error::new(Code::Internal, format!("`{}` got a file that is no text", self.path))),
        }
    }

    fn propose(&self, input: &Dynamic, file: File) -> Result<Option<Body>, Error> {
        let (path, text) = self.text(file)?;
        let new = self.call("propose", (input.clone(), path.clone(), text.clone()), Some(&path))?;
        if new.is_unit() {
            return Ok(None);
        }
        match new.as_immutable_string_ref() {
            Ok(new) => Ok((new.as_str() != text).then(|| Body::Text(new.to_string()))),
            Err(_) => {
                Err(self.wrong("propose", "gives a string, or `()` for a file that stays", &new).detail("path", path))
            }
        }
    }

    fn call(&self, name: &str, args: impl FuncArgs, file: Option<&str>) -> Result<Dynamic, Error> {
        let mut scope = Scope::new();
        let done =
            self.engine.call_fn_with_options::<Dynamic>(CallFnOptions::default(), &mut scope, &self.ast, name, args);
        let error = match done {
            // A native function may have swallowed the error that ended it.
            Ok(_) if self.host.has_ended() => {
                self.host.ending().unwrap_or_else(|| Error::new(Code::Internal, "an adapter ended without a reason"))
            }
            Ok(value) => return Ok(value),
            Err(error) => {
                let ctx = fault::Context {
                    host: &self.host,
                    engine: &self.engine,
                    ast: Some(&self.ast),
                    limits: &self.limits,
                };
                fault::explain(*error, &ctx)
            }
        };
        let error = match error.location() {
            Some(_) => error,
            None => error.at(Location { path: self.path.clone(), line: 1, column: 1 }),
        };
        Err(match file {
            Some(file) => {
                error.within(format_args!("`{name}` of `{file}`")).detail("function", name).detail("path", file)
            }
            None => error.within(format_args!("`{name}`")).detail("function", name),
        })
    }

    /// The counts that a function gave: whole numbers by name.
    fn counts(&self, name: &str, value: &Dynamic) -> Result<BTreeMap<String, u64>, Error> {
        let Ok(Value::Object(map)) = value::to_json(value) else {
            return Err(self.wrong(name, "gives a map of counts", value));
        };
        let count = |(key, value): (String, Value)| match value.as_u64() {
            Some(count) => Ok((key, count)),
            None => {
                let message =
                    format!("`{name}` of `{}` gives `{value}` for the count `{}`", self.path, key.escape_debug());
                let error = Error::new(Code::ScriptFailed, message).hint("a count is a whole number from 0");
                Err(error.detail("function", name).at(self.place(name)))
            }
        };
        map.into_iter().map(count).collect()
    }

    fn wrong(&self, name: &str, rule: &str, value: &Dynamic) -> Error {
        let message = format!("`{name}` of `{}` {rule}, not {}", self.path, value::type_word(value));
        Error::new(Code::ScriptFailed, message).detail("function", name).at(self.place(name))
    }

    fn place(&self, name: &str) -> Location {
        let function = self.ast.iter_fn_def().find(|function| function.name == name);
        let line = function.and_then(|function| function.body.start_position().line()).unwrap_or(1);
        Location { path: self.path.clone(), line, column: 1 }
    }
}

/// Serves the batches of a host until it is done.
pub(super) fn serve(path: &str, text: &str, limits: &Limits, wire: &SharedWire) {
    let adapter = Adapter::linked(path, text, (Side::Propose, limits), Box::new(wire.clone()));
    loop {
        let frame = wire.lock().receive();
        let Some(ToWorker::Work(batch)) = frame else { return };
        let answer = match &adapter {
            Ok(adapter) => adapter.work(batch),
            Err(error) => Err(error.clone()),
        };
        wire.lock().send(&match answer {
            Ok(answer) => FromWorker::Worked(answer),
            Err(error) => FromWorker::Failed { error },
        });
    }
}

fn map((path, text): (String, String)) -> Dynamic {
    rhai::Map::from([("path".into(), path.into()), ("text".into(), text.into())]).into()
}

fn request(path: &str) -> RunRequest {
    RunRequest {
        main: path.to_owned(),
        sources: BTreeMap::new(),
        imports: BTreeMap::new(),
        args: Value::Null,
        run: String::new(),
        seed: 0,
        mode: String::new(),
    }
}

/// The way to a host of an adapter that has none.
struct Nobody;

impl Link for Nobody {
    fn call(&mut self, _: Option<Location>, _: base::call::Call) -> Result<Value, Error> {
        Err(alone())
    }

    fn open(&mut self, _: Option<Location>, _: base::call::Call) -> Result<u64, Error> {
        Err(alone())
    }

    fn next(&mut self, _: u64) -> Result<Vec<Value>, Error> {
        Err(alone())
    }

    fn close(&mut self, _: u64, _: u64) -> Result<(), Error> {
        Err(alone())
    }

    fn print(&mut self, _: &str) {}

    fn interrupted(&mut self) -> Option<Error> {
        None
    }
}

fn alone() -> Error {
    Error::new(Code::PermissionDenied, "an adapter makes no calls")
}
