//! Figures of a checkout's form: of this one against bounds, and of any other one as a table.
//!
//! `NRV_FIGURES=CHECKOUT cargo test --test it -- tidy::figures --nocapture` prints the table of another checkout.
#![expect(clippy::disallowed_methods, reason = "another checkout is read, and its folder is named by a variable")]
#![expect(clippy::print_stdout, reason = "figures are shown with --nocapture")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

use super::{circles::circles, source::Source, test_modules};
use crate::{prose, repository};

/// The figures of one checkout.
#[derive(Debug)]
#[expect(dead_code, reason = "a table prints all of them")]
struct Figures {
    /// Folders in `src/`.
    folders: usize,
    /// Files below `src/`.
    files: usize,
    /// Files that import each other in a circle.
    in_circles: usize,
    /// Lines of code outside tests: neither blank nor comments.
    production_lines: usize,
    /// Those of renames: the adapter, and the meanings of names.
    rename_lines: usize,
    /// Lines of code in tests.
    test_lines: usize,
    /// Look-ups in untyped data of events, outside the floor of records.
    data_lookups: usize,
    /// Names of event kinds as literals, outside the floor of records.
    kind_literals: usize,
    /// Fields of `Host`.
    host_fields: usize,
    /// Methods of `Host`, methods of traits that it implements, and functions that take it.
    host_functions: usize,
    /// The median and the greatest number of words of a sentence in the pages.
    words: (usize, usize),
}

/// Every Rust file below a folder of a checkout, by its path below that folder.
fn rust_files(folder: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok) {
        let below = entry.path().strip_prefix(folder).expect("the walk stays below its folder");
        if let Some(below) = below.to_str().filter(|below| below.ends_with(".rs")) {
            sources.push(Source::new(below, &fs::read_to_string(entry.path()).expect("sources are UTF-8")));
        }
    }
    sources
}

/// Lines of code outside tests, and in tests.
fn lines(source: &Source, is_test: bool) -> (usize, usize) {
    let (mut production, mut tests, mut at) = (0, 0, 0);
    for line in source.code.split_inclusive('\n') {
        match () {
            () if line.trim().is_empty() => {}
            () if is_test || source.is_test(at) => tests += 1,
            () => production += 1,
        }
        at += line.len();
    }
    (production, tests)
}

/// The text of a checkout's file outside of tests and comments, with its literals.
fn production_text(source: &Source, text: &str) -> String {
    let mut at = 0;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if !source.is_test(at) && !line.trim_start().starts_with("//") {
            kept.push_str(line);
        }
        at += line.len();
    }
    kept
}

/// The kinds of events, as the schema of records lists them.
fn kinds(checkout: &Path) -> BTreeSet<String> {
    let page = fs::read_to_string(checkout.join("docs/formats.md")).unwrap_or_default();
    let row = Regex::new(r"(?m)^\| ((?:`[a-z_]+`(?:, )?)+) \|").expect("a pattern");
    let name = Regex::new(r"`([a-z_]+)`").expect("a pattern");
    // Other tables of the page name fields.
    let events = page.split("\n\n").find(|table| table.contains("\n| `run_started` |")).unwrap_or_default();
    let mut kinds = BTreeSet::new();
    for cell in row.captures_iter(events) {
        let mut prefix = String::new();
        for found in name.captures_iter(&cell[1]) {
            // `_granted` after `confirmation_pending` is short for `confirmation_granted`.
            let kind = if found[1].starts_with('_') { format!("{prefix}{}", &found[1]) } else { found[1].to_owned() };
            prefix = kind.rsplit_once('_').map(|(prefix, _)| prefix.to_owned()).unwrap_or_default();
            kinds.insert(kind);
        }
    }
    kinds
}

/// Literals that name a kind where a kind is written, compared or matched.
fn kind_literals(kinds: &BTreeSet<String>, text: &str) -> usize {
    let near =
        Regex::new(r#"\bkind\b[^;{}"\n]*"([a-z_]+)"|"([a-z_]+)"(?: \| "[a-z_]+")* (?:=>|if )"#).expect("a pattern");
    let constant = Regex::new(r#"const [A-Z_]+: &str = "([a-z_]+)";"#).expect("a pattern");
    let found = near.captures_iter(text).chain(constant.captures_iter(text));
    found.filter(|found| found.iter().skip(1).flatten().any(|name| kinds.contains(name.as_str()))).count()
}

/// Fields of `Host`, and the functions that have it: its own, of its traits, and those that take it.
fn host(sources: &[Source]) -> (usize, usize) {
    let block = Regex::new(r"\bimpl\b[^{;]*\bHost(?:<[^>]*>)?\s*(?:where[^{]*)?\{").expect("a pattern");
    let function = Regex::new(r"\bfn\s+\w+").expect("a pattern");
    let takes = Regex::new(r"\bfn\s+\w+[^{;]*?\bHost<[^{;]*").expect("a pattern");
    let definition = Regex::new(r"pub struct Host(?:<[^>]*>)?\s*\{").expect("a pattern");
    let field = Regex::new(r"(?m)^    (?:pub(?:\([^)]*\))? )?\w+: ").expect("a pattern");
    let (mut fields, mut functions) = (0, 0);
    for source in sources.iter().filter(|source| source.path.starts_with("host/")) {
        let code = &source.code;
        let blocks: Vec<_> =
            block.find_iter(code).map(|found| found.start()..source.end_of_block(found.end() - 1)).collect();
        let inside = |at: usize| blocks.iter().any(|range| range.contains(&at));
        let starts = function.find_iter(code).map(|found| found.start()).filter(|at| !source.is_test(*at));
        functions += starts
            .filter(|at| inside(*at) || takes.find_at(code, *at).is_some_and(|found| found.start() == *at))
            .count();
        for found in definition.find_iter(code) {
            fields += field.find_iter(&code[found.end()..source.end_of_block(found.end() - 1)]).count();
        }
    }
    (fields, functions)
}

impl Figures {
    fn of(checkout: &Path) -> Self {
        let sources = rust_files(&checkout.join("src"));
        let tests = test_modules(&sources);
        let kinds = kinds(checkout);
        let (mut production_lines, mut rename_lines, mut test_lines) = (0, 0, 0);
        let (mut data_lookups, mut literals) = (0, 0);
        let lookup = Regex::new(r#"\b(?:data|volatile)\s*(?:\[\s*"|\.get\("|\.pointer\("|\.as_object|\.remove\(")"#)
            .expect("a pattern");
        for source in &sources {
            let module = source.module();
            let is_test = (1..=module.len()).any(|length| tests.contains(&module[..length]));
            let (production, in_tests) = lines(source, is_test);
            production_lines += production;
            let is_rename =
                ["format/name/", "service/adapter/rename_refactor/"].iter().any(|of| source.path.starts_with(of));
            rename_lines += if is_rename { production } else { 0 };
            test_lines += in_tests;
            let is_record = source.path.starts_with("record/") || source.path.starts_with("ledger/");
            if !is_record && !is_test {
                let text = fs::read_to_string(checkout.join("src").join(&source.path)).expect("sources are UTF-8");
                let text = production_text(source, &text);
                data_lookups += lookup.find_iter(&text).count();
                literals += kind_literals(&kinds, &text);
            }
        }
        test_lines += rust_files(&checkout.join("tests")).iter().map(|source| lines(source, true).1).sum::<usize>();
        let (host_fields, host_functions) = host(&sources);
        let folders = fs::read_dir(checkout.join("src")).expect("there are sources").filter_map(Result::ok);
        Figures {
            folders: folders.filter(|entry| entry.path().is_dir()).count(),
            files: sources.len(),
            in_circles: circles(&sources).iter().map(Vec::len).sum(),
            production_lines,
            rename_lines,
            test_lines,
            data_lookups,
            kind_literals: literals,
            host_fields,
            host_functions,
            words: prose::words(checkout),
        }
    }
}

/// Bounds that hold for this checkout. Numbers only shrink.
#[test]
fn figures_stay_within_their_bounds() {
    let checkout = std::env::var_os("NRV_FIGURES").map(PathBuf::from);
    let figures = Figures::of(checkout.as_deref().unwrap_or(repository::root()));
    println!("{figures:#?}");
    if checkout.is_none() {
        assert!(figures.folders <= 10, "{figures:#?}");
        let sources = rust_files(&repository::root().join("src"));
        let circles = circles(&sources);
        assert!(circles.is_empty(), "files that import each other: {circles:#?}");
        assert!(figures.host_fields <= 10 && figures.host_functions <= 59, "{figures:#?}");
        let kinds = kinds(repository::root());
        assert!(kinds.contains("run_started") && kinds.contains("confirmation_refused"), "{kinds:?}");
        assert!(figures.data_lookups == 0 && figures.kind_literals == 0, "{figures:#?}");
        assert!(figures.words.0 < 15, "{figures:#?}");
        assert!(figures.rename_lines <= 10_265, "{figures:#?}");
    }
}
