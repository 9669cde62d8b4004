//! The wiring of a run: which parts it consists of, and which of them each purpose borrows.

use std::collections::BTreeMap;

use tracing::{Span, field::Empty};

use super::{
    Host, Position, Sink,
    call::{
        adapter::Adapters,
        agent::Agents,
        files::Files,
        llm::models::{Models, Requests},
    },
    change::{confirm::Asking, confirmations::Confirmations, draft::Draft, ledger::Ledger, pipeline::Pipeline},
    commitment::Pledges,
    evaluator::evidence::Ending,
    recorder::Recorder,
    tally::Tally,
    terms::{Terms, redacted},
    turn::Turn,
    unverified::Unverified,
};
use base::span::span;

/// The span of a session of a run, before it is known which run that is.
pub(super) fn run_span(resumed: bool) -> Span {
    span!("run", run = Empty, mode = Empty, resumed, state = Empty, files = Empty, lines = Empty, error = Empty)
}

impl<'a> Host<'a> {
    /// A run of these parts that has not done anything yet.
    pub(super) fn of(run: Terms<'a>, recorder: Recorder<'a>, ledger: Ledger<'a>, span: Span) -> Self {
        span.record("run", recorder.run_id());
        span.record("mode", run.mode());
        let unverified = Unverified::new(run.policy.goes_on_unverified(), !run.origin.reads_errors());
        Host {
            draft: Draft::new(run.context),
            run,
            recorder,
            ledger,
            confirmations: Confirmations::default(),
            proposals: BTreeMap::new(),
            commitments: Vec::new(),
            models: Models::default(),
            turn: Turn::default(),
            tally: Tally::start(unverified, span),
        }
    }

    /// The questions of the call at this position.
    pub(super) fn asking<'q>(&'q mut self, position: &'q Position, sink: &'q mut dyn Sink) -> Asking<'q, 'a> {
        let Host { run, recorder, ledger, confirmations, .. } = self;
        Asking { run, recorder, ledger, confirmations, position, sink }
    }

    /// The pipeline for the change of a call.
    pub(super) fn pipeline<'p>(&'p mut self, position: &'p Position, sink: &'p mut dyn Sink) -> Pipeline<'p, 'a> {
        let Host { run, recorder, ledger, draft, confirmations, turn, tally, .. } = self;
        Pipeline { run, recorder, ledger, draft, confirmations, turn, tally, position, sink }
    }

    /// The adapters of the call at this position.
    pub(super) fn adapters<'s>(&'s mut self, position: &'s Position, sink: &'s mut dyn Sink) -> Adapters<'s, 'a> {
        let Host { run, recorder, ledger, draft, confirmations, turn, tally, proposals, .. } = self;
        let pipeline = Pipeline { run, recorder, ledger, draft, confirmations, turn, tally, position, sink };
        Adapters { pipeline, proposals }
    }

    /// Requests to language models.
    pub(super) fn requests<'m>(&'m mut self, sink: &'m mut dyn Sink) -> Requests<'m, 'a> {
        let Host { run, recorder, models, turn, .. } = self;
        Requests { run, recorder, models, turn, sink }
    }

    /// The commitments of the run.
    pub(super) fn pledges(&mut self) -> Pledges<'_, 'a> {
        let Host { run, recorder, ledger, draft, commitments, .. } = self;
        Pledges { run, recorder, ledger, draft, commitments }
    }

    /// The agents of the run.
    pub(super) fn agents<'s>(&'s mut self, position: &'s Position, sink: &'s mut dyn Sink) -> Agents<'s, 'a> {
        let Host { run, recorder, ledger, draft, commitments, tally, .. } = self;
        Agents {
            pledges: Pledges { run, recorder, ledger, draft, commitments },
            registry: &tally.agents,
            position,
            sink,
        }
    }

    /// Returns the data that evaluators look at.
    pub(super) fn ending(&self) -> Ending<'_, 'a> {
        let Host { run, recorder, ledger, draft, tally, .. } = self;
        Ending { run, recorder, ledger, draft, tally }
    }

    /// Returns the tree as a script sees it.
    pub(super) fn files(&self) -> Files<'_> {
        Files {
            context: self.run.context,
            policy: &self.run.policy,
            overlay: &self.draft.overlay,
            most: self.run.policy.settings().script.limits.reply_bytes,
            redacted: redacted(&self.run),
            stop: Some(self.run.deadline.stop()),
        }
    }
}
