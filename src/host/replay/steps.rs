//! The record of a run as the calls that it made, each with what was judged for it, in the order in which they were answered.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    life::history::{is_for_later, may_be_last},
    position::branch,
};
use record::{
    Record,
    event::{Call, Confirmation, Event, Judged, RunEnd, RunResumed},
};

/// The calls of a run, by position.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<Step>,
    index: BTreeMap<String, usize>,
    /// How the run ended, or where it stopped; none if it goes on, or died.
    pub(super) end: Option<RunEnd>,
    /// True if it only waits.
    pub(super) is_suspended: bool,
    /// The records with which later sessions began, in their order.
    pub(super) resumed: Vec<RunResumed>,
    /// Every adapter that looked at files.
    pub(super) tools: BTreeSet<String>,
}

/// A place in the run at which a call was made: once, or once more after the run had waited there.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) position: String,
    /// The same call, as often as it was made. The last one answers, if it was answered.
    pub(super) made: Vec<Made>,
    /// True once a replay has been here.
    pub(super) visited: bool,
}

/// A call as it was made once.
#[derive(Debug)]
pub(super) struct Made {
    /// The call as it was answered.
    pub(super) call: Call,
    /// The changes that gates judged for it, each with how often the run had been resumed before.
    pub(super) judged: Vec<(usize, Judged)>,
    /// The confirmations that were granted for it.
    pub(super) granted: Vec<Confirmation>,
    /// The adapter that looked at files for it.
    pub(super) tool: Option<String>,
    /// How often the run had been resumed before.
    pub(super) session: usize,
    /// False if the run stopped for it, and went on later.
    pub(super) answered: bool,
}

/// The data that was recorded at a position before its call was answered.
#[derive(Debug, Default)]
struct Open {
    judged: Vec<(usize, Judged)>,
    granted: Vec<Confirmation>,
    tool: Option<String>,
}

impl Steps {
    /// Sorts the records of a run.
    pub(super) fn of(records: Vec<Record>) -> Self {
        let mut steps = Steps::default();
        let mut open: BTreeMap<String, Open> = BTreeMap::new();
        // Each branch of a graph may have stopped for a call.
        let mut last: BTreeMap<String, usize> = BTreeMap::new();
        for record in records {
            let Record { position, event, .. } = record;
            match event {
                Event::Judged(judged) => {
                    let session = steps.resumed.len();
                    open.entry(position).or_default().judged.push((session, *judged));
                }
                Event::ConfirmationGranted(granted) => open.entry(position).or_default().granted.push(*granted),
                Event::DtaStarted(started) => {
                    steps.tools.insert(started.tool.clone());
                    open.entry(position).or_default().tool = Some(started.tool);
                }
                Event::Call(call) => {
                    let Open { judged, granted, tool } = open.remove(&position).unwrap_or_default();
                    let session = steps.resumed.len();
                    let is_last = may_be_last(&call);
                    let made = Made { call: *call, judged, granted, tool, session, answered: true };
                    let of = branch(&position).to_owned();
                    let at = steps.add(position, made);
                    if is_last {
                        last.insert(of, at);
                    }
                }
                Event::RunResumed(resumed) => {
                    // What was recorded of a call in flight stays: it may be answered without being made again.
                    steps.set_aside(std::mem::take(&mut last));
                    (steps.end, steps.is_suspended) = (None, false);
                    steps.resumed.push(*resumed);
                }
                Event::RunFinished(end) => (steps.end, steps.is_suspended) = (Some(*end), false),
                Event::RunSuspended(end) => (steps.end, steps.is_suspended) = (Some(*end), true),
                _ => {}
            }
        }
        steps
    }

    fn add(&mut self, position: String, made: Made) -> usize {
        let at = *self.index.entry(position.clone()).or_insert(self.steps.len());
        if at == self.steps.len() {
            self.steps.push(Step { position, ..Step::default() });
        }
        self.steps[at].made.push(made);
        at
    }

    /// The calls for which the run had stopped were not answered: they are made again.
    fn set_aside(&mut self, last: BTreeMap<String, usize>) {
        let suspended = self.is_suspended;
        for at in last.into_values() {
            let made = self.steps.get_mut(at).and_then(|step| step.made.last_mut());
            if let Some(made) = made.filter(|made| is_for_later(&made.call, suspended)) {
                made.answered = false;
            }
        }
    }

    /// The call at a position, which is taken out; none if the record has none there, or a replay has been there already.
    pub(super) fn visit(&mut self, position: &str) -> Option<Vec<Made>> {
        let step = self.steps.get_mut(*self.index.get(position)?)?;
        if step.visited {
            return None;
        }
        step.visited = true;
        Some(std::mem::take(&mut step.made))
    }

    /// The first call of the record at which no replay has been.
    pub(super) fn next(&self) -> Option<&Step> {
        self.steps.iter().find(|step| !step.visited)
    }

    /// Every call as it was recorded.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.steps.iter().flat_map(|step| &step.made).map(|made| &made.call)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(position: &str, call: Value) -> Record {
        let call: Call = serde_json::from_value(call).unwrap();
        Record::of_event(position, Event::Call(call.into()))
    }

    fn judged(position: &str) -> Record {
        let judged: Judged = serde_json::from_value(json!({"patch": {}})).unwrap();
        Record::of_event(position, Event::Judged(judged.into()))
    }

    fn end(state: &str) -> Box<RunEnd> {
        serde_json::from_value(json!({"state": state})).unwrap()
    }

    fn resumed() -> Record {
        Record::of_event("", Event::RunResumed(serde_json::from_value(json!({})).unwrap()))
    }

    fn suspended() -> Record {
        Record::of_event("", Event::RunSuspended(end("suspended")))
    }

    #[test]
    fn a_call_for_which_the_run_waited_is_one_step_with_two_tries() {
        let waits = json!({"call": "gate.confirm", "error": {"code": "suspended", "message": "m"}});
        let mut steps = Steps::of(vec![
            call("1", json!({"call": "ui.step", "reply": null})),
            judged("2"),
            call("2", waits),
            suspended(),
            resumed(),
            call("2", json!({"call": "gate.confirm", "reply": 1})),
            Record::of_event("", Event::RunFinished(end("done"))),
        ]);
        assert_eq!((steps.calls().count(), steps.resumed.len()), (3, 1));
        steps.visit("1").unwrap();
        assert_eq!(steps.next().unwrap().position, "2");
        let made = steps.visit("2").unwrap();
        let seen: Vec<_> = made.iter().map(|made| (made.answered, made.session, made.judged.len())).collect();
        assert_eq!(seen, [(false, 0, 1), (true, 1, 0)]);
        assert!(steps.visit("2").is_none() && steps.visit("3").is_none() && steps.next().is_none());
        assert!(steps.end.is_some() && !steps.is_suspended);
    }

    #[test]
    fn what_was_judged_of_a_call_in_flight_belongs_to_its_answer() {
        let mut steps = Steps::of(vec![
            judged("1"),
            resumed(),
            judged("1"),
            call("1", json!({"call": "apply.create", "reply": 1})),
        ]);
        let made = steps.visit("1").unwrap();
        let sessions: Vec<usize> = made[0].judged.iter().map(|(session, _)| *session).collect();
        assert_eq!((sessions, made[0].session), (vec![0, 1], 1));
    }

    #[test]
    fn a_run_that_waits_still_has_its_answer() {
        let waits = json!({"call": "gate.confirm", "error": {"code": "suspended", "message": "m"}});
        let mut steps = Steps::of(vec![call("1", waits), suspended()]);
        assert!(steps.visit("1").unwrap()[0].answered);
    }
}
