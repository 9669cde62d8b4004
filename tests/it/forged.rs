//! Forged records with a valid chain: they came with a repository or an archive.
#![expect(clippy::disallowed_methods, reason = "tests build records")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use nrv::{
    base::hash::Sha256,
    record::{FileRef, Head, Runs},
};
use serde_json::{Value, json};

use crate::support::{
    record::{Line, chained},
    site::Site,
};

const APPROVERS: &str = "[confirm]\napprovers = ['alice@example.com']\n";

/// Writes the record of the only run anew, with a chain and a head that hold.
fn forge(site: &Site, state: &str, change: impl FnOnce(&Path, &mut Vec<Line>)) {
    let run = site.last_run();
    let text = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let mut records: Vec<Line> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&run, &mut records);
    fs::write(run.join("events.jsonl"), chained(&mut records)).unwrap();
    let last = &records.last().unwrap().hash;
    let id = run.file_name().unwrap().to_str().unwrap();
    Runs::of(&site.root()).add_head(&Head::new(id, (records.len() as u64, last), state)).unwrap();
}

/// Gives every record the hash that a file has now.
fn rehash(run: &Path, records: &mut [Line], name: &str) {
    let sha256 = Sha256::of(&fs::read(run.join(name)).unwrap());
    let files = records.iter_mut().flat_map(|record| &mut record.files);
    files.filter(|file| file.path == name).for_each(|file| file.sha256 = sha256);
}

/// A site with a script that asks before it changes links.
fn asking() -> Site {
    let site = Site::new(2);
    let script = "//! Asks.\nconst WORKFLOW = #{ permissions: #{ write: [\"**/*.html\"] } };\n\
        let links = nrv.dta(\"link_updater\");\n\
        let found = links.propose(#{ target: #{ glob: [\"**/*.html\"] }, params: #{ from_hosts: [\"old.example.com\"], \
        to_host: \"https://new.example.com\" } });\nlinks.apply(found)\n";
    site.script("scripts/ask.rhai", script);
    site.commit();
    site
}

/// Adds to a record that a person granted the run's confirmation, and that the run died then.
fn granted(records: &mut Vec<Line>, by: &str) {
    let asked = records.iter().find(|record| record.kind == "confirmation_pending").unwrap().clone();
    let row = |kind: &str, data: Value| Line { at: asked.at.clone(), ..Line::new("", kind, data) };
    let mut answer = Line { kind: "confirmation_granted".to_owned(), ..asked.clone() };
    answer.data["by"] = json!(by);
    answer.data["proof"] = json!("signature");
    answer.files.truncate(1);
    let resumed =
        json!({"policy_sha256": asked.data["policy_sha256"], "policy_changed": false, "accepted_stale_reads": []});
    records.push(row("run_resumed", resumed));
    records.push(answer);
    records.push(row("run_interrupted", json!({"state": "interrupted"})));
}

#[test]
fn an_answer_that_nothing_proves_is_asked_for_again() {
    let answers = [
        (APPROVERS, "alice@example.com"),
        (APPROVERS, "--yes"),
        (APPROVERS, "policy"),
        (APPROVERS, "nrv.lock"),
        ("", "person"),
        ("", "--yes"),
        ("", "policy"),
        ("", "nrv.lock"),
    ];
    for (policy, by) in answers {
        let site = asking().policy(policy);
        site.commit();
        let before = site.tree();
        assert_eq!(site.nrv(&["run", "scripts/ask.rhai"]).code, 7);
        forge(&site, "interrupted", |_, records| granted(records, by));
        site.nrv(&["runs", "verify", "last"]).exits(0);
        site.nrv(&["resume", "last"]).exits(7);
        assert!(site.tree() == before, "{policy} {by}");
        if policy.is_empty() {
            site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
            assert!(site.tree() != before);
        }
    }
}

#[test]
fn a_flag_of_somebody_else_answers_nothing() {
    let site = asking();
    assert_eq!(site.nrv(&["run", "scripts/ask.rhai"]).code, 7);
    forge(&site, "suspended", |run, records| {
        let file = run.join("run.json");
        let mut started: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        started["flags"]["yes"] = json!(true);
        fs::write(&file, started.to_string()).unwrap();
        records[0].data["flags"]["yes"] = json!(true);
        // As somewhere else.
        records[0].volatile["place"] = json!([1, 1]);
        rehash(run, records, "run.json");
    });
    let before = site.tree();
    site.nrv(&["resume", "last"]).exits(7);
    assert!(site.tree() == before);
}

#[test]
fn a_patch_that_is_not_the_change_is_found_before_anything_is_written() {
    let site = asking();
    assert_eq!(site.nrv(&["run", "scripts/ask.rhai"]).code, 7);
    forge(&site, "suspended", |run, records| {
        fs::write(run.join("artifacts/c1.patch"), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+harmless\n").unwrap();
        rehash(run, records, "artifacts/c1.patch");
    });
    let before = site.tree();
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(4).says("the patch of the confirmation `c1`");
    assert!(site.tree() == before);
}

#[test]
fn no_name_in_a_record_leads_out_of_it() {
    for name in ["/dev/zero", "/etc/passwd", "../../../outside", "../heads.jsonl"] {
        let site = Site::new(2);
        site.write("outside", "o");
        site.migrate(&[]).exits(0);
        let id = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
        forge(&site, "done", |_, records| {
            let sha256 = Sha256::of(&fs::read("/etc/passwd").unwrap());
            records[1].files.push(FileRef { path: name.to_owned(), sha256 });
        });
        let ran = site.nrv(&["runs", "verify", &id]).exits(4);
        assert!(ran.stdout.contains("leads out of the folder"), "{ran:?}");
        site.nrv(&["rollback", &id, "--dry-run"]);
        site.nrv(&["runs", "export", &id, "-o", "../taken"]).exits(0);
        let other = Site::new(2);
        let archive = site.path("../taken").display().to_string();
        other.nrv(&["runs", "import", &archive]).exits(4).says("leads out of the folder");
    }
}

#[test]
fn a_pipe_or_a_device_in_a_record_is_not_waited_for() {
    for name in
        ["events.jsonl", "run.json", "packs/t1/manifest.json", "packs/t1/patch", "packs/t1/pre/0", "export.json"]
    {
        for is_pipe in [true, false] {
            let site = Site::new(2);
            site.migrate(&[]).exits(0);
            let id = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
            let place = site.last_run().join(name);
            let _ = fs::remove_file(&place);
            if is_pipe {
                let (mode, kind) = (rustix::fs::Mode::from(0o600), rustix::fs::FileType::Fifo);
                rustix::fs::mknodat(rustix::fs::CWD, &place, kind, mode, 0).unwrap();
            } else {
                std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
            }
            for arguments in [&["runs", "verify", &id][..], &["resume", &id], &["replay", &id], &["rollback", &id]] {
                let ran = site.nrv(arguments);
                // A run's request does not matter for its changes.
                let is_fine = arguments[0] != "runs"
                    && ["run.json", "export.json", "packs/t1/patch", "packs/t1/pre/0"].contains(&name);
                assert!([1, 4].contains(&ran.code) || ran.code == 0 && is_fine, "{name} {arguments:?} {ran:?}");
            }
        }
    }
}

/// The record of a run that is said to have removed this file.
fn removed(path: &str, mode: u32) -> (Site, String) {
    let site = Site::new(2);
    site.migrate(&[]).exits(0);
    let id = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    forge(&site, "done", |run, records| {
        let content = b"#!/bin/sh\n";
        let before = json!({"sha256": Sha256::of(content), "mode": mode, "length": content.len()});
        let entries = json!([{"path": path, "before": before, "after": null}]);
        let file = run.join("packs/t1/manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        manifest["entries"] = entries.clone();
        fs::write(&file, manifest.to_string()).unwrap();
        let image: PathBuf = run.join("packs/t1/pre/0");
        fs::remove_file(&image).unwrap();
        fs::write(&image, content).unwrap();
        fs::set_permissions(&image, fs::Permissions::from_mode(0o755)).unwrap();
        rehash(run, records, "packs/t1/manifest.json");
        let committed = records.iter_mut().find(|record| record.kind == "committed").unwrap();
        committed.data["entries"] = entries;
    });
    (site, id)
}

#[test]
fn a_rollback_makes_no_program_that_others_run_with_the_rights_of_the_user() {
    for (mode, code) in [(0o755, 0), (0o4755, 4), (0o2755, 4)] {
        let (site, id) = removed("site/program", mode);
        let ran = site.nrv(&["rollback", &id]);
        assert_eq!((ran.code, site.path("site/program").exists()), (code, code == 0), "{mode:o} {ran:?}");
    }
}

#[test]
fn a_rollback_brings_no_file_back_that_a_shell_runs_by_itself() {
    for path in [".envrc", ".vscode/tasks.json"] {
        let (site, id) = removed(path, 0o644);
        site.nrv(&["rollback", &id]).exits(3).says("is protected").says("allow_protected");
        assert!(!site.path(path).exists());
        let site = site.policy(&format!("[paths]\nallow_protected = ['{path}']\n"));
        site.nrv(&["rollback", &id]).exits(0);
        assert!(site.path(path).exists());
    }
}
