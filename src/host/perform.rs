//! `Host::perform`: gate, budget, service, record, for every call of every face.

use std::mem;

use serde_json::{Value, json};

use super::{
    Event, Host, Options, Position, Sink,
    budget::Cost,
    call::llm::route,
    life::history::WAITING,
    reply::{self, Answered},
};
use crate::{
    base::{
        call::Call,
        error::{Code, Error},
        json,
    },
    service::gate::{self, Decision, Subject, Verdict},
    system::clock::Stopwatch,
};

impl Host<'_> {
    /// Answers a call, whoever makes it: judged, paid for, served and recorded.
    ///
    /// Errors with [`Code::is_final`] end the run; a script may catch the others and go on.
    pub fn perform(&mut self, position: &Position, call: Call, sink: &mut dyn Sink) -> Result<Value, Error> {
        if let Some(answer) = self.answered_before(position, &call)? {
            return answer;
        }
        self.note_seen()?;
        let watch = Stopwatch::start();
        let (form, room) = self.form_of(&call)?;
        let verdict = self.judge_call(&call);
        self.reserved = Cost::default();
        self.reached_tree = false;
        let result = match room.and_then(|()| self.settle_call(position, &call, sink)) {
            Ok(None) => self.answer(position, &call, &verdict, sink),
            Ok(Some(reply)) => Ok(reply),
            // Another call than the one that the run died in: it is no answer to that, whatever it would come to.
            Err(error) if error.code() == Code::Diverged => return Err(error),
            Err(error) => Err(error),
        };
        let result = result.and_then(|reply| self.bounded(reply)).map_err(|error| self.cause(error));
        let result = reply::as_recorded(result);
        let mut cost = mem::take(&mut self.reserved);
        if result.is_err() && !self.reached_tree {
            self.budget.release(&cost);
            cost = Cost { demand: cost.demand, ..Cost::default() };
        }
        self.waits = result.as_ref().is_err_and(|error| WAITING.contains(&error.code()));
        self.record_call(position, Answered { call: &call, form, verdict: &verdict, result, cost: &cost, watch })?
    }

    /// Counts what a run keeps of a call until its end: all of it together is no more than what one call may send.
    fn hold(&mut self, call: &Call) -> Result<(), Error> {
        if !matches!(call, Call::CommitAdd { .. } | Call::GateConfirm { .. } | Call::RunMetric { .. }) {
            return Ok(());
        }
        let most = self.policy.settings().script.limits.reply_bytes;
        let held = self.held.saturating_add(json::weight(&reply::as_value(call)?));
        if held > most {
            let message = format!("commitments, confirmations and metrics of the run have {held} bytes, not {most}");
            return Err(Error::new(Code::InvalidInput, message)
                .detail("limit", "script.limits.reply_bytes")
                .hint("make fewer of them, or shorter ones"));
        }
        self.held = held;
        Ok(())
    }

    /// A reply that a script may be given.
    fn bounded(&self, reply: Value) -> Result<Value, Error> {
        let size = json::weight(&reply);
        let most = self.policy.settings().script.limits.reply_bytes;
        if size <= most { Ok(reply) } else { Err(too_large("the reply", size, most).hint(ASK_FOR_LESS)) }
    }

    /// What gates say of a call.
    pub(super) fn judge_call(&self, call: &Call) -> Verdict {
        let Options { adapters, calls, .. } = &self.context.options;
        let (adapters, calls) = (adapters.all(), calls.offered());
        let adapters: Vec<&str> = adapters.iter().map(|adapter| adapter.name()).collect();
        let judged = route::judged(&self.policy, &self.context.options.orchestrators, call);
        let subject = Subject::Call { call: &judged, adapters: &adapters, calls: &calls };
        gate::decide(&subject, &self.policy, &self.rules)
    }

    fn answer(
        &mut self,
        position: &Position,
        call: &Call,
        verdict: &Verdict,
        sink: &mut dyn Sink,
    ) -> Result<Value, Error> {
        self.check_cancelled()?;
        // A call that a gate stops was made all the same: a script that catches the error must not try for ever.
        self.budget.reserve_call()?;
        self.room(0)?;
        self.hold(call)?;
        self.heed(verdict, sink)?;
        self.confirm_call(position, call, verdict, sink)?;
        self.tools.extend(used(call).map(str::to_owned));
        if matches!(call, Call::DtaApply { .. } | Call::DtaRun { .. }) || call.applies() {
            self.note_intent(position, call)?;
        }
        self.serve(position, call, sink)
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

    fn serve(&mut self, position: &Position, call: &Call, sink: &mut dyn Sink) -> Result<Value, Error> {
        match call {
            Call::FilesGlob { .. }
            | Call::FilesRead { .. }
            | Call::FilesExists { .. }
            | Call::FilesStat { .. }
            | Call::FilesSha256 { .. }
            | Call::FilesGrep { .. } => self.files().answer(call),
            Call::ApplyDiff { .. }
            | Call::ApplyPlan { .. }
            | Call::ApplyCreate { .. }
            | Call::ApplyRemove { .. }
            | Call::ApplyRename { .. }
            | Call::ApplyWrite { .. }
            | Call::ApplyPatch { .. }
            | Call::ApplyPlanned { .. } => self.apply(position, call, sink),
            Call::CommitAdd { .. } => self.add_commitment(position, call),
            Call::ExecRun(run) => self.exec(position, call, run, sink),
            Call::LlmCapabilities { provider } => self.llm_capabilities(provider.as_deref(), sink),
            Call::LlmComplete(ask) | Call::LlmStream(ask) => self.llm_complete(position, call, ask, sink),
            Call::PromptCompose(parts) => self.compose(parts, sink),
            Call::AttemptBegin {} => Ok(self.begin_attempt(position)),
            Call::AttemptEnd { keep } => self.end_attempt(*keep, sink),
            Call::DtaList {} => Ok(self.approved_adapters()),
            Call::DtaDescribe { tool } => self.schemas(tool),
            Call::DtaPropose { tool, input } => self.propose(position, tool, input, sink),
            Call::DtaApply { tool, proposal } => self.apply_proposal(position, tool, proposal, sink),
            Call::DtaRun { tool, input } => self.run_adapter(position, tool, input, sink),
            Call::GateEvaluateCommand { .. } | Call::GateEvaluateToolUse { .. } => self.evaluate(call),
            Call::GateEvaluateEdit { path, content, diff_lines } => self.evaluate_edit(path, content, *diff_lines),
            Call::GateConfirm { label, subject } => self.confirm(position, label, subject, sink),
            Call::GateRequire { condition, message } => self.require(*condition, message),
            Call::UiStep { label } => tell(sink, Event::Step { label: label.clone() }),
            Call::UiProgress { label, total } => {
                tell(sink, Event::Progress { label: label.clone(), done: 0, total: *total })
            }
            Call::UiTable { rows } => tell(sink, Event::Table { rows: rows.clone() }),
            Call::UiShow { value } => Ok(self.show(value, sink)),
            Call::RunBudget {} => Ok(self.budget.describe()),
            Call::RunMetrics {} => Ok(self.describe_metrics()),
            Call::RunMetric { name, value } => self.add_metric(name, value),
            Call::RunViolation(violation) => self.add_violation(violation, sink),
            Call::Custom { name, params } => self.custom(position, call, name, params),
        }
    }

    fn require(&mut self, condition: bool, message: &str) -> Result<Value, Error> {
        if condition {
            return Ok(Value::Null);
        }
        Err(Error::new(Code::Blocked, format!("the script requires: {message}")).detail("gate", "require"))
    }

    fn add_metric(&mut self, name: &str, value: &Value) -> Result<Value, Error> {
        if !value.is_number() {
            return Err(Error::new(Code::InvalidInput, format!("the metric `{name}` is no number")));
        }
        self.metrics.insert(name.to_owned(), value.clone());
        Ok(Value::Null)
    }

    fn describe_metrics(&self) -> Value {
        json!({
            "calls": self.budget.calls(),
            "files_changed": self.budget.files(),
            "diff_lines": self.budget.lines(),
            "tools": self.tools,
            "attempts": self.attempts.tally(),
            "own": self.metrics,
        })
    }

    /// Why the run has to stop now; none if it may go on.
    pub fn must_stop(&self) -> Option<Error> {
        self.check_cancelled().err()
    }

    /// An error if the user wants everything to stop, or the time of the run is spent.
    pub(super) fn check_cancelled(&self) -> Result<(), Error> {
        self.context.check_cancelled().and_then(|()| self.budget.check_wall())
    }

    /// The cause of a failure: whatever was stopped since the time is spent only says that it was stopped.
    fn cause(&self, error: Error) -> Error {
        match self.budget.check_wall() {
            Err(spent) if error.code() == Code::Cancelled => spent.detail("cause", error.message()),
            _ => error,
        }
    }
}

/// The tool that a call uses, if it is no adapter, of which the record tells by itself.
pub(super) fn used(call: &Call) -> Option<&str> {
    let asks = |call: &Call| matches!(call, Call::LlmCapabilities { .. }) || call.name().starts_with("dta.");
    call.tool().filter(|_| !asks(call))
}

/// What to do about a reply that is too large.
const ASK_FOR_LESS: &str = "ask for less at once, or raise `script.limits.reply_bytes` in `nrv.toml`";

/// The error for something that does not fit into a reply.
pub(super) fn too_large(what: &str, size: u64, most: u64) -> Error {
    let message = format!("{what} has {size} bytes, and a reply may have {most}");
    Error::new(Code::Unreadable, message)
        .detail("size", size)
        .detail("most", most)
        .detail("limit", "script.limits.reply_bytes")
}

fn tell(sink: &mut dyn Sink, event: Event) -> Result<Value, Error> {
    sink.event(event);
    Ok(Value::Null)
}
