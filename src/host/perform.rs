//! `Host::perform`: gate, budget, service, record, for every call of every face.

use std::mem;

use serde_json::Value;
use tracing::field::Empty;

use super::{
    Event, Host, Position, Sink,
    budget::Cost,
    call::{
        adapter::{approved_adapters, describe},
        custom_call::custom,
        edit,
        evaluate::{evaluate, evaluate_edit},
        exec::exec,
        graph::graph,
    },
    record_call::Answered,
    reply,
};
use base::{
    call::Call,
    error::{Code, Error},
    span::span,
};
use gate::Verdict;
use system::clock::Stopwatch;

impl Host<'_> {
    /// Answers a call, whoever makes it: judged, paid for, served and recorded.
    ///
    /// Errors with [`Code::is_final`] end the run; a script may catch the others and go on.
    pub fn perform(&mut self, position: &Position, call: Call, sink: &mut dyn Sink) -> Result<Value, Error> {
        if let Some(answer) = self.recorder.answered_before(position, &call)? {
            self.tally.note(&call, &answer);
            return answer;
        }
        self.requests(sink).note_seen()?;
        let at = position.as_str();
        let span =
            span!(in &self.tally.span, "call", name = call.name(), position = at, decision = Empty, error = Empty)
                .entered();
        let watch = Stopwatch::start();
        let (form, room) = self.recorder.form_of(&call)?;
        let verdict = self.run.judge_call(&call);
        self.turn.reserved = Cost::default();
        self.ledger.reached_tree = false;
        let result = match room.and_then(|()| self.settle_call(position, &call, sink)) {
            Ok(None) => self.answer(position, &call, &verdict, sink),
            Ok(Some(reply)) => Ok(reply),
            // Another call than the one that the run died in: it is no answer to that, whatever it would come to.
            Err(error) if error.code() == Code::Diverged => return Err(error),
            Err(error) => Err(error),
        };
        let result = result.and_then(|reply| self.run.bounded(reply)).map_err(|error| self.run.cause(error));
        let result = self.tally.unverified.marked(&call, reply::as_recorded(result));
        let mut cost = mem::take(&mut self.turn.reserved);
        if result.is_err() && !self.ledger.reached_tree {
            self.run.budget.release(&cost);
            cost = Cost { demand: cost.demand, ..Cost::default() };
        }
        self.turn.waits = result.as_ref().is_err_and(|error| error.code().waits());
        let answered = Answered { call: &call, form, verdict: &verdict, result, cost: &cost, watch };
        let answer = self.recorder.record_call(position, answered)?;
        self.tally.note(&call, &answer);
        span.record("decision", verdict.decision.as_str());
        if let Err(error) = &answer {
            span.record("error", error.code().as_str());
        }
        answer
    }

    fn answer(
        &mut self,
        position: &Position,
        call: &Call,
        verdict: &Verdict,
        sink: &mut dyn Sink,
    ) -> Result<Value, Error> {
        self.run.check_cancelled()?;
        // A call that a gate stops was made all the same: a script that catches the error must not try for ever.
        self.run.budget.reserve_call()?;
        self.recorder.room(0)?;
        self.turn.hold(&self.run.policy, call)?;
        self.tally.heed(verdict, sink)?;
        self.tally.unverified.admit(call)?;
        self.tally.agents.admit(call)?;
        self.asking(position, sink).confirm_call(call, verdict)?;
        self.tally.tools.extend(used(call).map(str::to_owned));
        if call.touches().writes {
            self.recorder.note_intent(position, call)?;
        }
        let _span = span!("service", name = call.name().split('.').next()).entered();
        self.serve(position, call, sink)
    }

    fn serve(&mut self, position: &Position, call: &Call, sink: &mut dyn Sink) -> Result<Value, Error> {
        match call {
            Call::FilesGlob { .. }
            | Call::FilesRead { .. }
            | Call::FilesExists { .. }
            | Call::FilesStat { .. }
            | Call::FilesSha256 { .. }
            | Call::FilesGrep { .. }
            | Call::CodeFind(_) => self.files().answer(call),
            Call::ApplyDiff { .. }
            | Call::ApplyPlan { .. }
            | Call::ApplyCreate { .. }
            | Call::ApplyRemove { .. }
            | Call::ApplyRename { .. }
            | Call::ApplyWrite { .. }
            | Call::ApplyPatch { .. }
            | Call::ApplyPlanned { .. } => self.apply(position, call, sink),
            Call::EditFind(find) => self.files().find_targets(find),
            Call::EditMake(edit) => edit::make(&mut self.pipeline(position, sink), edit),
            #[rustfmt::skip]
            Call::AgentSummon(_) | Call::AgentList {} | Call::AgentGet { .. } | Call::AgentCommit { .. }
            | Call::AgentReport { .. } | Call::AgentDismiss { .. } | Call::AgentAct { .. } | Call::AgentRest { .. } => self.agents(position, sink).answer(call),
            Call::CommitAdd { .. } => self.pledges().add_commitment(position, call),
            Call::ExecRun(run) => exec(&mut self.pipeline(position, sink), call, run),
            Call::LlmCapabilities { provider } => self.requests(sink).llm_capabilities(provider.as_deref()),
            Call::LlmComplete(ask) | Call::LlmStream(ask) => self.requests(sink).llm_complete(position, call, ask),
            Call::PromptCompose(parts) => {
                let composed = self.files().compose(parts)?;
                self.requests(sink).fit(parts, &composed)
            }
            Call::AttemptBegin {} => {
                Ok(self.ledger.begin_attempt(position, self.run.flags.dry_run.then_some(&self.draft)))
            }
            Call::AttemptEnd { keep } => self.pipeline(position, sink).end_attempt(*keep),
            #[rustfmt::skip]
            Call::DagBegin { .. } | Call::DagEnter { .. } | Call::DagLeave { .. } | Call::DagEnd { .. } => graph(&mut self.pipeline(position, sink), call),
            Call::DtaList {} => Ok(approved_adapters(&self.run)),
            Call::DtaDescribe { tool } => describe(&self.run, tool),
            Call::DtaPropose { tool, input } => self.adapters(position, sink).propose(tool, input),
            Call::DtaApply { tool, proposal } => self.adapters(position, sink).apply_proposal(tool, proposal),
            Call::DtaRun { tool, input } => self.adapters(position, sink).run_adapter(tool, input),
            Call::GateEvaluateCommand { .. } | Call::GateEvaluateToolUse { .. } => evaluate(&self.run, call),
            Call::GateEvaluateEdit { path, content, diff_lines } => {
                evaluate_edit(&self.run, self.draft.view(), path, content, *diff_lines)
            }
            Call::GateConfirm { label, subject } => self.adapters(position, sink).confirm(label, subject),
            Call::GateRequire { condition, message } => require(*condition, message),
            Call::UiStep { label } => tell(sink, Event::Step { label: label.clone() }),
            Call::UiProgress { label, total } => {
                tell(sink, Event::Progress { label: label.clone(), done: 0, total: *total })
            }
            Call::UiTable { rows } => tell(sink, Event::Table { rows: rows.clone() }),
            Call::UiShow { value } => Ok(self.files().show(value, sink)),
            Call::RunBudget {} => Ok(self.run.budget.describe()),
            Call::RunMetrics {} => Ok(self.tally.describe(&self.run.budget, &self.ledger.attempts)),
            Call::RunMetric { name, value } => self.tally.add_metric(name, value),
            Call::RunViolation(violation) => self.tally.add_violation(&self.run.policy, violation, sink),
            Call::McpTools { .. } | Call::Custom { .. } => custom(&mut self.pipeline(position, sink), call),
        }
    }

    /// Why the run has to stop now; none if it may go on.
    pub fn must_stop(&self) -> Option<Error> {
        self.run.check_cancelled().err()
    }
}

fn require(condition: bool, message: &str) -> Result<Value, Error> {
    if condition {
        return Ok(Value::Null);
    }
    Err(Error::new(Code::Blocked, format!("the script requires: {message}")).detail("gate", "require"))
}

/// The tool that a call uses, if it is no adapter, of which the record tells by itself.
pub(crate) fn used(call: &Call) -> Option<&str> {
    let asks = |call: &Call| matches!(call, Call::LlmCapabilities { .. }) || call.name().starts_with("dta.");
    call.tool().filter(|_| !asks(call))
}

fn tell(sink: &mut dyn Sink, event: Event) -> Result<Value, Error> {
    sink.event(event);
    Ok(Value::Null)
}
