//! A run that is killed inside an attempt: recovery leaves the tree as it was before, and the run goes on from there.

use std::{fs, time::Duration};

use rustix::process::Signal;

use super::{agrees, events, kinds, site, text};
use crate::support::{
    chance::{Chance, setting},
    hold::{PATIENT, killed_after, recorded_events, stand_still},
    long,
    site::{Site, Tree, wait_until},
};

/// True once the run looks for a file: its calls before that are recorded.
fn waits(site: &Site) -> bool {
    let events = site.recorded("*/events.jsonl").pop().and_then(|path| fs::read_to_string(path).ok());
    events.is_some_and(|text| text.contains("\"call\":\"files.exists\""))
}

#[test]
fn after_a_kill_inside_an_attempt_recovery_leaves_the_tree_as_it_was_before_it() {
    let body = r#"nrv.apply.create("notes/first.txt", "1\n");
        let tried = nrv.attempt(|| {
            nrv.apply.write("notes/old.txt", "2\n", nrv.files.sha256("notes/old.txt"));
            let inner = nrv.attempt(|| {
                nrv.apply.create("notes/made.txt", "2\n");
                while !nrv.files.exists("go") { let i = 0; while i < 10000 { i += 1; } }
                nrv.apply.create("notes/last.txt", "3\n");
            });
            inner.kept
        });
        tried.kept"#;
    let site = site(body).policy(PATIENT);
    let mut before = site.tree();
    let running = site.start_heard(&["run", "tries.rhai"]);
    wait_until("it is inside", || waits(&site));
    running.signal(Signal::KILL);
    running.end();
    before.insert("notes/first.txt".to_owned(), site.tree()["notes/first.txt"].clone());
    let ran = site.nrv(&["recover", "--json"]).exits(0);
    assert!(site.tree() == before);
    assert_eq!(ran.json()[0]["set_aside"], 2);
    site.last_ended("interrupted");
    assert_eq!(site.runs().last().unwrap()["files_changed"], 1);
    site.nrv(&["recover"]).exits(0).says("Nothing to recover.");
    assert!(site.tree() == before);
    site.write("go", "");
    site.nrv(&["resume", "last", "--accept-stale-reads"]).exits(0);
    let found = ["old", "made", "last"].map(|name| text(&site, &format!("notes/{name}.txt")).unwrap());
    assert_eq!(found, ["2\n", "2\n", "3\n"]);
    site.last_ended("done");
    agrees(&site);
    assert_eq!((kinds(&site, "attempt_set_aside"), kinds(&site, "attempt_put_back")), (1, 1));
}

const HELD: &str = r#"nrv.attempt(|| {
        nrv.apply.write("notes/old.txt", "2\n", nrv.files.sha256("notes/old.txt"));
        while !nrv.files.exists("go") { let i = 0; while i < 10000 { i += 1; } }
    }).kept"#;

#[test]
fn a_run_that_died_inside_an_attempt_is_seen_without_its_lease() {
    let site = site(HELD).policy(PATIENT);
    let before = site.tree();
    let running = site.start_heard(&["run", "tries.rhai"]);
    wait_until("it is inside", || waits(&site));
    stand_still(&running);
    fs::remove_dir_all(site.path(".runs/locks")).unwrap();
    // It is going on, even if its lease is gone.
    site.nrv(&["recover", "--check"]).exits(0);
    site.nrv(&["recover"]).exits(0).says("Nothing to recover.");
    assert!(site.tree() != before);
    running.signal(Signal::KILL);
    running.end();
    let _ = fs::remove_dir_all(site.path(".runs/locks"));
    site.nrv(&["recover", "--check"]).exits(5).says("died");
    site.nrv(&["recover"]).exits(0).says("set aside").says("Its lease was gone");
    assert!(site.tree() == before);
    site.nrv(&["recover", "--check"]).exits(0);
    let last = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    // Cells are broken into lines where they are too narrow.
    let words: Vec<&str> = last.split_whitespace().collect();
    assert!(words.join(" ").contains("its lease was gone"), "{last}");
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn a_head_that_was_removed_is_not_made_again_by_recovery() {
    let site = site("nrv.attempt(|| nrv.apply.create(`notes/made.txt`, `2`)).kept");
    site.nrv(&["run", "tries.rhai"]).exits(0);
    let after = site.tree();
    fs::remove_dir_all(site.path(".runs/locks")).unwrap();
    fs::write(site.path(".runs/heads.jsonl"), "").unwrap();
    site.nrv(&["recover", "--check"]).exits(0);
    site.nrv(&["recover"]).exits(0);
    assert!(site.tree() == after);
    site.nrv(&["runs", "verify", "last"]).exits(4);
}

#[test]
fn what_somebody_changed_before_recovery_is_left_alone_and_named() {
    let body = r#"nrv.attempt(|| {
            nrv.apply.write("notes/old.txt", "2\n", nrv.files.sha256("notes/old.txt"));
            nrv.apply.create("notes/made.txt", "2\n");
            while !nrv.files.exists("go") { let i = 0; while i < 10000 { i += 1; } }
        }).kept"#;
    let site = site(body).policy(PATIENT);
    let running = site.start_heard(&["run", "tries.rhai"]);
    wait_until("it is inside", || waits(&site));
    running.signal(Signal::KILL);
    running.end();
    site.write("notes/made.txt", "mine\n");
    site.nrv(&["recover"]).exits(5).says("notes/made.txt");
    assert_eq!(
        (text(&site, "notes/made.txt").unwrap().as_str(), text(&site, "notes/old.txt").unwrap().as_str()),
        ("mine\n", "2\n")
    );
    site.write("go", "");
    site.nrv(&["resume", "last", "--accept-stale-reads"]).exits(5).says("notes/made.txt");
    site.write("notes/made.txt", "2\n");
    site.nrv(&["resume", "last", "--accept-stale-reads"]).exits(0);
    site.last_ended("done");
    assert_eq!(kinds(&site, "attempt_set_aside"), 0);
}

/// The number of times that the statements are repeated.
fn statement_rounds() -> u64 {
    long::pick(1, 3)
}

/// Statements each of which is one transaction, or one attempt, or none.
fn statements() -> Vec<String> {
    let mut statements = vec!["let links = nrv.dta(\"link_updater\");".to_owned()];
    for i in 0..statement_rounds() {
        let from = if i == 0 { "old.example.com".to_owned() } else { format!("h{i}.example.com") };
        let input = |mode: &str| {
            format!(
                "#{{ {mode} target: #{{ glob: \"site/**/*.html\" }}, params: #{{ from_hosts: [\"{from}\"], to_host: \
                 \"https://h{}.example.com\" }} }}",
                i + 1
            )
        };
        statements.push(format!("nrv.apply.create(\"notes/{i}.txt\", \"{i}\\n\");"));
        statements.push(format!(
            r#"nrv.attempt(|| {{
                nrv.apply.write("notes/{i}.txt", "{i} undone\n", nrv.files.sha256("notes/{i}.txt"));
                nrv.attempt(|| {{ links.apply(links.propose({})); }});
                nrv.apply.create("notes/{i}-undone.txt", "{i}\n");
                false
            }});"#,
            input("")
        ));
        statements.push(format!(
            r#"nrv.attempt(|| {{
                nrv.apply.write("notes/{i}.txt", "{i} kept\n", nrv.files.sha256("notes/{i}.txt"));
                nrv.attempt(|| {{ nrv.apply.remove("notes/{i}.txt", nrv.files.sha256("notes/{i}.txt")); throw "no" }});
                links.run({});
                nrv.attempt(|| {{ nrv.apply.rename("notes/{i}.txt", "notes/{i}-kept.txt", nrv.files.sha256("notes/{i}.txt")); }});
            }});"#,
            input("mode: \"apply\",")
        ));
    }
    statements
}

/// The trees between the statements.
fn between() -> Vec<Tree> {
    let statements = statements();
    let trees = (0..=statements.len()).map(|n| {
        let site = site(&statements[..n].join("\n"));
        site.nrv(&["run", "tries.rhai", "--yes"]).exits(0);
        let mut tree = site.tree();
        tree.remove("tries.rhai");
        tree
    });
    trees.collect()
}

fn tree(site: &Site) -> Tree {
    let mut tree = site.tree();
    tree.remove("tries.rhai");
    tree
}

/// The id of the last run, if its record has begun.
fn begun(site: &Site) -> Option<String> {
    let events = site.recorded("*/events.jsonl").pop()?;
    fs::read_to_string(&events).ok()?.contains("\"kind\":\"run_started\"").then_some(())?;
    Some(events.parent()?.file_name()?.to_str()?.to_owned())
}

#[test]
fn a_run_with_attempts_that_is_killed_at_any_moment_recovers_to_before_them_and_comes_to_the_same() {
    let between = between();
    let undisturbed = site(&statements().join("\n"));
    undisturbed.nrv(&["run", "tries.rhai", "--yes"]).exits(0);
    let recorded = recorded_events(&undisturbed);
    let mut chance = Chance(setting("NRV_ATTEMPT_SEED", 20_261_122));
    let (mut set_aside, mut put_back) = (0, 0);
    let rounds = long::rounds("NRV_ATTEMPT_ROUNDS", 1, 6);
    for round in 0..rounds + 20 {
        if round >= rounds && set_aside > 0 && put_back > 0 {
            break;
        }
        let site = site(&statements().join("\n"));
        for session in 0.. {
            assert!(session < 40, "it comes to no end");
            let (run, before) = (begun(&site), recorded_events(&site));
            let running = match &run {
                Some(run) => site.start_heard(&["resume", run]),
                None => site.start_heard(&["run", "tries.rhai", "--yes"]),
            };
            let ran = if session < 5 {
                let events = before + chance.below(recorded);
                killed_after(&site, running, events, &mut chance, Duration::from_millis(10))
            } else {
                running.end()
            };
            match ran.code {
                0 => break,
                -1 => {}
                _ => panic!("{ran:?}"),
            }
            if chance.below(3) == 0 {
                // Recovery may be killed as well.
                let running = site.start_heard(&["recover"]);
                chance.pause(Duration::from_millis(30));
                running.signal(Signal::KILL);
                running.end();
            }
            site.nrv(&["recover"]).exits(0);
            assert!(between.contains(&tree(&site)), "{:?}", site.tree().keys());
        }
        assert!(tree(&site) == *between.last().unwrap());
        site.last_ended("done");
        agrees(&site);
        set_aside += kinds(&site, "attempt_set_aside");
        put_back += kinds(&site, "attempt_put_back");
        let last = events(&site).pop().unwrap();
        assert_eq!(
            last["data"]["attempts"],
            serde_json::json!({"kept": 3 * statement_rounds(), "undone": 2 * statement_rounds()})
        );
        let run = begun(&site).unwrap();
        site.nrv(&["rollback", &run]).exits(0);
        assert!(tree(&site) == between[0]);
    }
    assert!(set_aside > 0 && put_back > 0, "{set_aside} {put_back}");
}
