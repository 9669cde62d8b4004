//! A run that is killed at any moment leaves everything or nothing.
//!
//! The long form, 2,000 files killed 200 times:
//! `NRV_CRASH_FILES=2000 NRV_CRASH_ROUNDS=200 cargo test --test it crash:: -- --nocapture`; `NRV_CRASH_SEED` chooses
//! other moments.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read the environment")]
#![expect(clippy::print_stderr, reason = "counts are shown with --nocapture, and a test that skips says so")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    hold::{PATIENT, held_script, stopped_in_transaction},
    site::{MIGRATE, Site, Tree, wait_until},
};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("the setting is a number"))
}

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After a share of an undisturbed run's time.
    Time,
    /// After a share of its transaction's time, counted from the intent.
    Transaction,
    /// When the pack holds as many pre-images.
    PreImages(usize),
}

/// How the rounds ended.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    /// The run was over before it was killed.
    survived: u64,
    before: u64,
    after: u64,
    /// Recovery had something to do.
    recovered: u64,
    /// The tree was neither before nor after when the process was gone.
    torn: u64,
}

/// Numbers from a seed (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }
}

struct Bench {
    site: Site,
    before: Tree,
    after: Tree,
    took: Duration,
}

impl Bench {
    fn new(files: usize) -> Self {
        let site = Site::new(files);
        site.mode("site/a/p0.html", 0o755);
        site.commit();
        site.mode("site/b/p1.html", 0o640);
        let before = site.tree();
        let timed = || {
            let start = Instant::now();
            site.migrate(&[]).exits(0);
            start.elapsed()
        };
        // The first run finds cold caches.
        let first = timed();
        site.reset(&before);
        let (took, after) = (first.min(timed()), site.tree());
        assert!(site.moved(&before, "old.example.com", "new.example.com") == after && before != after);
        site.reset(&before);
        Bench { site, before, after, took }
    }

    /// One run that is killed, recovered, looked at and repeated.
    fn round(&self, moment: Moment, chance: &mut Chance, tally: &mut Tally) {
        let survived = self.kill(moment, chance);
        let raw = self.site.tree();
        if tally.rounds % 4 == 3 {
            // Recovery may be killed as well.
            let recovery = self.site.start(&["recover"]);
            std::thread::sleep(Duration::from_millis(chance.below(40)));
            recovery.signal(Signal::KILL);
            recovery.end();
        }
        let recoveries = self.site.nrv(&["recover", "--json"]).exits(0).json();
        let now = self.site.tree();
        assert!(now == self.before || now == self.after, "{moment:?}: neither before nor after, {recoveries}");
        assert!(!survived || now == self.after, "{moment:?}: the run ended well");
        assert!(self.site.recorded("*/journal/*").is_empty(), "{moment:?}: the journal is not empty");
        self.check_records(moment);
        assert_eq!(self.site.nrv(&["recover", "--json"]).exits(0).json(), json!([]), "{moment:?}");
        if now == self.after && !survived {
            // Nothing verified what stands there, but it is known and can be taken back.
            self.site.nrv(&["rollback", "last"]).exits(0);
            assert!(self.site.tree() == self.before, "{moment:?}: the rollback");
        }
        self.site.migrate(&[]).exits(0);
        assert!(self.site.tree() == self.after, "{moment:?}: the next run");
        self.site.reset(&self.before);
        tally.rounds += 1;
        tally.survived += u64::from(survived);
        tally.before += u64::from(now == self.before);
        tally.after += u64::from(now == self.after);
        tally.recovered += u64::from(recoveries != json!([]));
        tally.torn += u64::from(raw != self.before && raw != self.after);
    }

    /// Starts a run and kills it; true if it was over before.
    fn kill(&self, moment: Moment, chance: &mut Chance) -> bool {
        let mut running = self.site.start(&MIGRATE);
        let share = |chance: &mut Chance, of: Duration| of.mul_f64(chance.below(1000) as f64 / 1000.0);
        let seen = |pattern: &str| self.site.recorded(pattern).len();
        match moment {
            Moment::Time => std::thread::sleep(share(chance, self.took)),
            Moment::Transaction => {
                wait_until("the intent is there", || seen("*/journal/*.json") > 0 || running.has_ended());
                std::thread::sleep(share(chance, self.took));
            }
            Moment::PreImages(n) => {
                wait_until("pre-images are there", || seen("*/packs/*/pre/*") >= n || running.has_ended());
                std::thread::sleep(share(chance, self.took / 20));
            }
        }
        let survived = running.has_ended();
        running.signal(Signal::KILL);
        let ran = running.end();
        assert!(!survived || ran.code == 0);
        // Killed in the instant in which it ended by itself, it may have said so already.
        ran.code == 0
    }

    /// The record of the run is sound, or has no known end; nothing else is wrong with it.
    fn check_records(&self, moment: Moment) {
        for run in self.site.runs() {
            let state = run["state"].as_str().unwrap();
            assert!(matches!(state, "done" | "failed" | "interrupted"), "{moment:?}: {run}");
            let ran = self.site.nrv(&["runs", "verify", run["run"].as_str().unwrap(), "--json"]);
            let report = ran.json();
            assert_eq!((&report["findings"], &report["damaged_pre_images"]), (&json!([]), &json!([])), "{moment:?}");
            assert_eq!(ran.code, if report["seal"] == "unsealed" { 4 } else { 0 }, "{moment:?}: {report}");
            assert!(report["seal"] != "unsealed" || state == "interrupted", "{moment:?}: {report}");
        }
    }
}

#[test]
fn a_run_killed_at_any_moment_changed_everything_or_nothing() {
    let files = usize::try_from(setting("NRV_CRASH_FILES", 300)).expect("it is small");
    let rounds = setting("NRV_CRASH_ROUNDS", 12);
    let mut chance = Chance(setting("NRV_CRASH_SEED", 42) | 1);
    let bench = Bench::new(files);
    let mut tally = Tally::default();
    // On a machine that looks too late each time, more rounds are played until one hits a transaction.
    while tally.rounds < rounds || (tally.recovered == 0 && tally.rounds < rounds + 30) {
        let moment = match tally.rounds % 4 {
            0 => Moment::Time,
            2 => Moment::PreImages(1 + chance.below(files as u64) as usize),
            _ => Moment::Transaction,
        };
        bench.round(moment, &mut chance, &mut tally);
        if tally.rounds % 20 == 0 {
            eprintln!("{tally:?}");
        }
    }
    eprintln!("{files} files, a run takes {:?}: {tally:?}", bench.took);
    assert!(tally.recovered > 0, "no round was killed in the middle of a transaction: {tally:?}");
    assert_eq!(tally.before + tally.after, tally.rounds);
}

#[test]
fn a_run_killed_while_it_is_undone_is_recovered() {
    let bench = Bench::new(100);
    let site = &bench.site;
    site.script("fails.rhai", &held_script("", "", "throw \"after the change\";"));
    let mut chance = Chance(setting("NRV_CRASH_SEED", 42) | 1);
    let (before, mut recovered) = (site.tree(), 0);
    let after = site.moved(&before, "old.example.com", "new.example.com");
    for round in 0..30 {
        let mut running = site.start(&["run", "fails.rhai", "--yes", "--allow-dirty"]);
        let undoing = || !site.recorded("*/journal/t2.json").is_empty();
        wait_until("the undoing has begun", || undoing() || running.has_ended());
        std::thread::sleep(Duration::from_millis(chance.below(1 + round % 5 * 10)));
        running.signal(Signal::KILL);
        running.end();
        let recoveries = site.nrv(&["recover", "--json"]).exits(0).json();
        let now = site.tree();
        assert!(now == before || now == after, "round {round}: {recoveries}");
        assert!(site.recorded("*/journal/*").is_empty());
        bench.check_records(Moment::Time);
        if now == after {
            site.nrv(&["rollback", "last"]).exits(0);
            assert!(site.tree() == before);
        }
        site.reset(&before);
        recovered += u32::from(recoveries != json!([]));
        if recovered >= 4 {
            return;
        }
    }
    assert!(recovered > 0, "no round was killed while it was undone");
}

#[test]
fn recovery_leaves_the_open_transaction_of_a_live_run_alone() {
    let bench = Bench::new(60);
    let site = &bench.site;
    let running = stopped_in_transaction(site, &MIGRATE, || site.reset(&bench.before));
    let open = (site.recorded("*/journal/*"), site.tree());
    assert_eq!(site.nrv(&["recover", "--json"]).exits(0).json(), json!([]));
    assert!(open == (site.recorded("*/journal/*"), site.tree()));
    running.signal(Signal::CONT);
    running.end().exits(0);
    assert!(site.tree() == bench.after);
    site.last_ended("done");
}

#[test]
fn recovery_leaves_a_run_alone_that_goes_on_after_its_change() {
    let site = Site::new(10).policy(PATIENT);
    site.script("held.rhai", &held_script("", "nrv.ui.step(\"changed\"); wait_for(\"end\");", "7"));
    let running = site.start_heard(&["run", "held.rhai", "--yes", "--json"]);
    wait_until("the change is verified", || !site.recorded("*/dta/*/*-verify.json").is_empty());
    let changed = site.tree();
    assert_eq!(site.nrv(&["recover", "--json"]).exits(0).json(), json!([]));
    assert_eq!(site.runs()[0]["state"], "running");
    site.nrv(&["rollback", "last"]).exits(75).says("is still going on");
    site.write("end", "");
    assert_eq!(running.end().exits(0).json()["result"], 7);
    std::fs::remove_file(site.path("end")).unwrap();
    assert!(site.tree() == changed);
    site.last_ended("done");
}

#[test]
fn the_next_run_recovers_a_dead_one_by_itself() {
    let bench = Bench::new(60);
    let site = &bench.site;
    let mut running = stopped_in_transaction(site, &MIGRATE, || site.reset(&bench.before));
    running.0.kill().unwrap();
    running.end();
    site.migrate(&[]).exits(0).says("had died; its change of 60 files was undone");
    assert!(site.tree() == bench.after);
    let states: Vec<_> = site.runs().iter().map(|run| run["state"].clone()).collect();
    assert_eq!(states, ["interrupted", "done"]);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == bench.before);
}
