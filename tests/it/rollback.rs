//! Rollbacks, which are exact or refused, and reruns.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use rustix::process::Signal;

use crate::support::{
    hold::{PATIENT, held_script},
    site::{NEW, OLD, Site, Tree, wait_until},
};

struct Bench {
    site: Site,
    run: String,
    before: Tree,
    after: Tree,
}

fn migrated() -> Bench {
    let site = Site::new(9);
    site.mode("site/a/p0.html", 0o755);
    site.commit();
    site.mode("site/b/p1.html", 0o600);
    let before = site.tree();
    site.migrate(&[]).exits(0).says("9 files changed and verified by link_updater");
    let (run, after) = (site.runs()[0]["run"].as_str().unwrap().to_owned(), site.tree());
    assert!(after == site.moved(&before, OLD, NEW));
    Bench { site, run, before, after }
}

#[test]
fn a_rollback_gives_the_tree_back_and_can_be_rolled_back() {
    let Bench { site, run, before, after } = migrated();
    site.nrv(&["rollback", &run, "--dry-run"]).exits(0).says("9 files");
    assert!(site.tree() == after);
    site.nrv(&["rollback", &run]).exits(0).says("9 files");
    assert!(site.tree() == before);
    site.last_ended("done");
    let back = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &back]).exits(0);
    assert!(site.tree() == after);
    site.nrv(&["dta", "verify", &run]).exits(0);
    assert_eq!(site.git(&["status", "--porcelain", "--untracked-files=all"]).lines().count(), 9);
}

#[test]
fn what_is_rolled_back_is_not_rolled_back_again() {
    let Bench { site, run, before, .. } = migrated();
    site.nrv(&["rollback", &run]).exits(0);
    let back = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    let already = format!("Run {run} was rolled back already, by run {back}.");
    site.nrv(&["rollback", &run]).exits(0).says(&already);
    site.nrv(&["rollback", &run]).exits(0).says(&already);
    assert!(site.tree() == before);
    site.last_ended("done");
}

#[test]
fn runs_that_changed_the_same_files_are_rolled_back_the_latest_first() {
    let Bench { site, run, before, after } = migrated();
    site.migrate(&[]).exits(0);
    let again = ["run", "scripts/migrate_links.rhai", "--arg", "from=new.example.com", "--arg"];
    site.nrv(&[&again[..], &["to=https://third.example.com", "--yes", "--allow-dirty"]].concat()).exits(0);
    let second = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    let third = site.tree();
    assert!(third != after);
    site.nrv(&["rollback", &run]).exits(5).says("site/a/p0.html");
    assert!(site.tree() == third);
    site.nrv(&["rollback", &second]).exits(0).says("9 files");
    assert!(site.tree() == after);
    site.nrv(&["rollback", &run]).exits(0).says("9 files");
    assert!(site.tree() == before);
}

#[test]
fn one_file_is_told_as_one() {
    let site = Site::new(1);
    site.migrate(&[]).exits(0);
    site.nrv(&["rollback", "last", "--dry-run"]).exits(0).says("1 file of run").says("would be brought back.");
    site.nrv(&["rollback", "last"]).exits(0).says("1 file of run").says("is as it was before it.");
}

#[test]
fn a_file_that_is_back_already_does_not_stop_a_rollback() {
    let Bench { site, run, before, .. } = migrated();
    site.git(&["checkout", "-q", "site/a/p4.html"]);
    site.nrv(&["rollback", &run]).exits(0).says("8 files");
    assert!(site.tree() == before);
}

#[test]
fn later_work_is_not_rolled_back_over() {
    let Bench { site, run, before, after } = migrated();
    site.write("site/a/p4.html", "later work");
    let edited = site.tree();
    let ran = site.nrv(&["rollback", &run]).exits(5).says("site/a/p4.html").says("--keep-later");
    assert!(site.tree() == edited && !ran.stderr.contains("site/a/p2.html"));
    site.last_ended("undo_refused");
    site.nrv(&["rollback", &run, "--keep-later"]).exits(0).says("site/a/p4.html").says("8 files");
    let mut expected = before;
    expected.insert("site/a/p4.html".to_owned(), edited["site/a/p4.html"].clone());
    assert!(site.tree() == expected);
    assert!(after != expected);
}

#[test]
fn a_changed_mode_is_later_work_too() {
    let Bench { site, run, .. } = migrated();
    site.mode("site/a/p2.html", 0o700);
    let held = site.tree();
    site.nrv(&["rollback", &run]).exits(5).says("site/a/p2.html");
    assert!(site.tree() == held);
}

#[test]
fn a_second_run_changes_nothing_and_says_so() {
    let Bench { site, after, .. } = migrated();
    let ran = site.migrate(&["--json"]).exits(0).says("Nothing was changed");
    assert_eq!((&ran.json()["files_changed"], &ran.json()["result"]["moved"]), (&0.into(), &0.into()));
    assert!(site.tree() == after);
    site.migrate(&["--dry-run", "--exit-code"]).exits(0).says("Nothing would change");
    let last = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &last]).exits(0).says("nothing to bring back");
    assert!(site.tree() == after);
}

#[test]
fn a_dry_run_writes_a_patch_that_git_takes() {
    let site = Site::new(9);
    let before = site.tree();
    let ran = site.migrate(&["--dry-run"]).exits(0).says("9 files would change").says("Would ask");
    assert!(site.tree() == before);
    let patch = ran.stdout.lines().last().unwrap().to_owned();
    site.git(&["apply", "--check", &patch]);
    site.migrate(&["--dry-run", "--exit-code"]).exits(8);
    site.migrate(&["--dry-run", "--exit-code", "--json"]).exits(8).json();
    assert!(site.tree() == before);
    site.git(&["apply", &patch]);
    assert!(site.tree() == site.moved(&before, OLD, NEW), "the patch is the change");
}

/// Moves the links twice, from host to host.
fn two_steps(hosts: [&str; 3], last: &str) -> String {
    let [first, second, third] = hosts;
    format!(
        "const WORKFLOW = #{{ name: \"two\", permissions: #{{ write: [\"site/**\"] }} }};
let links = nrv.dta(\"link_updater\");
for hosts in [[\"{first}\", \"{second}\"], [\"{second}\", \"{third}\"]] {{
    links.apply(links.propose(#{{ target: #{{ glob: \"site/**/*.html\" }},
        params: #{{ from_hosts: [hosts[0]], to_host: \"https://\" + hosts[1] }} }}));
}}
nrv.ui.step(\"previewed\");
{last}"
    )
}

#[test]
fn a_dry_run_that_takes_back_its_own_change_would_change_nothing() {
    let site = Site::empty();
    site.git(&["init", "-q"]);
    site.write("site/a.html", "<a href=\"https://old.example.com/x\">x</a>\n");
    site.script("two.rhai", &two_steps([OLD, "mid.example.com", OLD], ""));
    let ran =
        site.nrv(&["run", "two.rhai", "--dry-run", "--exit-code", "--json"]).exits(0).says("Nothing would change");
    assert_eq!(ran.json()["files_changed"], 0);
    assert_eq!(site.read(ran.json()["patch"].as_str().unwrap()), b"");
}

#[test]
fn a_dry_run_whose_patch_can_not_be_rendered_is_sealed_all_the_same() {
    for by_signal in [true, false] {
        let site = Site::new(3).policy(PATIENT);
        let wait = "while !nrv.files.exists(\"end\") { let i = 0; while i < 1000 { i += 1; } }";
        site.script("two.rhai", &two_steps([OLD, "mid.example.com", NEW], wait));
        let running = site.start_heard(&["run", "two.rhai", "--dry-run", "--json"]);
        wait_until("both are verified", || site.recorded("*/dta/*/*-verify.json").len() == 2);
        if by_signal {
            running.signal(Signal::INT);
            let ran = running.end().exits(130).says("did not come to its end");
            assert_eq!(ran.json()["state"], "cancelled");
        } else {
            site.write("site/a/p0.html", "<p>Somebody saved this meanwhile.</p>");
            site.write("end", "");
            let ran = running.end().exits(5).says("did not come to its end");
            assert_eq!((&ran.json()["state"], &ran.json()["patch"]), (&"failed".into(), &serde_json::Value::Null));
        }
        site.nrv(&["runs", "verify", "last"]).exits(0);
        assert!(site.recorded("locks/*.lease").is_empty());
    }
}

#[test]
fn a_cancelled_run_is_undone() {
    for signal in [Signal::INT, Signal::TERM] {
        let site = Site::new(9).policy(PATIENT);
        site.script("held.rhai", &held_script("", "nrv.ui.step(\"changed\"); loop { }", "1"));
        let before = site.tree();
        let running = site.start_heard(&["run", "held.rhai", "--yes", "--json"]);
        wait_until("the change is verified", || !site.recorded("*/dta/*/*-verify.json").is_empty());
        assert!(site.tree() != before);
        running.signal(signal);
        let ran = running.end().exits(130).says("9 files brought back");
        assert_eq!((&ran.json()["state"], &ran.json()["undone"]), (&"cancelled".into(), &9.into()));
        assert!(site.tree() == before);
        site.last_ended("cancelled");
    }
}

#[test]
fn a_failed_run_is_undone_unless_it_is_to_be_kept() {
    let site = Site::new(9);
    site.script("fails.rhai", &held_script("", "", "throw \"after the change\";"));
    let before = site.tree();
    site.nrv(&["run", "fails.rhai", "--yes"]).exits(1).says("after the change").says("9 files brought back");
    assert!(site.tree() == before);
    site.last_ended("failed");
    site.nrv(&["run", "fails.rhai", "--yes", "--keep"]).exits(1).says("were kept");
    assert!(site.tree() == site.moved(&before, OLD, NEW));
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}
