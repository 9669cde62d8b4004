//! Workflows that are shipped with the program: `std:NAME` in place of a file.
#![expect(clippy::disallowed_methods, reason = "tests read records")]

use std::fs;

use serde_json::Value;

use crate::support::site::{NEW, OLD, Site};

const NAME: &str = "std:migrate_links";

/// A committed site without scripts.
fn site() -> Site {
    let site = Site::new(2);
    site.git(&["rm", "-rq", "scripts"]);
    site.commit();
    site
}

fn run(site: &Site, more: &[&str]) -> crate::support::site::Ran {
    let (from, to) = (format!("from={OLD}"), format!("to=https://{NEW}"));
    site.nrv(&[&["run", NAME, "--arg", &from, "--arg", &to], more].concat())
}

#[test]
fn the_listed_workflows_can_be_checked_read_and_asked_for_help() {
    let site = Site::empty();
    let listed = site.nrv(&["scripts", "--shipped", "--json"]).exits(0).json();
    let paths: Vec<&str> = listed.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert!(paths.len() >= 10 && paths.contains(&NAME), "{paths:?}");
    assert!(listed.as_array().unwrap().iter().all(|row| row["summary"].is_string() && row["error"].is_null()));
    site.nrv(&[&["check"][..], &paths].concat()).exits(0).says("nothing is wrong");
    let help = site.nrv(&["run", NAME, "--help"]).exits(0).stdout;
    assert!(help.contains("Usage: nrv run std:migrate_links"), "{help}");
    let text = site.nrv(&["scripts", "--source", NAME]).exits(0).stdout;
    assert_eq!(text, include_str!("../../scripts/migrate_links.rhai"));
    site.nrv(&["run", "std:migrate_link"]).exits(1).says("did you mean `std:migrate_links`?");
    site.nrv(&["test", NAME]).exits(2).says("is shipped without cases");
    site.write(NAME, "print(1);");
    site.nrv(&["run", "./std:migrate_links"]).exits(1).says("the name of a shipped workflow");
}

#[test]
fn one_runs_without_a_file_and_its_record_holds_its_text() {
    let site = site();
    let before = site.tree();
    run(&site, &["--yes"]).exits(0).says("2 files changed and verified");
    let started: Value = serde_json::from_slice(&fs::read(site.last_run().join("run.json")).unwrap()).unwrap();
    let recorded = started.to_string();
    assert!(recorded.contains(NAME) && recorded.contains("Moves every link of a site"), "{recorded}");
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
    site.nrv(&["replay", "last", "--against", NAME]).exits(0).says("agrees");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
    let plan = site.path("../plan.json");
    let (from, to) = (format!("from={OLD}"), format!("to=https://{NEW}"));
    site.nrv(&["plan", NAME, "--arg", &from, "--arg", &to, "-o", plan.to_str().unwrap()]).exits(0);
    site.nrv(&["apply", "--yes", plan.to_str().unwrap()]).exits(0);
}

#[test]
fn a_locked_run_takes_it_only_as_it_was_approved() {
    let site = site();
    run(&site, &["--locked"]).exits(3).says("`std:migrate_links` is not approved");
    site.nrv(&["approve", NAME, "--yes", "--grant", "*"]).exits(0);
    site.nrv(&["approve", "--check"]).exits(0);
    site.git(&["add", "-A"]);
    site.commit();
    run(&site, &["--locked"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    // Another version of the program has another text.
    let lock = String::from_utf8(site.read("nrv.lock")).unwrap();
    let line = lock.lines().skip_while(|line| !line.contains(NAME)).find(|line| line.starts_with("sha256")).unwrap();
    site.write("nrv.lock", lock.replace(line, &format!("sha256 = \"{}\"", "0".repeat(64))));
    run(&site, &["--locked", "--allow-dirty"]).exits(3).says("differs from its approval: it was edited");
    site.nrv(&["approve", NAME, "--remove", "--yes"]).exits(0);
    run(&site, &["--locked", "--allow-dirty"]).exits(3).says("is not approved");
}
