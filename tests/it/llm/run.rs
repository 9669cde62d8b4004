//! Whole runs that ask a model: whatever a server does, only judged changes are applied, and the record lists them.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read records")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use nrv::{
    Context, Options, Workspace,
    llm::{self, Finish},
};
use serde_json::{Value, json};

use super::KEY;
use crate::support::{
    long,
    model::{
        fault::{EMPTY_PLAN, FAULTS, Fault},
        form,
        server::{Answer, ModelServer},
    },
    record::{Line, lines},
    site::{Ran, Site},
};

/// A site with `a.txt` and `b.txt` whose only provider, `far`, is this server, with a key.
pub(super) fn site(base_url: &str, dialect: &str, model: &str) -> Site {
    let site = Site::new(0);
    site.write("a.txt", "old\nrest\n");
    site.write("b.txt", "old\nrest\n");
    let provider = format!(
        "[llm.providers.far]\ndialect = \"{dialect}\"\nbase_url = \"{base_url}\"\nmodel = \"{model}\"\napi_key_env = \"FAR_KEY\"\n
         [gates.diff_size]\nblock_lines = 2000\n"
    );
    site.policy(&provider)
}

/// Makes the workflow of a site: `ask` asks for a plan, once more with every `seed`.
pub(super) fn workflow(site: &Site, body: &str) {
    let header = "const WORKFLOW = #{ name: \"asks\", permissions: #{ write: [\"*.txt\"], llm: [\"far\"] } };";
    let ask = format!(
        "fn ask(seed, timeout_ms) {{ #{{ prompt: \"Write a plan.\", max_tokens: 1000, seed: seed, timeout_ms: timeout_ms,
           schema: nrv.json.parse(`{}`) }} }}",
        llm::plan_schema()
    );
    site.script("asks.rhai", &format!("{header}\n{ask}\n{body}\n"));
}

/// Runs the workflow with the key in the environment.
pub(super) fn run(site: &Site, more: &[&str]) -> Ran {
    ran(site, &[&["run", "asks.rhai", "--json"], more].concat())
}

/// Runs the binary with the key in the environment.
pub(super) fn ran(site: &Site, arguments: &[&str]) -> Ran {
    let output = site.command(arguments).env("FAR_KEY", KEY).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The events of the last run.
pub(super) fn records(site: &Site) -> Vec<Line> {
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    lines(&context.runs.open("last").unwrap().records().unwrap())
}

/// A site whose server answers with these in turn.
fn served(dialect: &'static str, answers: impl IntoIterator<Item = Answer>) -> (ModelServer, Site) {
    let server = ModelServer::serving(dialect, answers);
    let site = site(&server.base_url(dialect), dialect, "m");
    (server, site)
}

/// Runs a script that asks in a way and applies the reply, and meets a fault.
#[track_caller]
fn meets(fault: &Fault, dialect: &'static str, asking: &str) {
    let Some(answer) = (fault.answer)(dialect) else { return };
    let (server, site) = served(dialect, [answer]);
    let timeout_ms = if fault.stalls() { 400 } else { 60_000 };
    workflow(&site, &format!("let request = ask(1, {timeout_ms});\n{asking}\n{APPLY}"));
    let before = site.tree();
    let ran = run(&site, &[]);
    let error = &ran.json()["error"];
    let told = (error["code"].as_str(), error["details"]["kind"].as_str(), ran.code);
    let expected = (Some(fault.code().as_str()), Some(fault.kind.as_str()), i32::from(fault.code().exit_code()));
    assert_eq!(told, expected, "{}, {dialect}: {error:#} {}", fault.name, ran.stderr);
    assert!(error["hint"].is_string(), "{error:#}");
    assert!(site.tree() == before, "{}, {dialect}: something was applied", fault.name);
    site.last_ended("failed");
    assert_eq!(server.requests().len(), 1, "{}, {dialect}: nobody asked for another try", fault.name);
    let records = records(&site);
    let of = |kind: &str| records.iter().find(|record| record.kind == kind).map(|record| &record.data);
    assert_eq!(of("llm_sent").unwrap()["provider"], "far", "{}, {dialect}", fault.name);
    assert_eq!(of("llm_tried").unwrap()["attempt"], 1, "{}, {dialect}: {records:#?}", fault.name);
    // A stream's is the last of its events.
    let code = format!("\"code\":{}", error["code"]);
    assert!(of("call").unwrap().to_string().contains(&code), "{}, {dialect}: {records:#?}", fault.name);
    assert_eq!(of("run_finished").unwrap()["exit_code"], ran.code, "{}, {dialect}", fault.name);
}

/// Applies a model's reply.
const APPLY: &str = "nrv.apply.plan(nrv.llm.parse_plan(reply.text), \"write\");";

/// Faults, each in one dialect; the dialects take turns.
fn meet_all(first: usize, asking: &str) {
    let dialects: Vec<&str> = form::dialects().collect();
    for (number, fault) in long::sample(FAULTS.iter().enumerate(), 4) {
        meets(fault, dialects[(number + first) % dialects.len()], asking);
    }
}

#[test]
fn no_fault_of_a_server_lets_anything_be_applied() {
    meet_all(0, "let reply = nrv.llm.complete(request);");
}

#[test]
fn no_fault_of_a_stream_lets_anything_be_applied() {
    meet_all(2, "let reply = nrv.llm.stream(request, |event| event.type == \"none\");");
}

#[test]
fn a_run_that_meets_a_fault_that_passes_goes_on_when_it_has_passed() {
    let fault = FAULTS.iter().find(|fault| fault.name == "too much to do").unwrap();
    let busy = (fault.answer)("openai_chat").unwrap();
    let text = plan("a.txt", &edit("a.txt", "new")).to_string();
    let good = Answer::stream(&form::events("openai_chat", &[&text], Finish::Stop));
    let (server, site) = served("openai_chat", [busy, good]);
    let before = site.tree();
    workflow(
        &site,
        &format!("nrv.apply.create(\"made.txt\", \"made\\n\");\nlet reply = nrv.llm.complete(ask(1, 60000));\n{APPLY}"),
    );
    run(&site, &[]).exits(75);
    site.last_ended("suspended");
    assert_eq!((site.read("a.txt"), site.read("made.txt")), (before["a.txt"].2.clone(), b"made\n".to_vec()));
    ran(&site, &["resume", "last"]).exits(0);
    site.last_ended("done");
    assert_eq!((site.read("a.txt"), server.requests().len()), (b"new\nrest\n".to_vec(), 2));
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_run_that_meets_a_fault_that_stays_is_undone() {
    let fault = FAULTS.iter().find(|fault| fault.name == "another value than a plan").unwrap();
    let (_server, site) = served("openai_chat", [(fault.answer)("openai_chat").unwrap()]);
    workflow(&site, "nrv.apply.create(\"made.txt\", \"made\\n\");\nnrv.llm.complete(ask(1, 60000));");
    let before = site.tree();
    run(&site, &[]).exits(1);
    site.last_ended("failed");
    assert!(site.tree() == before);
}

#[test]
fn tries_that_a_script_asks_for_are_made_and_recorded() {
    let fault = FAULTS.iter().find(|fault| fault.name == "too much to do").unwrap();
    let busy = (fault.answer)("openai_chat").unwrap();
    let good = Answer::stream(&form::events("openai_chat", &[EMPTY_PLAN], Finish::Stop));
    let (server, site) = served("openai_chat", [busy.clone(), busy, good]);
    workflow(
        &site,
        "let request = ask(1, 60000);\nrequest.retry = #{ on: [\"overloaded\"], max: 2, wait_ms: 1 };\nnrv.llm.complete(request).value",
    );
    assert_eq!(run(&site, &[]).exits(0).json()["result"], json!({"diffs": []}));
    let tried = records(&site).into_iter().filter(|record| record.kind == "llm_tried");
    let after: Vec<Value> = tried.map(|record| record.data["after"]["details"]["kind"].clone()).collect();
    assert_eq!((after, server.requests().len()), (vec![Value::Null, json!("overloaded"), json!("overloaded")], 3));
}

/// Searches all files and output for the key.
#[track_caller]
fn keeps_the_key(site: &Site, ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains("canary"), "{text}");
    }
    let mut looked = 0;
    for (name, (_, _, bytes)) in site.tree() {
        assert!(memchr::memmem::find(&bytes, b"canary").is_none(), "`{name}` holds the key");
    }
    for path in site.recorded("**/*").into_iter().filter(|path| path.is_file()) {
        let bytes = fs::read(&path).unwrap();
        assert!(memchr::memmem::find(&bytes, b"canary").is_none(), "{} holds the key", path.display());
        looked += 1;
    }
    assert!(looked > 3, "there is a record");
}

#[test]
fn the_key_is_in_no_record_no_output_and_no_error() {
    let echo = format!("Your key is {KEY}.");
    let said = json!({"diffs": [], "post": {"commands": [{"program": KEY}]}}).to_string();
    let (head, tail) = said.split_at(said.find("canary").unwrap() + 3);
    for (turn, dialect) in form::dialects().enumerate() {
        let events = [form::token(dialect, "a"), form::error_event(dialect, "authentication_error", &echo)];
        let answers = [
            Answer::json("401 No", "", &form::error(dialect, "authentication_error", &echo)),
            Answer::text("307 To", &format!("location: http://127.0.0.1:1/?key={KEY}\r\n"), ""),
            Answer::stream(&events),
            Answer::stream(&form::events(dialect, &[&echo], Finish::Stop)),
            Answer::stream(&form::events(dialect, &[&said], Finish::Stop)),
            Answer::stream(&form::events(dialect, &[head, tail], Finish::Stop)),
            Answer::json("200 OK", &format!("x-key: {KEY}\r\n"), &form::whole(dialect, &said, Finish::Stop)),
        ];
        // Every other one: the dialects share the code that keeps the key.
        for answer in answers.into_iter().skip(turn % 2).step_by(2) {
            let server = ModelServer::serving(dialect, [answer]);
            let site = site(&server.base_url(dialect), dialect, "m");
            let body = "for event in nrv.llm.stream(ask(1, 60000)) { print(event); nrv.ui.show(event); }\nnrv.llm.complete(ask(2, 60000))";
            workflow(&site, body);
            let ran = ran(&site, &["-vvv", "run", "asks.rhai", "--record-llm", "tapes"]);
            assert!(server.requests().iter().all(|asked| asked.head.contains(KEY)) && !server.requests().is_empty());
            keeps_the_key(&site, &ran);
            for arguments in
                [&["report", "last"][..], &["runs", "show", "last", "--json"], &["-vvv", "llm", "ping", "far"]]
            {
                keeps_the_key(&site, &self::ran(&site, arguments));
            }
        }
    }
}

/// A plan with one diff.
fn plan(path: &str, diff: &str) -> Value {
    json!({"diffs": [{"path": path, "unified_diff": diff}]})
}

/// The diff that changes the first line of a file.
fn edit(path: &str, new: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n-old\n+{new}\n rest\n")
}

/// The diff that makes a file.
fn creation(path: &str, lines: &[String]) -> String {
    let added: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{added}", lines.len())
}

/// Asks for a plan of a model, parses and writes it; returns the exit code and the error.
#[track_caller]
fn proposed(plan: &Value) -> (i32, Value) {
    let text = plan.to_string();
    let server =
        ModelServer::serving("openai_chat", [Answer::stream(&form::events("openai_chat", &[&text], Finish::Stop))]);
    let site = site(&server.base_url("openai_chat"), "openai_chat", "m");
    let schema = "#{ prompt: \"Write a plan.\", max_tokens: 4000 }";
    workflow(
        &site,
        &format!("let reply = nrv.llm.complete({schema});\nnrv.apply.plan(nrv.llm.parse_plan(reply.text), \"write\")"),
    );
    let before = site.tree();
    let ran = run(&site, &[]);
    if ran.code != 0 {
        assert!(site.tree() == before, "nothing is applied: {}", ran.stderr);
    }
    let state = if ran.code == 0 { "done" } else { "failed" };
    let state = if ran.code == 7 { "suspended" } else { state };
    assert_eq!(site.runs().last().unwrap()["state"], state, "{}", ran.stderr);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    (ran.code, ran.json()["error"].clone())
}

#[track_caller]
fn stopped(plan: &Value, exit: i32, code: &str, words: &str) {
    let (exited, error) = proposed(plan);
    assert_eq!((exited, error["code"].as_str()), (exit, Some(code)), "{error:#}");
    assert!(error.to_string().contains(words), "{words:?} is not in {error:#}");
}

#[test]
fn a_plan_that_holds_is_applied() {
    let (exit, error) = proposed(&plan("a.txt", &edit("a.txt", "new")));
    assert_eq!((exit, error), (0, Value::Null));
}

#[test]
fn a_diff_for_another_file_is_stopped() {
    stopped(&plan("a.txt", &edit("b.txt", "new")), 1, "invalid_input", "names `b.txt`, not `a.txt`");
}

#[test]
fn a_stale_checksum_is_stopped() {
    let mut stale = plan("a.txt", &edit("a.txt", "new"));
    stale["diffs"][0]["checksum"] = json!("ab".repeat(32));
    stopped(&stale, 5, "stale_preimage", "a.txt");
}

#[test]
fn a_secret_is_stopped() {
    let secret = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
    stopped(
        &plan("a.txt", &edit("a.txt", &format!("token = {secret}"))),
        7,
        "suspended",
        "secrets: a secret in `a.txt`",
    );
}

#[test]
fn a_path_outside_is_stopped() {
    let lines = ["x".to_owned()];
    stopped(&plan("../x.txt", &creation("../x.txt", &lines)), 1, "invalid_path", "leaves its folder");
    stopped(
        &plan(".git/hooks/x.txt", &creation(".git/hooks/x.txt", &lines)),
        3,
        "protected_path",
        "`.git/hooks/x.txt` is protected",
    );
    stopped(&plan("c.md", &creation("c.md", &lines)), 3, "permission_denied", "header");
}

#[test]
fn ten_thousand_lines_are_stopped() {
    let lines: Vec<String> = (0..10_000).map(|number| format!("line {number}")).collect();
    stopped(&plan("big.txt", &creation("big.txt", &lines)), 3, "blocked", "`big.txt` changes 10000 lines");
}
