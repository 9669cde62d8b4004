//! `nrv.prompt.compose` and the exact output of `nrv.ui.show`: reads, records, stale reads, and display.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read records")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use nrv::{base::hash::Sha256, system::schema::Schema};
use serde_json::{Value, json};

use crate::support::{
    site::{Ran, Site},
    terminal::on_a_terminal,
};

const EVENT: &str = include_str!("../../schemas/event.schema.json");

/// A site with a script that may write everything.
fn scripted(body: &str) -> Site {
    let site = Site::new(1);
    let header = "const WORKFLOW = #{ name: \"t\", permissions: #{ write: [\"**\"] } };\n";
    site.script("t.rhai", &format!("{header}{body}"));
    site
}

/// The result of the script's run.
#[track_caller]
fn result(site: &Site, more: &[&str]) -> Value {
    site.nrv(&[&["run", "t.rhai", "--json"], more].concat()).exits(0).json()["result"].clone()
}

/// The record of the latest run's first call of a name.
fn call(site: &Site, name: &str) -> Value {
    let text = std::fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.find(|record| record["kind"] == "call" && record["data"]["call"] == name).unwrap()
}

const WITH_FILES: &str = "let p = nrv.prompt.compose(#{ goal: \"Say it.\", role: (), directives: [\"dta\"],
    context: [\"a.txt\", #{ path: \"b.txt\" }, #{ name: \"n\", value: 2 }] });\n";

#[test]
fn a_prompt_holds_the_files_and_its_record_the_hash_alone() {
    let site = scripted(&format!("{WITH_FILES}p"));
    site.write("a.txt", "the words of the first file\r\n");
    site.write("b.txt", "`````");
    site.commit();
    let prompt = result(&site, &[]);
    let text = prompt["text"].as_str().unwrap();
    assert!(text.contains("\n```\nthe words of the first file\r\n```\n"), "{text}");
    assert!(text.contains("\n``````\n`````\n``````\n"), "{text}");
    assert!(text.contains("Use the link_updater DTA in dry-run mode first.\n"), "{text}");
    assert_eq!(prompt["sha256"], json!(Sha256::of(text.as_bytes())));
    assert_eq!(
        prompt["parts"][2],
        json!({"name": "file:a.txt", "sha256": Sha256::of(b"the words of the first file\r\n"), "bytes": 29})
    );
    assert_eq!(prompt["tokens"], nrv::service::prompt::estimate(text));
    let recorded = call(&site, "prompt.compose");
    assert_eq!(recorded["data"]["prompt"], json!({"sha256": prompt["sha256"], "tokens": prompt["tokens"]}));
    // The script chose the run's result; the host's record of the call does not hold the text.
    assert!(!recorded.to_string().contains("first file"), "{recorded}");
    site.nrv(&["replay", "last"]).exits(0);
    assert_eq!(result(&site, &[]), prompt);
}

#[test]
fn a_dry_run_puts_in_what_it_proposes() {
    let site = scripted(
        "nrv.apply.create(\"a.txt\", \"new\\n\"); nrv.prompt.compose(#{ goal: \"g\", context: [\"a.txt\"] }).text",
    );
    assert!(result(&site, &["--dry-run"]).as_str().unwrap().contains("```\nnew\n```"));
    assert!(!site.path("a.txt").exists());
}

#[test]
fn a_prompt_takes_only_what_a_script_may_read() {
    let site = scripted("nrv.prompt.compose(#{ goal: \"g\", context: [\"nrv.toml\", \"private/a.txt\"] })");
    let site = site.policy("[paths]\nread_deny = [\"private/**\"]\n");
    site.write("private/a.txt", "private");
    site.commit();
    site.nrv(&["run", "t.rhai"]).exits(3).says("private/a.txt");
    assert_eq!(call(&site, "prompt.compose")["data"]["decision"], "block");
    for (path, code, words) in [
        (".git/HEAD", 3, "protected_path"),
        ("../a", 1, "invalid_path"),
        ("none", 1, "`none`"),
        ("bin", 1, "`bin` is not UTF-8"),
    ] {
        site.write("bin", b"\xff\xfe");
        site.script("t.rhai", &format!("nrv.prompt.compose(#{{ goal: \"g\", context: [#{{ path: \"{path}\" }}] }})"));
        site.nrv(&["run", "t.rhai"]).exits(code).says(words);
    }
}

#[test]
fn what_is_wrong_with_the_parts_is_told_at_the_call() {
    for (parts, words) in [
        ("#{}", "missing field `goal`"),
        ("#{ goals: \"g\" }", "unknown field `goals`"),
        ("#{ goal: \"g\", directives: [\"dtb\"] }", "did you mean `dta`?"),
        ("[\"g\"]", "invalid type"),
    ] {
        // Computed, since the check would find a literal before the run.
        let none = if parts.starts_with('[') { "[]" } else { "#{}" };
        let site = scripted(&format!("nrv.prompt.compose({parts} + {none})"));
        let ran = site.nrv(&["run", "t.rhai"]).exits(1).says(words);
        assert!(ran.stderr.contains("t.rhai:2:12"), "{}", ran.stderr);
    }
}

#[test]
fn a_file_of_a_prompt_that_is_otherwise_now_is_a_stale_read() {
    let site = scripted(&format!("{WITH_FILES}nrv.gate.confirm(\"go on\", p.sha256);"));
    site.write("a.txt", "a");
    site.write("b.txt", "b");
    site.commit();
    site.nrv(&["run", "t.rhai"]).exits(7);
    site.write("b.txt", "other");
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(5);
    assert_eq!(ran.json()["error"]["details"]["reads"], json!([{"what": "b.txt", "position": "1"}]));
    site.write("b.txt", "b");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
}

#[test]
fn a_file_is_shown_byte_for_byte_and_marked_beside() {
    let site = scripted("nrv.ui.show(\"docs/a.bin\")");
    let bytes = b"\x1b[2J one\r\n\xff\xfe\0 two";
    site.write("docs/a.bin", bytes);
    site.commit();
    let output = site.command(&["run", "t.rhai"]).output().unwrap();
    assert_eq!(output.stdout, bytes);
    let mark = format!("from the store: docs/a.bin (sha256 {})\n", Sha256::of(bytes));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&mark), "{said}");
    let recorded = call(&site, "ui.show");
    assert_eq!(recorded["data"]["reply"], json!({"path": "docs/a.bin", "sha256": Sha256::of(bytes)}));
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_file_that_is_only_proposed_is_not_from_the_store() {
    let site = scripted("nrv.apply.create(\"a.txt\", \"new\\n\"); nrv.ui.show(\"a.txt\");");
    let ran = site.nrv(&["run", "t.rhai", "--dry-run"]).exits(0);
    assert!(ran.stdout.starts_with("new\n"), "{}", ran.stdout);
    let ran = ran.says("proposed, not in the store: a.txt (sha256 ");
    assert!(!ran.stderr.contains("from the store"), "{}", ran.stderr);
    site.nrv(&["run", "t.rhai"]).exits(0).says("from the store: a.txt (sha256 ");
}

#[test]
fn what_names_no_file_that_may_be_read_is_a_text() {
    for text in ["site", "none.txt", ".git/HEAD", "private/a.txt", "../t.rhai", "two\\nlines", ""] {
        let site = scripted(&format!("nrv.ui.show(\"{text}\")")).policy("[paths]\nread_deny = [\"private/**\"]\n");
        site.write("private/a.txt", "private");
        site.commit();
        let ran: Ran = site.nrv(&["run", "t.rhai"]).exits(0);
        assert_eq!(ran.stdout, text.replace("\\n", "\n"));
        assert!(!ran.stderr.contains("from the store"), "{}", ran.stderr);
        assert_eq!(call(&site, "ui.show")["data"]["reply"], Value::Null);
    }
}

const REPLY: &str = "#{ text: \"I did it.\\u202e\\n\", model_requested: \"tiny\", model: \"tiny-2\", provider: \"local\", label: \"authored\" }";

#[test]
fn a_reply_is_shown_as_it_was_received_and_marked_with_its_model() {
    let site = scripted(&format!("nrv.ui.show({REPLY}); nrv.ui.show(#{{ text: \"x\" }});"));
    let ran = site.nrv(&["run", "t.rhai"]).exits(0).says("from the model: tiny-2 (local, authored)\n");
    assert_eq!(ran.stdout, "I did it.\u{202e}\n{\"text\":\"x\"}\n");
}

#[test]
fn programs_get_what_is_shown_as_events() {
    let site = scripted(&format!("nrv.ui.show(\"a.txt\"); nrv.ui.show(\"b.bin\"); nrv.ui.show({REPLY});"));
    site.write("a.txt", "text");
    site.write("b.bin", b"\xff");
    site.commit();
    let ran = site.nrv(&["run", "t.rhai", "--events"]).exits(0);
    let schema = Schema::compile(&serde_json::from_str(EVENT).unwrap()).unwrap();
    let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    events.iter().for_each(|event| schema.check(event).unwrap());
    let shown: Vec<&Value> =
        events.iter().filter(|event| event["event"].as_str().unwrap().starts_with("show")).collect();
    let file = |path: &str, bytes: &[u8]| json!({"event": "show_file", "path": path, "sha256": Sha256::of(bytes), "proposed": false});
    let with = |mut event: Value, key: &str, value: &str| {
        event[key] = json!(value);
        event
    };
    let reply = json!({
        "event": "show_reply", "text": "I did it.\u{202e}\n", "model": "tiny-2", "provider": "local", "label": "authored",
    });
    let expected =
        [with(file("a.txt", b"text"), "text", "text"), with(file("b.bin", b"\xff"), "base64", "/w=="), reply];
    assert_eq!(shown, expected.iter().collect::<Vec<_>>());
    assert!(site.nrv(&["run", "t.rhai", "--json"]).exits(0).json()["result"].is_null());
}

#[test]
fn a_terminal_gets_neither_controls_nor_another_order_of_words() {
    let site = scripted(&format!("nrv.ui.show(\"a.txt\"); nrv.ui.show({REPLY});"));
    site.write("a.txt", "\u{1b}[2Jone\n\u{202e}two\n".as_bytes().iter().copied().chain([0xff]).collect::<Vec<u8>>());
    site.commit();
    let Some(running) = on_a_terminal(&site, &["run", "t.rhai"]) else { return };
    let shown = running.end().exits(0).stdout;
    assert!(shown.contains("from the store: a.txt (sha256 "), "{shown:?}");
    assert!(shown.contains("│ \\u{1b}[2Jone\r\n│ \\u{202e}two\r\n│ \\xff"), "{shown:?}");
    assert!(shown.contains("from the model: tiny-2 (local, authored)\r\n│ I did it.\\u{202e}\r\n"), "{shown:?}");
    assert!(!shown.contains('\u{202e}') && !shown.contains("\u{1b}[2J"), "{shown:?}");
}

/// A model with a small context, and a script that reports the result of a prompt for it.
fn with_small_model(permissions: &str, then: &str) -> Site {
    let site = Site::new(1).policy(
        "[llm.providers.small]\ndialect = \"command\"\nprogram = [\"/bin/true\"]\nmodel = \"m\"\ncontext_tokens = 100\n",
    );
    site.write("a.txt", "some words of a file\n");
    let body = "let made = |most| { try { return nrv.prompt.compose(#{ goal: \"g\", context: [\"a.txt\"],
        provider: \"small\", max_tokens: most }).tokens; } catch (e) { return e; } };\n";
    let header = format!("const WORKFLOW = #{{ name: \"t\", permissions: #{{ write: [], {permissions} }} }};\n");
    site.script("t.rhai", &format!("{header}{body}let all = [made.call(0), made.call(1000)]; {then}\nall"));
    site
}

#[test]
fn a_prompt_that_does_not_fit_its_model_is_an_error_and_is_never_cut() {
    let site = with_small_model("llm: [\"small\"]", "");
    let result = result(&site, &[]);
    let tokens = result[0].as_u64().unwrap();
    assert!(tokens < 100, "{result:#}");
    let (error, details) = (&result[1], &result[1]["details"]);
    assert_eq!(error["code"], "invalid_input", "{error:#}");
    assert_eq!((&details["estimate"], &details["max_tokens"]), (&json!(tokens), &json!(1000)));
    assert_eq!((&details["limit"], &details["field"]), (&json!(100), &json!("context")));
}

#[test]
fn what_a_model_takes_is_told_only_to_who_may_ask_it() {
    let site = with_small_model("exec: []", "");
    site.nrv(&["run", "t.rhai"]).exits(3).says("small");
    assert_eq!(call(&site, "prompt.compose")["data"]["decision"], "block");
}

#[test]
fn a_prompt_that_did_not_fit_is_no_stale_read_unless_its_files_changed() {
    let site = with_small_model("llm: [\"small\"]", "nrv.gate.confirm(\"go on\", 1);");
    site.nrv(&["run", "t.rhai"]).exits(7);
    site.write("a.txt", "others\n");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(5).says("a.txt");
    site.write("a.txt", "some words of a file\n");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
}
