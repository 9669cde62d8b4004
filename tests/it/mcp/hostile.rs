//! Hostile clients: what they send is bounded and refused, and the server goes on.
#![expect(clippy::disallowed_methods, reason = "tests look at the system")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, time::Instant};

use serde_json::{Value, json};

use crate::support::{
    long,
    mcp::{Client, NEW, OLD, Word},
    site::Site,
};

/// The most memory that the server has had, in kilobytes.
fn peak(client: &Client) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", client.running.0.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The server answers as if nothing had been.
#[track_caller]
fn lives(client: &mut Client) {
    client.done("files_glob", json!({"patterns": ["**"]}));
}

#[test]
fn messages_that_are_none_are_refused_and_the_server_goes_on() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    lives(&mut client);
    let before = peak(&client);
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{{"name":"files_read","arguments":{{"path":{deep}}}}}}}"#
    );
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":901,"method":"tools/call","params":{{"name":"apply_create","arguments":{{"path":"a","text":"{}"}}}}}}"#,
        "x".repeat(50 << 20)
    );
    let messages: Vec<Vec<u8>> = [
        "",
        "{",
        "null",
        "[]",
        "7",
        "\"text\"",
        "{}",
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":902,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":903,"method":"no/such/method","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":904,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":905,"method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":906,"method":"tools/call","params":{"name":7}}"#,
        r#"{"jsonrpc":"2.0","id":907,"method":"resources/read","params":{"uri":"\u0000"}}"#,
        r#"{"jsonrpc":"2.0","id":908,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/none"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}"#,
        &deep,
        &nested,
        &long,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([b"\xff\xfe\x00".to_vec(), vec![0; 1000]])
    .collect();
    for message in messages {
        client.raw(&message);
        client.raw(b"\n");
        lives(&mut client);
    }
    assert!(peak(&client) < before + (64 << 10), "{} kB, then {} kB", before, peak(&client));
    client.end().exits(0);
}

#[test]
fn wrong_parameters_are_told_as_such() {
    for version in [OLD, NEW] {
        let site = Site::new(1);
        let mut client = Client::start(&site, &[], version, Word::Nobody);
        let requests = [
            ("tools/call", json!({})),
            ("tools/call", json!({"name": "files_read", "arguments": "x"})),
            ("tools/list", json!({"cursor": "none"})),
            ("resources/read", json!({})),
            ("prompts/get", json!({})),
            ("completion/complete", json!({})),
        ];
        for (method, params) in requests {
            let answer = client.request(method, params);
            assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        }
        for method in ["no/such", "resources/subscribe", "tasks/get"] {
            assert_eq!(client.request(method, json!({}))["error"]["code"], -32601, "{method}");
        }
        let level = client.request("logging/setLevel", json!({"level": "warning"}));
        assert_eq!(level["error"]["code"], if version == NEW { json!(-32601) } else { Value::Null });
        client.end().exits(0);
    }
}

#[test]
fn a_flood_is_answered_and_memory_stays_bounded() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    lives(&mut client);
    let before = peak(&client);
    let n = 3000;
    // Nothing is read meanwhile but what the pipe holds, so a thread writes.
    let mut stdin = client.running.0.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for id in 0..n {
            let call = json!({"jsonrpc": "2.0", "id": 10_000 + id, "method": "tools/call", "params": {"name": "files_read", "arguments": {"path": "site/a/p0.html"}}});
            std::io::Write::write_all(&mut stdin, format!("{call}\n").as_bytes()).unwrap();
        }
        stdin
    });
    let answers: Vec<Value> = (0..n).map(|_| client.read().unwrap()).collect();
    client.running.0.stdin = Some(writer.join().unwrap());
    let code = |answer: &Value| answer["result"]["structuredContent"]["error"]["code"].as_str().map(str::to_owned);
    for answer in &answers {
        assert!(matches!(code(answer).as_deref(), None | Some("lock_timeout")), "{answer}");
    }
    assert!(answers.iter().any(|answer| code(answer).is_none()));
    assert!(peak(&client) < before + (96 << 10), "{} kB, then {} kB", before, peak(&client));
    lives(&mut client);
    client.end().exits(0);
}

#[test]
fn a_client_that_reads_nothing_is_not_listened_to_until_it_does() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    lives(&mut client);
    // Long requests fill the pipe sooner. So many answers would take more memory than the server may have.
    let (before, (n, more, most)) = (peak(&client), long::pick((600, 2000, 16 << 10), (4000, 0, 32 << 10)));
    let padding = "x".repeat(more);
    let mut stdin = client.running.0.stdin.take().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        for id in 0..n {
            let more = json!({"_meta": {"padding": padding}});
            let list = json!({"jsonrpc": "2.0", "id": 10_000 + id, "method": "tools/list", "params": more});
            std::io::Write::write_all(&mut stdin, format!("{list}\n").as_bytes()).unwrap();
            tell.send(id).unwrap();
        }
        stdin
    });
    // Until nothing is taken any more.
    while told.recv_timeout(std::time::Duration::from_secs(3)).is_ok() {}
    assert!(!writer.is_finished());
    assert!(peak(&client) < before + most, "{before} kB, then {} kB", peak(&client));
    for _ in 0..n {
        assert!(client.read().unwrap()["result"]["tools"].is_array());
    }
    client.running.0.stdin = Some(writer.join().unwrap());
    lives(&mut client);
    client.end().exits(0);
}

#[test]
fn clients_that_never_say_who_they_are_get_nothing() {
    let site = Site::new(1);
    let mut client = Client::silent(&site, &[], OLD, Word::Nobody);
    client.send(&json!({"id": 1, "method": "tools/call", "params": {"name": "apply_create", "arguments": {"path": "a", "text": "b"}}}));
    drop(client.running.0.stdin.take());
    let answers: Vec<Value> = std::iter::from_fn(|| client.read()).collect();
    assert!(answers.iter().all(|answer| answer.get("result").is_none()), "{answers:?}");
    assert!(!site.path("a").exists());
    client.end().exits(0);
}

#[test]
fn a_version_that_does_not_exist_is_refused() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &[], NEW, Word::Nobody);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.send(&json!({"id": 500, "method": "tools/list", "params": {"_meta": meta}}));
    assert!(client.answer(500)["error"].is_object());
    client.send(&json!({"id": 501, "method": "tools/list", "params": {}}));
    assert!(client.answer(501)["error"].is_object());
    lives(&mut client);
    client.end().exits(0);
}

#[test]
fn names_and_texts_of_a_client_deceive_nobody() {
    let site = Site::new(1);
    let mut client = Client::silent(&site, &["--yes"], OLD, Word::Nobody);
    let name = format!("\u{1b}[2Jevil\n\u{202e}{}", "x".repeat(10_000));
    let info = json!({"name": name, "version": "1\u{7}"});
    client.request("initialize", json!({"protocolVersion": OLD, "capabilities": {}, "clientInfo": info}));
    client.send(&json!({"method": "notifications/initialized"}));
    client.done("apply_create", json!({"path": "a.txt", "text": "a\n"}));
    client.end().exits(0);
    let listed = site.nrv(&["runs", "list"]).exits(0).stdout;
    assert!(!listed.contains('\u{1b}') && !listed.contains('\u{202e}') && listed.len() < 1000, "{listed:?}");
}

#[test]
fn a_read_takes_no_more_than_five_milliseconds_at_the_median() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    lives(&mut client);
    let mut times: Vec<u128> = (0..300)
        .map(|_| {
            let begun = Instant::now();
            client.done("files_read", json!({"path": "site/a/p0.html"}));
            begun.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    client.end().exits(0);
    // Other tests run beside this one: what is asserted is the order of magnitude.
    assert!(times[150] < 50_000, "{} µs", times[150]);
}
