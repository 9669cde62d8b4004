//! Runs that are held or killed at a certain moment: in the middle of a transaction, where a script waits for a file, or after an event.
#![expect(clippy::disallowed_methods, reason = "tests look at records")]

use std::{fs, path::PathBuf, time::Duration};

use rustix::process::{Pid, Signal};

use super::{
    chance::Chance,
    site::{Ran, Running, Site, wait_until},
};

/// The number of tries for a moment before the test gives up.
const TRIES: usize = 25;

/// The policy of held scripts, which wait by looking for a file again and again.
pub(crate) const PATIENT: &str =
    "[script.limits]\noperations = 50_000_000_000\ncpu_s = 600\n[budget]\ncalls = 10_000_000\n";

/// A script that proposes, waits for the file `go`, applies, then waits for the file `end` and ends with `last`.
pub(crate) fn held_script(before: &str, after: &str, last: &str) -> String {
    format!(
        "const WORKFLOW = #{{ name: \"held\", permissions: #{{ write: [\"site/**\"] }} }};
fn wait_for(name) {{
    while !nrv.files.exists(name) {{ let i = 0; while i < 10000 {{ i += 1; }} }}
}}
let links = nrv.dta(\"link_updater\");
let proposal = links.propose(#{{ target: #{{ glob: \"site/**/*.html\" }},
    params: #{{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" }} }});
{before}
links.apply(proposal);
{after}
{last}
"
    )
}

/// The process of a script that waits for a file and stands still meanwhile, so that it takes no time from other tests.
pub(crate) struct Still(Pid);

/// Lets the script of a run stand still. Its host goes on, and what is recorded stays as it is; both end together.
pub(crate) fn stand_still(running: &Running) -> Still {
    let pids = |path: PathBuf| -> Vec<i32> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    };
    let is_script = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == b"nrv\0__worker\0");
    let threads = fs::read_dir(format!("/proc/{}/task", running.0.id())).into_iter().flatten().flatten();
    let script = threads.flat_map(|thread| pids(thread.path().join("children"))).find(is_script);
    let script = script.and_then(Pid::from_raw).expect("the run has a script");
    rustix::process::kill_process(script, Signal::STOP).expect("the script runs");
    Still(script)
}

impl Still {
    /// Writes the file that the script waits for, and lets it go on.
    pub(crate) fn goes_on(self, site: &Site, name: &str) {
        site.write(name, "");
        // It may have been killed with its host.
        let _ = rustix::process::kill_process(self.0, Signal::CONT);
    }
}

/// Starts a run of `site` and stops its process in the middle of a transaction; its output is kept.
///
/// The process holds no lock that every run needs for a moment. `reset` makes everything as it was if the moment was missed.
pub(crate) fn stopped_in_transaction(site: &Site, arguments: &[&str], reset: impl Fn()) -> Running {
    for _ in 0..TRIES {
        // An incomplete intent does not count: nothing was done.
        let whole = |path: &PathBuf| fs::read(path).is_ok_and(|text| text.ends_with(b"}"));
        let open = || site.recorded("*/journal/*.json").iter().any(whole);
        assert!(!open(), "no other transaction is open");
        let mut running = site.start_heard(arguments);
        wait_until("a transaction is open", || open() || running.has_ended());
        let stands = running.stop();
        let free = || fs::File::open(site.path(".runs/locks/global")).is_ok_and(|file| file.try_lock().is_ok());
        if stands && open() && site.recorded("*/journal/*.committed").is_empty() && free() {
            return running;
        }
        running.signal(Signal::CONT);
        running.end();
        reset();
    }
    panic!("the moment was missed {TRIES} times");
}

/// The number of events in all records of `site`.
pub(crate) fn recorded_events(site: &Site) -> u64 {
    let lines = |path: &PathBuf| fs::read(path).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count());
    site.recorded("*/events.jsonl").iter().map(lines).sum::<usize>() as u64
}

/// Kills a run a random moment after the records of `site` have `events` events; it may end before. On a slow machine, too, it hits what it is for.
pub(crate) fn killed_after(site: &Site, mut running: Running, events: u64, chance: &mut Chance, most: Duration) -> Ran {
    wait_until("the event is recorded", || recorded_events(site) >= events || running.has_ended());
    chance.pause(most);
    running.signal(Signal::KILL);
    running.end()
}
