//! Gates judge calls and changes, as pure functions of (subject, policy).
//!
//! No clock, no file, no chance: the same subject under the same policy gets the same verdict everywhere. Gates perform nothing
//! and ask nobody; the host enforces the verdict.

mod adapters;
mod calls;
mod commands;
pub mod destructive;
mod diff_size;
mod exec;
mod explain;
pub mod hook;
pub mod jsonl;
mod llm;
mod param_names;
mod parts;
mod patch_text;
mod paths;
mod prompt_text;
mod rules;
mod secret_texts;
pub mod secrets;
mod subject;
mod tool_name;
mod tool_use;
mod tools;
mod whole_file;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    explain::{Explained, explain},
    parts::{Edit, Text},
    rules::Rules,
    secret_texts::allowance,
    subject::{Domain, Offered, Subject},
};
pub use base::verdict::{Decision, GateResult};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
};
use system::policy::{Policy, Refusal};

/// Every gate, sorted by name.
pub const GATES: &[&dyn Gate] = &[
    &adapters::Adapters,
    &calls::Calls,
    &commands::Commands,
    &diff_size::DiffSize,
    &exec::Exec,
    &llm::Llm,
    &paths::Paths,
    &secret_texts::SecretTexts,
    &tools::Tools,
];

/// One gate. Implementations are unit structs in [`GATES`].
pub trait Gate: Sync {
    /// The name in results and messages.
    fn name(&self) -> &'static str;

    /// The subject of its judgement, a sentence.
    fn doc(&self) -> &'static str;

    /// Its findings; none if the subject is not its business, an empty list if it has no objection.
    fn judge(&self, subject: &Subject<'_>, policy: &Policy, rules: &Rules) -> Option<Vec<Finding>>;
}

/// A rule that objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its decision.
    pub decision: Decision,
    /// The error's code if it blocks.
    pub code: Code,
    /// The rule, a key of the policy where there is one.
    pub rule: String,
    /// A sentence without final period.
    pub reason: String,
    /// The next step.
    pub remediation: String,
    /// The place in a file, if it concerns one.
    pub place: Option<Place>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1.
    pub column: u32,
}

impl From<Refusal> for Finding {
    fn from(refusal: Refusal) -> Self {
        Finding {
            decision: Decision::Block,
            code: refusal.code,
            rule: refusal.rule,
            reason: refusal.reason,
            remediation: refusal.remediation,
            place: None,
        }
    }
}

/// The verdict of all gates on a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The strictest decision.
    pub decision: Decision,
    /// The results of the gates that the subject concerns, in the order of their names.
    pub results: Vec<GateResult>,
    /// The error's code if it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// Asks every gate that the subject concerns; under the strictest of several policies, asks under each of them.
pub fn decide(subject: &Subject<'_>, policy: &Policy, rules: &Rules) -> Verdict {
    let parts = policy.parts().iter().enumerate();
    let verdicts = parts.map(|(at, part)| decide(subject, part, rules.parts().get(at).unwrap_or(rules)));
    if let Some(strictest) = verdicts.reduce(Verdict::or_stricter) {
        return strictest;
    }
    verdict(subject, policy, &findings(subject, policy, rules))
}

fn verdict(subject: &Subject<'_>, policy: &Policy, found: &[(&dyn Gate, Vec<Finding>)]) -> Verdict {
    // Most calls concern no gate, and hashing a large subject for nothing would cost every one of them.
    let input = if found.is_empty() { Sha256::of(b"") } else { hash(subject) };
    let result = |(gate, findings): &(&dyn Gate, Vec<Finding>)| result(*gate, findings, policy.sha256(), input);
    let results: Vec<GateResult> = found.iter().map(result).collect();
    let decision = evaluate(&results);
    let lead = lead(found.iter().flat_map(|(_, findings)| findings));
    let code = lead.filter(|_| decision == Decision::Block).map(|finding| finding.code);
    Verdict { decision, results, code }
}

/// The findings of every gate that the subject concerns, in the order of their names.
pub fn findings(subject: &Subject<'_>, policy: &Policy, rules: &Rules) -> Vec<(&'static dyn Gate, Vec<Finding>)> {
    findings_of(GATES, subject, policy, rules)
}

/// The result does not depend on the order of the gates.
fn findings_of<'a>(
    gates: &[&'a dyn Gate],
    subject: &Subject<'_>,
    policy: &Policy,
    rules: &Rules,
) -> Vec<(&'a dyn Gate, Vec<Finding>)> {
    let judged = gates.iter().filter_map(|gate| Some((*gate, gate.judge(subject, policy, rules)?)));
    let mut found: Vec<_> = judged.collect();
    found.sort_by_key(|(gate, _)| gate.name());
    found
}

/// Judges a command.
pub fn evaluate_command(command: destructive::Command<'_>, policy: &Policy, rules: &Rules) -> Verdict {
    decide(&Subject::Command { command, start: destructive::Start::default() }, policy, rules)
}

/// Judges the use of a tool.
pub fn evaluate_tool_use(name: &str, params: &Value, policy: &Policy, rules: &Rules) -> Verdict {
    decide(&Subject::ToolUse { name, params, start: destructive::Start::default() }, policy, rules)
}

/// Judges an edit.
pub fn evaluate_edit(edit: &Edit<'_>, policy: &Policy, rules: &Rules) -> Verdict {
    decide(&Subject::Edit { edit, run_lines_so_far: 0 }, policy, rules)
}

/// The strictest of some results; without any, the decision is to allow.
pub fn evaluate(results: &[GateResult]) -> Decision {
    results.iter().map(|result| result.decision).max().unwrap_or_default()
}

impl Verdict {
    /// The error of a blocked subject; none if it is not blocked.
    pub fn into_error(self) -> Option<Error> {
        let code = self.code.filter(|_| self.decision == Decision::Block)?;
        let blocking: Vec<&GateResult> =
            self.results.iter().filter(|result| result.decision == Decision::Block).collect();
        let reasons: Vec<&str> = blocking.iter().map(|result| result.reason.as_str()).collect();
        let hints: Vec<&str> = blocking.iter().filter_map(|result| result.remediation.as_deref()).collect();
        let rules: Vec<&str> = blocking.iter().flat_map(|result| &result.triggered_rules).map(String::as_str).collect();
        let gates: Vec<&str> = blocking.iter().map(|result| result.gate_name.as_str()).collect();
        let error = Error::new(code, reasons.join("; ")).detail("gates", gates).detail("rules", rules);
        Some(error.hint(hints.join("; ")))
    }

    /// The stricter result of each gate, and of two equal ones the latter.
    fn or_stricter(self, other: Verdict) -> Verdict {
        let mut results = other.results;
        for result in self.results {
            match results.iter_mut().find(|known| known.gate_name == result.gate_name) {
                Some(known) if known.decision >= result.decision => {}
                Some(known) => *known = result,
                None => results.push(result),
            }
        }
        results.sort_by(|one, other| one.gate_name.cmp(&other.gate_name));
        let codes = [other.code, self.code].into_iter().flatten();
        let code = codes.min_by_key(|code| *code != Code::ProtectedPath);
        Verdict { decision: self.decision.max(other.decision), results, code }
    }

    /// The results with a remark: of gates that object, and of those that make an exception.
    pub fn remarks(&self) -> impl Iterator<Item = &GateResult> {
        self.results.iter().filter(|result| !result.triggered_rules.is_empty())
    }
}

/// The finding that leads the report: the strictest, of equals one that no policy can change, of these the first.
fn lead<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<&'a Finding> {
    findings.min_by_key(|finding| (std::cmp::Reverse(finding.decision), finding.code != Code::ProtectedPath))
}

fn result(gate: &dyn Gate, findings: &[Finding], config_sha256: Sha256, input_sha256: Sha256) -> GateResult {
    let lead = lead(findings.iter());
    let decision = lead.map_or(Decision::Allow, |finding| finding.decision);
    let mut rules: Vec<String> = findings.iter().map(|finding| finding.rule.clone()).collect();
    rules.sort();
    rules.dedup();
    let others = findings.iter().filter(|finding| finding.decision == decision).count().saturating_sub(1);
    let reason = match (lead, others) {
        (None, _) => "no rule objects".to_owned(),
        (Some(finding), 0) => finding.reason.clone(),
        (Some(finding), _) => format!("{} (and {others} more like it)", finding.reason),
    };
    GateResult {
        decision,
        gate_name: gate.name().to_owned(),
        reason,
        triggered_rules: rules,
        remediation: lead.filter(|_| decision != Decision::Allow).map(|finding| finding.remediation.clone()),
        config_sha256,
        input_sha256,
    }
}

/// A subject's hash. Numbers that canonical JSON would round are hashed in plain JSON. The hash only identifies the subject,
/// and the record refuses such numbers itself.
fn hash(subject: &Subject<'_>) -> Sha256 {
    json::sha256(subject).unwrap_or_else(|_| Sha256::of(serde_json::to_string(subject).unwrap_or_default().as_bytes()))
}

#[cfg(test)]
mod strictest_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use base::{
        call::Call,
        diff::{Lines, Stat},
        path::RepoPath,
    };
    use system::policy::FILE;

    fn stat(path: &str, added: u64) -> Stat {
        Stat { path: RepoPath::parse(path).unwrap(), lines: Lines { added, removed: 0 } }
    }

    fn changes<'a>(files: &'a [Stat]) -> Subject<'a> {
        Subject::Changes { files, texts: &[], run_lines_so_far: 0, adapter: None, domains: &[] }
    }

    #[test]
    fn gates_are_sorted_and_named_once() {
        assert!(GATES.is_sorted_by(|a, b| a.name() < b.name()));
        assert!(GATES.iter().all(|gate| gate.doc().ends_with('.')));
    }

    #[test]
    fn decisions_are_ordered_and_have_wire_names() {
        let all = [Decision::Allow, Decision::Warn, Decision::RequireConfirmation, Decision::Block];
        assert!(all.is_sorted());
        for (number, decision) in all.into_iter().enumerate() {
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
            assert_eq!(decision as usize, number);
        }
        assert_eq!(evaluate(&[]), Decision::Allow);
    }

    #[test]
    fn the_strictest_gate_wins_and_every_result_is_kept() {
        let policy = Policy::parse("[gates.diff_size]\nwarn_lines = 1", FILE).unwrap();
        let files = [stat("a", 2), stat(".git/x", 0)];
        let verdict = decide(&changes(&files), &policy, Rules::built_in());
        let seen: Vec<_> = verdict.results.iter().map(|one| (one.gate_name.as_str(), one.decision)).collect();
        assert_eq!(seen, [("diff-size", Decision::Warn), ("paths", Decision::Block), ("secrets", Decision::Allow)]);
        assert_eq!((verdict.decision, verdict.code), (Decision::Block, Some(Code::ProtectedPath)));
        assert!(verdict.results.iter().all(|one| one.config_sha256 == policy.sha256()));
        let error = verdict.into_error().unwrap();
        assert_eq!(error.code(), Code::ProtectedPath);
        assert_eq!(error.details()["rules"], serde_json::json!(["protected"]));
    }

    #[test]
    fn every_block_is_final_and_the_first_speaks() {
        let policy = Policy::parse("[paths]\nwrite = ['a']\n[gates.diff_size]\nblock_lines = 1", FILE).unwrap();
        let code = |files: &[Stat]| decide(&changes(files), &policy, Rules::built_in()).code;
        assert_eq!(code(&[stat("b", 0)]), Some(Code::PermissionDenied));
        assert_eq!(code(&[stat("b", 0), stat("nrv.toml", 0)]), Some(Code::ProtectedPath));
        assert_eq!(code(&[stat("b", 2)]), Some(Code::Blocked));
        assert!(
            [Code::PermissionDenied, Code::ProtectedPath, Code::NotApproved, Code::Blocked]
                .iter()
                .all(|code| code.is_final())
        );
    }

    #[test]
    fn an_allowed_change_has_no_error_and_no_rules() {
        let files = [stat("a", 1)];
        let verdict = decide(&changes(&files), &Policy::default(), Rules::built_in());
        assert_eq!((verdict.decision, verdict.code), (Decision::Allow, None));
        assert!(verdict.remarks().next().is_none());
        assert!(verdict.results.iter().all(|one| one.triggered_rules.is_empty() && one.remediation.is_none()));
        assert_eq!(verdict.into_error(), None);
    }

    #[test]
    fn the_same_subject_has_the_same_hash_and_another_another() {
        let input = |added| {
            decide(&changes(&[stat("a", added)]), &Policy::default(), Rules::built_in()).results[0].input_sha256
        };
        assert_eq!(input(1), input(1));
        assert_ne!(input(1), input(2));
    }

    #[test]
    fn the_hash_of_a_tool_use_covers_nested_params() {
        let input = |params: Value| {
            evaluate_tool_use("t", &params, &Policy::default(), Rules::built_in()).results[0].input_sha256
        };
        let one = serde_json::json!({"a": {"b": [1, {"c": 2}]}});
        let other = serde_json::json!({"a": {"b": [1, {"c": 3}]}});
        assert_eq!(input(one.clone()), input(one.clone()));
        assert_ne!(input(one), input(other));
    }

    #[test]
    fn the_order_of_results_changes_nothing() {
        let files = [stat(".git/x", 400)];
        let mut results = decide(&changes(&files), &Policy::default(), Rules::built_in()).results;
        let decision = evaluate(&results);
        for _ in 0..results.len() {
            results.rotate_left(1);
            assert_eq!(evaluate(&results), decision);
        }
        results.reverse();
        assert_eq!(evaluate(&results), decision);
    }

    #[test]
    fn the_order_of_gates_changes_nothing() {
        let text = "[gates.tools]\nenabled = true\n[gates.diff_size]\nblock_lines = 1\n[paths]\ndeny = ['old']";
        let policy = Policy::parse(text, FILE).unwrap();
        let params = serde_json::json!({"command": "git reset --hard", "path": "old/a", "content": "a\nb\nc\n"});
        let start = destructive::Start::default();
        let (files, call) = ([stat(".git/x", 400), stat("old/a", 1)], Call::DtaDescribe { tool: "x".to_owned() });
        for subject in [
            Subject::ToolUse { name: "Write", params: &params, start },
            changes(&files),
            Subject::Call { call: &call, adapters: &[], calls: &[], tool: None },
        ] {
            let expected = decide(&subject, &policy, Rules::built_in());
            assert_eq!(expected.decision, Decision::Block);
            let mut gates = GATES.to_vec();
            for turn in 0..2 * gates.len() {
                gates.rotate_left(1);
                if turn == GATES.len() {
                    gates.reverse();
                }
                let found = findings_of(&gates, &subject, &policy, Rules::built_in());
                assert_eq!(verdict(&subject, &policy, &found), expected);
            }
        }
    }

    #[test]
    fn calls_without_an_effect_concern_no_gate() {
        let call = Call::UiStep { label: "x".to_owned() };
        let verdict = decide(
            &Subject::Call { call: &call, adapters: &[], calls: &[], tool: None },
            &Policy::default(),
            Rules::built_in(),
        );
        assert_eq!((verdict.decision, verdict.results.len()), (Decision::Allow, 0));
    }

    #[test]
    fn a_verdict_survives_json() {
        let files = [stat(".git/x", 400)];
        let verdict = decide(&changes(&files), &Policy::default(), Rules::built_in());
        let wire = serde_json::to_value(&verdict).unwrap();
        assert_eq!(wire["code"], "protected_path");
        assert_eq!(serde_json::from_value::<Verdict>(wire).unwrap(), verdict);
    }
}
