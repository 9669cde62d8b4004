//! A run that is killed at any moment leaves everything or nothing.
//!
//! Still longer than the long tier: `NRV_CRASH_FILES=2000 NRV_CRASH_ROUNDS=200 cargo test --test it crash:: -- --nocapture` kills
//! a workflow and `nrv apply` 200 times each. `NRV_CRASH_SEED` chooses other moments.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read the environment")]
#![expect(clippy::print_stderr, reason = "counts are shown with --nocapture, and a test that skips says so")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod adapters;
mod edits;

use std::{
    cell::Cell,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    chance::{Chance, setting},
    hold::{PATIENT, held_script, stand_still, stopped_in_transaction},
    long,
    site::{MIGRATE, Site, Tree, page, wait_until},
};

/// The moment at which a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After a share of an undisturbed run's time.
    Time,
    /// After a share of its transaction's time, counted from the intent.
    Transaction,
    /// When the pack holds as many pre-images.
    PreImages(usize),
}

/// The counts of outcomes of the rounds.
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

struct Bench {
    site: Site,
    /// The command that is killed.
    command: Vec<String>,
    before: Tree,
    after: Tree,
    /// The records that each round begins with; without them it begins with none.
    records: Option<PathBuf>,
    /// A transaction takes at most this part of a run's time.
    part: u32,
    /// An undisturbed run's time: the shortest one, since the machine may have been busier when the first were measured.
    took: Cell<Duration>,
}

impl Bench {
    /// The shipped workflow over that many pages.
    fn new(files: usize) -> Self {
        let site = Site::new(files);
        site.mode("site/a/p0.html", 0o755);
        site.commit();
        site.mode("site/b/p1.html", 0o640);
        let before = site.tree();
        let after = site.moved(&before, "old.example.com", "new.example.com");
        Bench::of(site, &MIGRATE, before, after)
    }

    /// A patch of everything that a patch may hold, over about as many files.
    fn patch(files: usize) -> Self {
        let site = Site::new(files);
        for index in 0..files / 20 {
            link(&site, &format!("../site/a/p{}.html", 2 * index), &format!("links/l{index}"));
            site.write(&format!("leaves/{index}/x.txt"), format!("{index}\n"));
        }
        site.commit();
        site.mode("site/b/p1.html", 0o640);
        let before = site.tree();
        change(&site, files);
        let after = site.tree();
        site.git(&["add", "-A"]);
        let patch = site.git(&["diff", "--cached", "-M", "-l0"]);
        for kind in
            ["new file mode 120000", "deleted file mode 120000", "rename to ", "old mode ", "deleted file mode 1006"]
        {
            assert!(patch.contains(&format!("\n{kind}")), "the patch has no `{kind}`");
        }
        site.write("../change.patch", patch);
        site.git(&["reset", "-q"]);
        site.reset(&before);
        Bench::of(site, &["apply", "../change.patch", "--yes"], before, after)
    }

    fn of(site: Site, command: &[&str], before: Tree, after: Tree) -> Self {
        Bench::starting_with(None, site, command, [before, after])
    }

    /// The command is run on a tree with records, which stand there now.
    fn on_records(site: Site, command: &[&str], before: Tree, after: Tree) -> Self {
        let kept = site.path("../records");
        copy(&site, &site.path(".runs"), &kept);
        Bench::starting_with(Some(kept), site, command, [before, after])
    }

    fn starting_with(records: Option<PathBuf>, site: Site, command: &[&str], [before, after]: [Tree; 2]) -> Self {
        assert!(before != after);
        let command = command.iter().map(ToString::to_string).collect();
        let bench = Bench { site, command, before, after, records, part: 1, took: Cell::new(Duration::MAX) };
        // The first run finds cold caches.
        for _ in 0..2 {
            bench.undisturbed("the first runs");
            bench.reset();
        }
        bench
    }

    fn command(&self) -> Vec<&str> {
        self.command.iter().map(String::as_str).collect()
    }

    /// Restores the tree and the records.
    fn reset(&self) {
        self.site.reset(&self.before);
        if let Some(records) = &self.records {
            copy(&self.site, records, &self.site.path(".runs"));
        }
    }

    /// One run that is not killed.
    #[track_caller]
    fn undisturbed(&self, what: &str) {
        let start = Instant::now();
        self.site.nrv(&self.command()).exits(0);
        self.took.set(self.took.get().min(start.elapsed()));
        assert!(self.site.tree() == self.after, "{what}");
    }

    /// One run that is killed, recovered, looked at and repeated.
    fn round(&self, moment: Moment, chance: &mut Chance, tally: &mut Tally) {
        let survived = self.kill(moment, chance);
        let raw = self.site.tree();
        if tally.rounds % 4 == 1 {
            // Recovery may be killed as well.
            let recovery = self.site.start(&["recover"]);
            chance.pause(Duration::from_millis(40));
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
        if now == self.after {
            // Verified or not, the change is known and can be rolled back, also if it is a rollback itself.
            let last = self.site.last_run();
            self.site.nrv(&["rollback", last.file_name().unwrap().to_str().unwrap()]).exits(0);
            assert!(self.site.tree() == self.before, "{moment:?}: the rollback");
        }
        self.undisturbed(&format!("{moment:?}: the next run"));
        self.reset();
        tally.rounds += 1;
        tally.survived += u64::from(survived);
        tally.before += u64::from(now == self.before);
        tally.after += u64::from(now == self.after);
        tally.recovered += u64::from(recoveries != json!([]));
        tally.torn += u64::from(raw != self.before && raw != self.after);
    }

    /// Starts a run and kills it; true if it was over before.
    fn kill(&self, moment: Moment, chance: &mut Chance) -> bool {
        let took = self.took.get();
        let mut running = self.site.start(&self.command());
        let seen = |pattern: &str| self.site.recorded(pattern).len();
        match moment {
            Moment::Time => chance.pause(took),
            Moment::Transaction => {
                wait_until("the intent is there", || seen("*/journal/*.json") > 0 || running.has_ended());
                chance.pause(took / self.part);
            }
            Moment::PreImages(n) => {
                wait_until("pre-images are there", || seen("*/packs/*/pre/*") >= n || running.has_ended());
                chance.pause(took / 20 / self.part);
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

/// Copies a folder as it is.
fn copy(site: &Site, from: &std::path::Path, to: &std::path::Path) {
    let copied = site.tame(Command::new("cp").arg("-a").arg(from).arg(to)).status().unwrap();
    assert!(copied.success());
}

fn link(site: &Site, target: &str, name: &str) {
    let path = site.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, path).unwrap();
}

/// Modifies, makes, removes and renames files and links, so that folders appear and go.
fn change(site: &Site, files: usize) {
    for index in 0..files {
        let (name, folder) = (format!("p{index}"), ["a", "b"][index % 2]);
        let path = format!("site/{folder}/{name}.html");
        match index % 10 {
            0..=4 => site.write(&path, page(&name, "new.example.com", "second.example.com")),
            5 => std::fs::remove_file(site.path(&path)).unwrap(),
            6 => site.write(&format!("made/{}/{name}.txt", index % 7), format!("made {index}\n").repeat(20)),
            7 => site.mode(&path, 0o755),
            8 => {
                std::fs::create_dir_all(site.path("moved")).unwrap();
                std::fs::rename(site.path(&path), site.path(&format!("moved/{name}.html"))).unwrap();
            }
            _ => {
                std::fs::remove_file(site.path(&path)).unwrap();
                let text = page(&name, "new.example.com", "second.example.com");
                site.write(&format!("site/{folder}/n{index}.html"), text);
            }
        }
    }
    for index in 0..files / 20 {
        let name = format!("links/l{index}");
        std::fs::remove_dir_all(site.path(&format!("leaves/{index}"))).unwrap();
        match index % 3 {
            0 => std::fs::remove_file(site.path(&name)).unwrap(),
            1 => link(site, "../site/b/p1.html", &format!("links/more/l{index}")),
            _ => {
                std::fs::remove_file(site.path(&name)).unwrap();
                link(site, "../site/b/p1.html", &name);
            }
        }
    }
    std::fs::remove_dir(site.path("leaves")).unwrap();
}

/// The number of rounds with a kill. The first one aims at a transaction.
fn rounds() -> u64 {
    long::rounds("NRV_CRASH_ROUNDS", 1, 12)
}

/// Plays as many rounds as are asked for, with runs killed at moments that a seed chooses.
fn kill_again_and_again(bench: &Bench, files: usize) {
    let rounds = rounds();
    let mut chance = Chance(setting("NRV_CRASH_SEED", 42) | 1);
    let mut tally = Tally::default();
    // On a machine that looks too late each time, more rounds are played until one hits a transaction.
    while tally.rounds < rounds || (tally.recovered == 0 && tally.rounds < rounds + 30) {
        let moment = match tally.rounds % 4 {
            3 => Moment::Time,
            2 => Moment::PreImages(1 + chance.below(files as u64) as usize),
            _ => Moment::Transaction,
        };
        bench.round(moment, &mut chance, &mut tally);
        if tally.rounds % 20 == 0 {
            eprintln!("{tally:?}");
        }
    }
    eprintln!("{files} files, a run takes {:?}: {tally:?}", bench.took.get());
    assert!(tally.recovered > 0, "no round was killed in the middle of a transaction: {tally:?}");
    assert_eq!(tally.before + tally.after, tally.rounds);
}

fn files() -> usize {
    usize::try_from(long::rounds("NRV_CRASH_FILES", 60, 300)).expect("it is small")
}

#[test]
fn a_run_killed_at_any_moment_changed_everything_or_nothing() {
    kill_again_and_again(&Bench::new(files()), files());
}

#[test]
fn a_patch_whose_application_is_killed_at_any_moment_changed_everything_or_nothing() {
    kill_again_and_again(&Bench::patch(files()), files());
}

#[test]
fn a_run_killed_while_it_is_undone_is_recovered() {
    let bench = Bench::new(100);
    let site = &bench.site;
    site.script("fails.rhai", &held_script("", "", "throw \"after the change\";"));
    let mut chance = Chance(setting("NRV_CRASH_SEED", 42) | 1);
    let (before, mut recovered) = (site.tree(), 0);
    let after = site.moved(&before, "old.example.com", "new.example.com");
    let wanted = long::pick(1, 12);
    for round in 0..30 * wanted {
        if recovered == wanted {
            break;
        }
        let mut running = site.start(&["run", "fails.rhai", "--yes", "--allow-dirty"]);
        let undoing = || !site.recorded("*/journal/t2.json").is_empty();
        wait_until("the undoing has begun", || undoing() || running.has_ended());
        chance.pause(Duration::from_millis(1 + round % 5 * 10));
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
        recovered += u64::from(recoveries != json!([]));
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
fn recovery_writes_nowhere_else_if_a_record_has_a_link_in_it() {
    let site = Site::new(2).policy(PATIENT);
    site.script("held.rhai", &held_script("", "nrv.ui.step(\"changed\"); wait_for(\"end\");", "7"));
    let running = site.start_heard(&["run", "held.rhai", "--yes", "--json"]);
    wait_until("the change is verified", || !site.recorded("*/dta/*/*-verify.json").is_empty());
    running.signal(Signal::KILL);
    running.end();
    let events = site.path(".runs").join(site.runs()[0]["run"].as_str().unwrap()).join("events.jsonl");
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(&events, outside.path()).unwrap();
    std::fs::remove_file(&events).unwrap();
    std::os::unix::fs::symlink(outside.path(), &events).unwrap();
    let before = std::fs::read(outside.path()).unwrap();
    site.nrv(&["recover"]).exits(4).says("`events.jsonl` in the record").says("is a link");
    assert!(std::fs::read(outside.path()).unwrap() == before);
}

#[test]
fn recovery_leaves_a_run_alone_that_goes_on_after_its_change() {
    let site = Site::new(10).policy(PATIENT);
    site.script("held.rhai", &held_script("", "nrv.ui.step(\"changed\"); wait_for(\"end\");", "7"));
    let running = site.start_heard(&["run", "held.rhai", "--yes", "--json"]);
    wait_until("the change is verified", || !site.recorded("*/dta/*/*-verify.json").is_empty());
    let changed = site.tree();
    let still = stand_still(&running);
    assert_eq!(site.nrv(&["recover", "--json"]).exits(0).json(), json!([]));
    assert_eq!(site.runs()[0]["state"], "running");
    site.nrv(&["rollback", "last"]).exits(75).says("is still going on");
    still.goes_on(&site, "end");
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
