//! Micro-edits, renames that move a file, and rollbacks of one position, killed at moments that a seed chooses.
//!
//! Still more kills than the long tier: `NRV_CRASH_ROUNDS=100 cargo test --test it crash::edits -- --nocapture`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::Stdio,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::json;

use super::{Bench, kill_again_and_again, rounds};
use crate::support::{
    chance::{Chance, setting},
    site::{NEW, OLD, Running, SECOND, Site, Tree, wait_until},
};

/// The files that a rename or a rollback changes in a test.
const FILES: usize = 60;

/// Replaces the bytes of a file in a tree.
fn put(tree: &mut Tree, path: &str, text: impl Into<Vec<u8>>) {
    tree.get_mut(path).expect("the file is there").2 = text.into();
}

#[test]
fn an_edit_killed_at_any_moment_was_made_or_not() {
    let site = Site::new(0);
    let text = |size: &str| {
        let line =
            |n: usize| format!("  <p className=\"{} m-{n}\">Line {n}</p>\n", if n == 150 { size } else { "p-2" });
        format!("export const Card = () => (<>\n{}</>);\n", (2..300).map(line).collect::<String>())
    };
    site.write("src/Card.tsx", text("p-2"));
    site.commit();
    site.mode("src/Card.tsx", 0o640);
    let before = site.tree();
    let mut after = before.clone();
    put(&mut after, "src/Card.tsx", text("p-4"));
    let command =
        ["edit", "update_class_name", "--target", "src/Card.tsx:150", "--old", "p-2", "--new", "p-4", "--yes"];
    // One file is changed in a moment.
    let bench = Bench { part: 12, ..Bench::of(site, &command, before, after) };
    kill_again_and_again(&bench, 1);
}

#[test]
fn a_stream_of_edits_killed_at_any_moment_leaves_nothing_anywhere() {
    let site = Site::new(3);
    std::fs::create_dir(site.path("../temporary")).unwrap();
    let request = json!({
        "id": 1, "op": "update_class_name", "text": "<p class=\"p-2\">a</p>\n".repeat(40),
        "args": {"path": "site/a/p0.html", "line": 7, "old": "p-2", "new": "p-4"},
    });
    let requests = format!("{request}\n").repeat(200);
    let before = site.tree();
    let mut chance = Chance(setting("NRV_CRASH_SEED", 42) | 1);
    let mut answered = 0;
    for round in 0..rounds() {
        let mut command = site.command(&["edit", "--jsonl"]);
        command.env("TMPDIR", site.path("../temporary")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running(command.stderr(Stdio::null()).spawn().unwrap());
        let mut stdin = running.0.stdin.take().expect("it is a pipe");
        let requests = requests.clone();
        // The pipe breaks when the process is killed.
        let writer = std::thread::spawn(move || stdin.write_all(requests.as_bytes()).is_ok());
        let mut output = BufReader::new(running.0.stdout.take().expect("it is a pipe"));
        let mut text = String::new();
        if round % 2 == 0 {
            output.read_line(&mut text).unwrap();
        }
        let reader = std::thread::spawn(move || output.read_to_string(&mut text).map(|_| text));
        chance.pause(Duration::from_millis(100));
        running.signal(Signal::KILL);
        running.end();
        let _ = writer.join().expect("it does not panic");
        let text = reader.join().expect("it does not panic").unwrap();
        // The line that was being written is torn; those before it are whole.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            let answer: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(answer["text"].as_str().is_some_and(|text| text.contains("p-4")), "{answer}");
            answered += 1;
        }
        assert!(site.tree() == before && !site.path(".runs").exists());
        assert_eq!(std::fs::read_dir(site.path("../temporary")).unwrap().count(), 0);
    }
    assert!(answered > 0, "no request was answered before a kill");
}

#[test]
fn a_rename_of_a_file_killed_at_any_moment_changed_everything_or_nothing() {
    let site = Site::new(0);
    let user = |name: &str, n: usize| format!("import {{ {name} }} from './{name}';\n\nconsole.log({name}, {n});\n");
    site.write("src/limit.ts", "export const limit = 1;\n");
    for index in 1..FILES {
        site.write(&format!("src/m{index}.ts"), user("limit", index));
    }
    let input = json!({
        "tool": "rename_refactor", "version": "1.0", "mode": "apply",
        "target": {"repo_path": ".", "glob": "src/**/*.ts"}, "params": {"from": "limit", "to": "bound", "files": true},
        "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 42},
    });
    site.write("../input.json", input.to_string());
    site.commit();
    let before = site.tree();
    let mut after = before.clone();
    let moved = after.remove("src/limit.ts").expect("it was written");
    after.insert("src/bound.ts".to_owned(), moved);
    put(&mut after, "src/bound.ts", "export const bound = 1;\n");
    for index in 1..FILES {
        put(&mut after, &format!("src/m{index}.ts"), user("bound", index));
    }
    let command = ["dta", "run", "rename_refactor", "--input", "../input.json", "--yes"];
    kill_again_and_again(&Bench::of(site, &command, before, after), FILES);
}

#[test]
fn private_folders_of_killed_processes_are_removed_by_the_next_one_and_others_stay() {
    let site = Site::new(1);
    let temporary = site.path("../temporary");
    std::fs::create_dir(&temporary).unwrap();
    let folders =
        || -> Vec<_> { std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    // It waits for requests, with its folder.
    let start = |number: usize| {
        let mut command = site.command(&["dta", "run", "link_updater", "--jsonl"]);
        command.env("TMPDIR", &temporary).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running(command.spawn().unwrap());
        wait_until("its folder is there", || folders().len() >= number);
        running
    };
    let killed = start(1);
    killed.signal(Signal::KILL);
    killed.end();
    let left = folders();
    assert_eq!(left.len(), 1);
    let mut living = site.command(&["dta", "run", "link_updater", "--jsonl"]);
    living.env("TMPDIR", &temporary).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let living = Running(living.spawn().unwrap());
    wait_until("its folder is there, and the other gone", || folders() != left && !folders().is_empty());
    let own = folders();
    assert!(own.len() == 1 && own != left, "{own:?}");
    let other = start(2);
    assert!(folders().contains(&own[0]));
    for mut running in [living, other] {
        drop(running.0.stdin.take());
        running.end();
    }
    assert_eq!(folders().len(), 0);
}

const THIRD: &str = "third.example.com";

/// A site on which a run has moved the links from two hosts, and the trees before and after it.
fn moved_twice() -> (Site, [Tree; 2]) {
    let site = Site::new(FILES);
    site.script(
        "two.rhai",
        &format!(
            "const WORKFLOW = #{{ name: \"two\", permissions: #{{ write: [\"site/**\"] }} }};
             for hosts in [[\"{OLD}\", \"{NEW}\"], [\"{SECOND}\", \"{THIRD}\"]] {{
                 nrv.dta(\"link_updater\").run(#{{ target: #{{ glob: \"site/**/*.html\" }},
                     params: #{{ from_hosts: [hosts[0]], to_host: \"https://\" + hosts[1] }} }});
             }}"
        ),
    );
    let origin = site.tree();
    site.nrv(&["run", "two.rhai", "--yes"]).exits(0);
    let before = site.tree();
    assert!(before == site.moved(&site.moved(&origin, OLD, NEW), SECOND, THIRD));
    (site, [origin, before])
}

#[test]
fn a_rollback_of_one_position_killed_at_any_moment_undid_it_or_not() {
    let (site, [origin, before]) = moved_twice();
    let after = site.moved(&origin, SECOND, THIRD);
    let run = site.runs()[0]["run"].as_str().unwrap().to_owned();
    let command = ["rollback", run.as_str(), "--position", "1"];
    kill_again_and_again(&Bench::on_records(site, &command, before, after), FILES);
}

#[test]
fn a_rollback_of_the_rest_of_a_run_killed_at_any_moment_undid_it_or_not() {
    let (site, [origin, _]) = moved_twice();
    let run = site.runs()[0]["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &run, "--position", "1"]).exits(0);
    let before = site.tree();
    assert!(before == site.moved(&origin, SECOND, THIRD));
    kill_again_and_again(&Bench::on_records(site, &["rollback", run.as_str()], before, origin), FILES);
}
