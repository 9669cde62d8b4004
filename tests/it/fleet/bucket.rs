//! The store in a bucket of a server that speaks the protocol of S3.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    time::Duration,
};

use super::*;
use crate::support::{chance::Chance, long, need, site::finished};

/// A server with a bucket.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts one; none if it is not installed.
    fn start() -> Option<Self> {
        let program = crate::repository::root().join("target/bucket/bin/moto_server");
        if !program.exists() {
            need::skip("bucket");
            return None;
        }
        let mut process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env("PYTHONUNBUFFERED", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(process.stderr.take().unwrap()).lines();
        let port = told.find_map(|line| {
            let line = line.unwrap();
            let (_, address) = line.split_once("http://127.0.0.1:")?;
            address.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        std::thread::spawn(move || told.for_each(drop));
        let server = Server { process, port: port.unwrap() };
        let made = server.request("PUT /fleet HTTP/1.0\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n\r\n");
        assert!(made.contains(" 200 "), "{made}");
        Some(server)
    }

    fn request(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// A command with what it needs to reach the bucket at a port.
fn command(fleet: &Fleet, port: u16, arguments: &[&str]) -> Command {
    let mut command = fleet.site.command(&[&["fleet"], arguments].concat());
    command
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))
        .env("AWS_ACCESS_KEY_ID", "key")
        .env("AWS_SECRET_ACCESS_KEY", "canary")
        .env("AWS_ALLOW_HTTP", "true");
    command
}

fn run(fleet: &Fleet, port: u16, arguments: &[&str]) -> Ran {
    let ran = finished(command(fleet, port, arguments).output().unwrap());
    assert!(!format!("{ran:?}").contains("canary"), "{ran:?}");
    ran
}

/// The outcomes of a collection, without what differs from attempt to attempt.
fn outcomes(ran: &Ran) -> Value {
    let mut collected: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    for row in collected["rows"].as_array_mut().unwrap() {
        row["outcome"].as_object_mut().unwrap().remove("volatile");
    }
    collected
}

const TASKS: usize = 6;

/// A fleet with a plan.
fn planned() -> Fleet {
    let fleet = Fleet::new();
    for n in 0..TASKS {
        let text = if n == 3 { "broken\n" } else { "old.example.com\n" };
        fleet.repository(&format!("r{n}"), &[("x.md", text), ("y.md", "old.example.com\n"), (&n.to_string(), "")]);
    }
    fleet.plan("").exits(0);
    fleet
}

#[test]
fn killed_and_doubled_workers_of_a_bucket_leave_the_results_of_one_machine() {
    let Some(server) = Server::start() else { return };
    let fleet = planned();
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(1);
    let expected = outcomes(&fleet.site.nrv(&["fleet", "collect", "plan.jsonl", "--json"]));
    let work = ["work", "plan.jsonl", "--store", "s3://fleet/some/path"];
    let start = || command(&fleet, server.port, &work).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut chance = Chance(7);
    for _ in 0..long::pick(1, 9) {
        let mut workers = [start(), start(), start()];
        chance.pause(Duration::from_millis(400));
        for worker in &mut workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
    }
    for mut worker in [start(), start()] {
        worker.wait().unwrap();
    }
    run(&fleet, server.port, &work).exits(1);
    let store = ["--store", "s3://fleet/some/path"];
    let status = run(&fleet, server.port, &[&["status", "plan.jsonl"][..], &store].concat()).exits(0);
    assert!(status.stdout.starts_with("6 of 6 tasks done"), "{status:?}");
    let collected = run(&fleet, server.port, &[&["collect", "plan.jsonl", "--json"][..], &store].concat()).exits(1);
    assert_eq!(outcomes(&collected), expected);
}

#[test]
fn servers_that_fail_lose_and_refuse_leave_no_wrong_result() {
    let Some(server) = Server::start() else { return };
    let fleet = planned();
    a_bucket_that_can_not_be_reached_is_no_result(&fleet, &server);
    a_server_that_writes_over_what_is_there_is_refused_before_any_work(&fleet, &server);
    a_claim_whose_answer_was_lost_is_ones_own(&fleet, &server);
    a_create_that_conflicts_with_another_is_tried_again(&fleet, &server);
    what_a_server_repeats_is_not_told(&fleet, &server);
}

fn a_bucket_that_can_not_be_reached_is_no_result(fleet: &Fleet, server: &Server) {
    let missing = ["work", "plan.jsonl", "--store", "s3://missing", "--index", "0"];
    run(fleet, server.port, &missing).exits(75).says("NoSuchBucket");
    run(fleet, server.port, &["status", "plan.jsonl", "--store", "s3://missing"]).exits(75);
    // Without encryption, only who permits it.
    let mut command = command(fleet, server.port, &["status", "plan.jsonl", "--store", "s3://fleet"]);
    finished(command.env_remove("AWS_ALLOW_HTTP").output().unwrap()).exits(75).says("`AWS_ALLOW_HTTP=true`");
    fleet.site.nrv(&["fleet", "status", "plan.jsonl", "--store", "ftp://fleet"]).exits(1).says("is no store");
}

/// The ends of an answer.
enum Answer {
    /// It is passed back.
    Passed,
    /// The connection ends without it.
    Lost,
    /// That of S3 to requests that meet, in place of it.
    Conflict,
}

/// Stands between workers and a server: `pass` sends a request on, as it is or changed; the port.
fn between(to: u16, pass: impl Fn(&str, &mut TcpStream) -> Answer + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pass = std::sync::Arc::new(pass);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, pass) = (client.unwrap(), std::sync::Arc::clone(&pass));
            std::thread::spawn(move || {
                let request = whole(&mut client);
                let mut server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let _ = match pass(&request, &mut server) {
                    Answer::Passed => std::io::copy(&mut server, &mut client).map(drop),
                    Answer::Lost => server.read(&mut [0; 1]).map(drop),
                    Answer::Conflict => client.write_all(b"HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n"),
                };
            });
        }
    });
    port
}

/// A request, to its end; bytes that are no text are replaced, which these requests have in no part that matters.
fn whole(client: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let n = client.read(&mut piece).unwrap();
        bytes.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if n == 0 || text.contains("\r\n\r\n") && body.len() >= length.unwrap_or(0) {
            return text.into_owned();
        }
    }
}

fn a_claim_whose_answer_was_lost_is_ones_own(fleet: &Fleet, server: &Server) {
    let work = ["work", "plan.jsonl", "--store", "s3://fleet/lost", "--index", "0", "--json"];
    let has_lost = std::sync::atomic::AtomicBool::new(false);
    let port = between(server.port, move |request, to| {
        to.write_all(request.as_bytes()).unwrap();
        let is_claim = request.starts_with("PUT ") && request.contains("/claims/");
        match is_claim && !has_lost.swap(true, std::sync::atomic::Ordering::Relaxed) {
            true => Answer::Lost,
            false => Answer::Passed,
        }
    });
    let worked = run(fleet, port, &work).exits(0);
    assert_eq!(worked.json()[0]["volatile"]["attempt"], 1, "{worked:?}");
}

fn a_server_that_writes_over_what_is_there_is_refused_before_any_work(fleet: &Fleet, server: &Server) {
    let port = between(server.port, |request, to| {
        let careless = request.replace("if-none-match: *", "x-none-match: *");
        to.write_all(careless.as_bytes()).unwrap();
        Answer::Passed
    });
    run(fleet, port, &["work", "plan.jsonl", "--store", "s3://fleet"])
        .exits(75)
        .says("writes over objects that are there");
    run(fleet, server.port, &["status", "plan.jsonl", "--store", "s3://fleet"]).exits(0);
}

fn a_create_that_conflicts_with_another_is_tried_again(fleet: &Fleet, server: &Server) {
    let refused = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let port = between(server.port, move |request, to| {
        let line = request.lines().next().unwrap_or_default().to_owned();
        if line.starts_with("PUT ") && refused.lock().unwrap().insert(line) {
            return Answer::Conflict;
        }
        to.write_all(request.as_bytes()).unwrap();
        Answer::Passed
    });
    let work = ["work", "plan.jsonl", "--store", "s3://fleet/conflict", "--index", "0", "--json"];
    let worked = run(fleet, port, &work).exits(0);
    assert_eq!(worked.json()[0]["volatile"]["attempt"], 1, "{worked:?}");
}

fn what_a_server_repeats_is_not_told(fleet: &Fleet, server: &Server) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 8192]);
            let body =
                "<Error><Code>InvalidToken</Code><Message>It is wrong.</Message><Token-0>canary</Token-0></Error>";
            let _ = write!(client, "HTTP/1.1 403 Forbidden\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    });
    let ran = run(fleet, port, &["status", "plan.jsonl", "--store", "s3://fleet"]).exits(75);
    assert!(ran.stderr.contains("InvalidToken: It is wrong."), "{ran:?}");
    let mut command = command(fleet, server.port, &["status", "plan.jsonl", "--store", "s3://fleet"]);
    command.env("AWS_ENDPOINT_URL", "http://user:canary@127.0.0.1:1");
    let ran = finished(command.output().unwrap()).exits(1).says("`AWS_ENDPOINT_URL`");
    assert!(!ran.stderr.contains("canary"), "{ran:?}");
}
