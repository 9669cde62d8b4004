//! The gates, asked again: about the calls of a record, and about the changes that its packs hold.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    super::{Context, call::llm::route, change::patch::Patch},
    Judges, RuleAt,
    steps::Steps,
};
use crate::{agents::Registry, change::domains};
use base::{
    call::Call,
    diff::{Lines, Stat},
    error::{Code, Error},
    hash::Sha256,
};
use gate::{Decision, Explained, GateResult, Offered, Rules, Subject, Verdict, secrets};
use record::{
    Pack, RunFolder,
    event::{self, FileRow, JudgedPatch, Shown},
};
use system::policy::Policy;

/// A policy with its rules.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub(super) policy: Policy,
    pub(super) rules: Arc<Rules>,
}

impl Law {
    pub(super) fn of(policy: Policy) -> Result<Self, Error> {
        Ok(Law { rules: Arc::new(Rules::of(&policy)?), policy })
    }

    /// Returns the verdict of the gates under this policy.
    pub(super) fn verdict(&self, bench: &Bench<'_>, judged: Judged<'_>) -> Verdict {
        bench.ask(judged, &self.policy, |subject| gate::decide(subject, &self.policy, &self.rules))
    }

    /// The rules that object under it.
    pub(super) fn objections(&self, bench: &Bench<'_>, judged: Judged<'_>) -> Vec<Explained> {
        let all = bench.ask(judged, &self.policy, |subject| gate::explain(subject, &self.policy, &self.rules));
        all.into_iter().filter(|rule| rule.decision != Decision::Allow).collect()
    }
}

/// The adapters and calls that the run could use. Gates need them beside the subject.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    context: &'a Context,
    /// The agents of the run so far.
    pub(super) agents: Registry,
    adapters: Vec<String>,
    /// The calls that the program added, and whether a header has to permit them.
    calls: Vec<(String, bool)>,
}

impl<'a> Bench<'a> {
    /// Collects the adapters and calls of this program, and those that the record shows of the recorded one.
    pub(super) fn new(context: &'a Context, steps: &Steps, pack: &Pack, policy: &Policy) -> Self {
        let options = &context.options;
        let mut adapters: Vec<String> = options.adapters.all().iter().map(|one| one.name().to_owned()).collect();
        adapters.extend(steps.tools.iter().filter(|tool| options.adapters.find(tool).is_err()).cloned());
        let offered = options.calls.offered();
        let mut calls: Vec<(String, bool)> =
            offered.iter().map(|call| (call.name.to_owned(), call.needs_permission)).collect();
        for call in steps.calls().filter(|call| call.call == "custom") {
            let args = pack.value(&call.args).unwrap_or_default();
            let Some(name) = args["name"].as_str() else { continue };
            let said: Vec<&GateResult> = call.gate_results().filter(|one| one.gate_name == "calls").collect();
            let exists = !said.iter().any(|one| one.triggered_rules == ["calls"]);
            if exists && calls.iter().all(|(known, _)| known != name) {
                // If the gate had no objection, the header permits it, or need not.
                calls.push((name.to_owned(), !said.is_empty() || policy.call_refusal(name, true).is_none()));
            }
        }
        Bench { context, adapters, calls, agents: Registry::default() }
    }

    /// Asks about a call or a change under a policy.
    pub(super) fn ask<T>(&self, judged: Judged<'_>, policy: &Policy, ask: impl FnOnce(&Subject<'_>) -> T) -> T {
        match judged {
            Judged::Call(call) => {
                let adapters: Vec<&str> = self.adapters.iter().map(String::as_str).collect();
                let tools = policy.mcp_calls();
                let known = self.calls.iter().map(|(name, needs)| Offered { name, needs_permission: *needs });
                let calls: Vec<Offered<'_>> = known.chain(Offered::of_tools(&tools)).collect();
                let call = route::judged(policy, &self.context.options.orchestrators, call);
                ask(&Subject::Call { call: &call, adapters: &adapters, calls: &calls, tool: None })
            }
            Judged::Change(change) => {
                let adapter = change.adapter.as_deref();
                let domains = domains::domains(&self.context.options.adapters, policy, adapter, self.agents.acting());
                let (files, texts) = (&change.patch.stats, change.patch.texts());
                let run_lines_so_far = change.run_lines_so_far;
                ask(&Subject::Changes { files, texts: &texts, run_lines_so_far, adapter, domains: &domains })
            }
        }
    }
}

/// The subject that is judged again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Judged<'j> {
    /// A call.
    Call(&'j Call),
    /// The change that came of it.
    Change(&'j Change),
}

impl Judged<'_> {
    /// The kind of subject of a difference in its decision.
    pub(super) fn subject(self) -> Judges {
        match self {
            Judged::Call(_) => Judges::Call,
            Judged::Change(_) => Judges::Change,
        }
    }
}

/// A change that gates judged.
#[derive(Debug)]
pub(super) struct Change {
    adapter: Option<String>,
    pub(super) patch: Patch,
    pub(super) run_lines_so_far: u64,
}

impl Change {
    /// The change of a record of the kind `judged`; none if what it held was left out of the record.
    pub(super) fn of(
        recorded: &event::Judged,
        folder: &RunFolder,
        pack: &Pack,
        left_out: bool,
    ) -> Result<Option<Self>, Error> {
        let missing = |error: Error| if left_out { Ok(None) } else { Err(error) };
        let rows = match pack.rows(&recorded.files) {
            Ok(rows) => rows,
            Err(error) => return missing(error),
        };
        let bytes = match bytes(&recorded.patch, folder, pack) {
            Ok(bytes) => bytes,
            Err(error) => return missing(error),
        };
        let wrong =
            || Error::new(Code::RecordDamaged, "the files of a change that was judged are not those of its patch");
        let mut patch = Patch::default();
        let mut rest = bytes.as_slice();
        for FileRow { path, added, removed, length, .. } in rows {
            let (part, more) = rest.split_at_checked(length.ok_or_else(wrong)?).ok_or_else(wrong)?;
            patch.push(part, Stat { path, lines: Lines { added, removed } });
            rest = more;
        }
        Ok(Some(Change { adapter: recorded.adapter.clone(), patch, run_lines_so_far: recorded.run_lines_so_far }))
    }
}

/// A patch that stands in the run's folder or in the pack.
fn bytes(place: &JudgedPatch, folder: &RunFolder, pack: &Pack) -> Result<Vec<u8>, Error> {
    let wrong = || Error::new(Code::RecordDamaged, "a change that was judged names no patch");
    let file = match place {
        JudgedPatch::File(file) => file,
        JudgedPatch::Kept(kept) => return pack.get(&kept.sha256().ok_or_else(wrong)?),
    };
    let bytes = folder.read(&file.path)?;
    if Sha256::of(&bytes) == file.sha256 {
        return Ok(bytes);
    }
    Err(Error::new(Code::RecordDamaged, format!("`{}` is not the patch that was judged", file.path)))
}

/// The recorded decision of the gates, with their results.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) decision: Decision,
    pub(super) results: Vec<GateResult>,
}

impl Decided {
    /// Of a call, or of a change.
    pub(super) fn of(decision: Decision, results: &[Shown<GateResult>]) -> Result<Self, Error> {
        let wrong = || Error::new(Code::RecordDamaged, "the decision of a record can't be read");
        let results = results.iter().map(|result| result.exact().cloned().ok_or_else(wrong));
        Ok(Decided { decision, results: results.collect::<Result<_, _>>()? })
    }

    /// True if gates say the same now: the decision, and what every gate says that has something to say.
    pub(super) fn is(&self, verdict: &Verdict, rules: &secrets::Rules) -> bool {
        let results: Vec<&GateResult> = verdict.remarks().collect();
        if self.decision != verdict.decision || self.results.len() != results.len() {
            return false;
        }
        // What was recorded shows no secrets.
        let mut shown = json!(results);
        secrets::redact_json(&mut shown, rules);
        let same = |(was, is): (&GateResult, &Value)| {
            json!(was.decision) == is["decision"]
                && was.gate_name == is["gate_name"]
                && json!(was.triggered_rules) == is["triggered_rules"]
                && was.reason == is["reason"]
        };
        self.results.iter().zip(shown.as_array().into_iter().flatten()).all(same)
    }

    /// As a divergence shows it.
    pub(super) fn shown(&self) -> Value {
        shown(self.decision, self.results.iter())
    }
}

/// A verdict as a divergence shows it.
pub(super) fn shown<'r>(decision: Decision, results: impl Iterator<Item = &'r GateResult>) -> Value {
    let row = |one: &GateResult| {
        json!({
            "gate": one.gate_name, "decision": one.decision, "rules": one.triggered_rules, "reason": one.reason,
        })
    };
    json!({"decision": decision, "gates": results.map(row).collect::<Vec<_>>()})
}

/// The rules of a decision with their lines in the policy, each once.
pub(super) fn placed(rules: Vec<Explained>, decision: Decision, policy: &Policy) -> Vec<RuleAt> {
    let mut placed: Vec<RuleAt> = Vec::new();
    for Explained { gate, rule, reason, source, .. } in rules.into_iter().filter(|rule| rule.decision == decision) {
        match placed.iter_mut().find(|known| known.gate == gate && known.rule == rule) {
            Some(known) => known.more += 1,
            None => placed.push(RuleAt { line: line(policy, &gate, &rule), gate, rule, reason, source, more: 0 }),
        }
    }
    placed
}

/// The line of the policy's file on which a rule stands, or what follows from it.
fn line(policy: &Policy, gate: &str, rule: &str) -> Option<usize> {
    let gates = &policy.settings().gates;
    let (table, own) = match gate {
        "destructive-ops" => ("gates.destructive", gates.destructive.rule.iter().position(|own| own.id == rule)),
        "secrets" => ("gates.secrets", gates.secrets.rule.iter().position(|own| own.id == rule)),
        "tool-allowlist" => ("gates.tools", None),
        _ => return policy.line_of(rule),
    };
    let own = own.and_then(|at| policy.line_of(&format!("{table}.rule.{at}")));
    let key = |name: &str| policy.line_of(&format!("{table}.{name}"));
    own.or_else(|| policy.line_of(rule)).or_else(|| key("decision")).or_else(|| key("enabled"))
}
