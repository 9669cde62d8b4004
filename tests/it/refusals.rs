//! A file that can't be changed safely is not changed at all, and the error names it.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::symlink,
    process::Command,
};

use rustix::process::Signal;

use crate::support::{
    hold::{PATIENT, held_script, stopped_in_transaction},
    need,
    site::{MIGRATE, NEW, OLD, Ran, SECOND, Site, invocation, page, wait_until},
    terminal::on_a_terminal,
};

const VICTIM: &str = "site/a/p6.html";

/// Prepares a site, runs the workflow, and expects a refusal that names the victim and leaves everything as it was.
#[track_caller]
fn refused(site: &Site, code: i32, words: &str) -> Ran {
    let before = site.tree();
    let ran = site.migrate(&["--allow-dirty"]).exits(code).says(words);
    assert!(site.tree() == before, "something changed");
    assert!(site.recorded("*/journal/*").is_empty());
    site.last_ended("failed");
    ran
}

#[test]
fn a_read_only_page_stops_everything() {
    let site = Site::new(12);
    site.mode(VICTIM, 0o444);
    refused(&site, 1, "`site/a/p6.html` is read-only");
}

#[test]
fn a_hard_linked_page_stops_everything() {
    let site = Site::new(12);
    fs::hard_link(site.path(VICTIM), site.path("twin")).unwrap();
    refused(&site, 1, "`site/a/p6.html` has another name");
}

#[test]
fn undoing_does_not_need_git() {
    let site = Site::new(4);
    let before = site.tree();
    site.migrate(&[]).exits(0);
    fs::remove_dir_all(site.path(".git")).expect("it is there");
    fs::create_dir(site.path(".git")).expect("it is gone");
    site.migrate(&[]).exits(5).says("nrv can't tell whether the tree is clean");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}

/// Removes the flag when it is dropped.
struct Immutable<'a>(&'a Site);

impl Immutable<'_> {
    fn set(&self, flag: &str) -> bool {
        let ran = Command::new("chattr").arg(flag).arg(self.0.path(VICTIM)).output();
        ran.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Immutable<'_> {
    fn drop(&mut self) {
        self.set("-i");
    }
}

#[test]
fn an_immutable_page_stops_everything() {
    let site = Site::new(12);
    let flag = Immutable(&site);
    if !flag.set("+i") {
        return need::skip("immutable");
    }
    refused(&site, 1, VICTIM);
    drop(flag);
    site.migrate(&[]).exits(0);
}

#[test]
fn a_folder_that_the_user_may_not_write_stops_everything() {
    let mut site = Site::new(12);
    site.write("site/closed/x.html", page("x", "old.example.com", "second.example.com"));
    site.commit();
    site.mode("site/closed", 0o555);
    if !site.become_plain_user() {
        return;
    }
    let ran = refused(&site, 1, "site/closed/");
    assert!(ran.stderr.contains("`site/closed/x.html`"), "{}", ran.stderr);
    site.mode("site/closed", 0o755);
    site.migrate(&[]).exits(0);
}

#[test]
fn a_folder_that_the_user_may_not_read_stops_everything() {
    let mut site = Site::new(12);
    site.write("site/closed/x.html", page("x", "old.example.com", "second.example.com"));
    site.commit();
    if !site.become_plain_user() {
        return;
    }
    site.mode("site/closed", 0o000);
    let before = site.tree();
    site.migrate(&["--allow-dirty"]).exits(1).says("site/closed");
    assert!(site.tree() == before);
}

#[test]
fn a_link_is_neither_followed_nor_listed() {
    let site = Site::new(4);
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.html");
    fs::write(&secret, page("secret", "old.example.com", "second.example.com")).unwrap();
    symlink(&secret, site.path("site/a/file.html")).unwrap();
    symlink(outside.path(), site.path("site/folder")).unwrap();
    symlink("p0.html", site.path("site/a/inside.html")).unwrap();
    site.commit();
    let before = site.tree();
    let result = site.migrate(&["--json"]).exits(0).json();
    assert_eq!((&result["result"]["pages"], &result["result"]["files"]), (&4.into(), &4.into()));
    assert!(site.tree() == site.moved(&before, "old.example.com", "new.example.com"));
    assert_eq!(fs::read_to_string(secret).unwrap(), page("secret", "old.example.com", "second.example.com"));
    for glob in ["site/a/file.html", "site/folder/**", "site/a/inside.html"] {
        let input = invocation(glob, "new.example.com", "x.example.com").to_string();
        let output = site.nrv_with(&["dta", "run", "link_updater", "--input", "-", "--yes", "--json"], &input);
        let found = output.json()["baseline"]["files_scanned"].clone();
        assert!(found == 0 || found.is_null(), "{glob}: {output:?}");
    }
}

#[test]
fn a_pipe_in_the_tree_is_neither_opened_nor_changed() {
    let site = Site::new(4);
    let before = site.tree();
    let pipe = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, site.path("site/a/pipe.html"), pipe, mode, 0).unwrap();
    let result = site.migrate(&["--json"]).exits(0).json();
    assert_eq!(result["result"]["pages"], 4);
    let mut after = site.moved(&before, "old.example.com", "new.example.com");
    after.insert("site/a/pipe.html".to_owned(), ('s', 0o644, Vec::new()));
    assert!(site.tree() == after);
}

#[test]
fn records_do_not_go_through_a_link() {
    let site = Site::new(2);
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), site.path(".runs")).unwrap();
    let before = site.tree();
    let ran = site.migrate(&["--allow-dirty"]);
    assert!(ran.code != 0 && ran.stderr.contains("`.runs`"), "{ran:?}");
    assert!(site.tree() == before);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// A run is held between propose and apply while `meddle` changes the tree.
#[track_caller]
fn stale(code: i32, meddle: impl Fn(&Site)) {
    let site = Site::new(8).policy(PATIENT);
    site.script("held.rhai", &held_script("wait_for(\"go\");", "", "1"));
    let running = site.start_heard(&["run", "held.rhai", "--yes"]);
    wait_until("the change is proposed", || !site.recorded("*/dta/*/*-proposed.json").is_empty());
    meddle(&site);
    site.write("go", "");
    let before = site.tree();
    running.end().exits(code).says(VICTIM);
    assert!(site.tree() == before, "something changed");
    site.last_ended("failed");
}

#[test]
fn a_page_edited_after_the_proposal_stops_everything() {
    stale(5, |site| site.write(VICTIM, page("mine", "old.example.com", "second.example.com")));
}

#[test]
fn a_page_removed_after_the_proposal_stops_everything() {
    stale(5, |site| fs::remove_file(site.path(VICTIM)).unwrap());
}

#[test]
fn a_page_turned_into_a_link_after_the_proposal_stops_everything() {
    stale(5, |site| {
        fs::rename(site.path(VICTIM), site.path("elsewhere")).unwrap();
        symlink("../../elsewhere", site.path(VICTIM)).unwrap();
    });
}

#[test]
fn a_page_made_read_only_after_the_proposal_stops_everything() {
    stale(1, |site| site.mode(VICTIM, 0o400));
}

#[test]
fn uncommitted_changes_stop_a_run_before_it_starts() {
    let site = Site::new(4);
    site.write("site/b/p1.html", page("edited", "old.example.com", "second.example.com"));
    site.write("site/b/untracked.html", page("new", "old.example.com", "second.example.com"));
    site.write("notes.txt", "not what the script writes");
    let before = site.tree();
    let ran = site.migrate(&[]).exits(5).says("site/b/p1.html").says("site/b/untracked.html").says("--allow-dirty");
    assert!(!ran.stderr.contains("notes.txt"), "{}", ran.stderr);
    assert!(site.tree() == before);
    site.migrate(&["--dry-run"]).exits(0).says("would be refused");
    site.migrate(&["--allow-dirty"]).exits(0);
    assert!(site.tree() == site.moved(&before, "old.example.com", "new.example.com"));
}

#[test]
fn a_verifier_that_takes_too_long_has_not_passed() {
    let site = Site::new(1);
    let before = site.tree();
    // The limit is on proposing too. Verifying does as much and starts a process, so that some limit lies between.
    for limit in (1..200).flat_map(|limit| [limit; 3]) {
        site.write("nrv.toml", format!("[adapters.link_updater]\ntimeout_ms = {limit}\n"));
        let held = site.tree();
        let ran = site.migrate(&[]);
        assert!(matches!(ran.code, 6 | 4), "it took too long before it ended well: {ran:?}");
        assert!(site.tree() == held, "something changed");
        site.last_ended("failed");
        if ran.code == 4 {
            ran.says("verifier_ran: it took longer than").says("1 file brought back");
            site.reset(&before);
            return;
        }
    }
    panic!("no limit was too short for the verifier");
}

#[test]
fn what_a_person_confirmed_is_checked_again() {
    let site = Site::new(8);
    let before = site.tree();
    let file = site.root().parent().unwrap().join("input.json");
    fs::write(&file, invocation("site/**/*.html", OLD, NEW).to_string()).unwrap();
    let arguments = ["dta", "run", "link_updater", "--input", file.to_str().unwrap()];
    for (answer, meddle, code) in [("n\n", false, 3), ("y\n", true, 5), ("y\n", false, 0)] {
        let Some(mut asked) = on_a_terminal(&site, &arguments) else {
            return;
        };
        wait_until("a person is asked", || !site.recorded("*/confirmations/c1.json").is_empty() || asked.has_ended());
        if meddle {
            // No lock is held meanwhile, so that this one gets its turn.
            let input = invocation("site/a/*.html", SECOND, "third.example.com").to_string();
            site.nrv_with(&["dta", "run", "link_updater", "--input", "-", "--yes"], &input).exits(0);
        }
        let held = site.tree();
        asked.0.stdin.as_mut().unwrap().write_all(answer.as_bytes()).unwrap();
        let ran = asked.end().exits(code);
        assert!(code != 5 || ran.stdout.contains("`site/a/p0.html` and 3 more files changed since"), "{ran:?}");
        assert!(site.tree() == if code == 0 { site.moved(&before, OLD, NEW) } else { held });
        site.reset(&before);
    }
}

#[test]
fn a_change_that_its_verifier_rejects_is_undone() {
    let site = Site::new(40);
    site.script("site/a/quiet.html", "<p>a page without old links</p>\n");
    let before = site.tree();
    let running = stopped_in_transaction(&site, &MIGRATE, || site.reset(&before));
    site.write("site/a/quiet.html", "<p>edited behind the run's back</p>\n");
    running.signal(Signal::CONT);
    running.end().exits(4).says("site/a/quiet.html").says("40 files brought back");
    let mut expected = before.clone();
    expected.get_mut("site/a/quiet.html").unwrap().2 = b"<p>edited behind the run's back</p>\n".to_vec();
    assert!(site.tree() == expected, "the run is undone, the edit stays");
    site.last_ended("failed");
}

#[test]
fn a_change_that_failed_its_verifier_and_could_not_be_undone_is_not_verified_whatever_comes_later() {
    let site = Site::new(600);
    let caught = "try { links.apply(proposal); } catch (e) { nrv.ui.step(e.code); } nrv.apply.create(\"site/later.txt\", \"x\\n\");";
    site.script("held.rhai", &held_script("", "", "1").replace("links.apply(proposal);", caught));
    let before = site.tree();
    for _ in 0..10 {
        let mut running = site.start_heard(&["run", "held.rhai", "--yes", "--events"]);
        let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("\"dta_applied\"")));
        site.write("site/b/p99.html", "edited behind the run's back");
        let last = lines.last().unwrap_or_default();
        let ran = running.end();
        // The verifier may have been faster.
        if ran.code == 0 {
            site.reset(&before);
            continue;
        }
        assert!(last.contains("\"undo_refused\""), "{last}");
        ran.exits(5).says("• undo_refused").says("undoing would lose that");
        let run = &site.runs()[0];
        assert_eq!((&run["state"], &run["unverified"]), (&"undo_refused".into(), &true.into()), "{run}");
        return;
    }
    panic!("the verifier was always faster");
}

#[test]
fn a_failed_run_does_not_undo_over_later_work() {
    let site = Site::new(8).policy(PATIENT);
    site.script("held.rhai", &held_script("", "wait_for(\"go\");", "throw \"no\";"));
    let before = site.tree();
    let running = site.start_heard(&["run", "held.rhai", "--yes"]);
    wait_until("the change is verified", || !site.recorded("*/dta/*/*-verify.json").is_empty());
    site.write(VICTIM, "later work");
    let held = site.tree();
    site.write("go", "");
    running.end().exits(5).says(VICTIM).says("--keep-later");
    fs::remove_file(site.path("go")).unwrap();
    assert!(site.tree() == held, "nothing was restored");
    site.last_ended("undo_refused");
    let run = site.runs()[0]["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &run, "--keep-later"]).exits(0).says(VICTIM);
    let mut expected = before;
    expected.get_mut(VICTIM).unwrap().2 = b"later work".to_vec();
    assert!(site.tree() == expected);
}

#[test]
fn what_the_repository_above_the_workspace_ignores_is_left_alone() {
    let site = Site::new(4);
    site.write(".gitignore", "out/\n");
    site.write("site/nrv.toml", "");
    site.commit();
    site.write("site/out/p.html", page("p", OLD, SECOND));
    let before = site.tree();
    let input = site.root().parent().expect("it is in a folder").join("input.json");
    fs::write(&input, invocation("**/*.html", OLD, NEW).to_string()).expect("it can be written");
    let input = input.display().to_string();
    site.nrv(&["--root", "site", "dta", "run", "link_updater", "--yes", "--input", &input]).exits(0);
    let mut expected = site.moved(&before, OLD, NEW);
    expected.extend(before.into_iter().filter(|(name, _)| name.starts_with("site/out")));
    let mut after = site.tree();
    after.retain(|name, _| !name.starts_with("site/.runs"));
    assert!(after == expected);
}

#[test]
fn more_files_can_change_than_a_process_can_open() {
    let site = Site::new(120);
    let before = site.tree();
    let binary = crate::repository::nrv();
    let command = format!("ulimit -n 64; exec '{binary}' {}", MIGRATE.join(" "));
    let output = site.tame(Command::new("bash").args(["-c", &command])).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(site.tree() == site.moved(&before, OLD, NEW));
}

#[test]
fn a_run_that_gets_no_lease_leaves_no_record() {
    let site = Site::new(1);
    std::fs::create_dir_all(site.path(".runs/locks/global")).unwrap();
    site.migrate(&[]).exits(4).says("locks/global");
    assert!(site.recorded("2*").is_empty());
}
