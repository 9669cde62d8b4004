//! Repositories by https: a token for one host, which no other host, no message and no object of the store gets.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use super::{delivered::FORM, *};
use crate::support::site::{Running, finished};

/// A server of the repositories of a fleet.
struct Server {
    port: u16,
    certificate: PathBuf,
    notes: PathBuf,
    _process: Running,
}

impl Server {
    fn start(fleet: &Fleet) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let (certificate, key, notes) = (fleet.beside("cert.pem"), fleet.beside("key.pem"), fleet.beside("notes"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut process = Running(
            Command::new("python3")
                .arg(crate::repository::root().join("tests/it/fleet/https_server.py"))
                .args([&fleet.beside("repositories"), &certificate, &key, &notes])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Server { port: line.trim().parse().unwrap(), certificate, notes, _process: process }
    }

    fn nrv(&self, fleet: &Fleet, tokens: &str, arguments: &[&str]) -> Ran {
        let mut command = fleet.site.command(&[&["fleet"], arguments].concat());
        command.env("SSL_CERT_FILE", &self.certificate).env("NRV_GIT_TOKENS", tokens).env("FORGE", "canary-token");
        let ran = finished(command.output().unwrap());
        assert!(!format!("{ran:?}").contains("canary"), "{ran:?}");
        ran
    }
}

#[test]
fn a_token_reaches_its_host_alone() {
    let fleet = Fleet::new();
    fleet.repository("a", &[("x.md", "old.example.com\n")]);
    fleet.plan(FORM).exits(0);
    let server = Server::start(&fleet);
    let place = format!("localhost:{}", server.port);
    let token = format!("{place}=FORGE");
    let plan = ["plan", "--repositories", "list"];
    fleet.site.write("list", format!("https://{place}/a\n"));
    server.nrv(&fleet, "", &plan).exits(75).says("can't be asked for its commit");
    server.nrv(&fleet, "elsewhere.example.com=FORGE", &plan).exits(75);
    server.nrv(&fleet, &format!("{place}=MISSING"), &plan).exits(1).says("the variable that it names is not set");
    server.nrv(&fleet, &token, &plan).exits(0);
    server.nrv(&fleet, &token, &["work", "plan.jsonl"]).exits(0).says("a: 1 file changed");
    let hash = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    let apply = ["collect", "plan.jsonl", "--apply", "--approve", &hash];
    server.nrv(&fleet, "", &apply).exits(75);
    server.nrv(&fleet, &token, &apply).exits(0).says("1 branch pushed.");
    server.nrv(&fleet, &token, &["rollback", "plan.jsonl"]).exits(0).says("1 branch removed.");
    // The store holds no token.
    let store = fleet.beside("store");
    let found = Command::new("grep").args(["-r", "canary"]).args([&store, &fleet.site.root()]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    // A host to which another one sends git gets none.
    fleet.site.write("list", format!("https://{place}/moved/a\n"));
    server.nrv(&fleet, &token, &plan).exits(75);
    let notes = std::fs::read_to_string(&server.notes).unwrap();
    assert!(notes.contains("localhost token\n") && notes.contains("127.0.0.1 none\n"), "{notes}");
    assert!(!notes.contains("127.0.0.1 token"), "{notes}");
}
