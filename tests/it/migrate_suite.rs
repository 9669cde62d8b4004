//! The JSON Schema test suite, judged by both validators of `json_schema_migrator`, each as it is configured.
//!
//! The short tier takes one schema in eight; the numbers of tests are those of the whole suite.
#![expect(clippy::print_stderr, reason = "counts are shown with --nocapture")]

use std::collections::BTreeMap;

use nrv::adapter::jsonl;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{answer::answer, corpora, long};

/// The drafts, with the number of tests that the suite has for each and that of the tests whose schema is refused.
const DRAFTS: [(&str, usize, usize); 5] =
    [("4", 610, 0), ("6", 829, 0), ("7", 913, 0), ("2019-09", 1227, 0), ("2020-12", 1257, 0)];

/// The file of schemas with metaschemas of their own, which are refused.
const REFUSED: &str = "vocabulary.json";

/// A schema with its tests.
#[derive(Deserialize)]
struct Group {
    id: String,
    draft: String,
    description: String,
    schema: Value,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    description: String,
    data: Value,
    valid: bool,
}

/// A schema that others refer to, as the text of its file.
#[derive(Deserialize)]
struct Remote {
    id: String,
    text: String,
}

/// The numbers of one draft.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    tests: usize,
    /// Tests whose schema is refused.
    refused: usize,
}

/// The verdicts on a value: that of the proposer, and that of the verifier; none if the schema is refused.
fn verdicts(schema: &Value, draft: &str, data: &Value, remotes: &[Remote]) -> Option<(bool, bool)> {
    let file = |remote: &Remote| format!("remotes/{}", remote.id);
    // Most schemas refer to no other, and are told of none.
    let remotes = if schema.to_string().contains("localhost:1234") { remotes } else { &[] };
    let refs: BTreeMap<String, String> =
        remotes.iter().map(|remote| (format!("http://localhost:1234/{}", remote.id), file(remote))).collect();
    let mut files: BTreeMap<String, String> =
        remotes.iter().map(|remote| (file(remote), remote.text.clone())).collect();
    files.insert("data.json".to_owned(), data.to_string());
    let request = jsonl::Request {
        id: json!(0),
        input: json!({
            "tool": "json_schema_migrator", "version": "1.0", "mode": "dry-run",
            "target": {"repo_path": ".", "glob": "data.json"},
            "params": {"schema": schema, "draft": draft, "refs": refs, "check_formats": false},
            "constraints": {"max_files": 1, "timeout_ms": 60_000, "seed": 0},
        }),
        files,
    };
    let answer = answer("json_schema_migrator", &request).ok()?;
    let failures = &answer.output.verifier.failures;
    assert!(failures.iter().all(|failure| failure.check == "files_valid"), "{schema} {data}: {failures:?}");
    assert!(answer.files.is_empty(), "nothing is changed without fixes");
    let proposer = answer.output.baseline["files_valid"] == 1;
    let verifier = failures.is_empty();
    assert!(proposer || !verifier, "a file that a validator rejects never passes: {schema} {data}");
    Some((proposer, verifier))
}

#[test]
fn both_validators_judge_as_the_suite_does() {
    let groups: Vec<Group> = corpora::require("json-schema/suite");
    let remotes: Vec<Remote> = corpora::require("json-schema/remotes");
    let every = long::pick(8, 1);
    let mut wrong = Vec::new();
    for (draft, tests, refused) in DRAFTS {
        let of_draft = || groups.iter().filter(|group| group.draft == draft);
        assert_eq!(of_draft().map(|group| group.tests.len()).sum::<usize>(), tests, "{draft}");
        let mut sum = Sum::default();
        for group in of_draft().step_by(every) {
            for test in &group.tests {
                sum.tests += 1;
                let Some((proposer, verifier)) = verdicts(&group.schema, draft, &test.data, &remotes) else {
                    assert!(group.id.contains(REFUSED), "{}: {}", group.id, group.description);
                    sum.refused += 1;
                    continue;
                };
                if (proposer, verifier) != (test.valid, test.valid) {
                    wrong.push(format!("{}: {}: {}", group.id, group.description, test.description));
                }
            }
        }
        eprintln!("{draft}: {sum:?}");
        assert!(every > 1 || sum == Sum { tests, refused }, "{draft}: {sum:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
