//! `nrv approve`, `nrv.lock`, `--locked` and `CI`: a script that differs from its approval does not run.
#![expect(clippy::disallowed_methods, reason = "tests remove files")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        keys::Keys,
        site::{Ran, Site},
        terminal::on_a_terminal,
    },
};

const SCRIPT: &str = "//! Writes a note.\nimport \"lib/words\" as words;\n\
    const WORKFLOW = #{ permissions: #{ write: [\"notes/**\"] }, budget: #{ files: 3 } };\n\
    nrv.gate.confirm(\"write the note\", #{ text: words::text() });\nnrv.apply.create(\"notes/a.md\", words::text());\n";
const WORDS: &str = "fn text() { \"hello\\n\" }\n";
const NAME: &str = "scripts/note.rhai";

fn site() -> Site {
    let site = Site::new(0);
    site.write("scripts/lib/words.rhai", WORDS);
    site.script(NAME, SCRIPT);
    site
}

fn approved(more: &[&str]) -> Site {
    let site = site();
    let ran = site.nrv(&[&["approve", NAME, "--yes"][..], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    site.commit();
    site
}

/// Runs the binary where `CI` is set.
fn in_ci(site: &Site, arguments: &[&str]) -> Ran {
    with_ci(site, arguments, "true")
}

/// Runs the binary where `CI` has this value.
fn with_ci(site: &Site, arguments: &[&str], value: impl AsRef<std::ffi::OsStr>) -> Ran {
    let output = site.command(arguments).env("CI", value).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, 3, "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "`{word}`: {ran:?}");
    }
}

#[test]
fn what_is_not_approved_does_not_run_where_ci_is_set() {
    let site = site();
    let before = site.tree();
    refused(
        &in_ci(&site, &["run", NAME]),
        &["not_approved", "`scripts/note.rhai` is not approved", "nrv approve scripts/note.rhai"],
    );
    refused(&in_ci(&site, &["plan", NAME, "-o", "-"]), &["not_approved"]);
    refused(&site.nrv(&["run", NAME, "--locked"]), &["not_approved"]);
    assert!(site.tree() == before && site.recorded("*/run.json").is_empty());
    let policy = site.policy("[ci]\nlocked = false\nconfirm = 'ask'\n");
    assert_eq!(in_ci(&policy, &["run", NAME]).code, 7);
}

#[test]
fn ci_is_set_by_any_value_but_nothing_zero_and_false() {
    use std::os::unix::ffi::OsStrExt;
    let site = site();
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    for value in ["True", "TRUE", "1", "yes", "on", "true ", " true", "true\n", "woodpecker"] {
        refused(&with_ci(&site, &["run", NAME, "--yes"], value), &["not_approved"]);
    }
    refused(&with_ci(&site, &["run", NAME, "--yes"], odd), &["not_approved"]);
    refused(&with_ci(&site, &["approve", NAME, "--yes"], "1"), &["no scripts are approved"]);
    for value in ["", "0", "false", "False", "FALSE"] {
        let ran = with_ci(&site, &["run", NAME, "--dry-run"], value);
        assert_eq!(ran.code, 0, "{value:?}: {ran:?}");
    }
}

#[test]
fn an_approved_script_runs_with_the_confirmations_that_are_granted() {
    let site = approved(&[]);
    refused(
        &in_ci(&site, &["run", NAME, "--yes"]),
        &["blocked", "`write the note` was not confirmed", "ci.confirm", "--grant"],
    );
    assert_eq!(site.nrv(&["run", NAME, "--locked", "--yes", "--dry-run"]).code, 0);
    for grant in ["write the note", "gate.confirm", "*"] {
        let site = approved(&["--grant", grant]);
        let ran = in_ci(&site, &["run", NAME]);
        assert_eq!(ran.code, 0, "{grant}: {ran:?}");
        assert!(ran.stderr.contains("Confirmed by nrv.lock: write the note."), "{ran:?}");
        assert_eq!(site.read("notes/a.md"), b"hello\n");
        let records = site.nrv(&["runs", "show", "last", "--json"]).stdout;
        assert!(records.contains("\"nrv.lock\""), "{records}");
        assert_eq!(site.nrv(&["replay", "last"]).code, 0);
        assert_eq!(site.nrv(&["runs", "verify", "last"]).code, 0);
    }
    let site = approved(&["--grant", "another label"]);
    refused(&in_ci(&site, &["run", NAME]), &["was not confirmed"]);
}

#[test]
fn what_is_applied_without_a_script_is_not_granted_by_an_approval() {
    let site = approved(&["--grant", "*"]);
    site.write("new.patch", "--- /dev/null\n+++ b/notes/b.md\n@@ -0,0 +1 @@\n+new\n");
    let ran = in_ci(&site, &["apply", "new.patch", "--yes", "--allow-dirty"]);
    refused(&ran, &["blocked", "`apply` was not confirmed", "`confirm.auto`"]);
    assert!(!ran.stderr.contains("nrv approve") && !site.path("notes/b.md").exists(), "{ran:?}");
}

/// The statement in an attestation.
fn statement(attestation: &[u8]) -> Value {
    let envelope: Value = serde_json::from_slice(attestation).unwrap();
    serde_json::from_slice(&BASE64_STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap()).unwrap()
}

#[test]
fn an_attestation_says_what_was_run_and_is_believed_only_as_it_was_signed() {
    let Some(keys) = Keys::new() else { return };
    let site = approved(&["--grant", "*"]);
    site.write(".nrv/allowed_signers", format!("alice@example.com {}\n", keys.public("alice")));
    assert_eq!(in_ci(&site, &["run", NAME]).code, 0);
    let key = keys.path("alice");
    site.nrv(&["runs", "attest", "last", "--key", key.to_str().unwrap(), "-o", "a.json"]).exits(0);
    let said = statement(&site.read("a.json"));
    let subject = (&said["subject"][0]["name"], &said["predicate"]["byproducts"]["approved"]);
    assert_eq!(subject, (&json!("notes/a.md"), &json!(true)));
    assert_eq!(said["predicate"]["command"], json!(["nrv", "run", NAME]));
    let verify = ["runs", "attest", "--verify", "a.json", "--signer", "alice@example.com"];
    site.nrv(&verify).exits(0).says("alice@example.com signed it: 1 file of run");
    site.nrv(&["runs", "attest", "--verify", "a.json", "--signer", "bob@example.com"]).exits(4);
    let mut envelope: Value = serde_json::from_slice(&site.read("a.json")).unwrap();
    let other = said.to_string().replace("notes/a.md", "notes/b.md");
    envelope["payload"] = json!(BASE64_STANDARD.encode(other));
    site.write("a.json", envelope.to_string());
    site.nrv(&verify).exits(4).says("is not of this file");
    site.write("new.patch", "--- a/notes/a.md\n+++ b/notes/a.md\n@@ -1 +1 @@\n-hello\n+hallo\n");
    site.nrv(&["apply", "new.patch", "--yes", "--allow-dirty"]).exits(0);
    let said = statement(site.nrv(&["runs", "attest", "last"]).exits(0).stdout.as_bytes());
    assert_eq!(said["predicate"]["command"], json!(["nrv", "apply", "new.patch"]));
}

#[test]
fn each_difference_is_refused_and_named() {
    let cases: &[(&str, &str, &[&str])] = &[
        (NAME, "1;\n", &["it was edited"]),
        ("scripts/lib/words.rhai", "// more\n", &["`scripts/lib/words.rhai`, which it imports, was edited"]),
    ];
    for (file, more, words) in cases {
        let site = approved(&["--grant", "*"]);
        let text = String::from_utf8(site.read(file)).unwrap();
        site.write(file, format!("{text}{more}"));
        site.commit();
        for ran in
            [in_ci(&site, &["run", NAME]), site.nrv(&["run", NAME, "--locked"]), in_ci(&site, &["approve", "--check"])]
        {
            refused(&ran, words);
        }
        assert_eq!(site.nrv(&["run", NAME, "--yes"]).code, 0, "without a lock it runs");
    }
    for (from, to, words) in [
        ("notes/**", "**", "it may write `**`, which was not approved"),
        ("files: 3", "files: 300", "its budget of `files` is 300, not 3"),
        ("lib/words", "lib/other", "it imports `scripts/lib/other.rhai`"),
        ("#{ write", "#{ exec: [\"make\"], write", "it may start `make`, which was not approved"),
    ] {
        let site = approved(&["--grant", "*"]);
        site.write("scripts/lib/other.rhai", WORDS);
        site.script(NAME, &SCRIPT.replace(from, to));
        refused(&in_ci(&site, &["run", NAME]), &["it was edited", words]);
        let listed: Value = serde_json::from_str(&site.nrv(&["scripts", "--json"]).stdout).unwrap();
        let note = listed.as_array().unwrap().iter().find(|one| one["path"] == NAME).unwrap();
        assert_eq!(note["approval"]["standing"], "changed", "{listed}");
    }
}

#[test]
fn what_is_new_is_told_before_it_is_written() {
    let site = site();
    let ran = site.nrv(&["approve", NAME, "--dry-run"]);
    for words in [
        "Writes a note.",
        "May write: notes/**",
        "Imports: scripts/lib/words.rhai",
        "At most: 3 files",
        "granted: none",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {ran:?}");
    }
    let nobody = site.nrv(&["approve", NAME]);
    assert!(nobody.code == 2 && nobody.stderr.contains("--yes"), "{nobody:?}");
    assert!(!site.path("nrv.lock").exists());
    let site = approved(&["--grant", "*"]);
    site.script(NAME, &SCRIPT.replace("notes/**", "**"));
    let ran = site.nrv(&["approve", NAME, "--yes"]);
    for words in ["Since the last approval: it was edited", "it may write `**`", "Confirmations granted: *"] {
        assert!(ran.stdout.contains(words), "{words}: {ran:?}");
    }
    assert_eq!(in_ci(&site, &["run", NAME]).code, 0);
    let ran = site.nrv(&["approve", NAME, "--yes", "--no-grants"]);
    assert!(ran.stdout.contains("granted before was *"), "{ran:?}");
    assert!(site.nrv(&["approve", NAME, "--yes"]).stderr.contains("says so already"));
    assert_eq!(site.nrv(&["approve", NAME, "--remove", "--yes"]).code, 0);
    refused(&in_ci(&site, &["run", NAME]), &["is not approved"]);
    refused(&in_ci(&site, &["approve", NAME, "--yes"]), &["no scripts are approved"]);
}

#[test]
fn a_person_is_asked_on_a_terminal() {
    for (answer, written) in [("n", false), ("y", true)] {
        let site = site();
        let Some(mut asked) = on_a_terminal(&site, &["approve", NAME]) else { return };
        let mut keyboard = asked.0.stdin.take().unwrap();
        keyboard.write_all(format!("{answer}\n").as_bytes()).unwrap();
        let ran = asked.end();
        assert_eq!((site.path("nrv.lock").exists(), ran.code), (written, if written { 0 } else { 130 }), "{ran:?}");
    }
}

#[test]
fn an_approval_is_the_same_bytes_in_another_checkout() {
    let (one, other) = (approved(&["--grant", "*"]), approved(&["--grant", "*"]));
    assert_eq!(one.read("nrv.lock"), other.read("nrv.lock"));
    assert_ne!(one.root(), other.root());
    other.write("nrv.lock", one.read("nrv.lock"));
    assert_eq!(in_ci(&other, &["run", NAME]).code, 0);
}

#[test]
fn a_check_names_what_is_wrong_with_each_script() {
    let site = approved(&[]);
    let ran = in_ci(&site, &["approve", "--check", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told["scripts"], json!([{"path": NAME, "ok": true, "error": null}]));
    assert_eq!(told["unapproved"], json!(["scripts/migrate_links.rhai"]));
    refused(&in_ci(&site, &["approve", "--check", "scripts/migrate_links.rhai"]), &["is not approved"]);
    std::fs::remove_file(site.path(NAME)).unwrap();
    refused(&in_ci(&site, &["approve", "--check"]), &["--remove scripts/note.rhai"]);
    std::fs::remove_file(site.path("nrv.lock")).unwrap();
    refused(&in_ci(&site, &["approve", "--check"]), &["nothing is approved"]);
    site.write("nrv.lock", "version = 7\n");
    let broken = in_ci(&site, &["scripts"]);
    assert!(broken.code == 1 && broken.stderr.contains("version 7"), "{broken:?}");
}

#[test]
fn the_shipped_scripts_are_approved_as_they_are() {
    let root = repository::root().to_str().unwrap();
    let ran = in_ci(&Site::new(0), &["--root", root, "approve", "--check", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let pinned: Vec<&str> = told["scripts"].as_array().unwrap().iter().filter_map(|one| one["path"].as_str()).collect();
    let files = repository::files();
    let scripts = files.iter().filter(|path| path.starts_with("scripts/") && path.ends_with(".rhai"));
    let scripts: Vec<&String> = scripts.filter(|path| !path.contains(".test/")).collect();
    assert!(scripts.iter().all(|path| pinned.contains(&path.as_str())), "{scripts:?} {pinned:?}");
    assert_eq!(ran.code, 0, "`nrv approve` pins what was changed: {ran:?}");
}

#[test]
fn no_run_writes_its_own_approval() {
    let site = site();
    for name in ["nrv.lock", "nrv.lock.sig"] {
        let text = format!(
            "const WORKFLOW = #{{ permissions: #{{ write: [\"**\"] }} }};\nnrv.apply.create(\"{name}\", \"version = 1\");"
        );
        site.script("scripts/own.rhai", &text);
        refused(&site.nrv(&["run", "scripts/own.rhai", "--yes"]), &["protected_path", name]);
    }
}

#[test]
fn where_approvers_are_named_one_of_them_signs_the_lock() {
    let Some(keys) = Keys::new() else { return };
    let site = approved(&["--grant", "*"]).policy("[confirm]\napprovers = ['alice@example.com']\n");
    site.write(".nrv/allowed_signers", format!("alice@example.com {}\n", keys.public("alice")));
    refused(&in_ci(&site, &["run", NAME]), &["nobody signed them", "ssh-keygen -Y sign -n nrv-approve"]);
    keys.sign("mallory", "nrv-approve", &site.path("nrv.lock"));
    refused(&in_ci(&site, &["run", NAME]), &["no approver's"]);
    std::fs::remove_file(site.path("nrv.lock.sig")).unwrap();
    keys.sign("alice", "nrv-confirm", &site.path("nrv.lock"));
    refused(&in_ci(&site, &["approve", "--check"]), &["their signature"]);
    std::fs::remove_file(site.path("nrv.lock.sig")).unwrap();
    keys.sign("alice", "nrv-approve", &site.path("nrv.lock"));
    assert_eq!(in_ci(&site, &["approve", "--check"]).code, 0);
    assert_eq!(in_ci(&site, &["run", NAME, "--allow-dirty"]).code, 0);
    site.nrv(&["approve", NAME, "--yes", "--no-grants"]);
    refused(&in_ci(&site, &["approve", "--check"]), &["their signature"]);
}

#[test]
fn a_locked_run_that_waited_goes_on_only_if_it_is_still_approved() {
    let site = approved(&[]);
    assert_eq!(site.nrv(&["run", NAME, "--locked"]).code, 7);
    site.write("scripts/lib/words.rhai", "fn text() { \"other\\n\" }\n");
    site.nrv(&["approve", NAME, "--yes"]);
    refused(&site.nrv(&["resume", "last", "--approve", "c1"]), &["not_approved", "scripts/lib/words.rhai"]);
    site.write("scripts/lib/words.rhai", WORDS);
    site.nrv(&["approve", NAME, "--yes"]);
    let ran = site.nrv(&["resume", "last", "--approve", "c1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}
