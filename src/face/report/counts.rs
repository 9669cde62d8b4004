//! What was counted: by adapters before and after, by their verifiers, and by evaluators of the finished run.

use serde_json::{Value, json};

use super::{
    format::{self, some_text, text, texts, words},
    material::Material,
    model::{Check, Commitment, Count, Evaluation, Failure, Verification},
};
use crate::{host, record::Record};

/// Counts before and after, with the checks of each verifier.
pub(super) fn verifications(material: &Material<'_>) -> Vec<Verification> {
    let adapters = material.of("dta_verified").map(of_adapter);
    adapters.chain(of_apply(material)).collect()
}

fn of_adapter(record: &Record) -> Verification {
    let (output, after) = (&record.data["output"], &record.data["after"]);
    let dry = output["phase"] == "dry-run";
    let before = output["baseline"].as_object().into_iter().flatten();
    let row = |(name, before): (&String, &Value)| Count {
        name: words(name),
        before: before.as_u64(),
        after: after[name].as_u64(),
    };
    let mut counts: Vec<Count> = before.map(row).collect();
    let done = if dry { "to change" } else { "changed" };
    for (name, proposed) in output["proposed_changes"].as_object().into_iter().flatten() {
        let count = if dry { proposed } else { output["applied_changes"].get(name).unwrap_or(proposed) };
        counts.push(Count { name: format!("{} {done}", words(name)), before: None, after: count.as_u64() });
    }
    let verifier = &output["verifier"];
    let failures: Vec<Failure> = verifier["failures"].as_array().into_iter().flatten().map(failure).collect();
    let check = |name: String| Check { passed: !failures.iter().any(|failure| failure.check == name), name };
    Verification {
        position: record.position.clone(),
        tool: text(&output["tool"]),
        dry,
        passed: verifier["passed"] == true,
        counts,
        checks: texts(&verifier["checks"]).into_iter().map(check).collect(),
        remarks: texts(&verifier["remarks"]),
        failures,
    }
}

fn failure(failure: &Value) -> Failure {
    Failure { check: text(&failure["check"]), path: some_text(&failure["path"]), reason: text(&failure["reason"]) }
}

/// The changes by `apply.*` that were read back, all together: a script may make many.
fn of_apply(material: &Material<'_>) -> Option<Verification> {
    let checked: Vec<&Record> = material.of("checked").collect();
    let count = |name: &str, n: u64| Count { name: name.to_owned(), before: None, after: Some(n) };
    let files = checked.iter().filter_map(|record| record.data["files"].as_u64()).sum();
    checked.first().map(|first| Verification {
        position: first.position.clone(),
        tool: "apply".to_owned(),
        dry: false,
        passed: true,
        counts: vec![count("changes read back", checked.len() as u64), count("files changed", files)],
        checks: vec![Check { name: "read_back".to_owned(), passed: true }],
        failures: Vec::new(),
        remarks: Vec::new(),
    })
}

/// What the run committed to, and what was seen of it when it ended.
pub(super) fn commitments(material: &Material<'_>) -> Vec<Commitment> {
    let row = |one: host::Commitment| Commitment {
        id: one.id,
        source: text(&json!(one.source)),
        description: one.description,
        ok: one.ok,
        reason: one.reason,
        output: one.output,
        duration_ms: one.duration_ms,
    };
    host::commitments(&material.records).into_iter().map(row).collect()
}

/// What evaluators said of the finished run.
pub(super) fn evaluations(material: &Material<'_>) -> Vec<Evaluation> {
    let evaluations = material.ended()["evaluations"].as_array().into_iter().flatten();
    let evaluation = |said: &Value| Evaluation {
        evaluator: text(&said["evaluator"]),
        passed: said["passed"].as_bool(),
        value: format::value(&said["value"]),
        limit: format::value(&said["limit"]),
        details: details(&said["details"]),
    };
    evaluations.map(evaluation).collect()
}

/// What an evaluator counted, as `files 3, findings …`.
fn details(details: &Value) -> String {
    let Some(map) = details.as_object() else { return format::value(details) };
    let said = map.iter().filter(|(_, value)| *value != &serde_json::json!([]));
    let said: Vec<String> = said.map(|(name, value)| format!("{} {}", words(name), format::value(value))).collect();
    said.join(", ")
}
