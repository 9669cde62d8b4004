//! The shipped workflows that ask a language model, on the replies that are shipped with them.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read the repository")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{collections::BTreeMap, fs};

use nrv::llm::Finish;
use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        model::{
            form,
            server::{Answer, ModelServer},
        },
        site::{Ran, Site},
        toolchain,
    },
};

const SCAFFOLD: [&str; 4] = ["run", "scripts/scaffold.rhai", "--yes", "--json"];
const MIGRATE: [&str; 4] = ["run", "scripts/migrate_with_llm.rhai", "--yes", "--json"];
const INPUT: &str = "examples/scaffold/wordcount.rs";
const PROJECT: &str = "examples/scaffold/wordcount";

/// The shipped files: the policy, the workflows with the replies beside them, and their examples.
fn shipped() -> Site {
    let site = Site::empty();
    toolchain::link(site.root().parent().unwrap());
    let is_shipped = |path: &&String| {
        ["scripts/", "examples/inline_args/"].iter().any(|folder| path.starts_with(folder))
            || ["nrv.toml", ".gitignore", INPUT].contains(&path.as_str())
    };
    for path in repository::files().iter().filter(is_shipped) {
        site.write(path, fs::read(repository::root().join(path)).unwrap());
    }
    site.git(&["init", "-q", "-b", "main"]);
    site.commit();
    site
}

/// The replies that are shipped with a script, by the names of their files.
fn cassettes(script: &str) -> BTreeMap<String, Value> {
    let folder = format!("scripts/{script}.llm/");
    let files = repository::files();
    let named = files.iter().filter_map(|path| Some((path.strip_prefix(&folder)?, path)));
    named
        .map(|(name, path)| (name.to_owned(), serde_json::from_str(&repository::text(path).unwrap()).unwrap()))
        .collect()
}

/// The number of requests that the shipped replies answered; fails if one was answered otherwise.
#[track_caller]
fn recorded_replies(ran: &Ran) -> usize {
    let answered: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("Model `")).collect();
    assert!(answered.iter().all(|line| line.contains("a recorded reply, `authored`")), "{answered:?}");
    answered.len()
}

#[test]
fn shipped_replies_say_that_a_person_wrote_them() {
    for script in ["migrate_with_llm", "scaffold"] {
        let cassettes = cassettes(script);
        assert!(!cassettes.is_empty(), "{script}");
        for (name, cassette) in cassettes {
            assert_eq!(cassette["label"], "authored", "{script}: {name}");
        }
    }
    assert!(!repository::text("nrv.toml").unwrap().contains("llm.providers"), "a fresh machine asks nobody");
}

#[test]
fn every_shipped_script_has_cases() {
    let files = repository::files();
    let scripts = files.iter().filter(|path| path.starts_with("scripts/") && path.matches('/').count() == 1);
    for script in scripts.filter_map(|path| path.strip_suffix(".rhai")) {
        assert!(files.iter().any(|path| path.starts_with(&format!("{script}.test/"))), "{script}");
    }
}

#[test]
fn one_file_becomes_a_project_that_builds_without_a_key() {
    let site = shipped();
    let before = site.tree();
    let ran = site.nrv(&SCAFFOLD).exits(0).says("round 1 of 3 failed: diff 1 of 4");
    assert_eq!(recorded_replies(&ran), 2);
    let said = ran.json();
    assert_eq!(said["result"]["rounds"], 2, "the first plan does not fit");
    let held = said["commitments"].as_array().unwrap().iter().map(|commitment| commitment["ok"].clone());
    assert_eq!(held.collect::<Vec<_>>(), [true, true, true]);
    assert!(site.path(PROJECT).join("Cargo.lock").exists(), "it was built");
    let after = site.tree();
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
    site.nrv(&SCAFFOLD).exits(0);
    assert!(site.tree() == after, "the same replies make the same project");
}

#[test]
fn a_dry_run_builds_the_proposed_project_and_writes_nothing() {
    let site = shipped();
    let before = site.tree();
    let ran = site.nrv(&["run", "scripts/scaffold.rhai", "--dry-run", "--json"]).exits(0);
    assert_eq!(ran.json()["commitments"][2]["ok"], true);
    assert!(site.tree() == before);
}

#[test]
fn where_nobody_can_be_asked_the_plan_is_kept_as_a_patch_until_somebody_approves_it() {
    let site = shipped();
    let before = site.tree();
    let ran = site.nrv(&["run", "scripts/scaffold.rhai", "--json"]).exits(7).says("The diff is in .runs/");
    let details = ran.json()["error"]["details"].clone();
    assert_eq!((&details["n_files"], &details["files"][0]["added"]), (&json!(4), &json!(7)));
    let patch = String::from_utf8(site.read(details["patch"].as_str().unwrap())).unwrap();
    assert!(patch.contains("+++ b/examples/scaffold/wordcount/src/lib.rs\n"), "{patch}");
    assert!(site.tree() == before);
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(site.path(PROJECT).join("Cargo.lock").exists());
}

#[test]
fn nothing_stays_if_no_plan_can_be_used() {
    let site = shipped();
    let before = site.tree();
    let ran = site.nrv(&[&SCAFFOLD[..], &["--arg", "rounds=1"]].concat()).exits(1);
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("none of 1 rounds was good enough") && message.contains("does not exist"), "{message}");
    assert!(site.tree() == before);
}

#[test]
fn a_changed_file_is_told_apart_from_the_one_that_the_replies_are_for() {
    let site = shipped();
    site.write(INPUT, [&site.read(INPUT)[..], b"// changed\n"].concat());
    site.commit();
    let before = site.tree();
    let error = site.nrv(&SCAFFOLD).exits(1).json()["error"].clone();
    assert_eq!(error["code"], "not_found", "{error}");
    let nearest = error["details"]["nearest"].as_str().unwrap();
    let request = &cassettes("scaffold")[&format!("{nearest}.json")]["request"];
    assert!(!request.to_string().contains("# Former replies"), "that of the first round: {request}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(nearest) && message.contains("`/messages/0/content`"), "{message}");
    assert_eq!(error["details"]["differences"][0]["pointer"], "/messages/0/content");
    assert!(site.tree() == before);
}

/// A server that gives these replies, one after the other, as the only provider of the policy.
fn served(site: &Site, replies: &[&str]) -> ModelServer {
    let stream = |text: &&str| Answer::stream(&form::events("openai_chat", &[*text], Finish::Stop));
    let server = ModelServer::serving("openai_chat", replies.iter().map(stream));
    let provider = format!(
        "\n[llm.providers.local]\ndialect = 'openai_chat'\nmodel = 'm'\nbase_url = '{}'\n",
        server.base_url("openai_chat")
    );
    let policy = String::from_utf8(site.read("nrv.toml")).unwrap();
    site.write("nrv.toml", policy + provider.as_str());
    site.commit();
    server
}

#[test]
fn what_the_schema_and_the_compiler_refuse_is_told_in_the_next_round() {
    let texts: Vec<String> =
        cassettes("scaffold").values().map(|cassette| cassette["reply"]["text"].as_str().unwrap().to_owned()).collect();
    let makes_a_manifest = format!(r"--- /dev/null\n+++ b/{PROJECT}/Cargo.toml");
    let right = texts.iter().find(|text| text.contains(&makes_a_manifest)).unwrap();
    let broken = right.replace("pub fn count(", "pub fn counted(");
    assert_ne!(*right, broken);
    for verbose in [false, true] {
        let site = shipped();
        let server = served(&site, &["{\"diffs\": [{}]}", &broken, right]);
        let verbose_errors = format!("verbose_errors={verbose}");
        let ran = site.nrv(&[&SCAFFOLD[..], &["--arg", &verbose_errors]].concat()).exits(0);
        assert_eq!(ran.json()["result"]["rounds"], 3);
        let asked = server.requests();
        assert_eq!(asked.len(), 3);
        assert!(!asked[0].body.contains("Former replies"));
        assert!(asked[1].body.contains("/diffs") && asked[1].body.contains("Former replies"), "{}", asked[1].body);
        assert!(asked[2].body.contains("ended with status 101"), "{}", asked[2].body);
        assert_eq!(asked[2].body.contains("unresolved") || asked[2].body.contains("cannot find"), verbose);
    }
}

#[test]
fn files_are_migrated_one_by_one_and_only_what_passes_the_check_is_kept() {
    let site = shipped();
    let before = site.tree();
    let ran = site.nrv(&MIGRATE).exits(0);
    assert_eq!(recorded_replies(&ran), 5);
    let said = ran.json();
    let result = |file: &str| {
        let path = format!("examples/inline_args/src/{file}.rs");
        let rows = said["result"]["files"].as_array().unwrap();
        rows.iter().find(|row| row["file"] == path.as_str()).unwrap().clone()
    };
    let results = ["book", "lib", "price", "report", "shelf"].map(|file| result(file)["result"].clone());
    assert_eq!(results, ["undone", "not changed", "kept", "refused", "kept"]);
    assert!(result("book")["why"].as_str().unwrap().contains("ended with status 101"));
    assert!(result("report")["why"].as_str().unwrap().contains("names `examples/inline_args/src/shelf.rs`"));
    assert_eq!(said["commitments"][0]["ok"], true);

    let after = site.tree();
    let changed = after.iter().filter(|(name, found)| before.get(*name) != Some(*found)).map(|(name, _)| name.as_str());
    let kept = ["examples/inline_args/src/price.rs", "examples/inline_args/src/shelf.rs"];
    assert_eq!((changed.collect::<Vec<_>>(), said["result"]["kept"].clone()), (kept.to_vec(), json!(kept)));
    assert!(String::from_utf8(site.read(kept[0])).unwrap().contains("{whole}.{rest:02}"));

    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
    site.nrv(&MIGRATE).exits(0);
    assert!(site.tree() == after);
}
