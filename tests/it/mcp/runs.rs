//! Runs of clients: which calls are one, when they end, and agents in them.

use std::{io::Write, time::Duration};

use nrv::system::clock::Stopwatch;
use serde_json::{Value, json};

use crate::support::{
    mcp::{Client, OLD, Word, run_of, text_of},
    site::{Running, Site, wait_until},
};

fn read(path: &str) -> Value {
    json!({"path": path})
}

#[test]
fn the_calls_of_a_connection_are_one_run_which_is_sealed_with_it() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let page = "site/a/p0.html";
    let runs: Vec<String> = (0..5).map(|_| run_of(&client.tool("files_read", read(page)))).collect();
    assert!(runs.windows(2).all(|two| two[0] == two[1]), "{runs:?}");
    client.done("apply_create", json!({"path": "a.txt", "text": "a\n"}));
    assert_eq!(site.runs()[0]["state"], "running");
    client.end().exits(0);
    let run = &site.runs()[0];
    assert_eq!(
        (&run["state"], &run["files_changed"], &run["subject"]),
        (&json!("done"), &json!(1), &json!("mcp test 1"))
    );
    site.nrv(&["runs", "verify", &runs[0]]).exits(0);
    let report = site.nrv(&["runs", "report", &runs[0]]).exits(0);
    assert!(report.stdout.contains("client   test 1"), "{}", report.stdout);
    site.nrv(&["replay", &runs[0]]).exits(0);
}

#[test]
fn a_run_that_rests_is_sealed_and_the_next_call_begins_another() {
    let site = Site::new(1).policy("[mcp]\nidle = \"1s\"\n");
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let first = run_of(&client.tool("files_read", read("nrv.toml")));
    wait_until("the run is sealed", || site.runs()[0]["state"] == "done");
    let second = run_of(&client.tool("files_read", read("nrv.toml")));
    assert_ne!(first, second);
    // Time counts during calls only.
    assert!(site.runs()[0]["duration_ms"].as_u64().is_some());
    client.end().exits(0);
}

#[test]
fn time_counts_during_calls_only() {
    let site = Site::new(1).policy("[budget]\nwall_s = 1\n");
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let first = run_of(&client.tool("files_read", read("nrv.toml")));
    // The shortest budget is a second, and nothing but time tells that it would be over.
    let watch = Stopwatch::start();
    wait_until("the budget would be spent", || watch.elapsed() > Duration::from_millis(1100));
    let again = client.tool("files_read", read("nrv.toml"));
    assert_eq!((again["isError"].clone(), run_of(&again)), (json!(false), first));
    client.end().exits(0);
}

#[test]
fn a_signal_ends_the_server_with_its_run_whatever_its_input_is() {
    let site = Site::new(1);
    for is_socket in [false, true] {
        let (own, other) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        let mut command = site.command(&["mcp", "--yes"]);
        let stdin = if is_socket {
            std::process::Stdio::from(std::os::fd::OwnedFd::from(other))
        } else {
            std::process::Stdio::piped()
        };
        command.stdin(stdin).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        let mut running = Running(command.spawn().expect("it starts"));
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "apply_create", "arguments": {"path": format!("{is_socket}.txt"), "text": "a\n"}}});
        let info = json!({"name": "test", "version": "1"});
        let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": OLD, "capabilities": {}, "clientInfo": info}});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let text = format!("{begin}\n{ready}\n{call}\n");
        let mut socket = &own;
        match running.0.stdin.as_mut() {
            Some(pipe) => pipe.write_all(text.as_bytes()),
            None => socket.write_all(text.as_bytes()),
        }
        .expect("it listens");
        wait_until("the file is made", || site.path(&format!("{is_socket}.txt")).exists());
        running.signal(rustix::process::Signal::TERM);
        wait_until("the server has ended", || running.has_ended());
        assert_eq!(site.runs().last().map(|run| run["state"].clone()), Some(json!("done")), "{is_socket}");
    }
}

#[test]
fn earlier_versions_of_the_protocol_are_spoken() {
    let site = Site::new(1);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let mut client = Client::start(&site, &[], version, Word::Accept);
        let tools = client.request("tools/list", json!({}));
        assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 20), "{version}");
        client.done("files_read", read("site/a/p0.html"));
        client.done("apply_create", json!({"path": format!("{version}.txt"), "text": "a\n"}));
        assert_eq!(client.asked.len(), 1, "{version}");
        client.end().exits(0);
    }
}

#[test]
fn a_run_that_is_opened_takes_calls_until_it_is_closed() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let run = client.done("run_open", json!({}))["run"].as_str().unwrap().to_owned();
    let change = json!({"path": "a.txt", "text": "a\n", "run": run});
    assert_eq!(run_of(&client.tool("apply_create", change)), run);
    assert_ne!(run_of(&client.tool("files_read", read("a.txt"))), run);
    let finished = client.done("run_close", json!({"run": run}));
    assert_eq!((&finished["state"], &finished["files_changed"]), (&json!("done"), &json!(1)));
    let over = client.fails("files_read", json!({"path": "a.txt", "run": run}), "invalid_input");
    assert!(over["message"].as_str().unwrap().contains("not open here"), "{over}");
    client.fails("files_read", json!({"path": "a.txt", "run": "none"}), "invalid_input");
    client.fails("run_close", json!({"run": run}), "not_found");
    // There are not any number of them.
    let opened: Vec<Value> = (0..40).map(|_| client.tool("run_open", json!({}))).collect();
    let refused = opened.iter().filter(|result| result["isError"] == true).count();
    assert_eq!(refused, 8);
    client.end().exits(0);
    assert!(site.runs().iter().all(|run| run["state"] == "done"));
}

#[test]
fn a_budget_that_is_spent_ends_the_run() {
    let site = Site::new(1).policy("[budget]\ncalls = 3\n");
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    client.done("apply_create", json!({"path": "a.txt", "text": "a\n"}));
    client.done("files_read", read("a.txt"));
    client.done("files_read", read("a.txt"));
    let run = run_of(&client.tool("files_read", read("a.txt")));
    assert!(!site.path("a.txt").exists(), "a run that failed is undone");
    // The next call begins another.
    assert_ne!(run_of(&client.tool("files_read", read("nrv.toml"))), run);
    client.end().exits(0);
}

#[test]
fn agents_are_summoned_and_dismissed_by_their_ids() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let working = client.tool("summon_servitor", json!({"assignment": "mend the links"}));
    let agent = working["structuredContent"]["result"].clone();
    let (name, id) = (agent["name"].as_str().unwrap(), agent["id"].as_str().unwrap());
    assert_eq!(text_of(&working), format!("Summoned {name} (id: {id})"));
    assert_eq!(agent["state"], "working");
    assert!(client.told.iter().any(|told| told["params"]["data"]["event"] == "agent_summoned"), "{:?}", client.told);
    let named = client.done("summon_servitor", json!({"name": "Grace"}));
    assert_eq!((&named["name"], &named["state"]), (&json!("Grace"), &json!("idle")));
    client.fails("summon_servitor", json!({"name": "Grace"}), "invalid_input");
    for wrong in ["no-uuid", "", "01234567-89ab-4def-8123-456789abcdef"] {
        let result = client.tool("dismiss_servitor", json!({"id": wrong}));
        assert_eq!(result["isError"], true, "{wrong}: {result}");
    }
    client.done("dismiss_servitor", json!({"id": id}));
    assert_eq!(client.tool("dismiss_servitor", json!({"id": id}))["isError"], true);
    client.done("apply_create", json!({"path": "a.txt", "text": "a\n"}));
    client.end().exits(0);
    // An agent of a client that still works fails no run.
    assert_eq!((&site.runs()[0]["state"], site.read("a.txt")), (&json!("done"), b"a\n".to_vec()));
    let agents = site.nrv(&["runs", "agents", "last", "--json"]).exits(0).json();
    assert_eq!(agents["agents"].as_array().map(Vec::len), Some(2), "{agents}");
}
