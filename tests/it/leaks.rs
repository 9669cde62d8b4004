//! Searches for a planted secret in all output: messages, errors, logs, records, exports, patches and plans.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read what was written")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, io::Read};

use flate2::read::GzDecoder;
use serde_json::json;

use crate::support::site::{Ran, Site};

/// A token of a well-known form that no one has; in pieces, so that no scanner takes this file for a leak.
fn canary() -> String {
    ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat()
}

#[test]
fn an_argument_that_is_refused_is_repeated_without_its_secret_and_the_rest_as_it_is() {
    let site = Site::new(0);
    let canary = canary();
    for arguments in [
        &["run", "x.rhai", &format!("--threads={canary}")][..],
        &["run", "x.rhai", "--threads", &canary],
        &["runs", &canary],
        &["run", "x.rhai", &format!("--{canary}")],
    ] {
        silent(arguments, site.nrv(arguments).exits(2).says("[redacted github-pat"));
    }
    site.nrv(&["gate", "command", "--jsonl"]).exits(2).says("to pass '--jsonl' as a value");
}

/// A secret of several lines, which a check line by line would miss.
fn key() -> String {
    let body = "Kq3vT9wZx2LmN8rB5cYdH7jP4sFgA6uEoR1iKq3vT9wZx2LmN8rB5cYdH7jP4sFg\n".repeat(4);
    format!("-----BEGIN {0} KEY-----\n{body}-----END {0} KEY-----\n", "PRIVATE")
}

fn workflow(body: &str) -> String {
    format!("const WORKFLOW = #{{ name: \"leak\", permissions: #{{ write: [\"**\"] }} }};\n{body}\n")
}

/// A site with `a.txt`, and `b.txt`, which holds the secret.
fn site(policy: &str) -> Site {
    let site = Site::new(0).policy(policy);
    site.write("a.txt", "one\ntwo\n");
    site.write("b.txt", format!("token = {}\nb\n", canary()));
    site
}

/// A site with a script of its own, all committed.
fn scripted(policy: &str, body: &str) -> Site {
    let site = site(policy);
    site.script("leak.rhai", &workflow(body));
    site.commit();
    site
}

/// A script that writes the secret into a new file and changes another.
fn leak() -> String {
    let write = "nrv.apply.write(\"a.txt\", \"one\\nthree\\n\", nrv.files.sha256(\"a.txt\"));";
    format!("nrv.apply.create(\"c.txt\", \"token = {}\\n\");\n{write}", canary())
}

/// True if bytes hold the secret.
fn holds(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, canary().as_bytes()).is_some()
}

#[track_caller]
fn silent(what: &[&str], ran: Ran) -> Ran {
    for (name, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        assert!(!holds(text.as_bytes()), "{what:?}: {name} shows the secret: {text}");
    }
    ran
}

/// Searches all records; returns the number of files, and of packs that hold the secret.
#[track_caller]
fn search(site: &Site) -> (usize, usize) {
    search_beside(site, &["packs"])
}

/// The same where other folders may hold it as well.
#[track_caller]
fn search_beside(site: &Site, folders: &[&str]) -> (usize, usize) {
    let (mut looked, mut packs) = (0, 0);
    for path in site.recorded("**/*").into_iter().filter(|path| path.is_file()) {
        let held = holds(&fs::read(&path).unwrap());
        if path.components().any(|part| folders.iter().any(|folder| part.as_os_str() == *folder)) {
            packs += usize::from(held);
        } else {
            looked += 1;
            assert!(!held, "{} holds the secret", path.display());
        }
    }
    (looked, packs)
}

/// Every call that takes a text takes the secret, and then the run fails with it.
fn everything() -> String {
    let canary = canary();
    format!(
        "print(\"{canary}\"); debug(\"{canary}\");
nrv.ui.step(\"{canary}\");
nrv.ui.show(#{{ password: \"{canary}\" }});
nrv.run.metric(\"n\", 1);
nrv.gate.evaluate_command(\"curl -H 'Authorization: token {canary}' https://example.com\");
nrv.gate.evaluate_tool_use(\"x\", #{{ secret: \"{canary}\" }});
nrv.gate.evaluate_edit(\"c.txt\", \"{canary}\", 1);
nrv.gate.confirm(\"use {canary}\", #{{ token: \"{canary}\" }});
nrv.apply.create(\"c.txt\", \"token = {canary}\\n\");
nrv.apply.write(\"b.txt\", nrv.files.read(\"b.txt\") + args.more, nrv.files.sha256(\"b.txt\"));
throw \"no more {canary}\";"
    )
}

#[test]
fn nothing_that_a_run_writes_beside_its_packs_holds_a_secret() {
    let site = site("");
    let header = "const WORKFLOW = #{ name: \"leak\", permissions: #{ write: [\"**\"] }, args: #{ type: \"object\", properties: #{ more: #{ type: \"string\" } } } };";
    site.script("leak.rhai", &format!("{header}\n{}\n", everything()));
    site.script("broken.rhai", &format!("{header}\nlet x = \"{}\" 1;\n", canary()));
    site.commit();
    let more = format!("more={}", canary());
    for (arguments, code) in [
        (&["--yes"][..], 1),
        (&["--dry-run"], 1),
        (&["--events", "--yes"], 1),
        (&["--json", "--yes"], 1),
        (&["-v", "-v", "-v", "--yes", "--keep"], 1),
        (&[], 7),
    ] {
        let all = [&["run", "leak.rhai", "--allow-dirty", "--arg", &more], arguments].concat();
        silent(&all, site.nrv(&all).exits(code));
    }
    let unknown = format!("{}=1", canary());
    for arguments in [
        &["run", "broken.rhai"][..],
        &["run", "leak.rhai", "--arg", &unknown],
        &["run", &canary()],
        &["runs", "list"],
        &["runs", "show", "last"],
        &["runs", "show", "last", "--json"],
        &["runs", "show", "last", "--canonical"],
        &["runs", "verify", "last"],
        &["runs", "report", "last"],
        &["runs", "report", "last", "--json"],
        &["runs", "report", "last", "--html"],
        &["replay", "last"],
        &["replay", "last", "--json"],
        &["rollback", "last"],
    ] {
        silent(arguments, site.nrv(arguments));
    }
    let (looked, packs) = search(&site);
    assert!(looked > 10, "the records are looked at");
    assert!(packs > 0, "what is searched for can be found");
}

#[test]
fn a_record_that_leaves_without_contents_holds_no_secret() {
    let site = scripted("", &leak());
    site.nrv(&["run", "leak.rhai", "--yes"]).exits(0);
    let exported = |more: &[&str]| {
        silent(more, site.nrv(&[&["runs", "export", "last", "-o", "run.nrv-run"], more].concat()).exits(0));
        let mut bytes = Vec::new();
        GzDecoder::new(fs::File::open(site.path("run.nrv-run")).unwrap()).read_to_end(&mut bytes).unwrap();
        fs::remove_file(site.path("run.nrv-run")).unwrap();
        bytes
    };
    let slim = exported(&[]);
    assert!(!holds(&slim) && slim.len() > 1000, "{} bytes", slim.len());
    assert!(holds(&exported(&["--with-contents"])), "what is searched for can be found");
}

#[test]
fn what_is_wrong_with_a_patch_or_an_edit_is_said_without_its_secrets() {
    let site = scripted("", "1");
    let canary = canary();
    let misfit = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-token = {canary}\n+password = {canary}\n two\n");
    let damaged = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n token = {canary}\n{canary}\n");
    let fitting = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+token = {canary}\n");
    for diff in [&misfit, &damaged, &fitting, &canary] {
        for more in [&[][..], &["--json"], &["--dry-run", "--json"], &["-v", "-v", "-v"]] {
            silent(more, site.nrv_with(&[&["apply", "-"], more].concat(), diff));
        }
    }
    for arguments in [
        &["gate", "command", "--line", &format!("curl -H 'Authorization: token {canary}' h")][..],
        &["gate", "explain", "edit", "b.txt"],
        &["gate", "edit", "b.txt"],
        &["gate", "edit", "b.txt", "--sarif"],
        &["gate", "tool", &canary],
    ] {
        silent(arguments, site.nrv(arguments));
    }
    let why = site.nrv(&["gate", "explain", "edit", "b.txt"]).json();
    let rule = &why["rules"][0];
    assert!(rule["source"].as_str().unwrap().contains(" of `secrets/rules.txt`"), "{why:#}");
    assert!(rule["match"][0].as_str().unwrap().contains('·') && rule["not_match"][0].is_string(), "{why:#}");
    let request = json!({"id": canary, "command": format!("echo {canary}")}).to_string();
    for line in [&request, &canary, "{\"id\": 1, \"tool\": "] {
        silent(&["gate", "--jsonl"], site.nrv_with(&["gate", "--jsonl"], line));
    }
    let question = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "/srv/x", "content": canary}});
    silent(&["gate", "hook"], site.nrv_with(&["gate", "hook"], &question.to_string()));
    search(&site);
}

#[test]
fn a_patch_that_would_show_a_secret_says_so_and_nothing_takes_it() {
    let pem = key().replace('\n', "\\n");
    let keyed = format!("nrv.apply.create(\"c.pem\", \"x\\n{pem}\");\nnrv.apply.create(\"d.txt\", \"d\\n\");");
    for body in [leak(), keyed] {
        let site = scripted("", &body);
        let finished = site.nrv(&["run", "leak.rhai", "--dry-run", "--json"]).exits(0).json();
        assert_eq!(finished["patch_redacted"], true);
        site.nrv(&["run", "leak.rhai", "--dry-run"]).exits(0).says("nothing can apply it");
        let patch = finished["patch"].as_str().unwrap();
        let text = String::from_utf8(site.read(patch)).unwrap();
        assert!(text.contains("[redacted ") && !holds(text.as_bytes()) && !text.contains("Kq3vT9"), "{text}");
        let before = site.tree();
        let mut git = std::process::Command::new("git");
        let taken = site.tame(&mut git).args(["apply", "--check", patch]).output().unwrap();
        assert!(!taken.status.success(), "git takes {text}");
        assert_ne!(site.nrv(&["apply", "--yes", patch]).code, 0, "nrv takes {text}");
        assert!(site.tree() == before);
    }
    let clean = scripted("", "nrv.apply.create(\"c.txt\", \"c\\n\");");
    let finished = clean.nrv(&["run", "leak.rhai", "--dry-run", "--json"]).exits(0).json();
    assert!(finished.get("patch_redacted").is_none());
    clean.git(&["apply", "--check", finished["patch"].as_str().unwrap()]);
}

#[test]
fn a_plan_that_would_add_a_secret_is_refused_unless_the_policy_allows_it() {
    let site = scripted("", &leak());
    let plan = ["plan", "leak.rhai", "-o", "plan.json", "--json"];
    let error = silent(&plan, site.nrv(&plan).exits(3)).json()["error"].clone();
    assert_eq!((&error["code"], &error["details"]["rules"]), (&json!("blocked"), &json!(["github-pat"])));
    assert!(error["message"].as_str().unwrap().contains("`c.txt` at 1:9"), "{error}");
    assert!(!site.path("plan.json").exists());
    let shown = silent(&["plan"], site.nrv(&["plan", "leak.rhai", "-o", "-"]).exits(3)).json();
    assert_eq!(shown["error"]["code"], "blocked");
    for policy in ["allow = [{rule = 'github-pat', path = 'c.txt'}]", "decision = 'warn'"] {
        let site = scripted(&format!("[gates.secrets]\n{policy}"), &leak());
        site.nrv(&["plan", "leak.rhai", "-o", "plan.json"]).exits(0);
        assert!(holds(&site.read("plan.json")), "a plan holds exactly what is to be written");
    }
    // A change that removes a secret can be planned, and the plan is exact.
    let body = "nrv.apply.write(\"b.txt\", \"token = ${TOKEN}\\nb\\n\", nrv.files.sha256(\"b.txt\"));";
    let site = scripted("", body);
    site.nrv(&["plan", "leak.rhai", "-o", "plan.json"]).exits(0);
    site.nrv(&["apply", "--yes", "plan.json"]).exits(0);
    assert!(!holds(&site.read("b.txt")));
}

/// Who could read the file before can read it after; a copy is new.
#[test]
fn a_file_with_a_secret_is_renamed_without_a_question() {
    let rename = "nrv.apply.rename(\"b.txt\", \"d/moved.txt\", nrv.files.sha256(\"b.txt\"));";
    let site = scripted("", rename);
    let ran = silent(&["dry run"], site.nrv(&["run", "leak.rhai", "--dry-run"]).exits(0));
    assert!(!ran.stderr.contains("Would ask"), "{ran:?}");
    let patch = fs::read(site.last_run().join("artifacts/run.patch")).unwrap();
    assert!(holds(&patch), "the patch is whole");
    let run = silent(&["run"], site.nrv(&["run", "leak.rhai"]).exits(0));
    assert!(site.path("d/moved.txt").exists() && !run.stderr.contains("secret"), "{run:?}");
    let site = scripted("", "nrv.apply.create(\"d/copy.txt\", nrv.files.read(\"b.txt\"));");
    site.nrv(&["run", "leak.rhai"]).exits(7).says("c1");
}

/// Folders with exact file names: they hold exact patches of earlier files, which no export without contents has.
const NAMED: &[&str] = &["packs", "artifacts"];

/// A site in which a file has the secret as its name, and a script that writes it and makes another such file, which is asked about.
fn named() -> Site {
    let canary = canary();
    let site = Site::new(0);
    site.write(&format!("kept/{canary}.txt"), "one\n");
    let body = format!(
        "let name = \"kept/{canary}.txt\";
nrv.apply.write(name, \"two\\n\", nrv.files.sha256(name));
nrv.apply.create(\"made/{canary}\", \"new\\n\");"
    );
    site.script("named.rhai", &workflow(&body));
    site
}

/// All that an export is made of, unpacked.
#[track_caller]
fn unpacked(site: &Site, more: &[&str]) -> Vec<u8> {
    silent(more, site.nrv(&[&["runs", "export", "last", "-o", "run.nrv-run"], more].concat()).exits(0));
    let mut bytes = Vec::new();
    GzDecoder::new(fs::File::open(site.path("run.nrv-run")).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_secret_that_is_the_name_of_a_file_is_in_no_event_confirmation_export_or_report() {
    let site = named();
    let before = site.tree();
    silent(&["dry"], site.nrv(&["run", "named.rhai", "--dry-run", "--json"]).exits(0));
    silent(&["suspended"], site.nrv(&["run", "named.rhai", "--json"]).exits(7));
    assert!(site.recorded("*/confirmations/c1.json").iter().any(|path| path.is_file()), "it was asked");
    search_beside(&site, NAMED);
    silent(&["approved"], site.nrv(&["resume", "last", "--approve", "c1", "--events"]).exits(0));
    let after = site.tree();
    assert!(before != after);
    for arguments in [
        &["runs", "list", "--json"][..],
        &["runs", "show", "last"],
        &["runs", "show", "last", "--json"],
        &["runs", "show", "last", "--canonical"],
        &["runs", "report", "last"],
        &["runs", "report", "last", "--json"],
        &["runs", "report", "last", "--html"],
        &["runs", "report", "last", "-o", "report.html"],
        &["runs", "attest", "last"],
        &["runs", "attest", "last", "-o", "attestation.json"],
        &["runs", "verify", "last"],
        &["replay", "last"],
        &["verify", "last"],
    ] {
        silent(arguments, site.nrv(arguments).exits(0));
    }
    for file in ["report.html", "attestation.json"] {
        assert!(!holds(&site.read(file)), "{file} shows the secret");
        fs::remove_file(site.path(file)).unwrap();
    }
    search_beside(&site, NAMED);
    let slim = unpacked(&site, &[]);
    assert!(!holds(&slim) && slim.len() > 1000, "{} bytes", slim.len());
    let elsewhere = Site::new(0);
    fs::rename(site.path("run.nrv-run"), elsewhere.path("run.nrv-run")).unwrap();
    silent(&["import"], elsewhere.nrv(&["runs", "import", "run.nrv-run"]).exits(0));
    silent(&["verify"], elsewhere.nrv(&["runs", "verify", "last"]).exits(0));
    silent(&["report"], elsewhere.nrv(&["runs", "report", "last"]).exits(0));
    assert!(holds(&unpacked(&site, &["--with-contents"])), "what is searched for can be found");
    fs::remove_file(site.path("run.nrv-run")).unwrap();
    silent(&["rollback"], site.nrv(&["rollback", "last"]).exits(0));
    assert!(site.tree() == before, "a rollback is exact");
    search_beside(&site, NAMED);
    let rollback = site.runs().pop().unwrap()["run"].as_str().unwrap().to_owned();
    silent(&["rollback"], site.nrv(&["rollback", &rollback]).exits(0));
    assert!(site.tree() == after, "and so is that of a rollback");
}

#[test]
fn a_file_whose_name_is_a_secret_is_looked_at_before_a_confirmation_counts() {
    let site = named();
    let name = format!("kept/{}.txt", canary());
    site.write("a.patch", format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-one\n+two\n"));
    let apply = ["apply", "a.patch", "--allow-dirty", "--json"];
    silent(&apply, site.nrv(&apply).exits(7));
    site.write(&name, "mine\n");
    let refused = silent(&["stale"], site.nrv(&["resume", "last", "--approve", "c1", "--json"])).json();
    assert_eq!(refused["error"]["code"], "stale_preimage", "{refused:#}");
    site.write(&name, "one\n");
    silent(&["fresh"], site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(0));
    assert_eq!(site.read(&name), b"two\n");
    search_beside(&site, NAMED);
}
