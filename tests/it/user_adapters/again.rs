//! Records that came from elsewhere, or from another state of the workspace: they bring no judge and no rights of their own.
#![expect(clippy::disallowed_methods, reason = "tests make files")]

use super::{BLANKS, apply, program, run, site};
use crate::support::site::{Ran, Site, finished};

/// Runs where `CI` is set.
fn in_ci(site: &Site, arguments: &[&str]) -> Ran {
    finished(site.command(arguments).env("CI", "true").output().expect("nrv starts"))
}

#[test]
fn a_recorded_program_has_the_rights_of_the_present_policy() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let mark = outside.path().join("mark");
    std::fs::write(&mark, "x").unwrap();
    let lines = format!("import json, sys, os\nopen({mark:?})\n");
    let text = program::answers(program::COUNTS, program::NOTHING, program::COUNTS);
    let text = text.replace("import json, sys, os\n", &lines);
    let read = format!("{}[exec]\nread = [{:?}]\n", program::TABLE, outside.path());
    let Some(site) = program::site_of(&read, &text) else { return };
    run(&site, &program::invocation("apply"), &["--yes"]).exits(0);
    site.nrv(&["dta", "verify", "last"]).exits(0);
    let site = site.policy(program::TABLE);
    let ran = site.nrv(&["dta", "verify", "last"]).exits(4);
    assert!(ran.stdout.contains("ended with status 1"), "the record has brought its rights along: {ran:?}");
    site.nrv(&["verify", "last"]).exits(4);
}

#[test]
fn where_only_approved_adapters_run_a_recorded_one_is_not_asked() {
    let site = site();
    site.nrv(&["approve", "dta/blanks.rhai", "--yes"]).exits(0);
    site.script("dta/blanks.rhai", &format!("{BLANKS}// another one\n"));
    apply(&site).exits(0);
    site.script("dta/blanks.rhai", BLANKS);
    for arguments in [["verify", "last"].as_slice(), &["dta", "verify", "last"]] {
        in_ci(&site, arguments).exits(3).says("not_approved").says("recorded source of `blanks`");
        let ran = site.nrv(arguments).exits(0);
        assert!(ran.stdout.contains("recorded-source"), "{ran:?}");
    }
    apply(&site).exits(0);
    let ran = in_ci(&site, &["verify", "last"]).exits(0);
    assert!(!ran.stdout.contains("recorded-source"), "{ran:?}");
}

#[test]
fn a_run_that_began_locked_goes_on_with_approved_adapters() {
    let site = site();
    let script = "//! Asks.\nconst WORKFLOW = #{ permissions: #{ write: [\"**\"] } };\nnrv.gate.confirm(\"go on\", #{});\n\
        let own = nrv.dta(\"blanks\");\nown.apply(own.propose(#{ target: #{ glob: \"docs/**\" }, params: #{} }))\n";
    site.script("scripts/ask.rhai", script);
    site.nrv(&["approve", "dta/blanks.rhai", "--yes"]).exits(0);
    site.nrv(&["approve", "scripts/ask.rhai", "--grant", "dta.apply", "--yes"]).exits(0);
    site.commit();
    site.nrv(&["run", "--locked", "scripts/ask.rhai"]).exits(7);
    site.script("dta/blanks.rhai", &format!("{BLANKS}// another one\n"));
    site.commit();
    let before = site.tree();
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(3).says("not_approved").says("`blanks`");
    assert!(site.tree() == before);
}

#[test]
fn a_changed_program_that_an_absolute_path_names_does_not_run() {
    let Some(site) = program::site() else { return };
    let table = |program: &str| program::TABLE.replace("\"/usr/bin/python3\", \"dta/sort_imports.py\"", program);
    site.mode("dta/sort_imports.py", 0o755);
    let absolute = format!("{:?}", site.path("dta/sort_imports.py").display().to_string());
    let site = site.policy(&table(&absolute));
    run(&site, &program::invocation("apply"), &["--yes"]).exits(3).says("permission_denied").says("leads to a file");
    let site = site.policy(&table("\"sort_imports.py\""));
    let mut command = site.command(&["dta", "run", "sort_imports", "--input", "input.json", "--yes"]);
    site.write("input.json", program::invocation("apply").to_string());
    let path = format!("{}:/usr/bin:/bin", site.path("dta").display());
    finished(command.env("PATH", path).output().unwrap()).exits(1).says("not_found").says("sort_imports.py");
}
