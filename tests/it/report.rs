//! `nrv runs report`: its text on each kind of run, and the escaping of records.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod browser;
mod hostile;

use std::fs;

use nrv::system::schema::Schema;
use serde_json::{Value, json};

use crate::support::{
    record::Forged,
    site::{MIGRATE, Site},
};

const SCHEMA: &str = include_str!("../../schemas/report.schema.json");

/// The report of the latest run as JSON, after its schema.
#[track_caller]
fn model(site: &Site) -> Value {
    let report = site.nrv(&["runs", "report", "last", "--json"]).exits(0).json();
    let schema = Schema::compile(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    schema.check(&report).unwrap();
    report
}

/// The page of the latest run.
#[track_caller]
fn page(site: &Site) -> String {
    site.nrv(&["runs", "report", "last", "--html"]).exits(0).stdout
}

/// The text of the latest run.
#[track_caller]
fn text(site: &Site) -> String {
    let text = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");
    text
}

/// Asserts that all of these stand in the text and on the page.
#[track_caller]
fn tells(site: &Site, words: &[&str]) {
    // Where paths and commands may be broken is no part of them.
    let (text, page) = (text(site), page(site).replace("<wbr>", "").replace("</span> <span>", " "));
    for word in words {
        assert!(text.contains(word), "{word:?} is not in the text:\n{text}");
        assert!(page.contains(&word.replace('<', "&lt;").replace('>', "&gt;")), "{word:?} is not on the page:\n{page}");
    }
}

fn part(path: &str, body: &str) -> String {
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{body}")
}

#[test]
fn a_finished_run_is_told_with_its_counts_diffs_and_the_way_back() {
    let site = Site::new(6);
    site.migrate(&[]).exits(0);
    let run = site.runs()[0]["run"].as_str().unwrap().to_owned();
    tells(
        &site,
        &[
            "6 files changed and verified by link_updater",
            "links to update",
            "review the links",
            "site/a/p0.html",
            "hashes match",
            "50,000",
        ],
    );
    tells(&site, &[&format!("nrv rollback {run}"), &format!("nrv runs verify {run}"), &format!("nrv replay {run}")]);
    let report = model(&site);
    assert_eq!((&report["state"], &report["exit_code"], &report["sound"]), (&json!("done"), &json!(0), &json!(true)));
    assert_eq!((&report["changes"]["added"], &report["changes"]["removed"]), (&json!(6), &json!(6)));
    let counts = report["verifications"][0]["counts"].as_array().unwrap();
    let links = counts.iter().find(|row| row["name"] == "links to update").unwrap();
    assert_eq!((&links["before"], &links["after"]), (&json!(6), &json!(0)));
    let confirmation = &report["confirmations"][0];
    assert_eq!((&confirmation["status"], &confirmation["by"]), (&json!("used"), &json!("--yes")));
    let line = &report["changes"]["files"][0]["hunks"][0]["lines"][2];
    assert_eq!((&line["kind"], &line["old"]), (&json!("removed"), &json!(3)));
    let page = page(&site);
    assert!(page.contains("<mark>https</mark>://<mark>new</mark>.example.com"), "{page}");
    assert!(page.contains("<summary>") && page.contains("lang=\"en\""));
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    let site = Site::new(6);
    site.migrate(&[]).exits(0);
    site.nrv(&["runs", "report", "last", "-o", "one.html"]).exits(0);
    let again = page(&site);
    assert!(site.read("one.html") == again.as_bytes());
    assert_eq!(site.nrv(&["runs", "report", "last", "-o", "-"]).exits(0).stdout, again);
    assert_eq!(text(&site), text(&site));
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn the_page_is_a_file_that_no_run_could_not_write() {
    let site = Site::new(1);
    site.migrate(&[]).exits(0);
    let ran = site.nrv(&["runs", "report", "last", "-o", "r.html", "--json"]).exits(0).json();
    assert_eq!(ran["file"], "r.html");
    site.nrv(&["runs", "report", "last", "-o", "nrv.toml"]).exits(3).says("no place for a report");
    site.nrv(&["runs", "report", "last", "-o", ".git/config"]).exits(3);
    site.nrv(&["runs", "report", "2020"]).exits(1).says("there is no run");
}

/// The annotations of the latest run in one form.
#[track_caller]
fn notes(site: &Site, form: &str) -> String {
    site.nrv(&["runs", "report", "last", "--annotations", form]).exits(0).stdout
}

#[test]
fn changed_lines_are_annotated_for_code_hosts() {
    let site = Site::new(1);
    site.nrv(&[&MIGRATE[..6], &["--dry-run"]].concat()).exits(0);
    let dry = notes(&site, "github");
    let expected = "::notice file=site/a/p0.html,line=3,endLine=3,title=nrv change::would be changed by ";
    assert!(dry.starts_with(expected) && dry.lines().count() == 1, "{dry}");
    site.migrate(&[]).exits(0);
    let run = site.runs()[1]["run"].as_str().unwrap().to_owned();
    let message = format!("changed by scripts/migrate_links.rhai in run {run}: 1 added, 1 removed");
    assert_eq!(
        notes(&site, "github"),
        format!("::notice file=site/a/p0.html,line=3,endLine=3,title=nrv change::{message}\n")
    );
    let gitlab: Value = serde_json::from_str(&notes(&site, "gitlab")).unwrap();
    assert_eq!(gitlab[0]["location"], json!({"path": "site/a/p0.html", "lines": {"begin": 3, "end": 3}}));
    assert_eq!((&gitlab[0]["severity"], gitlab.as_array().unwrap().len()), (&json!("info"), 1));
    let sarif: Value = serde_json::from_str(&notes(&site, "sarif")).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("run/change"), &json!("note")));
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][0]["id"], "run/change");
    assert_eq!(
        result["locations"][0]["physicalLocation"]["region"],
        json!({"startLine": 3, "startColumn": 1, "endLine": 3})
    );

    site.nrv(&["runs", "report", "last", "--annotations", "sarif", "-o", "notes.sarif"]).exits(0);
    assert_eq!(String::from_utf8(site.read("notes.sarif")).unwrap(), notes(&site, "sarif"));
    site.nrv(&["runs", "report", "last", "--annotations", "sarif", "--html"]).exits(2);
}

#[test]
fn why_a_run_failed_is_annotated_in_its_script() {
    let site = Site::new(1);
    site.script("scripts/x.rhai", "//! Fails.\n\nthrow \"100% wrong\";\n");
    site.nrv(&["run", "scripts/x.rhai"]).exits(1);
    assert_eq!(
        notes(&site, "github"),
        "::error file=scripts/x.rhai,line=3,endLine=3,title=nrv script_failed::100%25 wrong\n"
    );
    let gitlab: Value = serde_json::from_str(&notes(&site, "gitlab")).unwrap();
    assert_eq!((&gitlab[0]["severity"], &gitlab[0]["check_name"]), (&json!("major"), &json!("nrv/script_failed")));
}

#[test]
fn a_dry_run_shows_what_it_would_change_and_ask() {
    let site = Site::new(4);
    site.nrv(&[&MIGRATE[..6], &["--dry-run"]].concat()).exits(0);
    tells(&site, &["4 files would change", "nothing was written", "would change", "review the links", "dry-run"]);
    let report = model(&site);
    assert_eq!(report["changes"]["files"][0]["fate"], "would_change");
    assert_eq!(report["would_ask"][0], "review the links");
    assert!(!text(&site).contains("nrv rollback"));
}

#[test]
fn a_failed_run_shows_the_error_its_place_and_what_was_undone() {
    let site = Site::new(2);
    let script = "const WORKFLOW = #{ name: \"f\", permissions: #{ write: [\"**\"] } };\n\
        nrv.apply.create(\"a/new.txt\", \"one\\n\");\n\
        nrv.apply.create(\"b.txt\", \"two\\n\"); throw \"it broke: <b>here</b>\";\n";
    site.script("fails.rhai", script);
    site.nrv(&["run", "fails.rhai", "--yes"]).exits(1);
    tells(
        &site,
        &["script_failed", "it broke: <b>here", "fails.rhai:3", "2 files brought back", "a/new.txt", "undone"],
    );
    let report = model(&site);
    assert_eq!(report["changes"]["files"][0]["fate"], "undone");
    assert_eq!(report["changes"]["files"][0]["remark"], "created");
    // Changes by scripts are told together, however many they are.
    assert_eq!(
        (report["verifications"].as_array().unwrap().len(), &report["verifications"][0]["counts"][1]["after"]),
        (1, &json!(2))
    );
    assert!(!text(&site).contains("nrv rollback"));
}

#[test]
fn a_suspended_run_says_what_it_waits_for_and_how_to_go_on() {
    let site = Site::new(2);
    site.nrv(&MIGRATE[..6]).exits(7);
    let run = site.runs()[0]["run"].as_str().unwrap().to_owned();
    tells(
        &site,
        &["suspended", "waits for the confirmation", "review the links", &format!("nrv resume {run} --approve c1")],
    );
    let report = model(&site);
    assert_eq!((&report["waits_for"]["id"], &report["exit_code"]), (&json!("c1"), &json!(7)));
    assert_eq!(report["changes"]["files"][0]["fate"], "proposed");
    assert_eq!(report["confirmations"][0]["status"], "pending");
}

#[test]
fn a_blocked_run_shows_the_gate_and_what_would_satisfy_it() {
    let site = Site::new(2).policy("[gates.diff_size]\nblock_lines = 1\n");
    site.migrate(&[]).exits(3);
    tells(&site, &["diff-size", "block", "blocked"]);
    let report = model(&site);
    assert_eq!(report["decisions"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!((&report["state"], &report["decisions"][0]["decision"]), (&json!("failed"), &json!("block")));
    assert!(
        report["decisions"][0]["position"] == "6" && report["decisions"][0]["remediation"].is_string(),
        "{report:#}"
    );
}

#[test]
fn a_rollback_names_its_parent_and_the_files() {
    let site = Site::new(3);
    site.migrate(&[]).exits(0);
    let parent = site.runs()[0]["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", "last"]).exits(0);
    tells(&site, &[&parent, "3 files brought back.", "site/a/p0.html", "rolls back"]);
    assert_eq!(model(&site)["changes"]["files"][0]["fate"], "brought_back");
}

#[test]
fn a_record_without_contents_says_what_is_missing() {
    let site = Site::new(3);
    site.migrate(&[]).exits(0);
    site.nrv(&["runs", "export", "last", "-o", "run.nrv-run"]).exits(0);
    let other = Site::new(0);
    fs::copy(site.path("run.nrv-run"), other.path("run.nrv-run")).unwrap();
    other.nrv(&["runs", "import", "run.nrv-run"]).exits(0);
    tells(&other, &["3 files changed and verified by link_updater", "imported without contents", "site/a/p0.html"]);
    assert!(page(&other).contains("the diff is not in this record"));
    let report = model(&other);
    assert_eq!((&report["sound"], report["missing"].as_array().unwrap().len()), (&json!(true), 1));
    // The number of changed lines is known without them.
    let whole = model(&site);
    for place in ["/changes/added", "/changes/removed", "/changes/files/2/added"] {
        assert_eq!((report.pointer(place), report.pointer(place) != Some(&json!(0))), (whole.pointer(place), true));
    }
    assert!(!text(&other).contains("nrv rollback"));
}

#[test]
fn a_record_that_was_edited_is_told_as_such() {
    let site = Site::new(3);
    site.migrate(&[]).exits(0);
    let events = site.last_run().join("events.jsonl");
    let edited = fs::read_to_string(&events).unwrap().replace("\"exit_code\":0", "\"exit_code\":1");
    fs::write(&events, edited).unwrap();
    tells(&site, &["was altered"]);
    assert!(text(&site).contains("The record is NOT intact"));
    assert!(page(&site).contains("The record is NOT intact"));
    fs::write(&events, "no record\n").unwrap();
    site.nrv(&["runs", "report", "last"]).exits(4);
}

#[test]
fn a_run_that_died_and_one_that_never_began_have_a_report() {
    let site = Site::new(1);
    let mut died = Forged::script(&site);
    died.call(1, "files.read", &json!({"path": "a"}));
    drop(died);
    tells(&site, &["process died", "interrupted", "nrv recover"]);
    assert_eq!(model(&site).get("exit_code"), None);
    let site = Site::new(1);
    site.write(".runs/20200101T000000Z-0001/run.json", "{}");
    tells(&site, &["no events"]);
    model(&site);
}

#[test]
fn ten_thousand_calls_are_a_page_that_a_phone_can_open() {
    let site = Site::new(1);
    let mut many = Forged::script(&site);
    for n in 1..=10_000 {
        many.call(n, if n % 2 == 0 { "files.read" } else { "apply.write" }, &json!({"path": format!("file-{n}.txt")}));
    }
    many.end(&site, "done", &json!({"calls": 10_000}));
    let page = page(&site);
    assert!(page.len() < 60_000, "{}", page.len());
    assert!(page.contains("10,000 calls") && page.contains("5,000 apply.write, 5,000 files.read"), "{page}");
    assert!(page.contains("1–10000"));
    let site = Site::new(1);
    let mut failing = Forged::script(&site);
    for n in 1..=2000 {
        let error = json!({"code": "not_found", "message": "no"});
        failing.event(n, "call", json!({"call": "files.read", "args": {}, "decision": "allow", "error": error}));
    }
    failing.end(&site, "done", &json!({}));
    let rows = model(&site)["timeline"].as_array().unwrap().len();
    assert!(rows <= 301, "{rows}");
    tells(&site, &["1,702 rows left out"]);
}

#[test]
fn a_resumed_run_shows_its_sessions_and_who_approved() {
    let site = Site::new(1);
    let mut run = Forged::script(&site);
    let asked = json!({"id": "c1", "label": "go on?", "subject": "11".repeat(32), "patch_sha256": "22".repeat(32), "policy_sha256": "33".repeat(32)});
    run.event(1, "confirmation_pending", asked.clone());
    run.event("", "run_suspended", json!({"state": "suspended", "exit_code": 7}));
    let approved = json!({"id": "c1", "by": "ada", "reason": "looked at it"});
    run.event(
        "",
        "run_resumed",
        json!({"policy_changed": true, "accepted_stale_reads": ["a.txt"], "approved": approved}),
    );
    let mut granted = asked;
    granted["by"] = json!("ada");
    granted["reason"] = json!("looked at it");
    run.event(1, "confirmation_granted", granted);
    run.end(&site, "done", &json!({}));
    tells(&site, &["run resumed", "ada", "looked at it", "the policy had changed", "1 file that had changed"]);
    let report = model(&site);
    assert_eq!(report["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(report["sessions"][0]["state"], "suspended");
    assert_eq!(report["confirmations"].as_array().unwrap().len(), 1);
    assert_eq!(report.get("waits_for"), None);
}

#[test]
fn evaluations_outside_calls_and_budgets_are_shown() {
    let site = Site::new(1);
    let mut run = Forged::script(&site);
    let call = json!({
        "call": "custom", "args": {"name": "tickets.close", "params": {"id": 7}}, "decision": "allow", "reply": 1,
        "cost": {"files": 2500, "exec_ms": 1500},
    });
    run.event(1, "call", call);
    let evaluation =
        |name: &str, passed: bool| json!({"evaluator": name, "passed": passed, "value": 3, "limit": 2, "details": {}});
    run.end(
        &site,
        "done",
        &json!({"evaluations": [evaluation("tests-pass", true), evaluation("violation-rate", false)]}),
    );
    tells(&site, &["tests-pass", "violation-rate", "tickets.close", "2,500"]);
    let report = model(&site);
    assert_eq!(report["budget"][1], json!({"name": "files", "used": 2500.0, "limit": 5000.0}));
    assert!(page(&site).contains("<rect class=\"used\" width=\"500\""), "{}", page(&site));
    assert_eq!(report["evaluations"][1]["passed"], false);
}

#[test]
fn a_file_that_was_changed_twice_and_undone_once_is_told_apart() {
    let site = Site::new(1);
    let mut run = Forged::script(&site);
    let patch = part("f", "@@ -1 +1 @@\n-a\n+b\n");
    run.committed(1, "t1", &[("f", &patch)]);
    run.committed(2, "t2", &[("f", &patch)]);
    let before = json!({"sha256": format!("{:064x}", 0), "mode": 0o644, "length": 100});
    run.event(2, "undone", json!({"transaction": "t3", "entries": [{"path": "f", "before": null, "after": before}]}));
    run.end(&site, "done", &json!({}));
    let files = model(&site)["changes"]["files"].clone();
    assert_eq!((&files[0]["fate"], &files[1]["fate"]), (&json!("changed"), &json!("undone")));
}

#[test]
fn a_large_diff_is_cut_and_says_where_all_of_it_is() {
    let site = Site::new(1);
    let mut run = Forged::script(&site);
    let lines: String = (0..5000).map(|n| format!("+line {n}\n")).collect();
    run.committed(1, "t1", &[("big.txt", &part("big.txt", &format!("@@ -0,0 +1,5000 @@\n{lines}")))]);
    run.end(&site, "done", &json!({"files_changed": 1, "diff_lines": 5000}));
    let report = model(&site);
    let file = &report["changes"]["files"][0];
    assert_eq!((&file["added"], &file["left_out"]), (&json!(5000), &json!(4000)));
    assert!(page(&site).contains("4,000 more lines") && page(&site).contains("packs/t1/patch"));
}
