//! Judges the diff engine by cases from other projects' histories, with the rules that each case brings: no wrong contents,
//! nothing accepted that must be refused.

use std::collections::BTreeMap;

use nrv::base::{
    diff::{self, FilePatch, Kind, Operation, ParseOptions, Patch, Placement, Prose, Side, Strip},
    error::Error,
};
use serde_json::Value;

use crate::support::corpora;

/// Files by path: mode and bytes.
type Tree = BTreeMap<String, (u32, Vec<u8>)>;

/// The number of each verdict.
type Counts = BTreeMap<String, usize>;

/// The cases of a corpus.
#[track_caller]
fn cases(name: &str) -> Vec<Value> {
    corpora::require(&format!("unified-diff/{name}"))
}

#[expect(clippy::print_stderr, reason = "shown with --nocapture")]
fn report(name: &str, counts: &Counts, notes: &[String]) {
    eprintln!("{name}: {counts:?}");
    notes.iter().for_each(|note| eprintln!("  {note}"));
}

fn string(value: &Value) -> &str {
    value.as_str().expect("the cases hold text")
}

fn bytes(value: &Value) -> Vec<u8> {
    match value.get("text") {
        Some(text) => string(text).as_bytes().to_vec(),
        None => base64(string(&value["b64"])),
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let mut out = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().enumerate().fold(0u32, |bits, (at, digit)| bits | u32::from(*digit) << (18 - 6 * at));
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    out
}

fn tree(value: &Value) -> Tree {
    let mode = |file: &Value| match file["mode"].as_str() {
        Some("120000") => 0o120_777,
        Some("100755") => 0o755,
        _ => 0o644,
    };
    let files = value.as_object().expect("the cases hold trees");
    files.iter().map(|(path, file)| (path.clone(), (mode(file), bytes(file)))).collect()
}

/// The expectation of a case: `apply`, `reject`, `either`, or none that can be judged; and the right trees.
fn wanted(case: &Value, key: &str) -> (&'static str, Vec<Tree>) {
    let trees = |keys: &[&str]| -> Vec<Tree> {
        keys.iter().filter_map(|key| case.get(*key).filter(|value| value.is_object())).map(tree).collect()
    };
    if case.get("after_if_applied").is_some() {
        if key == "oracle" {
            return ("reject", Vec::new());
        }
        let right = trees(&["after_if_applied", "after_gnu_patch"]);
        return match (string(&case["oracle_no_checksum"]), right.is_empty()) {
            ("must-apply", _) => ("apply", right),
            (_, false) => ("either", right),
            (_, true) => ("reject", right),
        };
    }
    let right = trees(&["after", "intended_after", "git_after"]);
    let either = ["may-", "must-reject-or-intended", "git-applies-other", "binary-reject-ok"];
    match string(&case["oracle"]) {
        "must-apply" => ("apply", right),
        "must-reject" => ("reject", Vec::new()),
        "must-not-change" => ("either", vec![tree(&case["before"])]),
        other if either.iter().any(|word| other.starts_with(word)) => ("either", right),
        _ => ("skip", right),
    }
}

/// Applies the parts one after the other, all or nothing. A rename or copy reads the file as it was, as git has it.
fn apply(before: &Tree, patch: &Patch, placement: Placement) -> Result<Tree, Error> {
    let mut after = before.clone();
    for part in &patch.files {
        let is_move = matches!(part.operation, Operation::Rename { .. } | Operation::Copy { .. });
        let source = part.source().and_then(|path| if is_move { before } else { &after }.get(path.as_str()));
        let patched = part.apply(source.map(|(mode, bytes)| Side { bytes, mode: *mode }), placement)?;
        if let Operation::Rename { from: path, .. } | Operation::Delete { path } = &part.operation {
            after.remove(path.as_str());
        }
        if let (Some(path), Some((bytes, mode))) = (part.target(), patched.after) {
            if part.source() != Some(path) && after.contains_key(path.as_str()) {
                part.reversed().apply(None, placement)?;
            }
            after.insert(path.as_str().to_owned(), (mode, bytes));
        }
    }
    Ok(after)
}

fn judge(case: &Value, key: &str, placement: Placement) -> (String, String) {
    let (kind, right) = wanted(case, key);
    if kind == "skip" {
        return ("skipped".to_owned(), String::new());
    }
    let before = tree(&case["before"]);
    let strip = case["strip"].as_u64().map_or(Strip::Guess, |level| Strip::Exactly(level as usize));
    let options = ParseOptions { strip, recount: false, prose: Prose::Skip };
    let result = diff::parse(&bytes(&case["patch"]), &options).and_then(|patch| apply(&before, &patch, placement));
    let said = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
    // Only the bits of a mode that git keeps are compared.
    let git = |tree: &Tree| -> Tree {
        tree.iter().map(|(path, (mode, bytes))| (path.clone(), (mode & 0o170_100, bytes.clone()))).collect()
    };
    let is_right = result.as_ref().is_ok_and(|after| right.iter().any(|tree| git(tree) == git(after)));
    let is_same = result.as_ref().is_ok_and(|after| *after == before);
    let verdict = match (kind, result.is_ok()) {
        ("apply", true) if is_right => "pass",
        ("apply", false) => "missed",
        ("reject", false) => "pass",
        ("reject", true) if is_same => "badexit",
        ("reject", true) => "accepted",
        ("either", true) if is_right => "pass",
        ("either", false) => "pass",
        _ => "unsafe",
    };
    (format!("{kind} {verdict}"), said)
}

/// Counts verdicts, and lists all but those that pass.
#[track_caller]
fn judge_all(name: &str, key: &str, placement: Placement) -> Counts {
    let mut counts = Counts::new();
    let mut notes = Vec::new();
    for case in cases(name) {
        let (verdict, said) = judge(&case, key, placement);
        if !verdict.ends_with("pass") && verdict != "skipped" {
            let id = string(&case["id"]);
            let what = case.get("mutation").or(case.get("test")).unwrap_or(&Value::Null);
            notes.push(format!("{verdict}: {id} {what} {said}"));
        }
        *counts.entry(verdict).or_default() += 1;
    }
    report(&format!("{name} ({key}, {placement:?})"), &counts, &notes);
    let bad = ["unsafe", "accepted", "badexit"];
    let is_bad = |verdict: &String| bad.iter().any(|word| verdict.ends_with(word));
    assert!(!counts.keys().any(is_bad), "{name}: {counts:?}\n{}", notes.join("\n"));
    counts
}

#[test]
fn every_commit_of_a_history_applies() {
    let counts = judge_all("history", "oracle", Placement::Exact);
    assert_eq!(counts.get("apply missed"), None);
}

#[test]
fn whole_commits_apply_and_broken_ones_change_nothing() {
    let counts = judge_all("multifile", "oracle", Placement::Exact);
    assert_eq!(counts.get("apply missed"), None);
}

#[test]
fn damaged_diffs_apply_as_they_are_meant_or_not_at_all() {
    let counts = judge_all("mutated", "oracle", Placement::Unique);
    let number = |verdict: &str| counts.get(verdict).copied().unwrap_or_default();
    assert!(100 * number("apply missed") <= 5 * (number("apply missed") + number("apply pass")), "{counts:?}");
}

#[test]
fn stale_diffs_apply_where_git_applies_them_or_not_at_all() {
    judge_all("stale", "oracle_no_checksum", Placement::Unique);
}

#[test]
fn diffs_of_other_suites_come_out_as_they_say() {
    judge_all("suites", "oracle", Placement::Unique);
}

/// Compares the counts of files from other parsers' tests with git's.
#[test]
fn diffs_of_other_parsers_are_read_as_git_reads_them() {
    let (mut counts, mut notes, mut wrong) = (Counts::new(), Vec::new(), Vec::new());
    for case in cases("parse") {
        // Where `-p1` leaves no name, git takes nothing off.
        let is_plain = |error: &Error| case["git_exit"] == 0 && error.message().contains("leading folders");
        let parse = |strip: Strip| {
            let options = ParseOptions { strip, recount: false, prose: Prose::Skip };
            diff::parse(&bytes(&case["patch"]), &options)
        };
        let ours = match parse(Strip::Exactly(1)) {
            Err(error) if is_plain(&error) => parse(Strip::Exactly(0)),
            other => other,
        };
        let name = format!("{} {}", case["id"], case["name"]);
        let count = |value: &Value| string(value).parse::<u64>().ok();
        let theirs: Option<Vec<_>> = case["git_numstat"]
            .as_array()
            .map(|files| files.iter().map(|file| (count(&file["added"]), count(&file["removed"]))).collect());
        let verdict = match (ours, theirs) {
            (Ok(_), None) => "accepted what git refuses",
            (Err(_), None) => "refused, as by git",
            (Err(error), Some(_)) => {
                notes.push(format!("{name}: {error}"));
                "refused, unlike by git"
            }
            (Ok(patch), Some(theirs)) => {
                let one = |part: &FilePatch| (Some(part.size().added), Some(part.size().removed));
                if patch.files.iter().map(one).eq(theirs) { "the same" } else { "different" }
            }
        };
        if matches!(verdict, "accepted what git refuses" | "different") {
            wrong.push(format!("{name}: {verdict}"));
        }
        *counts.entry(verdict.to_owned()).or_default() += 1;
    }
    report("parse", &counts, &notes);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Answers of models: the found diffs are those that others find, or the text is refused.
#[test]
fn diffs_in_answers_are_found() {
    let (mut counts, mut notes, mut wrong) = (Counts::new(), Vec::new(), Vec::new());
    for case in cases("answers") {
        let text = string(&case["text"]);
        let Some(theirs) = case["patches"].as_array().filter(|_| !text.contains("<<<<")) else { continue };
        let options = ParseOptions { strip: Strip::Guess, recount: false, prose: Prose::Skip };
        let ours = diff::parse(text.as_bytes(), &options);
        let theirs: Vec<Vec<String>> = theirs.iter().map(|patch| changes(string(patch))).collect();
        let verdict = match ours {
            Err(error) => {
                notes.push(format!("{} {}: {error}", case["id"], case["test"]));
                "refused"
            }
            Ok(patch) => {
                let found: Vec<Vec<String>> =
                    patch.files.iter().map(changed).filter(|lines| !lines.is_empty()).collect();
                if found == theirs {
                    "the same"
                } else {
                    wrong.push(format!("{}: {found:?} instead of {theirs:?}", case["id"]));
                    "different"
                }
            }
        };
        *counts.entry(verdict.to_owned()).or_default() += 1;
    }
    report("answers", &counts, &notes);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The changed lines of a rendered patch.
fn changes(patch: &str) -> Vec<String> {
    let body = patch.lines().skip(2).filter(|line| line.starts_with(['+', '-']));
    body.map(str::to_owned).collect()
}

fn changed(part: &FilePatch) -> Vec<String> {
    let sign = |kind: Kind| match kind {
        Kind::Context => None,
        Kind::Removed => Some('-'),
        Kind::Added => Some('+'),
    };
    let lines = part.hunks.iter().flat_map(|hunk| hunk.lines());
    lines
        .filter_map(|(kind, line)| {
            Some(format!("{}{}", sign(kind)?, String::from_utf8_lossy(line).trim_end_matches(['\n', '\r'])))
        })
        .collect()
}
