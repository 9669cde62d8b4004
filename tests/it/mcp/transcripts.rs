//! The protocol of 2024-11-05, which no conformance suite knows: what nrv answers has the form of what servers of two SDKs answer.
#![expect(clippy::disallowed_methods, reason = "tests run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::tools;
use crate::support::site::{Running, Site};

const VERSION: &str = "2024-11-05";

/// Codes that the specification of that version names, and the SDKs don't use.
const SPECIFIED: &[(&str, i64)] = &[("a resource that is none", -32002)];

/// The requests, each with a name; `TOOL` and `ARGUMENTS` stand for a tool that the server has.
fn requests() -> Vec<(&'static str, &'static str, Value)> {
    let info = json!({"name": "test", "version": "1"});
    vec![
        ("initialize", "initialize", json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": info})),
        ("ping", "ping", json!({})),
        ("tools", "tools/list", json!({})),
        ("call", "tools/call", json!({"name": "TOOL", "arguments": "ARGUMENTS"})),
        ("a tool that is none", "tools/call", json!({"name": "no_such_tool", "arguments": {}})),
        ("wrong arguments", "tools/call", json!({"name": "TOOL", "arguments": {"x": []}})),
        ("resources", "resources/list", json!({})),
        ("templates", "resources/templates/list", json!({})),
        ("a resource that is none", "resources/read", json!({"uri": "nrv://no/such"})),
        ("prompts", "prompts/list", json!({})),
        ("a prompt that is none", "prompts/get", json!({"name": "no_such_prompt"})),
        ("a method that is none", "no/such", json!({})),
    ]
}

/// The answers of a server, in the order of the requests.
fn transcript(mut command: Command, (tool, arguments): (&str, &Value)) -> Vec<Value> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let mut stdin = running.0.stdin.take().unwrap();
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let mut answers = Vec::new();
    for (id, (name, method, mut params)) in requests().into_iter().enumerate() {
        if params["name"] == "TOOL" {
            params["name"] = json!(tool);
        }
        if params["arguments"] == "ARGUMENTS" {
            params["arguments"] = arguments.clone();
        }
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).unwrap();
        if name == "initialize" {
            writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        }
        // Servers may send messages of their own in between.
        let answer = lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        answers.push(answer.into_iter().find(|message| message["id"] == id && message["method"].is_null()).unwrap());
    }
    drop(stdin);
    answers
}

/// The type of a value, and of a list the form of its first item.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn keys(value: &Value) -> BTreeSet<&String> {
    value.as_object().into_iter().flat_map(|map| map.keys()).collect()
}

/// The members that both peers have in a place and nrv lacks, or has with another type.
fn missing(place: &str, own: &Value, peers: [&Value; 2]) -> Vec<String> {
    let mut found = Vec::new();
    for key in keys(peers[0]).intersection(&keys(peers[1])) {
        // The parts of a schema and of capabilities are each server's own.
        let is_own = ["properties", "capabilities", "_meta", "annotations"].contains(&key.as_str());
        let [one, other] = peers.map(|peer| &peer[key.as_str()]);
        let (mine, at) = (&own[key.as_str()], format!("{place}.{key}"));
        match (mine, one, other) {
            _ if kind(one) != kind(other) => {}
            _ if kind(mine) != kind(one) => found.push(format!("{at} is {}, not {}", kind(mine), kind(one))),
            (Value::Object(_), ..) if !is_own => found.extend(missing(&at, mine, [one, other])),
            (Value::Array(mine), Value::Array(one), Value::Array(other)) => {
                if let (Some(mine), Some(one), Some(other)) = (mine.first(), one.first(), other.first()) {
                    found.extend(missing(&at, mine, [one, other]));
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_oldest_version_is_answered_as_two_sdks_do() {
    let Some(tools) = tools() else { return };
    let site = Site::new(1);
    let own = transcript(site.command(&["mcp"]), ("files_read", &json!({"path": "site/a/p0.html"})));
    let of = |program: &Path, script: &Path| {
        let mut command = Command::new(program);
        command.arg(script);
        command
    };
    let everything = tools.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let typescript = transcript(of(Path::new("node"), &everything), ("echo", &json!({"message": "hi"})));
    let (python, script) = (tools.join("python/bin/python"), tools.join("server.py"));
    let python = transcript(of(&python, &script), ("add", &json!({"a": 1, "b": 2})));
    assert_eq!(own[0]["result"]["protocolVersion"], VERSION);
    let mut wrong = Vec::new();
    for (at, (name, ..)) in requests().iter().enumerate() {
        let peers = [&typescript[at], &python[at]];
        let failed = |answer: &Value| {
            answer["error"]["code"].as_i64().or(answer["result"]["isError"].as_bool().filter(|is| *is).map(|_| 0))
        };
        // Where the SDKs differ, either way is one.
        if !peers.iter().any(|peer| failed(peer).is_some() == failed(&own[at]).is_some()) {
            wrong.push(format!("{name}: {} for {} and {}", own[at], peers[0], peers[1]));
        }
        let [one, other] = peers.map(|peer| peer["error"]["code"].as_i64());
        let code = own[at]["error"]["code"].as_i64();
        let is_specified = SPECIFIED.iter().any(|(known, it)| known == name && code == Some(*it));
        if one.is_some() && one == other && code != one && !is_specified {
            wrong.push(format!("{name}: the code of {} is not {one:?}", own[at]));
        }
        if code.is_some() {
            continue;
        }
        wrong.extend(missing(name, &own[at], peers));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
