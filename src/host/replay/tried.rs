//! The trial of another policy: every decision that it would change is kept, and the replay still follows the record.

use serde_json::Value;

use super::{
    super::{
        budget::Cost,
        change::{
            confirm,
            subject::{FLAG, GATES, LOCK, POLICY},
        },
    },
    Difference, Judges, Replay, RuleAt,
    judge::{self, Judged, Law},
    place::Place,
    steps::Made,
};
use gate::{Decision, Verdict};
use record::event::Confirmation;
use system::policy::{Confirm, ConfirmMode};

impl Replay<'_> {
    /// Returns the different decision under the policy that is tried, with the rules that cause it; none if the decision is the same.
    pub(super) fn difference(
        &self,
        place: Place<'_>,
        judged: Judged<'_>,
        was: Decision,
        law: &Law,
    ) -> Option<Difference> {
        let tried = self.tried.as_ref()?;
        let subject = judged.subject();
        let would = tried.verdict(&self.bench, judged).decision;
        let (stricter, decision) = if would > was { (tried, would) } else { (law, was) };
        let rules = || judge::placed(stricter.objections(&self.bench, judged), decision, &stricter.policy);
        (would != was).then(|| place.difference(subject, was, would, rules()))
    }

    /// Notes a budget that would be spent, the first time.
    pub(super) fn try_budget(&mut self, place: Place<'_>, cost: &Cost) {
        let (Some(law), Some(budget)) = (&self.tried, &self.tried_budget) else { return };
        let Err(error) = budget.reserve_call().and_then(|()| budget.charge(cost)) else { return };
        let rule = format!("budget.{}", error.details().get("budget").and_then(Value::as_str).unwrap_or_default());
        let is_known = self.differences.iter().flat_map(|one| &one.rules).any(|known| known.rule == rule);
        if !is_known {
            let rule = rule_of(law, "budget", &rule, error.message().to_owned());
            self.differences.push(place.difference(Judges::Budget, Decision::Allow, Decision::Block, vec![rule]));
        }
    }

    /// Notes what was confirmed without a question, and would not be.
    pub(super) fn try_confirmations(&mut self, place: Place<'_>, made: &Made) {
        let Some(law) = &self.tried else { return };
        let confirm = &law.policy.settings().confirm;
        let is_milder = |one: &Difference| {
            one.position == place.position.as_str() && one.was == Decision::RequireConfirmation && one.would < one.was
        };
        let gates_are_milder = self.differences.iter().any(is_milder);
        for granted in made.granted.iter().filter(|granted| granted.kind != GATES || !gates_are_milder) {
            let Some((would, rule)) = asks(confirm, granted, self.started.flags.yes) else { continue };
            let label = &granted.label;
            let rule = rule_of(law, "confirm", rule, format!("`{label}` would not be confirmed by what confirmed it"));
            self.differences.push(place.difference(Judges::Confirmation, Decision::Allow, would, vec![rule]));
        }
    }
}

/// Returns the new decision on a granted confirmation, and the key that causes it.
///
/// None if the confirmation would be granted as it was.
fn asks(confirm: &Confirm, granted: &Confirmation, yes: bool) -> Option<(Decision, &'static str)> {
    let Confirmation { label, kind, .. } = granted;
    let is_listed = |name: &String| confirm.auto.contains(name);
    let by = granted.by.as_deref().unwrap_or_default();
    // Whoever was asked would be asked again.
    let was_asked = !matches!(by, POLICY | FLAG | LOCK);
    match confirm.mode {
        _ if confirm::grants(confirm, label, kind) => None,
        ConfirmMode::Never => Some((Decision::Block, "confirm.mode")),
        ConfirmMode::Ask | ConfirmMode::Policy if is_listed(label) || is_listed(kind) || was_asked => None,
        ConfirmMode::Ask | ConfirmMode::Policy if confirm.approvers.is_some() => {
            Some((Decision::RequireConfirmation, "confirm.approvers"))
        }
        ConfirmMode::Policy => Some((Decision::RequireConfirmation, "confirm.mode")),
        ConfirmMode::Ask if yes && !confirm.yes_flag => Some((Decision::Block, "confirm.yes_flag")),
        ConfirmMode::Ask if yes => None,
        ConfirmMode::Ask => Some((Decision::RequireConfirmation, "confirm.auto")),
    }
}

fn rule_of(law: &Law, gate: &str, rule: &str, reason: String) -> RuleAt {
    let (source, line) = (law.policy.origin(rule), law.policy.line_of(rule));
    RuleAt { gate: gate.to_owned(), rule: rule.to_owned(), reason, source, line, more: 0 }
}

/// Returns the different answer of a policy to a question of the script; none if the answer is the same.
pub(super) fn another_answer(place: Place<'_>, reply: &Value, would: &Verdict) -> Option<Difference> {
    let was: Decision = serde_json::from_value(reply["decision"].clone()).ok()?;
    (was != would.decision).then(|| place.difference(Judges::Answer, was, would.decision, Vec::new()))
}

impl Place<'_> {
    fn difference(self, subject: Judges, was: Decision, would: Decision, rules: Vec<RuleAt>) -> Difference {
        let (position, script, call) = (self.position.to_string(), self.at.cloned(), self.call.name().to_owned());
        Difference { position, script, call, subject, was, would, rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::policy::{FILE, Policy};

    #[test]
    fn what_was_confirmed_without_a_question_may_be_asked_or_refused() {
        let check = |policy: &str, by: &str, yes: bool, expected: Option<(Decision, &str)>| {
            let policy = Policy::parse(&format!("[confirm]\n{policy}"), FILE).unwrap();
            let granted = Confirmation {
                label: "review".to_owned(),
                kind: "gate.confirm".to_owned(),
                by: Some(by.to_owned()),
                ..Confirmation::default()
            };
            assert_eq!(asks(&policy.settings().confirm, &granted, yes), expected, "{policy:?} {by}");
        };
        let asked = |rule| Some((Decision::RequireConfirmation, rule));
        check("", "--yes", true, None);
        check("", "policy", false, asked("confirm.auto"));
        check("", "person", false, None);
        check("auto = ['review']", "policy", false, None);
        check("mode = 'policy'", "--yes", true, asked("confirm.mode"));
        check("mode = 'never'", "person", false, Some((Decision::Block, "confirm.mode")));
        check("yes_flag = false", "--yes", true, Some((Decision::Block, "confirm.yes_flag")));
    }
}
