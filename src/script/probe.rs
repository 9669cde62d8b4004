//! Probes a script's process: a real one runs a script of one line and reports its isolation.

use serde_json::{Value, json};

use crate::{Loader, load, session, worker::Stop};
use base::{
    call::Call,
    error::{Code, Error, Location},
    frame::{Isolation, Limits},
    path::RepoPath,
};
use system::process::{self, Program};

const SCRIPT: &str = "40 + 2";

/// Runs a script without calls in the way of runs; returns the isolation of its process.
pub fn probe(program: &Program, limits: &Limits, stop: Stop<'_>) -> Result<Isolation, Error> {
    let origin = session::Origin { program, isolation: process::Isolation::Process };
    let loader = Loader { origin, limits, read: &|_| Ok(SCRIPT.to_owned()), stop };
    let loaded = load(&loader, &RepoPath::parse("probe.rhai")?)?;
    let worker = session::Worker::start(origin, limits, stop)?;
    let isolation = worker.isolation().clone();
    let result = session::run(worker, loaded.request(json!({}), "probe", 0, "dry-run"), &mut Nobody { stop })?;
    if result != json!(42) {
        return Err(Error::new(Code::Internal, format!("a script's process says that {SCRIPT} is {result}")));
    }
    Ok(isolation)
}

/// A door that answers no call.
struct Nobody<'a> {
    stop: Stop<'a>,
}

impl session::Door for Nobody<'_> {
    fn perform(&mut self, _at: Option<&Location>, call: Call) -> Result<Value, Error> {
        Err(Error::new(Code::Internal, format!("a script that asks for nothing called `{}`", call.name())))
    }

    fn open(&mut self, at: Option<&Location>, call: Call) -> Result<u64, Error> {
        self.perform(at, call).map(|_| 0)
    }

    fn next(&mut self, _stream: u64) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn close(&mut self, _stream: u64, _taken: u64) -> Result<(), Error> {
        Ok(())
    }

    fn print(&mut self, _text: &str) {}

    fn cancelled(&self) -> Option<Error> {
        (self.stop)()
    }
}
