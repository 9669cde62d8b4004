//! `nrv.attempt`: its changes are kept or undone together, whatever happens meanwhile.
#![expect(clippy::disallowed_methods, reason = "tests build trees and look at records")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod killed;
mod model;
mod suspended;

use std::fs;

use nrv::{Call, Code, Context, Error, Flags, Host, Options, Positions, Request, Resumption, Silent, State, Workspace};
use serde_json::{Value, json};

use crate::support::site::{NEW, OLD, Ran, Site, Tree};

const RECORD: &str = include_str!("../../schemas/record.schema.json");

/// A site with a script that may write notes and pages.
fn site(body: &str) -> Site {
    let site = Site::new(4).policy("[confirm]\nauto = [\"dta.apply\"]\n[evaluators]\nfail = []\n");
    site.write("notes/old.txt", "old\n");
    let header = "const WORKFLOW = #{ name: \"tries\", permissions: #{ write: [\"notes/**\", \"site/**\"] } };";
    site.script("tries.rhai", &format!("{header}\n{body}\n"));
    site
}

fn events(site: &Site) -> Vec<Value> {
    let text = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let schema = nrv::system::schema::Schema::compile(&serde_json::from_str(RECORD).unwrap()).unwrap();
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        schema.check(&event).unwrap();
        event
    };
    text.lines().map(event).collect()
}

fn kinds(site: &Site, kind: &str) -> usize {
    events(site).iter().filter(|event| event["kind"] == kind).count()
}

/// Runs a script to its end; returns its result and the tree after it. The record is sound, and its replay agrees.
#[track_caller]
fn runs(site: &Site, more: &[&str]) -> (Value, Tree) {
    let ran = site.nrv(&[&["run", "tries.rhai", "--json"], more].concat()).exits(0);
    site.last_ended("done");
    agrees(site);
    (ran.json()["result"].clone(), site.tree())
}

#[track_caller]
fn agrees(site: &Site) -> Ran {
    site.nrv(&["replay", "last"]).exits(0)
}

/// The calls of the last run: position and name.
fn calls(site: &Site) -> Vec<String> {
    let calls = events(site).into_iter().filter(|event| event["kind"] == "call");
    calls
        .map(|event| format!("{} {}", event["position"].as_str().unwrap(), event["data"]["call"].as_str().unwrap()))
        .collect()
}

fn text(site: &Site, name: &str) -> Option<String> {
    fs::read_to_string(site.path(name)).ok()
}

#[test]
fn what_is_kept_stands_and_the_closure_gives_its_value() {
    let site = site(
        r#"let tried = nrv.attempt(|| {
            nrv.apply.create("notes/new.txt", "new\n");
            nrv.files.read("notes/new.txt").len
        });
        nrv.files.exists("notes/new.txt");
        tried"#,
    );
    let (result, _) = runs(&site, &[]);
    assert_eq!(result, json!({"kept": true, "value": 4, "error": null}));
    assert_eq!(text(&site, "notes/new.txt").unwrap(), "new\n");
    let expected = ["1 attempt.begin", "1.1 apply.create", "1.2 files.read", "1.3 attempt.end", "2 files.exists"];
    assert_eq!(calls(&site), expected);
    assert_eq!(events(&site).pop().unwrap()["data"]["attempts"], json!({"kept": 1, "undone": 0}));
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(text(&site, "notes/new.txt"), None);
}

#[test]
fn whatever_a_closure_did_that_throws_is_undone_and_its_error_is_told() {
    for (fails, error) in [
        ("throw \"no\";", json!("no")),
        ("throw #{ message: \"no\", n: 1 };", json!({"message": "no", "n": 1})),
        ("nrv.files.read(\"none\");", json!({"code": "not_found"})),
        ("1 / (notes - 1);", json!({"code": "script_failed", "message": "division by zero: 1 / 0"})),
        (
            "Fn(\"no\" + \"where\").call();",
            json!({"code": "script_failed", "message": "the function `nowhere` does not exist"}),
        ),
        ("throw;", json!({"code": "script_failed"})),
    ] {
        let body = format!(
            r#"let notes = 1;
            let tried = nrv.attempt(|| {{
                nrv.apply.create("notes/new.txt", "new\n");
                nrv.apply.write("notes/old.txt", "newer\n", nrv.files.sha256("notes/old.txt"));
                {fails}
            }});
            [tried, nrv.files.exists("notes/new.txt"), nrv.files.read("notes/old.txt")]"#
        );
        let site = site(&body);
        let before = site.tree();
        let (result, after) = runs(&site, &[]);
        assert!(after == before, "{fails}");
        let tried = &result[0];
        assert_eq!(
            (&tried["kept"], &tried["value"], &result[1], &result[2]),
            (&json!(false), &Value::Null, &json!(false), &json!("old\n"))
        );
        match (error.as_object(), tried["error"].as_object()) {
            (Some(expected), Some(found)) => {
                expected.iter().for_each(|(key, value)| assert_eq!(&found[key], value, "{found:?}"))
            }
            _ => assert_eq!(tried["error"], error),
        }
        assert_eq!((kinds(&site, "committed"), kinds(&site, "undone")), (2, 1));
    }
}

#[test]
fn a_closure_that_gives_false_is_undone_without_an_error() {
    let site = site(r#"nrv.attempt(|| { nrv.apply.create("notes/new.txt", "new\n"); false })"#);
    let before = site.tree();
    let (result, after) = runs(&site, &[]);
    assert!(after == before);
    assert_eq!(result, json!({"kept": false, "value": false, "error": null}));
    let report = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    assert!(report.contains("undone, 1 file"), "{report}");
    let stats = site.nrv(&["runs", "stats", "--json"]).exits(0).json();
    assert_eq!(stats["attempts"], json!({"count": 1, "kept": 0, "undone": 1, "kept_share": 0.0}));
}

#[test]
fn a_run_that_failed_and_keeps_its_changes_was_not_undone_though_an_attempt_was() {
    let site = site(
        r#"nrv.commit(#{ description: "never", assertion: #{ file_exists: "nowhere" } });
        nrv.apply.create("notes/kept.txt", "1\n");
        nrv.attempt(|| { nrv.apply.create("notes/new.txt", "2\n"); false });"#,
    );
    let ran = site.nrv(&["run", "tries.rhai", "--keep"]).exits(4);
    let told = "The changes of 1 file were kept.";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert_eq!((text(&site, "notes/kept.txt").as_deref(), text(&site, "notes/new.txt")), (Some("1\n"), None));
    let report = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    assert!(report.contains(told), "{report}");
    assert_eq!(site.nrv(&["verify", "last", "--json"]).exits(4).json()["remarks"], json!([]));
    assert_eq!(site.nrv(&["runs", "stats", "--json"]).exits(0).json()["rolled_back"], 0);
}

#[test]
fn an_attempt_within_another_goes_with_it() {
    let site = site(
        r#"let outer = nrv.attempt(|| {
            nrv.apply.create("notes/outer.txt", "1\n");
            let inner = nrv.attempt(|| { nrv.apply.create("notes/inner.txt", "2\n"); });
            nrv.apply.write("notes/inner.txt", "3\n", nrv.files.sha256("notes/inner.txt"));
            if inner.kept { throw "all of it" }
        });
        [outer.kept, outer.error]"#,
    );
    let before = site.tree();
    let (result, after) = runs(&site, &[]);
    assert_eq!(result, json!([false, "all of it"]));
    assert!(after == before);
    assert_eq!(calls(&site)[2..5], ["1.2 attempt.begin", "1.2.1 apply.create", "1.2.2 attempt.end"]);
    assert_eq!(events(&site).pop().unwrap()["data"]["attempts"], json!({"kept": 1, "undone": 1}));
}

#[test]
fn an_attempt_that_is_undone_within_one_that_is_kept_leaves_the_rest() {
    let site = site(
        r#"let outer = nrv.attempt(|| {
            nrv.apply.write("notes/old.txt", "1\n", nrv.files.sha256("notes/old.txt"));
            nrv.attempt(|| {
                nrv.apply.write("notes/old.txt", "2\n", nrv.files.sha256("notes/old.txt"));
                nrv.apply.create("notes/inner.txt", "2\n");
                false
            });
            nrv.apply.create("notes/new.txt", nrv.files.read("notes/old.txt"));
        });
        outer.kept"#,
    );
    let (result, _) = runs(&site, &[]);
    assert_eq!(result, json!(true));
    let found = ["old", "inner", "new"].map(|name| text(&site, &format!("notes/{name}.txt")));
    assert_eq!(found, [Some("1\n".to_owned()), None, Some("1\n".to_owned())]);
}

#[test]
fn an_adapter_within_an_attempt_is_undone_with_it() {
    let body = |last: &str| {
        format!(
            r#"let links = nrv.dta("link_updater");
            let input = #{{ target: #{{ glob: "site/**/*.html" }},
                params: #{{ from_hosts: ["{OLD}"], to_host: "https://{NEW}" }} }};
            nrv.attempt(|| {{ links.apply(links.propose(input)); nrv.apply.create("notes/new.txt", "1\n"); {last} }}).kept"#
        )
    };
    let undone = site(&body("false"));
    let before = undone.tree();
    let (result, after) = runs(&undone, &[]);
    assert!(result == json!(false) && after == before);
    assert_eq!(kinds(&undone, "committed"), 2);
    let kept = site(&body("true"));
    let before = kept.tree();
    let (result, mut after) = runs(&kept, &[]);
    after.remove("notes/new.txt");
    assert!(result == json!(true) && after == kept.moved(&before, OLD, NEW));
}

#[test]
fn in_a_dry_run_what_is_undone_is_not_proposed_and_not_seen() {
    let site = site(
        r#"nrv.apply.create("notes/a.txt", "1\n");
        nrv.attempt(|| {
            nrv.apply.write("notes/a.txt", "2\n", nrv.files.sha256("notes/a.txt"));
            nrv.apply.remove("notes/old.txt", nrv.files.sha256("notes/old.txt"));
            nrv.attempt(|| { nrv.apply.create("notes/b.txt", "2\n"); });
            false
        });
        nrv.attempt(|| { nrv.apply.create("notes/c.txt", "3\n"); });
        [nrv.files.read("notes/a.txt"), nrv.files.exists("notes/b.txt"), nrv.files.glob("notes/*")]"#,
    );
    let before = site.tree();
    let (result, after) = runs(&site, &["--dry-run"]);
    assert!(after == before);
    assert_eq!(result, json!(["1\n", false, ["notes/a.txt", "notes/c.txt", "notes/old.txt"]]));
    let patch = fs::read_to_string(site.last_run().join("artifacts/run.patch")).unwrap();
    assert!(patch.contains("notes/a.txt") && patch.contains("+1\n") && patch.contains("notes/c.txt"), "{patch}");
    assert!(!patch.contains("+2") && !patch.contains("notes/old.txt") && !patch.contains("notes/b.txt"), "{patch}");
    let (again, _) = runs(&site, &[]);
    assert_eq!(again, result);
}

#[test]
fn what_ends_a_run_goes_through_an_attempt_and_nothing_of_it_stays() {
    for (ends, code, exit) in [
        ("nrv.gate.require(false, \"never\");", "blocked", 3),
        ("nrv.apply.create(\"other/a.txt\", \"1\\n\");", "permission_denied", 3),
    ] {
        for more in [&[][..], &["--keep"]] {
            let body = format!(
                r#"nrv.apply.create("notes/first.txt", "1\n");
                try {{ nrv.attempt(|| {{ nrv.apply.create("notes/new.txt", "new\n"); {ends} }}); }} catch {{ }}
                nrv.ui.step("never");"#
            );
            let site = site(&body);
            let before = site.tree();
            let ran = site.nrv(&[&["run", "tries.rhai", "--json"], more].concat()).exits(exit);
            assert_eq!(ran.json()["error"]["code"], code);
            site.last_ended("failed");
            agrees(&site);
            assert_eq!(text(&site, "notes/new.txt"), None);
            assert_eq!(text(&site, "notes/first.txt").is_some(), !more.is_empty());
            assert!(!more.is_empty() || site.tree() == before);
            assert_eq!(events(&site).pop().unwrap()["data"]["attempts"], json!({"kept": 0, "undone": 1}));
        }
    }
}

#[test]
fn an_attempt_that_changes_nothing_in_the_end_is_no_trouble() {
    let site = site(
        r#"nrv.attempt(|| false);
        nrv.attempt(|| {
            nrv.apply.create("notes/new.txt", "new\n");
            nrv.apply.remove("notes/new.txt", nrv.files.sha256("notes/new.txt"));
            false
        }).kept"#,
    );
    let before = site.tree();
    let (result, after) = runs(&site, &[]);
    assert!(result == json!(false) && after == before);
}

#[test]
fn a_divergence_within_an_attempt_is_named_with_its_place() {
    let body =
        r#"nrv.attempt(|| { nrv.apply.create("notes/new.txt", "new\n"); nrv.files.exists("notes/old.txt"); false });"#;
    let site = site(body);
    runs(&site, &[]);
    let text = text(&site, "tries.rhai").unwrap();
    site.script("other.rhai", &text.replace("exists(\"notes/old.txt\")", "exists(\"notes/other.txt\")"));
    let ran = site.nrv(&["replay", "last", "--against", "other.rhai", "--json"]).exits(4);
    assert_eq!(
        (&ran.json()["divergence"]["position"], &ran.json()["divergence"]["kind"]),
        (&json!("1.2"), &json!("call"))
    );
    site.script("other.rhai", &text.replace("; false }", "; true }"));
    let ran = site.nrv(&["replay", "last", "--against", "other.rhai", "--json"]).exits(4);
    assert_eq!(ran.json()["divergence"]["position"], "1.3");
}

#[test]
fn canonical_records_sort_attempts_as_people_count() {
    let site = site(
        r#"nrv.attempt(|| { for i in 0..11 { nrv.files.exists(`notes/${i}`); } });
        for i in 0..9 { nrv.files.exists(`${i}`); }"#,
    );
    runs(&site, &[]);
    let ran = site.nrv(&["runs", "show", "last", "--canonical"]).exits(0);
    let mut positions: Vec<String> = Vec::new();
    for line in ran.stdout.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let position = record["position"].as_str().unwrap();
        if !position.is_empty() && positions.last().is_none_or(|last| last != position) {
            positions.push(position.to_owned());
        }
    }
    let within = (1..=12).map(|n| format!("1.{n}"));
    let expected: Vec<String> =
        ["1".to_owned()].into_iter().chain(within).chain((2..=10).map(|n| n.to_string())).collect();
    assert_eq!(positions, expected);
}

#[test]
fn a_file_that_somebody_else_changed_meanwhile_is_not_overwritten_by_undoing() {
    let site = site(
        r#"try {
            nrv.attempt(|| {
                nrv.apply.create("notes/new.txt", "new\n");
                while !nrv.files.exists("go") { let i = 0; while i < 10000 { i += 1; } }
                false
            });
        } catch { nrv.ui.step("never"); }"#,
    );
    let policy = crate::support::hold::PATIENT;
    let site = site.policy(policy);
    let running = site.start_heard(&["run", "tries.rhai", "--json"]);
    crate::support::site::wait_until("the file is there", || text(&site, "notes/new.txt").is_some());
    site.write("notes/new.txt", "mine\n");
    site.write("go", "");
    let ran = running.end().exits(5);
    assert_eq!(ran.json()["error"]["code"], "undo_refused");
    assert_eq!(text(&site, "notes/new.txt").unwrap(), "mine\n");
    site.last_ended("undo_refused");
    assert!(!calls(&site).iter().any(|call| call.ends_with("ui.step")));
    agrees(&site);
}

/// Makes a program's call, numbered like a script's.
fn perform(host: &mut Host<'_>, positions: &mut Positions, call: Call) -> Result<Value, Error> {
    let (position, after) = (positions.take(&call), positions.after(&call));
    let result = host.perform(&position, call, &mut Silent);
    if result.is_ok() {
        *positions = after;
    }
    result
}

fn create(path: &str) -> Call {
    Call::ApplyCreate { path: path.to_owned(), text: "1\n".to_owned() }
}

#[test]
fn a_program_that_leaves_an_attempt_open_keeps_nothing_of_it() {
    for dry_run in [false, true] {
        let site = site("");
        let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
        let request = Request { flags: Flags { dry_run, ..Flags::default() }, ..Request::program(&context, "tries") };
        let mut host = Host::start(&context, request, &mut Silent).unwrap();
        let mut positions = Positions::default();
        let error = perform(&mut host, &mut positions, Call::AttemptEnd { keep: true }).unwrap_err();
        assert_eq!((error.code(), positions.next().as_str()), (Code::InvalidInput, "2"));
        perform(&mut host, &mut positions, create("notes/a.txt")).unwrap();
        perform(&mut host, &mut positions, Call::AttemptBegin {}).unwrap();
        perform(&mut host, &mut positions, create("notes/b.txt")).unwrap();
        perform(&mut host, &mut positions, Call::AttemptBegin {}).unwrap();
        perform(&mut host, &mut positions, create("notes/c.txt")).unwrap();
        let ended = perform(&mut host, &mut positions, Call::AttemptEnd { keep: true }).unwrap();
        assert_eq!((ended, positions.next().as_str()), (json!({"kept": true, "files": 1}), "3.3"));
        let finished = host.finish(Ok(Value::Null), &mut Silent).unwrap();
        assert_eq!((finished.state, finished.files_changed), (State::Done, 1));
        let there = ["a", "b", "c"].map(|name| text(&site, &format!("notes/{name}.txt")).is_some());
        assert_eq!(there, [!dry_run, false, false]);
        assert_eq!(events(&site).pop().unwrap()["data"]["attempts"], json!({"kept": 1, "undone": 1}));
        agrees(&site);
    }
}

#[test]
fn a_program_goes_on_with_a_run_that_died_inside_an_attempt() {
    let site = site("");
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    let mut host = Host::start(&context, Request::program(&context, "tries"), &mut Silent).unwrap();
    let calls = [create("notes/a.txt"), Call::AttemptBegin {}, create("notes/b.txt"), Call::AttemptBegin {}];
    let mut positions = Positions::default();
    for call in &calls {
        perform(&mut host, &mut positions, call.clone()).unwrap();
    }
    let run = host.run_id().to_owned();
    drop(host);
    assert_eq!(nrv::host::recover(&context).unwrap()[0].set_aside, 1);
    assert!(text(&site, "notes/a.txt").is_some() && text(&site, "notes/b.txt").is_none());
    let mut host = Host::resume(&context, &run, &context.policy, Resumption::default(), &mut Silent).unwrap();
    let mut positions = Positions::default();
    let more = [create("notes/c.txt"), Call::AttemptEnd { keep: false }, Call::AttemptEnd { keep: true }];
    for call in calls.iter().chain(&more) {
        perform(&mut host, &mut positions, call.clone()).unwrap();
    }
    assert_eq!(positions.next().as_str(), "3");
    assert_eq!(host.finish(Ok(Value::Null), &mut Silent).unwrap().state, State::Done);
    let there = ["a", "b", "c"].map(|name| text(&site, &format!("notes/{name}.txt")).is_some());
    assert_eq!(there, [true, true, false]);
    site.last_ended("done");
    agrees(&site);
}
