//! Commitments, through the binary: other processes check all of them, and no claim of a run changes the result.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod checks;
mod commands;
mod later;

use serde_json::{Value, json};

use crate::support::site::{Ran, Site};

/// Runs a script that may write everything.
fn run(site: &Site, body: &str, more: &[&str]) -> Ran {
    let header = "const WORKFLOW = #{ name: \"c\", permissions: #{ write: [\"**\"] } };";
    site.script("c.rhai", &format!("{header}\n{body}\n"));
    site.nrv(&[&["run", "c.rhai", "--json", "--yes"], more].concat())
}

/// A line of a script that commits to an assertion.
fn commit(description: &str, assertion: &str) -> String {
    format!("nrv.commit(#{{ description: \"{description}\", assertion: #{{ {assertion} }} }});\n")
}

/// The commitments in the result of a run: id, true if it holds, and the reason.
fn told(finished: &Value) -> Vec<(String, Option<bool>, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |one: &Value| (text(&one["id"]), one["ok"].as_bool(), text(&one["reason"]));
    finished["commitments"].as_array().unwrap().iter().map(row).collect()
}

/// The records of a kind in the latest run.
fn events(site: &Site, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["kind"] == kind).collect()
}

#[test]
fn a_run_whose_commitments_hold_is_done() {
    let site = Site::new(2);
    let body = [
        commit("there is a note", "file_exists: \"note.txt\""),
        commit("no old host", "count: #{ pattern: \"old\", glob: \"note.txt\", equals: 0 }"),
        "nrv.apply.create(\"note.txt\", \"new\\n\");".to_owned(),
    ];
    let ran = run(&site, &body.concat(), &[]).exits(0);
    let finished = ran.json();
    let expected = [("k1", "`note.txt` exists"), ("k2", "the pattern occurs nowhere in 1 file")];
    let expected: Vec<_> = expected.map(|(id, reason)| (id.to_owned(), Some(true), reason.to_owned())).to_vec();
    assert_eq!(told(&finished), expected);
    assert_eq!(finished["commitments"][0]["source"], "script");
    ran.says("k1 holds: there is a note (`note.txt` exists)").says("All 2 commitments hold.");
    let verified: Vec<Value> =
        events(&site, "commitment_verified").into_iter().map(|event| event["data"].clone()).collect();
    assert_eq!(verified[1], json!({"id": "k2", "ok": true, "reason": "the pattern occurs nowhere in 1 file"}));
    site.last_ended("done");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn all_are_looked_at_and_one_that_fails_undoes_the_run() {
    let site = Site::new(2);
    let before = |site: &Site| site.tree();
    let body = [
        commit("there is a map", "file_exists: \"map.txt\""),
        commit("there is a note", "file_exists: \"note.txt\""),
        commit("pages stay", "tree_unchanged: \"site/**\""),
        "nrv.apply.create(\"note.txt\", \"new\\n\"); \"I am done\"".to_owned(),
    ];
    site.script("c.rhai", "");
    let ran = run(&site, &body.concat(), &[]).exits(4);
    let finished = ran.json();
    assert_eq!(
        (&finished["state"], &finished["result"], &finished["undone"]),
        (&json!("failed"), &json!(null), &json!(1))
    );
    let seen: Vec<_> = told(&finished).into_iter().map(|(id, ok, _)| (id, ok.unwrap())).collect();
    assert_eq!(seen, [("k1".to_owned(), false), ("k2".to_owned(), true), ("k3".to_owned(), true)]);
    let error = &finished["error"];
    assert_eq!((&error["code"], &error["details"]["commitments"]), (&json!("verification_failed"), &json!(["k1"])));
    let message = "1 of 3 commitments does not hold: `k1`, there is a map: `map.txt` does not exist";
    assert_eq!(error["message"], message);
    assert!(!before(&site).contains_key("note.txt"));
    ran.says("k1 does NOT hold").says("2 of 3 commitments hold.").says("The run was undone");
    assert_eq!(events(&site, "commitment_verified").len(), 3);
    site.last_ended("failed");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_run_that_failed_keeps_its_changes_only_where_that_is_asked_for() {
    let site = Site::new(0);
    let body = commit("there is a map", "file_exists: \"map.txt\"") + "nrv.apply.create(\"note.txt\", \"n\\n\");";
    let finished = run(&site, &body, &["--keep"]).exits(4).json();
    assert_eq!((&finished["state"], &finished["undone"]), (&json!("failed"), &json!(0)));
    assert_eq!(site.read("note.txt"), b"n\n");
}

#[test]
fn a_second_claim_changes_nothing() {
    let site = Site::new(0);
    let one = commit("there is a map", "file_exists: \"map.txt\"");
    let body = format!(
        "{one}let first = nrv.commit(#{{ description: \"x\", assertion: #{{ file_exists: \"c.rhai\" }} }});
        let again = nrv.commit(#{{ description: \"x\", assertion: #{{ file_exists: \"c.rhai\" }} }});
        if first != \"k2\" || again != \"k2\" {{ throw \"it is the same\" }}
        {one}nrv.run.metric(\"done\", 1); #{{ done: true, commitments: [] }}"
    );
    let finished = run(&site, &body, &[]).exits(4).json();
    let seen: Vec<_> = told(&finished).into_iter().map(|(id, ok, _)| (id, ok.unwrap())).collect();
    assert_eq!(seen, [("k1".to_owned(), false), ("k2".to_owned(), true)]);
    assert_eq!(events(&site, "commitment_made").len(), 2);
    // Nor does another run that says the same.
    run(&site, &body, &[]).exits(4);
}

#[test]
fn in_a_dry_run_it_is_what_is_proposed_that_is_looked_at() {
    let site = Site::new(2);
    let before = site.tree();
    let body = [
        commit("there is a note", "file_exists: \"note.txt\""),
        commit("it is JSON", "json_valid: \"data/*.json\""),
        "nrv.apply.create(\"note.txt\", \"n\\n\"); nrv.apply.create(\"data/a.json\", \"{}\");".to_owned(),
    ];
    run(&site, &body.concat(), &["--dry-run"]).exits(0);
    let page = "nrv.apply.remove(\"site/a/p0.html\", nrv.files.sha256(\"site/a/p0.html\"));";
    let body = commit("pages stay", "tree_unchanged: \"site/**\"") + page;
    let finished = run(&site, &body, &["--dry-run"]).exits(4).json();
    assert_eq!(told(&finished)[0].2, "`site/a/p0.html` is gone");
    let mut after = site.tree();
    after.remove("c.rhai");
    assert!(after == before);
    assert!(site.recorded("*/packs/commitments-proposed*").is_empty());
    // A plan is such a run, and none is made of one that is not done.
    let ran = site.nrv(&["plan", "c.rhai", "-o", "p.plan"]).exits(4);
    assert!(!site.path("p.plan").exists(), "{ran:?}");
}

#[test]
fn every_run_meets_what_the_policy_commits_it_to() {
    let policy = "[[commitments]]\ndescription = \"a licence\"\nassertion = { file_exists = \"LICENSE\" }\n
[[commitments]]\ndescription = \"pages stay\"\nassertion = { tree_unchanged = \"site/**\" }\n";
    let site = Site::new(2).policy(policy);
    let finished = run(&site, "1", &[]).exits(4).json();
    assert_eq!(told(&finished)[0], ("k1".to_owned(), Some(false), "`LICENSE` does not exist".to_owned()));
    assert_eq!(finished["commitments"][0]["source"], "policy");
    site.write("LICENSE", "x");
    run(&site, "1", &[]).exits(0);
    // Adapters and patches are runs as well.
    let ran = site.migrate(&["--json"]);
    assert_eq!(ran.exits(4).json()["error"]["details"]["commitments"], json!(["k2"]));
    let patch = "--- /dev/null\n+++ b/site/new.html\n@@ -0,0 +1 @@\n+x\n";
    site.write("x.patch", patch);
    let finished = site.nrv(&["apply", "x.patch", "--yes", "--json"]).exits(4).json();
    assert_eq!(told(&finished)[1].2, "`site/new.html` is new");
    assert!(!site.path("site/new.html").exists());
}

#[test]
fn what_a_policy_commits_to_must_not_stand_in_the_way_of_going_back() {
    let site = Site::new(2);
    run(&site, "nrv.apply.create(\"site/x.html\", \"x\\n\");", &[]).exits(0);
    let site = site.policy("[[commitments]]\ndescription = \"x\"\nassertion = { file_exists = \"site/x.html\" }\n");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(!site.path("site/x.html").exists());
}

#[test]
fn a_policy_whose_assertion_says_nothing_is_refused_with_its_line() {
    let site = Site::new(0);
    site.write(
        "nrv.toml",
        "[[commitments]]\ndescription = \"x\"\nassertion = { count = { pattern = \"(\", glob = \"*\", equals = 0 } }\n",
    );
    let ran = site.nrv(&["scripts"]);
    ran.exits(1).says("invalid_policy").says("/count/pattern").says("`nrv.toml`");
}

#[test]
fn a_plan_carries_what_has_to_hold_when_it_is_applied() {
    let site = Site::new(0);
    let plan = |assertion: Value| {
        let diff = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+new\n";
        let commitment = json!({"description": "it is there", "assertion": assertion, "timeout_ms": 60_000});
        json!({"diffs": [{"path": "a.txt", "unified_diff": diff}], "commitments": [commitment]}).to_string()
    };
    site.write("good.json", plan(json!({"file_exists": "a.txt"})));
    site.write("bad.json", plan(json!({"file_exists": "b.txt"})));
    site.write("wrong.json", plan(json!({"file_exist": "b.txt"})));
    let apply = |name: &str| {
        let body = format!("nrv.apply.plan(nrv.json.parse(nrv.files.read(\"{name}\")), \"write\")");
        run(&site, &body, &[])
    };
    let finished = apply("bad.json").exits(4).json();
    assert_eq!((&finished["commitments"][0]["source"], &finished["undone"]), (&json!("plan"), &json!(1)));
    assert!(!site.path("a.txt").exists());
    let error = &apply("wrong.json").exits(1).json()["error"];
    assert_eq!(
        (&error["code"], &error["details"]["at"]),
        (&json!("invalid_input"), &json!("/commitments/0/assertion/file_exist"))
    );
    // A dry run of a plan commits to nothing.
    let body = "nrv.apply.plan(nrv.json.parse(nrv.files.read(\"bad.json\")), ()); 1";
    assert_eq!(run(&site, body, &[]).exits(0).json()["commitments"], json!([]));
    apply("good.json").exits(0);
    assert_eq!(site.read("a.txt"), b"new\n");
    // A person who applies it gets the same.
    std::fs::remove_file(site.path("a.txt")).unwrap();
    site.nrv(&["apply", "bad.json", "--yes"]).exits(4).says("`b.txt` does not exist");
    site.nrv(&["apply", "good.json", "--yes"]).exits(0).says("The commitment holds.");
}

#[test]
fn a_plan_that_could_not_be_applied_commits_to_nothing() {
    let site = Site::new(0);
    site.write("a.txt", "other\n");
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n";
    let commitment = json!({"description": "it is there", "assertion": {"file_exists": "b.txt"}});
    let plan = json!({"diffs": [{"path": "a.txt", "unified_diff": diff}], "commitments": [commitment]});
    site.write("p.json", plan.to_string());
    let body = "let code = (); try { nrv.apply.plan(nrv.json.parse(nrv.files.read(\"p.json\")), \"write\"); } \
        catch (e) { code = e.code; } code";
    let finished = run(&site, body, &[]).exits(0).json();
    assert_eq!((&finished["result"], &finished["commitments"]), (&json!("patch_rejected"), &json!([])));
}

#[test]
fn a_commitment_that_can_not_be_told_apart_is_refused_when_it_is_made() {
    let site = Site::new(0);
    for (made, at) in [
        ("#{ description: \"\", assertion: #{ file_exists: \"a\" } }", "/description"),
        ("#{ description: \"x\", assertion: #{ file_exists: \"a\" }, timeout_ms: 0 }", "/timeout_ms"),
        ("#{ description: \"x\", assertion: #{} }", "/assertion"),
        (
            "#{ description: \"x\", assertion: #{ count: #{ pattern: \"x\", glob: \"*\", equal: 0 } } }",
            "/assertion/count",
        ),
        ("#{ description: \"x\", assertion: #{ json_valid: 1 } }", "/assertion/json_valid"),
    ] {
        let finished = run(&site, &format!("nrv.commit({made} + #{{}})"), &[]).exits(1).json();
        let error = &finished["error"];
        assert_eq!((&error["code"], &error["details"]["at"]), (&json!("invalid_input"), &json!(at)), "{error}");
    }
    // A script may catch that, and then it has committed to nothing.
    let body = "try { nrv.commit(#{ description: \"x\", assertion: #{} }); } catch (e) { e.code }";
    assert_eq!(run(&site, body, &[]).exits(0).json()["commitments"], json!([]));
}

#[test]
fn events_tell_of_each_commitment_when_it_is_looked_at() {
    let site = Site::new(0);
    let header = "const WORKFLOW = #{ name: \"c\" };\n";
    site.script("c.rhai", &format!("{header}{}", commit("a map", "file_exists: \"map.txt\"")));
    let ran = site.nrv(&["run", "c.rhai", "--events"]).exits(4);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = lines.iter().find(|line| line["event"] == "commitment_verified").unwrap();
    assert_eq!((&told["commitment"]["id"], &told["commitment"]["ok"]), (&json!("k1"), &json!(false)));
    assert_eq!(lines.last().unwrap()["event"], "run_finished");
}
