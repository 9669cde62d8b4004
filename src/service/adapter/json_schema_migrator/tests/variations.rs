//! Comments, merge keys, anchors and dotted keys in many small files: each becomes what a person would write, and is verified.

use serde::Deserialize;

use super::*;

/// A file, the fixes, and its text afterwards, or a part of the reason that it stays as it is.
#[derive(Deserialize)]
struct Variation {
    id: String,
    file: String,
    schema: Value,
    fixes: Value,
    before: String,
    after: Option<String>,
    refused: Option<String>,
}

#[test]
fn each_file_becomes_what_a_person_would_write() {
    let all: Vec<Variation> = serde_json::from_str(include_str!("variations.json")).unwrap();
    let mut wrong = Vec::new();
    for Variation { id, file, schema, fixes, before, after, refused } in all {
        let formats = json!(["json", "jsonc", "json5", "yaml", "toml"]);
        let params = json!({"schema": schema, "formats": formats, "fixes": fixes});
        let files = [(file.as_str(), before.as_str())];
        let dry = propose_in(tree(&files).path(), 1, &invoked(&params, "dry-run")).unwrap();
        let reasons: Vec<String> = dry.baseline.findings.iter().map(|finding| finding.reason.clone()).collect();
        if dry.changes.is_empty() {
            let is_right = refused.is_some_and(|part| reasons.iter().any(|reason| reason.contains(&part)));
            wrong.extend((!is_right).then(|| format!("{id}: {reasons:?}")));
            continue;
        }
        let recorded = Recorded::new(&files, &invocation(&params), true);
        let (found, report) = (recorded.text(&file), recorded.verify());
        if Some(&found) != after.as_ref() || !report.passed {
            wrong.push(format!("{id}:\n{found}--- instead of\n{}{:?}", after.unwrap_or_default(), report.failures));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
