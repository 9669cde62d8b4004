//! Records of the last release whose records did not name their built-in rules, as that release wrote them.
//!
//! Each folder of `tests/records` is a workspace, with its `.runs` as `runs`.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{repository, support::site::Site};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// The workspace of a record.
pub(crate) fn recorded(name: &str) -> Site {
    let site = Site::empty();
    copy(&repository::root().join("tests/records").join(name), &site.root());
    fs::rename(site.path("runs"), site.path(".runs")).unwrap();
    let folders = walkdir::WalkDir::new(site.path(".runs")).into_iter().map(|entry| entry.unwrap().into_path());
    for path in folders.collect::<Vec<PathBuf>>() {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    site.write(".gitignore", ".runs/\n");
    site.git(&["init", "-q", "-b", "main"]);
    site.commit();
    site
}

/// The records of the run, of one kind.
fn records(site: &Site, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|record| record["kind"] == kind).collect()
}

#[test]
fn a_run_that_waits_is_approved_and_goes_on() {
    let site = recorded("waiting");
    let ran = site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(!ran.stderr.contains("policy has changed"), "{ran:?}");
    assert_eq!(site.read("notes/two.txt"), b"two\n");
    let resumed = records(&site, "run_resumed");
    assert_eq!((&resumed[0]["data"]["policy_changed"], &resumed[0]["data"]["rules"]), (&json!(false), &json!(1)));
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(!site.path("notes/one.txt").exists());
}

/// The advice of a gate had other words then.
#[test]
fn what_gates_asked_of_a_change_is_approved() {
    let site = recorded("gate_asks");
    site.nrv(&["resume", "last"]).exits(7).says("--approve c1");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(site.path("k.py").exists());
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
}

#[test]
fn what_an_adapter_asked_is_approved() {
    let site = recorded("adapter_asks");
    site.write("site/a.html", "<a href=\"http://old.example.com/x\">x</a>\n");
    site.commit();
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(String::from_utf8_lossy(&site.read("site/a.html")).contains("https://new.example.com/x"));
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
}

#[test]
fn a_run_that_waits_is_asked_again_and_refused() {
    let site = recorded("waiting");
    site.nrv(&["resume", "last"]).exits(7).says("--approve c1");
    site.nrv(&["resume", "last", "--reject", "c1"]).exits(3);
    assert!(!site.path("notes/one.txt").exists());
}

#[test]
fn a_policy_that_really_changed_refuses_and_names_the_keys() {
    let site = recorded("waiting");
    let policy = String::from_utf8(site.read("nrv.toml")).unwrap();
    site.write("nrv.toml", format!("{policy}[budget]\nfiles = 9\n[paths]\ndeny = ['x']\n"));
    let ran = site.nrv(&["resume", "last", "--approve", "c1"]).exits(3);
    let words = "the policy has changed since the confirmation `c1` was asked for, in `budget.files`, `paths.deny`";
    assert!(ran.stderr.contains(&format!("error[not_approved]: {words}\n")), "{ran:?}");
    assert!(!site.path("notes/two.txt").exists());
    site.nrv(&["resume", "last"]).exits(7).says("since the run started, in `budget.files`, `paths.deny`; what either");
    site.nrv(&["resume", "last", "--approve", "c2"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
}

/// `.envrc` was no protected name when the record was written, and `.bashrc` was.
#[test]
fn names_that_are_protected_since_are_no_divergence() {
    let site = recorded("protected_names");
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
    let decided: Vec<Value> =
        records(&site, "judged").iter().map(|record| record["data"]["decision"].clone()).collect();
    assert_eq!(decided[0], "allow");
    // New changes are judged by the present names.
    let header = "const WORKFLOW = #{ permissions: #{ write: [\"**\"] } };";
    site.script("shell.rhai", &format!("{header}\nnrv.apply.create(\".envrc\", \"x\\n\");\n"));
    site.nrv(&["run", "shell.rhai"]).exits(3).says("`.envrc` is protected");
}

#[test]
fn a_policy_that_is_tried_on_an_older_record_knows_the_names_of_now() {
    let site = recorded("protected_names");
    let ran = site.nrv(&["replay", "last", "--policy", "nrv.toml", "--json"]).exits(3);
    let differences = ran.json()["differences"].clone();
    assert_eq!(differences[0]["would"], "block", "{differences}");
}

#[test]
fn a_plan_is_applied_under_a_policy_that_nobody_changed() {
    let site = Site::empty();
    site.write("nrv.toml", "");
    site.git(&["init", "-q", "-b", "main"]);
    site.commit();
    let plan = repository::root().join("tests/records/plan/plan.json").display().to_string();
    let apply = || site.nrv(&["apply", &plan, "--yes"]).exits(0);
    let ran = apply();
    assert!(!ran.stderr.contains("policy"), "{ran:?}");
    assert_eq!(site.read("notes/two.txt"), b"two\n");
    site.nrv(&["rollback", "last"]).exits(0);
    site.write("nrv.toml", "[budget]\nfiles = 7\n");
    site.commit();
    apply().says("The policy differs from that of the plan");
}
