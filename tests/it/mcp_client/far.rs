//! Servers at URLs: `nrv mcp` of another workspace, and ones that answer otherwise.
#![expect(clippy::disallowed_methods, reason = "tests start programs and open sockets")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
};

use super::{error, result};
use crate::support::site::{Ran, Running, Site};

const TOKEN: &str = "a-token-of-the-test-0123456789";

/// A server of another workspace, and its URL.
fn server(site: &Site) -> (Running, String) {
    let mut command = site.command(&["mcp", "--http", "127.0.0.1:0", "--yes"]);
    command.env("NRV_MCP_TOKEN", TOKEN).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("Serving ").unwrap().to_owned();
    (running, url)
}

fn client(url: &str, tools: &str) -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write(
        "nrv.toml",
        format!(
            "[mcp.servers.far]\nurl = \"{url}\"\ntoken_env = \"FAR_TOKEN\"\ntimeout_ms = 20000\ntools = [{tools}]\n"
        ),
    );
    site
}

fn nrv(site: &Site, arguments: &[&str], token: &str) -> Ran {
    crate::support::site::finished(site.command(arguments).env("FAR_TOKEN", token).output().unwrap())
}

fn run(site: &Site, text: &str) -> Ran {
    let head = "const WORKFLOW = #{ permissions: #{ calls: [\"mcp.far.files_read\", \"mcp.far.apply_create\"] } };\nlet far = nrv.mcp(\"far\");\n";
    site.write("scripts/far.rhai", format!("{head}{text}"));
    nrv(site, &["run", "scripts/far.rhai", "--json", "--allow-dirty"], TOKEN)
}

#[test]
fn a_run_uses_the_tools_of_another_workspace() {
    let there = Site::empty();
    there.git(&["init", "-q", "-b", "main"]);
    there.write("a.txt", "hello\n");
    there.commit();
    let (_server, url) = server(&there);
    let site = client(&url, "\"files_read\", \"apply_create\"");
    nrv(&site, &["mcp", "approve", "--yes"], "wrong").exits(1).says("refuses the request with status 401");
    site.nrv(&["mcp", "approve", "--yes"]).exits(1).says("`FAR_TOKEN`");
    nrv(&site, &["mcp", "approve", "--yes"], TOKEN).exits(0);
    assert_eq!(result(run(&site, "far.invoke(\"files_read\", #{ path: \"a.txt\" }).structured.result")), "hello\n");
    run(&site, "far.invoke(\"apply_create\", #{ path: \"b.txt\", text: \"made there\\n\" })").exits(0);
    assert_eq!(there.read("b.txt"), b"made there\n");
    let events = std::fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    assert!(!events.contains(TOKEN));
    site.nrv(&["replay", "last"]).exits(0);
    there.nrv(&["runs", "verify", "last"]).exits(0);
}

/// Reads a request whole: a connection that is closed with unread bytes is reset, and the answer lost.
fn read_request(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let _ = reader.take(length).read_to_end(&mut Vec::new());
}

/// A server that answers each request with these bytes.
fn answering(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            read_request(&stream);
            let _ = stream.write_all(&answer);
        }
    });
    url
}

#[test]
fn a_server_that_does_not_speak_the_protocol_is_an_error() {
    let http = |status: &str, kind: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n");
        [head.as_bytes(), body].concat()
    };
    let large = vec![b' '; 20 << 20];
    let note = format!(
        "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"info\",\"data\":\"{}\"}}}}\n\n",
        "x".repeat(100)
    );
    let events = note.into_bytes().repeat(1 << 16);
    let redirect = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n".to_vec();
    let event = [b"data: ", &large[..]].concat();
    let many = [b"[", &b"[],".repeat(1 << 20)[..], b"1]"].concat();
    let refusal = br#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Try later"}}"#;
    for (answer, words) in [
        (http("200 OK", "text/html", b"<p>hello"), "answers with `text/html`, which is not of the protocol"),
        (
            http("200 OK", "application/json", b"{\"jsonrpc\": \"2.0\", \"id\": 99, \"result\": {}}"),
            "gave an answer of another form",
        ),
        (http("200 OK", "application/json", b"[[[["), "wrote a text that is no message of the protocol"),
        (http("500 Oops", "text/plain", b"no"), "answers with status 500\n"),
        (http("503 Busy", "text/plain\r\nRetry-After: 7", b"no"), "answers with status 503, and asks to wait for 7 s"),
        (
            http("401 No", "text/plain", b"no"),
            "check the token that `token_env` or `token_file` names in `[mcp.servers.far]`",
        ),
        (http("404 No", "text/plain", b"no"), "correct `url` in `[mcp.servers.far]`"),
        (http("400 No", "application/json", refusal), "refuses: Try later"),
        (http("400 No", "application/json", &many), "wrote more than 262144 values for one request"),
        (http("200 OK", "application/json", &large), "wrote a message of more than 16777216 bytes"),
        (http("200 OK", "text/event-stream", &event), "wrote a message of more than 16777216 bytes"),
        (http("200 OK", "text/event-stream", &events), "wrote more than 10000 messages for one request"),
        (http("200 OK", "text/event-stream", b"data: {}\n\n"), "wrote a text that is no message of the protocol"),
        (http("200 OK", "text/event-stream", b""), "ended before it had answered"),
        (b"SSH-2.0-x\r\n".to_vec(), "can't be reached"),
        (redirect, "answers with a redirect, status 302, which is not followed"),
    ] {
        let site = client(&answering(answer), "\"a\"");
        let ran = nrv(&site, &["mcp", "approve", "--yes"], TOKEN).exits(1);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let site = client("http://127.0.0.1:1/mcp", "\"a\"");
    nrv(&site, &["mcp", "approve", "--yes"], TOKEN).exits(1).says("refused");
}

#[test]
fn a_token_goes_over_no_plain_connection_to_another_machine() {
    let site = client("http://mcp.example.com/mcp", "\"a\"");
    nrv(&site, &["mcp", "approve", "--yes"], TOKEN).exits(1).says("plain http");
    let site = client("https://mcp.example.com/mcp", "\"files_read\"");
    let refused = error(run(&site, "far.invoke(\"files_read\", #{ path: \"a\" })"), 3);
    assert_eq!(refused["code"], "not_approved", "nothing is sent for a tool that nobody approved");
}

#[test]
fn a_token_that_a_server_repeats_is_in_no_reply_and_no_record() {
    let mut command = std::process::Command::new("/usr/bin/python3");
    command.args(["-c", include_str!("http_server.py")]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let site = client(&format!("http://127.0.0.1:{}/mcp", line.trim()), "\"repeat\"");
    let approved = nrv(&site, &["mcp", "approve", "--yes"], TOKEN).exits(0);
    assert!(approved.stdout.contains("Repeats [key]") && !approved.stdout.contains(TOKEN), "{}", approved.stdout);
    site.write(
        "scripts/far.rhai",
        "const WORKFLOW = #{ permissions: #{ calls: [\"mcp.far.repeat\"] } };\nlet far = nrv.mcp(\"far\");\n\
         let told = [];\nfor params in [#{}, #{}, #{}, #{ fail: true }, #{ fail: \"kind\" }] {\n\
         try { let reply = far.invoke(\"repeat\", params); told.push([reply.text, reply.structured]) } catch (e) { told.push(e.message) }\n}\ntold",
    );
    let told = result(nrv(&site, &["run", "scripts/far.rhai", "--json", "--allow-dirty"], TOKEN));
    let reply = serde_json::json!(["it is [key]", {"[key]": ["[key]"]}]);
    let [gone, refused, kind] = [
        // The second call met a session that was gone: it is not made again. A session that is gone before a call begins anew.
        "the MCP server `far` has ended the session",
        "the MCP server `far` refuses: it is [key]",
        "the MCP server `far` answers with `text/[key]`, which is not of the protocol",
    ];
    assert_eq!(told, serde_json::json!([reply, gone, reply, refused, kind]));
    let seen = |path: &std::path::PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(TOKEN);
    let recorded = site.recorded("**/*");
    assert!(!recorded.iter().filter(|path| path.is_file()).any(seen));
    assert!(!String::from_utf8_lossy(&site.read("nrv.lock")).contains(TOKEN));
}
