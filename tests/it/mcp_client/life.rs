//! The life of a server: its surroundings, the tree that it sees, and its end.
#![expect(clippy::disallowed_methods, reason = "tests read and write files outside of the tree")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{HEAD, error, policy, result, run, site};
use crate::support::site::wait_until;

#[test]
fn a_program_is_confined_and_leaves_nothing_in_the_tree() {
    let site = site("honest", "env = [\"FAKE_KEY\"]\n");
    site.write("scripts/tools.rhai", format!("{HEAD}fake.invoke(\"where\", #{{}}).structured"));
    let before = site.tree();
    let mut command = site.command(&["run", "scripts/tools.rhai", "--json", "--allow-dirty"]);
    let output = command.env("SECRET_OF_THE_SHELL", "x").env("FAKE_KEY", "y").output().unwrap();
    let ran: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &ran["result"];
    assert_eq!(
        (&found["PATH"], &found["FAKE_KEY"], &found["SECRET_OF_THE_SHELL"]),
        (&json!(true), &json!(true), &json!(false))
    );
    assert_eq!(found["wrote"], true);
    assert!(!site.path("made.txt").exists());
    assert!(site.tree() == before);
}

#[test]
fn a_server_sees_the_tree_as_the_run_does() {
    let site = site("honest", "");
    let text = "let told = [];\nlet sees = |name| fake.invoke(\"where\", #{}).structured.sees.contains(name);\n\
                told.push(sees.call(\"new.txt\"));\nnrv.apply.create(\"new.txt\", \"x\\n\");\ntold.push(sees.call(\"new.txt\"));\n\
                nrv.attempt(|| { nrv.apply.create(\"other.txt\", \"x\\n\"); false });\ntold.push(sees.call(\"other.txt\"));\ntold";
    for more in [&[][..], &["--dry-run"]] {
        assert_eq!(result(run(&site, text, more)), json!([false, true, false]), "{more:?}");
        if more.is_empty() {
            site.nrv(&["rollback", "last"]).exits(0);
        }
    }
}

#[test]
fn a_server_is_started_once_for_calls_between_which_nothing_changes() {
    let site = site("honest", "");
    run(&site, "for n in 0..5 { fake.invoke(\"search\", #{ query: `${n}` }); }", &[]).exits(0);
    let events = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    assert_eq!(events.matches("\"kind\":\"exec_started\"").count(), 1);
    let started = events.lines().find(|line| line.contains("exec_started")).unwrap();
    let started: Value = serde_json::from_str(started).unwrap();
    assert_eq!(started["volatile"]["program"]["sha256"].as_str().map(str::len), Some(64));
    assert!(started["volatile"]["confinement"].is_object());
}

#[test]
fn a_server_that_dies_is_an_error_and_starts_again_for_the_next_call() {
    let site = site("honest", "");
    let text = "let died = ();\ntry { fake.invoke(\"search\", #{ query: \"dies\" }) } catch (e) { died = e; }\n\
                [died.message, died.details.output, died.details.status, fake.invoke(\"search\", #{ query: \"a\" }).text]";
    let told = result(run(&site, text, &[]));
    assert_eq!(told, json!(["the MCP server `fake` ended before it had answered", "out of luck", 9, "found a"]));
}

/// A policy whose server can be seen from outside.
fn seen(log: &std::path::Path) -> String {
    format!("env = [\"FAKE_LOG\"]\n[exec]\nsandbox = \"off\"\n# {}\n", log.display())
}

#[test]
fn a_call_that_the_run_died_in_is_made_again_only_if_a_person_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let site = site("honest", &seen(&log));
    site.write("scripts/tools.rhai", format!("{HEAD}nrv.apply.create(\"a.txt\", \"a\\n\");\nlet r = fake.invoke(\"create\", #{{ title: \"slow\" }}).text; print(r); r"));
    let mut command = site.command(&["run", "scripts/tools.rhai", "--allow-dirty", "--yes"]);
    let mut running = command.env("FAKE_LOG", &log).spawn().unwrap();
    wait_until("the tool is called", || fs::read_to_string(&log).is_ok_and(|text| text == "slow\n"));
    rustix::process::kill_process(rustix::process::Pid::from_child(&running), Signal::KILL).unwrap();
    running.wait().unwrap();
    let uncertain = error(site.nrv(&["resume", "last", "--json"]), 7);
    assert_eq!(uncertain["code"], "uncertain");
    assert!(uncertain["message"].as_str().is_some_and(|words| words.contains("`mcp.fake.create`")), "{uncertain}");
    let reply = json!({"text": "ticket 7", "content": [], "structured": null}).to_string();
    let resumed = site.nrv(&["resume", "last", "--approve", "c1", "--reply", &reply, "--json"]);
    assert_eq!(result(resumed), "ticket 7");
    assert_eq!(fs::read_to_string(&log).unwrap(), "slow\n", "it was not made again");
    assert!(site.path("a.txt").exists());
}

#[test]
fn a_server_ends_with_its_run_however_that_ends() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let site = site("honest", &seen(&log));
    site.write("scripts/tools.rhai", format!("{HEAD}fake.invoke(\"create\", #{{ title: \"slow\" }});"));
    for signal in [Signal::KILL, Signal::INT] {
        let _ = fs::remove_file(&log);
        let mut command = site.command(&["run", "scripts/tools.rhai", "--allow-dirty", "--yes"]);
        let mut running = command.env("FAKE_LOG", &log).spawn().unwrap();
        wait_until("the tool is called", || log.exists());
        assert!(is_running(&site.path("server.py")));
        rustix::process::kill_process(rustix::process::Pid::from_child(&running), signal).unwrap();
        running.wait().unwrap();
        wait_until("the server has ended", || !is_running(&site.path("server.py")));
    }
}

#[test]
fn a_run_that_is_cancelled_in_a_call_is_undone_however_stubborn_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let site = super::site("stubborn", &seen(&log));
    site.write(
        "scripts/tools.rhai",
        format!("{HEAD}nrv.apply.create(\"a.txt\", \"a\\n\");\nfake.invoke(\"create\", #{{ title: \"slow\" }});"),
    );
    let mut command = site.command(&["run", "scripts/tools.rhai", "--allow-dirty", "--yes"]);
    let mut running = command.env("FAKE_LOG", &log).spawn().unwrap();
    wait_until("the tool is called", || log.exists());
    assert!(site.path("a.txt").exists());
    rustix::process::kill_process(rustix::process::Pid::from_child(&running), Signal::INT).unwrap();
    let status = running.wait().unwrap();
    assert_eq!(status.code(), Some(130), "it ends by itself: {status:?}");
    assert!(!site.path("a.txt").exists(), "it is undone");
    wait_until("the server has ended", || !is_running(&site.path("server.py")));
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

/// True if a process of this user works in the folder of the file.
fn is_running(file: &std::path::Path) -> bool {
    let folder = file.parent().unwrap().canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.into_iter().any(|process| {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let is_server = words.split(|byte| *byte == 0).any(|word| word == b"server.py");
        is_server && fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
    })
}

#[test]
fn a_resumed_run_takes_replies_from_its_record() {
    let site = site("honest", "");
    let text = "let one = fake.invoke(\"search\", #{ query: \"a\" }).text;\nnrv.gate.confirm(\"go on\", #{});\n[one, fake.invoke(\"search\", #{ query: \"b\" }).text]";
    site.write("scripts/tools.rhai", format!("{HEAD}{text}"));
    site.nrv(&["run", "scripts/tools.rhai", "--allow-dirty"]).exits(7);
    site.write("nrv.toml", policy("poisoned", ""));
    // What the server said before is answered from the record; it is asked anew for what comes then.
    let refused = error(site.nrv(&["resume", "last", "--approve", "go on", "--json"]), 3);
    assert_eq!(refused["code"], "not_approved");
}
