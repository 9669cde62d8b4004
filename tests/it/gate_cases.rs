//! Judges the gates for tools and sizes, and the aggregation of verdicts, by the cases of another project.

use nrv::{
    base::hash::Sha256,
    gate::{
        Decision, GateResult, Rules, evaluate,
        jsonl::{self, Request},
    },
    system::policy::Policy,
};
use serde_json::{Value, json};

use crate::support::corpora;

fn decided(gate: &str, input: &Value) -> Decision {
    let (policy, request) = match gate {
        "tool-allowlist" => (
            format!("[gates.tools]\nenabled = {}\nallowed = {}", input["enabled"], input["allowed"]),
            json!({"id": 1, "tool": input["tool"]}),
        ),
        "diff-size" => (
            format!("[gates.diff_size]\nwarn_lines = {}", input["threshold"]),
            json!({"id": 1, "path": input["path"], "text": "", "diff_lines": input["lines"]}),
        ),
        "aggregate" => return aggregate(&input["decisions"]),
        other => panic!("`{other}` is no gate of these cases"),
    };
    let policy = Policy::parse(&policy, "nrv.toml").expect("a policy");
    let request: Request = serde_json::from_value(request).expect("a request");
    jsonl::answer(&request, &policy, &Rules::of(&policy).expect("rules")).expect("an answer").verdict.decision
}

fn aggregate(decisions: &Value) -> Decision {
    let result = |decision: &Value| GateResult {
        decision: serde_json::from_value(decision.clone()).expect("a decision"),
        gate_name: "x".to_owned(),
        reason: String::new(),
        triggered_rules: Vec::new(),
        remediation: None,
        config_sha256: Sha256::of(b""),
        input_sha256: Sha256::of(b""),
    };
    evaluate(&decisions.as_array().expect("a list").iter().map(result).collect::<Vec<_>>())
}

#[test]
fn cases_on_tools_sizes_and_aggregation_are_decided_as_they_say() {
    for case in corpora::require::<Value>("gates/decisions") {
        let decision = decided(case["gate"].as_str().unwrap_or_default(), &case["input"]);
        assert_eq!(decision.as_str(), case["expected"], "{case}");
    }
}
