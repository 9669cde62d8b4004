//! The verifier alone finds every other change of a file, although the record agrees with it.

use std::{fs, path::Path, sync::atomic::AtomicBool};

use serde_json::{Value, json};

use super::*;
use crate::{evidence::Images, parse, verify::judge};
use base::change::{ChangeSet, Content};
use system::workspace::{Overlay, View, Workspace};

const OLD: &str = "log(1);\nrun(log(log('x'))); // log(2)\nif (a) {\n  log(b, c);\n}\n";
const NEW: &str = "trace(1);\nrun(trace(trace('x'))); // log(2)\nif (a) {\n  trace(b, c);\n}\n";
const OTHER: &str = "run(1);\n";

fn invocation(params: &Value) -> Invocation {
    let input = json!({
        "tool": "code_rewrite", "version": "1.0", "mode": "apply", "params": params, "target": {"repo_path": ".", "glob": "**"},
        "constraints": {"max_files": 100, "timeout_ms": 300_000, "seed": 1},
    });
    parse(&CodeRewrite, &input).unwrap()
}

/// Proposes, lets `tamper` alter the proposal, and measures it. Returns the proposal and the failed checks.
fn measured(params: &Value, tamper: impl FnOnce(&mut Proposal)) -> (Proposal, Vec<String>) {
    measured_on(OLD, params, tamper)
}

fn measured_on(old: &str, params: &Value, tamper: impl FnOnce(&mut Proposal)) -> (Proposal, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| fs::write(Path::new(folder.path()).join(path), text).unwrap();
    write("a.js", old);
    write("b.js", OTHER);
    write("c.js", "log(;\n");
    let (workspace, overlay, cancel) =
        (Workspace::open(folder.path()).unwrap(), Overlay::default(), AtomicBool::new(false));
    let view = View::new(&workspace, &overlay);
    let ctx = Context::of_tree(view, 2, &cancel);
    let input = invocation(params);
    let mut proposal = CodeRewrite.propose(&ctx, &input).unwrap();
    tamper(&mut proposal);
    let (baseline, manifest) = (proposal.baseline_record(&input), proposal.manifest_record("code_rewrite"));
    let evidence =
        Evidence::new(CodeRewrite.looks_at(&input), (&baseline, &manifest), Images::Proposed(&proposal.changes));
    let report = judge(&ctx, &CodeRewrite, evidence).unwrap();
    let failed = report.verdict().failures.into_iter().map(|failure| failure.check).collect();
    (proposal, failed)
}

fn params() -> Value {
    json!({"pattern": "log($$$A)", "fix": "trace($$$A)"})
}

/// Puts another text in place of the proposed one.
fn replaced(proposal: &mut Proposal, text: &str) {
    let mut changes = proposal.changes.changes().to_vec();
    changes[0].after = Some(Content::new(text.as_bytes().to_vec(), 0o644));
    proposal.changes = ChangeSet::new(changes).unwrap();
}

#[test]
fn the_change_passes_before_it_is_damaged() {
    let (proposal, failed) = measured(&params(), |_| ());
    assert_eq!(failed, Vec::<String>::new());
    let after = proposal.changes.changes()[0].after.as_ref().unwrap();
    assert_eq!(std::str::from_utf8(&after.bytes).unwrap(), NEW);
    assert_eq!(proposal.baseline.skipped[0].path, "c.js");
}

#[test]
fn a_wrong_change_fails_though_the_record_agrees_with_it() {
    for (from, to, check) in [
        ("trace(1)", "log(1)", "second_pass_empty"),
        ("trace(1)", "trace(2)", "rewrites_expected"),
        ("trace(1);", "trace(1)", "rewrites_expected"),
        ("// log(2)", "// trace(2)", "rewrites_expected"),
        ("'x'", "\"x\"", "rewrites_expected"),
        ("trace(b, c)", "trace(c, b)", "rewrites_expected"),
        ("if (a)", "if (b)", "rewrites_expected"),
        ("if (a)", "if  (a)", "rewrites_expected"),
        ("}\n", "}\nlog(3);\n", "second_pass_empty"),
        ("}\n", "", "syntax_kept"),
    ] {
        let text = NEW.replacen(from, to, 1);
        assert_ne!(text, NEW);
        let (_, failed) = measured(&params(), |proposal| replaced(proposal, &text));
        assert!(failed.iter().any(|one| one == check), "{from} {to}: {failed:?}");
    }
}

#[test]
fn a_line_of_a_literal_that_moves_fails() {
    let (old, new) = ("  log(`a\n  b`, 1);\n", "  trace(\n    `a\n  b`, 1);\n");
    let params = json!({"pattern": "log($$$A)", "fix": "trace(\n  $$$A)"});
    let (proposal, failed) = measured_on(old, &params, |_| ());
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(proposal.changes.changes()[0].after.as_ref().unwrap().bytes.as_slice(), new.as_bytes());
    let moved = new.replace("\n  b", "\n    b");
    let (_, failed) = measured_on(old, &params, |proposal| replaced(proposal, &moved));
    assert!(failed.contains(&"rewrites_expected".to_owned()), "{failed:?}");
}

#[test]
fn each_match_is_rewritten_once() {
    let params = json!({"pattern": "log($$$A)", "fix": "log($$$A, c)", "once": true});
    let (old, new) = ("log(1);\nlog(2, c);\nlog(log(3));\n", "log(1, c);\nlog(2, c);\nlog(log(3, c), c);\n");
    let (proposal, failed) = measured_on(old, &params, |_| ());
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(proposal.changes.changes()[0].after.as_ref().unwrap().bytes.as_slice(), new.as_bytes());
    for (from, to) in
        [("log(1, c)", "log(1, c, c)"), ("log(2, c)", "log(2, c, c)"), ("log(1, c)", "log(1)"), ("3, c", "3")]
    {
        let text = new.replacen(from, to, 1);
        let (_, failed) = measured_on(old, &params, |proposal| replaced(proposal, &text));
        assert!(failed.contains(&"rewrites_expected".to_owned()), "{text}: {failed:?}");
    }
    let lie = |proposal: &mut Proposal| *proposal.baseline.counts.get_mut("matches_left").unwrap() += 1;
    assert!(measured_on(old, &params, lie).1.contains(&"counts_match".to_owned()));
}

#[test]
fn a_record_that_lies_fails() {
    for name in ["matches", "matches_left", "files_scanned", "files_skipped"] {
        let lie = |proposal: &mut Proposal| *proposal.baseline.counts.get_mut(name).unwrap() += 1;
        assert!(measured(&params(), lie).1.contains(&"counts_match".to_owned()), "{name}");
    }
    for name in ["files", "rewrites"] {
        let lie = |proposal: &mut Proposal| *proposal.counts.get_mut(name).unwrap() += 1;
        assert!(measured(&params(), lie).1.contains(&"counts_match".to_owned()), "{name}");
    }
    let missed = |proposal: &mut Proposal| proposal.changes = ChangeSet::default();
    assert!(measured(&params(), missed).1.contains(&"rewrites_expected".to_owned()));
    let left_out = |proposal: &mut Proposal| proposal.baseline.skipped.clear();
    assert!(!measured(&params(), left_out).1.is_empty());
}

#[test]
fn a_file_without_an_error_is_not_left_alone_for_one() {
    let lie = |proposal: &mut Proposal| {
        let skipped = proposal.baseline.skipped[0].clone();
        proposal.baseline.skipped.insert(0, super::super::contract::Skipped { path: "b.js".to_owned(), ..skipped });
    };
    assert!(measured(&params(), lie).1.contains(&"rewrites_expected".to_owned()));
}

#[test]
fn new_text_that_is_no_code_in_its_place_fails() {
    let (_, failed) = measured(&json!({"pattern": "log($$$A)", "fix": "trace($$$A"}), |_| ());
    assert!(failed.contains(&"syntax_kept".to_owned()), "{failed:?}");
}

#[test]
fn the_ends_of_lists_are_judged_on_their_own() {
    let list = json!({"pattern": "log($$$A)", "fix": "trace(\n  $$$A, 1\n)"});
    let body = json!({"pattern": "if (a) { $$$A }", "fix": "$$$A"});
    for (params, old, new, wrong) in [
        (&list, "log(b,);\n", "trace(\n  b, 1\n);\n", "trace(\n  b,, 1\n);\n"),
        (
            &list,
            "log(b);\nlog(c // c\n);\n",
            "trace(\n  b, 1\n);\nlog(c // c\n);\n",
            "trace(\n  b, 1\n);\ntrace(\n  c // c, 1\n);\n",
        ),
        (
            &body,
            "if (a) {\n  b() // b\n} c()\nif (a) { d() }\n",
            "if (a) {\n  b() // b\n} c()\nd()\n",
            "b() // b c()\nd()\n",
        ),
    ] {
        let (proposal, failed) = measured_on(old, params, |_| ());
        let after = proposal.changes.changes()[0].after.as_ref().unwrap();
        assert_eq!((after.bytes.as_slice(), failed.as_slice()), (new.as_bytes(), &[][..]), "{old}");
        let (_, failed) = measured_on(old, params, |proposal| replaced(proposal, wrong));
        assert!(failed.contains(&"rewrites_expected".to_owned()), "{old}: {failed:?}");
    }
}
