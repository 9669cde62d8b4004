//! Judges `rename_refactor` by the cases of other projects and by ones of our own: no wrong result, nothing renamed that had to be
//! refused, and few refusals where tokens alone are enough.

use std::collections::BTreeMap;

use nrv::adapter::jsonl;
use serde::Deserialize;
use serde_json::json;

use crate::support::{answer::answer, corpora};

#[derive(Deserialize)]
struct Case {
    id: String,
    language: String,
    path: String,
    /// The place of a token, in characters.
    offset: usize,
    old_name: String,
    new_name: String,
    before: BTreeMap<String, String>,
    after: Option<BTreeMap<String, String>>,
    class: String,
}

/// The files after the adapter; the error is the reason of a refusal.
fn renamed(case: &Case) -> Result<BTreeMap<String, String>, String> {
    let before: String = case.before[&case.path].chars().take(case.offset).collect();
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    let mut params = json!({
        "from": case.old_name, "to": case.new_name, "scope": {"path": case.path, "line": line, "column": column},
    });
    if case.language == "go" {
        // gopls renames the comment above a declaration with it.
        params["comments"] = json!("documentation");
    }
    let request = jsonl::Request {
        id: json!(case.id),
        input: json!({
            "tool": "rename_refactor", "version": "1.0", "mode": "dry-run",
            "target": {"repo_path": ".", "glob": "**/*"}, "params": params,
            "constraints": {"max_files": 1000, "timeout_ms": 60_000, "seed": 0},
        }),
        files: case.before.clone(),
    };
    let answer = answer("rename_refactor", &request).map_err(|error| error.message().to_owned())?;
    assert!(answer.output.verifier.passed, "{}: {:?}", case.id, answer.output.verifier);
    let mut files = case.before.clone();
    for (path, text) in answer.files {
        match text {
            Some(text) => files.insert(path, text),
            None => files.remove(&path),
        };
    }
    Ok(files)
}

/// The numbers of exact results and of refusals by class; a wrong result fails.
fn judge(corpus: &str) -> BTreeMap<String, (usize, usize)> {
    let mut classes: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in corpora::require::<Case>(corpus) {
        let class = case.class.split(' ').next().unwrap_or_default().to_owned();
        let (exact, refused) = classes.entry(class).or_default();
        match (renamed(&case), &case.after) {
            (Err(_), _) => *refused += 1,
            (Ok(files), Some(after)) if files == *after => *exact += 1,
            (Ok(files), None) if files == case.before => *refused += 1,
            (Ok(_), Some(_)) => wrong.push(format!("{}: the result is another", case.id)),
            (Ok(_), None) => wrong.push(format!("{}: it was to be refused", case.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    classes
}

#[test]
fn other_projects_renames_are_exact_or_refused() {
    let classes = judge("rename/rename");
    // One of them renames an unused parameter to `_`, which is no name: a variable would be dropped at once.
    assert!(classes["grep-safe"].0 >= 27, "{classes:?}");
    assert!(classes["token-safe"].0 >= 18, "{classes:?}");
    assert!(classes["needs-scope"].0 >= 53, "{classes:?}");
}

#[test]
fn renames_of_every_language_are_exact_or_refused() {
    let classes = judge("rename/own");
    assert!(classes["needs-scope"].0 > 146, "{classes:?}");
    assert_eq!(classes["must-refuse"].0, 0, "{classes:?}");
}
