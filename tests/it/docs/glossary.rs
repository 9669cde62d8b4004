//! The glossary: sorted, and its names in JSON, on the command line and in Rhai exist where it says.
#![expect(clippy::disallowed_methods, reason = "the help of commands is read as a person would")]

use std::{collections::BTreeMap, process::Command};

use crate::repository;

/// A row: the term, and its names in Rust, JSON, the command line and Rhai.
struct Row {
    term: String,
    rust: Vec<String>,
    json: Vec<String>,
    commands: Vec<String>,
    rhai: Vec<String>,
}

fn rows() -> Vec<Row> {
    let page = repository::text("docs/glossary.md").expect("pages are UTF-8");
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [term, _, rust, json, commands, rhai] = cells[..] else { panic!("a row has six cells: {line}") };
        Row {
            term: term.to_owned(),
            rust: names(rust),
            json: names(json),
            commands: names(commands),
            rhai: names(rhai),
        }
    };
    page.lines().filter(|line| line.starts_with("| ")).skip(1).map(row).collect()
}

#[test]
fn terms_are_sorted_and_stand_once() {
    let terms: Vec<String> = rows().into_iter().map(|row| row.term.to_lowercase()).collect();
    assert!(terms.len() >= 60);
    let wrong = terms.windows(2).find(|pair| pair[0] >= pair[1]);
    assert_eq!(wrong, None);
}

#[test]
fn names_in_rust_are_modules_or_items() {
    let files = repository::files();
    let sources: Vec<&String> = files.iter().filter(|path| path.starts_with("src/") && path.ends_with(".rs")).collect();
    let code: String = sources.iter().filter_map(|path| repository::text(path)).collect();
    let is_there = |name: &str| {
        let path = format!("src/{}", name.replace("::", "/"));
        let is_module = |file: &&String| **file == format!("{path}.rs") || **file == format!("{path}/mod.rs");
        let item = regex::Regex::new(&format!(
            r"\b(struct|enum|trait) {}\b",
            name.split("::").next().expect("a name has a first part")
        ))
        .expect("a pattern");
        let last = name.rsplit("::").next().expect("a name has a last part");
        sources.iter().any(is_module) || item.is_match(&code) && code.contains(last)
    };
    let missing: Vec<String> = rows().into_iter().flat_map(|row| row.rust).filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "no source has {missing:?}");
}

#[test]
fn names_in_json_stand_in_a_schema() {
    let files = repository::files();
    let schemas = files.iter().filter(|path| path.starts_with("schemas/"));
    let schemas: String = schemas.filter_map(|path| repository::text(path)).collect();
    let missing: Vec<String> =
        rows().into_iter().flat_map(|row| row.json).filter(|name| !schemas.contains(&format!("\"{name}\""))).collect();
    assert!(missing.is_empty(), "no schema has {missing:?}");
}

#[test]
fn names_in_rhai_stand_in_the_reference() {
    let reference = repository::text("docs/script-api.md").expect("pages are UTF-8");
    let is_there = |name: &str| {
        let word = regex::Regex::new(&format!(r"\b{}\b", regex::escape(name))).expect("a pattern");
        word.is_match(&reference)
    };
    let missing: Vec<String> = rows().into_iter().flat_map(|row| row.rhai).filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "docs/script-api.md has no {missing:?}");
}

#[test]
fn names_on_the_command_line_stand_in_its_help() {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    for name in rows().into_iter().flat_map(|row| row.commands) {
        let (flags, words): (Vec<&str>, Vec<&str>) = name.split(' ').skip(1).partition(|word| word.starts_with('-'));
        let help = helps.entry(words.join(" ")).or_insert_with(|| {
            let help = Command::new(repository::nrv()).args(&words).arg("--help").output().expect("nrv runs");
            assert!(help.status.success(), "`{name}` has no help");
            String::from_utf8(help.stdout).expect("help is UTF-8")
        });
        let missing = flags.iter().find(|flag| !help.contains(**flag));
        assert_eq!(missing, None, "the help of `{name}`");
    }
}
