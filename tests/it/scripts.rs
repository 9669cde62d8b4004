//! `nrv scripts`: the list of workflows. And the processes that starting one takes.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, process::Command};

use nrv::{
    base::path::RepoPath,
    host::{Context, Options, Silent},
    script::{self, Invocation},
    system::{process::Program, workspace::Workspace},
};
use serde_json::{Value, json};

use crate::support::site::{Site, invocation};

fn listed(site: &Site) -> Vec<Value> {
    site.nrv(&["scripts", "--json"]).exits(0).json().as_array().unwrap().clone()
}

#[test]
fn scripts_with_a_header_are_listed_wherever_they_lie() {
    let site = Site::new(1);
    site.write("tools/later.rhai", "//! Comes later.\n//! Much.\nconst WORKFLOW = #{ name: \"later\" };\n1");
    site.write("described.rhai", "const WORKFLOW = #{ description: \"Says it in its header.\" };\n1");
    site.write("bare.rhai", "1 + 1");
    site.write("lib/module.rhai", "fn f() { 1 }");
    site.write("out/ignored.rhai", "const WORKFLOW = #{ name: \"ignored\" };");
    site.write(".gitignore", "out/\n");
    let expected = [
        json!({"path": "described.rhai", "summary": "Says it in its header."}),
        json!({
            "path": "scripts/migrate_links.rhai", "name": "migrate-links",
            "summary": "Moves every link of a site from its old hosts to a new one.",
        }),
        json!({"path": "tools/later.rhai", "name": "later", "summary": "Comes later."}),
    ];
    assert_eq!(listed(&site), expected);
    let text = site.nrv(&["scripts"]).exits(0).stdout;
    assert!(text.contains("tools/later.rhai") && text.contains("Comes later.") && !text.contains("Much"), "{text}");
}

#[test]
fn a_script_that_can_not_be_run_is_listed_with_the_reason() {
    let site = Site::new(1);
    site.write("a.rhai", "let = ;");
    site.write("b.rhai", "const WORKFLOW = #{ nmae: \"x\" };");
    site.write("c.rhai", b"const WORKFLOW = #{ name: \"\xff\" };");
    site.write("d.rhai", format!("const WORKFLOW = #{{}};\nlet x = {}1{};", "(".repeat(50_000), ")".repeat(50_000)));
    site.write("e\n.rhai", "const WORKFLOW = #{ name: \"odd\" };");
    let listed = listed(&site);
    let errors: Vec<&Value> = listed.iter().map(|script| &script["error"]["code"]).collect();
    let wrong = json!("script_syntax");
    assert_eq!(errors[..3], [&wrong, &wrong, &wrong], "{listed:#?}");
    assert!(errors[3].is_string(), "{listed:#?}");
    assert_eq!((&listed[4]["name"], &listed[5]["name"]), (&json!("odd"), &json!("migrate-links")), "{listed:#?}");
    let text = site.nrv(&["scripts"]).exits(0).stdout;
    assert!(text.contains("can't be run: expecting name of a variable (line 1)"), "{text}");
    assert!(text.contains("e\\u{a}.rhai"), "{text}");
}

#[test]
fn listing_runs_nothing_and_leaves_nothing() {
    let site = Site::empty();
    site.write("loops.rhai", "const WORKFLOW = #{ name: \"loops\" };\nloop { }");
    assert_eq!(listed(&site), [json!({"path": "loops.rhai", "name": "loops"})]);
    assert!(!site.path(".runs").exists());
    let none = Site::empty();
    none.nrv(&["scripts"]).exits(0).says("nrv init");
    assert_eq!(listed(&none), [] as [Value; 0]);
}

/// A program beside the workspace that notes how it is called before it becomes another one; and its notes.
fn noting(site: &Site, name: &str, program: &str) -> (std::path::PathBuf, impl Fn() -> Vec<String> + use<>) {
    let folder = site.root().parent().unwrap().join("noting");
    fs::create_dir_all(&folder).unwrap();
    let (path, notes) = (folder.join(name), folder.join("notes"));
    let text = format!("#!/bin/sh\necho \"$*\" >> '{}'\nexec '{program}' \"$@\"\n", notes.display());
    // By another process: other tests may start processes meanwhile, which would keep this file open for writing.
    let write = format!("printf %s \"$1\" > '{0}' && chmod 755 '{0}'", path.display());
    assert!(Command::new("sh").args(["-c", &write, "sh", &text]).status().unwrap().success());
    (path, move || fs::read_to_string(&notes).unwrap_or_default().lines().map(str::to_owned).collect())
}

#[test]
fn the_process_that_parsed_a_script_runs_it() {
    let site = Site::empty();
    site.write("s.rhai", "40 + 2");
    let (program, notes) = noting(&site, "nrv", crate::repository::nrv());
    let options = Options { program: Program::Path(program), ..Options::default() };
    let context = Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap();
    let loaded = script::load_script(&context, &RepoPath::parse("s.rhai").unwrap()).unwrap();
    for starts in [1, 2] {
        // The second time there is no such process any more.
        let invocation = Invocation::default();
        let finished = script::run(&context, &loaded, invocation, &mut Silent).unwrap();
        assert_eq!((finished.result, notes()), (json!(42), vec!["__worker".to_owned(); starts]));
    }
}

#[test]
fn the_commit_is_known_and_git_is_never_started() {
    let site = Site::new(2);
    site.script("s.rhai", "1");
    let path = std::env::var("PATH").unwrap();
    let real = path.split(':').map(|folder| format!("{folder}/git")).find(|git| fs::metadata(git).is_ok()).unwrap();
    let (git, notes) = noting(&site, "git", &real);
    let path = format!("{}:{path}", git.parent().unwrap().display());
    let run = |arguments: &[&str]| site.command(arguments).env("PATH", &path).output().unwrap();
    assert!(run(&["run", "s.rhai"]).status.success());
    assert_eq!(notes(), Vec::<String>::new());
    let head = site.git(&["rev-parse", "HEAD"]);
    let record = fs::read_to_string(site.last_run().join("run.json")).unwrap();
    assert!(record.contains(head.trim()), "{record}");
    let input = site.root().parent().unwrap().join("input.json");
    fs::write(&input, invocation("site/**", "a.example.com", "b.example.com").to_string()).unwrap();
    assert!(run(&["dta", "run", "link_updater", "--input", input.to_str().unwrap()]).status.success());
    assert_eq!(notes(), Vec::<String>::new());
}
