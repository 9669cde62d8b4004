//! Judges `std:rename_symbol` by small programs that run: after a rename that is called verified, each prints what it printed before.
//!
//! `tests/corpora/rename-programs` has a text for each language. `=== ID LABEL OLD NEW` begins a program, `# …` describes it, `$ …` is
//! its check, `--- PATH` begins a file, and `§` stands before the declaration that is renamed. A harmless program has a right rename.
//! In a hostile one the obvious rename is wrong.
#![expect(clippy::disallowed_methods, reason = "the corpus is read, and programs are run")]

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use crate::{
    repository,
    support::{long, need, site::Site},
};

/// The least share of the harmless programs of a language that are renamed, in percent.
const LEAST: &[(&str, usize)] = &[("go", 80), ("javascript", 90), ("python", 55), ("rust", 70), ("typescript", 80)];

#[derive(Default)]
struct Program {
    id: String,
    is_harmless: bool,
    old: String,
    new: String,
    check: String,
    files: BTreeMap<String, String>,
    /// The place of the declaration: path, line and column.
    place: String,
}

/// The outcome of the rename of a program.
#[derive(Debug, PartialEq)]
enum Outcome {
    Renamed,
    Refused,
    Broken(String),
}

fn programs(language: &str) -> Vec<Program> {
    let path = repository::root().join(format!("tests/corpora/rename-programs/{language}.txt"));
    let text = fs::read_to_string(&path).expect("the corpus can be read");
    let mut programs: Vec<Program> = Vec::new();
    let mut file = String::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("=== ") {
            let [id, label, old, new] = head.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let (id, old, new) = (id.to_owned(), old.to_owned(), new.to_owned());
            programs.push(Program { id, is_harmless: label == "harmless", old, new, ..Program::default() });
            file.clear();
            continue;
        }
        let program = programs.last_mut().expect("a program begins the text");
        match (line.strip_prefix("--- "), line.strip_prefix("$ ")) {
            (Some(path), _) => {
                path.clone_into(&mut file);
                program.files.entry(file.clone()).or_default();
            }
            (None, Some(check)) if file.is_empty() => check.clone_into(&mut program.check),
            _ if file.is_empty() => {}
            _ => {
                let text = program.files.entry(file.clone()).or_default();
                if let Some((before, _)) = line.split_once('§') {
                    let line = text.lines().count() + 1;
                    program.place = format!("{file}:{line}:{}", before.chars().count() + 1);
                }
                text.push_str(&line.replace('§', ""));
                text.push('\n');
            }
        }
    }
    programs
}

/// Runs the check of a program; what it prints, or the error.
fn checked(program: &Program, site: &Site, tools: &str) -> Result<String, String> {
    let out = tempfile::tempdir().expect("there is room");
    let path = format!("{tools}:{}", std::env::var("PATH").unwrap_or_default());
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    let ran = Command::new("sh")
        .args(["-c", &program.check])
        .current_dir(site.root())
        .envs([("OUT", out.path()), ("CARGO_TARGET_DIR", out.path()), ("GOCACHE", &cache)])
        .envs([("PATH", path.as_str()), ("GOPROXY", "off"), ("GOFLAGS", ""), ("PYTHONDONTWRITEBYTECODE", "1")])
        .output()
        .expect("there is a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if ran.status.success() { Ok(text(&ran.stdout)) } else { Err(text(&ran.stderr)) }
}

fn judge(program: &Program, tools: &str, at: bool) -> Outcome {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    program.files.iter().for_each(|(path, text)| site.write(path, text));
    site.commit();
    let before = checked(program, &site, tools)
        .unwrap_or_else(|error| panic!("{}: its check fails before: {error}", program.id));
    site.git(&["clean", "-qfdx"]);
    site.git(&["checkout", "-q", "."]);
    let arguments = [format!("from={}", program.old), format!("to={}", program.new), "glob=**/*".to_owned()];
    let place = at.then(|| format!("at={}", program.place));
    let mut line = vec!["run", "std:rename_symbol", "--yes"];
    arguments.iter().chain(&place).for_each(|argument| line.extend(["--arg", argument]));
    let ran = site.nrv(&line);
    match (ran.code, checked(program, &site, tools)) {
        (0, Ok(after)) if after == before => Outcome::Renamed,
        (0, after) => Outcome::Broken(format!("{}\n{after:?}", program.id)),
        _ => Outcome::Refused,
    }
}

/// Judges the programs of a language, with and without a place; in the short tier only a few. `tools` is a folder of programs.
fn judge_all(language: &str, tools: &str) {
    let programs = programs(language);
    let mut broken = Vec::new();
    let (mut harmless, mut renamed) = (0, 0);
    for program in long::sample(&programs, 15) {
        for at in [true, false] {
            let outcome = judge(program, tools, at);
            if at && program.is_harmless {
                harmless += 1;
                renamed += usize::from(outcome == Outcome::Renamed);
            }
            match outcome {
                Outcome::Broken(why) => broken.push(why),
                Outcome::Refused | Outcome::Renamed => {}
            }
        }
    }
    assert!(broken.is_empty(), "called verified, and broken:\n{}", broken.join("\n"));
    let (_, least) = LEAST.iter().find(|(name, _)| *name == language).expect("each language has a share");
    assert!(
        !long::is_long() || renamed * 100 >= harmless * least,
        "{renamed} of {harmless} harmless renames were made"
    );
}

/// True if a program is there; else the test says that it is skipped.
fn has(program: &str, need: &str) -> bool {
    let is_there =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().expect("there is a shell");
    if !is_there.status.success() {
        need::skip(need);
    }
    is_there.status.success()
}

#[test]
fn programs_of_python_run_as_before() {
    judge_all("python", "");
}

#[test]
fn programs_of_rust_run_as_before() {
    if !long::is_long() {
        return need::skip("long");
    }
    judge_all("rust", "");
}

#[test]
fn programs_of_go_run_as_before() {
    if !long::is_long() {
        return need::skip("long");
    }
    if has("go", "go") {
        judge_all("go", "");
    }
}

#[test]
fn programs_of_javascript_run_as_before() {
    if has("node", "npm") {
        judge_all("javascript", "");
    }
}

#[test]
fn programs_of_typescript_run_as_before() {
    if !long::is_long() {
        return need::skip("long");
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("typescript");
    if !folder.join("node_modules").exists() {
        fs::create_dir_all(&folder).expect("there is room");
        let npm = Command::new("npm")
            .args(["install", "--silent", "--no-save", "typescript@5.9.3"])
            .current_dir(&folder)
            .output();
        if !npm.is_ok_and(|npm| npm.status.success()) {
            return need::skip("npm");
        }
    }
    judge_all("typescript", &folder.join("node_modules/.bin").display().to_string());
}
