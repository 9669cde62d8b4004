//! An adapter in Rhai: a worker's process proposes, and the verifier's process measures.

use std::thread::Builder;

use super::{
    description::Description,
    measure::{self, Measurer},
    propose::{self, Work},
};
use crate::{
    guest::{adapter as guest, adapter::Side},
    session::{Origin, Worker},
};
use adapter::{
    Adapter, Context,
    contract::{Counted, Counts, Invocation, Proposal},
    evidence::{Evidence, Measured},
    source::Source,
};
use base::{
    batch::{Answer, Batch},
    error::{Code, Error},
    frame::Limits,
};
use system::process::{Isolation, Program};

/// The stack of a thread that measures.
const STACK: usize = 64 << 20;

/// An adapter in Rhai.
pub(super) struct RhaiAdapter {
    pub(super) description: Description,
    pub(super) params: String,
    pub(super) source: Source,
    pub(super) text: String,
    pub(super) limits: Limits,
    /// The program that becomes a worker, and how.
    pub(super) program: Program,
    pub(super) isolation: Isolation,
}

impl RhaiAdapter {
    /// An adapter of a source that was read.
    pub(super) fn new(
        description: Description,
        source: Source,
        (text, limits): (String, Limits),
        (program, isolation): (Program, Isolation),
    ) -> Self {
        let params = description.params.to_string();
        RhaiAdapter { description, params, source, text, limits, program, isolation }
    }
}

impl Adapter for RhaiAdapter {
    fn name(&self) -> &str {
        &self.description.name
    }

    fn version(&self) -> &str {
        &self.description.version
    }

    fn summary(&self) -> &str {
        &self.description.summary
    }

    fn params_schema(&self) -> &str {
        &self.params
    }

    fn counts(&self) -> Counted<'_> {
        self.description.counted()
    }

    fn domain(&self) -> Vec<&str> {
        self.description.globs.iter().map(String::as_str).collect()
    }

    fn source(&self) -> Option<&Source> {
        Some(&self.source)
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        propose::propose(ctx, input, &self.description, || Process { adapter: self, worker: None })
    }

    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        measure::measure(ctx, input, evidence, self)
    }
}

/// A worker's process, started with its first batch.
struct Process<'a> {
    adapter: &'a RhaiAdapter,
    worker: Option<Worker>,
}

impl Work for Process<'_> {
    const TAKES_BYTES: bool = false;
    const CODE: Code = Code::ScriptFailed;

    fn work(&mut self, batch: Batch, stop: &dyn Fn() -> Option<Error>) -> Result<Answer, Error> {
        let RhaiAdapter { source, text, limits, program, isolation, .. } = self.adapter;
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => {
                let mut worker = Worker::start(Origin { program, isolation: *isolation }, limits, stop)?;
                worker.adapt(&source.path, text)?;
                none.insert(worker)
            }
        };
        let answer = worker.work(&source.path, batch, stop);
        if answer.is_err() {
            self.worker = None;
        }
        answer?
    }
}

impl Measurer for RhaiAdapter {
    fn takes_bytes(&self) -> bool {
        <Process<'_> as Work>::TAKES_BYTES
    }

    /// Small, so that threads share the work; a source is parsed for each batch.
    fn batch_files(&self) -> usize {
        100
    }

    fn work(&self) -> Option<&str> {
        self.description.work.as_deref()
    }

    fn measure(&self, batch: Batch) -> Result<Vec<Counts>, Error> {
        self.on_stack(|adapter| adapter.measure(batch))
    }

    fn expect(&self, baseline: &Counts, after: &Counts) -> Result<Vec<String>, Error> {
        self.on_stack(|adapter| adapter.expect(baseline, after))
    }
}

impl RhaiAdapter {
    /// Runs the verifying side on a thread with the stack of a script.
    fn on_stack<T: Send>(&self, work: impl FnOnce(&guest::Adapter) -> Result<T, Error> + Send) -> Result<T, Error> {
        std::thread::scope(|scope| {
            let body = || {
                guest::Adapter::new(&self.source.path, &self.text, Side::Verify, &self.limits)
                    .and_then(|adapter| work(&adapter))
            };
            let started = Builder::new().stack_size(STACK).spawn_scoped(scope, body);
            let thread = started.map_err(|error| Error::io("a thread can't be started", &error))?;
            thread.join().unwrap_or_else(|_| Err(Error::new(Code::Internal, "the thread that measures ended early")))
        })
    }
}
