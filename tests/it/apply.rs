//! `nrv.apply`: proposed changes are applied exactly, or refused with a code and the script's line.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::os::unix::fs::symlink;

use nrv::{
    base::call::{Call, Strategy},
    service::apply::Request,
    system::schema::Schema,
};
use serde_json::{Value, json};

use crate::support::site::{Ran, Site};

/// Three small files, committed.
fn notes() -> Site {
    let site = Site::new(0);
    site.write("notes/a.txt", "one\ntwo\nthree\n");
    site.write("notes/b.txt", "b\n");
    site.write("notes/c.txt", "c\n");
    site.mode("notes/b.txt", 0o755);
    site.commit();
    site
}

/// A script that may write the globs `write`.
fn workflow(write: &str, body: &str) -> String {
    format!("const WORKFLOW = #{{ name: \"apply\", permissions: #{{ write: [\"{write}\"] }} }};\n{body}\n")
}

fn run(site: &Site, body: &str, more: &[&str]) -> Ran {
    site.script("t.rhai", &workflow("**", body));
    site.nrv(&[&["run", "t.rhai", "--json"], more].concat())
}

/// Runs a script that has to fail, applying and dry; its error. Nothing may change.
#[track_caller]
fn refused(site: &Site, body: &str, exit: i32, code: &str, words: &str) -> Value {
    site.script("t.rhai", &workflow("**", body));
    refused_as_it_is(site, exit, code, words)
}

#[track_caller]
fn refused_as_it_is(site: &Site, exit: i32, code: &str, words: &str) -> Value {
    let before = site.tree();
    let mut errors = Vec::new();
    for more in [&["--dry-run"][..], &[]] {
        let ran = site.nrv(&[&["run", "t.rhai", "--json"], more].concat()).exits(exit);
        assert!(site.tree() == before, "something changed: {ran:?}");
        let error = ran.json()["error"].clone();
        assert_eq!(error["code"], code, "{error:#}");
        assert!(error["message"].as_str().unwrap().contains(words), "{error:#}");
        errors.push(error);
    }
    let last = errors.pop().unwrap();
    assert_eq!(errors[0]["message"], last["message"], "a dry run refuses in the same words");
    last
}

fn text(site: &Site, name: &str) -> String {
    String::from_utf8(site.read(name)).unwrap()
}

const EDIT: &str = "--- a/notes/a.txt\\n+++ b/notes/a.txt\\n@@ -1,3 +1,3 @@\\n one\\n-two\\n+TWO\\n three\\n";

#[test]
fn every_call_does_what_it_says_and_a_rollback_undoes_all_of_them() {
    let site = notes();
    let body = format!(
        "let hash = |path| nrv.files.sha256(path);
let all = [];
all.push(nrv.apply.create(\"notes/new/n.txt\", \"n\\n\"));
all.push(nrv.apply.write(\"notes/c.txt\", \"c\\nc\\n\", hash.call(\"notes/c.txt\")));
all.push(nrv.apply.rename(\"notes/b.txt\", \"moved/b.txt\", hash.call(\"notes/b.txt\")));
all.push(nrv.apply.diff(#{{ path: \"notes/a.txt\", unified_diff: \"{EDIT}\", checksum: hash.call(\"notes/a.txt\"), strategy: \"write\" }}));
all.push(nrv.apply.remove(\"notes/c.txt\", hash.call(\"notes/c.txt\")));
all"
    );
    site.script("t.rhai", &workflow("**", &body));
    let before = site.tree();
    let finished = site.nrv(&["run", "t.rhai", "--json"]).exits(0).json();
    let outcomes = finished["result"].as_array().unwrap();
    let row = |outcome: &Value| {
        json!([outcome["path"], outcome["status"], outcome["written"], outcome["added"], outcome["removed"]])
    };
    assert_eq!(
        outcomes.iter().map(row).collect::<Vec<_>>(),
        [
            json!(["notes/new/n.txt", "applied", true, 1, 0]),
            json!(["notes/c.txt", "applied", true, 1, 0]),
            json!(["moved/b.txt", "applied", true, 0, 0]),
            json!(["notes/a.txt", "applied", true, 1, 1]),
            json!(["notes/c.txt", "applied", true, 0, 2]),
        ]
    );
    assert_eq!((&outcomes[2]["from"], &outcomes[0]["pre_sha256"]), (&json!("notes/b.txt"), &Value::Null));
    assert_eq!(outcomes[3]["hunks"], json!([{"header_line": 3, "line": 1, "offset": 0}]));
    assert_eq!(outcomes[4]["post_sha256"], Value::Null);
    assert_eq!(
        (text(&site, "notes/a.txt"), text(&site, "notes/new/n.txt")),
        ("one\nTWO\nthree\n".into(), "n\n".into())
    );
    let moved = site.tree();
    assert_eq!(moved["moved/b.txt"], before["notes/b.txt"]);
    assert!(!moved.contains_key("notes/b.txt") && !moved.contains_key("notes/c.txt"));
    assert_eq!(finished["files_changed"], 5);
    site.last_ended("done");
    assert_eq!(site.runs().last().unwrap()["unverified"], false);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn a_checksum_that_is_not_the_files_stops_everything() {
    let site = notes();
    let zeros = "0".repeat(64);
    for call in [
        format!("nrv.apply.write(\"notes/a.txt\", \"x\", \"{zeros}\")"),
        format!("nrv.apply.remove(\"notes/a.txt\", \"{zeros}\")"),
        format!("nrv.apply.rename(\"notes/a.txt\", \"notes/x.txt\", \"{zeros}\")"),
        format!(
            "nrv.apply.diff(#{{ path: \"notes/a.txt\", unified_diff: \"{EDIT}\", checksum: \"{zeros}\", strategy: \"write\" }})"
        ),
        // This fails before the diff is parsed.
        format!(
            "nrv.apply.diff(#{{ path: \"notes/a.txt\", unified_diff: \"{}\", checksum: \"{zeros}\", strategy: \"write\" }})",
            EDIT.replace("-two", "-nothing")
        ),
        format!("nrv.apply.remove(\"notes/none.txt\", \"{zeros}\")"),
    ] {
        let body = format!("nrv.apply.create(\"notes/first.txt\", \"1\");\n{call}");
        let error = refused(&site, &body, 5, "stale_preimage", "the change was made for");
        assert_eq!((&error["script"]["path"], &error["script"]["line"]), (&json!("t.rhai"), &json!(3)), "{error:#}");
        assert_eq!(error["details"]["expected"], zeros.as_str());
    }
    refused(&site, "nrv.apply.remove(\"notes/a.txt\", \"abc\")", 1, "invalid_input", "not a SHA-256 hash");
}

#[test]
fn nothing_is_made_where_something_is() {
    let site = notes();
    refused(&site, "nrv.apply.create(\"notes/a.txt\", \"x\")", 5, "stale_preimage", "`notes/a.txt` exists already");
    refused(&site, "nrv.apply.create(\"notes\", \"x\")", 5, "stale_preimage", "`notes` exists already");
    let rename = "nrv.apply.rename(\"notes/a.txt\", \"notes/b.txt\", nrv.files.sha256(\"notes/a.txt\"))";
    refused(&site, rename, 5, "stale_preimage", "`notes/b.txt` exists already");
    refused(&site, "nrv.apply.create(\"notes/a.txt/x\", \"x\")", 1, "unwritable", "`notes/a.txt` is a file");
    let same = "nrv.apply.rename(\"notes/a.txt\", \"./notes/a.txt\", nrv.files.sha256(\"notes/a.txt\"))";
    refused(&site, same, 1, "invalid_input", "renamed to itself");
}

/// A plan that makes a file, edits it twice and renames it.
const COMPOSED: &str = r#"#{ diffs: [
    #{ path: "notes/n.txt", unified_diff: "--- /dev/null\n+++ b/notes/n.txt\n@@ -0,0 +1,2 @@\n+1\n+2\n" },
    #{ path: "notes/n.txt", unified_diff: "--- a/notes/n.txt\n+++ b/notes/n.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n" },
    #{ path: "notes/a.txt", unified_diff: "diff --git a/notes/a.txt b/notes/z.txt\nrename from notes/a.txt\nrename to notes/z.txt\n" },
    #{ path: "notes/z.txt", unified_diff: "--- notes/z.txt\n+++ notes/z.txt\n@@ -1,3 +1,2 @@\n one\n two\n-three\n" },
    #{ path: "notes/b.txt", unified_diff: "--- a/notes/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n" },
], post: #{ commands: [#{ program: "cargo", args: ["fmt"], timeout_ms: 1000 }] } }"#;

#[test]
fn the_diffs_of_a_plan_compose() {
    let site = notes();
    let ran = run(&site, &format!("nrv.apply.plan({COMPOSED}, \"write\")"), &[]).exits(0);
    assert!(ran.stderr.contains("The plan's commands are not run."), "{}", ran.stderr);
    assert_eq!((text(&site, "notes/n.txt"), text(&site, "notes/z.txt")), ("1\ntwo\n".into(), "one\ntwo\n".into()));
    assert!(!site.path("notes/a.txt").exists() && !site.path("notes/b.txt").exists());
    let finished = ran.json();
    let outcomes = finished["result"].as_array().unwrap();
    assert!(outcomes.iter().all(|outcome| outcome["written"] == true), "{outcomes:#?}");
    assert_eq!(outcomes[1]["pre_sha256"], outcomes[0]["post_sha256"]);
    assert_eq!(finished["files_changed"], 4);
    assert_eq!(site.recorded("*/packs/t*/manifest.json").len(), 1, "it is one transaction");
}

#[test]
fn one_diff_that_does_not_fit_stops_the_whole_plan() {
    let site = notes();
    let plan = COMPOSED.replace("-b\\n\"", "-other\\n\"");
    let error = refused(&site, &format!("nrv.apply.plan({plan}, \"write\")"), 1, "patch_rejected", "diff 5 of 5: ");
    assert_eq!(error["details"]["path"], "notes/b.txt");
}

#[test]
fn a_plan_says_what_it_is_about() {
    let site = notes();
    let diff = |path: &str, diff: &str| {
        format!("nrv.apply.diff(#{{ path: \"{path}\", unified_diff: \"{diff}\", strategy: \"write\" }})")
    };
    refused(&site, &diff("notes/b.txt", EDIT), 1, "invalid_input", "names `notes/a.txt`, not `notes/b.txt`");
    let two = format!("{EDIT}{}", EDIT.replace("a.txt", "b.txt"));
    refused(&site, &diff("notes/a.txt", &two), 1, "invalid_input", "is about 2 files");
    refused(&site, "nrv.apply.diff(#{ path: \"notes/a.txt\" })", 1, "invalid_input", "must be given once");
    refused(
        &site,
        "nrv.apply.diff(#{ path: \"notes/a.txt\", diff: \"x\" } + #{})",
        1,
        "invalid_input",
        "unknown field",
    );
    let list = format!("nrv.apply.diff([\"notes/a.txt\", \"{EDIT}\", (), (), \"write\"] + [])");
    refused(&site, &list, 1, "invalid_input", "expected a map");
    refused(&site, "nrv.apply.plan(#{ diffs: [], x: 1 } + #{}, \"write\")", 1, "invalid_input", "unknown field");
    refused(&site, "nrv.apply.plan(#{ diffs: [] }, \"backup\")", 1, "invalid_input", "is no strategy");
    let fenced = format!("```diff\\n{EDIT}```\\n");
    assert_eq!(run(&site, &diff("notes/a.txt", &fenced), &[]).code, 1);
    let missing = EDIT.replace("a.txt", "none.txt");
    refused(&site, &diff("notes/none.txt", &missing), 1, "patch_rejected", "does not exist");
    let appears = "--- a/notes/x.txt\\n+++ b/notes/x.txt\\n@@ -0,0 +1 @@\\n+x\\n";
    refused(&site, &diff("notes/x.txt", appears), 1, "patch_rejected", "does not exist");
}

#[test]
fn with_a_checksum_a_hunk_applies_where_it_says_and_nowhere_else() {
    let site = notes();
    let moved = EDIT.replace("-1,3 +1,3", "-2,3 +2,3");
    let body = |more: &str| {
        format!("nrv.apply.diff(#{{ path: \"notes/a.txt\", unified_diff: \"{moved}\", strategy: \"write\"{more} }})")
    };
    let with = body(", checksum: nrv.files.sha256(\"notes/a.txt\")");
    refused(&site, &with, 1, "patch_rejected", "notes/a.txt");
    // So does a locked run, with any options.
    run(&site, &body(""), &["--dry-run"]).exits(0);
    site.nrv(&["approve", "t.rhai", "--yes"]).exits(0);
    let locked = run(&site, &body(""), &["--locked"]).exits(1).json();
    assert_eq!(locked["error"]["code"], "patch_rejected");
    let finished = run(&site, &body(""), &[]).exits(0).json();
    assert_eq!(finished["result"]["hunks"][0]["offset"], -1);
    assert_eq!(finished["result"]["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn a_diff_that_is_not_utf_8_comes_in_base64() {
    let site = notes();
    site.write("notes/l.txt", b"caf\xe9\n");
    let diff = "LS0tIGEvbm90ZXMvbC50eHQKKysrIGIvbm90ZXMvbC50eHQKQEAgLTEgKzEgQEAKLWNhZukKK8npCg==";
    let body =
        format!("nrv.apply.diff(#{{ path: \"notes/l.txt\", unified_diff_b64: \"{diff}\", strategy: \"write\" }})");
    run(&site, &body, &[]).exits(0);
    assert_eq!(site.read("notes/l.txt"), b"\xc9\xe9\n");
}

#[test]
fn a_preview_within_a_run_writes_nothing_and_costs_nothing() {
    let site = notes();
    let body = format!(
        "let before = nrv.run.budget();
let plan = {COMPOSED};
let seen = nrv.apply.plan(plan, \"dry-run\");
if nrv.run.budget().files != before.files || nrv.run.budget().diff_lines != before.diff_lines {{ throw \"it cost\"; }}
if nrv.files.exists(\"notes/n.txt\") {{ throw \"it wrote\"; }}
[seen, nrv.apply.plan(plan, ())]"
    );
    site.script("t.rhai", &workflow("**", &body));
    let before = site.tree();
    for more in [&[][..], &["--dry-run"]] {
        let finished = site.nrv(&[&["run", "t.rhai", "--json"], more].concat()).exits(0).json();
        assert!(site.tree() == before);
        assert_eq!((&finished["result"][0], &finished["files_changed"]), (&finished["result"][1], &json!(0)));
        let statuses: Vec<_> = finished["result"][0].as_array().unwrap().iter().map(|one| &one["status"]).collect();
        assert!(statuses.iter().all(|status| **status == "applied"), "{statuses:?}");
        assert!(finished["result"][0].as_array().unwrap().iter().all(|one| one["written"] == false));
    }
}

#[test]
fn what_is_as_it_should_be_is_left_alone() {
    let site = notes();
    let body = "nrv.apply.write(\"notes/b.txt\", \"b\\n\", nrv.files.sha256(\"notes/b.txt\"))";
    let finished = run(&site, body, &[]).exits(0).json();
    assert_eq!((&finished["result"]["status"], &finished["result"]["written"]), (&json!("noop"), &json!(false)));
    assert_eq!(finished["files_changed"], 0);
}

#[test]
fn backups_are_kept_beside_the_files_and_never_overwritten() {
    let site = notes();
    let before = site.tree();
    let body = format!("nrv.apply.plan({COMPOSED}, #{{ write_backup: \".bak\" }})");
    site.script("t.rhai", &workflow("**", &body));
    let finished = site.nrv(&["run", "t.rhai", "--json"]).exits(0).json();
    let backups: Vec<_> = finished["result"].as_array().unwrap().iter().map(|one| one["backup"].clone()).collect();
    assert_eq!(
        backups,
        [Value::Null, Value::Null, json!("notes/a.txt.bak"), Value::Null, json!("notes/b.txt.bak")],
        "what was there before all steps is kept"
    );
    let after = site.tree();
    for name in ["notes/a.txt", "notes/b.txt"] {
        assert_eq!(after[&format!("{name}.bak")], before[name]);
    }
    assert_eq!(finished["files_changed"], 6);
    site.nrv(&["rollback", "last"]).exits(0);
    site.write("notes/b.txt.bak", "somebody's");
    site.commit();
    let error = refused_as_it_is(&site, 1, "unwritable", "`notes/b.txt.bak` of `notes/b.txt` exists already");
    assert_eq!(error["details"]["path"], "notes/b.txt.bak");
    for suffix in ["", "/x", "/../../x"] {
        let body = format!("nrv.apply.plan(#{{ diffs: [] }}, #{{ write_backup: \"{suffix}\" }})");
        refused(&site, &body, 1, "invalid_input", "no suffix");
    }
    // Backups are judged like every other file.
    site.script("t.rhai", &workflow("notes/*.txt", &body.replace(".bak", ".old")));
    refused_as_it_is(&site, 3, "permission_denied", ".old` may not be written");
}

#[test]
fn protected_paths_and_those_that_leave_the_workspace_are_refused_with_code_and_line() {
    let site = notes().policy("");
    symlink("notes", site.path("link")).unwrap();
    symlink("../outside", site.path("out")).unwrap();
    symlink("notes/a.txt", site.path("a.txt")).unwrap();
    site.commit();
    for (path, code, exit) in [
        ("nrv.toml", "protected_path", 3),
        (".git/hooks/x", "protected_path", 3),
        ("notes/.git/config", "protected_path", 3),
        (".GIT/hooks/x", "protected_path", 3),
        (".runs/x", "protected_path", 3),
        (".vscode/tasks.json", "protected_path", 3),
        ("notes/.nrv-x", "protected_path", 3),
        ("../x", "invalid_path", 1),
        ("notes/../../x", "invalid_path", 1),
        ("/etc/x", "invalid_path", 1),
        ("link/x.txt", "invalid_path", 1),
        ("out/x.txt", "invalid_path", 1),
    ] {
        let zeros = "0".repeat(64);
        let name = path.trim_start_matches('/');
        for call in [
            format!("nrv.apply.create(\"{path}\", \"x\")"),
            format!("nrv.apply.write(\"{path}\", \"x\", \"{zeros}\")"),
            format!("nrv.apply.remove(\"{path}\", \"{zeros}\")"),
            format!("nrv.apply.rename(\"notes/a.txt\", \"{path}\", nrv.files.sha256(\"notes/a.txt\"))"),
            format!(
                "nrv.apply.diff(#{{ path: \"{path}\", unified_diff: \"--- /dev/null\\n+++ b/{name}\\n@@ -0,0 +1 @@\\n+x\\n\" }})"
            ),
            format!(
                "nrv.apply.plan(#{{ diffs: [#{{ path: \"{path}\", unified_diff: \"--- /dev/null\\n+++ b/{name}\\n@@ -0,0 +1 @@\\n+x\\n\" }}] }}, \"write\")"
            ),
        ] {
            site.script("t.rhai", &workflow("**", &format!("try {{\n{call}\n}} catch (e) {{ throw e; }}")));
            let before = site.tree();
            let error = site.nrv(&["run", "t.rhai", "--json"]).exits(exit).json()["error"].clone();
            assert_eq!((&error["code"], &error["script"]["line"]), (&json!(code), &json!(3)), "{call}: {error:#}");
            assert!(site.tree() == before);
        }
    }
    refused(&site, "nrv.apply.create(\"a.txt\", \"x\")", 5, "stale_preimage", "exists already");
    assert!(!site.root().join("../x").exists() && !site.path(".git/hooks/x").exists());
}

const PLAN: &str = include_str!("../../schemas/apply_plan.schema.json");
const OUTCOME: &str = include_str!("../../schemas/apply_outcome.schema.json");

fn schema(text: &str) -> Schema {
    Schema::compile(&serde_json::from_str(text).unwrap()).unwrap()
}

#[test]
fn outcomes_fit_their_schema() {
    let site = notes();
    let body = format!("[nrv.apply.plan({COMPOSED}, #{{ write_backup: \"~\" }}), [nrv.apply.create(\"x\", \"\")]]");
    let finished = run(&site, &body, &[]).exits(0).json();
    let outcomes: Vec<&Value> =
        finished["result"].as_array().unwrap().iter().flat_map(|some| some.as_array().unwrap()).collect();
    assert_eq!(outcomes.len(), 6);
    for outcome in outcomes {
        schema(OUTCOME).check(outcome).unwrap();
    }
}

#[test]
fn what_is_a_plan_to_its_schema_is_one_to_the_host() {
    let diff = || json!({"path": "a", "unified_diff": "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n"});
    let with = |key: &str, value: Value| {
        let mut diff = diff();
        diff[key] = value;
        json!({"diffs": [diff]})
    };
    for (plan, is_plan) in [
        (json!({"diffs": []}), true),
        (json!({"diffs": [diff()]}), true),
        (json!({"diffs": [diff()], "post": {}}), true),
        (json!({"diffs": [], "post": {"commands": [{"program": "x", "args": ["y"], "timeout_ms": 5}]}}), true),
        (json!({}), false),
        (json!({"diffs": {}}), false),
        (json!({"diffs": [], "more": 1}), false),
        (json!({"diffs": [], "post": {"commands": [{"args": []}]}}), false),
        (json!({"diffs": [], "post": {"commands": [{"program": "x", "timeout_ms": -1}]}}), false),
        (json!({"diffs": [{"path": "a"}]}), false),
        (json!({"diffs": [{"unified_diff": ""}]}), false),
        (with("checksum", json!("abc")), false),
        (with("path", json!("")), false),
        (with("unified_diff_b64", json!("")), false),
        (with("mode", json!(1)), false),
        (json!({"diffs": [["a", null, "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n", null]]}), false),
        (json!([[diff()], {"commands": []}]), false),
        (json!({"diffs": [], "post": [[]]}), false),
        (json!({"diffs": [], "post": {"commands": [["x", [], null]]}}), false),
    ] {
        let call = Call::ApplyPlan { plan: plan.clone(), strategy: Strategy::DryRun, strict: false };
        assert_eq!(Request::of(&call).is_ok(), is_plan, "{plan}");
        assert_eq!(schema(PLAN).check(&plan).is_ok(), is_plan, "{plan}");
    }
}
