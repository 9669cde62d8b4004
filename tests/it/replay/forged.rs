//! Records with a valid chain and false content: the repeated judgements find them.

use nrv::record::{EVENTS, Head, Runs};
use serde_json::{Value, json};

use super::{ran, replayed};
use crate::support::{
    record::{chained, lines},
    site::Site,
};

/// Rewrites the data of the first record of a kind at a position, with a chain and a head that fit.
fn forge(site: &Site, kind: &str, position: &str, change: impl Fn(&mut Value)) {
    let runs = Runs::of(&site.root());
    let run = runs.open("last").unwrap();
    let mut lines = lines(&run.records().unwrap());
    let told = lines.iter_mut().find(|line| line.kind == kind && line.position == position);
    change(&mut told.unwrap_or_else(|| panic!("there is no `{kind}` at {position}")).data);
    run.write(EVENTS, chained(&mut lines).as_bytes()).unwrap();
    let last = lines.last().unwrap();
    let head = runs.head(run.id()).unwrap().unwrap();
    runs.add_head(&Head { seq: last.seq, hash: last.hash.clone(), ..head }).unwrap();
}

const BODY: &str =
    "nrv.ui.step(\"a\"); nrv.apply.create(\"a\", \"1\\n\"); nrv.run.budget(); nrv.gate.evaluate_command(\"ls\"); 5";

#[track_caller]
fn found(kind: &str, position: &str, change: impl Fn(&mut Value), parting: &str) {
    let site = ran(Site::new(0), BODY, &[], 0);
    forge(&site, kind, position, change);
    let divergence = replayed(&site, &[], 4)["divergence"].clone();
    assert_eq!(divergence["kind"], parting, "{divergence:#}");
    if parting != "end" {
        assert_eq!(divergence["position"], position, "{divergence:#}");
        assert_eq!((&divergence["script"]["path"], &divergence["script"]["line"]), (&json!("t.rhai"), &json!(2)));
    }
}

#[test]
fn what_is_not_true_in_a_whole_record_is_found() {
    found("call", "1", |data| data["args"]["label"] = json!("b"), "call");
    found("call", "1", |data| data["call"] = json!("ui.show"), "call");
    found("call", "1", |data| data["decision"] = json!("warn"), "decision");
    found("judged", "2", |data| data["decision"] = json!("warn"), "change");
    found("judged", "2", |data| data["run_lines_so_far"] = json!(3), "change");
    found("call", "2", |data| data["cost"]["files"] = json!(2), "budget");
    found("call", "3", |data| data["reply"]["files"]["used"] = json!(0), "reply");
    found("call", "4", |data| data["reply"]["decision"] = json!("block"), "reply");
    found("run_finished", "", |data| data["result"] = json!(6), "end");
}

#[test]
fn a_decision_is_compared_with_its_reasons() {
    let site = Site::new(0).policy("[gates.diff_size]\nwarn_lines = 1");
    let site = ran(site, "nrv.apply.create(\"a\", \"1\\n2\\n\"); 5", &[], 0);
    replayed(&site, &[], 0);
    forge(&site, "judged", "1", |data| data["results"][0]["reason"] = json!("no reason"));
    let divergence = replayed(&site, &[], 4)["divergence"].clone();
    assert_eq!(divergence["kind"], "change", "{divergence:#}");
    assert_eq!(divergence["rules"][0]["source"], "line 2 of `nrv.toml`");
    assert!(divergence["reason"].as_str().unwrap().contains("another reason"), "{divergence:#}");
}

#[test]
fn budgets_refuse_again_what_they_refused_and_nothing_else() {
    let body =
        "nrv.ui.step(\"a\"); nrv.apply.create(\"a\", \"1\\n\"); nrv.apply.create(\"b\", \"1\\n\"); nrv.ui.step(\"b\");";
    for (budget, position) in [("calls = 3", "4"), ("files = 1", "3"), ("diff_lines = 1", "3"), ("bytes = 3", "3")] {
        let refused = || {
            let site = Site::new(0).policy(&format!("[budget]\n{budget}\n"));
            ran(site, body, &[], 6)
        };
        assert_eq!(replayed(&refused(), &[], 0)["reach"], "end", "{budget}");
        let name = budget.split(' ').next().unwrap();
        let site = refused();
        // As if the budget had been smaller than it was.
        forge(&site, "call", position, |data| {
            let error = json!({"code": "budget_exhausted", "message": "m", "details": {
                "budget": name, "limit": 1, "used": 0, "asked": 1,
            }});
            data["error"] = error;
        });
        let divergence = replayed(&site, &[], 4)["divergence"].clone();
        assert_eq!((&divergence["kind"], &divergence["position"]), (&json!("budget"), &json!(position)), "{budget}");
    }
    let site = Site::new(0).policy("[budget]\ncalls = 1\n");
    let site = ran(site, "nrv.ui.step(\"a\"); nrv.ui.step(\"b\");", &[], 6);
    forge(&site, "call", "2", |data| {
        let data = data.as_object_mut().unwrap();
        data.remove("error");
        data.insert("reply".to_owned(), Value::Null);
    });
    let divergence = replayed(&site, &[], 4)["divergence"].clone();
    assert_eq!((&divergence["kind"], &divergence["position"]), (&json!("budget"), &json!("2")));
}

#[test]
fn an_event_that_cannot_be_read_is_named_and_vouched_for_by_nobody() {
    type Damage = fn(&mut Value);
    let damage: [(&str, Damage); 3] = [
        ("committed", |data| data["transaction"] = json!(7)),
        ("call", |data| data["results"] = json!("none")),
        ("call", |data| data["decision"] = json!("perhaps")),
    ];
    for (kind, change) in damage {
        let site = ran(Site::new(0), BODY, &[], 0);
        forge(&site, kind, "2", change);
        let said = format!("(`{kind}`) can't be read: ");
        let told = |arguments: &[&str]| {
            let ran = site.nrv(arguments).exits(4);
            assert!(format!("{}{}", ran.stdout, ran.stderr).contains(&said), "{}{}", ran.stdout, ran.stderr);
            ran
        };
        told(&["runs", "verify", "last"]);
        for canonical in [&[][..], &["--canonical"]] {
            let ran = told(&[&["runs", "show", "last"], canonical].concat());
            assert!(ran.stdout.contains("run_started") && ran.stdout.contains("run_finished"), "{}", ran.stdout);
        }
        told(&["--json", "runs", "show", "last"]);
        told(&["replay", "last"]);
        told(&["runs", "attest", "last"]);
        assert!(site.nrv(&["runs", "report", "last"]).stdout.contains("The record is NOT intact"));
        // It is a run of its own.
        told(&["rollback", "last"]);
    }
}

#[test]
fn numbers_that_stand_as_texts_are_read_as_numbers() {
    let commit = "nrv.commit(#{description: \"it stays\", assertion: #{file_exists: \"notes/n.txt\"}, timeout_ms: 9007199254740993});";
    let site = Site::new(0).policy("[evaluators]\nmax_rework = 1e18\nmax_violation_rate = 1e18\n");
    site.write("notes/n.txt", "n\n");
    let site = ran(site, &format!("{commit} {BODY}"), &[], 0);
    assert!(site.nrv(&["runs", "show", "last"]).exits(0).stdout.contains("it stays"));
    site.nrv(&["verify", "last"]).exits(0);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    assert_eq!(replayed(&site, &[], 0)["agrees"], true);
    assert_eq!(site.runs()[0]["state"], "done");
    site.nrv(&["rollback", "last"]).exits(0);
}
