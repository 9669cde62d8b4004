//! The store in a bucket of a server that speaks the protocol of S3.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    time::Duration,
};

use super::*;
use crate::support::{need, site::finished};

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
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bucket/bin/moto_server");
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

/// A plan, and what one machine makes of it in a folder.
fn planned() -> (Fleet, Value) {
    let fleet = Fleet::new();
    for n in 0..TASKS {
        let text = if n == 3 { "broken\n" } else { "old.example.com\n" };
        fleet.repository(&format!("r{n}"), &[("x.md", text), ("y.md", "old.example.com\n"), (&n.to_string(), "")]);
    }
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(1);
    let expected = outcomes(&fleet.site.nrv(&["fleet", "collect", "plan.jsonl", "--json"]));
    (fleet, expected)
}

#[test]
fn killed_and_doubled_workers_of_a_bucket_leave_the_results_of_one_machine() {
    let Some(server) = Server::start() else { return };
    let (fleet, expected) = planned();
    let work = ["work", "plan.jsonl", "--store", "s3://fleet/some/path"];
    let start = || command(&fleet, server.port, &work).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    for after in [80, 160, 320] {
        let mut workers = [start(), start(), start()];
        std::thread::sleep(Duration::from_millis(after));
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
fn a_bucket_that_can_not_be_reached_is_no_result() {
    let Some(server) = Server::start() else { return };
    let (fleet, _) = planned();
    let missing = ["work", "plan.jsonl", "--store", "s3://missing", "--index", "0"];
    run(&fleet, server.port, &missing).exits(75).says("of the store can't be reached");
    run(&fleet, server.port, &["status", "plan.jsonl", "--store", "s3://missing"]).exits(75);
    // Without encryption, only who permits it.
    let mut command = command(&fleet, server.port, &["status", "plan.jsonl", "--store", "s3://fleet"]);
    finished(command.env_remove("AWS_ALLOW_HTTP").output().unwrap()).exits(75).says("`AWS_ALLOW_HTTP`");
    fleet.site.nrv(&["fleet", "status", "plan.jsonl", "--store", "ftp://fleet"]).exits(1).says("is no store");
}

/// Passes connections on to a server, and ends the first of each claim before its answer; the port.
fn deaf(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut has_lost = false;
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", to)).unwrap());
            let mut first = [0; 4096];
            let length = client.peek(&mut first).unwrap();
            let loses = !has_lost
                && first[..length].starts_with(b"PUT ")
                && first[..length].windows(8).any(|at| at == b"/claims/");
            has_lost |= loses;
            let (mut from, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut into));
            let (mut from, mut into) = (server, client);
            std::thread::spawn(move || match loses {
                true => {
                    let _ = from.read(&mut [0; 1]);
                    let _ = into.shutdown(std::net::Shutdown::Both);
                }
                false => drop(std::io::copy(&mut from, &mut into)),
            });
        }
    });
    port
}

#[test]
fn a_claim_whose_answer_was_lost_is_ones_own() {
    let Some(server) = Server::start() else { return };
    let (fleet, _) = planned();
    let work = ["work", "plan.jsonl", "--store", "s3://fleet", "--index", "0", "--json"];
    let worked = run(&fleet, deaf(server.port), &work).exits(0);
    assert_eq!(worked.json()[0]["volatile"]["attempt"], 1, "{worked:?}");
}
