//! The JSON Schema test suite, judged by both validators of `json_schema_migrator`, each as it is configured.
//!
//! `NRV_JSON_SUITE` names a checkout of `json-schema-org/JSON-Schema-Test-Suite`; without it the suite is not judged.

#![expect(clippy::disallowed_methods, reason = "the test reads a checkout and its own environment")]
#![expect(clippy::print_stderr, reason = "counts are shown with --nocapture")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use nrv::service::adapter::jsonl;
use serde_json::{Value, json};

use crate::support::answer::answer;

/// The drafts, as folders of the suite and as parameters.
const DRAFTS: [(&str, &str); 5] =
    [("draft4", "4"), ("draft6", "6"), ("draft7", "7"), ("draft2019-09", "2019-09"), ("draft2020-12", "2020-12")];

/// Groups with metaschemas of their own, which are refused.
const REFUSED: &str = "vocabulary.json";

/// The numbers of one draft.
#[derive(Debug, Default)]
struct Sum {
    tests: u64,
    /// Tests in groups whose schema is refused.
    refused: u64,
    proposer: u64,
    verifier: u64,
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the suite has the folder") {
        let path = entry.expect("the folder can be read").path();
        match path.is_dir() {
            true => files.extend(json_files(&path)),
            false if path.extension().is_some_and(|extension| extension == "json") => files.push(path),
            false => {}
        }
    }
    files.sort();
    files
}

fn parsed(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("the file can be read")).expect("it is JSON")
}

/// The verdicts on a value: that of the proposer, and the valid files that the verifier counts; none if the schema is refused.
fn verdicts(schema: &Value, draft: &str, data: &Value, remotes: &BTreeMap<String, String>) -> Option<(bool, bool)> {
    let refs: BTreeMap<String, String> =
        remotes.keys().map(|name| (format!("http://localhost:1234/{name}"), format!("remotes/{name}"))).collect();
    let mut files: BTreeMap<String, String> =
        remotes.iter().map(|(name, text)| (format!("remotes/{name}"), text.clone())).collect();
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
    let Some(suite) = std::env::var_os("NRV_JSON_SUITE").map(PathBuf::from) else { return };
    let folder = suite.join("remotes");
    let remotes: BTreeMap<String, String> = json_files(&folder)
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&folder).expect("it is within").to_str().expect("it is UTF-8").to_owned();
            (name, fs::read_to_string(path).expect("the file can be read"))
        })
        .collect();
    let mut wrong = Vec::new();
    for (name, draft) in DRAFTS {
        let mut sum = Sum::default();
        for path in fs::read_dir(suite.join("tests").join(name)).expect("the suite has the draft") {
            let path = path.expect("the folder can be read").path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            for group in parsed(&path).as_array().into_iter().flatten() {
                for test in group["tests"].as_array().into_iter().flatten() {
                    sum.tests += 1;
                    let expected = test["valid"] == true;
                    let Some((proposer, verifier)) = verdicts(&group["schema"], draft, &test["data"], &remotes) else {
                        assert!(path.ends_with(REFUSED), "{}: {}", path.display(), group["description"]);
                        sum.refused += 1;
                        continue;
                    };
                    sum.proposer += u64::from(proposer == expected);
                    sum.verifier += u64::from(verifier == expected);
                    if proposer != expected || verifier != expected {
                        wrong.push(format!("{}: {}: {}", path.display(), group["description"], test["description"]));
                    }
                }
            }
        }
        eprintln!("{name}: {sum:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
