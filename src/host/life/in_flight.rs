//! Calls that are made again when a run goes on: answered from the record, or settled if the run died while it answered them.
//!
//! The journal tells whether a change of the tree stands or was taken back. Nobody knows the effects of a program's own call
//! elsewhere. So a person decides, unless a call of that kind may be made again.

use serde_json::{Value, json};

use super::history::check_same;
use crate::{
    Host, Position, Silent, Sink,
    budget::Spent,
    call::{adapter::verify_recalled, custom::Effect},
    change::{
        confirm::Asking,
        patch::Patch,
        rebuild_proposal::{TreeState, rebuild},
        subject::Subject,
        transaction::Transacted,
    },
    recorder::Recorder,
    reply::{as_value, recorded_form},
    times,
};
use base::{
    call::{Call, tool_of_call},
    error::{Code, Error},
    json,
};
use gate::{Decision, GateResult};
use record::{
    Note,
    event::{Checked, Event, How, Settled},
};
use service::apply;

/// The kind of a confirmation that is about a call of which nobody knows whether it took effect.
pub(crate) const UNCERTAIN: &str = "uncertain";

impl Host<'_> {
    /// True if a former session of the run came to the call at this position: whatever comes before it was told then.
    pub fn has_reached(&self, position: &Position) -> bool {
        self.recorder.past.as_ref().is_some_and(|past| past.knows(position))
    }

    /// Settles a call that was being answered when the run died; none if it has to be made.
    pub(crate) fn settle_call(
        &mut self,
        position: &Position,
        call: &Call,
        sink: &mut dyn Sink,
    ) -> Result<Option<Value>, Error> {
        let Some(past) = &self.recorder.past else { return Ok(None) };
        let Some((intent, recorded)) = past.in_flight(position) else { return Ok(None) };
        check_same(&recorded, position, &recorded_form(call, self.run.rules.secrets())?)?;
        let standing = past.standing_at(position);
        match (call, &standing) {
            (Call::Custom { name, .. }, _) => {
                // Of a tool without an effect no intent is recorded.
                let is_tool = tool_of_call(name).is_some();
                let is_unknown = self.run.context.options.calls.effect(name) == Some(Effect::Unknown);
                return self.settle_outside(position, call, (name, intent), !is_tool && !is_unknown);
            }
            (Call::ExecRun(run), None) => {
                let started =
                    past.last(position.as_str(), Event::exec_started).filter(|(record, _)| record.seq > intent);
                let may = started.is_none_or(|(_, started)| started.repeatable);
                return self.settle_outside(position, call, (&self.run.told(run), intent), may);
            }
            // It changes nothing but what it costs.
            (Call::LlmComplete(_) | Call::LlmStream(_), _) => {
                note_settled(&mut self.recorder, position, How::MadeAgain)?;
                return Ok(None);
            }
            _ => {}
        }
        let Some(standing) = standing else { return Ok(None) };
        self.count(position, &standing)?;
        let reply = match call {
            Call::DtaApply { .. } | Call::DtaRun { .. } => self.settle_adapter(position, call, &standing, sink)?,
            _ => {
                if call.applies() {
                    for pledge in self.pledges().pledges_of(&apply::Request::of(call)?)? {
                        self.pledges().commit_once(position.as_str(), pledge)?;
                    }
                }
                settle_apply(&mut self.recorder, position, &standing)?
            }
        };
        note_settled(&mut self.recorder, position, How::Stands)?;
        Ok(Some(reply))
    }

    /// Counts what a change cost that stands, although its call was never answered.
    fn count(&mut self, position: &Position, standing: &Transacted) -> Result<(), Error> {
        let Some(past) = &self.recorder.past else { return Ok(()) };
        let mut spent = Spent { calls: 1, ..Spent::default() };
        spent.bytes = standing.entries.iter().filter_map(|entry| entry.after).map(|after| after.length).sum();
        if let Some((_, judged)) = past.last(position.as_str(), Event::judged) {
            let rows = past.pack().rows(&judged.files)?;
            spent.diff_lines = rows.iter().map(|row| row.added + row.removed).sum();
            self.tally.violations.extend(objections(judged.gate_results()));
        }
        if let Some((_, ended)) = past.last(position.as_str(), Event::exec_ended) {
            spent.demand.exec_ms = ended.volatile.duration_ms;
        }
        spent.files = standing.entries.iter().map(|entry| entry.path.clone()).collect();
        self.turn.reserved = self.run.budget.take_in(spent, 0);
        self.ledger.reached_tree = true;
        Ok(())
    }

    /// Returns the output of the verification if it passed before the run died. Otherwise verifies the files that were written, and
    /// undoes them if the verification fails.
    fn settle_adapter(
        &mut self,
        position: &Position,
        call: &Call,
        standing: &Transacted,
        sink: &mut dyn Sink,
    ) -> Result<Value, Error> {
        let Some(past) = &self.recorder.past else { return Ok(Value::Null) };
        let at = position.as_str();
        let is_it = |event: &Event| event.transaction() == Some(standing.transaction.as_str());
        let applied = past.last(at, Event::dta_applied).filter(|(record, _)| is_it(&record.event));
        let verified = past.last(at, Event::dta_verified);
        if let (Some((applied, _)), Some((record, verified))) = (applied, verified)
            && record.seq > applied.seq
            && verified.output.ok
        {
            return as_value(&verified.output);
        }
        // The call itself proposed the change, or it names the proposal.
        let named = match call {
            Call::DtaApply { proposal, .. } => proposal["id"].as_str().and_then(|id| past.proposed(id)),
            _ => past.last(at, Event::dta_proposed),
        };
        let Some(proposed) = named else {
            let message = format!("the record does not say what was proposed at position {position}");
            return Err(
                Error::new(Code::RecordDamaged, message).hint("`nrv rollback` brings back what the run changed")
            );
        };
        let stored = rebuild(&self.recorder, self.draft.view(), proposed, past.pack(), TreeState::After)?;
        let reply = verify_recalled(&mut self.pipeline(position, sink), &stored, standing)?;
        self.proposals.remove(&stored.id);
        Ok(reply)
    }

    /// A call with effects that nobody can see from here: made again if it may be, else a person has to say what became of it.
    fn settle_outside(
        &mut self,
        position: &Position,
        call: &Call,
        (name, intent): (&str, u64),
        may_be_made_again: bool,
    ) -> Result<Option<Value>, Error> {
        if may_be_made_again {
            note_settled(&mut self.recorder, position, How::MadeAgain)?;
            return Ok(None);
        }
        let wire = serde_json::to_value(call).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        let bound = json!({"uncertain": position.as_str(), "intent": intent, "call": json::exact(&wire)});
        let id = json::sha256(&bound)?.to_string();
        let (subject, shown) = question(&self.recorder, position, call, name, id);
        let Some(granted) = self.asking(position, &mut Silent).redeem(&subject)? else {
            return Err(self.asking(position, &mut Silent).uncertain(name, &subject, shown));
        };
        let reply = match &mut self.recorder.past {
            Some(past) => past.reply.take().map_or_else(|| past.granted_reply(&granted), |reply| Ok(Some(reply)))?,
            None => None,
        };
        note_settled(&mut self.recorder, position, if reply.is_some() { How::TakenAsDone } else { How::MadeAgain })?;
        if reply.is_some() {
            self.run.budget.take_in(Spent { calls: 1, ..Spent::default() }, 0);
        }
        Ok(reply)
    }
}

/// Builds the question to a person about a call of which nobody knows whether it took effect.
fn question(recorder: &Recorder<'_>, position: &Position, call: &Call, name: &str, id: String) -> (Subject, Value) {
    let params = match call {
        Call::Custom { params, .. } => params.clone(),
        other => json!(other),
    };
    let shown = recorder.redacted(json!({"call": name, "params": params, "position": position.as_str()}));
    let subject = Subject {
        id,
        kind: UNCERTAIN,
        label: format!("make `{name}` again, which may have been made already"),
        shown: shown.clone(),
        patch: Patch::default(),
        files: Vec::new(),
        empty: false,
    };
    (subject, shown)
}

/// The files were found to be what was written when the run went on; the reply was recorded before they were.
pub(crate) fn settle_apply(
    recorder: &mut Recorder<'_>,
    position: &Position,
    standing: &Transacted,
) -> Result<Value, Error> {
    let Some(past) = &recorder.past else { return Ok(Value::Null) };
    let is_it = |event: &Event| event.transaction() == Some(standing.transaction.as_str());
    let prepared = past.last(position.as_str(), Event::prepared).filter(|(record, _)| is_it(&record.event));
    let Some((_, prepared)) = prepared else {
        let message = format!("the record does not say what the call at position {position} was to reply");
        return Err(Error::new(Code::RecordDamaged, message).hint("`nrv rollback` brings back what the run changed"));
    };
    let reply = past.pack().value(&prepared.reply)?;
    // Of a command's reply, what differs each time is recorded when it has ended.
    let reply = match past.last(position.as_str(), Event::exec_ended) {
        Some((_, ended)) => times::joined(reply, Some(&ended.volatile.reply())),
        None => reply,
    };
    let checked = past.last(position.as_str(), Event::checked);
    if checked.is_none_or(|(record, _)| !is_it(&record.event)) {
        let (transaction, files) = (standing.transaction.clone(), standing.entries.len() as u64);
        recorder.note(Note::at(position.as_str(), Event::Checked(Checked { transaction, files }.into())))?;
    }
    Ok(reply)
}

fn note_settled(recorder: &mut Recorder<'_>, position: &Position, how: How) -> Result<(), Error> {
    recorder.note(Note::at(position.as_str(), Event::Settled(Settled { how }.into())))
}

impl Asking<'_, '_> {
    /// Suspends the run, since nobody knows whether a call took effect.
    fn uncertain(&mut self, name: &str, subject: &Subject, shown: Value) -> Error {
        let waits = match self.bind(subject) {
            Ok(bound) => self.suspend(&bound, subject),
            Err(error) => return error,
        };
        if waits.code() != Code::Suspended {
            return waits;
        }
        let way = |name: &str| waits.details().get(name).and_then(Value::as_str).unwrap_or_default();
        let (approve, reject) = (way("approve"), way("reject"));
        let hint = format!(
            "find out; then `{approve}` makes the call again, `{approve} --reply JSON` takes it as made with that reply, and \
             `{reject}` undoes the run"
        );
        let message = format!(
            "the run died while it made `{name}` at position {}, and nobody knows whether that took effect",
            self.position
        );
        let error = Error::new(Code::Uncertain, message).detail("call", shown).hint(hint);
        waits.details().iter().fold(error, |error, (key, value)| error.detail(key, value.clone()))
    }
}

/// The results in a record that are more than remarks.
pub(crate) fn objections<'r>(results: impl Iterator<Item = &'r GateResult>) -> impl Iterator<Item = GateResult> {
    results.filter(|result| result.decision != Decision::Allow).cloned()
}
