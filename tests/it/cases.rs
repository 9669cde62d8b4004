//! `nrv test`: cases of scripts, their findings, updates, and reruns when files change.
#![expect(clippy::disallowed_methods, reason = "tests build trees, run programs and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, io::Read, process::Command};

use nrv::llm::Finish;
use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        model::{
            form,
            server::{Answer, ModelServer},
        },
        site::{Ran, Site, wait_until},
        toolchain,
    },
};

/// Writes a greeting to `to.txt`, unless it stands there.
const GREET: &str = r#"
const WORKFLOW = #{
    name: "greet",
    args: #{ type: "object", properties: #{ who: #{ type: "string", "default": "all" } } },
    permissions: #{ write: ["**"] },
};
let text = "hello " + args.who + "\n";
let old = if nrv.files.exists("to.txt") { nrv.files.read("to.txt") } else { "" };
if old == "" {
    nrv.apply.create("to.txt", text);
} else if old != text {
    nrv.apply.write("to.txt", text, nrv.files.sha256("to.txt"));
}
text.len()
"#;

/// A workspace with a script and a case of it.
fn with(script: &str, files: &[(&str, &str)]) -> Site {
    let site = Site::empty();
    site.write("s.rhai", script);
    for (name, text) in files {
        site.write(&format!("s.test/{name}"), text);
    }
    site
}

/// The only case's check of a name.
#[track_caller]
fn check_of(ran: &Ran, name: &str) -> Value {
    let report = ran.json();
    let checks = report["cases"][0]["checks"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{report:#}")).clone()
}

/// Runs the only case, which fails in one check alone; that check.
#[track_caller]
fn fails_in(site: &Site, name: &str) -> Value {
    let ran = site.nrv(&["test", "--json"]).exits(4);
    let report = ran.json();
    let failed = report["cases"][0]["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false);
    assert_eq!(failed.map(|check| &check["name"]).collect::<Vec<_>>(), [name], "{report:#}");
    check_of(&ran, name)
}

#[test]
fn a_case_that_holds_changes_nothing_of_the_workspace() {
    let site = with(GREET, &[("one/expected/to.txt", "hello all\n")]);
    let before = site.tree();
    let report = site.nrv(&["test", "--json"]).exits(0).says("Cases: 1 held.").json();
    assert_eq!((&report["ok"], &report["passed"], &report["failed"]), (&json!(true), &json!(1), &json!(0)));
    let case = &report["cases"][0];
    assert_eq!((&case["script"], &case["case"], &case["ok"]), (&json!("s.rhai"), &json!("one"), &json!(true)));
    let names: Vec<&str> =
        case["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["outcome", "tree", "second_pass", "rollback", "determinism"]);
    assert!(case["duration_ms"].is_u64());
    assert!(site.tree() == before && !site.path(".runs").exists());
}

#[test]
fn every_file_that_is_not_as_expected_is_told_with_its_text() {
    let site = with(
        GREET,
        &[
            ("one/input/kept.txt", "kept\n"),
            ("one/expected/kept.txt", "other\n"),
            ("one/expected/gone.txt", "gone\n"),
            ("one/expected/to.txt", "hello all\n"),
        ],
    );
    let check = fails_in(&site, "tree");
    assert_eq!(check["detail"], "2 files differ\n  `gone.txt` is missing\n  `kept.txt` holds other text");
    assert!(check["diff"].as_str().unwrap().ends_with("@@ -1 +1 @@\n-other\n+kept\n"), "{check}");
    let text = site.nrv(&["test"]).exits(4).stdout;
    assert!(text.starts_with("FAILED  s.test/one (") && text.contains("\n    `gone.txt` is missing\n"), "{text}");
    assert!(text.contains("\n  -other\n  +kept\n"), "{text}");
}

#[test]
fn an_update_takes_what_came_as_expected_and_nothing_else_changes() {
    let site = with(
        GREET,
        &[
            ("one/args.json", r#"{"who": "you"}"#),
            ("one/input/run.sh", "#!/bin/sh\n"),
            ("one/expected/old/gone.txt", ""),
            ("one/outcome.json", "{\"result\": 1}"),
        ],
    );
    site.mode("s.test/one/input/run.sh", 0o700);
    site.nrv(&["test"]).exits(4);
    let ran = site.nrv(&["test", "-u", "--json"]).exits(0).says("1 updated");
    let updated = &ran.json()["cases"][0]["updated"];
    assert_eq!(updated["removed"], json!(["s.test/one/expected/old/gone.txt"]));
    let written = ["outcome.json", "expected/run.sh", "expected/to.txt"].map(|name| format!("s.test/one/{name}"));
    assert_eq!(updated["written"], json!(written));
    assert_eq!(site.read("s.test/one/expected/to.txt"), b"hello you\n");
    assert_eq!(site.read("s.test/one/outcome.json"), b"{\n  \"result\": 10\n}\n");
    assert_eq!(site.tree()["s.test/one/expected/run.sh"].1, 0o755);
    assert!(!site.path("s.test/one/expected/old").exists() && !site.path(".runs").exists());
    let after = site.tree();
    let report = site.nrv(&["test", "-u", "--json"]).exits(0).json();
    assert_eq!(report["cases"][0].get("updated"), None);
    assert!(site.tree() == after);
}

#[test]
fn a_case_without_expected_files_shows_what_would_be_expected() {
    let site = with(GREET, &[("one/input/a.txt", "a\n")]);
    let check = fails_in(&site, "tree");
    assert_eq!(check["detail"], "there is no `s.test/one/expected`: `nrv test -u` writes it");
    let diff = check["diff"].as_str().unwrap();
    assert!(diff.contains("+hello all\n") && !diff.contains("a.txt"), "{diff}");
}

#[test]
fn a_case_without_any_file_expects_none() {
    let site = with("1 + 1", &[("one/outcome.json", "{\"result\": 3}")]);
    fails_in(&site, "outcome");
    site.nrv(&["test", "-u"]).exits(0);
    assert!(!site.path("s.test/one/expected").exists());
    site.nrv(&["test"]).exits(0);
}

#[test]
fn an_update_does_not_take_a_tree_that_no_repository_keeps() {
    let script = r#"
const WORKFLOW = #{ name: "clear", permissions: #{ write: ["**"] } };
for path in nrv.files.glob("*.txt") { nrv.apply.remove(path, nrv.files.sha256(path)); }
"#;
    let site = with(script, &[("one/input/a.txt", "a\n"), ("one/expected/a.txt", "a\n")]);
    let before = site.tree();
    let ran = site.nrv(&["test", "-u", "--json"]).exits(4);
    let check = check_of(&ran, "tree");
    assert!(check["detail"].as_str().unwrap().contains("add one to `input` that stays"), "{check}");
    assert!(site.tree() == before);
    site.write("s.test/one/input/stays.md", "stays\n");
    site.nrv(&["test", "-u"]).exits(0);
    site.nrv(&["test"]).exits(0);
}

#[test]
fn a_script_that_does_not_come_to_rest_fails_and_is_not_updated() {
    let append = r#"
const WORKFLOW = #{ name: "append", permissions: #{ write: ["**"] } };
let text = nrv.files.read("log.txt");
nrv.apply.write("log.txt", text + "again\n", nrv.files.sha256("log.txt"));
"#;
    let site = with(append, &[("one/input/log.txt", "once\n"), ("one/expected/log.txt", "once\nagain\n")]);
    let check = fails_in(&site, "second_pass");
    assert!(check["detail"].as_str().unwrap().starts_with("a second pass changes the tree again\n"), "{check}");
    site.write("s.test/one/expected/log.txt", "wrong\n");
    let before = site.tree();
    site.nrv(&["test", "-u"]).exits(4);
    assert!(site.tree() == before);
}

#[test]
fn a_second_pass_may_fail_as_long_as_it_changes_nothing() {
    let once = r#"
const WORKFLOW = #{ name: "once", permissions: #{ write: ["**"] } };
nrv.apply.create("made.txt", "made\n");
"#;
    let site = with(once, &[("one/expected/made.txt", "made\n")]);
    let check = check_of(&site.nrv(&["test", "--json"]).exits(0), "second_pass");
    let detail = check["detail"].as_str().unwrap();
    assert!(detail.starts_with("a second pass ends with `") && detail.ends_with("` and changes nothing"), "{detail}");
}

/// The clock is a command's: a script has none.
#[test]
fn what_differs_from_run_to_run_is_found() {
    let script = r#"
const WORKFLOW = #{ name: "now", permissions: #{ write: ["**"], exec: ["date"] } };
let now = nrv.exec.check(#{ program: "date", args: ["+%s.%N"] }).stdout;
if !nrv.files.exists("now.txt") { nrv.apply.create("now.txt", KEEP); }
RESULT
"#;
    let policy = "[[exec.allow]]\nprefix = [\"date\"]\n";
    let case = |keep: &str, result: &str| {
        let script = script.replace("KEEP", keep).replace("RESULT", result);
        with(&script, &[("one/nrv.toml", policy), ("one/expected/now.txt", "now\n")])
    };
    case("\"now\\n\"", "1").nrv(&["test"]).exits(0);
    let result = fails_in(&case("\"now\\n\"", "now"), "determinism");
    assert_eq!(result["detail"], "a run with 8 threads differs from one with 1 in its result");
    let site = case("now", "1");
    let report = site.nrv(&["test", "-u", "--json"]).exits(4);
    assert!(check_of(&report, "determinism")["detail"].as_str().unwrap().contains("`now.txt` holds other text"));
    assert_eq!(site.read("s.test/one/expected/now.txt"), b"now\n");
}

#[test]
fn a_script_that_has_to_fail_leaves_its_input() {
    let script = r#"
const WORKFLOW = #{ name: "fails", permissions: #{ write: ["**"] } };
nrv.apply.create("made.txt", "made\n");
print("made it");
throw "no";
"#;
    let site = with(script, &[("one/input/a.txt", "a\n")]);
    let text = site.nrv(&["test"]).exits(4).stdout;
    assert!(text.contains("outcome: it failed with `script_failed`") && text.contains("--> s.rhai:5:1"), "{text}");
    assert!(text.contains("it printed:\n  made it\n"), "{text}");
    let text = site.nrv(&["test", "-u"]).exits(4).stdout;
    assert!(text.contains("if it has to, `outcome.json` is `{\"error\": \"script_failed\"}`"), "{text}");
    assert!(!site.path("s.test/one/outcome.json").exists());
    site.write("s.test/one/outcome.json", "{\"error\": \"blocked\"}");
    let text = site.nrv(&["test", "-u"]).exits(0).stdout;
    assert!(text.contains("\n  it has to fail with `script_failed` from now on: no\n"), "{text}");
    assert_eq!(site.read("s.test/one/outcome.json"), b"{\n  \"error\": \"script_failed\"\n}\n");
    assert!(!site.path("s.test/one/expected").exists());
    site.nrv(&["test"]).exits(0);
    site.write("s.test/one/outcome.json", "{\"error\": \"blocked\"}");
    let check = fails_in(&site, "outcome");
    assert_eq!(check["detail"], "it failed with `script_failed`, and should fail with `blocked`");
}

#[test]
fn what_is_wrong_with_a_case_is_told_and_the_others_run() {
    let site = with(
        GREET,
        &[
            ("a/args.json", "{"),
            ("b/args.json", "{\"whom\": \"me\"}"),
            ("c/imput/a.txt", ""),
            ("d/outcome.json", "{\"error\": \"faild\"}"),
            ("e/input", "a file\n"),
            ("f/expected/to.txt", "hello all\n"),
            ("g/nrv.toml", "[pahts]"),
        ],
    );
    let ran = site.nrv(&["test"]).exits(1).says("Cases: 1 held, 6 could not be run.");
    for words in [
        "`s.test/a/args.json` can't be used",
        "the arguments stand in `s.test/b/args.json`",
        "did you mean `input`?",
        "unknown variant `faild`",
        "`s.test/e/input` is a file, not a folder",
        "ok      s.test/f",
        "`s.test/g/nrv.toml`",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
}

#[test]
fn a_script_that_can_not_be_loaded_breaks_its_cases() {
    let site = with("nope(", &[("one/input/a", "")]);
    let report = site.nrv(&["test", "--json"]).exits(1).says("--> s.rhai:1:").json();
    assert_eq!((&report["broken"], &report["cases"][0]["error"]["code"]), (&json!(1), &json!("script_syntax")));
}

#[test]
fn where_there_is_no_case_nothing_passes() {
    let site = Site::empty();
    site.nrv(&["test"]).exits(2).says("no script of this workspace has a case");
    site.write("s.rhai", GREET);
    site.nrv(&["test", "s.rhai"]).exits(2).says("`s.test/first/input`");
    site.nrv(&["test", "t.rhai"]).exits(1).says("`t.rhai` does not exist");
    site.write("s.test/one/expected/to.txt", "hello all\n");
    site.nrv(&["test", "--filter", "two"]).exits(2).says("no case has `two` in its path");
    site.nrv(&["test", "--filter", "s.test/o", "s.rhai"]).exits(0);
    site.nrv(&["test", "s.test/one"]).exits(0);
    site.nrv(&["test", "s.test/two"]).exits(2).says("the script `s.rhai` has no case `two`");
}

#[test]
fn a_case_that_is_left_out_is_told() {
    let site = with(GREET, &[("one/expected/to.txt", "hello all\n")]);
    site.write("renamed.test/one/expected/to.txt", "hello all\n");
    site.write("other.test/notes.txt", "no case\n");
    let ran = site.nrv(&["test"]).exits(0).says("the cases in `renamed.test` are not run");
    assert!(!ran.stderr.contains("other.test"), "{ran:?}");
    std::os::unix::fs::symlink("one", site.path("s.test/two")).unwrap();
    let ran = site.nrv(&["test"]).exits(1);
    assert!(ran.stdout.contains("FAILED  s.test/two") && ran.stdout.contains("symbolic link"), "{ran:?}");
    fs::rename(site.path("s.test"), site.path("s.moved")).unwrap();
    std::os::unix::fs::symlink("s.moved", site.path("s.test")).unwrap();
    site.nrv(&["test"]).exits(1).says("`s.test` is a symbolic link");
}

#[test]
fn cases_are_told_in_their_order_whatever_ends_first() {
    let site = with(GREET, &[]);
    for n in 0..8 {
        site.write(&format!("s.test/c{n}/input/{n}.txt"), "x\n".repeat(1 << (17 - 2 * n)));
        site.write(&format!("s.test/c{n}/expected/{n}.txt"), "x\n".repeat(1 << (17 - 2 * n)));
        site.write(&format!("s.test/c{n}/expected/to.txt"), "hello all\n");
    }
    // An input may hold scripts and cases of its own, which do not belong to the workspace.
    site.write("s.test/c7/input/t.rhai", "1");
    site.write("s.test/c7/expected/t.rhai", "1");
    site.write("s.test/c7/input/t.test/x/input/a", "");
    site.write("s.test/c7/expected/t.test/x/input/a", "");
    for threads in ["1", "8"] {
        let ran = site.nrv(&["test", "--threads", threads]).exits(0);
        let told: Vec<&str> = ran.stdout.lines().map(|line| line.split([' ', '(']).nth(6).unwrap()).collect();
        assert_eq!(told, (0..8).map(|n| format!("s.test/c{n}")).collect::<Vec<_>>());
    }
}

/// A workspace in which nothing may be confirmed can be tested all the same: its cases state the expected result.
#[test]
fn confirmations_are_answered_with_yes() {
    let confirm = GREET.replace("text.len()", "nrv.gate.confirm(\"sure?\", 1);");
    let site = with(&confirm, &[("one/expected/to.txt", "hello all\n")]);
    for policy in ["mode = 'never'\nyes_flag = false", "mode = 'policy'", "approvers = ['somebody']"] {
        site.write("nrv.toml", format!("[confirm]\n{policy}\n"));
        site.nrv(&["test"]).exits(0);
    }
}

#[test]
fn models_are_answered_from_records_and_never_asked() {
    let script = r#"
const WORKFLOW = #{ name: "ask", permissions: #{ write: ["**"], llm: ["local"] } };
if !nrv.files.exists("said.txt") {
    let reply = nrv.llm.complete(#{ provider: "local", prompt: "say it", max_tokens: 50 });
    nrv.apply.create("said.txt", reply.text);
}
"#;
    let server =
        ModelServer::serving("openai_chat", [Answer::stream(&form::events("openai_chat", &["said"], Finish::Stop))]);
    let site = with(script, &[("one/input/a.txt", "")]);
    let url = server.base_url("openai_chat");
    let provider = format!("[llm.providers.local]\ndialect = 'openai_chat'\nmodel = 'm'\nbase_url = '{url}'\n");
    site.write("nrv.toml", provider);
    let report = site.nrv(&["test", "--json"]).exits(4);
    assert_eq!(check_of(&report, "outcome")["error"]["code"], "not_found");
    assert!(server.requests().is_empty());
    site.nrv(&["test", "--record-llm"]).exits(2);
    let mut command = site.command(&["test", "-u", "--record-llm"]);
    assert_eq!(command.env("CI", "true").output().unwrap().status.code(), Some(2));
    site.write("s.test/one/llm/old.json", "{}");
    let ran = site.nrv(&["test", "-u", "--record-llm", "--json"]).exits(0);
    assert_eq!(ran.json()["cases"][0]["updated"]["removed"], json!(["s.test/one/llm/old.json"]));
    assert_eq!(site.read("s.test/one/expected/said.txt"), b"said");
    site.nrv(&["test"]).exits(0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn links_and_files_that_git_ignores_are_compared_too() {
    let script = r#"
const WORKFLOW = #{ name: "touch", permissions: #{ write: ["**"] } };
if !nrv.files.exists("out/x") { nrv.apply.create("out/x", "x\n"); }
"#;
    let site = with(script, &[("one/input/.gitignore", "out/\n"), ("one/input/out/y", "y\n")]);
    std::os::unix::fs::symlink("out/y", site.path("s.test/one/input/link")).unwrap();
    site.nrv(&["test", "-u"]).exits(0);
    assert_eq!(fs::read_link(site.path("s.test/one/expected/link")).unwrap().to_str(), Some("out/y"));
    assert_eq!(site.read("s.test/one/expected/out/x"), b"x\n");
    fs::remove_file(site.path("s.test/one/expected/link")).unwrap();
    site.write("s.test/one/expected/link", "out/y");
    let check = fails_in(&site, "tree");
    assert_eq!(check["detail"], "1 file differs\n  `link` is a link, not a file");
    site.nrv(&["test", "-u"]).exits(0);
    assert!(site.path("s.test/one/expected/link").is_symlink());
}

#[test]
fn what_depends_on_a_changed_file_is_run_again_until_ctrl_c() {
    let site = with(GREET, &[("one/expected/to.txt", "hello all\n"), ("two/expected/to.txt", "hello all\n")]);
    let mut running = site.start_heard(&["test", "--watch", "--json"]);
    let mut stdout = running.0.stdout.take().unwrap();
    let mut next = || {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\n") {
            assert_eq!(stdout.read(&mut byte).unwrap(), 1, "it ended: {}", String::from_utf8_lossy(&line));
            line.push(byte[0]);
        }
        let report: Value = serde_json::from_slice(&line).unwrap();
        let cases = report["cases"].as_array().unwrap().iter();
        cases.map(|case| (case["case"].as_str().unwrap().to_owned(), case["ok"] == true)).collect::<Vec<_>>()
    };
    let case = |name: &str, ok| (name.to_owned(), ok);
    assert_eq!(next(), [case("one", true), case("two", true)]);
    site.write("s.test/two/expected/to.txt", "hello you\n");
    assert_eq!(next(), [case("two", false)]);
    site.write("s.rhai", GREET.replace("\"all\"", "\"you\""));
    assert_eq!(next(), [case("one", false), case("two", true)]);
    running.signal(rustix::process::Signal::INT);
    wait_until("it ends", || running.has_ended());
    assert_eq!(running.end().code, 130);
}

#[test]
fn the_cases_of_the_shipped_scripts_hold() {
    let home = tempfile::tempdir().unwrap();
    toolchain::link(home.path());
    let mut command = Command::new(repository::nrv());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home.path());
    command.env("NRV_TRUSTED_PATHS", "/");
    let output = command.args(["test", "--root"]).arg(repository::root()).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let files = repository::files();
    let shipped = files.iter().filter(|path| path.starts_with("scripts/") && !path.contains(".test/"));
    for script in shipped.filter_map(|path| path.strip_suffix(".rhai")) {
        assert!(said.contains(&format!("ok      {script}.test/")), "{script} has no case: {said}");
    }
}
