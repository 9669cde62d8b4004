//! `nrv.apply` under policy, header and strict tools, and the dry run of a whole workflow.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use crate::support::site::{NEW, OLD, Site, invocation};

fn workflow(permissions: &str, body: &str) -> String {
    format!("const WORKFLOW = #{{ name: \"apply\", permissions: #{{ {permissions} }} }};\n{body}\n")
}

/// The error of a script that has to fail; nothing may change.
#[track_caller]
fn refused(site: &Site, text: &str, exit: i32, code: &str, words: &str) -> Value {
    site.script("t.rhai", text);
    let before = site.tree();
    let ran = site.nrv(&["run", "t.rhai", "--json"]).exits(exit);
    assert!(site.tree() == before, "something changed");
    let error = ran.json()["error"].clone();
    assert_eq!(error["code"], code, "{error:#}");
    assert!(error["message"].as_str().unwrap().contains(words), "{error:#}");
    error
}

const WRITE: &str = "nrv.apply.write(\"site/a/p0.html\", \"x\", nrv.files.sha256(\"site/a/p0.html\"))";

#[test]
fn a_script_writes_what_its_header_permits() {
    let site = Site::new(2);
    refused(&site, WRITE, 3, "permission_denied", "without `permissions.write` a script only reads");
    refused(&site, &workflow("", WRITE), 3, "permission_denied", "without `permissions.write`");
    refused(&site, &workflow("write: [\"docs/**\"]", WRITE), 3, "permission_denied", "no glob of its");
    site.script("t.rhai", &workflow("write: [\"site/**\"]", WRITE));
    site.nrv(&["run", "t.rhai"]).exits(0);
    assert_eq!(site.read("site/a/p0.html"), b"x");
}

#[test]
fn a_refusal_can_not_be_caught_and_is_recorded() {
    let site = Site::new(2);
    let body = format!("try {{ {WRITE} }} catch {{ }}\nnrv.apply.create(\"docs/x\", \"x\");");
    refused(&site, &workflow("write: [\"docs/**\"]", &body), 3, "permission_denied", "p0.html");
    let shown = site.nrv(&["runs", "show", "last", "--json"]).exits(0).json();
    let records = shown["records"].as_array().unwrap();
    let ended = records.iter().find(|record| record["kind"] == "run_finished").unwrap();
    assert_eq!(ended["data"]["violations"][0]["triggered_rules"], json!(["header.permissions.write"]));
}

#[test]
fn under_strict_tools_the_files_of_an_adapter_are_its_own() {
    let site = Site::new(2).policy("[adapters]\nstrict_tools = true\n");
    let permits = "write: [\"**\"]";
    let error =
        refused(&site, &workflow(permits, WRITE), 3, "permission_denied", "belongs to the adapter `link_updater`");
    assert_eq!(error["details"]["rules"], json!(["adapters.strict_tools"]));
    refused(&site, &workflow(permits, "nrv.apply.create(\"new/x.HTML\", \"x\")"), 3, "permission_denied", "x.HTML");
    site.script("t.rhai", &workflow(permits, "nrv.apply.create(\"notes.rs\", \"x\")"));
    site.nrv(&["run", "t.rhai"]).exits(0);
    for name in ["a.md", "a.css", "a.svg", "a.txt", "a.json", "a.yaml", "a.toml"] {
        refused(
            &site,
            &workflow(permits, &format!("nrv.apply.create(\"{name}\", \"x\")")),
            3,
            "permission_denied",
            name,
        );
    }
    site.commit();
    site.migrate(&[]).exits(0);
}

#[test]
fn under_strict_tools_a_command_may_not_change_the_files_of_an_adapter_either() {
    let policy = "[adapters]\nstrict_tools = true\n[[exec.allow]]\nprefix = [\"touch\"]\n";
    let site = Site::new(2).policy(policy);
    for (name, code) in [("new.html", 3), ("new.rs", 0)] {
        let run = format!("nrv.exec.check(#{{ program: \"touch\", args: [\"{name}\"], writes: [\"**\"] }})");
        site.script("t.rhai", &workflow("write: [\"**\"], exec: [\"touch\"]", &run));
        site.nrv(&["run", "t.rhai"]).exits(code);
        assert_eq!(site.path(name).exists(), code == 0);
    }
}

#[test]
fn every_command_that_changes_files_takes_the_flag() {
    let patch = "--- /dev/null\n+++ b/new.html\n@@ -0,0 +1 @@\n+x\n";
    let edit = ["edit", "update_text_content", "--path", "site/a/p0.html", "--line", "2", "--old", "p0", "--new", "q0"];
    for (arguments, stdin) in [(&["apply", "-"][..], patch), (&edit, "")] {
        for (flag, code) in [(&["--strict-tools"][..], 3), (&[], 0)] {
            let site = Site::new(2).policy("[adapters]\napproved = ['link_updater']\n");
            let ran = site.nrv_with(&[arguments, &["--yes"], flag].concat(), stdin).exits(code);
            assert_eq!(ran.stderr.contains("belongs to the adapter `link_updater`"), code == 3, "{ran:?}");
        }
    }
    let site = Site::new(2);
    let input = invocation("site/**", OLD, NEW).to_string();
    let run = ["dta", "run", "link_updater", "--input", "-", "--strict-tools", "--yes"];
    site.nrv_with(&run, &input).exits(0);
}

#[test]
fn a_flag_makes_tools_strict_for_one_run() {
    let site = Site::new(2);
    site.script("t.rhai", &workflow("write: [\"**\"]", WRITE));
    for arguments in [&["run", "t.rhai", "--strict-tools"][..], &["plan", "t.rhai", "--strict-tools", "-o", "-"]] {
        let ran = site.nrv(arguments).exits(3).says("belongs to the adapter `link_updater`");
        ran.says("a run with strict tools").says("use `nrv.dta(\"link_updater\")`");
    }
    site.migrate(&["--strict-tools", "--dry-run"]).exits(0);
    site.nrv(&["run", "t.rhai"]).exits(0);
}

#[test]
fn gates_and_budgets_hold_for_what_a_script_proposes() {
    let lines = "[gates.diff_size]\nblock_lines = 3\n";
    let three = "nrv.apply.create(\"n.txt\", \"1\\n2\\n3\\n\")";
    let four = "nrv.apply.create(\"n.txt\", \"1\\n2\\n3\\n4\\n\")";
    let site = Site::new(1).policy(lines);
    refused(&site, &workflow("write: [\"**\"]", four), 3, "blocked", "`n.txt` changes 4 lines");
    site.script("t.rhai", &workflow("write: [\"**\"]", three));
    site.nrv(&["run", "t.rhai"]).exits(0);
    let site = Site::new(1).policy("[budget]\nfiles = 1\n");
    let two = format!("{three};\nnrv.apply.create(\"m.txt\", \"1\")");
    refused(&site, &workflow("write: [\"**\"]", &two), 6, "budget_exhausted", "`files` is spent: limit 1");
    // Backups are files like others.
    let backup = "nrv.apply.diff(#{ path: \"site/a/p0.html\", unified_diff: nrv.diff.render(\"site/a/p0.html\", \
         nrv.files.read(\"site/a/p0.html\"), \"x\\n\"), strategy: #{ write_backup: \".bak\" } })";
    refused(&site, &workflow("write: [\"**\"]", backup), 6, "budget_exhausted", "`files` is spent: limit 1");
}

#[test]
fn what_a_script_may_not_read_it_does_not_learn_from_a_refusal() {
    let site = Site::new(1);
    site.write(".env", "TOKEN=abcdef\n");
    let guess = "nrv.apply.diff(#{ path: \".env\", unified_diff: \"--- a/.env\\n+++ b/.env\\n@@ -1 +1 @@\\n-TOKEN=x\\n+TOKEN=y\\n\" })";
    let error = refused(&site, &workflow("write: [\"**\"]", guess), 1, "patch_rejected", "of which nothing is shown");
    assert!(!error.to_string().contains("abcdef"), "{error:#}");
    let known = site.nrv(&["runs", "show", "last", "--json"]).exits(0);
    assert!(!known.stdout.contains("abcdef"));
    let away = "diff --git a/.env b/open.txt\\nrename from .env\\nrename to open.txt\\n";
    for (diff, more) in [(away, ""), (&away.replace("rename", "copy"), ""), (away, ", checksum: \"x\"")] {
        let call = format!("nrv.apply.diff(#{{ path: \".env\", unified_diff: \"{diff}\"{more} }})");
        let code = if more.is_empty() { (3, "permission_denied") } else { (1, "invalid_input") };
        refused(&site, &workflow("write: [\"**\"]", &call), code.0, code.1, "");
    }
    site.write("server.key", "secret\n");
    let backup = "nrv.apply.diff(#{ path: \"server.key\", unified_diff: \"--- a/server.key\\n+++ b/server.key\\n@@ -1 +1 @@\\n-secret\\n+x\\n\", strategy: #{ write_backup: \".txt\" } })";
    refused(&site, &workflow("write: [\"**\"]", backup), 3, "permission_denied", "`server.key` may not be read");
}

#[test]
fn what_a_transaction_would_refuse_a_preview_refuses() {
    let site = Site::new(2);
    site.mode("site/a/p0.html", 0o444);
    for dry in [&["--dry-run"][..], &[]] {
        site.script("t.rhai", &workflow("write: [\"**\"]", WRITE));
        let error = site.nrv(&[&["run", "t.rhai", "--json"], dry].concat()).exits(1).json()["error"].clone();
        assert_eq!(error["code"], "unwritable", "{error:#}");
        assert!(error["message"].as_str().unwrap().contains("is read-only"));
    }
    site.mode("site/a/p0.html", 0o644);
    fs::hard_link(site.path("site/a/p0.html"), site.path("twin")).unwrap();
    site.commit();
    for dry in [&["--dry-run"][..], &[]] {
        let error = site.nrv(&[&["run", "t.rhai", "--json"], dry].concat()).exits(1).json()["error"].clone();
        assert_eq!(error["code"], "unwritable", "{error:#}");
    }
    let preview = "nrv.apply.diff(#{ path: \"site/a/p0.html\", unified_diff: nrv.diff.render(\"site/a/p0.html\", \
         nrv.files.read(\"site/a/p0.html\"), \"x\\n\") })";
    refused(&site, &workflow("write: [\"**\"]", preview), 1, "unwritable", "p0.html");
}

/// A workflow in which every step needs the changes of the one before: files, globs, greps, diffs and an adapter.
fn whole() -> String {
    let diff = |name: &str| {
        format!(
            "nrv.diff.render(\"{name}\", nrv.files.read(\"{name}\"), nrv.files.read(\"{name}\") + \"<!-- end -->\\n\")"
        )
    };
    workflow(
        "write: [\"**\"]",
        &format!(
            "let page = nrv.files.read(\"site/a/p0.html\");
nrv.apply.create(\"site/new/n.html\", page);
nrv.apply.create(\"site/new/gone.html\", page);
nrv.apply.rename(\"site/b/p1.html\", \"site/moved/p1.html\", nrv.files.sha256(\"site/b/p1.html\"));
nrv.apply.diff(#{{ path: \"site/a/p0.html\", unified_diff: {one}, strategy: \"write\" }});
let pages = nrv.files.glob(\"site/**/*.html\");
let links = nrv.dta(\"link_updater\");
let moved = links.apply(links.propose(#{{ target: #{{ glob: \"site/**/*.html\" }},
    params: #{{ from_hosts: [\"{OLD}\"], to_host: \"https://{NEW}\" }} }}));
nrv.apply.diff(#{{ path: \"site/new/n.html\", unified_diff: {two}, strategy: \"write\" }});
nrv.apply.remove(\"site/new/gone.html\", nrv.files.sha256(\"site/new/gone.html\"));
nrv.apply.remove(\"site/a/p2.html\", nrv.files.sha256(\"site/a/p2.html\"));
let again = nrv.files.read(\"site/b/p3.html\");
nrv.apply.write(\"site/b/p3.html\", again + \"x\\n\", nrv.files.sha256(\"site/b/p3.html\"));
nrv.apply.write(\"site/b/p3.html\", again, nrv.files.sha256(\"site/b/p3.html\"));
#{{ pages: pages, moved: moved.proposed_changes, hits: nrv.files.grep(\"<!-- end -->\", \"**\").len, left: nrv.files.glob(\"site/**\") }}",
            one = diff("site/a/p0.html"),
            two = diff("site/new/n.html"),
        ),
    )
}

#[test]
fn a_dry_run_of_a_whole_workflow_is_one_patch_of_what_the_run_does() {
    let site = Site::new(6).policy("[evaluators]\nfail = []\n");
    site.script("t.rhai", &whole());
    let before = site.tree();
    let dry = site.nrv(&["run", "t.rhai", "--json", "--dry-run"]).exits(0).json();
    assert!(site.tree() == before);
    let patch = dry["patch"].as_str().unwrap();
    site.git(&["apply", "--check", patch]);
    assert_eq!(dry["result"]["pages"].as_array().unwrap().len(), 8);
    let twin = Site::new(6).policy("[evaluators]\nfail = []\n");
    twin.script("t.rhai", &whole());
    twin.git(&["apply", &site.path(patch).display().to_string()]);
    let run = site.nrv(&["run", "t.rhai", "--json", "--yes"]).exits(0).json();
    assert_eq!(run["result"], dry["result"]);
    let modes = |mut tree: crate::support::site::Tree| {
        tree.retain(|_, (kind, _, _)| *kind != 'd');
        tree
    };
    assert!(modes(site.tree()) == modes(twin.tree()), "the patch makes what the run makes");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn a_dry_run_leaves_the_tree_alone_whatever_the_script_tries() {
    let site = Site::new(4).policy("[evaluators]\nfail = []\n");
    symlink("../outside", site.path("out")).unwrap();
    let attempts = [
        "nrv.apply.create(\"x/y/z.txt\", \"x\")",
        "nrv.apply.plan(#{ diffs: [#{ path: \"s\", unified_diff: \"diff --git a/s b/s\\nnew file mode 120000\\n--- /dev/null\\n+++ b/s\\n@@ -0,0 +1 @@\\n+site\\n\\\\ No newline at end of file\\n\" }] }, \"write\")",
        "nrv.apply.create(\"s/new.txt\", \"x\")",
        "nrv.apply.create(\"out/new.txt\", \"x\")",
        "nrv.apply.create(\"site/a/p0.html/x\", \"x\")",
        "nrv.apply.remove(\"site/b/p1.html\", nrv.files.sha256(\"site/b/p1.html\"))",
        "nrv.apply.create(\"site/b/p1.html/x\", \"x\")",
        "nrv.apply.rename(\"site/a/p0.html\", \"site/a/q.html\", nrv.files.sha256(\"site/a/p0.html\"))",
        "nrv.apply.plan(#{ diffs: [#{ path: \"site/a/q.html\", unified_diff: \"diff --git a/site/a/q.html b/site/a/q.html\\nold mode 100644\\nnew mode 100755\\n\" }] }, #{ write_backup: \"~\" })",
        "nrv.apply.write(\"site/a/q.html\", \"x\", nrv.files.sha256(\"site/a/q.html\"))",
    ];
    let tries: Vec<_> = attempts
        .iter()
        .map(|attempt| format!("try {{ {attempt}; done += 1; }} catch (e) {{ said.push(e.code); }}"))
        .collect();
    site.script(
        "t.rhai",
        &workflow(
            "write: [\"**\"]",
            &format!("let done = 0; let said = [];\n{}\n#{{ done: done, said: said }}", tries.join("\n")),
        ),
    );
    let before = site.tree();
    let dry = site.nrv(&["run", "t.rhai", "--json", "--dry-run"]).exits(0).json();
    assert!(site.tree() == before);
    assert!(dry["result"]["done"].as_u64().unwrap() >= 5, "{:#}", dry["result"]);
    site.git(&["apply", "--check", dry["patch"].as_str().unwrap()]);
    let run = site.nrv(&["run", "t.rhai", "--json"]).exits(0).json();
    assert!(!site.root().join("../outside").exists());
    site.last_ended("done");
    assert_eq!(run["result"], dry["result"], "a dry run refuses what the run refuses");
    assert_eq!(run["files_changed"], dry["files_changed"]);
}
