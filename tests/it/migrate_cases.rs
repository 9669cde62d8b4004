//! Judges `json_schema_migrator` by the cases of other projects: no valid file touched, none broken, and the verifier agrees
//! each time.

use std::collections::BTreeMap;

use nrv::adapter::jsonl;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{answer::answer, corpora};

#[derive(Deserialize)]
struct Case {
    id: String,
    draft: String,
    strategies: BTreeMap<String, Value>,
    schema: Value,
    before: Value,
    after: Value,
    kind: String,
    level: Option<String>,
}

#[test]
fn other_projects_cases_come_out_right() {
    let (mut wrong, mut fixed, mut missed, mut exact) = (Vec::new(), 0, 0, 0);
    for case in corpora::require::<Case>("json-migrate/migrate") {
        match judge(&case) {
            "exact" => (fixed, exact) = (fixed + 1, exact + 1),
            "valid" => fixed += 1,
            "missed" => missed += 1,
            "right" => {}
            result => wrong.push(format!("{}: {result}", case.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(missed * 50 <= fixed, "{missed} necessary repairs of {} were missed", fixed + missed);
    assert!(exact >= 60, "{exact} results are exactly those of the other projects");
}

fn judge(case: &Case) -> &'static str {
    let after = migrated(case);
    let touched = after.as_ref().is_some_and(|after| *after != case.before);
    let is_exact = after.as_ref().is_some_and(|after| same(after, &case.after));
    let is_valid = accepts(case, after.as_ref().unwrap_or(&case.before));
    match (case.kind.as_str(), is_valid) {
        (_, false) if touched => "a file was changed and is not valid",
        ("fixed", true) if is_exact => "exact",
        ("fixed", true) => "valid",
        ("fixed", false) if case.level.as_deref() != Some("may-fix") => "missed",
        ("already-valid", _) if touched => "a valid file was touched",
        (_, _) => "right",
    }
}

/// The fixes that are nearest to the strategies of the other projects.
fn fixes(case: &Case) -> Value {
    let mut fixes = json!({});
    for (name, value) in &case.strategies {
        match name.as_str() {
            "coerceTypes" => fixes["coerce"] = value.clone(),
            "removeAdditional" => fixes["remove_unknown"] = value.clone(),
            "useDefaults" => fixes["defaults"] = if value == "empty" { value.clone() } else { json!("all") },
            _ => fixes = json!({"coerce": true, "remove_unknown": true, "defaults": "all"}),
        }
    }
    fixes
}

/// The document after the adapter; none if it stays.
fn migrated(case: &Case) -> Option<Value> {
    let request = jsonl::Request {
        id: json!(case.id),
        input: json!({
            "tool": "json_schema_migrator", "version": "1.0", "mode": "dry-run",
            "target": {"repo_path": ".", "glob": "**/*.json"},
            "params": {"schema": case.schema, "draft": case.draft.trim_start_matches("draft"), "fixes": fixes(case)},
            "constraints": {"max_files": 1, "timeout_ms": 60_000, "seed": 0},
        }),
        files: BTreeMap::from([("a.json".to_owned(), serde_json::to_string(&case.before).expect("it is JSON"))]),
    };
    let answer = answer("json_schema_migrator", &request).unwrap_or_else(|error| panic!("{}: {error}", case.id));
    let (verifier, text) = (&answer.output.verifier, answer.files.get("a.json").cloned().flatten());
    // The verifier finds the file that stays invalid, and nothing else.
    let others = verifier.failures.iter().filter(|failure| text.is_some() || failure.check != "files_valid");
    assert_eq!(others.count(), 0, "{}: {verifier:?}", case.id);
    text.map(|text| serde_json::from_str(&text).expect("it is JSON"))
}

fn accepts(case: &Case, value: &Value) -> bool {
    let draft = match case.draft.as_str() {
        "draft7" => jsonschema::Draft::Draft7,
        "draft2020-12" => jsonschema::Draft::Draft202012,
        other => panic!("{}: {other}", case.id),
    };
    jsonschema::options().with_draft(draft).build(&case.schema).is_ok_and(|schema| schema.is_valid(value))
}

/// True if two values are equal, `1` and `1.0` too.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        (_, _) => one == other,
    }
}
