//! The decision vectors: the library, the command line, scripts and the hook make the recorded decisions.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::BTreeMap;

use nrv::{
    gate::{
        Rules,
        jsonl::{self, Request},
    },
    system::policy::Policy,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        long,
        mcp::{Client, NEW, OLD, Word},
        site::Site,
    },
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    #[serde(default)]
    policy: String,
    request: Value,
    decision: String,
    gates: Vec<String>,
}

const FILES: &[&str] = &["tests/vectors/commands.jsonl", "tests/vectors/edits.jsonl", "tests/vectors/tools.jsonl"];

/// All vectors; the marks that keep scanners from taking examples for leaks are taken out.
fn vectors() -> Vec<Vector> {
    let text: String = FILES.iter().map(|path| repository::text(path).expect("vectors are UTF-8")).collect();
    text.lines()
        .map(|line| serde_json::from_str(&line.replace('·', "")).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Vectors by their policy.
fn groups(vectors: &[Vector]) -> BTreeMap<&str, Vec<&Vector>> {
    let mut groups: BTreeMap<&str, Vec<&Vector>> = BTreeMap::new();
    for vector in vectors {
        groups.entry(&vector.policy).or_default().push(vector);
    }
    groups
}

#[track_caller]
fn compare(face: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{face} decides otherwise:\n{}", wrong.join("\n"));
}

#[test]
fn ids_are_unique_and_every_decision_occurs() {
    let vectors = vectors();
    let ids: std::collections::BTreeSet<_> = vectors.iter().map(|vector| &vector.id).collect();
    assert_eq!(ids.len(), vectors.len());
    for decision in ["allow", "warn", "require-confirmation", "block"] {
        assert!(vectors.iter().any(|vector| vector.decision == decision), "{decision}");
    }
}

/// The library's answer, and the gates that object.
fn answered(vector: &Vector) -> (jsonl::Answer, Vec<String>) {
    let policy = Policy::parse(&vector.policy, "nrv.toml").unwrap();
    let mut request: Request = serde_json::from_value(vector.request.clone()).unwrap();
    request.id = json!(vector.id);
    let answer = jsonl::answer(&request, &policy, &Rules::of(&policy).unwrap()).unwrap();
    let objecting = answer.verdict.results.iter().filter(|result| result.decision > nrv::gate::Decision::Allow);
    let gates = objecting.map(|result| result.gate_name.clone()).collect();
    (answer, gates)
}

#[test]
fn every_gate_that_requests_reach_occurs_with_every_decision_that_it_has() {
    let vectors = vectors();
    let gates = ["destructive-ops", "diff-size", "paths", "secrets", "tool-allowlist"];
    for gate in gates {
        let alone: Vec<&str> =
            vectors.iter().filter(|vector| vector.gates == [gate]).map(|vector| &*vector.decision).collect();
        let never: &[&str] = match gate {
            "diff-size" => &["require-confirmation"],
            "paths" => &["warn"],
            "tool-allowlist" => &["warn", "require-confirmation"],
            _ => &[],
        };
        for decision in ["warn", "require-confirmation", "block"] {
            assert_ne!(alone.contains(&decision), never.contains(&decision), "{gate}: {decision}");
        }
    }
    assert!(vectors.iter().flat_map(|vector| &vector.gates).all(|gate| gates.contains(&gate.as_str())));
}

#[test]
fn the_library_decides_as_the_vectors_say() {
    let mut wrong = Vec::new();
    for vector in vectors() {
        let (answer, gates) = answered(&vector);
        let decision = answer.verdict.decision.as_str();
        if (decision, &gates) != (vector.decision.as_str(), &vector.gates) {
            wrong.push(format!("{}: {decision} {gates:?}, not {} {:?}", vector.id, vector.decision, vector.gates));
        }
        let again = serde_json::to_string(&answered(&vector).0).unwrap();
        assert_eq!(again, serde_json::to_string(&answer).unwrap(), "{}: another time, another answer", vector.id);
    }
    compare("the library", &wrong);
}

#[test]
fn the_command_line_answers_what_the_library_answers() {
    let mut wrong = Vec::new();
    let vectors = vectors();
    for (policy, group) in groups(&vectors) {
        let site = Site::new(0).policy(policy);
        let line = |vector: &&Vector| {
            let mut request = vector.request.clone();
            request["id"] = json!(vector.id);
            format!("{request}\n")
        };
        let ran = site.nrv_with(&["gate", "--jsonl"], &group.iter().map(line).collect::<String>()).exits(0);
        assert_eq!(ran.stdout.lines().count(), group.len());
        for (vector, line) in group.iter().zip(ran.stdout.lines()) {
            let answer: Value = serde_json::from_str(line).unwrap();
            let expected = serde_json::to_value(answered(vector).0).unwrap();
            if answer != expected || answer["decision"] != vector.decision {
                wrong.push(format!("{}: {answer}, not {expected}", vector.id));
            }
        }
    }
    compare("the command line", &wrong);
}

#[test]
fn clients_of_the_protocol_are_told_what_the_vectors_say() {
    let mut wrong = Vec::new();
    let vectors = vectors();
    for (at, (policy, group)) in groups(&vectors).into_iter().enumerate() {
        let site = Site::new(0).policy(policy);
        let mut client = Client::start(&site, &[], if at % 2 == 0 { OLD } else { NEW }, Word::Nobody);
        for vector in long::sample(group, 8) {
            let request = &vector.request;
            let (tool, arguments) = match (request.get("command").or(request.get("argv")), request.get("tool")) {
                (Some(command), _) => ("gate_evaluate_command", json!({"command": command})),
                (None, Some(tool)) => ("gate_evaluate_tool_use", json!({"tool": tool, "params": request["params"]})),
                (None, None) => (
                    "gate_evaluate_edit",
                    json!({"path": request["path"], "content": request["text"], "diff_lines": 0}),
                ),
            };
            let decided = client.done(tool, arguments);
            let results = decided["results"].as_array().unwrap();
            let objecting = results.iter().filter(|result| result["decision"] != "allow");
            let gates: Vec<&str> = objecting.filter_map(|result| result["gate_name"].as_str()).collect();
            if decided["decision"] != vector.decision || gates != vector.gates {
                wrong.push(format!("{}: {decided}, not {}", vector.id, vector.decision));
            }
        }
        client.end().exits(0);
    }
    compare("the server", &wrong);
}

const SCRIPT: &str = r#"
const WORKFLOW = #{ name: "vectors", permissions: #{ write: ["**"] }, args: #{ type: "object", properties: #{ all: #{ type: "array" } } } };
let decided = [];
for request in args.all {
    let said = if "command" in request { nrv.gate.evaluate_command(request.command) }
        else if "argv" in request { nrv.gate.evaluate_command(request.argv) }
        else if "tool" in request { nrv.gate.evaluate_tool_use(request.tool, request.params) }
        else { nrv.gate.evaluate_edit(request.path, request.text, 0) };
    decided.push(said);
}
decided
"#;

#[test]
fn scripts_are_told_what_the_vectors_say() {
    let mut wrong = Vec::new();
    let vectors = vectors();
    for (policy, group) in groups(&vectors) {
        // Sizes are judged over the whole run too, of which nothing has changed here.
        let site = Site::new(0).policy(policy);
        site.script("vectors.rhai", SCRIPT);
        let group: Vec<&Vector> = long::sample(group, 8).collect();
        let all: Vec<&Value> = group.iter().map(|vector| &vector.request).collect();
        let arguments = json!({"all": all}).to_string();
        let ran = site.nrv_with(&["run", "vectors.rhai", "--json", "--args", "-"], &arguments).exits(0);
        let decided = ran.json()["result"].clone();
        for (at, vector) in group.iter().enumerate() {
            let results = decided[at]["results"].as_array().unwrap();
            let objecting = results.iter().filter(|result| result["decision"] != "allow");
            let gates: Vec<&str> = objecting.filter_map(|result| result["gate_name"].as_str()).collect();
            if decided[at]["decision"] != vector.decision || gates != vector.gates {
                wrong.push(format!("{}: {}, not {}", vector.id, decided[at], vector.decision));
            }
        }
    }
    compare("a script's host", &wrong);
}

/// A request as a coding agent would ask it.
fn asked(request: &Value) -> (Value, Value) {
    let command = [&request["command"], &request["argv"]].into_iter().find(|value| !value.is_null());
    match (command, &request["tool"], &request["path"]) {
        (Some(command), ..) => (json!("Bash"), json!({"command": command})),
        (None, Value::Null, path) => (json!("Write"), json!({"file_path": path, "content": request["text"]})),
        (None, tool, _) => (tool.clone(), request["params"].clone()),
    }
}

#[test]
fn the_hook_answers_what_the_vectors_say() {
    let mut wrong = Vec::new();
    let vectors = vectors();
    for (policy, group) in groups(&vectors) {
        let site = Site::new(0).policy(policy);
        // Each is a process of its own, and the library answers all of them elsewhere.
        for vector in long::sample(group, 8) {
            let (tool, input) = asked(&vector.request);
            // A path that climbs out is one outside for an agent, whose folder is known.
            let climbs = input["file_path"].as_str().is_some_and(|path| path.contains(".."));
            if input.is_null() || climbs {
                continue;
            }
            let payload =
                json!({"hook_event_name": "PreToolUse", "cwd": site.root(), "tool_name": tool, "tool_input": input});
            let ran = site.nrv_with(&["gate", "hook"], &payload.to_string());
            let reply: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
            let decision = match (ran.code, &reply["hookSpecificOutput"]["permissionDecision"], &reply["systemMessage"])
            {
                (2, ..) => "block",
                (0, Value::String(ask), _) if ask == "ask" => "require-confirmation",
                (0, Value::Null, Value::String(_)) => "warn",
                (0, Value::Null, Value::Null) => "allow",
                _ => "nothing that is known",
            };
            if decision != vector.decision {
                wrong.push(format!("{}: {decision}, not {} ({})", vector.id, vector.decision, ran.stderr));
            }
        }
    }
    compare("the hook", &wrong);
}
