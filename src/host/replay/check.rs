//! One call of a replay against its record: what is asked, what gates say, what it takes, what it comes to.

use serde_json::{Value, json};

use super::{
    super::{
        budget::{Cost, Demand},
        call::evaluate,
        life::history::is_same,
        reply::{self, Recorded},
    },
    Difference, Parting, Replay,
    judge::{self, Change, Decided, Judged, Law},
    place::{Stop, parted},
    steps::Made,
    tried::another_answer,
};
use crate::replay::place::Place;
use base::{
    call::Call,
    error::{Code, Error},
    json,
};
use record::event;

/// The budgets that depend on nothing but what was recorded.
const BUDGETS: &[&str] = &["bytes", "calls", "diff_lines", "files"];

impl Replay<'_> {
    /// The same call with the same arguments.
    pub(super) fn check_call(&self, made: &Made, call: &Call, form: &Recorded) -> Result<(), Stop> {
        let recorded = Recorded::of(&made.call);
        if recorded.name == form.name && same(recorded.args.form(), form.args.form()) {
            return Ok(());
        }
        let reason = if recorded.name == form.name {
            format!("the script asks for `{}` with other arguments than the record has", form.name)
        } else {
            format!("the script asks for `{}`, and the record has `{}`", form.name, recorded.name)
        };
        let actual = serde_json::to_value(call).unwrap_or_default();
        Err(parted(Parting::Call, reason, self.shown_call(&recorded), actual))
    }

    /// A recorded call as a divergence shows it, with what the pack has of it.
    pub(super) fn shown_call(&self, recorded: &Recorded) -> Value {
        let call = reply::call_of(recorded, &self.pack).ok().and_then(|call| serde_json::to_value(call).ok());
        call.unwrap_or_else(|| json!({"name": recorded.name, "args": recorded.args}))
    }

    /// Gates say the same of the call and of every change that was judged for it; those changes.
    pub(super) fn check_decisions(&mut self, place: Place<'_>, made: &Made) -> Result<Vec<Change>, Stop> {
        let decided = Decided::of(made.call.decision, &made.call.results)?;
        self.judge(place, Judged::Call(place.call), &decided, made.session)?;
        let mut changes = Vec::new();
        for (session, judged) in &made.judged {
            let change =
                Change::of(judged, &self.folder, &self.pack, self.left_out).map_err(|error| self.missing(error));
            let Some(change) = change? else {
                self.not_judged += 1;
                continue;
            };
            if self.not_judged == 0 && change.run_lines_so_far != self.budget.lines() {
                let (expected, actual) = (json!(change.run_lines_so_far), json!(self.budget.lines()));
                let reason = "the run had changed another number of lines before than the record says";
                return Err(parted(Parting::Change, reason, expected, actual));
            }
            let decided = Decided::of(judged.decision, &judged.results)?;
            self.judge(place, Judged::Change(&change), &decided, *session)?;
            changes.push(change);
        }
        Ok(changes)
    }

    /// Judges a subject again. Under the recorded policy the decision must be the recorded one; under a policy that is tried it may
    /// differ.
    fn judge(&mut self, place: Place<'_>, judged: Judged<'_>, decided: &Decided, session: usize) -> Result<(), Stop> {
        match self.law_of(session) {
            Some(law) => {
                let difference = self.compare(place, judged, decided, law)?;
                self.differences.extend(difference);
            }
            None => self.not_judged += 1,
        }
        Ok(())
    }

    fn compare(
        &self,
        place: Place<'_>,
        judged: Judged<'_>,
        decided: &Decided,
        law: &Law,
    ) -> Result<Option<Difference>, Stop> {
        if self.tried.is_some() {
            return Ok(self.difference(place, judged, decided.decision, law));
        }
        let (kind, what) = match judged {
            Judged::Call(_) => (Parting::Decision, "the call"),
            Judged::Change(_) => (Parting::Change, "the change"),
        };
        let verdict = law.verdict(&self.bench, judged);
        if decided.is(&verdict, law.rules.secrets()) {
            return Ok(None);
        }
        let (now, was) = (verdict.decision.as_str(), decided.decision.as_str());
        let reason = match now == was {
            true => format!("gates give another reason to `{now}` {what} than the record has"),
            false => format!("gates decide `{now}` of {what}, and the record has `{was}`"),
        };
        let reason = match law.policy.is_of_earlier_rules() {
            true => format!("{reason}; an earlier release wrote it, and built-in rules have changed since"),
            false => reason,
        };
        let actual = judge::shown(verdict.decision, verdict.remarks());
        let mut stop = parted(kind, reason, decided.shown(), actual);
        if let Stop::Diverged(divergence) = &mut stop {
            divergence.rules = law.objections(&self.bench, judged);
        }
        Err(stop)
    }

    /// Budgets admit what was admitted, and refuse what was refused.
    pub(super) fn check_budget(&mut self, place: Place<'_>, made: &Made, changes: &[Change]) -> Result<(), Stop> {
        // Without what was left out, nobody can tell how many files were new.
        if self.not_judged > 0 {
            return Ok(());
        }
        let error = made.call.error.as_ref();
        let exhausted = error.filter(|error| error.code() == Code::BudgetExhausted);
        let refused = exhausted.and_then(|error| error.details().get("budget")?.as_str());
        // What time decides was as it was.
        if refused.is_some_and(|budget| !BUDGETS.contains(&budget)) {
            return Ok(());
        }
        let cost = self.cost(made, changes)?;
        let paid = self.budget.reserve_call().and_then(|()| self.budget.charge(&cost));
        match (paid, refused) {
            (Ok(()), None) => {}
            (Err(now), Some(_)) if error.is_some_and(|error| error.message() == now.message()) => {}
            (Ok(()), Some("calls")) => {
                let reason = "the record has a call as refused that its budget admits";
                return Err(parted(Parting::Budget, reason, json!(error), Value::Null));
            }
            // Which change was refused, and by how much, is as it was: it has to be beyond the limit.
            (Ok(()), Some(budget)) => self.check_refusal(budget, &json!(exhausted.map(Error::details)))?,
            (Err(now), _) => {
                let reason = format!("the record has as admitted what its budget refuses: {now}");
                return Err(parted(Parting::Budget, reason, json!(error), json!(now)));
            }
        }
        self.try_budget(place, &cost);
        Ok(())
    }

    /// A change that was refused would have gone beyond the limit.
    fn check_refusal(&self, budget: &str, details: &Value) -> Result<(), Stop> {
        let number = |key: &str| details[key].as_u64().unwrap_or_default();
        let now = &self.budget.describe()[budget];
        let beyond = number("used").saturating_add(number("asked")) > number("limit");
        if beyond && now["limit"] == details["limit"] && now["used"] == details["used"] {
            return Ok(());
        }
        let reason = format!("the record has a change as refused that the budget `{budget}` admits");
        Err(parted(Parting::Budget, reason, details.clone(), now.clone()))
    }

    /// Returns the recorded budget use of a call. A change that uses other files or lines is a divergence.
    fn cost(&self, made: &Made, changes: &[Change]) -> Result<Cost, Stop> {
        let cost = made.call.whole_cost();
        let event::Cost { files: n_files, diff_lines, bytes, .. } = cost;
        let demand = Demand::of(&cost);
        if n_files + diff_lines + bytes == 0 {
            return Ok(Cost { demand, ..Cost::default() });
        }
        let stats = || changes.last().into_iter().flat_map(|change| &change.patch.stats);
        let mut files: Vec<_> = stats().map(|stat| stat.path.clone()).collect();
        files.retain(|path| !self.budget.has_changed(path));
        let lines: u64 = stats().map(|stat| stat.lines.total()).sum();
        if (files.len() as u64, lines) != (n_files, diff_lines) {
            let reason = "the change takes another part of the budgets than the record says";
            let actual = json!({"files": files.len(), "diff_lines": lines});
            return Err(parted(Parting::Budget, reason, json!(made.call.cost), actual));
        }
        Ok(Cost { files, diff_lines: lines, bytes, demand })
    }

    /// Compares the recorded reply with the reply that follows from the calls alone, if one does. Returns the recorded reply.
    pub(super) fn check_reply(&mut self, place: Place<'_>, made: &Made, reply: Value) -> Result<Value, Stop> {
        let computed = match place.call {
            Call::GateEvaluateCommand { .. } | Call::GateEvaluateToolUse { .. } => {
                if let Some(tried) = &self.tried {
                    let would = evaluate::verdict(place.call, &tried.policy, &tried.rules);
                    self.differences.extend(would.and_then(|would| another_answer(place, &reply, &would)));
                    return Ok(reply);
                }
                let Some(law) = self.law_of(made.session) else { return Ok(reply) };
                json!(evaluate::verdict(place.call, &law.policy, &law.rules))
            }
            Call::GateRequire { condition, .. } if !condition => {
                return Err(parted(
                    Parting::Reply,
                    "what the script requires does not hold",
                    Value::Null,
                    json!(false),
                ));
            }
            Call::RunBudget {} if self.not_judged == 0 => self.budget.describe(),
            Call::RunMetrics {} if self.not_judged == 0 => json!({
                "calls": self.budget.calls(),
                "files_changed": self.budget.files(),
                "diff_lines": self.budget.lines(),
                "tools": self.tools,
                "attempts": event::AttemptCounts { kept: self.attempts.0, undone: self.attempts.1 },
                "own": self.metrics,
            }),
            Call::AttemptEnd { keep } => {
                *(if *keep { &mut self.attempts.0 } else { &mut self.attempts.1 }) += 1;
                return Ok(reply);
            }
            Call::RunMetric { name, value } => {
                self.metrics.insert(name.clone(), value.clone());
                return Ok(reply);
            }
            _ => return Ok(reply),
        };
        if same(&reply, &computed) || may_be_permitted(place.call, &reply, &computed) {
            return Ok(reply);
        }
        let reason = format!("`{}` comes to something else than the record has", place.call.name());
        Err(parted(Parting::Reply, reason, reply, computed))
    }
}

/// True if a reply about a command is this verdict, with the rules of commands and the trust of the machine on which the run was.
fn may_be_permitted(call: &Call, reply: &Value, verdict: &Value) -> bool {
    let with = |permitted: bool| {
        let mut verdict = verdict.clone();
        verdict[evaluate::PERMITTED] = json!(permitted);
        verdict
    };
    matches!(call, Call::GateEvaluateCommand { .. }) && [true, false].into_iter().any(|one| same(reply, &with(one)))
}

/// True if what is recorded is this value, in whatever form either of them stands, and however its numbers are written.
pub(super) fn same(recorded: &Value, actual: &Value) -> bool {
    is_same(recorded, &json::exact(actual))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::packed_form;

    #[test]
    fn a_value_is_the_same_in_every_form_in_which_a_record_may_have_it() {
        let value = json!({"a": [1.0, "x"], "b": 9_223_372_036_854_775_807_u64});
        let text = json::canonical(&json::exact(&value)).unwrap();
        let packed = packed_form(&base::hash::Sha256::of(text.as_bytes()), text.len()).into_form();
        let inline: Value = serde_json::from_str(&text).unwrap();
        for recorded in [&packed, &inline] {
            assert!(same(recorded, &value) && same(recorded, &packed));
            assert!(!same(recorded, &json!({"a": [2, "x"]})));
        }
    }
}
