//! `nrv dta new` and `nrv test`: templates that work, cases of programs, and a verifier that can't fail.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use super::{
    BLANKS,
    program::{SORT, TABLE, answers, site_of},
};
use crate::support::{
    need,
    site::{Ran, Site},
};

/// The names of the checks of the only case.
fn checks(ran: &Ran) -> Vec<String> {
    let checks = ran.json()["cases"][0]["checks"].clone();
    checks.as_array().into_iter().flatten().filter_map(|check| Some(check["name"].as_str()?.to_owned())).collect()
}

fn template(option: &str, program: &str) {
    if !std::path::Path::new("/usr/bin").join(program).exists() {
        need::skip("interpreters");
        return;
    }
    let site = Site::new(0);
    let made = site.nrv(&["dta", "new", "tidy_ends", option, "--json"]).exits(0).json();
    let table = made["table"].as_str().unwrap();
    assert!(table.contains(&format!("program = [\"/usr/bin/{program}\", ")), "{table}");
    let site = site.policy(table);
    let file = made["files"][0].as_str().unwrap();
    site.nrv(&["check", file]).exits(0);
    let ran = site.nrv(&["test", "--json"]).exits(0);
    assert_eq!(checks(&ran), ["outcome", "tree", "measure", "second_pass", "rollback", "determinism"]);
    site.nrv(&["test", "dta/tidy_ends.test/first"]).exits(0);
    site.write("dta/tidy_ends.test/first/expected/a.txt", "other\n");
    site.nrv(&["test", file]).exits(4);
}

#[test]
fn the_template_in_python_works() {
    template("--python", "python3");
}

#[test]
fn the_template_for_node_works() {
    template("--node", "node");
}

#[test]
fn a_missing_interpreter_is_named() {
    let site = Site::new(0);
    let mut command = site.command(&["dta", "new", "tidy_ends", "--node"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_there = ["/usr/bin/node", "/usr/local/bin/node"].iter().any(|place| std::path::Path::new(place).exists());
    assert!(output.status.success() && stderr.contains("there is no `node`") != is_there, "{stderr}");
}

/// A site with the shipped program and a case of it.
fn site_with_case(program: &str, table: &str) -> Option<Site> {
    let site = site_of(table, program)?;
    site.write("dta/sort_imports.test/first/args.json", "{\"target\": {\"glob\": \"**/*.py\"}, \"params\": {}}\n");
    site.write("dta/sort_imports.test/first/input/a.py", "import b\nimport a\n");
    site.write("dta/sort_imports.test/first/expected/a.py", "import a\nimport b\n");
    site.commit();
    Some(site)
}

#[test]
fn a_program_has_cases() {
    let Some(site) = site_with_case(SORT, TABLE) else { return };
    let ran = site.nrv(&["test"]).exits(0);
    assert!(ran.stdout.contains("dta/sort_imports.test/first") && !ran.stderr.contains("are not run"), "{ran:?}");
    site.nrv(&["test", "dta/sort_imports.py"]).exits(0);
    // Without the table it is a stray folder.
    let site = site.policy("");
    site.write("scripts/x.rhai", "1\n");
    site.write("scripts/x.test/one/outcome.json", "{}\n");
    let ran = site.nrv(&["test"]).exits(0);
    assert!(ran.stderr.contains("`dta/sort_imports.test` are not run"), "{ran:?}");
    assert!(ran.stderr.contains("`[adapters.sort_imports]` in `nrv.toml` has to name it"), "{ran:?}");
}

#[test]
fn an_update_expects_no_failure_of_an_adapter() {
    let Some(site) = site_with_case("import sys\nsys.exit('not ready')\n", TABLE) else { return };
    let ran = site.nrv(&["test", "-u"]);
    assert!(ran.code == 4 && ran.stdout.contains("not ready"), "{ran:?}");
    // The script that runs it is nrv's own, so it has no place.
    assert!(!ran.stdout.contains("at dta/sort_imports.py:"), "{ran:?}");
    assert!(!site.path("dta/sort_imports.test/first/outcome.json").exists());
}

#[track_caller]
fn cannot_fail(ran: &Ran) {
    assert!(ran.code == 4 && ran.stdout.contains("`measure` and `expect` can't fail"), "{ran:?}");
}

#[test]
fn a_measure_that_cannot_fail_is_named() {
    let site = Site::new(0);
    site.nrv(&["dta", "new", "tidy_ends"]).exits(0);
    let source = String::from_utf8(site.read("dta/tidy_ends.rhai")).unwrap();
    let count = "    #{ blanks: n }\n";
    assert!(source.matches(count).count() == 2 && source.contains("if after.blanks == 0 {"), "{source}");
    let constant = source.replace(count, "    #{ blanks: 7 }\n").replace("if after.blanks == 0 {", "if true {");
    site.script("dta/tidy_ends.rhai", &constant);
    cannot_fail(&site.nrv(&["test"]));
    // Counts that are right, and that nobody expects to change.
    site.script("dta/tidy_ends.rhai", &source.replace("if after.blanks == 0 {", "if true {"));
    cannot_fail(&site.nrv(&["test"]));
    site.script("dta/tidy_ends.rhai", &source);
    site.nrv(&["test"]).exits(0);
}

#[test]
fn an_error_of_its_functions_has_their_place() {
    let site = Site::new(0);
    site.nrv(&["dta", "new", "tidy_ends"]).exits(0);
    let source = String::from_utf8(site.read("dta/tidy_ends.rhai")).unwrap();
    let propose = "fn propose(input, path, text) {\n";
    let at = source[..source.find(propose).unwrap()].matches('\n').count() + 2;
    site.script("dta/tidy_ends.rhai", &source.replace(propose, &format!("{propose}    throw \"oops\";\n")));
    let ran = site.nrv(&["test"]).exits(4);
    assert!(ran.stdout.contains(&format!("at dta/tidy_ends.rhai:{at}:5")), "{ran:?}");
    site.script("dta/tidy_ends.rhai", &source.replace("    out\n}", "    out + \"!\"\n}"));
    let ran = site.nrv(&["test"]).exits(4);
    assert!(ran.stdout.contains("is not idempotent") && !ran.stdout.contains("at dta/tidy_ends.rhai:"), "{ran:?}");
}

#[test]
fn a_program_that_measures_a_constant_is_named() {
    let constant = answers(
        "{'counts': {'unsorted': 1}}",
        "{'files': [{'path': f['path'], 'text': 'import a\\nimport b\\n'} for f in files]}",
        "{'counts': {'unsorted': 1}}",
    );
    let table = TABLE.replace("work = \"unsorted\"\n", "");
    let Some(site) = site_with_case(&constant, &table) else { return };
    cannot_fail(&site.nrv(&["test"]));
}

#[test]
fn it_is_no_script() {
    let site = super::site_of(BLANKS);
    for arguments in [&["run", "dta/blanks.rhai"][..], &["plan", "dta/blanks.rhai", "-o", "plan.json"]] {
        let ran = site.nrv(arguments);
        assert!(ran.code == 1 && ran.stderr.contains("`dta/blanks.rhai` is an adapter, not a script"), "{ran:?}");
        assert!(ran.stderr.contains("nrv dta run blanks"), "{ran:?}");
    }
}
