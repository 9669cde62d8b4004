//! `nrv check`: errors of a script, in words that a newcomer can act on.
//!
//! Each folder of `tests/scenarios/check` is a workspace with `script.rhai` and the expected output; `NRV_BLESS=1` writes that.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use nrv::{
    Calls, CustomCall,
    base::{error::Error, path::RepoPath},
    host::{Context, Options},
    script::{self, Checked},
    system::workspace::Workspace,
};
use serde_json::{Value, json};

use crate::{repository, support::site::Site};

/// The file with the expected output, which is no part of the workspace.
const EXPECTED: &str = "expected.txt";

/// The names of the scenarios.
fn scenarios() -> BTreeSet<String> {
    let folder = repository::root().join("tests/scenarios/check");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Copies the files of a scenario into a workspace.
fn copy(from: &Path, site: &Site, below: &str) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), site, &format!("{name}/"));
        } else if name != EXPECTED {
            site.write(&name, fs::read(entry.path()).unwrap());
        }
    }
}

/// A workspace of one script and perhaps a module.
fn checked(files: &[(&str, &str)], arguments: &[&str]) -> Value {
    let site = Site::empty();
    site.write("nrv.toml", "");
    files.iter().for_each(|(path, text)| site.write(path, text));
    site.nrv(&[&["check", files[0].0], arguments].concat()).json()
}

/// The rules of the findings of one script.
fn rules(document: &Value, list: &str) -> Vec<String> {
    let found = document["scripts"][0][list].as_array().unwrap();
    found.iter().map(|error| error["details"]["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_wrong_script_is_told_what_to_do() {
    let bless = std::env::var_os("NRV_BLESS").is_some();
    let mut different = Vec::new();
    for name in scenarios() {
        let folder = repository::root().join("tests/scenarios/check").join(&name);
        let site = Site::empty();
        site.write("nrv.toml", "");
        copy(&folder, &site, "");
        let ran = site.nrv(&["check", "script.rhai"]);
        assert_eq!(ran.stdout, "", "{name}");
        let said = format!("{}exit {}\n", ran.stderr, ran.code);
        if bless {
            fs::write(folder.join(EXPECTED), &said).unwrap();
        }
        let expected = fs::read_to_string(folder.join(EXPECTED)).unwrap_or_default();
        if said != expected {
            different.push(format!("{name}:\n{said}instead of:\n{expected}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn every_wrong_script_says_where_and_what_next() {
    for name in scenarios() {
        let expected = repository::text(&format!("tests/scenarios/check/{name}/{EXPECTED}")).unwrap_or_default();
        let findings = expected.matches("error[").count() + expected.matches("warning[").count();
        assert!(findings > 0, "{name}: nothing is found");
        assert_eq!(expected.matches(".rhai:").count(), findings, "{name}: a finding has no place\n{expected}");
        assert!(expected.matches("= help: ").count() >= findings, "{name}: a finding has no hint\n{expected}");
    }
}

#[test]
fn nothing_is_wrong_with_the_shipped_scripts() {
    let is_shipped = |path: &String| {
        path.ends_with(".rhai") && ["scripts/", "examples/", "stdlib/"].iter().any(|folder| path.starts_with(folder))
    };
    let scripts: Vec<String> = repository::files().into_iter().filter(is_shipped).collect();
    assert!(scripts.len() > 5);
    // Sources of modules that are shipped name each other as such.
    let mut command = Command::new(repository::nrv());
    let ran = command.current_dir(repository::root()).args(["check", "--json"]).args(&scripts).output().unwrap();
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    for script in document["scripts"].as_array().unwrap() {
        assert_eq!((&script["errors"], &script["warnings"]), (&json!([]), &json!([])), "{}", script["script"]);
    }
    assert_eq!((document["ok"].as_bool(), ran.status.code()), (Some(true), Some(0)));
}

#[test]
fn a_protected_file_that_the_policy_permits_is_no_finding() {
    let text = "const WORKFLOW = #{ permissions: #{ write: [\"**\"] } };\nnrv.apply.create(\".envrc\", \"x\\n\");\n\
                nrv.apply.create(\".vimrc\", \"x\\n\");";
    let site = Site::empty();
    site.write("script.rhai", text);
    let found = |policy: &str| {
        site.write("nrv.toml", policy);
        let document = site.nrv(&["check", "script.rhai", "--json"]).json();
        let errors = document["scripts"][0]["errors"].as_array().unwrap().clone();
        errors.iter().map(|error| error["message"].as_str().unwrap().split(' ').next().unwrap().to_owned()).collect()
    };
    let none: Vec<String> = found("");
    assert_eq!(none, ["`.envrc`", "`.vimrc`"]);
    let one: Vec<String> = found("[paths]\nallow_protected = ['.envrc']");
    assert_eq!(one, ["`.vimrc`"]);
    let both: Vec<String> = found("[paths]\nallow_protected = ['.envrc', '.vimrc']");
    assert_eq!(both, Vec::<String>::new());
    let ran = site.nrv(&["run", "script.rhai", "--allow-dirty", "--yes"]).exits(0);
    assert!(!ran.stderr.contains("protected"), "{ran:?}");
}

#[test]
fn a_script_that_is_not_there_has_one_that_may_be_meant() {
    let site = Site::empty();
    site.write("nrv.toml", "");
    site.write("scripts/migrate.rhai", "1\n");
    for (name, words) in [
        ("migrate", "did you mean `scripts/migrate.rhai`?"),
        ("migrate.rhai", "did you mean `scripts/migrate.rhai`?"),
        ("scripts/migrate", "did you mean `scripts/migrate.rhai`?"),
        ("scripts/migrte.rhai", "did you mean `scripts/migrate.rhai`?"),
        ("else", "`nrv scripts` lists"),
    ] {
        for command in [&["run", name][..], &["check", name], &["plan", name, "-o", "-"]] {
            site.nrv(command).exits(1).says(&format!("`{name}` does not exist")).says(words);
        }
    }
}

#[test]
fn what_may_be_meant_is_not_complained_about() {
    for text in [
        // A closure in a map is called like a method.
        "let m = #{ visit: |x| x }; m.visit(1)",
        "let m = #{}; m[\"visit\"] = |x| x; m.visit(1)",
        // A function may be called by its name, and with `this`.
        "fn twice() { this * 2 } let n = 2; n.twice() + Fn(\"twice\").call(n)",
        "fn plus(a) { this + a } let n = 2; [n.plus(1), call(Fn(\"plus\"), 1)]",
        // A variable that only a closure or an interpolated text reads, or the value of a `break`.
        "let n = 1; let f = || n; let t = `${n}`; f.call() + t",
        "let found = loop { let n = 3; break n; }; found",
        // Several values of one `switch` share a block.
        "switch args.x { 1 | 2 => nrv.files.exists(\"a\"), _ => 0 }",
        "const TO = 1; fn f() { global::TO } f()",
        "for (item, at) in [1, 2] { print(`${item} ${at}`); }",
        "let text = \"costs ${5} or $n\"; text",
        "while true { if args.x { break; } } 1",
        "try { throw 1; } catch (why) { print(why); }",
        "let links = if args.x { nrv.dta(\"a\") } else { nrv.dta(\"b\") }; links.describe()",
        "let x = 1.0; nrv.run.metric(\"x\", x); nrv.run.metric(\"y\", 1)",
        "let outcome = nrv.files.stat(\"a\"); outcome.more = 1; outcome.more",
        "let outcome = nrv.files.stat(\"a\"); outcome.set(\"more\", 1); outcome.more",
        "import \"std/report\" as report; print(report::summary(#{}))",
    ] {
        let site = Site::empty();
        site.write("nrv.toml", "");
        site.write("a.rhai", text);
        let ran = site.nrv(&["check", "a.rhai"]).exits(0);
        assert_eq!(ran.stderr, "1 script checked: nothing is wrong.\n", "{text}");
    }
}

#[test]
fn a_script_that_is_not_there_is_not_called_checked() {
    let site = Site::empty();
    site.write("nrv.toml", "");
    site.write("a.rhai", "1");
    let ran = site.nrv(&["check", "nope.rhai"]).exits(1).says("nope.rhai").says("1 script can't be read.");
    assert!(!ran.stderr.contains("checked"), "{}", ran.stderr);
    let ran = site.nrv(&["check", "a.rhai", "nope.rhai"]).exits(1);
    assert!(ran.stderr.ends_with("1 script checked: nothing is wrong.\n1 script can't be read.\n"), "{}", ran.stderr);
}

#[test]
fn a_module_needs_no_header_and_a_script_answers_for_it() {
    let module = ("lib/m.rhai", "fn save(path, text) { nrv.apply.create(path, text) }");
    let document = checked(&[module], &["--json"]);
    assert_eq!((document["ok"].as_bool(), rules(&document, "warnings").len()), (Some(true), 0));
    let unused = ("a.rhai", "import \"lib/m\" as m;\nprint(m::name(1));");
    let more = (
        "lib/m.rhai",
        "fn save(path, text) { keep(path, text) }\nfn keep(path, text) { [1].map(|n| nrv.apply.create(path, text)) }\nfn name(n) { `${n}.md` }",
    );
    assert_eq!(rules(&checked(&[unused, more], &["--json"]), "errors"), [""; 0]);
    let script = ("a.rhai", "import \"lib/m\" as m;\nm::save(\"a\", \"\");");
    assert_eq!(rules(&checked(&[script, more], &["--json"]), "errors"), ["missing_permission"]);
    let document = checked(&[script, module], &["--json"]);
    assert_eq!(rules(&document, "errors"), ["missing_permission"]);
    assert_eq!(document["scripts"][0]["errors"][0]["script"]["path"], "lib/m.rhai");
}

#[test]
fn a_call_that_is_free_for_everybody_needs_no_permission() {
    let site = Site::empty();
    site.write("a.rhai", "nrv.custom(\"tickets.list\", #{});\nnrv.custom(\"tickets.create\", #{});");
    let call = |name: &str| CustomCall::new(name, "does something", json!({}), |_, _| Ok(json!(null)));
    let calls = Calls::default().with(call("tickets.list").without_permission()).unwrap();
    let program = crate::support::script::program();
    let options = Options { program, calls: calls.with(call("tickets.create")).unwrap(), ..Options::default() };
    let context = Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap();
    let Checked { errors, loaded, .. } = script::check(&context, &RepoPath::parse("a.rhai").unwrap());
    let lines: Vec<_> = errors.iter().filter_map(Error::location).map(|place| place.line).collect();
    assert_eq!((lines, loaded.is_some()), (vec![2], true));
}

#[test]
fn programs_get_every_finding_with_its_rule_and_place() {
    let text = "let x = 1;\nnrv.files.raed(\"a\");\nreturn;\nnrv.files.read(1)";
    let document = checked(&[("a.rhai", text)], &["--json"]);
    assert_eq!(document["ok"], false);
    assert_eq!(rules(&document, "errors"), ["unknown_call", "argument_type"]);
    assert_eq!(rules(&document, "warnings"), ["unused_variable", "unreachable"]);
    let sarif = checked(&[("a.rhai", text)], &["--sarif"]);
    let run = &sarif["runs"][0];
    let results: Vec<Value> = run["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            json!([result["ruleId"], result["level"], place["artifactLocation"]["uri"], place["region"]["startLine"]])
        })
        .collect();
    let expected = json!([
        ["check/unknown_call", "error", "a.rhai", 2],
        ["check/argument_type", "error", "a.rhai", 4],
        ["check/unused_variable", "warning", "a.rhai", 1],
        ["check/unreachable", "warning", "a.rhai", 4],
    ]);
    assert_eq!(json!(results), expected);
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 4);
}

#[test]
fn a_run_stops_at_errors_and_tells_of_the_rest() {
    let site = Site::empty();
    site.write("nrv.toml", "");
    let header = "const WORKFLOW = #{ name: \"x\", args: #{ type: \"object\", properties: #{ save: #{ type: \"boolean\", \"default\": false } } } };\n";
    site.write("a.rhai", format!("{header}let left = 1;\nif args.save {{ nrv.apply.create(\"a\", \"\"); }}\n7"));
    let ran = site.nrv(&["run", "a.rhai", "--json"]).exits(0);
    assert_eq!(ran.json()["result"], 7);
    let ran = ran.says("warning[unused_variable]").says("warning[missing_permission]").says("a.rhai:3:26");
    assert!(!ran.stderr.contains("error["), "{}", ran.stderr);
    // The host decides.
    site.nrv(&["run", "a.rhai", "--arg", "save=true"]).exits(3).says("error[permission_denied]");
    site.nrv(&["check", "a.rhai"]).exits(3);
    let help = site.nrv(&["run", "a.rhai", "--help"]).exits(0);
    assert_eq!(help.stderr, "");
    site.write("b.rhai", "print(1);\nprnt(2);");
    let ran = site.nrv(&["run", "b.rhai"]).exits(1).says("the function `prnt` does not exist");
    assert_eq!(ran.stdout, "");
}

#[test]
fn checking_runs_nothing_and_leaves_nothing() {
    let site = Site::empty();
    site.write("loops.rhai", "loop { print(1); }");
    let ran = site.nrv(&["check", "loops.rhai"]).exits(0);
    assert_eq!((ran.stdout.as_str(), site.path(".runs").exists()), ("", false));
    site.nrv(&["check", "nowhere.rhai"]).exits(1).says("`nowhere.rhai` does not exist");
    site.nrv(&["check"]).exits(0).says("1 script checked");
    site.nrv(&["check", "loops.rhai", "--sarif", "--json"]).exits(2);
}

#[test]
fn a_folder_stands_for_its_scripts_and_a_policy_is_read() {
    let site = Site::empty();
    site.write("scripts/a.rhai", "nrv.files.read(\"a\")");
    site.write("scripts/deep/b.rhai", "nrv.files.read(\"b\"");
    site.write("scripts/a.test/first/input/c.rhai", "nothing of nrv(");
    site.write("lib/d.rhai", "1");
    site.nrv(&["check", "scripts"]).exits(1).says("2 scripts checked: 1 error.");
    site.nrv(&["check", "."]).exits(1).says("3 scripts checked: 1 error.");
    site.nrv(&["check", "lib/"]).exits(0).says("1 script checked: nothing is wrong.");
    site.write("nrv.toml", "[budget]\nfiles = 10\n");
    site.nrv(&["check", "nrv.toml", "lib"]).exits(0).says("2 files checked: nothing is wrong.");
    site.write("scripts/a.test/first/nrv.toml", "[budgett]\n");
    site.nrv(&["check", "scripts/a.test/first/nrv.toml"]).exits(1).says("did you mean `budget`?");
    std::fs::create_dir(site.path("empty")).expect("it is made");
    site.nrv(&["check", "empty"]).exits(2).says("there is no script below `empty`");
}
