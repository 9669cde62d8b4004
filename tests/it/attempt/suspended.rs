//! A run that stops inside an attempt leaves the tree as it was before the attempt, and goes on as if it had never stopped.

use serde_json::json;

use super::{agrees, calls, events, kinds, site, text};
use crate::support::site::{NEW, OLD, Site, Tree};

/// Changes a file, and then within an attempt and one within that others, before and after it waits for a person.
fn body(ends: &str) -> String {
    format!(
        r#"nrv.apply.create("notes/first.txt", "1\n");
        let links = nrv.dta("link_updater");
        let tried = nrv.attempt(|| {{
            nrv.apply.write("notes/first.txt", "2\n", nrv.files.sha256("notes/first.txt"));
            nrv.apply.create("notes/made.txt", "2\n");
            let inner = nrv.attempt(|| {{
                nrv.apply.remove("notes/old.txt", nrv.files.sha256("notes/old.txt"));
                let proposal = links.propose(#{{ target: #{{ glob: "site/**/*.html" }},
                    params: #{{ from_hosts: ["{OLD}"], to_host: "https://{NEW}" }} }});
                nrv.apply.rename("notes/made.txt", "notes/moved.txt", nrv.files.sha256("notes/made.txt"));
                nrv.gate.confirm("go on", proposal);
                links.apply(proposal);
                nrv.files.read("notes/moved.txt")
            }});
            nrv.apply.create("notes/last.txt", inner.value + nrv.files.exists("notes/old.txt"));
            {ends}
        }});
        nrv.apply.create("notes/end.txt", `${{tried.kept}}\n`);
        tried.kept"#
    )
}

/// The tree of an uninterrupted run.
fn undisturbed(ends: &str) -> Tree {
    let site = site(&body(ends));
    site.nrv(&["run", "tries.rhai", "--yes"]).exits(0);
    site.tree()
}

/// The tree before the attempt: the run's first file is there.
fn before(site: &Site) -> Tree {
    let mut tree = site.tree();
    let mode = tree["notes/old.txt"].1;
    tree.insert("notes/first.txt".to_owned(), ('f', mode, b"1\n".to_vec()));
    tree
}

/// A run that waits inside its attempts, whose changes are set aside; and the tree before it.
#[track_caller]
fn suspended(ends: &str) -> (Site, Tree) {
    let site = site(&body(ends));
    let (untouched, expected) = (site.tree(), before(&site));
    let ran = site.nrv(&["run", "tries.rhai", "--json"]).exits(7);
    assert!(site.tree() == expected, "the attempt's changes are set aside");
    assert_eq!((&ran.json()["files_changed"], &ran.json()["set_aside"]), (&json!(1), &json!(3)));
    site.last_ended("suspended");
    agrees(&site);
    let aside = events(&site).into_iter().find(|event| event["kind"] == "attempt_set_aside").unwrap();
    assert_eq!(aside["data"]["attempt"], "2");
    assert_eq!(aside["data"]["of"], json!(["t2", "t3", "t4", "t5"]));
    (site, untouched)
}

#[test]
fn what_was_set_aside_is_put_back_when_an_approval_lets_the_run_go_on() {
    for ends in ["true", "false"] {
        let (site, untouched) = suspended(ends);
        let report = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
        assert!(report.contains("set aside"), "{report}");
        site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
        assert!(site.tree() == undisturbed(ends), "{ends}");
        site.last_ended("done");
        agrees(&site);
        assert_eq!((kinds(&site, "attempt_set_aside"), kinds(&site, "attempt_put_back")), (1, 1));
        let kept = if ends == "true" { json!({"kept": 2, "undone": 0}) } else { json!({"kept": 1, "undone": 1}) };
        assert_eq!(events(&site).pop().unwrap()["data"]["attempts"], kept);
        assert!(calls(&site).contains(&"2.4.9 attempt.end".to_owned()), "{:?}", calls(&site));
        let report = site.nrv(&["runs", "report", "last", "--json"]).exits(0).json();
        let fates = report["changes"]["files"].as_array().unwrap().iter();
        let set_aside =
            fates.filter(|change| change["fate"] == "set_aside" || change["fate"] == "brought_back").count();
        assert_eq!(set_aside, 0);
        site.nrv(&["rollback", "last"]).exits(0);
        assert!(site.tree() == untouched);
    }
}

#[test]
fn a_detour_does_not_count_as_rework() {
    let changes = |site: &Site| events(site).pop().unwrap()["data"]["changes"].clone();
    let straight = site(&body("true"));
    straight.nrv(&["run", "tries.rhai", "--yes"]).exits(0);
    let (site, _) = suspended("true");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert_eq!(changes(&site), changes(&straight));
    site.nrv(&["dta", "verify", "last"]).exits(0);
}

#[test]
fn a_run_that_is_rejected_inside_an_attempt_is_undone_as_a_whole() {
    let (site, untouched) = suspended("true");
    let ran = site.nrv(&["resume", "last", "--reject", "c1", "--json"]).exits(3);
    assert!(site.tree() == untouched);
    assert_eq!(ran.json()["undone"], 4);
    site.last_ended("failed");
    agrees(&site);
    assert_eq!(events(&site).pop().unwrap()["data"]["attempts"], json!({"kept": 0, "undone": 2}));
}

#[test]
fn a_run_that_waits_inside_an_attempt_can_be_rolled_back() {
    let (site, untouched) = suspended("true");
    let id = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &id]).exits(0);
    assert!(site.tree() == untouched);
}

#[test]
fn files_that_are_set_aside_are_nobodys_until_the_run_goes_on_and_must_be_as_they_were_then() {
    let (site, _) = suspended("true");
    site.write("notes/old.txt", "mine\n");
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(5);
    assert_eq!(ran.json()["error"]["code"], "stale_preimage");
    assert_eq!(ran.json()["error"]["details"]["files"], json!(["notes/old.txt"]));
    // Another run may change them.
    site.script("other.rhai", "const WORKFLOW = #{ name: \"o\", permissions: #{ write: [\"notes/**\"] } };\nnrv.apply.write(\"notes/old.txt\", \"old\\n\", nrv.files.sha256(\"notes/old.txt\"));");
    let waits = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    site.nrv(&["run", "other.rhai"]).exits(0);
    site.nrv(&["resume", &waits, "--approve", "c1"]).exits(0);
    assert!(text(&site, "notes/last.txt").is_some());
}

#[test]
fn an_approval_that_does_not_count_sets_everything_aside_again() {
    let (site, _) = suspended("true");
    let before = site.tree();
    let page = String::from_utf8(site.read("site/a/p0.html")).unwrap();
    site.write("site/a/p0.html", page.replace("a page", "another page"));
    site.nrv(&["resume", "last", "--approve", "c1", "--accept-stale-reads"]).exits(5);
    site.write("site/a/p0.html", page);
    assert!(site.tree() == before);
    site.last_ended("suspended");
    assert_eq!((kinds(&site, "attempt_set_aside"), kinds(&site, "attempt_put_back")), (2, 1));
    // Resuming without an answer waits again, each time.
    for _ in 0..2 {
        site.nrv(&["resume", "last"]).exits(7);
        assert!(site.tree() == before);
    }
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    let mut expected = undisturbed("true");
    let mut found = site.tree();
    expected.remove("tries.rhai");
    found.remove("tries.rhai");
    assert!(found == expected);
    agrees(&site);
}

#[test]
fn a_lock_that_is_not_to_be_had_stops_the_run_inside_its_attempt() {
    let policy = format!("[run]\nlock_wait_ms = 100\n[evaluators]\nfail = []\n{}", crate::support::hold::PATIENT);
    let body = r#"nrv.apply.create("notes/first.txt", "1\n");
        let tried = nrv.attempt(|| {
            nrv.apply.create("notes/made.txt", "2\n");
            nrv.apply.write("notes/old.txt", "2\n", nrv.files.sha256("notes/old.txt"));
        });
        tried.kept"#;
    let site = site(body).policy(&policy);
    // It leaves the file as it was, and holds it.
    let holder = r#"const WORKFLOW = #{ name: "holder", permissions: #{ write: ["notes/**"] } };
nrv.apply.write("notes/old.txt", "held\n", nrv.files.sha256("notes/old.txt"));
nrv.apply.write("notes/old.txt", "old\n", nrv.files.sha256("notes/old.txt"));
nrv.apply.create("notes/ready.txt", "");
while !nrv.files.exists("go") { let i = 0; while i < 10000 { i += 1; } }"#;
    site.script("holder.rhai", holder);
    let running = site.start_heard(&["run", "holder.rhai"]);
    crate::support::site::wait_until("it holds the file", || text(&site, "notes/ready.txt").is_some());
    let still = crate::support::hold::stand_still(&running);
    let before = before(&site);
    site.nrv(&["run", "tries.rhai", "--allow-dirty"]).exits(75);
    assert!(site.tree() == before);
    let waits = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    still.goes_on(&site, "go");
    running.end().exits(0);
    let ran = site.nrv(&["resume", &waits, "--json"]).exits(0);
    assert_eq!(ran.json()["result"], json!(true));
    assert_eq!(text(&site, "notes/old.txt").unwrap(), "2\n");
    site.nrv(&["replay", &waits]).exits(0);
    assert_eq!(kinds(&site, "attempt_put_back"), 1);
}
