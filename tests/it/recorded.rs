//! Records of the present release, as it wrote them: they are verified, shown, reported, replayed, rolled back and resumed.

use crate::{earlier::recorded, repository, support::site::Site};

/// Every record, with whether its run has changed files that stand.
const RUNS: &[(&str, bool)] =
    &[("applied", true), ("exec", true), ("failed", false), ("llm", false), ("repl", false), ("suspended", true)];

/// A record that says that its run came to its end, or waits, and that a replay agrees with.
fn sound(name: &str) -> Site {
    let site = recorded(name);
    site.nrv(&["runs", "verify", "last"]).exits(0).says("is intact");
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
    site
}

#[test]
fn every_record_is_whole_and_a_replay_agrees() {
    for (name, _) in RUNS {
        sound(name);
    }
}

#[test]
fn every_record_compares_as_it_did() {
    for (name, _) in RUNS {
        let expected = repository::text(&format!("tests/records/{name}.canonical.jsonl")).unwrap();
        let ran = recorded(name).nrv(&["runs", "show", "last", "--canonical"]).exits(0);
        assert!(ran.stdout == expected, "{name}: {}", ran.stdout);
    }
}

#[test]
fn every_record_is_shown_and_reported() {
    for (name, stands) in RUNS {
        let site = recorded(name);
        let shown = site.nrv(&["runs", "show", "last", "--json"]).exits(0).json();
        let events = shown["records"].as_array().unwrap();
        let report = site.nrv(&["runs", "report", "last", "--json"]).exits(0).json();
        assert_eq!((&report["sound"], &report["records"]), (&true.into(), &events.len().into()), "{name}");
        assert_eq!(report["state"], shown["run"]["state"], "{name}");
        let files = report["changes"]["files"].as_array().unwrap();
        assert_eq!(files.iter().any(|file| file["fate"] == "changed"), *stands, "{name}: {files:#?}");
        let facts = report["facts"].to_string();
        assert!(facts.contains("policy") && facts.contains("commit"), "{name}: {facts}");
        assert!(site.nrv(&["runs", "show", "last"]).exits(0).stdout.contains("run_started"), "{name}");
        let listed = site.nrv(&["runs", "list"]).exits(0).stdout;
        assert!(listed.contains(report["run"].as_str().unwrap()), "{name}: {listed}");
        site.nrv(&["runs", "stats"]).exits(0);
    }
}

#[test]
fn what_a_run_applied_is_verified_again_and_rolled_back() {
    let site = sound("applied");
    site.nrv(&["verify", "last"]).exits(0).says("The commitment holds.");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(!site.path("notes/new.txt").exists());
    assert!(String::from_utf8_lossy(&site.read("site/a.html")).contains("http://old.example.com/x"));
}

#[test]
fn what_a_command_changed_is_rolled_back() {
    let site = sound("exec");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(!site.path("notes/made.txt").exists());
}

#[test]
fn of_a_run_that_was_undone_nothing_is_rolled_back() {
    let site = sound("failed");
    let before = site.tree();
    site.nrv(&["rollback", "last"]);
    assert!(site.tree() == before);
}

#[test]
fn a_run_that_waits_is_resumed_and_rolled_back() {
    let site = sound("suspended");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert_eq!(site.read("notes/two.txt"), b"two\n");
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(!site.path("notes/new.txt").exists() && !site.path("notes/two.txt").exists());
}

#[test]
fn a_run_that_waits_is_refused_and_undone() {
    let site = sound("suspended");
    site.nrv(&["resume", "last", "--reject", "c1"]).exits(3);
    assert!(!site.path("notes/new.txt").exists());
}
