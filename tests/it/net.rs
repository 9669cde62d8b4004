//! Samples of new links over HTTP, against servers on the loopback interface that these tests start.
#![expect(clippy::disallowed_methods, reason = "tests listen, build trees and read artefacts")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use nrv::system::{
    net::{Answer, Client, Options, Outcome},
    schema::Schema,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::site::{OLD, Ran, Site, wait_until};

/// Answers by the path of a request, and remembers every request with its head.
struct Server {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
    /// Connections that are never answered.
    held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = Server { address, heads: Arc::default(), held: Arc::default() };
        let (heads, held) = (Arc::clone(&server.heads), Arc::clone(&server.held));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (heads, held) = (Arc::clone(&heads), Arc::clone(&held));
                std::thread::spawn(move || serve(stream.unwrap(), &heads, &held));
            }
        });
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The first line of every request so far, sorted.
    fn requests(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let mut lines: Vec<String> = heads.iter().map(|head| head.lines().next().unwrap().to_owned()).collect();
        lines.sort();
        lines
    }
}

fn serve(mut stream: TcpStream, heads: &Mutex<Vec<String>>, held: &Mutex<Vec<TcpStream>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|n| n > 0) {}
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let asked = heads.lock().unwrap().iter().filter(|earlier| earlier.contains("/once ")).count();
    heads.lock().unwrap().push(head);
    let answer = match (method.as_str(), path.as_str()) {
        (_, "/silent") => return held.lock().unwrap().push(stream),
        (_, "/closed") => "",
        (_, "/garbage") => "220 mail.example.com ESMTP\r\n\r\n",
        (_, "/moved") => "HTTP/1.1 301 Moved\r\nLocation: /ok/elsewhere\r\nContent-Length: 0\r\n\r\n",
        (_, "/private") => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        (_, "/broken") => "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        ("HEAD", "/no-head") => "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n",
        ("HEAD", "/wrong-head") => "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
        (_, "/once") if asked > 0 => "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
        (_, path) if path.starts_with("/missing") => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        // The body is announced and never sent, so the client must not wait for it.
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    };
    let _ = stream.write_all(answer.as_bytes());
}

fn ask(url: &str, timeout_ms: u64) -> Outcome {
    Client::new(Options { refusal: &|_| None, timeout_ms, cancelled: &|| false }).ask(url)
}

#[test]
fn a_url_is_judged_by_what_its_server_answers() {
    let server = Server::start();
    for (path, fault) in [
        ("/ok", None),
        ("/moved", None),
        ("/private", None),
        ("/no-head", None),
        ("/wrong-head", None),
        ("/missing", Some("was answered with 404")),
        ("/broken", Some("was answered with 500")),
        ("/garbage", Some("was not answered: what came is no HTTP response")),
        ("/closed", Some("was not answered: the connection was closed")),
    ] {
        assert_eq!(ask(&server.url(path), 60_000).fault().as_deref(), fault, "{path}");
    }
    let silent = ask(&server.url("/silent"), 300);
    assert_eq!(silent.fault().unwrap(), "was not answered: it took too long");
    let tls = ask(&server.url("/ok").replace("http:", "https:"), 60_000);
    assert!(matches!(tls.answer, Answer::Unanswered(_)), "{tls:?}");
}

#[test]
fn head_is_asked_first_and_get_where_head_shows_nothing() {
    let server = Server::start();
    for path in ["/ok", "/no-head", "/wrong-head", "/moved"] {
        ask(&server.url(path), 60_000);
    }
    let expected = ["GET /no-head", "GET /wrong-head", "HEAD /moved", "HEAD /no-head", "HEAD /ok", "HEAD /wrong-head"];
    assert_eq!(server.requests(), expected.map(|line| format!("{line} HTTP/1.1")));
}

#[test]
fn no_credentials_and_no_fragment_are_sent() {
    let server = Server::start();
    let outcome = ask(&server.url("/ok?q=1#part").replace("http://", "http://user:word@"), 60_000);
    assert_eq!(outcome.url, server.url("/ok?q=1"));
    let head = server.heads.lock().unwrap().join("\n").to_lowercase();
    assert!(head.starts_with("head /ok?q=1 http/1.1"), "{head}");
    assert!(head.contains(&format!("user-agent: nrv/{}", env!("CARGO_PKG_VERSION"))), "{head}");
    assert!(!head.contains("authorization") && !head.contains("word"), "{head}");
}

/// A policy under which four links may be tried on a server.
fn policy(server: &Server) -> String {
    format!("[net]\nhosts = [\"{}\"]\n[adapters.link_updater]\nhttp_samples = 4\n", server.address)
}

/// A site with one page that has a link to each path of an old host.
fn site(policy: &str, paths: &[&str]) -> Site {
    let site = Site::new(0);
    let links = paths.iter().map(|path| format!("<a href=\"http://{OLD}{path}\">a</a>\n"));
    site.write("site/index.html", links.collect::<String>());
    site.policy(policy)
}

/// Moves the links of a site to a server.
fn migrate(site: &Site, server: &Server, params: &Value, more: &[&str]) -> Ran {
    let mut input = json!({
        "tool": "link_updater", "version": "1.0", "mode": "apply",
        "target": {"repo_path": ".", "glob": "site/**"},
        "params": {"from_hosts": [OLD], "to_host": server.url("")},
        "constraints": {"max_files": 10, "timeout_ms": 120_000, "seed": 1},
    });
    for (name, value) in params.as_object().unwrap() {
        input["params"][name] = value.clone();
    }
    site.nrv_with(
        &[&["dta", "run", "link_updater", "--input", "-", "--json", "--yes"], more].concat(),
        &input.to_string(),
    )
}

/// The recorded artefact of the latest sample, as it was written; none if there is none.
fn artefact(site: &Site) -> Option<String> {
    let paths = site.recorded("*/dta/link_updater/*-samples.json");
    paths.last().map(|path| std::fs::read_to_string(path).unwrap())
}

#[test]
fn samples_that_are_there_pass_and_are_recorded_and_redirects_are_told() {
    let server = Server::start();
    let site = site(&policy(&server), &["/ok/1", "/moved", "/private", "#part"]);
    for more in [&["--dry-run"][..], &[]] {
        let output = migrate(&site, &server, &json!({}), more).exits(0).json();
        let schema = serde_json::from_str(include_str!("../../schemas/link_updater.output.schema.json")).unwrap();
        Schema::compile(&schema).unwrap().check(&output).unwrap();
        let verifier = &output["verifier"];
        assert_eq!((&verifier["passed"], &verifier["sample_size"]), (&json!(true), &json!(4)));
        assert_eq!(verifier["checks"].as_array().unwrap().last().unwrap(), "no_404s_sampled");
        let remark = format!("1 of 4 samples redirect, such as {} to /ok/elsewhere", server.url("/moved"));
        let left = "the old host still stands in 1 file (1 line), outside of links that move";
        assert_eq!(verifier["remarks"], json!([left, remark]));
        let named = output["artifacts"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        assert!(named.ends_with("/1-samples.json") && site.last_run().join(named).is_file());
        let expected = json!({"tool": "link_updater", "samples": [
            {"url": server.url("/"), "answered": {"status": 200}},
            {"url": server.url("/moved"), "answered": {"status": 301, "location": "/ok/elsewhere"}},
            {"url": server.url("/ok/1"), "answered": {"status": 200}},
            {"url": server.url("/private"), "answered": {"status": 401}},
        ]});
        assert_eq!(serde_json::from_str::<Value>(&artefact(&site).unwrap()).unwrap(), expected);
        site.last_ended("done");
    }
    assert_eq!(server.requests().len(), 8, "where a redirect leads is not asked: {:?}", server.requests());
}

#[test]
fn a_recorded_sample_that_was_edited_is_found() {
    let server = Server::start();
    let site = site(&policy(&server), &["/private"]);
    migrate(&site, &server, &json!({}), &[]).exits(0);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    let path = site.recorded("*/dta/link_updater/*-samples.json").pop().unwrap();
    std::fs::write(&path, artefact(&site).unwrap().replace("401", "200")).unwrap();
    site.nrv(&["runs", "verify", "last"]).exits(4);
}

#[test]
fn one_missing_page_undoes_the_change() {
    let server = Server::start();
    let site = site(&policy(&server), &["/ok", "/missing", "/broken"]);
    let before = site.tree();
    let ran = migrate(&site, &server, &json!({}), &[]).exits(4);
    let (missing, broken) = (server.url("/missing"), server.url("/broken"));
    let ran = ran.says(&format!("no_404s_sampled: `{broken}` was answered with 500 (and 1 more)"));
    let verifier = &ran.json()["verifier"];
    assert_eq!((&verifier["passed"], &verifier["sample_size"]), (&json!(false), &json!(3)));
    assert_eq!(verifier["failures"][1]["reason"], format!("`{missing}` was answered with 404"));
    assert!(site.tree() == before);
    assert!(artefact(&site).unwrap().contains("404"));
    site.last_ended("failed");
}

#[test]
fn a_host_that_may_not_be_reached_fails_the_check_and_hears_nothing() {
    let (server, other) = (Server::start(), Server::start());
    let site = site(&policy(&server), &["/ok"]);
    let before = site.tree();
    let ran = migrate(&site, &other, &json!({}), &[]).exits(4);
    ran.says("may not be reached: no entry of `net.hosts` covers it (line 2 of `nrv.toml`)");
    assert!(other.requests().is_empty() && artefact(&site).unwrap().contains("not_tried"));
    assert!(site.tree() == before);
}

#[test]
fn nothing_is_reached_unless_the_policy_gives_samples() {
    let server = Server::start();
    let hosts = format!("[net]\nhosts = [\"{}\"]\n", server.address);
    for (policy, params) in [(&hosts, json!({})), (&policy(&server), json!({"http_samples": 0}))] {
        let site = site(policy, &["/missing"]);
        let verifier = &migrate(&site, &server, &params, &[]).exits(0).json()["verifier"];
        assert_eq!(verifier["sample_size"], 0);
        assert!(!verifier["checks"].to_string().contains("sampled") && artefact(&site).is_none());
    }
    assert!(server.requests().is_empty());
}

/// A script that moves links to a server.
fn script(server: &Server, permissions: &str, params: &str) -> String {
    format!(
        "const WORKFLOW = #{{ name: \"move\", permissions: #{{ write: [\"site/**\"], {permissions} }} }};\n\
         nrv.dta(\"link_updater\").run(#{{ target: #{{ glob: \"site/**/*.html\" }},\n\
         params: #{{ from_hosts: [\"{OLD}\"], to_host: \"{}\", {params} }} }}).verifier\n",
        server.url(""),
    )
}

#[test]
fn what_the_policy_does_not_permit_is_refused_before_anything_is_read() {
    let server = Server::start();
    let without_hosts = "[adapters.link_updater]\nhttp_samples = 4\n";
    for (policy, params, words, hint) in [
        ("", "http_samples: 1", "`adapters.link_updater.http_samples` is 0", "set `http_samples` in"),
        (without_hosts, "http_samples: 1", "`net.hosts` names no host", "`hosts` of `[net]` in `nrv.toml`"),
        (without_hosts, "", "`net.hosts` names no host", "set `http_samples` to 0 in the params"),
        (&policy(&server), "", "the script's header permits no host", "permissions: #{ network: [\"…\"] }"),
        (&policy(&server), "http_samples: 5", "is 4 (line 4 of `nrv.toml`)", "ask for fewer"),
    ] {
        let site = site(policy, &["/ok"]);
        site.script("move.rhai", &script(&server, "", params));
        let before = site.tree();
        site.nrv(&["run", "move.rhai", "--yes"]).exits(3).says(words).says(hint);
        let events = std::fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
        assert!(events.contains("permission_denied") && !events.contains("dta_started"), "{events}");
        assert!(site.tree() == before);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_script_tries_links_on_hosts_that_its_header_and_the_policy_name() {
    let server = Server::start();
    let run = |host: &str| {
        let site = site(&policy(&server), &["/ok"]);
        site.script("move.rhai", &script(&server, &format!("network: [\"{host}\"]"), ""));
        site.nrv(&["run", "move.rhai", "--yes"])
    };
    run("elsewhere.example.com").exits(4).says("by the script's header");
    assert!(server.requests().is_empty());
    run(&server.address).exits(0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let (server, proxy) = (Server::start(), Server::start());
    let site = site(&policy(&server), &["/ok"]);
    site.script("move.rhai", &script(&server, &format!("network: [\"{}\"]", server.address), ""));
    let mut command = site.command(&["run", "move.rhai", "--yes"]);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, proxy.url(""));
    }
    assert!(command.output().unwrap().status.success());
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}

#[test]
fn the_sample_and_its_record_are_the_same_on_any_number_of_threads_and_differ_by_seed() {
    let server = Server::start();
    let paths: Vec<String> = (0..40).map(|n| format!("/{}/{n}", ["ok", "missing"][n % 2])).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let sampled = |threads: &str, seed: u64| {
        let site = site(&policy(&server), &paths);
        site.script("move.rhai", &script(&server, &format!("network: [\"{}\"]", server.address), "http_samples: 3"));
        let ran = site.nrv(&["run", "move.rhai", "--yes", "--threads", threads, "--seed", &seed.to_string()]);
        assert!(matches!(ran.code, 0 | 4), "{ran:?}");
        (artefact(&site).unwrap(), site.nrv(&["runs", "show", "last", "--canonical"]).exits(0).stdout)
    };
    let first = sampled("1", 7);
    assert_eq!(first.0.matches("\"url\"").count(), 3);
    for threads in ["1", "2", "8"] {
        assert_eq!(sampled(threads, 7), first, "{threads} threads");
    }
    assert_ne!(sampled("2", 8).0, first.0);
}

#[test]
fn a_cancelled_run_asks_nothing_more_and_is_undone() {
    let server = Server::start();
    let site = site(&policy(&server), &["/silent", "/zzz"]);
    site.script("move.rhai", &script(&server, &format!("network: [\"{}\"]", server.address), ""));
    let before = site.tree();
    let mut running = site.start_heard(&["run", "move.rhai", "--yes", "--threads", "1"]);
    let mut said = BufReader::new(running.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    wait_until("the server was asked", || !server.held.lock().unwrap().is_empty());
    running.signal(Signal::INT);
    assert!(said.any(|line| line.contains("Cancelling")));
    // Its wait ends with the connection.
    server.held.lock().unwrap().clear();
    said.for_each(drop);
    running.end().exits(130);
    assert_eq!(server.requests(), ["HEAD /silent HTTP/1.1"]);
    assert!(site.tree() == before);
}

#[test]
fn verifying_a_run_again_tries_its_samples_again_if_the_policy_still_permits_it() {
    let server = Server::start();
    let site = site(&policy(&server), &["/once"]);
    migrate(&site, &server, &json!({}), &[]).exits(0);
    let again = |code: i32| site.nrv(&["dta", "verify", "last", "--json"]).exits(code).json()["steps"][0].clone();
    let verifier = &again(4)["verifier"];
    assert_eq!(verifier["failures"][0]["reason"], format!("`{}` was answered with 410", server.url("/once")));
    let asked = server.requests().len();
    for policy in ["", "[adapters.link_updater]\nhttp_samples = 4\n[net]\nhosts = ['example.com']\n"] {
        site.write("nrv.toml", policy);
        assert_eq!(again(0)["verifier"]["sample_size"], 0);
    }
    assert_eq!(server.requests().len(), asked);
}
