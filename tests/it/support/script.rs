//! Scripts in a real worker, with a door that answers from a rule and remembers calls.

use std::{cell::Cell, collections::BTreeMap};

use nrv::{
    base::{
        call::Call,
        error::{Code, Error, Location},
        frame::Limits,
        path::RepoPath,
    },
    script::{self, Loaded, Loader, Rejected, session},
    system::process::{Isolation, Program},
};
use serde_json::{Value, json};

/// Answers a call.
pub(crate) type Rule = fn(&Call) -> Result<Value, Error>;

/// The events of a stream, as many at a time as they come, from 1.
pub(crate) type Batches = fn(usize) -> Vec<Value>;

/// A script with modules, arguments and limits.
pub(crate) struct Script {
    files: BTreeMap<String, String>,
    limits: Limits,
    rule: Rule,
    batches: Batches,
    cancel_after: Option<usize>,
}

/// The result, calls and output of a script.
pub(crate) struct Ran {
    /// Its result.
    pub(crate) result: Result<Value, Error>,
    /// Its calls, as `name path:line:column arguments`; of streams also `next`, and `close` with the number of seen events.
    pub(crate) calls: Vec<String>,
    /// Its printed lines.
    pub(crate) printed: Vec<String>,
}

/// The limits of tests: low, so that reaching them is fast in a debug build.
pub(crate) fn limits() -> Limits {
    let (string, array, map) = (None, None, None);
    Limits {
        operations: 300_000,
        memory: 256 << 20,
        cpu_s: 10,
        call_depth: 32,
        string,
        array,
        map,
        reply_bytes: 64 << 20,
    }
}

/// The binary under test.
pub(crate) fn program() -> Program {
    Program::Path(crate::repository::nrv().into())
}

/// Workers that are processes of a program.
pub(crate) fn origin(program: &Program) -> session::Origin<'_> {
    session::Origin { program, isolation: Isolation::Process }
}

impl Script {
    /// A script `main.rhai`; every call is answered with its name.
    pub(crate) fn new(text: &str) -> Self {
        let files = BTreeMap::from([("main.rhai".to_owned(), text.to_owned())]);
        let rule: Rule = |call| Ok(json!(call.name()));
        Script { files, limits: limits(), rule, batches: |_| Vec::new(), cancel_after: None }
    }

    /// Adds a module.
    pub(crate) fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Changes limits.
    pub(crate) fn limit(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Answers calls in another way.
    pub(crate) fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// Gives every stream these events.
    pub(crate) fn streams(mut self, batches: Batches) -> Self {
        self.batches = batches;
        self
    }

    /// Cancels after the door was asked this often for a reason to stop.
    pub(crate) fn cancel_after(mut self, looks: usize) -> Self {
        self.cancel_after = Some(looks);
        self
    }

    /// Loads it without running it.
    pub(crate) fn load(&self) -> Result<Loaded, Rejected> {
        let missing = |path: &RepoPath| Error::new(Code::NotFound, format!("`{path}` does not exist"));
        let read = |path: &RepoPath| self.files.get(path.as_str()).cloned().ok_or_else(|| missing(path));
        let program = program();
        let loader = Loader { origin: origin(&program), limits: &self.limits, read: &read, stop: &|| None };
        script::load(&loader, &RepoPath::parse("main.rhai").expect("it is a path"))
    }

    /// Runs it.
    pub(crate) fn run(&self) -> Ran {
        let left = Cell::new(self.cancel_after);
        let (rule, batches) = (self.rule, self.batches);
        let mut door = Door { rule, batches, given: Vec::new(), left, calls: Vec::new(), printed: Vec::new() };
        let result = self.load().map_err(Error::from).and_then(|loaded| {
            let worker = session::Worker::start(origin(&program()), &self.limits, &|| None)?;
            session::run(worker, loaded.request(json!({"n": 3}), "r1", 42, "apply"), &mut door)
        });
        Ran { result, calls: door.calls, printed: door.printed }
    }

    /// Runs it and expects a result.
    #[track_caller]
    pub(crate) fn gives(&self, expected: &Value) -> Ran {
        let ran = self.run();
        assert_eq!(ran.result.as_ref(), Ok(expected));
        ran
    }

    /// Runs it and expects an error of a code at `path:line:column`, or at no place if that is empty.
    #[track_caller]
    pub(crate) fn fails(&self, code: Code, place: &str) -> Error {
        let error = self.run().result.expect_err("the script must fail");
        assert_eq!((error.code(), written(error.location()).as_str()), (code, place), "{error:?}");
        error
    }
}

fn written(place: Option<&Location>) -> String {
    place.map_or(String::new(), |place| format!("{}:{}:{}", place.path, place.line, place.column))
}

struct Door {
    rule: Rule,
    batches: Batches,
    /// The number of batches that each stream had.
    given: Vec<usize>,
    left: Cell<Option<usize>>,
    calls: Vec<String>,
    printed: Vec<String>,
}

impl session::Door for Door {
    fn open(&mut self, at: Option<&Location>, call: Call) -> Result<u64, Error> {
        self.perform(at, call)?;
        self.given.push(0);
        Ok(self.given.len() as u64 - 1)
    }

    fn next(&mut self, stream: u64) -> Result<Value, Error> {
        self.calls.push("next".to_owned());
        let given = &mut self.given[usize::try_from(stream).expect("a number of ours")];
        *given += 1;
        Ok(Value::Array((self.batches)(*given)))
    }

    fn close(&mut self, _stream: u64, taken: u64) -> Result<(), Error> {
        self.calls.push(format!("close {taken}"));
        Ok(())
    }

    fn perform(&mut self, at: Option<&Location>, call: Call) -> Result<Value, Error> {
        let args = serde_json::to_value(&call).expect("a call is JSON");
        self.calls.push(format!("{} {} {}", call.name(), written(at), args["args"]));
        (self.rule)(&call)
    }

    fn print(&mut self, text: &str) {
        self.printed.push(text.to_owned());
    }

    fn cancelled(&self) -> Option<Error> {
        let left = self.left.get()?;
        self.left.set(Some(left.saturating_sub(1)));
        (left == 0).then(|| Error::new(Code::Cancelled, "the test cancels"))
    }
}
