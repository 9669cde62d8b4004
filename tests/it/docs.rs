//! Runs the documentation: every command of the pages below, in a copy of this repository, with the output that the page shows.
#![expect(clippy::disallowed_methods, reason = "pages are run as a person would, with programs and files")]

mod book;
mod expected;
mod glossary;
mod page;
mod picture;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{docs::page::Step, repository, support::toolchain};

/// How a page starts a program from a checkout, and the binary that cargo has built for the tests in its place.
const FROM_CHECKOUT: &[(&str, &str)] = &[
    ("cargo run --example embed -- ", "embed "),
    ("cargo run --example handler", "handler"),
    ("cargo run -- ", "nrv "),
];

/// Commands that fetch, build or test: not run, since the tests can't run themselves and have no network.
const NOT_RUN: &[&str] = &["cargo build", "cargo install", "cargo test", "git clone"];

/// Pages with commands that are only shown, since they stand for repositories of the readers.
const SHOWN: &[&str] = &["docs/gates.md", "docs/testing.md"];

/// One test a page, so that pages run side by side and one that fails has a name.
macro_rules! pages_that_run {
    ($($name:ident: $page:literal,)*) => {
        /// The pages that are run, each from top to bottom.
        const PAGES: &[&str] = &[$($page),*];
        $(#[test]
        fn $name() {
            does_what_it_says($page);
        })*
    };
}

pages_that_run! {
    the_readme_does_what_it_says: "README.md",
    changing_links_does_what_it_says: "docs/change-links.md",
    ci_does_what_it_says: "docs/ci.md",
    codemods_do_what_the_page_says: "docs/codemods.md",
    embedding_does_what_it_says: "docs/embedding.md",
    fixing_links_does_what_it_says: "docs/fix-links.md",
    micro_edits_do_what_the_page_says: "docs/micro-edits.md",
    migrating_json_does_what_it_says: "docs/migrate-json.md",
    planning_does_what_the_page_says: "docs/planner.md",
    graphs_do_what_the_page_says: "docs/graphs.md",
    agents_do_what_the_page_says: "docs/agents.md",
    serving_agents_does_what_it_says: "docs/mcp.md",
    tools_of_servers_do_what_the_page_says: "docs/mcp-tools.md",
    polishing_a_design_does_what_the_page_says: "docs/polish-design.md",
    renaming_a_symbol_does_what_it_says: "docs/rename.md",
    rewriting_code_does_what_it_says: "docs/rewrite-code.md",
    model_proposals_do_what_the_page_says: "docs/model-proposals.md",
    committing_a_run_does_what_it_says: "docs/commit.md",
    changing_many_repositories_does_what_it_says: "docs/fleets.md",
    packs_do_what_the_page_says: "docs/packs.md",
    the_standard_library_does_what_its_page_says: "docs/stdlib.md",
    the_repl_does_what_its_page_says: "docs/repl.md",
    the_tour_does_what_it_says: "docs/tour.md",
    tracing_a_run_does_what_it_says: "docs/tracing.md",
    writing_a_workflow_does_what_it_says: "docs/write-a-workflow.md",
    writing_an_adapter_does_what_it_says: "docs/write-an-adapter.md",
}

#[track_caller]
fn does_what_it_says(page: &str) {
    let text = repository::text(page).expect("pages are UTF-8");
    let copies = page::parse(&text).unwrap_or_else(|error| panic!("{page}: {error}"));
    assert!(!copies.is_empty(), "{page} has no command");
    for steps in copies {
        let folder = tempfile::tempdir().expect("a folder");
        let copy = copy_of_repository(folder.path());
        run(page, &steps, &copy, folder.path()).unwrap_or_else(|report| panic!("{report}"));
    }
}

#[test]
fn every_page_with_commands_is_run_or_only_shown() {
    let with_commands: BTreeSet<String> = book::pages().filter(|page| has_commands(page)).collect();
    let known: BTreeSet<String> = PAGES.iter().chain(SHOWN).map(ToString::to_string).collect();
    assert_eq!(with_commands, known);
}

fn has_commands(page: &str) -> bool {
    repository::text(page).is_some_and(|text| text.contains("```console"))
}

#[test]
fn no_page_has_a_heading_twice() {
    for page in repository::files().iter().filter(|path| path.starts_with("docs/") && path.ends_with(".md")) {
        let text = repository::text(page).expect("pages are UTF-8");
        let mut headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        headings.sort_unstable();
        let twice = headings.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "{page}");
    }
}

#[test]
fn the_page_of_formats_names_every_error_that_a_script_can_not_catch() {
    let text = repository::text("docs/formats.md").expect("pages are UTF-8");
    let sentence = text.split("it can't catch").nth(1).and_then(|rest| rest.split('.').next()).expect("a sentence");
    let named: BTreeSet<&str> = sentence.split('`').skip(1).step_by(2).collect();
    let all = nrv::Code::ALL.iter().filter(|code| code.is_final());
    assert_eq!(named, all.map(|code| code.as_str()).collect());
}

/// Runs commands one after another in one shell; the report of the first that is not as expected.
fn run(page: &str, steps: &[Step], folder: &Path, outputs: &Path) -> Result<(), String> {
    let mut script = String::new();
    let is_run = |step: &&Step| !NOT_RUN.iter().any(|start| step.command.starts_with(start));
    let steps: Vec<&Step> = steps.iter().filter(is_run).collect();
    for (index, step) in steps.iter().enumerate() {
        let command = FROM_CHECKOUT.iter().fold(step.command.clone(), |text, (from, to)| text.replace(from, to));
        let out = outputs.join(format!("{index}.out"));
        let status = outputs.join(format!("{index}.status"));
        script.push_str(&format!("{{\n{command}\n}} >'{}' 2>&1 </dev/null\n", out.display()));
        script.push_str(&format!("echo $? >'{}'\n", status.display()));
    }
    let shell = shell(folder, outputs).arg("-c").arg(&script).output().map_err(|error| format!("sh: {error}"))?;
    for (index, step) in steps.iter().enumerate() {
        let read = |what: &str| fs::read(outputs.join(format!("{index}.{what}"))).unwrap_or_default();
        let actual = String::from_utf8_lossy(&read("out")).into_owned();
        let status = String::from_utf8_lossy(&read("status")).trim().parse::<i32>().ok();
        let fits = step.expected.is_empty() || expected::matches(&step.expected, &actual);
        if status != Some(step.status) || !fits {
            let said = String::from_utf8_lossy(&shell.stderr).into_owned();
            return Err(report(page, step, status, &actual, &said));
        }
    }
    Ok(())
}

fn report(page: &str, step: &Step, status: Option<i32>, actual: &str, shell: &str) -> String {
    let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let status = status.map_or_else(|| format!("none; the shell said: {shell}"), |status| status.to_string());
    let expected = match step.expected.is_empty() {
        true => "    (anything)\n".to_owned(),
        false => indented(&step.expected.join("\n")),
    };
    format!(
        "\n{page}:{}: {}\nexit code: expected {}, found {status}\nexpected output:\n{expected}actual output:\n{}",
        step.line,
        step.command,
        step.status,
        indented(actual),
    )
}

/// A shell in a repository of its own, with programs and the Rust toolchain of this machine and nothing else.
fn shell(folder: &Path, home: &Path) -> Command {
    let binary = Path::new(repository::nrv()).parent().expect("a file has a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let examples = binary.join("examples");
    toolchain::link(home);
    let mut command = Command::new("sh");
    command.current_dir(folder).env_clear();
    command
        .env("PATH", format!("{}:{}:{path}", binary.display(), examples.display()))
        .env("HOME", home)
        .env("LANG", "C.UTF-8");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "A Reader").env(format!("GIT_{role}_EMAIL"), "reader@example.com");
    }
    command
}

/// True for the sources of the program and its tests, which no page needs: the program is built already.
fn is_source(path: &str) -> bool {
    path.ends_with(".rs") && (path.starts_with("src/") || path.starts_with("tests/"))
}

/// The repository's files but for [sources](is_source) in a repository of their own, with a clean tree.
fn copy_of_repository(home: &Path) -> PathBuf {
    let copy = home.join("nrv");
    for path in repository::files().into_iter().filter(|path| !is_source(path)) {
        let target = copy.join(&path);
        fs::create_dir_all(target.parent().expect("a file has a folder")).expect("a folder can be made");
        fs::copy(repository::root().join(&path), &target).expect("a file can be copied");
    }
    // All objects come into one pack, which is made and removed sooner than a file for each.
    let commit =
        "git init -q -b main --template= && git -c core.bigFileThreshold=1 add -A && git commit -q -m 'A clean start'";
    let made = shell(&copy, home).args(["-c", commit]).output().expect("sh runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    copy
}

#[track_caller]
fn check(page: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let copies = page::parse(page).expect("the page can be read");
    copies.iter().try_for_each(|steps| run("page", steps, folder.path(), folder.path()))
}

#[test]
fn commands_of_a_page_share_a_shell() {
    let page = "```console\n$ x=1; mkdir d && cd d\n$ echo \"$x in ${PWD##*/}\"; echo no >&2\n1 in d\nno\n$ false\n# exit 1\n```";
    assert_eq!(check(page), Ok(()));
}

#[test]
fn what_is_built_elsewhere_is_not_run() {
    assert_eq!(check("```sh\ngit clone https://example.com/x && cd x\ncargo test --all\n```"), Ok(()));
}

#[test]
fn nrv_is_the_binary_that_was_built() {
    assert_eq!(check("```console\n$ cargo run -- --version >/dev/null; command -v nrv\n/…/nrv\n```"), Ok(()));
}

#[test]
fn a_page_that_is_wrong_says_where_and_how() {
    let report = check("text\n```console\n$ echo a; exit 3\nb\n```").unwrap_err();
    assert!(report.contains("page:3: echo a; exit 3"), "{report}");
    let report = check("```console\n$ echo a\nb\n```").unwrap_err();
    assert!(report.contains("expected output:\n    b\nactual output:\n    a\n"), "{report}");
    let report = check("```console\n$ sh -c 'exit 3'\n```").unwrap_err();
    assert!(report.contains("exit code: expected 0, found 3"), "{report}");
}

#[test]
fn the_copy_is_clean_and_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = copy_of_repository(folder.path());
    let status = shell(&copy, folder.path()).args(["-c", "git status --porcelain"]).output().expect("sh runs");
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
    let whole = repository::files().into_iter().filter(|path| !is_source(path));
    let copied = shell(&copy, folder.path()).args(["-c", "git ls-files -z"]).output().expect("sh runs");
    let copied = String::from_utf8_lossy(&copied.stdout).into_owned();
    assert_eq!(copied.split_terminator('\0').collect::<Vec<_>>(), whole.collect::<Vec<_>>());
    assert!(!copy.join("target").exists());
}
