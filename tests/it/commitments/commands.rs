//! Commitments to a command: run when the run ends, on a view of the tree that is thrown away.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{events, told};
use crate::support::site::{Ran, Site};

const ALLOW: &str = "[[exec.allow]]\nprefix = ['sh']\n[[exec.allow]]\nprefix = ['git']\n";

/// A site whose policy allows the shell.
fn site(policy: &str) -> Site {
    Site::new(2).policy(&format!("{policy}\n{ALLOW}"))
}

/// Runs a script that may start the shell.
fn run(site: &Site, body: &str, more: &[&str]) -> Ran {
    let header = "const WORKFLOW = #{ name: \"c\", permissions: #{ write: [\"**\"], exec: [\"sh\", \"git\"] } };";
    site.script("c.rhai", &format!("{header}\n{body}\n"));
    site.nrv(&[&["run", "c.rhai", "--json", "--yes"], more].concat())
}

/// Commits to the exit status of a shell's line.
fn sh(line: &str, more: &str) -> String {
    format!(
        "nrv.commit(#{{ description: \"it succeeds\", assertion: #{{ command: #{{ program: \"sh\", args: [\"-c\", {}]{more} }} }} }});\n",
        Value::from(line)
    )
}

#[test]
fn links_belong_to_a_tree_that_is_to_stay_unchanged() {
    let site = site("");
    let unchanged = "nrv.commit(#{ description: \"site stays\", assertion: #{ tree_unchanged: \"site/**\" } });\n";
    std::os::unix::fs::symlink("a/p0.html", site.path("site/old")).unwrap();
    let links = |line: &str| {
        let line = Value::from(line);
        format!("nrv.exec.run(#{{ program: \"sh\", args: [\"-c\", {line}], writes: [\"site/**\"] }});\n")
    };
    for (line, expected) in [
        ("true", "3 files are what they were when the run started"),
        ("ln -s a/p0.html site/new", "`site/new` is new"),
        ("ln -sfn b/p1.html site/old", "`site/old` has changed"),
        ("rm site/old", "`site/old` is gone"),
        ("rm site/old; printf a/p0.html > site/old", "`site/old` has changed"),
        ("rm site/a/p0.html; ln -s ../b/p1.html site/a/p0.html", "`site/a/p0.html` has changed"),
    ] {
        for body in [format!("{unchanged}{}", links(line)), format!("{}{unchanged}", links(line))] {
            for more in [&[][..], &["--dry-run"]] {
                let finished = run(&site, &body, more).json();
                assert_eq!(told(&finished)[0].2, expected, "{line} {more:?}");
            }
        }
    }
}

#[test]
fn a_command_has_to_end_with_its_status() {
    let site = site("");
    let body = sh("test -f made.txt && test ! -e site/../.runs/x", "")
        + sh("exit 3", ", status: 3").as_str()
        + sh("test $PWD = $(cd ..; pwd)/site && test $A = b", ", cwd: \"site\", env: #{ A: \"b\" }").as_str()
        + "nrv.apply.create(\"made.txt\", \"m\\n\");";
    let finished = run(&site, &body, &[]).exits(0).json();
    let reasons: Vec<String> = told(&finished).into_iter().map(|one| one.2).collect();
    assert_eq!(reasons, ["it ended with status 0", "it ended with status 3", "it ended with status 0"]);
    let ran = &events(&site, "commitment_verified")[0]["volatile"]["ran"];
    assert!(
        ran["program"]["path"].as_str().unwrap().ends_with("sh") && ran["confinement"]["state"].is_string(),
        "{ran}"
    );
    site.last_ended("done");
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["verify", "last"]).exits(0);
    std::fs::remove_file(site.path("made.txt")).unwrap();
    site.nrv(&["verify", "last"]).exits(4).says("2 of 3 commitments hold.");
}

#[test]
fn one_that_fails_is_told_with_what_it_said() {
    let site = site("");
    let body = sh("echo out; echo 'no such page' >&2; exit 1", "") + "nrv.apply.create(\"made.txt\", \"m\\n\");";
    let ran = run(&site, &body, &[]).exits(4);
    let finished = ran.json();
    assert_eq!(told(&finished)[0].2, "it ended with status 1, not 0");
    assert_eq!(finished["commitments"][0]["output"], json!("stdout:\nout\nstderr:\nno such page"));
    assert!(!site.path("made.txt").exists());
    ran.says("  │ no such page");
}

#[test]
fn what_it_changes_is_thrown_away() {
    let site = site("");
    let before = site.tree();
    let body = sh("echo x > made.txt; echo y > site/a/p0.html; mv site gone; mkdir build; exit 0", "")
        + sh("test -e site && test ! -e made.txt", "").as_str();
    run(&site, &body, &[]).exits(0);
    run(&site, &body, &["--dry-run"]).exits(0);
    let mut after = site.tree();
    after.remove("c.rhai");
    assert!(after == before);
    // In a dry run it sees the proposal.
    let body = sh("test \"$(cat new.txt)\" = new && test ! -e site/a/p0.html", "")
        + "nrv.apply.create(\"new.txt\", \"new\\n\"); nrv.apply.remove(\"site/a/p0.html\", nrv.files.sha256(\"site/a/p0.html\"));";
    run(&site, &body, &["--dry-run"]).exits(0);
    run(&site, &body, &[]).exits(0);
}

#[test]
fn one_that_takes_too_long_is_ended_with_all_that_it_started() {
    let site = site("[exec]\ngrace_ms = 100\n");
    let line = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 301; sleep 302\" &) ; sleep 303; sleep 304";
    let body = format!(
        "nrv.commit(#{{ description: \"soon\", timeout_ms: 500, assertion: #{{ command: #{{ program: \"sh\", args: [\"-c\", {}] }} }} }});\n",
        Value::from(line)
    );
    let start = Instant::now();
    let finished = run(&site, &body, &[]).exits(4).json();
    assert_eq!(told(&finished)[0].2, "it took longer than 500 ms");
    assert!(start.elapsed() < Duration::from_secs(60));
    let alive = |name: &str| {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.into_iter().any(|line| line == format!("sleep\0{name}\0").into_bytes())
    };
    assert!(!["301", "302", "303", "304"].into_iter().any(alive));
}

#[test]
fn a_command_that_may_not_be_run_is_refused_when_it_is_committed_to() {
    let site = site("");
    let commit = |program: &str, args: &str| {
        let command = format!("#{{ program: \"{program}\", args: {args} }}");
        let made = format!("nrv.commit(#{{ description: \"x\", assertion: #{{ command: {command} }} }});");
        run(&site, &made, &[]).json()["error"].clone()
    };
    let error = commit("cargo", "[\"test\"]");
    assert_eq!(error["code"], "permission_denied", "{error}");
    // There would be no person to ask.
    let error = commit("git", "[\"reset\", \"--hard\"]");
    assert_eq!(error["code"], "permission_denied", "{error}");
    assert!(error["message"].as_str().unwrap().contains("without asking"), "{error}");
    // A script can commit only to commands that its header permits.
    site.script("h.rhai", &("const WORKFLOW = #{ name: \"h\" };\n".to_owned() + sh("true", "").as_str()));
    let error = site.nrv(&["run", "h.rhai", "--json"]).exits(3).json()["error"].clone();
    assert_eq!(error["code"], "permission_denied", "{error}");
}

#[test]
fn the_policys_own_command_needs_no_header() {
    let policy = "[[commitments]]\ndescription = \"pages are there\"\nassertion = { command = { program = 'sh', args = ['-c', 'test -e site/a/p0.html'] } }\n";
    let site = site(policy);
    site.script("h.rhai", "const WORKFLOW = #{ name: \"h\", permissions: #{ write: [\"**\"] } };\n1");
    site.nrv(&["run", "h.rhai"]).exits(0);
    let remove = "nrv.apply.remove(\"site/a/p0.html\", nrv.files.sha256(\"site/a/p0.html\"));";
    site.script(
        "h.rhai",
        &format!("const WORKFLOW = #{{ name: \"h\", permissions: #{{ write: [\"**\"] }} }};\n{remove}"),
    );
    site.nrv(&["run", "h.rhai"]).exits(4);
    assert!(site.path("site/a/p0.html").exists());
}

#[test]
fn commands_of_commitments_are_paid_for_like_others() {
    let site = site("[budget]\nexec_s = 1\n");
    let body = sh("sleep 5", "") + sh("true", "").as_str();
    let finished = run(&site, &body, &[]).exits(4).json();
    let seen = told(&finished);
    assert!(seen[0].2.contains("exec_s") && seen[1].2.contains("exec_s"), "{seen:?}");
}
