//! The policy's bounds of adapters by users: hidden files, words of trust, pins, and the time to read a source.

use super::{BLANKS, apply, program, run, site, with};
use crate::support::site::finished;

#[test]
fn files_that_scripts_may_not_read_are_not_given_to_it() {
    let throws = with(
        "    let n = 0;\n    for file in files {",
        "    for file in files { if file.path.ends_with(\".key.md\") { throw file.text; } }\n    let n = 0;\n    for file in files {",
    );
    let site = site().policy("[paths]\nread_deny = [\"**/*.key.md\"]\n");
    site.write("docs/own.key.md", "hunter2 \n");
    site.script("dta/blanks.rhai", &throws);
    let output = apply(&site).exits(0).json();
    assert_eq!(output["baseline"]["files_skipped"], 1, "{output}");
    assert_eq!(site.read("docs/own.key.md"), b"hunter2 \n");
    site.nrv(&["dta", "verify", "last"]).exits(0);
}

#[test]
fn what_it_may_read_is_told_and_is_not_in_the_workspace() {
    let Some(site) = program::site() else { return };
    let site = site.policy(&format!("{}[exec]\nread = [\"/var/tmp\"]\nsandbox = \"off\"\n", program::TABLE));
    site.nrv(&["approve", "--yes"]).exits(0);
    let lock = String::from_utf8(site.read("nrv.lock")).unwrap();
    assert!(lock.contains("adapters may read `/var/tmp`"), "{lock}");
    let root = site.root();
    for place in [root.join("src"), root.clone(), root.parent().unwrap().to_owned()] {
        std::fs::create_dir_all(&place).unwrap();
        site.write("nrv.toml", format!("{}[exec]\nread = [{:?}]\n", program::TABLE, place));
        run(&site, &program::invocation("dry-run"), &[]).exits(3).says("`exec.read` lets the program");
    }
}

#[test]
fn the_switch_of_commands_does_not_open_adapters() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let mark = outside.path().join("mark");
    let lines = format!("import json, sys, os\ntry:\n    open({mark:?}, 'w')\nexcept OSError:\n    pass\n");
    let text = program::answers(program::COUNTS, program::NOTHING, program::COUNTS);
    let text = text.replace("import json, sys, os\n", &lines);
    let table = format!("{}[exec]\nsandbox = \"off\"\n", program::TABLE);
    let Some(site) = program::site_of(&table, &text) else { return };
    run(&site, &program::invocation("apply"), &["--yes"]).exits(0);
    assert!(!mark.exists());
}

#[test]
fn all_adapters_of_a_file_are_approved_and_a_program_without_one_by_the_policy() {
    let Some(site) = program::site() else { return };
    let other = program::TABLE
        .replace("[adapters.sort_imports]", "[adapters.other]")
        .replace(".py\"]\nglob", ".py\", \"x\"]\nglob");
    let bare =
        "[adapters.bare]\nprogram = [\"/usr/bin/python3\", \"-c\", \"a/../b\", \"s/a//b/\"]\nglob = [\"src/*.py\"]\n";
    let bare = bare.replace("a/../b", "a/b");
    let site = site.policy(&format!("{}{other}{bare}", program::TABLE));
    site.nrv(&["approve", "dta/sort_imports.py", "--yes"]).exits(0);
    let lock = String::from_utf8(site.read("nrv.lock")).unwrap();
    assert!(lock.contains("[adapters.sort_imports]") && lock.contains("[adapters.other]"), "{lock}");
    assert!(!lock.contains("[adapters.bare]"), "{lock}");
    site.nrv(&["approve", "nrv.toml", "--yes"]).exits(0);
    site.nrv(&["approve", "--check"]).exits(0);
    site.commit();
    let narrow = std::fs::read_to_string(site.path("nrv.toml")).unwrap();
    let site = site.policy(&narrow.replace("src/*.py", "**/*"));
    let ran = finished(site.command(&["approve", "--check"]).env("CI", "true").output().unwrap());
    ran.exits(3).says("the adapter `bare` differs from its approval");
}

#[test]
fn keys_of_programs_beside_a_script_are_refused() {
    for key in ["measure_program = [\"/usr/bin/false\"]", "glob = [\"nothing\"]", "work = \"x\""] {
        let site = site().policy(&format!("[adapters.blanks]\n{key}\n"));
        apply(&site).exits(1).says("invalid_policy").says("is for programs alone");
    }
}

#[test]
fn a_long_source_is_broken_and_others_work() {
    let site = site();
    site.script("dta/long.rhai", &format!("{BLANKS}// {}\n", "x".repeat(300 << 10)));
    apply(&site).exits(0);
    site.nrv(&["check", "dta/long.rhai"]).exits(1).says("script_limit");
}
