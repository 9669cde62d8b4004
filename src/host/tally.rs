//! The data that is collected for the end of a run: the tools used, the violations found, the metrics.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tracing::Span;

use super::{
    Event, Sink, agents::Registry, budget::Budget, change::attempts::Attempts, graphs::Graphs, unverified::Unverified,
};
use base::{
    call::Call,
    error::{Code, Error},
};
use gate::{Decision, GateResult, Verdict};
use system::clock::Stopwatch;

/// The data that is collected for the end of a run.
pub(super) struct Tally {
    pub(super) tools: BTreeSet<String>,
    pub(super) violations: Vec<GateResult>,
    pub(super) metrics: BTreeMap<String, Value>,
    /// True if a call of the program was made that may have had an effect elsewhere.
    pub(super) acted: bool,
    /// True if a person rejected what it waited for: whatever was to be kept is undone.
    pub(super) rejected: bool,
    /// The failed verifications.
    pub(super) unverified: Unverified,
    /// The graphs that are open.
    pub(super) graphs: Graphs,
    /// The agents.
    pub(super) agents: Registry,
    pub(super) watch: Stopwatch,
    /// The span of the run, from its start or its resumption to its seal.
    pub(super) span: Span,
}

impl Tally {
    pub(super) fn start(unverified: Unverified, span: Span) -> Self {
        Tally {
            tools: BTreeSet::new(),
            violations: Vec::new(),
            metrics: BTreeMap::new(),
            acted: false,
            rejected: false,
            unverified,
            graphs: Graphs::default(),
            agents: Registry::default(),
            watch: Stopwatch::start(),
            span,
        }
    }

    /// Notes what a call and its answer mean for later calls, be it given now or taken from the record.
    pub(super) fn note(&mut self, call: &Call, answer: &Result<Value, Error>) {
        self.unverified.note(call, answer);
        self.graphs.note(call, answer);
        self.agents.note(call, answer);
    }

    /// The outcome of a run whose agents have to have finished; tells of those that have not.
    pub(super) fn end_agents(&mut self, outcome: Result<Value, Error>, sink: &mut dyn Sink) -> Result<Value, Error> {
        let (outcome, failed) = self.agents.end(outcome);
        failed.into_iter().for_each(|agent| sink.event(Event::AgentFailed { agent }));
        outcome
    }

    /// Tells warnings, remembers violations, and stops at a block.
    pub(super) fn heed(&mut self, verdict: &Verdict, sink: &mut dyn Sink) -> Result<(), Error> {
        for result in verdict.remarks().filter(|result| result.decision != Decision::Allow) {
            self.violations.push(result.clone());
            if result.decision == Decision::Warn {
                sink.event(Event::Warning { result: result.clone() });
            }
        }
        match verdict.decision {
            Decision::Block => {
                Err(verdict.clone().into_error().unwrap_or_else(|| Error::new(Code::Blocked, "a gate blocks this")))
            }
            Decision::Allow | Decision::Warn | Decision::RequireConfirmation => Ok(()),
        }
    }

    pub(super) fn add_metric(&mut self, name: &str, value: &Value) -> Result<Value, Error> {
        if !value.is_number() {
            return Err(Error::new(Code::InvalidInput, format!("the metric `{name}` is no number")));
        }
        self.metrics.insert(name.to_owned(), value.clone());
        Ok(Value::Null)
    }

    pub(super) fn describe(&self, budget: &Budget, attempts: &Attempts) -> Value {
        json!({
            "calls": budget.calls(),
            "files_changed": budget.files(),
            "diff_lines": budget.lines(),
            "tools": self.tools,
            "attempts": attempts.tally(),
            "own": self.metrics,
        })
    }
}
