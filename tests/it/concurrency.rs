//! Several runs at once: no edit is lost, and a run waits only if it has to.
//!
//! Still more rounds than the long tier: `NRV_CONCURRENCY_ROUNDS=60 cargo test --test it concurrency:: -- --nocapture`.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read the environment")]
#![expect(clippy::print_stderr, reason = "counts are shown with --nocapture, and a test that skips says so")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use rustix::process::Signal;

use crate::support::{
    hold::stopped_in_transaction,
    long,
    site::{NEW, OLD, Ran, Running, SECOND, Site, invocation},
};

const THIRD: &str = "third.example.com";

fn input(site: &Site, name: &str, glob: &str, from: &str, to: &str) -> String {
    let path = site.root().parent().unwrap().join(name);
    std::fs::write(&path, invocation(glob, from, to).to_string()).unwrap();
    path.display().to_string()
}

fn start(site: &Site, input: &str) -> Running {
    site.start_heard(&["dta", "run", "link_updater", "--input", input, "--yes", "--json"])
}

#[test]
fn two_runs_on_the_same_pages_lose_no_edit() {
    let rounds = long::rounds("NRV_CONCURRENCY_ROUNDS", 2, 18);
    let site = Site::new(60);
    let before = site.tree();
    let mut both = 0;
    for round in 0..rounds {
        let glob = if round % 2 == 0 { "site/**/*.html" } else { "site/a/*.html" };
        let one = input(&site, "one.json", "site/**/*.html", OLD, NEW);
        let two = input(&site, "two.json", glob, SECOND, THIRD);
        let (one, two) = (start(&site, &one), start(&site, &two));
        let (one, two) = (one.end(), two.end());
        let ends = |ran: &Ran| matches!(ran.code, 0 | 5 | 75);
        assert!(ends(&one) && ends(&two), "{one:?} {two:?}");
        assert!(one.code == 0 || two.code == 0, "one of them gets its turn: {one:?} {two:?}");
        let mut expected = before.clone();
        if one.code == 0 {
            expected = site.moved(&expected, OLD, NEW);
        }
        if two.code == 0 {
            let moved = site.moved(&expected, SECOND, THIRD);
            let within = |name: &String| glob.contains("**") || name.starts_with("site/a/");
            expected.extend(moved.into_iter().filter(|(name, _)| within(name)));
        }
        assert!(site.tree() == expected, "round {round}: {one:?} {two:?}");
        both += u32::from(one.code == 0 && two.code == 0);
        for run in site.runs() {
            site.nrv(&["runs", "verify", run["run"].as_str().unwrap()]).exits(0);
        }
        site.reset(&before);
    }
    eprintln!("{rounds} rounds, in {both} of them both runs succeeded");
}

#[test]
fn many_runs_start_at_once_in_a_fresh_workspace() {
    let site = Site::new(4);
    let before = site.tree();
    for _ in 0..long::pick(1, 9) {
        let arguments = ["dta", "run", "link_updater", "--dry-run", "--json", "--input"];
        let file = input(&site, "dry.json", "site/**/*.html", OLD, NEW);
        let all: Vec<Running> =
            (0..6).map(|_| site.start_heard(&[&arguments[..], &[file.as_str()]].concat())).collect();
        for running in all {
            running.end().exits(0);
        }
        let runs = site.runs();
        assert_eq!(runs.len(), 6);
        assert!(runs.iter().all(|run| run["state"] == "done"), "{runs:?}");
        site.reset(&before);
    }
}

#[test]
fn disjoint_runs_go_on_side_by_side_and_others_wait() {
    let site = Site::new(40).policy("[run]\nlock_wait_ms = 300\n");
    let before = site.tree();
    let a = input(&site, "a.json", "site/a/**/*.html", OLD, NEW);
    let b = input(&site, "b.json", "site/b/**/*.html", OLD, NEW);
    let arguments = ["dta", "run", "link_updater", "--yes", "--json", "--input"];
    let with = |file: &'static str| -> Vec<&'static str> { [&arguments[..], &[file]].concat() };
    let stopped = stopped_in_transaction(&site, &[&arguments[..], &[a.as_str()]].concat(), || site.reset(&before));
    // The first run holds its lock and stands still: the second one ends all the same.
    start(&site, &b).end().exits(0);
    let waited = site.nrv_with(
        &[&with("-")[..], &["--allow-dirty"]].concat(),
        &invocation("site/a/*.html", SECOND, THIRD).to_string(),
    );
    let error = waited.exits(75).says("holds the lock on `site/a`").json();
    let holder = error["error"]["details"]["holder"].as_str().unwrap().to_owned();
    assert_eq!(site.runs()[0]["run"], holder);
    assert_eq!(site.runs()[0]["state"], "running");
    stopped.signal(Signal::CONT);
    stopped.end().exits(0);
    assert!(site.tree() == site.moved(&before, OLD, NEW));
}
