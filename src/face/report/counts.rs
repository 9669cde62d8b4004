//! The counts and checks of adapters, the commitments of the run, and the results of evaluators.

use serde_json::{Map, Value, json};

use super::{
    format::{self, text, words},
    material::Material,
    model::{Check, Commitment, Count, Evaluation, Failure, Verification},
};

use base::output::{self, Phase};
use record::{
    Record,
    event::{self, Checked, DtaVerified, Event},
};

/// Counts before and after, with the checks of each verifier.
pub(super) fn verifications(material: &Material<'_>) -> Vec<Verification> {
    let adapters = material.of(Event::dta_verified).map(|verified| of_adapter(material, verified));
    adapters.chain(of_apply(material)).collect()
}

fn of_adapter(material: &Material<'_>, (record, verified): (&Record, &DtaVerified)) -> Verification {
    let DtaVerified { output, after, .. } = verified;
    let output = &record::outcome::settled(&material.records, output);
    let dry = output.phase == Phase::DryRun;
    let row = |(name, before): (&String, &u64)| Count {
        name: words(name),
        before: Some(*before),
        after: after.get(name).copied(),
    };
    let mut counts: Vec<Count> = output.baseline.iter().map(row).collect();
    let done = if dry { "to change" } else { "changed" };
    for (name, proposed) in &output.proposed_changes {
        let count = if dry { proposed } else { output.applied_changes.get(name).unwrap_or(proposed) };
        counts.push(Count { name: format!("{} {done}", words(name)), before: None, after: Some(*count) });
    }
    let verifier = &output.verifier;
    let failures: Vec<Failure> = verifier.failures.iter().map(failure).collect();
    let check =
        |name: &String| Check { passed: !failures.iter().any(|failure| failure.check == *name), name: name.clone() };
    Verification {
        position: record.position.clone(),
        tool: output.tool.clone(),
        dry,
        passed: verifier.passed,
        counts,
        checks: verifier.checks.iter().map(check).collect(),
        remarks: verifier.remarks.iter().cloned().chain(material.left_by(output)).collect(),
        failures,
    }
}

fn failure(failure: &output::Failure) -> Failure {
    let output::Failure { check, path, reason } = failure.clone();
    Failure { check, path: path.filter(|path| !path.is_empty()), reason }
}

/// The changes by `apply.*` that were read back, all together: a script may make many.
fn of_apply(material: &Material<'_>) -> Option<Verification> {
    let checked: Vec<(&Record, &Checked)> = material.of(Event::checked).collect();
    let count = |name: &str, n: u64| Count { name: name.to_owned(), before: None, after: Some(n) };
    let files = checked.iter().map(|(_, checked)| checked.files).sum();
    checked.first().map(|(first, _)| Verification {
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

/// The commitments of the run, each with the result of its last check.
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

/// The results of the evaluators of the finished run.
pub(super) fn evaluations(material: &Material<'_>) -> Vec<Evaluation> {
    let evaluations = material.ended().and_then(|end| end.evaluations.as_ref()).into_iter().flatten();
    let evaluation = |said: &event::Evaluation| Evaluation {
        evaluator: said.evaluator.clone(),
        passed: said.passed,
        value: format::value(&json!(said.value)),
        limit: said.limit.map(|limit| format::value(&json!(limit))).unwrap_or_default(),
        details: details(&said.details),
    };
    evaluations.map(evaluation).collect()
}

/// The details of an evaluation as text, such as `files 3, findings …`. Empty lists are left out.
fn details(details: &Map<String, Value>) -> String {
    let said = details.iter().filter(|(_, value)| *value != &serde_json::json!([]));
    let said: Vec<String> = said.map(|(name, value)| format!("{} {}", words(name), format::value(value))).collect();
    said.join(", ")
}
