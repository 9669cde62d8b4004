//! Samples of new links over HTTP, against servers on the loopback interface that these tests start.
#![expect(clippy::disallowed_methods, reason = "tests listen, build trees and read artefacts")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use nrv::{
    Call, Code, Context, Finished, Flags, Host, Invocation, Options, Position, Program, Request, Silent, Workspace,
    host,
    net::{Answer, Client, Outcome},
};
use serde_json::{Value, json};

use crate::support::site::{NEW, OLD, Site, invocation};

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
        (_, path) if path.starts_with("/missing") => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        // The body is announced and never sent: nobody is to wait for it.
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    };
    let _ = stream.write_all(answer.as_bytes());
}

fn ask(url: &str, timeout_ms: u64) -> Outcome {
    let cancel = AtomicBool::new(false);
    Client::new(nrv::net::Options { refusal: &|_| None, timeout_ms, cancel: &cancel }).ask(url)
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

/// A program that verifies as nrv does, but for the links that it offers to be tried.
fn offering(site: &Site, urls: &[String]) -> PathBuf {
    let offered = serde_json::to_string(urls).unwrap();
    let program = site.root().parent().unwrap().join("offering");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = __verify ] || exec '{nrv}' \"$@\"\n\
         '{nrv}' \"$@\" | sed 's#\"samples\":\\[[^]]*\\]#\"samples\":{offered}#'\n",
        nrv = env!("CARGO_BIN_EXE_nrv"),
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn context(site: &Site, urls: &[String], threads: usize) -> Context {
    let program = Program::Path(offering(site, urls));
    Context::new(Workspace::open(&site.root()).unwrap(), Options { program, threads, ..Options::default() }).unwrap()
}

/// Moves the links of a site; the verifier offers these URLs to be tried.
fn migrate(context: &Context, seed: u64, dry_run: bool) -> Finished {
    let mut input = invocation("site/**/*.html", OLD, NEW);
    input["constraints"]["seed"] = json!(seed);
    let flags = Flags { yes: true, dry_run, ..Flags::default() };
    let request = Request::adapter(context, "link_updater", &input, flags).unwrap();
    let mut host = Host::start(context, request, &mut Silent).unwrap();
    let call = Call::DtaRun { tool: "link_updater".to_owned(), input };
    let outcome = host.perform(&Position::nth(1), call, &mut Silent);
    host.finish(outcome).unwrap()
}

/// The artefact of the latest run, as it was written.
fn artefact(site: &Site) -> String {
    let paths = site.recorded("*/dta/link_updater/*-samples.json");
    std::fs::read_to_string(paths.last().unwrap()).unwrap()
}

fn urls(server: &Server, paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| server.url(path)).collect()
}

#[test]
fn samples_that_are_there_pass_and_are_recorded_and_redirects_are_told() {
    let server = Server::start();
    let site = Site::new(3).policy(&policy(&server));
    let offered = urls(&server, &["/ok/1", "/moved", "/private"]);
    for dry_run in [true, false] {
        let finished = migrate(&context(&site, &offered, 2), 1, dry_run);
        let verifier = &finished.result["verifier"];
        assert_eq!((&finished.error, &verifier["passed"], &verifier["sample_size"]), (&None, &json!(true), &json!(3)));
        assert_eq!(verifier["checks"].as_array().unwrap().last().unwrap(), "no_404s_sampled");
        let remark = format!("1 of 3 samples redirect, such as {} to /ok/elsewhere", server.url("/moved"));
        assert_eq!(verifier["remarks"], json!([remark]));
        let named = finished.result["artifacts"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        assert!(named.ends_with(".1-samples.json") && site.last_run().join(named).is_file());
        let expected = json!({"tool": "link_updater", "samples": [
            {"url": server.url("/moved"), "answered": {"status": 301, "location": "/ok/elsewhere"}},
            {"url": server.url("/ok/1"), "answered": {"status": 200}},
            {"url": server.url("/private"), "answered": {"status": 401}},
        ]});
        assert_eq!(serde_json::from_str::<Value>(&artefact(&site)).unwrap(), expected);
        site.last_ended("done");
    }
    assert_eq!(server.requests().len(), 6, "where a redirect leads is not asked: {:?}", server.requests());
    let schema = serde_json::from_str(include_str!("../../schemas/link_updater.output.schema.json")).unwrap();
    let output = migrate(&context(&site, &offered, 2), 1, false).result;
    nrv::schema::Schema::compile(&schema).unwrap().check(&output).unwrap();
}

#[test]
fn a_recorded_sample_that_was_edited_is_found() {
    let server = Server::start();
    let site = Site::new(1).policy(&policy(&server));
    migrate(&context(&site, &urls(&server, &["/private"]), 1), 1, false);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    let path = site.recorded("*/dta/link_updater/*-samples.json").pop().unwrap();
    std::fs::write(&path, artefact(&site).replace("401", "200")).unwrap();
    site.nrv(&["runs", "verify", "last"]).exits(4);
}

#[test]
fn one_missing_page_undoes_the_change() {
    let server = Server::start();
    let site = Site::new(3).policy(&policy(&server));
    let before = site.tree();
    let finished = migrate(&context(&site, &urls(&server, &["/ok", "/missing", "/broken"]), 2), 1, false);
    let error = finished.error.as_ref().unwrap();
    assert_eq!((error.code(), finished.exit_code()), (Code::VerificationFailed, 4));
    let missing = format!("no_404s_sampled: `{}` was answered with 500 (and 1 more)", server.url("/broken"));
    assert!(error.message().ends_with(&missing), "{error}");
    let failures = error.details()["output"]["verifier"]["failures"].as_array().unwrap().clone();
    assert_eq!(failures[1]["reason"], format!("`{}` was answered with 404", server.url("/missing")));
    assert!(site.tree() == before);
    assert!(artefact(&site).contains("404"));
    site.last_ended("failed");
}

#[test]
fn a_host_that_may_not_be_reached_fails_the_check_and_hears_nothing() {
    let (server, other) = (Server::start(), Server::start());
    let site = Site::new(1).policy(&policy(&server));
    let before = site.tree();
    let offered = [server.url("/ok"), other.url("/ok"), "ftp://127.0.0.1/x".to_owned()];
    let error = migrate(&context(&site, &offered, 1), 1, false).error.unwrap();
    let verifier = &error.details()["output"]["verifier"];
    assert_eq!((error.code(), &verifier["sample_size"]), (Code::VerificationFailed, &json!(1)));
    let failures = verifier["failures"].to_string();
    assert!(failures.contains("no entry of `net.hosts` covers it (line 2 of `nrv.toml`)"), "{failures}");
    assert!(failures.contains("`ftp` is neither `http` nor `https`"), "{failures}");
    assert_eq!((server.requests().len(), other.requests().len()), (1, 0));
    assert!(site.tree() == before);
}

#[test]
fn nothing_is_reached_unless_the_policy_asks_for_samples() {
    let server = Server::start();
    let site = Site::new(1).policy(&format!("[net]\nhosts = [\"{}\"]\n", server.address));
    let finished = migrate(&context(&site, &urls(&server, &["/missing"]), 1), 1, false);
    let verifier = &finished.result["verifier"];
    assert_eq!((&finished.error, &verifier["sample_size"]), (&None, &json!(0)));
    assert!(!verifier["checks"].to_string().contains("sampled") && server.requests().is_empty());
    assert!(site.recorded("*/dta/link_updater/*-samples.json").is_empty());
}

/// A script that moves the links and may reach these hosts.
fn script(permissions: &str, params: &str) -> String {
    format!(
        "const WORKFLOW = #{{ name: \"move\", permissions: #{{ write: [\"site/**\"], {permissions} }} }};\n\
         nrv.dta(\"link_updater\").run(#{{ target: #{{ glob: \"site/**/*.html\" }},\n\
         params: #{{ from_hosts: [\"{OLD}\"], to_host: \"https://{NEW}\", {params} }} }}).verifier\n"
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
        let site = Site::new(2).policy(policy);
        site.script("move.rhai", &script("", params));
        let before = site.tree();
        site.nrv(&["run", "move.rhai", "--yes"]).exits(3).says(words).says(hint);
        let events = std::fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
        assert!(events.contains("permission_denied") && !events.contains("dta_started"), "{events}");
        assert!(site.tree() == before);
    }
}

#[test]
fn a_script_tries_links_on_hosts_that_its_header_and_the_policy_name() {
    let server = Server::start();
    for (host, passes) in [(server.address.as_str(), true), ("elsewhere.example.com", false)] {
        let site = Site::new(1).policy(&policy(&server));
        site.script("move.rhai", &script(&format!("network: [\"{host}\"]"), ""));
        let context = context(&site, &urls(&server, &["/ok"]), 1);
        let flags = Flags { yes: true, ..Flags::default() };
        let finished = nrv::run_file(&context, "move.rhai", Invocation { flags, ..Invocation::default() }, &mut Silent);
        let finished = finished.unwrap();
        match finished.error {
            None => assert!(passes && finished.result["sample_size"] == 1),
            Some(error) => assert!(!passes && error.message().contains("by the script's header"), "{error}"),
        }
    }
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn the_sample_and_its_record_are_the_same_on_any_number_of_threads_and_differ_by_seed() {
    let server = Server::start();
    let paths: Vec<String> = (0..40).map(|n| format!("/{}/{n}", ["ok", "missing"][n % 2])).collect();
    let mut offered: Vec<String> = paths.iter().map(|path| server.url(path)).collect();
    let mut sampled = |threads: usize, seed: u64| {
        let site = Site::new(2).policy(&policy(&server));
        offered.reverse();
        let finished = migrate(&context(&site, &offered, threads), seed, true);
        let output = finished.error.map_or(finished.result, |error| error.details()["output"].clone());
        (artefact(&site), output["verifier"].clone())
    };
    let first = sampled(1, 7);
    assert_eq!(first.1["sample_size"], 4);
    for threads in [1, 2, 8] {
        assert_eq!(sampled(threads, 7), first, "{threads} threads");
    }
    assert_ne!(sampled(2, 8).0, first.0);
}

#[test]
fn a_cancelled_run_asks_nothing_more_and_is_undone() {
    let server = Server::start();
    let site = Site::new(1).policy(&policy(&server));
    let before = site.tree();
    let context = context(&site, &urls(&server, &["/silent"]), 1);
    let cancel = Arc::clone(&context.options.cancel);
    let (heads, held) = (Arc::clone(&server.heads), Arc::clone(&server.held));
    let finished = crossbeam::thread::scope(|scope| {
        scope.spawn(|_| {
            crate::support::site::wait_until("the server was asked", || !held.lock().unwrap().is_empty());
            cancel.store(true, Ordering::Relaxed);
            // The client's wait ends with the connection.
            held.lock().unwrap().clear();
        });
        migrate(&context, 1, false)
    });
    assert_eq!(finished.unwrap().error.unwrap().code(), Code::Cancelled);
    assert_eq!(heads.lock().unwrap().len(), 1);
    assert!(site.tree() == before);
}

#[test]
fn verifying_a_run_again_tries_its_samples_again_if_the_policy_still_permits_it() {
    let server = Server::start();
    let site = Site::new(1).policy(&policy(&server));
    let offered = urls(&server, &["/ok"]);
    migrate(&context(&site, &offered, 1), 1, false);
    let again = |offered: &[String]| {
        let context = context(&site, offered, 1);
        let folder = context.runs.open("last").unwrap();
        host::verify_again(&context, &folder).unwrap().remove(0).verifier
    };
    let verdict = again(&offered);
    assert_eq!((verdict.passed, verdict.sample_size, server.requests().len()), (true, 1, 2));
    assert!(!again(&urls(&server, &["/missing"])).passed);
    let asked = server.requests().len();
    for policy in ["", "[adapters.link_updater]\nhttp_samples = 4\n[net]\nhosts = ['example.com']\n"] {
        site.write("nrv.toml", policy);
        let verdict = again(&urls(&server, &["/missing"]));
        assert_eq!((verdict.passed, verdict.sample_size, server.requests().len()), (true, 0, asked));
    }
}
