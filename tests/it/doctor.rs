//! `nrv doctor`: missing requirements, their meaning, and advice.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, os::unix::fs::symlink};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    hold::stopped_in_transaction,
    site::{MIGRATE, Ran, Site},
};

/// The names of all checks, in this order.
const CHECKS: [&str; 23] = [
    "nrv",
    "kernel",
    "landlock",
    "seccomp",
    "user_namespaces",
    "git",
    "workspace",
    "records",
    "file_system",
    "open_beneath",
    "no_replace",
    "exchange",
    "into_records",
    "space",
    "leftovers",
    "policy",
    "commands",
    "llm",
    "view",
    "worker",
    "verifier",
    "sandbox",
    "bounds",
];

fn doctor(site: &Site) -> Ran {
    site.nrv(&["doctor", "--json"])
}

#[track_caller]
fn check<'d>(document: &'d Value, name: &str) -> &'d Value {
    let checks = document["checks"].as_array().unwrap();
    checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name}: {document:#}"))
}

/// Runs it; expects an exit code, and that one check has a level and these words.
#[track_caller]
fn finds(site: &Site, code: i32, name: &str, level: &str, words: &str) {
    let document = doctor(site).exits(code).json();
    let found = check(&document, name);
    assert_eq!(found["level"], level, "{found:#}");
    assert!(found.to_string().contains(words), "{words:?} is not in {found:#}");
    assert_eq!((document["ok"] == true, found["advice"].is_string()), (code == 0, level != "ok"), "{document:#}");
}

#[test]
fn a_sound_place_is_looked_at_from_all_sides_and_left_as_it_is() {
    let site = Site::new(2);
    let before = site.tree();
    let document = doctor(&site).exits(0).json();
    let names: Vec<&str> =
        document["checks"].as_array().unwrap().iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(names, CHECKS);
    for name in ["open_beneath", "no_replace", "policy", "leftovers", "workspace"] {
        assert_eq!(check(&document, name)["level"], "ok", "{document:#}");
    }
    assert!(site.tree() == before && !site.path(".runs").exists());
    site.migrate(&[]).exits(0);
    let runs = site.recorded("**");
    finds(&site, 0, "records", "ok", "git ignores it");
    assert_eq!(site.recorded("**"), runs);
    let text = site.nrv(&["doctor"]).exits(0).stdout;
    assert!(CHECKS.iter().all(|name| text.contains(&format!("{name}: "))), "{text}");
}

/// The lines report the denials of the kernel to real processes.
#[test]
fn the_processes_of_scripts_and_verifiers_are_started_for_real() {
    let document = doctor(&Site::empty()).exits(0).json();
    let complete = |name: &str| check(&document, name)["level"] == "ok";
    assert_eq!(complete("worker"), complete("landlock") && complete("seccomp"), "{document:#}");
    let has_landlock = !check(&document, "landlock")["found"].as_str().unwrap().contains("missing");
    assert_eq!(complete("verifier"), has_landlock, "{document:#}");
    let can_be_complete = complete("landlock") && complete("seccomp") && complete("user_namespaces");
    assert!(!complete("sandbox") || can_be_complete, "{document:#}");
}

#[test]
fn a_rule_that_allows_every_command_is_told() {
    let site = Site::new(1).policy("[[exec.allow]]\nprefix = [\"env\"]\n");
    finds(&site, 0, "commands", "warn", "`env` (line 1 of `nrv.toml`) runs any command after it");
    let site = site.policy("[[exec.allow]]\nprefix = [\"env\", \"cargo\"]\n");
    finds(&site, 0, "commands", "ok", "1 rule");
}

#[test]
fn a_policy_that_can_not_be_read_fails_and_the_rest_is_still_told() {
    let site = Site::new(1);
    site.write("nrv.toml", "[budget]\nfile = 1\n");
    finds(&site, 1, "policy", "fail", "did you mean");
    // The checks of its rules, of models and of the view of commands are left out.
    assert_eq!(doctor(&site).json()["checks"].as_array().unwrap().len(), CHECKS.len() - 3);
}

#[test]
fn what_a_crash_left_is_named() {
    let site = Site::new(20);
    let before = site.tree();
    let mut running = stopped_in_transaction(&site, &MIGRATE, || site.reset(&before));
    finds(&site, 0, "leftovers", "ok", "no run died");
    running.signal(Signal::KILL);
    crate::support::site::wait_until("it is dead", || running.has_ended());
    finds(&site, 0, "leftovers", "warn", "nrv recover");
    site.nrv(&["recover"]).exits(0);
    finds(&site, 0, "leftovers", "ok", "no run died");
}

#[test]
fn records_that_go_elsewhere_or_nowhere_fail() {
    let elsewhere = tempfile::tempdir().unwrap();
    let site = Site::new(1);
    symlink(elsewhere.path(), site.path(".runs")).unwrap();
    finds(&site, 1, "records", "fail", "no folder of its own");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

    let site = Site::new(1);
    fs::create_dir(site.path(".runs")).unwrap();
    finds(&site, 0, "records", "warn", "nrv init");
    site.nrv(&["init"]).exits(0);
    finds(&site, 0, "records", "ok", "git ignores it");

    let mut site = Site::new(1);
    fs::create_dir(site.path(".runs")).unwrap();
    if !site.become_plain_user() {
        return;
    }
    site.mode(".runs", 0o555);
    finds(&site, 1, "records", "fail", "can't be written");
    site.mode(".runs", 0o755);
    site.mode(".", 0o555);
    finds(&site, 1, "file_system", "fail", "no folder can be made");
    site.mode(".", 0o755);
}

#[test]
fn the_repository_is_read_without_git_and_the_limits_of_that_are_told() {
    let site = Site::new(1);
    let looked = |level: &str, words: &str| {
        let output = site.command(&["doctor", "--json"]).env("PATH", "/nowhere").output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = check(&document, "git");
        assert!(found["level"] == level && found["found"].as_str().unwrap().contains(words), "{found}");
    };
    looked("ok", "2 files are tracked");
    site.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    looked("warn", "filters are not run (`upper`)");
    site.git(&["init", "-q", "own"]);
    looked("warn", "repositories within it are not opened (`own`)");
    site.git(&["config", "core.worktree", "/nowhere"]);
    looked("warn", "`core.worktree`");
}

#[test]
fn a_folder_that_is_not_there_fails() {
    let site = Site::empty();
    let document = site.nrv(&["doctor", "--root", "missing", "--json"]).exits(1).json();
    assert_eq!(check(&document, "workspace")["level"], "fail");
    assert_eq!(check(&document, "worker")["check"], "worker");
}

#[test]
fn a_policy_that_names_a_program_as_an_adapter_is_sound() {
    let site = Site::new(1)
        .policy("[adapters.tool]\nprogram = [\"/usr/bin/python3\", \"dta/tool.py\"]\nglob = [\"**/*.py\"]\n");
    site.script("dta/tool.py", "print(1)\n");
    finds(&site, 0, "policy", "ok", "can be read");
}
