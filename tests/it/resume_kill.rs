//! A run that is killed at any moment, and resumed until it ends, has the result of an uninterrupted one.
//!
//! Still longer than the long tier: `NRV_RESUME_ROUNDS=100 cargo test --test it resume_kill:: -- --nocapture`; `NRV_RESUME_SEED` chooses
//! other moments.
#![expect(clippy::disallowed_methods, reason = "tests run programs and look at records")]
#![expect(clippy::print_stderr, reason = "counts are shown with --nocapture")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::support::{
    chance::{Chance, setting},
    hold::{killed_after, recorded_events},
    long,
    site::{Ran, Running, Site, Tree},
};

/// Files made and written by text and by an adapter in one call and in two, calls of all classes, and all of that within attempts.
const WORK: &str = r#"
const WORKFLOW = #{ name: "work", permissions: #{ write: ["notes/**", "site/**"],
    calls: ["weather.look", "house.build", "post.send"] } };
let links = nrv.dta("link_updater");
for i in 0..5 {
    nrv.custom("weather.look", #{ name: `w${i}` });
    nrv.apply.create(`notes/${i}.txt`, `${i}\n`);
    nrv.custom("house.build", #{ name: `b${i}` });
    nrv.apply.write(`notes/${i}.txt`, `${i} again\n`, nrv.files.sha256(`notes/${i}.txt`));
    nrv.custom("post.send", #{ name: `s${i}` });
    let from = if i == 0 { "old.example.com" } else { `h${i}.example.com` };
    let input = #{ target: #{ glob: "site/**/*.html" },
        params: #{ from_hosts: [from], to_host: `https://h${i + 1}.example.com` } };
    nrv.attempt(|| {
        nrv.apply.create(`notes/${i}-tried.txt`, `${i} tried\n`);
        nrv.attempt(|| { links.apply(links.propose(input)); });
        nrv.custom("post.send", #{ name: `t${i}` });
        false
    });
    nrv.attempt(|| {
        nrv.attempt(|| { nrv.apply.remove(`notes/${i}.txt`, nrv.files.sha256(`notes/${i}.txt`)); throw "no" });
        if i % 2 == 0 { links.apply(links.propose(input)); } else { input.mode = "apply"; links.run(input); }
        nrv.custom("house.build", #{ name: `t${i}` });
        nrv.apply.create(`notes/${i}-kept.txt`, `${i} kept again\n`);
    });
}
nrv.files.grep("again", ["notes/**"]).len()
"#;

/// The counts of all rounds.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    kills: u64,
    uncertain: u64,
    taken_as_done: u64,
    settled: u64,
}

fn site() -> Site {
    let site = Site::new(4).policy("[confirm]\nauto = [\"dta.apply\"]\n[evaluators]\nfail = []\n");
    site.script("work.rhai", WORK);
    site
}

fn durable(site: &Site, arguments: &[&str]) -> Command {
    let program = std::path::Path::new(crate::repository::nrv()).with_file_name("examples").join("durable");
    assert!(program.exists(), "build it first: `cargo build --example durable`");
    let mut command = Command::new(program);
    site.tame(&mut command).arg(site.root()).args(arguments);
    command
}

fn start(site: &Site, arguments: &[&str]) -> Running {
    let mut command = durable(site, arguments);
    Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn beside(site: &Site, name: &str) -> Vec<String> {
    let text = fs::read_to_string(site.root().with_file_name(name)).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The sent letters, the builds and the tree.
fn outcome(site: &Site) -> (Tree, Vec<String>, usize) {
    let builds = fs::read_dir(site.root().with_file_name("builds")).map_or(0, Iterator::count);
    (site.tree(), beside(site, "letters"), builds)
}

/// The run's folder, if its record has begun.
fn begun(site: &Site) -> Option<String> {
    let events = site.recorded("*/events.jsonl").pop()?;
    let text = fs::read_to_string(&events).ok()?;
    text.contains("\"kind\":\"run_started\"").then_some(())?;
    Some(events.parent()?.file_name()?.to_str()?.to_owned())
}

/// The options of the next `nrv resume` for a run that waits, after a look for the sent letter.
fn decide(site: &Site, ran: &Ran, tally: &mut Tally) -> Vec<String> {
    let said: Value = serde_json::from_str(ran.stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let error = &said["error"];
    assert_eq!(error["code"], "uncertain", "{ran:?}");
    assert_eq!(error["details"]["call"]["call"], "post.send");
    tally.uncertain += 1;
    let id = error["details"]["confirmation"].as_str().unwrap();
    let name = &error["details"]["call"]["params"]["name"];
    let mut options = vec!["--approve".to_owned(), id.to_owned()];
    if beside(site, "letters").iter().any(|line| line.ends_with(&name.to_string())) {
        tally.taken_as_done += 1;
        options.extend(["--reply".to_owned(), format!("{{\"sent\": {name}}}")]);
    }
    options
}

/// One run that is killed again and again; its result is that of an undisturbed one.
fn round(expected: &(Tree, Vec<String>, usize), events: u64, chance: &mut Chance, tally: &mut Tally) {
    let site = site();
    let mut options: Vec<String> = Vec::new();
    for attempt in 0.. {
        assert!(attempt < 40, "it comes to no end");
        let (run, before) = (begun(&site), recorded_events(&site));
        let mut arguments = match &run {
            Some(run) => vec!["resume", run.as_str()],
            None => vec!["run", "work.rhai"],
        };
        arguments.extend(options.iter().map(String::as_str));
        let running = start(&site, &arguments);
        // Some sessions may come to their end.
        let ran = if attempt < 4 {
            let events = before + chance.below(events);
            killed_after(&site, running, events, chance, Duration::from_millis(10))
        } else {
            running.end()
        };
        tally.kills += u64::from(ran.code == -1);
        options = match ran.code {
            0 => break,
            7 => decide(&site, &ran, tally),
            // It was killed, before or after the decision was recorded.
            -1 => options.into_iter().filter(|_| false).collect(),
            // A decision counts once, and the session that used it was killed.
            3 if ran.stderr.contains("not_approved") => Vec::new(),
            _ => panic!("{ran:?}"),
        };
    }
    assert!(outcome(&site) == *expected, "letters {:?}, expected {:?}", outcome(&site).1, expected.1);
    site.last_ended("done");
    let events = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    tally.settled += events.matches("\"kind\":\"settled\"").count() as u64;
    tally.rounds += 1;
}

#[test]
fn a_run_that_is_killed_at_any_moment_and_resumed_does_everything_once() {
    let undisturbed = site();
    let ran = start(&undisturbed, &["run", "work.rhai"]).end();
    assert_eq!(ran.code, 0, "{ran:?}");
    let events = recorded_events(&undisturbed);
    let expected = outcome(&undisturbed);
    assert_eq!((expected.1.len(), expected.2), (10, 10));
    let mut chance = Chance(setting("NRV_RESUME_SEED", 20_261_122));
    let mut tally = Tally::default();
    for _ in 0..long::rounds("NRV_RESUME_ROUNDS", 1, 9) {
        round(&expected, events, &mut chance, &mut tally);
    }
    eprintln!("{tally:?}, an undisturbed run records {events} events");
    assert!(tally.kills > 0);
}
