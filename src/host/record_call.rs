//! How a call and its reply are recorded.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Position,
    budget::Cost,
    life::request::Origin,
    recorder::{Recorder, unrecorded},
    reply::{Recorded, pack_with, recorded, recorded_form, replies_with_contents},
    times,
};
use base::{
    call::{Call, tool_of_call},
    error::{Code, Error},
    span::span,
};
use gate::{GateResult, Verdict, secrets};
use llm::Transcript;
use record::{
    Note, Permit,
    event::{self, AnsweredBy, CallTimes, Event, ExecTime, Intent, Prompted, Shown, Stored},
    packed_form,
};
use system::clock::Stopwatch;

/// A call and what was said to it.
pub(super) struct Answered<'a> {
    pub(super) call: &'a Call,
    /// The call as the record has it.
    pub(super) form: Recorded,
    pub(super) verdict: &'a Verdict,
    pub(super) result: Result<Value, Error>,
    /// The cost of the call.
    pub(super) cost: &'a Cost,
    /// Started when the call arrived.
    pub(super) watch: Stopwatch,
}

impl Recorder<'_> {
    /// Records that a call which may have effects is about to be answered.
    pub(super) fn note_intent(&mut self, position: &Position, call: &Call) -> Result<(), Error> {
        // Of an adapter's call the record says more before anything is written; of these nothing else would be known.
        let is_whole = match self.origin {
            Origin::Person => call.holds_contents(),
            // Whoever goes on with its run has the record alone.
            Origin::Client => true,
            Origin::Script | Origin::Session | Origin::Program => false,
        };
        let is_all = matches!(call, Call::Custom { .. } | Call::ExecRun(_)) || is_whole;
        let args = if is_all { Some(self.recorded(call)?.args) } else { None };
        let intent = Intent { call: call.name().to_owned(), args };
        self.note(Note::at(position.as_str(), Event::Intent(intent.into())))
    }

    /// A call as a record has it, and why it can't be answered if there is no room for what it sends.
    pub(super) fn form_of(&self, call: &Call) -> Result<(Recorded, Result<(), Error>), Error> {
        match self.recorded(call) {
            Ok(form) => Ok((form, Ok(()))),
            Err(error) if gives_up(&error) => Ok((recorded_form(call, self.rules.secrets())?, Err(error))),
            Err(error) => Err(error),
        }
    }

    /// Records a call with what was decided and replied; what it is told then.
    ///
    /// If there is no room for the reply, or the user does not want to wait until it is recorded, that is the answer.
    pub(super) fn record_call(
        &mut self,
        position: &Position,
        answered: Answered<'_>,
    ) -> Result<Result<Value, Error>, Error> {
        let Answered { call, form, verdict, result, cost, watch } = answered;
        let _span = span!("record").entered();
        let (outcome, result) = match self.recorded_outcome(call, &result) {
            Err(error) if gives_up(&error) => (self.recorded_error(&error)?, Err(error)),
            outcome => (outcome?, result),
        };
        let mut cost = cost.recorded();
        let mut volatile =
            CallTimes { duration_ms: Some(watch.elapsed_ms()), cost: None, reply: outcome.volatile.reply.clone() };
        if takes_time(call) && cost.exec_ms > 0 {
            volatile.cost = Some(ExecTime { exec_ms: std::mem::take(&mut cost.exec_ms) });
        }
        let Recorded { name, args } = form;
        let event = event::Call {
            call: name,
            args,
            decision: verdict.decision,
            results: shown_results(verdict, self.rules.secrets()),
            cost: Some(cost).filter(|cost| *cost != event::Cost::default()),
            volatile,
            ..remarked(call, &result, outcome)?
        };
        self.note_as_is(Note::at(position.as_str(), Event::Call(event.into())))?;
        Ok(result)
    }

    /// The answer as a record has it.
    fn recorded_outcome(&self, call: &Call, result: &Result<Value, Error>) -> Result<event::Call, Error> {
        let is_content = replies_with_contents(call);
        match result {
            // How long a command or a model took is of this time only.
            Ok(reply) if matches!(call, Call::ExecRun(_) | Call::LlmStream(_)) => {
                let (stable, apart) = times::parted(reply);
                let volatile = CallTimes { reply: Some(apart), ..CallTimes::default() };
                Ok(event::Call { reply: Some(self.packed(&stable, is_content)?), volatile, ..event::Call::default() })
            }
            Ok(reply) => Ok(event::Call { reply: Some(self.packed(reply, is_content)?), ..event::Call::default() }),
            Err(error) => self.recorded_error(error),
        }
    }

    /// An error without secrets, and where it is told exactly.
    fn recorded_error(&self, error: &Error) -> Result<event::Call, Error> {
        let exact = json!(error);
        let shown = self.redacted(exact.clone());
        if shown == exact {
            return Ok(event::Call { error: Some(error.clone()), ..event::Call::default() });
        }
        // Why a call has no answer is recorded in any case.
        let kept = pack_with(&exact, true, self.rules.secrets(), &|value| self.kept(value, Permit::ALL))?;
        let shown = serde_json::from_value(shown).unwrap_or_else(|_| Error::new(error.code(), "[redacted]"));
        Ok(event::Call { error: Some(shown), error_exact: Some(kept), ..event::Call::default() })
    }

    /// A call as a record has it; what does not stand there itself is kept in the pack.
    pub(super) fn recorded(&self, call: &Call) -> Result<Recorded, Error> {
        recorded(call, &mut |value, always| self.packed(value, always))
    }

    /// The value itself if it is short and shows no secret, else its name after it was put into the pack.
    pub(super) fn packed(&self, value: &Value, always: bool) -> Result<Stored, Error> {
        let (room, go_on) = (|bytes| self.room(bytes), || self.go_on());
        let permit = Permit { room: &room, go_on: &go_on };
        pack_with(value, always, self.rules.secrets(), &|value| self.kept(value, permit))
    }

    /// Counts bytes that are about to be recorded; an error if there is no room for them, unless the run is ending.
    pub(super) fn room(&self, bytes: u64) -> Result<(), Error> {
        if self.ends {
            self.budget.count_record(bytes);
            return Ok(());
        }
        self.budget.reserve_record(bytes)
    }

    /// An error if what takes long is to be left, unless the run is ending.
    fn go_on(&self) -> Result<(), Error> {
        if self.ends { Ok(()) } else { self.context.check_cancelled().and_then(|()| self.budget.check_wall()) }
    }

    /// Puts a value into the pack; its name.
    pub(super) fn kept(&self, value: &Value, permit: Permit<'_>) -> Result<Stored, Error> {
        self.keeper.keep_value(value, permit).map_err(unkept)
    }

    /// Puts some content into the pack; its name.
    pub(super) fn kept_bytes(&self, content: &[u8]) -> Result<Stored, Error> {
        let (room, go_on) = (|bytes| self.room(bytes), || self.go_on());
        let hash = self.keeper.keep_within(content, Permit { room: &room, go_on: &go_on }).map_err(unkept)?;
        Ok(packed_form(&hash, content.len()))
    }
}

/// True for a call whose time is of this run only: a program works on it.
fn takes_time(call: &Call) -> bool {
    match call {
        Call::ExecRun(_) | Call::McpTools { .. } => true,
        Call::Custom { name, .. } => tool_of_call(name).is_some(),
        _ => false,
    }
}

/// True for an error that says that something is not recorded, and that the run ends for that.
fn gives_up(error: &Error) -> bool {
    matches!(error.code(), Code::BudgetExhausted | Code::Cancelled)
}

/// Returns the error that ends the run if something can't be written. An error that ends the run anyway is kept.
pub(super) fn unkept(error: Error) -> Error {
    if gives_up(&error) { error } else { unrecorded(error) }
}

/// The results of gates that are more than silent consent, without secrets.
fn shown_results(verdict: &Verdict, rules: &secrets::Rules) -> Vec<Shown<GateResult>> {
    let shown = |result: &GateResult| {
        let mut redacted = json!(result);
        secrets::redact_json(&mut redacted, rules);
        GateResult::deserialize(&redacted).map_or(Shown::Redacted(redacted), Shown::Exact)
    };
    verdict.remarks().map(shown).collect()
}

/// The event with those parts of a reply that stand in the record itself, also where all of it is only in the pack.
fn remarked(call: &Call, result: &Result<Value, Error>, event: event::Call) -> Result<event::Call, Error> {
    let Ok(reply) = result else { return Ok(event) };
    Ok(match call {
        Call::PromptCompose(_) => event::Call { prompt: Prompted::deserialize(reply).ok(), ..event },
        Call::LlmComplete(_) => event::Call { answered_by: AnsweredBy::deserialize(reply).ok(), ..event },
        Call::LlmStream(_) => {
            let transcript = Transcript::of(reply)?;
            let answered_by = transcript.reply().and_then(|reply| AnsweredBy::deserialize(reply).ok());
            let ended = transcript.error().and_then(|error| Code::deserialize(&error["code"]).ok());
            event::Call { answered_by, ended, ..event }
        }
        _ => event,
    })
}
