//! `--events`: the events of a run, line by line, while it goes on.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    process::Stdio,
};

use nrv::{
    base::{call::Blob, diff::Replacement, hash::Sha256, path::RepoPath},
    gate::{Decision, GateResult},
    host::{Commitment, Event, Maker, Work},
    llm::Usage,
    system::schema::Schema,
};
use serde_json::{Value, json};

use crate::support::{
    hold::{PATIENT, held_script},
    site::{MIGRATE, NEW, OLD, Ran, Site, invocation, wait_until},
    terminal::{line, line_on_a_terminal},
};

const SCHEMA: &str = include_str!("../../schemas/event.schema.json");
const FINISHED: &str = include_str!("../../schemas/finished.schema.json");

#[track_caller]
fn fits(schema: &str, document: &Value) {
    let schema = Schema::compile(&serde_json::from_str(schema).unwrap()).unwrap();
    schema.check(document).unwrap_or_else(|error| panic!("{error}: {document:#}"));
}

/// The lines of a stream, each of a known shape.
#[track_caller]
fn events(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    let all: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{ran:?}"))).collect();
    all.iter().for_each(|event| fits(SCHEMA, event));
    all
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

/// Events of every kind that the library knows.
fn one_of_each() -> Vec<Event> {
    let (tool, text, label) = (|| "t".to_owned(), "x".to_owned(), "l".to_owned());
    let sha256 = Sha256::of(b"");
    let path = RepoPath::parse("a.md").unwrap();
    let replacement = Replacement { path, line: 1, old: text.clone(), new: tool() };
    let result = GateResult {
        decision: Decision::Warn,
        gate_name: "g".to_owned(),
        reason: "r".to_owned(),
        triggered_rules: vec!["rule".to_owned()],
        remediation: None,
        config_sha256: sha256,
        input_sha256: sha256,
    };
    let commitment = Commitment {
        agent: None,
        id: "k1".to_owned(),
        source: Maker::Script,
        description: label.clone(),
        ok: Some(true),
        reason: Some(text.clone()),
        output: None,
        duration_ms: Some(1),
    };
    vec![
        Event::RunStarted { run: "20261121T202000Z-7f3a".to_owned() },
        Event::Step { label: label.clone() },
        Event::Progress { label, done: 0, total: 1 },
        Event::Table { rows: vec![json!({})] },
        Event::Show { value: Value::Null },
        Event::ShowFile { path: tool(), sha256, proposed: false, content: Blob::Text(text.clone()) },
        Event::ShowFile { path: tool(), sha256, proposed: true, content: Blob::Base64("/w==".to_owned()) },
        Event::ShowReply { text: text.clone(), model: tool(), provider: None, label: None },
        Event::ShowReply { text: text.clone(), model: tool(), provider: Some(tool()), label: Some(tool()) },
        Event::Print { text: text.clone() },
        Event::CommandStarted { argv: vec![tool()] },
        Event::CommandEnded { argv: vec![tool()], status: Some(1), duration_ms: 2, output: Some(text.clone()) },
        Event::CommandEnded { argv: vec![tool()], status: None, duration_ms: 2, output: None },
        Event::ModelAsked { provider: tool(), model: tool() },
        Event::ModelAnswered {
            provider: tool(),
            model: tool(),
            usage: Usage::default(),
            error: Some(text.clone()),
            label: Some(tool()),
            recorded: true,
        },
        Event::DtaStarted { tool: tool() },
        Event::DtaProgress { tool: tool(), phase: Work::Discover, done: 0, total: 1 },
        Event::DtaProgress { tool: tool(), phase: Work::AskErrors, done: 0, total: 1 },
        Event::DtaProgress { tool: tool(), phase: Work::Apply, done: 0, total: 1 },
        Event::DtaProgress { tool: tool(), phase: Work::Verify, done: 0, total: 1 },
        Event::DtaProposed { tool: tool(), proposal: "p".to_owned(), files: 1, replacements: vec![replacement] },
        Event::Applied { files: 1, written: true },
        Event::Applied { files: 1, written: true },
        Event::DtaApplied { tool: tool(), files: 1 },
        Event::DtaVerified { tool: tool(), output: json!({}), after: json!({}) },
        Event::DtaFailed { tool: tool(), reason: text.clone() },
        Event::CommitmentVerified { commitment },
        Event::Warning { result },
        Event::Notice { text },
    ]
}

#[test]
fn every_event_has_its_shape_in_the_schema() {
    let all: Vec<Value> = one_of_each().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    all.iter().for_each(|event| fits(SCHEMA, event));
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let shapes = schema["oneOf"].as_array().unwrap().iter();
    let known: BTreeSet<&str> = shapes.map(|shape| shape["properties"]["event"]["const"].as_str().unwrap()).collect();
    let told: BTreeSet<&str> = names(&all).into_iter().chain(["question", "run_finished", "error"]).collect();
    assert_eq!(known, told);
    let page = crate::repository::text("docs/formats.md").unwrap();
    for name in known {
        assert!(page.contains(&format!("| `{name}` |")), "docs/formats.md says nothing of `{name}`");
    }
}

#[test]
fn commands_and_models_are_told_of_in_the_shapes_of_the_schema() {
    let site = Site::new(0).policy("[[exec.allow]]\nprefix = [\"sh\"]\n");
    let body = "nrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"exit 3\"] });
        nrv.llm.complete(#{ provider: \"heuristic\", prompt: \"Move the links from a.com to b.com.\", max_tokens: 100 });
        try { nrv.llm.complete(#{ provider: \"heuristic\", prompt: \"Sing.\", max_tokens: 100 }); } catch {}
        nrv.run.record_violation(#{ rule: \"a/b\", message: \"c\" });";
    let header = "const WORKFLOW = #{ name: \"t\", permissions: #{ exec: [\"sh\"], llm: [\"heuristic\"] } };\n";
    site.script("t.rhai", &format!("{header}{body}\n"));
    let all = events(&site.nrv(&["run", "t.rhai", "--events", "--yes"]).exits(0));
    let told: Vec<&str> = names(&all).into_iter().filter(|name| *name != "notice").collect();
    let asked = ["model_asked", "model_answered"];
    let expected =
        [&["run_started", "command_started", "command_ended"][..], &asked, &asked, &["warning", "run_finished"]];
    assert_eq!(told, expected.concat());
    let ended = all.iter().find(|event| event["event"] == "command_ended").unwrap();
    assert_eq!(ended["status"], 3);
}

#[test]
fn a_run_tells_what_happens_and_its_result_last() {
    let site = Site::new(5);
    let all = events(&site.migrate(&["--events"]).exits(0));
    let expected = [
        "run_started",
        "step",
        "dta_started",
        "dta_proposed",
        "show",
        "notice",
        "dta_progress",
        "dta_applied",
        "dta_progress",
        "dta_verified",
        "run_finished",
    ];
    assert_eq!(names(&all), expected);
    let finished = &all.last().unwrap()["finished"];
    fits(FINISHED, finished);
    assert_eq!((&finished["state"], &finished["files_changed"]), (&json!("done"), &json!(5)));
    let again = events(&site.migrate(&["--events", "--json"]).exits(0));
    assert_eq!(names(&again).last(), Some(&"run_finished"), "the stream holds the result, `--json` adds nothing");
}

#[test]
fn an_adapter_without_a_script_tells_the_same() {
    let site = Site::new(5);
    let arguments = ["dta", "run", "link_updater", "--input", "-", "--yes", "--events"];
    let ran = site.nrv_with(&arguments, &invocation("site/**/*.html", OLD, NEW).to_string()).exits(0);
    let all = events(&ran);
    assert_eq!(names(&all)[..3], ["run_started", "dta_started", "dta_proposed"]);
    assert_eq!(all.last().unwrap()["finished"]["result"]["applied_changes"]["files"], 5);
}

#[test]
fn whatever_goes_wrong_is_the_last_line() {
    let site = Site::new(5);
    site.script("bad.rhai", "let = ;");
    site.script("throws.rhai", &held_script("", "", "throw \"no\";"));
    site.script("blocked.rhai", "nrv.gate.require(false, \"more\");");
    for (arguments, exit, code, last) in [
        (&["run", "bad.rhai"][..], 1, "script_syntax", "error"),
        (&["run", "nothing.rhai"], 1, "not_found", "error"),
        (&["run", "throws.rhai", "--yes"], 1, "script_failed", "run_finished"),
        (&["run", "blocked.rhai"], 3, "blocked", "run_finished"),
        (&MIGRATE[..6], 7, "suspended", "run_finished"),
    ] {
        let arguments = [arguments, &["--events"]].concat();
        let all = events(&site.nrv(&arguments).exits(exit));
        let end = all.last().unwrap();
        let error = if end["event"] == "error" { &end["error"] } else { &end["finished"]["error"] };
        assert_eq!(error["code"], code, "{arguments:?}: {end:#}");
        assert_eq!(end["event"], last, "{arguments:?}: {end:#}");
    }
}

#[test]
fn lines_come_while_the_run_goes_on() {
    let site = Site::new(3).policy(PATIENT);
    site.script("held.rhai", &held_script("nrv.ui.step(\"now\"); wait_for(\"go\");", "", "1"));
    let mut running = site.start_heard(&["run", "held.rhai", "--yes", "--events"]);
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let step = lines.find(|line| line.as_ref().unwrap().contains("\"step\"")).unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&step).unwrap(), json!({"event": "step", "label": "now"}));
    assert!(!running.has_ended(), "the line came before the end");
    site.write("go", "");
    assert!(lines.last().unwrap().unwrap().starts_with("{\"event\":\"run_finished\""));
    running.end().exits(0);
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_run() {
    for more in [&[][..], &["-vv"]] {
        let site = Site::new(20);
        let before = site.tree();
        let arguments = [&MIGRATE[..], &["--events"], more].concat();
        let mut command = site.command(&arguments);
        // Both pipes close: even logs go nowhere.
        let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut first).unwrap();
        drop(running.stderr.take());
        assert!(first.starts_with("{\"event\":\"run_started\""), "{first}");
        assert_eq!(running.wait().unwrap().code(), Some(0));
        assert!(site.tree() == site.moved(&before, OLD, NEW));
        site.last_ended("done");
    }
}

#[test]
fn questions_stay_out_of_the_stream() {
    let site = Site::new(4);
    let out = site.root().parent().unwrap().join("out");
    // The terminal is stdin and stderr; stdout is a file.
    let line = format!("{} > '{}'", line(&site, &[&MIGRATE[..6], &["--events"]].concat()), out.display());
    let Some(mut asked) = line_on_a_terminal(&site, &line) else { return };
    wait_until("a person is asked", || !site.recorded("*/confirmations/c1.json").is_empty() || asked.has_ended());
    std::io::Write::write_all(asked.0.stdin.as_mut().unwrap(), b"y\n").unwrap();
    let ran = asked.end().exits(0);
    assert!(ran.stdout.contains("review the links? [y]es, [n]o"), "{ran:?}");
    let stdout = std::fs::read_to_string(&out).unwrap();
    let all = events(&Ran { stdout, ..ran });
    let question = all.iter().find(|event| event["event"] == "question").unwrap();
    assert_eq!(question["question"]["files"].as_array().unwrap().len(), 4);
}

#[test]
fn long_work_tells_how_far_it_is_but_not_too_often() {
    let site = Site::new(1);
    let page = "<a href=\"http://other.example.org/\">a link that stays</a>\n".repeat(1600);
    (0..400).for_each(|index| site.write(&format!("site/long/p{index}.html"), &page));
    site.commit();
    let started = std::time::Instant::now();
    let ran = site.migrate(&["--events", "--dry-run", "--threads", "2"]).exits(0);
    let most = started.elapsed().as_millis() / 100;
    let all = events(&ran);
    let steps: Vec<u64> = all
        .iter()
        .filter(|event| event["event"] == "dta_progress" && event["phase"] == "discover")
        .map(|event| event["done"].as_u64().unwrap())
        .collect();
    assert!(!steps.is_empty() && steps.len() as u128 <= most, "{steps:?} in {most} tenths of a second");
    assert!(steps.is_sorted(), "{steps:?}");
}
