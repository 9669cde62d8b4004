//! The server over HTTP: tokens, hosts, pages, bounds, and addresses that other machines reach.
#![expect(clippy::disallowed_methods, reason = "tests open sockets and run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::Stdio,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    mcp::{NEW, OLD},
    site::{Running, Site, wait_until},
};

const TOKEN: &str = "a-token-of-the-test-0123456789";

/// A server, and the address of its endpoint.
struct Server {
    running: Running,
    address: String,
    said: BufReader<std::process::ChildStderr>,
}

impl Server {
    fn start(site: &Site, arguments: &[&str], token: Option<&str>) -> Self {
        Server::at(site, "127.0.0.1:0", arguments, token)
    }

    fn at(site: &Site, address: &str, arguments: &[&str], token: Option<&str>) -> Self {
        let mut command = site.command(&[&["mcp", "--http", address], arguments].concat());
        if let Some(token) = token {
            command.env("NRV_MCP_TOKEN", token);
        }
        command.stderr(Stdio::piped()).stdout(Stdio::null());
        let mut running = Running(command.spawn().unwrap());
        let mut said = BufReader::new(running.0.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("Serving ").and_then(|url| url.split_once("://"));
        let (_, address) = address.unwrap_or_else(|| panic!("{line}"));
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        Server { running, address, said }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request; the status and the body.
    fn post(&self, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        self.post_on(&mut self.connect(), headers, body)
    }

    fn post_on(&self, stream: &mut (impl Read + Write), headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut head = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
        let own = [
            ("Host", self.address.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let given = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        for (name, value) in own.iter().filter(|(name, _)| !given(name)).chain(headers) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let sent = stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("{sent:?} {read:?} {answer}"));
        (status, answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned()))
    }

    /// A call of a protocol version without sessions; the result.
    fn call(&self, name: &str, arguments: &Value, more: &Value) -> Value {
        let own = "io.modelcontextprotocol";
        let mut params = json!({"name": name, "arguments": arguments, "_meta": {
            format!("{own}/protocolVersion"): NEW,
            format!("{own}/clientInfo"): {"name": "test", "version": "1"},
            format!("{own}/clientCapabilities"): {"elicitation": {}},
        }});
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let bearer = format!("Bearer {TOKEN}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", NEW),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name),
        ];
        let (status, text) = self.post(&headers, &body);
        let data = text.lines().rev().find_map(|line| line.strip_prefix("data:").filter(|data| data.len() > 5));
        let json = data.map_or_else(|| text.lines().find(|line| line.starts_with('{')).unwrap_or_default(), str::trim);
        let answer: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {status} {text}"));
        answer.get("result").unwrap_or(&answer).clone()
    }

    fn end(mut self) -> String {
        self.running.signal(Signal::TERM);
        wait_until("the server has ended", || self.running.has_ended());
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        said
    }
}

fn initialize() -> String {
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": OLD, "capabilities": {}, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

#[test]
fn only_requests_with_the_token_to_this_host_and_from_no_foreign_page_are_answered() {
    let site = Site::new(1);
    let server = Server::start(&site, &[], Some(TOKEN));
    let bearer = format!("Bearer {TOKEN}");
    let status = |headers: &[(&str, &str)]| server.post(headers, &initialize()).0;
    assert_eq!(status(&[("Authorization", &bearer)]), 200);
    for wrong in ["", "Bearer", "Bearer x", "Basic YTpi", &bearer[..bearer.len() - 1], &format!("{bearer}x")] {
        assert_eq!(status(&[("Authorization", wrong)]), 401, "{wrong}");
    }
    assert_eq!(status(&[]), 401);
    // A name that leads here by a changed DNS entry is not this machine's.
    for host in ["evil.example.com", "evil.example.com:80", "127.0.0.1.evil.example.com", "169.254.169.254"] {
        assert_eq!(status(&[("Authorization", &bearer), ("Host", host)]), 403, "{host}");
    }
    for origin in ["https://evil.example.com", "http://localhost.evil.example.com", "null", "file://"] {
        assert_eq!(status(&[("Authorization", &bearer), ("Origin", origin)]), 403, "{origin}");
    }
    for origin in ["http://localhost:6274", "http://127.0.0.1:8080"] {
        assert_eq!(status(&[("Authorization", &bearer), ("Origin", origin)]), 200, "{origin}");
    }
    let large = format!("{{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"{}\"}}", "x".repeat(6 << 20));
    assert_eq!(server.post(&[("Authorization", &bearer)], &large).0, 413);
    let said = server.end();
    assert!(!said.contains(TOKEN) && said.contains("a request without the token was refused"), "{said}");
}

#[test]
fn a_token_is_made_in_a_private_file_and_never_shown() {
    let site = Site::new(1);
    let mut server = Server::start(&site, &[], None);
    let mut line = String::new();
    server.said.read_line(&mut line).unwrap();
    let path = line.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(&path).unwrap();
    assert_eq!(token.trim().len(), 64);
    assert_eq!(server.post(&[("Authorization", &format!("Bearer {}", token.trim()))], &initialize()).0, 200);
    let said = server.end();
    assert!(!said.contains(token.trim()), "{said}");
    assert!(!std::path::Path::new(&path).exists(), "the file goes with the server");
}

#[test]
fn a_call_is_a_run_of_its_own_unless_it_names_one() {
    let site = Site::new(1);
    let server = Server::start(&site, &["--yes"], Some(TOKEN));
    let read = |run: Option<&str>| {
        let arguments = match run {
            Some(run) => json!({"path": "site/a/p0.html", "run": run}),
            None => json!({"path": "site/a/p0.html"}),
        };
        let result = server.call("files_read", &arguments, &json!({}));
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"]["run"].as_str().unwrap().to_owned()
    };
    assert_ne!(read(None), read(None));
    let opened = server.call("run_open", &json!({}), &json!({}));
    let run = opened["structuredContent"]["run"].as_str().unwrap();
    assert_eq!((read(Some(run)), read(Some(run))), (run.to_owned(), run.to_owned()));
    let closed = server.call("run_close", &json!({"run": run}), &json!({}));
    assert_eq!(closed["structuredContent"]["result"]["state"], "done", "{closed}");
    let gone = server.call("files_read", &json!({"path": "a", "run": run}), &json!({}));
    assert_eq!(gone["isError"], true, "{gone}");
    server.end();
    assert!(site.runs().iter().all(|run| run["state"] == "done"));
}

#[test]
fn a_confirmation_goes_through_the_client_and_back() {
    let site = Site::new(1);
    let server = Server::start(&site, &[], Some(TOKEN));
    let create = json!({"path": "a.txt", "text": "a\n"});
    let asked = server.call("apply_create", &create, &json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let accept = json!({"action": "accept", "content": {"approve": true}});
    let more = json!({"requestState": asked["requestState"], "inputResponses": {"confirm": accept}});
    assert_eq!(server.call("apply_create", &create, &more)["isError"], false);
    assert_eq!(site.read("a.txt"), b"a\n");
    assert!(server.call("apply_create", &create, &more)["error"].is_object());
    server.end();
}

#[test]
fn whoever_sends_nothing_or_begins_again_and_again_holds_up_nobody() {
    let site = Site::new(1);
    let server = Server::start(&site, &[], Some(TOKEN));
    let bearer = format!("Bearer {TOKEN}");
    // More connections than there are places, each with half a head.
    let slow: Vec<TcpStream> = (0..520)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n").unwrap();
            stream
        })
        .collect();
    assert_eq!(server.post(&[("Authorization", &bearer)], &initialize()).0, 200);
    drop(slow);
    let statuses: Vec<u16> = (0..300).map(|_| server.post(&[("Authorization", &bearer)], &initialize()).0).collect();
    assert_eq!((statuses[0], statuses[299]), (200, 503), "sessions are bounded");
    let long = initialize().replace("\"test\"", &format!("\"{}\"", "x".repeat(100_000)));
    assert_eq!(server.post(&[("Authorization", &bearer)], &long).0, 413);
    // Versions without sessions are answered all the same.
    assert_eq!(server.call("files_read", &json!({"path": "site/a/p0.html"}), &json!({}))["isError"], false);
    server.end();
}

#[test]
fn a_signal_stops_what_is_worked_on_and_leaves_nothing_half_done() {
    let site = Site::new(1).policy("[[exec.allow]]\nprefix = ['sleep']\n");
    let script = "const WORKFLOW = #{ name: \"slow\", permissions: #{ write: [\"*.txt\"], exec: [\"sleep\"] } };\n\
                  nrv.apply.create(\"one.txt\", \"1\\n\");\nnrv.exec.check(#{ program: \"sleep\", args: [\"30\"] });\nnrv.apply.create(\"two.txt\", \"2\\n\");\n";
    site.script("scripts/slow.rhai", script);
    site.nrv(&["approve", "scripts/slow.rhai", "--yes"]).exits(0);
    site.commit();
    let mut server = Server::start(&site, &["--yes"], Some(TOKEN));
    std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            let called = std::panic::AssertUnwindSafe(|| {
                server.call("run_script", &json!({"script": "scripts/slow.rhai"}), &json!({}))
            });
            std::panic::catch_unwind(called).ok()
        });
        wait_until("the script is in the middle", || site.path("one.txt").exists());
        server.running.signal(Signal::TERM);
        drop(call.join());
    });
    // A second signal would end it at once.
    wait_until("the server has ended", || server.running.has_ended());
    let states: Vec<_> = site.runs().iter().map(|run| run["state"].clone()).collect();
    assert_eq!(states, [json!("cancelled")]);
    assert!(!site.path("one.txt").exists() && !site.path("two.txt").exists());
}

#[test]
fn addresses_that_other_machines_reach_need_a_certificate() {
    let site = Site::new(1);
    let ran = site.nrv(&["mcp", "--http", "0.0.0.0:0"]).exits(3);
    assert!(ran.stderr.contains("--tls-cert"), "{}", ran.stderr);
    site.write("cert.pem", "no certificate\n");
    let wrong = ["mcp", "--http", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "cert.pem"];
    site.nrv(&wrong).exits(1).says("key can't be read");
    site.nrv(&["mcp", "--http", "127.0.0.1:0", "--tls-cert", "cert.pem"]).exits(2);
    site.nrv(&["mcp", "--token-file", "x"]).exits(2);
    site.write("token", "known to all\n");
    site.nrv(&["mcp", "--http", "127.0.0.1:0", "--token-file", "token"]).exits(1);
}

#[test]
fn beyond_this_machine_a_certificate_proves_the_server_and_clients_name_it() {
    use tokio_rustls::rustls::{
        ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::ring::default_provider,
    };
    let site = Site::new(1);
    let made = rcgen::generate_simple_self_signed(["nrv.example.com".to_owned()]).unwrap();
    site.write("cert.pem", made.cert.pem());
    site.write("key.pem", made.signing_key.serialize_pem());
    let options = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--host", "nrv.example.com"];
    let mut server = Server::at(&site, "0.0.0.0:0", &options, Some(TOKEN));
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(std::sync::Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let config = std::sync::Arc::new(config.with_no_client_auth());
    let bearer = format!("Bearer {TOKEN}");
    let status = |host: &str| {
        let connection = ClientConnection::new(config.clone(), "nrv.example.com".try_into().unwrap()).unwrap();
        let mut stream = StreamOwned::new(connection, server.connect());
        server.post_on(&mut stream, &[("Authorization", &bearer), ("Host", host)], &initialize()).0
    };
    assert_eq!((status("nrv.example.com"), status("evil.example.com")), (200, 403));
    // Somebody who says nothing holds up nobody.
    let silent: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    assert_eq!(status("nrv.example.com"), 200);
    drop(silent);
    server.end();
}

#[test]
fn a_server_starts_nowhere_that_only_approved_scripts_run() {
    let site = Site::new(1);
    let ran = site.command(&["mcp"]).env("CI", "true").output().unwrap();
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
}
