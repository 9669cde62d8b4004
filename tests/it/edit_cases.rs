//! Judges micro-edits by cases: those of other projects' code, and those that were written before the readers were tuned.

use std::collections::BTreeMap;

use nrv::service::edit::jsonl::{Request, answer};
use serde::Deserialize;
use serde_json::Value;

use crate::support::corpora;

#[derive(Deserialize)]
struct Case {
    id: String,
    op: String,
    expect: String,
    args: Value,
    before: String,
    after: Option<String>,
}

/// The verdict on a case, and true if it counts as exact.
fn judge(case: &Case) -> (&'static str, bool) {
    let request = Request { id: Value::Null, op: case.op.clone(), args: case.args.clone(), text: case.before.clone() };
    let text = answer(request, &|| Ok(())).text;
    let is_edit = case.expect.starts_with("apply");
    match (text, is_edit) {
        (None, false) => ("refused", true),
        (None, true) => ("missed", false),
        (Some(text), true) if Some(&text) == case.after.as_ref() => ("exact", true),
        (Some(_), true) => ("wrong", false),
        (Some(text), false) if text == case.before => ("unchanged", true),
        (Some(_), false) => ("accepted", false),
    }
}

#[track_caller]
fn check(corpus: &str) {
    let cases: Vec<Case> = corpora::require(&format!("micro-edits/{corpus}"));
    let mut verdicts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut n_exact = 0;
    for case in &cases {
        let (verdict, is_exact) = judge(case);
        verdicts.entry(verdict).or_default().push(&case.id);
        n_exact += usize::from(is_exact);
    }
    let of = |verdict: &str| verdicts.get(verdict).cloned().unwrap_or_default();
    assert!(
        of("wrong").is_empty() && of("accepted").is_empty(),
        "wrong {:?}, accepted {:?}",
        of("wrong"),
        of("accepted")
    );
    assert!(n_exact * 100 >= cases.len() * 99, "missed {:?}", of("missed"));
}

#[test]
fn edits_of_other_projects_code_are_exact_or_refused() {
    check("cases");
}

#[test]
fn edits_of_every_tool_and_format_are_exact_or_refused() {
    check("own");
}
