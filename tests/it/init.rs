//! `nrv init`: the first files of a workspace, which are never overwritten.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use nrv::system::schema::Schema;
use serde_json::{Value, json};

use crate::support::site::{MIGRATE, Site, Tree, finished};

const FILES: [&str; 3] = [".gitignore", "nrv.toml", "scripts/migrate_links.rhai"];

fn files(tree: &Tree) -> Vec<&str> {
    tree.iter().filter(|(_, (kind, ..))| *kind != 'd').map(|(name, _)| name.as_str()).collect()
}

/// Path and action of each file.
fn actions(document: &Value) -> Vec<(&str, &str)> {
    let rows = document["files"].as_array().unwrap().iter();
    rows.map(|row| (row["path"].as_str().unwrap(), row["action"].as_str().unwrap())).collect()
}

#[test]
fn an_empty_folder_becomes_a_workspace_that_works() {
    let site = Site::empty();
    let dry = site.nrv(&["init", "--dry-run"]).exits(0).says("Nothing was written");
    assert!(dry.stdout.contains("+++ b/nrv.toml") && site.tree().is_empty(), "{dry:?}");
    site.nrv(&["init"]).exits(0).says("nrv doctor");
    assert_eq!(files(&site.tree()), FILES);
    assert_eq!(site.read(".gitignore"), b".runs/\n");
    let made = site.tree();
    let again = site.nrv(&["init"]).exits(0).says("nothing was written");
    assert!(again.stdout.contains("it is there already"), "{again:?}");
    assert!(site.tree() == made);
    let help = site.nrv(&["run", FILES[2], "--help"]).exits(0);
    assert!(help.stdout.starts_with("Moves every link"), "{help:?}");
    site.write("site/a.html", "<a href=\"http://old.example.com/\">a</a>\n");
    site.migrate(&["--dry-run"]).exits(0).says("1 file would change");
    site.nrv(&["doctor"]).exits(0);
    site.migrate(&[]).exits(0);
}

#[test]
fn a_new_repository_stays_clean_after_runs() {
    let site = Site::new(3);
    site.nrv(&["init"]).exits(0);
    site.commit();
    site.nrv(&MIGRATE).exits(0);
    let status = site.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(!status.contains(".runs") && status.contains("site/a/p0.html"), "{status}");
}

#[test]
fn what_is_there_is_kept_and_named() {
    let site = Site::empty();
    site.write("nrv.toml", "[budget]\nfiles = 7\n");
    site.write("scripts/migrate_links.rhai", "1");
    let before = site.tree();
    let document = site.nrv(&["init", "--json"]).exits(0).json();
    let kept = [(".gitignore", "make"), ("nrv.toml", "keep"), ("scripts/migrate_links.rhai", "keep")];
    assert_eq!(actions(&document), kept);
    assert_eq!(document["files"][1]["reason"], "it is there already");
    for name in ["nrv.toml", "scripts/migrate_links.rhai"] {
        assert_eq!(site.tree()[name], before[name], "{name}");
    }
}

#[test]
fn the_ignore_file_gets_a_line_once() {
    for (before, after) in [
        ("out\n", Some("out\n.runs/\n")),
        ("out", Some("out\n.runs/\n")),
        ("out\r\n*.log", Some("out\r\n*.log\r\n.runs/\r\n")),
        ("", Some(".runs/\n")),
        (".runs\n", None),
        ("/.runs/", None),
        (".r*\r\n", None),
    ] {
        let site = Site::empty();
        site.write(".gitignore", before);
        site.mode(".gitignore", 0o600);
        for _ in 0..2 {
            site.nrv(&["init"]).exits(0);
            assert_eq!(site.read(".gitignore"), after.unwrap_or(before).as_bytes(), "{before:?}");
        }
        assert_eq!(site.tree()[".gitignore"].1, 0o600, "its mode stays");
    }
}

#[test]
fn links_are_not_followed_and_odd_files_are_left_alone() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("ignore"), "x\n").unwrap();
    let site = Site::empty();
    symlink(outside.path(), site.path("scripts")).unwrap();
    symlink(outside.path().join("policy"), site.path("nrv.toml")).unwrap();
    symlink(outside.path().join("ignore"), site.path(".gitignore")).unwrap();
    let before = site.tree();
    let document = site.nrv(&["init", "--json"]).exits(0).json();
    assert!(actions(&document).iter().all(|(_, action)| *action == "keep"), "{document:#}");
    assert!(document["files"].to_string().contains("`scripts` is a link"), "{document:#}");
    assert!(site.tree() == before);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read(outside.path().join("ignore")).unwrap(), b"x\n");

    let site = Site::empty();
    site.write("scripts", "a file");
    site.write(".gitignore", "x\n");
    site.mode(".gitignore", 0o444);
    let document = site.nrv(&["init", "--json"]).exits(0).json();
    let expected = [("nrv.toml", "make"), ("scripts/migrate_links.rhai", "keep"), (".gitignore", "keep")];
    assert_eq!(actions(&document), expected);
    assert_eq!(document["next"], json!(["nrv doctor"]), "the script could not be written");
    assert!(document["files"][2]["reason"].as_str().unwrap().contains("read-only; add the line `.runs/` yourself"));
}

#[test]
fn a_folder_that_can_not_be_written_is_an_error_and_nothing_is_half_done() {
    // `scripts` can't be written, and it comes after the policy.
    for read_only in [".", "scripts"] {
        let mut site = Site::empty();
        fs::create_dir(site.path("scripts")).unwrap();
        if !site.become_plain_user() {
            return;
        }
        let before = site.tree();
        site.mode(read_only, 0o555);
        let ran = site.nrv(&["init"]).exits(1).says("its folder is read-only").says("nothing was changed");
        assert!(ran.stdout.is_empty(), "{ran:?}");
        site.mode(read_only, 0o755);
        assert!(files(&site.tree()).is_empty() && files(&before).is_empty(), "{:?}", files(&site.tree()));
    }
}

#[test]
fn the_root_is_the_repositorys_wherever_it_is_called() {
    let site = Site::new(1);
    site.write("deep/er/x.txt", "");
    let mut command = site.command(&["init"]);
    let output = command.current_dir(site.path("deep/er")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("it is the nearest folder above that holds `.git`"), "{said}");
    assert!(site.path("nrv.toml").is_file() && !site.path("deep/er/nrv.toml").exists());
    site.nrv(&["init", "--root", "deep"]).exits(0).says("`--root` names it");
    assert!(site.path("deep/nrv.toml").is_file());
    site.nrv(&["init", "--root", "missing"]).exits(1).says("can't be opened");
}

#[test]
fn the_policy_fits_its_schema() {
    let site = Site::empty();
    site.nrv(&["init"]).exits(0);
    let text = String::from_utf8(site.read("nrv.toml")).unwrap();
    let document: toml_edit::DocumentMut = text.parse().unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../schemas/policy.schema.json")).unwrap();
    Schema::compile(&schema).unwrap().check(&as_json(document.as_item())).unwrap();
    assert!(text.lines().count() < 60, "it stays short");
}

#[test]
fn a_repository_gets_rules_on_commands_for_what_it_uses_and_no_more_of_the_home_than_that() {
    let site = Site::empty();
    site.write("Cargo.toml", "[package]\n");
    site.write("package.json", "{\"scripts\": {\"test\": \"node --test\", \"deploy\": \"x\"}}");
    let home = site.root().parent().unwrap().to_owned();
    for folder in [".cargo/bin", ".cargo/registry", ".nvm", ".pyenv", ".ssh"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    fs::write(home.join(".cargo/credentials.toml"), "").unwrap();
    // The machine may have none of the programs, or all.
    let programs = home.join("bin");
    fs::create_dir(&programs).unwrap();
    for name in ["cargo", "npm"] {
        fs::write(programs.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    finished(site.command(&["init"]).env("PATH", &programs).output().unwrap()).exits(0);
    let text = String::from_utf8(site.read("nrv.toml")).unwrap();
    let document: toml_edit::DocumentMut = text.parse().unwrap();
    let document = as_json(document.as_item());
    let schema: Value = serde_json::from_str(include_str!("../../schemas/policy.schema.json")).unwrap();
    Schema::compile(&schema).unwrap().check(&document).unwrap();
    let exec = &document["exec"];
    assert_eq!(exec["read"], json!(["~/.cargo/bin", "~/.cargo/registry", "~/.nvm"]));
    assert_eq!(exec["scratch"], json!(["target/**", "**/node_modules/**"]));
    let prefixes: Vec<&Value> = exec["allow"].as_array().unwrap().iter().map(|rule| &rule["prefix"]).collect();
    let cargo = json!(["cargo", ["build", "check", "clippy", "test"]]);
    assert_eq!(prefixes, [&cargo, &json!(["cargo", "fmt"]), &json!(["npm", "test"]), &json!(["npm", "run", "test"])]);
    assert!(text.contains("# prefix = [\"rustfmt\"]\n"), "what is not installed is only shown: {text}");
    assert!(text.contains("there were 2 files when this was written"), "{text}");
    site.nrv(&["doctor"]).exits(0).stdout.contains("4 rules").then_some(()).expect("doctor counts the rules");
}

fn as_json(item: &toml_edit::Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table
            .iter()
            .map(|(key, item)| (key.to_owned(), as_json(item)))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| as_json(&toml_edit::Item::Table(table.clone()))).collect();
    }
    match item.as_value().unwrap() {
        toml_edit::Value::Array(values) => {
            values.iter().map(|value| as_json(&toml_edit::Item::Value(value.clone()))).collect()
        }
        toml_edit::Value::Boolean(value) => json!(value.value()),
        toml_edit::Value::Integer(value) => json!(value.value()),
        value => json!(value.as_str().unwrap()),
    }
}
