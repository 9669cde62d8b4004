//! `nrv resume`: finished calls of a run are not repeated, and its reads are checked before it goes on.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]
#![expect(clippy::print_stderr, reason = "times are shown with --nocapture")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod program;

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use nrv::system::schema::Schema;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    hold::{PATIENT, held_script, stand_still},
    long,
    site::{NEW, OLD, Ran, SECOND, Site, invocation, wait_until},
};

const RECORD: &str = include_str!("../../schemas/record.schema.json");

/// A run that changes a file, waits for a person, changes pages and another file.
const STEPS: &str = r#"
const WORKFLOW = #{ name: "steps", permissions: #{ write: ["notes/**", "site/**"] } };
let pages = nrv.files.glob(["site/**/*.html", "*.md"]);
let word = nrv.files.read("word.txt");
nrv.apply.create("notes/one.txt", word);
let links = nrv.dta("link_updater");
let proposal = links.propose(#{ target: #{ glob: "site/**/*.html" },
    params: #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" } });
nrv.run.metric("pages", pages.len());
print("before");
nrv.gate.confirm("move the links", proposal);
print("after");
links.apply(proposal);
nrv.apply.create("notes/two.txt", `${pages.len()} pages, ${word}`);
nrv.files.read("notes/two.txt")
"#;

fn steps(policy: &str) -> Site {
    let site = Site::new(4).policy(policy);
    site.write("word.txt", "word\n");
    site.script("steps.rhai", STEPS);
    site
}

/// The tree of an uninterrupted run.
fn expected() -> crate::support::site::Tree {
    let site = steps("");
    site.nrv(&["run", "steps.rhai", "--yes"]).exits(0);
    site.tree()
}

fn suspended(policy: &str) -> Site {
    let site = steps(policy);
    let ran = site.nrv(&["run", "steps.rhai"]).exits(7);
    assert!(ran.stderr.contains("--approve c1"), "{}", ran.stderr);
    site
}

fn events(site: &Site) -> Vec<Value> {
    let text = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let schema = Schema::compile(&serde_json::from_str(RECORD).unwrap()).unwrap();
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

fn durable(site: &Site, arguments: &[&str]) -> Ran {
    let program = std::path::Path::new(crate::repository::nrv()).with_file_name("examples").join("durable");
    assert!(program.exists(), "build it first: `cargo build --example durable`");
    let mut command = Command::new(program);
    let output = site.tame(&mut command).arg(site.root()).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn letters(site: &Site) -> Vec<String> {
    let text = fs::read_to_string(site.root().with_file_name("letters")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn an_approved_run_goes_on_where_it_waited() {
    let site = suspended("");
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--by", "ann", "--reason", "fine"]).exits(0);
    let printed = |word: &str| ran.stderr.lines().any(|line| line == word);
    assert!(printed("after") && !printed("before"), "{ran:?}");
    assert!(site.tree() == expected());
    site.last_ended("done");
    assert_eq!((kinds(&site, "run_resumed"), kinds(&site, "committed")), (1, 3));
    let finished = events(&site).pop().unwrap();
    assert_eq!((&finished["data"]["calls"], &finished["data"]["metrics"]["pages"]), (&json!(9), &json!(4)));
    let granted = events(&site).into_iter().find(|event| event["kind"] == "confirmation_granted").unwrap();
    assert_eq!((&granted["data"]["by"], &granted["data"]["reason"]), (&json!("ann"), &json!("fine")));
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(1).says("is over: it ended as `done`");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == steps("").tree());
}

#[test]
fn a_run_goes_on_in_another_folder_and_every_effect_is_there_once() {
    const SENDS: &str = r#"
const WORKFLOW = #{ name: "sends", permissions: #{ write: ["notes/**"], calls: ["post.send", "house.build"] } };
nrv.custom("post.send", #{ name: "one" });
nrv.custom("house.build", #{ name: "one" });
nrv.apply.create("notes/one.txt", "1\n");
nrv.gate.confirm("go on", "go on");
nrv.apply.create("notes/two.txt", "2\n");
nrv.custom("post.send", #{ name: "two" });
"#;
    let policy = "[confirm]\nmode = \"policy\"\n";
    let here = Site::new(2).policy(policy);
    here.script("sends.rhai", SENDS);
    durable(&here, &["run", "sends.rhai"]).exits(7);
    assert_eq!(letters(&here), ["1 \"one\""]);
    here.nrv(&["runs", "export", "last", "-o", "../run.nrv-run", "--with-contents"]).exits(0);
    let there = Site::new(2).policy(policy);
    there.script("sends.rhai", SENDS);
    there.reset(&here.tree());
    let file = here.root().with_file_name("run.nrv-run");
    there.nrv(&["runs", "import", file.to_str().unwrap()]).exits(0);
    durable(&there, &["resume", "last", "--approve", "c1"]).exits(0);
    assert_eq!(letters(&there), ["6 \"two\""]);
    assert_eq!((there.read("notes/one.txt"), there.read("notes/two.txt")), (b"1\n".to_vec(), b"2\n".to_vec()));
    assert!(!there.root().with_file_name("builds").exists());
    there.last_ended("done");
    // A run that was imported without contents can't resume.
    here.nrv(&["runs", "export", "last", "-o", "../bare.nrv-run", "--without-contents"]).exits(0);
    let bare = Site::new(2).policy(policy);
    bare.nrv(&["runs", "import", here.root().with_file_name("bare.nrv-run").to_str().unwrap()]).exits(0);
    bare.nrv(&["resume", "last", "--approve", "c1"]).exits(1).says("--with-contents");
}

#[test]
fn an_approval_does_not_count_after_a_file_was_edited() {
    let site = suspended("");
    let page = String::from_utf8(site.read("site/a/p0.html")).unwrap();
    site.write("site/a/p0.html", page.replace("a page", "another page"));
    let before = site.tree();
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(5);
    assert_eq!(ran.json()["error"]["details"]["files"], json!(["site/a/p0.html"]));
    site.nrv(&["resume", "last", "--approve", "c1", "--accept-stale-reads"]).exits(5).says("site/a/p0.html");
    assert!(site.tree() == before);
    site.write("site/a/p0.html", page);
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(site.tree() == expected());
    site.last_ended("done");
}

#[test]
fn a_file_that_the_run_changed_and_somebody_else_since_stops_it() {
    let site = suspended("");
    site.write("notes/one.txt", "mine\n");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(5).says("`notes/one.txt` changed since the run left it");
    site.nrv(&["resume", "last", "--reject", "c1"]).exits(5).says("notes/one.txt");
    assert_eq!(site.read("notes/one.txt"), b"mine\n");
}

#[test]
fn each_question_is_one_and_each_answer_is_to_one() {
    let site = Site::new(1);
    let body = "const WORKFLOW = #{ name: \"asks\", permissions: #{ write: [] } };\n\
                for n in 0..2 { nrv.gate.confirm(\"send one more\", 1); }\n";
    site.script("asks.rhai", body);
    site.nrv(&["run", "asks.rhai"]).exits(7).says("--approve c1");
    // Going on without an answer asks nothing new.
    site.nrv(&["resume", "last"]).exits(7).says("--approve c1");
    assert_eq!(kinds(&site, "confirmation_pending"), 1);
    // The second question has the same words and is another one.
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(7).says("--approve c2");
    site.nrv(&["resume", "last", "--approve", "c2"]).exits(0);
    assert_eq!((kinds(&site, "confirmation_pending"), kinds(&site, "confirmation_granted")), (2, 2));
}

#[test]
fn a_rejected_run_is_undone() {
    let before = steps("").tree();
    let site = suspended("[run]\non_failure = \"keep\"\n");
    site.nrv(&["resume", "last", "--reject", "c2"]).exits(3).says("was not asked for");
    let ran = site.nrv(&["resume", "last", "--reject", "c1", "--reason", "no"]).exits(3).says("was refused");
    assert!(!ran.stderr.contains("policy"), "{}", ran.stderr);
    let resumed = events(&site).into_iter().find(|event| event["kind"] == "run_resumed").unwrap();
    assert_eq!(resumed["data"]["policy_changed"], json!(false));
    fs::remove_file(site.path("nrv.toml")).unwrap();
    site.write("nrv.toml", "");
    assert!(site.tree() == before);
    site.last_ended("failed");
    site.nrv(&["resume", "last"]).exits(1).says("is over: it ended as `failed`");
}

#[test]
fn what_the_run_read_is_read_again_as_it_was_then() {
    let site = suspended("");
    site.write("word.txt", "other\n");
    site.write("more.md", "# More\n");
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(5);
    let reads = &ran.json()["error"]["details"]["reads"];
    assert_eq!(
        *reads,
        json!([{"what": "site/**/*.html *.md", "position": "1"}, {"what": "word.txt", "position": "2"}])
    );
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--accept-stale-reads"]).exits(0);
    ran.says("2 results that the run read have changed; it goes on with what it read.");
    assert_eq!(site.read("notes/two.txt"), b"4 pages, word\n");
    let resumed = events(&site).into_iter().find(|event| event["kind"] == "run_resumed").unwrap();
    assert_eq!(resumed["data"]["accepted_stale_reads"], *reads);
    site.last_ended("done");
}

#[test]
fn a_single_result_that_has_changed_is_told_as_one() {
    let site = suspended("");
    site.write("word.txt", "other\n");
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--accept-stale-reads"]).exits(0);
    ran.says("1 result that the run read has changed; it goes on with what it read.");
}

#[test]
fn what_the_run_itself_changed_after_reading_it_is_not_stale() {
    let site = Site::new(0).policy("[evaluators]\nfail = []\n");
    site.write("a.txt", "1\n");
    let script = r#"
const WORKFLOW = #{ name: "own", permissions: #{ write: ["**"] } };
nrv.files.exists("new");
let one = nrv.files.read("a.txt");
nrv.files.glob(["*.txt"]);
nrv.apply.write("a.txt", "2\n", nrv.files.sha256("a.txt"));
nrv.files.read("a.txt");
nrv.apply.create("new/b.txt", "b\n");
nrv.files.grep("b", ["new/*"]);
nrv.apply.rename("a.txt", "c.txt", nrv.files.sha256("a.txt"));
nrv.files.glob(["*.txt"]);
nrv.gate.confirm("go on", 1);
nrv.apply.remove("c.txt", nrv.files.sha256("c.txt"));
one
"#;
    site.script("own.rhai", script);
    site.nrv(&["run", "own.rhai"]).exits(7);
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(0);
    assert_eq!(ran.json()["result"], "1\n");
    assert!(!site.path("a.txt").exists() && !site.path("c.txt").exists() && site.path("new/b.txt").exists());
    site.last_ended("done");
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(site.read("a.txt"), b"1\n");
}

#[test]
fn the_recorded_script_runs_whatever_stands_in_its_file() {
    let site = suspended("");
    site.write("steps.rhai", "const WORKFLOW = #{ name: \"other\" };\nthrow \"no\";\n");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    site.write("steps.rhai", STEPS);
    assert!(site.tree() == expected());
}

#[test]
fn a_policy_that_was_tightened_meanwhile_blocks_and_is_named() {
    let site = suspended("");
    site.write("nrv.toml", "[paths]\ndeny = [\"notes/two.txt\"]\n");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(3).says("the policy has changed since");
    let ran = site.nrv(&["resume", "last"]).exits(7).says("what either forbids is forbidden");
    assert!(ran.stderr.contains("--approve c2"), "{}", ran.stderr);
    site.nrv(&["resume", "last", "--approve", "c2"]).exits(3).says("`paths.deny`");
    fs::write(site.path("nrv.toml"), "").unwrap();
    assert!(site.tree() == steps("").tree(), "all of it was undone");
    let resumed: Vec<Value> = events(&site).into_iter().filter(|event| event["kind"] == "run_resumed").collect();
    assert!(resumed.iter().all(|event| event["data"]["policy_changed"] == true), "{resumed:?}");
    site.last_ended("failed");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_policy_that_was_loosened_meanwhile_changes_nothing() {
    let site = steps("[paths]\ndeny = [\"notes/two.txt\"]\n");
    site.nrv(&["run", "steps.rhai"]).exits(7);
    site.write("nrv.toml", "");
    site.nrv(&["resume", "last"]).exits(7);
    site.nrv(&["resume", "last", "--approve", "c2"]).exits(3).says("`paths.deny`");
}

#[test]
fn patches_and_adapters_on_the_command_line_go_on_too() {
    let site = Site::new(3);
    site.write("notes/a.txt", "old\n");
    site.commit();
    site.write("../a.patch", "--- a/notes/a.txt\n+++ b/notes/a.txt\n@@ -1 +1 @@\n-old\n+new\n");
    site.nrv(&["apply", "../a.patch"]).exits(7);
    let ran = site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(ran.stdout.contains("M notes/a.txt"), "{}", ran.stdout);
    assert_eq!(site.read("notes/a.txt"), b"new\n");
    site.last_ended("done");
    site.commit();
    let input = invocation("site/**/*.html", OLD, NEW).to_string();
    site.nrv_with(&["dta", "run", "link_updater", "--input", "-"], &input).exits(7);
    let before = site.tree();
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(site.tree() == site.moved(&before, OLD, NEW));
    site.last_ended("done");
}

#[test]
fn what_was_applied_when_the_run_died_is_verified() {
    let site = Site::new(40).policy(PATIENT);
    site.script("held.rhai", &held_script("", "", "\"done\""));
    let before = site.tree();
    site.write("go", "");
    for _ in 0..20 {
        let running = site.start(&["run", "held.rhai", "--yes", "--allow-dirty"]);
        let recorded = |kind: &str| {
            site.recorded("*/events.jsonl")
                .pop()
                .and_then(|path| fs::read_to_string(path).ok())
                .is_some_and(|text| text.contains(kind))
        };
        wait_until("it was applied", || recorded("\"kind\":\"committed\""));
        running.signal(Signal::KILL);
        running.end();
        if kinds(&site, "dta_verified") == 0 {
            break;
        }
        fs::remove_dir_all(site.path(".runs")).unwrap();
        site.reset(&before);
        site.write("go", "");
    }
    assert_eq!(kinds(&site, "dta_verified"), 0, "it was never killed in time");
    site.nrv(&["resume", "last"]).exits(0);
    assert_eq!((kinds(&site, "dta_verified"), kinds(&site, "committed"), kinds(&site, "settled")), (1, 1, 1));
    let cost = events(&site).into_iter().find(|event| event["data"]["cost"].is_object()).unwrap();
    assert_eq!(cost["data"]["cost"]["files"], 40);
    site.nrv(&["replay", "last"]).exits(0);
    fs::remove_file(site.path("go")).unwrap();
    assert!(site.tree() == site.moved(&before, OLD, NEW));
    site.last_ended("done");
}

/// A run that died while it made a call.
fn unplugged(call: &str) -> Site {
    let site = Site::new(0);
    let script = format!(
        "const WORKFLOW = #{{ name: \"one\", permissions: #{{ write: [\"**\"], calls: [\"{call}\"] }} }};\n\
         nrv.apply.create(\"a.txt\", \"a\\n\");\nnrv.custom(\"{call}\", #{{ name: \"x\" }})\n"
    );
    site.script("one.rhai", &script);
    fs::write(site.root().with_file_name("unplug"), "").unwrap();
    assert_eq!(durable(&site, &["run", "one.rhai"]).code, -1);
    site
}

#[test]
fn a_call_that_may_be_repeated_is_made_again() {
    let site = unplugged("house.build");
    let ran = durable(&site, &["resume", "last"]).exits(0);
    assert_eq!(ran.json()["result"], json!({"built": "x"}));
    assert_eq!(fs::read_dir(site.root().with_file_name("builds")).unwrap().count(), 1);
    site.last_ended("done");
}

#[test]
fn a_call_of_which_nobody_knows_is_never_repeated_silently() {
    let site = unplugged("post.send");
    for _ in 0..2 {
        let error = durable(&site, &["resume", "last"]).exits(7).json()["error"].clone();
        assert_eq!((&error["code"], &error["details"]["confirmation"]), (&json!("uncertain"), &json!("c1")));
        assert_eq!(error["details"]["call"], json!({"call": "post.send", "params": {"name": "x"}, "position": "2"}));
        assert!(error["hint"].as_str().unwrap().contains("--approve c1 --reply JSON"), "{error}");
        assert_eq!(letters(&site).len(), 1);
    }
    let ran = durable(&site, &["resume", "last", "--approve", "c1", "--reply", "{\"sent\": \"by hand\"}"]).exits(0);
    assert_eq!((ran.json()["result"].clone(), letters(&site).len()), (json!({"sent": "by hand"}), 1));
    site.last_ended("done");
    let site = unplugged("post.send");
    durable(&site, &["resume", "last"]).exits(7);
    durable(&site, &["resume", "last", "--approve", "c1"]).exits(0);
    assert_eq!(letters(&site).len(), 2, "a person wanted it made again");
    let site = unplugged("post.send");
    durable(&site, &["resume", "last"]).exits(7);
    durable(&site, &["resume", "last", "--reject", "c1"]).exits(3);
    assert!(!site.path("a.txt").exists());
    site.last_ended("failed");
}

#[test]
fn what_can_not_go_on_says_so() {
    let site = steps("");
    site.nrv(&["run", "steps.rhai", "--dry-run"]).exits(0);
    site.nrv(&["resume", "last"]).exits(1).says("is over");
    site.nrv(&["resume", "nothing"]).exits(1).says("there is no run `nothing`");
    site.nrv(&["run", "steps.rhai"]).exits(7);
    site.nrv(&["resume", "last", "--approve", "c9"]).exits(3).says("was not asked for in this run");
    site.nrv(&["resume", "last", "--approve", "c1", "--reply", "1"]).exits(1).says("it takes no reply");
    let events = site.last_run().join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, text.replace("\"pages\"", "\"pagen\"")).unwrap();
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(4).says("was altered");
    fs::write(&events, text).unwrap();
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
}

#[test]
fn a_record_with_a_link_in_it_writes_nowhere_else() {
    for name in ["packs/replies", "events.jsonl", "confirmations", "artifacts"] {
        let site = suspended("");
        let (inside, outside) = (site.last_run().join(name), site.root().with_file_name("outside"));
        fs::rename(&inside, &outside).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        let size = |path| fs::metadata(path).unwrap().len();
        let before = size(&outside);
        let message = format!("`{name}` in the record of run");
        site.nrv(&["resume", "last", "--approve", "c1"]).exits(4).says(&message);
        site.nrv(&["resume", "last", "--reject", "c1"]).exits(4).says(&message);
        assert_eq!(size(&outside), before, "{name}");
    }
}

#[test]
fn a_damaged_pack_of_replies_stops_a_run_before_anything_is_done() {
    let site = suspended("");
    let before = site.tree();
    let pack = site.last_run().join("packs/replies");
    let sound = fs::read(&pack).unwrap();
    let mut longer = sound.clone();
    longer[33] ^= 0x55;
    let other = sound.iter().enumerate().map(|(at, byte)| if at < 36 { *byte } else { byte ^ 0x55 }).collect();
    for bytes in [sound[..36].to_vec(), longer, other] {
        fs::write(&pack, &bytes).unwrap();
        site.nrv(&["resume", "last", "--approve", "c1"]).exits(4).says("the reply").says("nrv rollback");
        assert!(site.tree() == before && fs::read(&pack).unwrap() == bytes);
        site.last_ended("suspended");
    }
    fs::write(&pack, sound).unwrap();
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(site.tree() == expected());
}

#[test]
fn a_run_that_is_going_on_is_not_resumed() {
    let site = Site::new(2).policy(PATIENT);
    site.script("held.rhai", &held_script("wait_for(\"go\");", "", "1"));
    let running = site.start(&["run", "held.rhai", "--yes"]);
    wait_until("it runs", || {
        site.recorded("*/events.jsonl")
            .iter()
            .any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("dta_proposed")))
    });
    stand_still(&running);
    site.nrv(&["resume", "last"]).exits(75).says("is still going on, in process ");
    running.signal(Signal::KILL);
    running.end();
    site.write("go", "");
    // The script looked for the file and did not find it.
    site.nrv(&["resume", "last", "--yes", "--accept-stale-reads"]).exits(0);
    site.last_ended("done");
}

#[test]
fn it_waits_again_for_what_comes_later() {
    let site = Site::new(2);
    let ask = |host: &str, n: usize| {
        format!(
            "let p{n} = links.propose(#{{ target: #{{ glob: \"site/**/*.html\" }}, params: #{{ from_hosts: [\"{host}\"], \
             to_host: \"https://new.example.com\" }} }});\nlinks.apply(p{n});\n"
        )
    };
    let text = format!(
        "const WORKFLOW = #{{ name: \"twice\", permissions: #{{ write: [\"site/**\"] }} }};\nlet links = nrv.dta(\"link_updater\");\n{}{}",
        ask(OLD, 1),
        ask(SECOND, 2)
    );
    site.script("twice.rhai", &text);
    let before = site.tree();
    site.nrv(&["run", "twice.rhai"]).exits(7);
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(7).says("--approve c2");
    assert!(site.tree() == site.moved(&before, OLD, NEW));
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(3).says("was used already");
    site.nrv(&["resume", "last", "--approve", "c2"]).exits(0);
    assert!(site.tree() == site.moved(&site.moved(&before, OLD, NEW), SECOND, NEW));
    site.last_ended("done");
}

#[test]
fn thousands_of_calls_are_answered_from_the_record_in_no_time() {
    let (site, n) = (Site::new(1).policy("[budget]\ncalls = 20_000\n"), long::pick(500, 5000));
    site.write("a.txt", "a\n");
    let text = format!(
        "const WORKFLOW = #{{ name: \"many\" }};\nlet n = 0;\n\
         for i in 0..{n} {{ if nrv.files.exists(`x${{i}}`) {{ n += 1; }} n += nrv.files.read(\"a.txt\").len(); }}\n\
         nrv.gate.confirm(\"go on\", n);\nn\n"
    );
    site.script("many.rhai", &text);
    site.nrv(&["run", "many.rhai"]).exits(7);
    let began = Instant::now();
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(0);
    let took = began.elapsed();
    eprintln!("{} calls took {took:?}", 2 * n);
    assert_eq!(ran.json()["result"], 2 * n);
    assert!(took < Duration::from_secs(long::pick(6, 60)), "{took:?}");
}

#[test]
fn a_run_that_stopped_at_a_lock_keeps_what_it_did_and_goes_on() {
    let site = Site::new(2).policy(&format!("{PATIENT}[run]\nlock_wait_ms = 50\n"));
    site.script("held.rhai", &held_script("", "wait_for(\"end\");", "1"));
    let text = "const WORKFLOW = #{ name: \"late\", permissions: #{ write: [\"notes/**\", \"site/**\"] } };\n\
                nrv.apply.create(\"notes/one.txt\", \"1\\n\");\n\
                let hash = nrv.files.sha256(\"site/a/p0.html\");\n\
                nrv.apply.write(\"site/a/p0.html\", \"mine\\n\", hash);\n";
    site.script("late.rhai", text);
    site.write("go", "");
    let holder = site.start(&["run", "held.rhai", "--yes", "--allow-dirty"]);
    let holds = || {
        site.recorded("*/events.jsonl")
            .iter()
            .any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("dta_verified")))
    };
    wait_until("it holds the lock", holds);
    let still = stand_still(&holder);
    site.nrv(&["run", "late.rhai", "--allow-dirty"]).exits(75);
    assert_eq!(site.read("notes/one.txt"), b"1\n");
    site.last_ended("suspended");
    let late = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    site.nrv(&["resume", &late]).exits(75);
    still.goes_on(&site, "end");
    holder.end();
    site.nrv(&["resume", &late]).exits(0);
    assert_eq!(site.read("site/a/p0.html"), b"mine\n");
    assert_eq!(kinds(&site, "run_resumed"), 2);
    site.last_ended("done");
}

/// The patch that stands in the record does not show the secret, and can't be applied.
#[test]
fn a_proposal_near_a_secret_has_an_exact_patch_and_is_applied_exactly() {
    let site = steps("");
    let secret = ["<!-- token: gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", " -->"].concat();
    let page = String::from_utf8(site.read("site/a/p0.html")).unwrap();
    site.write("site/a/p0.html", page.replace("<p>", &format!("{secret}\n<p>")));
    site.commit();
    let before = site.tree();
    site.nrv(&["run", "steps.rhai"]).exits(7);
    let shown = fs::read_to_string(&site.recorded("*/artifacts/4-link_updater.patch")[0]).unwrap();
    assert!(!shown.contains("[redacted ") && shown.contains(&secret), "{shown}");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert_eq!(site.tree()["site/a/p0.html"], site.moved(&before, OLD, NEW)["site/a/p0.html"]);
    site.last_ended("done");
}
