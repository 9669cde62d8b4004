//! The fields that the reference lists: the real door takes exactly these, and returns exactly these.

use std::collections::{BTreeMap, BTreeSet};

use nrv::base::hash::Sha256;
use nrv::script::{
    guest::bindings::{self, Call, Field},
    reference,
};
use serde_json::{Value, json};

use super::examples::{run, workspace};

const DIFF: &str = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-old\n+new\n";
const DIFF_B64: &str = "LS0tIGEvbm90ZXMudHh0CisrKyBiL25vdGVzLnR4dApAQCAtMSArMSBAQAotb2xkCituZXcK";

/// The id of the first agent of a run with the seed 0.
const AGENT: &str = "58b73f5d-5308-4c81-99f5-9ff4a7616ec9";

/// A call with arguments that are right: together its samples have every field.
fn samples() -> Vec<(&'static str, Value)> {
    let commitment = |assertion: Value| json!({"description": "d", "assertion": assertion, "timeout_ms": 60_000});
    let target = json!({"glob": "site/**", "repo_path": "."});
    let invocation = json!({
        "target": target, "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"},
        "constraints": {"max_files": 10, "timeout_ms": 60_000, "seed": 1},
        "tool": "link_updater", "version": "1.0", "mode": "dry-run",
    });
    let command = json!({
        "program": "cargo", "args": ["fmt", "--version"], "cwd": ".", "env": {}, "timeout_ms": 60_000, "stdin": "",
        "writes": ["**/*.rs"], "test": false, "confirm": "l",
    });
    let call = json!({"id": "1", "name": "look", "arguments": {}});
    let request = json!({
        "messages": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "", "tool_calls": [call]},
                     {"role": "tool", "content": "c", "tool_call_id": "1"}],
        "max_tokens": 100, "provider": "painter", "model": "painter", "workload": "chat", "schema": {"type": "array"},
        "tools": [{"name": "look", "description": "d", "parameters": {"type": "object"}}],
        "tool_choice": {"named": "look"}, "temperature": 0.5, "seed": 1, "stop": ["x"], "timeout_ms": 1000,
        "retry": {"on": ["overloaded"], "max": 1, "wait_ms": 1},
    });
    let short = json!({"prompt": "p", "max_tokens": 100});
    let tool = json!({"name": "look", "description": "d", "input_schema": {"type": "object"}});
    let of_edit = json!({"prompt": "p", "max_tokens": 100, "tools": [tool]});
    let plan = json!({
        "diffs": [{"path": "notes.txt", "checksum": null, "unified_diff": DIFF}],
        "post": {"commands": [{"program": "cargo", "args": ["check"], "timeout_ms": 1000}]},
        "commitments": [commitment(json!({"file_exists": "notes.txt"}))],
    });
    let plan_b64 = json!({"diffs": [{"path": "notes.txt", "unified_diff_b64": DIFF_B64, "line_ends": "diff"}]});
    let parts = json!({
        "goal": "g", "role": "r", "constraints": ["c"], "directives": ["dta"],
        "context": [{"path": "notes.txt"}, {"name": "a", "text": "t"}, {"name": "b", "value": 1}],
        "prior": [{"reply": "r", "errors": ["e"]}], "schema": {"type": "array"}, "provider": "painter", "model": "painter",
        "max_tokens": 10,
    });
    vec![
        ("nrv.commit", json!([commitment(json!({"file_exists": "notes.txt"}))])),
        ("nrv.commit", json!([commitment(json!({"json_valid": "*.json"}))])),
        ("nrv.commit", json!([commitment(json!({"tree_unchanged": ["none/**"]}))])),
        ("nrv.commit", json!([commitment(json!({"count": {"pattern": "zzz", "glob": "*.txt", "equals": 0}}))])),
        (
            "nrv.commit",
            json!([commitment(json!({"count": {"pattern": "zzz", "glob": "*.txt", "at_least": 0, "at_most": 1}}))]),
        ),
        (
            "nrv.commit",
            json!([commitment(
                json!({"command": {"program": "cargo", "args": ["fmt", "--version"], "cwd": ".", "env": {}, "status": 0}})
            )]),
        ),
        ("nrv.dtas", json!([])),
        (
            "nrv.apply.diff",
            json!([{"path": "notes.txt", "unified_diff": DIFF, "checksum": null, "strategy": "dry-run",
                    "line_ends": "file"}]),
        ),
        (
            "nrv.apply.diff",
            json!([{"path": "notes.txt", "unified_diff_b64": DIFF_B64, "strategy": {"write_backup": ".bak"}}]),
        ),
        ("nrv.apply.plan", json!([plan, "dry-run"])),
        ("nrv.apply.plan", json!([plan_b64, {"write_backup": ".old"}])),
        ("nrv.apply.create", json!(["made.txt", "made\n"])),
        (
            "nrv.code.find",
            json!([{"glob": "web/**", "pattern": "log($A)", "selector": "call_expression", "strictness": "smart", "lang": "js",
                    "allow_errors": false}]),
        ),
        ("nrv.code.find", json!([{"glob": "web/**", "rule": {"kind": "identifier"}}])),
        (
            "nrv.code.rewrite",
            json!([{"glob": "web/**", "pattern": "log($A)", "selector": "call_expression", "strictness": "smart", "lang": "js",
                    "fix": "trace($A)", "allow_errors": false, "once": false, "on_skip": "list"}]),
        ),
        (
            "nrv.code.rewrite",
            json!([{"glob": "web/**", "rule": {"pattern": "log($A)"}, "fix": "trace($A)", "lang": "js"}]),
        ),
        ("nrv.code.rewrite", json!([{"glob": "web/**", "rules": "rules", "utils": "utils", "tests": "tests"}])),
        ("nrv.edit.find", json!([{"kind": "class", "glob": "site/page.html", "name": "p-2"}])),
        ("nrv.edit.find", json!([{"kind": "text", "glob": ["site/*.html"], "selector": ".lead", "text": "Hello"}])),
        ("nrv.edit.find", json!([{"kind": "prop", "glob": "site/page.html", "name": "alt"}])),
        (
            "nrv.edit.make",
            json!(["updateTextContent", {"filePath": "site/page.html", "lineNumber": 5, "oldText": "Old", "newText": "New"}]),
        ),
        ("nrv.edit.tools", json!(["selector"])),
        (
            "nrv.edit.add_aria_attribute",
            json!([{"path": "site/page.html", "line": 3, "column": 6, "name": "img", "kind": "element"}, "aria-hidden", "true"]),
        ),
        ("nrv.edit.update_class_name", json!([handle(), "p-2", "p-4"])),
        ("nrv.edit.update_import", json!([{"path": "site/app.js", "nth": 1}, "./old.js", "./new.js"])),
        ("nrv.edit.update_prop_value", json!([{"path": "site/page.html", "selector": "img"}, "alt", "", "A boat"])),
        ("nrv.edit.update_style_value", json!([{"path": "site/page.css", "line": 1}, "color", "red", "blue"])),
        ("nrv.edit.update_text_content", json!(["site/page.html:5", "Old", "New"])),
        ("nrv.diff.parse", json!([DIFF])),
        (
            "nrv.diff.parse",
            json!([
                "diff --git a/a b/b\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from a\nrename to b\n"
            ]),
        ),
        ("nrv.diff.repair", json!([DIFF])),
        ("nrv.dta(name).describe", json!([])),
        ("nrv.dta(name).propose", json!([invocation])),
        ("nrv.dta(name).run", json!([invocation])),
        (
            "nrv.agent.summon",
            json!([{"name": "Bo", "assignment": "work", "tools": ["exec_run"], "model": {"provider": "painter", "model": "painter"},
                "commitments": [{"description": "d", "assertion": {"file_exists": "notes.txt"}, "timeout_ms": 1000}],
                "parent": AGENT, "budget": {"calls": 9, "tokens": 900, "cost_millionths": 900}}]),
        ),
        ("nrv.agent.get", json!([AGENT])),
        ("nrv.agent.list", json!([])),
        (
            "nrv.agent.converse",
            json!([AGENT, "json", {"request": "paint", "max_turns": 1, "max_actions": 1, "max_tokens": 100, "schema": {"type": "array"}}]),
        ),
        ("nrv.agent.commit", json!([AGENT, {"description": "d", "assertion": {"file_exists": "notes.txt"}}])),
        (
            "nrv.dag",
            json!([[
                {"id": "links", "dta": "link_updater", "input": invocation},
                {"id": "gate", "gate": "go on", "after": ["links"], "needs": "done"},
                {"id": "text", "edit": "update_text_content", "parallelizable": false,
                    "input": {"path": "site/page.html", "line": 5, "old": "Old", "new": "New"}},
                {"id": "tool", "exec": ["cargo", "fmt", "--version"]},
            ], {"fail_fast": true}]),
        ),
        ("nrv.planner.derive_agent", json!([{"adapters": ["link_updater"], "assignment": "move the links"}])),
        (
            "nrv.planner.to_dag",
            json!([{"goal": "move", "steps": [{"id": "go", "request": "T1"}],
                    "tool_requests": [{"id": "T1", "tool": "link_updater", "reason": "the host moved", "inputs_ref": "#/inputs/T1"}],
                    "inputs": {"T1": {"target": {"glob": "site/**"}, "params":
                        {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}}}}]),
        ),
        (
            "nrv.planner.plan",
            json!([{"goal": "move", "findings": {"link_updater": [{"target": {"glob": "site/**"}, "params":
                    {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}}]}}]),
        ),
        (
            "nrv.planner.plan",
            json!([{"goal": "rest", "model": {"provider": "painter", "model": "painter", "max_tokens": 500}}]),
        ),
        (
            "nrv.planner.validate",
            json!([{"goal": "move", "skipped": [{"tool": "rename_refactor", "reason": "no symbol moves"}],
                    "tool_requests": [{"id": "T1", "tool": "link_updater", "reason": "the host moved", "inputs_ref": "#/inputs/T1"}],
                    "inputs": {"T1": {"target": {"glob": "site/**"}, "params":
                        {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}}}}]),
        ),
        ("nrv.exec.check", json!([command])),
        ("nrv.exec.run", json!([command])),
        ("nrv.exec.verify", json!([[command]])),
        ("nrv.files.grep", json!(["old", "**"])),
        ("nrv.files.stat", json!(["notes.txt"])),
        ("nrv.files.stat", json!(["site"])),
        ("nrv.gate.confirm", json!(["label", {"a": 1}])),
        ("nrv.gate.evaluate_command", json!([["rm", "-rf", "/"]])),
        ("nrv.gate.evaluate_edit", json!(["docs/a.md", "x", 1])),
        ("nrv.gate.evaluate_tool_use", json!(["Bash", {"command": "ls"}])),
        ("nrv.llm.capabilities", json!(["painter"])),
        ("nrv.llm.complete", json!([request])),
        ("nrv.llm.complete", json!([short])),
        ("nrv.llm.complete", json!([of_edit])),
        ("nrv.llm.parse", json!(["[]", null, {"allow_fence": true}])),
        ("nrv.llm.parse_plan", json!([plan_b64_as_text(), {"allow_fence": true}])),
        ("nrv.prompt.compose", json!([parts])),
        ("nrv.run.budget", json!([])),
        ("nrv.run.metrics", json!([])),
        (
            "nrv.run.record_violation",
            json!([{"rule": "a/b", "severity": "block", "message": "m", "file": "notes.txt"}]),
        ),
    ]
}

/// A handle of the class in line 4 of `site/page.html`.
fn handle() -> Value {
    let line = Sha256::of(b"<p class=\"lead p-2\">Hello</p>").to_string();
    json!({"path": "site/page.html", "line": 4, "column": 16, "text": "p-2", "kind": "class", "line_sha256": line,
           "file_sha256": line, "lines": 5, "relocate": true, "name": "class"})
}

fn plan_b64_as_text() -> String {
    json!({"diffs": [{"path": "notes.txt", "unified_diff": DIFF}]}).to_string()
}

/// Makes a call with each of these lists of arguments, one after the other; returns the results or errors.
fn outcomes(call: &Call, arguments: &[Value]) -> Vec<Result<Value, Value>> {
    let receiver = call.receiver.replace("(name)", "(\"link_updater\")");
    let n = arguments[0].as_array().unwrap().len();
    let params: Vec<String> = (0..n).map(|at| format!("a[{at}]")).collect();
    let body = format!("{receiver}.{}({})", call.name, params.join(", "));
    let site = workspace();
    site.write("arguments.json", json!(arguments).to_string());
    // An agent that calls can name, and none that the run would wait for.
    let (before, after) = match call.receiver {
        "nrv.agent" | "nrv" => (
            "nrv.agent.summon(#{});",
            "for one in nrv.agent.list() { if one.get(\"parent\") == () { nrv.agent.dismiss(one.id); } }",
        ),
        _ => ("", ""),
    };
    let text = format!(
        "{before} let all = []; for a in nrv.json.parse(nrv.files.read(\"arguments.json\")) {{
            try {{ all.push(#{{ ok: {body} }}); }} catch (e) {{ all.push(#{{ e: e }}); }} }} {after} all"
    );
    let all = run(&site, &text).unwrap_or_else(|error| panic!("{}: {error}", call.path()));
    let outcome = |one: &Value| match one.get("ok") {
        Some(reply) => Ok(reply.clone()),
        None => Err(one["e"].clone()),
    };
    all.as_array().unwrap().iter().map(outcome).collect()
}

/// The places of maps whose fields are listed, from the outermost to those in it, each with its fields.
fn places(value: &Value, fields: &'static [Field], at: String, found: &mut Vec<(String, &'static [Field])>) {
    if fields.is_empty() {
        return;
    }
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, fields, format!("{at}/{index}"), found));
        }
        Value::Object(map) => {
            for field in fields {
                if let Some(inner) = map.get(field.name) {
                    places(inner, field.fields, format!("{at}/{}", field.name), found);
                }
            }
            found.push((at, fields));
        }
        _ => {}
    }
}

fn maps(call: &Call, arguments: &Value) -> Vec<(String, &'static [Field])> {
    let mut found = Vec::new();
    for (index, (param, value)) in call.params.iter().zip(arguments.as_array().unwrap()).enumerate() {
        places(value, param.fields, format!("/{index}"), &mut found);
    }
    found
}

#[test]
fn every_listed_field_is_taken_and_no_other() {
    let mut missing: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for call in bindings::calls() {
        let mut listed = call.params.iter().map(|param| param.fields).collect::<Vec<_>>();
        while let Some(fields) = listed.pop() {
            listed.extend(fields.iter().map(|field| field.fields));
            // No JSON is a function, and no painter gets an agent's work done.
            let is_sampled = |field: &&Field| field.kind != "function?" && field.name != "agent";
            let names = fields.iter().filter(is_sampled).map(|field| field.name);
            missing.entry(key(fields)).or_default().extend(names);
        }
    }
    for (path, arguments) in samples() {
        let call = reference::call(path).unwrap();
        let maps = maps(call, &arguments);
        let mut variants = Vec::new();
        for (at, fields) in &maps {
            let map = arguments.pointer(at).unwrap().as_object().unwrap();
            missing.get_mut(&key(fields)).unwrap().retain(|name| !map.contains_key(*name));
            let mut more = arguments.clone();
            more.pointer_mut(at).unwrap()["zzz"] = json!(1);
            variants.push(more);
        }
        let refused = variants.len();
        variants.push(arguments);
        for (index, outcome) in outcomes(call, &variants).into_iter().enumerate() {
            match outcome {
                Ok(_) => assert!(index == refused, "{path} takes {}", variants[index]),
                Err(error) => assert!(
                    index < refused && error["code"] == "invalid_input",
                    "{path} {}: {error:#}",
                    variants[index]
                ),
            }
        }
    }
    missing.retain(|_, names| !names.is_empty());
    assert!(missing.is_empty(), "no sample has these fields: {missing:#?}");
}

/// Two lists of the same names are the same list.
fn key(fields: &[Field]) -> String {
    fields.iter().map(|field| field.name).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_field_of_another_type_is_refused() {
    let others = [json!("x"), json!(7), json!(true), json!({}), json!([]), json!(null)];
    for (path, arguments) in samples() {
        let call = reference::call(path).unwrap();
        let mut variants = Vec::new();
        for (at, fields) in maps(call, &arguments) {
            let present = arguments.pointer(&at).unwrap().as_object().unwrap();
            for field in fields.iter().filter(|field| present.contains_key(field.name)) {
                for other in others.iter().filter(|other| !fits(other, field.kind)) {
                    let mut wrong = arguments.clone();
                    wrong.pointer_mut(&at).unwrap()[field.name] = other.clone();
                    variants.push(wrong);
                }
            }
        }
        if variants.is_empty() {
            continue;
        }
        for (outcome, wrong) in outcomes(call, &variants).into_iter().zip(&variants) {
            assert!(outcome.is_err(), "{path} takes {wrong}");
        }
    }
}

fn fits(value: &Value, kind: &str) -> bool {
    kind.trim_end_matches('?').split(" | ").any(|kind| match (kind, value) {
        ("any", _) | ("()", Value::Null) | ("string", Value::String(_)) | ("bool", Value::Bool(_)) => true,
        ("map", Value::Object(_)) | ("array", Value::Array(_)) => true,
        ("int", Value::Number(number)) => number.is_i64() || number.is_u64(),
        ("float", Value::Number(_)) => true,
        _ => false,
    })
}

#[test]
fn every_call_gives_what_is_listed_and_nothing_else() {
    let mut given: BTreeSet<String> = BTreeSet::new();
    for (path, arguments) in samples() {
        let call = reference::call(path).unwrap();
        let outcome = outcomes(call, &[arguments]).remove(0);
        shape(path, &outcome.unwrap(), call.gives);
        given.insert(path.to_owned());
    }
    for (path, text) in [
        ("nrv.agent.dismiss", "nrv.agent.dismiss(nrv.agent.summon(#{}).id)"),
        ("nrv.attempt", "nrv.attempt(|| 1)"),
        (
            "nrv.dta(name).apply",
            "let l = nrv.dta(\"link_updater\"); l.apply(l.propose(#{ target: #{ glob: \"site/**\" }, params: #{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" } }))",
        ),
        (
            "nrv.code.apply",
            "nrv.code.apply(nrv.code.rewrite(#{ glob: \"web/**\", pattern: \"log($A)\", fix: \"trace($A)\" }))",
        ),
        ("nrv.mcp(name).invoke", "nrv.mcp(\"docs\").invoke(\"search\", #{ query: \"x\" })"),
        ("nrv.mcp(name).tools", "nrv.mcp(\"docs\").tools()"),
        ("nrv.text.captures", "nrv.text.captures(\"a1\", `(a)(?<n>\\d)`)"),
        ("nrv.text.matches", "nrv.text.matches(\"a1\", `\\d`)"),
        ("nrv.llm.stream", "nrv.llm.stream(#{ prompt: \"p\", max_tokens: 100 }, |event| false)"),
        ("nrv.llm.stream", "nrv.llm.stream(#{ prompt: \"p\", max_tokens: 100 }, |event| event.type == \"token\")"),
    ] {
        shape(path, &run(&workspace(), text).unwrap(), reference::call(path).unwrap().gives);
        given.insert(path.to_owned());
    }
    let of_create = ["nrv.apply.remove", "nrv.apply.rename", "nrv.apply.write"];
    let listed = bindings::calls().filter(|call| !call.gives.is_empty()).map(Call::path);
    let rest: Vec<String> =
        listed.filter(|path| !given.contains(path) && !of_create.contains(&path.as_str())).collect();
    assert!(rest.is_empty(), "no sample of {rest:?}");
}

/// Asserts that a value has the listed fields.
#[track_caller]
fn shape(path: &str, value: &Value, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| shape(path, item, fields)),
        Value::Object(map) => {
            for name in map.keys() {
                assert!(fields.iter().any(|field| field.name == name), "{path} gives `{name}`: {value:#}");
            }
            for field in fields {
                match map.get(field.name) {
                    Some(inner) => {
                        assert!(fits(inner, field.kind), "{path}: `{}` is {inner}", field.name);
                        shape(path, inner, field.fields);
                    }
                    None => assert!(field.is_optional(), "{path} does not give `{}`: {value:#}", field.name),
                }
            }
        }
        _ => {}
    }
}
