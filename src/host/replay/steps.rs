//! The record of a run as the calls that it made, each with what was judged for it, in the order in which they were answered.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::life::history::{is_for_later, may_be_last};
use crate::record::Record;

/// The calls of a run, by position.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<Step>,
    index: BTreeMap<String, usize>,
    /// How the run ended, or where it stopped; none if it goes on, or died.
    pub(super) end: Option<Record>,
    /// What a session that went on began with, in their order.
    pub(super) resumed: Vec<Record>,
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
    /// The record of the kind `call`.
    pub(super) record: Record,
    /// The records of the changes that gates judged for it, each with how often the run had been resumed before.
    pub(super) judged: Vec<(usize, Record)>,
    /// The confirmations that were granted for it.
    pub(super) granted: Vec<Value>,
    /// The adapter that looked at files for it.
    pub(super) tool: Option<String>,
    /// How often the run had been resumed before.
    pub(super) session: usize,
    /// False if the run stopped for it, and went on later.
    pub(super) answered: bool,
}

/// What was recorded at a position before its call was answered.
#[derive(Debug, Default)]
struct Open {
    judged: Vec<(usize, Record)>,
    granted: Vec<Value>,
    tool: Option<String>,
}

impl Steps {
    /// Sorts the records of a run.
    pub(super) fn of(records: Vec<Record>) -> Self {
        let mut steps = Steps::default();
        let mut open: BTreeMap<String, Open> = BTreeMap::new();
        let mut last = None;
        for record in records {
            match record.kind.as_str() {
                "judged" => {
                    let session = steps.resumed.len();
                    open.entry(record.position.clone()).or_default().judged.push((session, record));
                }
                "confirmation_granted" => open.entry(record.position).or_default().granted.push(record.data),
                "dta_started" => {
                    let tool = record.data["tool"].as_str().map(str::to_owned);
                    steps.tools.extend(tool.clone());
                    open.entry(record.position).or_default().tool = tool;
                }
                "call" => {
                    let Open { judged, granted, tool } = open.remove(&record.position).unwrap_or_default();
                    let session = steps.resumed.len();
                    let is_last = may_be_last(&record);
                    let at = steps.add(Made { record, judged, granted, tool, session, answered: true });
                    last = if is_last { Some(at) } else { last };
                }
                "run_resumed" => {
                    // What was recorded of a call in flight stays: it may be answered without being made again.
                    steps.set_aside(last.take());
                    steps.end = None;
                    steps.resumed.push(record);
                }
                "run_finished" | "run_suspended" => steps.end = Some(record),
                _ => {}
            }
        }
        steps
    }

    fn add(&mut self, made: Made) -> usize {
        let position = made.record.position.clone();
        let at = *self.index.entry(position.clone()).or_insert(self.steps.len());
        if at == self.steps.len() {
            self.steps.push(Step { position, ..Step::default() });
        }
        self.steps[at].made.push(made);
        at
    }

    /// The call for which the run had stopped was not answered: it is made again.
    fn set_aside(&mut self, last: Option<usize>) {
        let suspended = self.end.as_ref().is_some_and(|end| end.kind == "run_suspended");
        let made = last.and_then(|at| self.steps.get_mut(at)).and_then(|step| step.made.last_mut());
        if let Some(made) = made.filter(|made| is_for_later(&made.record, suspended)) {
            made.answered = false;
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
    pub(super) fn calls(&self) -> impl Iterator<Item = &Record> {
        self.steps.iter().flat_map(|step| &step.made).map(|made| &made.record)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(kind: &str, position: &str, data: Value) -> Record {
        let (at, prev, hash) = (String::new(), String::new(), String::new());
        let (kind, position) = (kind.to_owned(), position.to_owned());
        Record { seq: 1, position, at, kind, data, files: Vec::new(), volatile: Value::Null, prev, hash }
    }

    #[test]
    fn a_call_for_which_the_run_waited_is_one_step_with_two_tries() {
        let waits = json!({"call": "gate.confirm", "error": {"code": "suspended", "message": "m"}});
        let mut steps = Steps::of(vec![
            record("call", "1", json!({"call": "ui.step", "reply": null})),
            record("judged", "2", json!({})),
            record("call", "2", waits),
            record("run_suspended", "", json!({})),
            record("run_resumed", "", json!({})),
            record("call", "2", json!({"call": "gate.confirm", "reply": 1})),
            record("run_finished", "", json!({})),
        ]);
        assert_eq!((steps.calls().count(), steps.resumed.len()), (3, 1));
        steps.visit("1").unwrap();
        assert_eq!(steps.next().unwrap().position, "2");
        let made = steps.visit("2").unwrap();
        let seen: Vec<_> = made.iter().map(|made| (made.answered, made.session, made.judged.len())).collect();
        assert_eq!(seen, [(false, 0, 1), (true, 1, 0)]);
        assert!(steps.visit("2").is_none() && steps.visit("3").is_none() && steps.next().is_none());
        assert_eq!(steps.end.unwrap().kind, "run_finished");
    }

    #[test]
    fn what_was_judged_of_a_call_in_flight_belongs_to_its_answer() {
        let mut steps = Steps::of(vec![
            record("judged", "1", json!({})),
            record("run_resumed", "", json!({})),
            record("judged", "1", json!({})),
            record("call", "1", json!({"call": "apply.create", "reply": 1})),
        ]);
        let made = steps.visit("1").unwrap();
        let sessions: Vec<usize> = made[0].judged.iter().map(|(session, _)| *session).collect();
        assert_eq!((sessions, made[0].session), (vec![0, 1], 1));
    }

    #[test]
    fn a_run_that_waits_still_has_its_answer() {
        let waits = json!({"call": "gate.confirm", "error": {"code": "suspended", "message": "m"}});
        let mut steps = Steps::of(vec![record("call", "1", waits), record("run_suspended", "", json!({}))]);
        assert!(steps.visit("1").unwrap()[0].answered);
    }
}
