//! Ctrl-C, SIGTERM and SIGHUP at every moment: the tree is as before, never between; the record is closed; the exit code is 130.
#![expect(clippy::disallowed_methods, reason = "tests run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::support::{
    hold::{PATIENT, held_script, stopped_in_transaction},
    site::{MIGRATE, NEW, OLD, Ran, Running, Site, Tree, wait_until},
    terminal::{CTRL_C, on_a_terminal},
};

/// The time that a run has to end after a signal, on a busy machine.
const LIMIT: Duration = Duration::from_secs(6);

#[track_caller]
fn cancelled(site: &Site, before: &Tree, ran: Ran) -> Ran {
    let ran = ran.exits(130);
    assert!(site.tree() == *before, "something changed: {ran:?}");
    assert!(site.recorded("*/journal/*").is_empty());
    site.last_ended("cancelled");
    ran
}

/// Starts nrv so that a hang-up ends it, also where the tests themselves were started to ignore one.
fn hanging_up(site: &Site, arguments: &[&str]) -> Running {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", crate::repository::nrv()]).args(arguments);
    site.tame(&mut command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(command.spawn().unwrap())
}

/// Runs the workflow and sends a signal when a line of its events has all these words.
fn signalled_at(site: &Site, signal: Signal, words: &[&str]) -> Ran {
    let mut running = hanging_up(site, &[&MIGRATE[..], &["--events", "--threads", "1"]].concat());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| words.iter().all(|word| line.contains(word))), "{words:?} never came");
    running.signal(signal);
    let stdout = lines.last().unwrap_or_default();
    Ran { stdout, ..running.end() }
}

#[test]
fn a_signal_while_pages_are_looked_at_or_verified_leaves_everything_as_it_was() {
    let site = Site::new(600);
    let before = site.tree();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        for words in [&["dta_started"][..], &["dta_progress", "verify"]] {
            let ran = cancelled(&site, &before, signalled_at(&site, signal, words)).says("Cancelling");
            assert!(ran.stdout.contains("\"state\":\"cancelled\""), "{ran:?}");
        }
    }
}

#[test]
fn a_hang_up_that_is_ignored_when_nrv_starts_stays_ignored() {
    let site = Site::new(100);
    let mut command = Command::new("sh");
    let nrv = crate::repository::nrv();
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", nrv]).args(MIGRATE).arg("--events");
    site.tame(&mut command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("dta_started")));
    running.signal(Signal::HUP);
    let last = lines.last().unwrap_or_default();
    assert!(last.contains("\"state\":\"done\""), "{last}");
    running.end().exits(0);
}

#[test]
fn a_signal_in_the_middle_of_a_transaction_undoes_it() {
    let site = Site::new(40);
    let before = site.tree();
    let running = stopped_in_transaction(&site, &MIGRATE, || site.reset(&before));
    running.signal(Signal::INT);
    running.signal(Signal::CONT);
    // Before the first file was replaced, nothing had changed.
    let ran = cancelled(&site, &before, running.end());
    assert!(["40 files brought back", "Nothing was changed"].iter().any(|words| ran.stderr.contains(words)), "{ran:?}");
}

#[test]
fn a_second_signal_ends_the_process_and_recovery_cleans_up() {
    let site = Site::new(40);
    let before = site.tree();
    let running = stopped_in_transaction(&site, &MIGRATE, || site.reset(&before));
    // Both wait for the process to go on.
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.signal(Signal::CONT);
    let ran = running.end().exits(-1).says("Stopped at once").says("nrv recover");
    site.nrv(&["recover"]).exits(0);
    let tree = site.tree();
    assert!(tree == before || tree == site.moved(&before, OLD, NEW), "{ran:?}");
    assert!(site.recorded("*/journal/*").is_empty());
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn ctrl_c_answers_a_question() {
    let site = Site::new(4);
    let before = site.tree();
    let Some(mut asked) = on_a_terminal(&site, &MIGRATE[..6]) else { return };
    wait_until("a person is asked", || !site.recorded("*/confirmations/c1.json").is_empty() || asked.has_ended());
    asked.0.stdin.as_mut().unwrap().write_all(CTRL_C).unwrap();
    let ran = cancelled(&site, &before, asked.end());
    assert!(ran.stdout.contains("the run was cancelled"), "{ran:?}");
}

#[test]
fn ctrl_c_on_a_terminal_leaves_no_bar_behind() {
    let site = Site::new(6).policy(PATIENT);
    let page = "<a href=\"http://other.example.org/\">a link that stays</a>\n".repeat(400);
    (0..800).for_each(|index| site.write(&format!("site/long/p{index}.html"), &page));
    site.commit();
    let before = site.tree();
    let Some(mut running) = on_a_terminal(&site, &[&MIGRATE[..], &["--threads", "1"]].concat()) else { return };
    let mut shown = shown_until(&mut running, "looking at files");
    running.0.stdin.as_mut().unwrap().write_all(CTRL_C).unwrap();
    running.0.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    cancelled(&site, &before, running.end());
    let end = shown.rfind("looking at files").unwrap();
    let (bar, after) = (shown[..end].rfind('\r').unwrap(), &shown[end..]);
    assert!(shown[bar..].contains("/806") && after.contains("\r\x1b[2K"), "{shown:?}");
    assert!(shown.contains("Cancelling.") && after.contains("the run was cancelled"), "{shown:?}");
}

/// Reads what is shown until words appear.
fn shown_until(running: &mut Running, words: &str) -> String {
    let stdout = running.0.stdout.as_mut().unwrap();
    let mut shown = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&shown).ends_with(words) {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&shown));
        shown.push(byte[0]);
    }
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn a_script_that_never_ends_is_stopped() {
    let site = Site::new(4).policy(PATIENT);
    site.script("held.rhai", &held_script("", "nrv.ui.step(\"changed\"); loop { }", "1"));
    let before = site.tree();
    let Some(mut running) = on_a_terminal(&site, &["run", "held.rhai", "--yes"]) else { return };
    shown_until(&mut running, "changed");
    running.0.stdin.as_mut().unwrap().write_all(CTRL_C).unwrap();
    cancelled(&site, &before, running.end());
}

/// Sends a signal; returns the time until the process ended, and its result.
fn ends_after(running: Running, signal: Signal) -> (Duration, Ran) {
    let watch = Instant::now();
    running.signal(signal);
    let ran = running.end();
    (watch.elapsed(), ran)
}

#[test]
fn a_run_that_waits_in_the_kernel_is_ended_between_its_changes() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let site = Site::new(4);
        let before = site.tree();
        let large = "let text = \"line\\n\"; for i in 0..18 { text += text; } nrv.ui.show(text);";
        site.script(
            "stuck.rhai",
            &format!(
                "const WORKFLOW = #{{ name: \"stuck\", permissions: #{{ write: [\"site/**\"] }} }};
nrv.apply.create(\"site/made.txt\", \"made\\n\");\n{large}\n"
            ),
        );
        let mut running = hanging_up(&site, &["run", "stuck.rhai"]);
        // Its output is not read.
        wait_until("it shows something", || ready(running.0.stdout.as_ref().unwrap()) || running.has_ended());
        let stdout = running.0.stdout.take();
        let (took, ran) = ends_after(running, signal);
        drop(stdout);
        assert!(took < LIMIT, "{took:?}");
        ran.exits(-1).says("did not stop in time").says("nrv recover");
        site.nrv(&["recover"]).exits(0);
        site.last_ended("interrupted");
        site.nrv(&["runs", "verify", "last"]).exits(0);
        site.nrv(&["rollback", "last"]).exits(0);
        assert_eq!(site.tree().len(), before.len() + 1, "what it made is gone, and the script is left");
    }
}

/// True if there is output to read.
fn ready(stdout: &impl std::os::fd::AsFd) -> bool {
    let mut ends = [rustix::event::PollFd::new(stdout, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut ends, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0)
}
