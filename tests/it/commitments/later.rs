//! Commitments that outlive the process that made them: a run that waits, dies or is over.

use std::{fs, path::PathBuf};

use nrv::{Call, Code, Context, Host, Options, Position, Request, Silent, Workspace, host::Maker};
use serde_json::{Value, json};

use super::{commit, events, run, told};
use crate::support::{
    hold::PATIENT,
    script::program,
    site::{Site, wait_until},
};

/// The result of `nrv verify` on the latest run.
fn verify(site: &Site, code: i32) -> Value {
    site.nrv(&["verify", "last", "--json"]).exits(code).json()
}

#[test]
fn a_run_is_verified_again_in_the_tree_as_it_is() {
    let site = Site::new(4);
    let body = commit("a note", "file_exists: \"note.txt\"")
        + commit("pages stay", "tree_unchanged: \"site/**\"").as_str()
        + "nrv.apply.create(\"note.txt\", \"n\\n\");";
    run(&site, &body, &[]).exits(0);
    let good = verify(&site, 0);
    assert_eq!((&good["passed"], &good["remarks"]), (&json!(true), &json!([])));
    assert_eq!(told(&good)[1].2, "4 files are what they were when the run started");
    let records = site.recorded("**");
    site.write("site/a/p0.html", "changed");
    fs::remove_file(site.path("note.txt")).unwrap();
    let bad = verify(&site, 4);
    let seen = told(&bad);
    assert_eq!((seen[0].2.as_str(), seen[1].2.as_str()), ("`note.txt` does not exist", "`site/a/p0.html` has changed"));
    assert_eq!(bad["remarks"], json!(["`note.txt` is not as the run left it."]));
    let ran = site.nrv(&["verify", "last"]).exits(4).says("0 of 2 commitments hold.");
    assert!(ran.stdout.contains("k1 does NOT hold: a note (`note.txt` does not exist)"), "{}", ran.stdout);
    // Looking leaves nothing behind.
    assert_eq!(site.recorded("**"), records);
}

#[test]
fn adapters_are_verified_along_with_commitments() {
    let site = Site::new(2);
    site.migrate(&[]).exits(0);
    let verified = verify(&site, 0);
    assert_eq!((verified["steps"].as_array().unwrap().len(), &verified["commitments"]), (1, &json!([])));
    site.write("site/a/p0.html", "changed");
    assert_eq!(verify(&site, 4)["passed"], json!(false));
}

#[test]
fn a_run_that_was_undone_says_so() {
    let site = Site::new(0);
    let body = commit("a map", "file_exists: \"map.txt\"") + "nrv.apply.create(\"note.txt\", \"n\\n\");";
    run(&site, &body, &[]).exits(4);
    let verified = verify(&site, 4);
    assert_eq!(verified["remarks"], json!(["The run was undone: what it changed is not in the tree."]));
    run(&site, "1", &["--dry-run"]).exits(0);
    site.nrv(&["verify", "last"]).exits(0).says("It was a dry run").says("nothing that could be verified");
}

#[test]
fn what_an_export_leaves_out_can_not_be_told() {
    let site = Site::new(2);
    run(&site, &commit("pages stay", "tree_unchanged: \"site/**\""), &[]).exits(0);
    site.nrv(&["runs", "export", "last", "-o", "r.nrv-run"]).exits(0);
    fs::remove_dir_all(site.path(".runs")).unwrap();
    site.nrv(&["runs", "import", "r.nrv-run"]).exits(0);
    let verified = verify(&site, 4);
    assert!(told(&verified)[0].2.starts_with("it can't be told: "), "{verified}");
}

#[test]
fn a_run_that_waits_is_not_done_and_keeps_what_it_committed_to() {
    let site = Site::new(2);
    let body = commit("pages stay", "tree_unchanged: \"site/**\"")
        + "nrv.apply.create(\"site/new.html\", \"n\\n\"); nrv.gate.confirm(\"go on\", 1);";
    let header = "const WORKFLOW = #{ name: \"c\", permissions: #{ write: [\"**\"] } };\n";
    site.script("c.rhai", &format!("{header}{body}"));
    let waiting = site.nrv(&["run", "c.rhai", "--json"]).exits(7).json();
    assert_eq!(told(&waiting)[0], ("k1".to_owned(), None, String::new()));
    site.nrv(&["verify", "last"]).exits(1).says("has not come to its end");
    // The present policy holds for the rest of the run.
    site.write("nrv.toml", "[[commitments]]\ndescription = \"a map\"\nassertion = { file_exists = \"map.txt\" }\n");
    site.nrv(&["resume", "last"]).exits(7);
    let finished = site.nrv(&["resume", "last", "--approve", "c2", "--json"]).exits(4).json();
    let seen = told(&finished);
    assert_eq!((seen[0].2.as_str(), seen[1].2.as_str()), ("`site/new.html` is new", "`map.txt` does not exist"));
    assert!(!site.path("site/new.html").exists());
    site.last_ended("failed");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn what_a_script_committed_to_does_not_stand_for_the_same_words_of_the_policy() {
    let hides = "[paths]\nread_deny = [\"hidden/**\"]\n";
    let site = Site::new(2).policy(hides);
    site.write("hidden/a.txt", "bad\n");
    let body = commit("nothing bad", "count: #{ pattern: \"bad\", glob: \"hidden/**\", equals: 0 }")
        + "nrv.gate.confirm(\"go on\", 1);";
    let header = "const WORKFLOW = #{ name: \"c\", permissions: #{ write: [\"**\"] } };\n";
    site.script("c.rhai", &format!("{header}{body}"));
    site.nrv(&["run", "c.rhai"]).exits(7);
    let same = "assertion = { count = { pattern = \"bad\", glob = \"hidden/**\", equals = 0 } }";
    site.write("nrv.toml", format!("{hides}[[commitments]]\ndescription = \"nothing bad\"\n{same}\n"));
    site.nrv(&["resume", "last"]).exits(7);
    let finished = site.nrv(&["resume", "last", "--approve", "c2", "--json"]).exits(4).json();
    // The script's does not look into the file, so that it can't reveal the content to the script.
    let seen: Vec<_> = told(&finished).into_iter().map(|(id, ok, _)| (id, ok.unwrap())).collect();
    assert_eq!(seen, [("k1".to_owned(), true), ("k2".to_owned(), false)]);
}

#[test]
fn a_run_that_dies_while_it_is_verified_is_verified_again_in_full() {
    let site = Site::new(2).policy(PATIENT);
    // A search that takes its time, so that there is a moment to die in.
    for n in 0..40 {
        site.write(&format!("big/{n}.txt"), "a".repeat(1 << 20));
    }
    let slow = "count: #{ pattern: \"(a|aa|aaa)+b\", glob: \"big/**\", equals: 0 }";
    let body = commit("a note", "file_exists: \"note.txt\"")
        + commit("slow", slow).as_str()
        + "nrv.apply.create(\"note.txt\", \"n\\n\");";
    let header = "const WORKFLOW = #{ name: \"c\", permissions: #{ write: [\"**\"] } };\n";
    site.script("c.rhai", &format!("{header}{body}"));
    let mut running = site.start(&["run", "c.rhai", "--yes", "--threads", "1"]);
    let looked = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("\"commitment_verified\""));
    let begun = || site.recorded("*/events.jsonl").iter().any(looked);
    wait_until("the first commitment was looked at", || begun() || running.has_ended());
    running.signal(rustix::process::Signal::KILL);
    running.end();
    assert!(events(&site, "run_finished").is_empty(), "the moment was missed");
    site.nrv(&["recover"]).exits(0);
    site.nrv(&["verify", "last"]).exits(1);
    let finished = site.nrv(&["resume", "last", "--json"]).exits(0).json();
    let seen: Vec<_> = told(&finished).into_iter().map(|(id, ok, _)| (id, ok.unwrap())).collect();
    assert_eq!(seen, [("k1".to_owned(), true), ("k2".to_owned(), true)]);
    assert_eq!(site.read("note.txt"), b"n\n");
    let verified = events(&site, "commitment_verified");
    let first = verified.iter().filter(|event| event["data"]["id"] == "k1").count();
    assert_eq!((first, events(&site, "commitment_made").len()), (2, 2));
    site.last_ended("done");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_program_commits_like_a_script() {
    let site = Site::new(0);
    let options = Options { program: program(), ..Options::default() };
    let context = Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap();
    let mut host = Host::start(&context, Request::program(&context, "own"), &mut Silent).unwrap();
    let call = |path: &str| {
        let assertion = json!({"file_exists": path});
        Call::CommitAdd { description: "it is there".to_owned(), assertion, timeout_ms: None }
    };
    assert_eq!(host.perform(&Position::nth(1), call("none"), &mut Silent).unwrap(), json!("k1"));
    assert_eq!(host.perform(&Position::nth(2), call("none"), &mut Silent).unwrap(), json!("k1"));
    let finished = host.finish(Ok(json!("done")), &mut Silent).unwrap();
    assert_eq!(finished.error.unwrap().code(), Code::VerificationFailed);
    assert_eq!((finished.commitments[0].source, finished.commitments[0].ok), (Maker::Program, Some(false)));
}
