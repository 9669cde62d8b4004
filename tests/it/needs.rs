//! The list of needs agrees with the tests and with CONTRIBUTING.md, and tests neither end early nor wait in another way.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use crate::{repository, support::need::NEEDS};

#[test]
fn every_need_is_used_by_a_test_and_explained() {
    let listed: BTreeSet<&str> = NEEDS.iter().map(|(name, _)| *name).collect();
    assert!(NEEDS.is_sorted_by_key(|(name, _)| *name) && listed.len() == NEEDS.len());
    let page = repository::text("CONTRIBUTING.md").expect("the page is UTF-8");
    let explained: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).map(|(name, _)| name).collect();
    let missing: Vec<_> = listed.difference(&explained).collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md does not list the needs {missing:?}");
    let files = repository::files();
    let tests: String =
        files.iter().filter(|path| path.ends_with(".rs")).filter_map(|path| repository::text(path)).collect();
    for name in listed {
        let quoted = format!("\"{name}\"");
        assert!(tests.matches(&quoted).count() > 1, "no test needs `{name}`");
    }
}

/// A test that ends early without a need would pass silently.
#[test]
fn a_test_is_skipped_by_its_need_alone() {
    let phrase = ["\"skip", "ped: "].concat();
    let files = repository::files();
    let is_test = |path: &&String| path.ends_with(".rs") && !path.ends_with("support/need.rs");
    let own: Vec<_> = files
        .iter()
        .filter(is_test)
        .filter(|path| repository::text(path).is_some_and(|text| text.contains(&phrase)))
        .collect();
    assert!(own.is_empty(), "these print a skip of their own, and can't be required: {own:?}");
}

/// The places that wait for a time, each with the reason; all others wait until something holds.
const SLEEPS: &[(&str, &str)] = &[
    ("tests/it/support/chance.rs", "a process is killed at a random moment"),
    ("tests/it/support/site.rs", "`wait_until` looks again after a while"),
];

/// A fixed time is too short on one machine and too long on the others.
#[test]
fn tests_wait_for_what_they_expect_and_not_for_a_time() {
    let phrase = ["thread::", "sleep("].concat();
    let found: Vec<(String, usize)> = rust_below("tests/")
        .into_iter()
        .map(|(path, text)| (path, text.matches(&phrase).count()))
        .filter(|(_, count)| *count > 0)
        .collect();
    let excused: Vec<(String, usize)> = SLEEPS.iter().map(|(path, _)| ((*path).to_owned(), 1)).collect();
    assert_eq!(found, excused, "use `wait_until`, or `Chance::pause` before a kill");
}

/// Tests that end early for another reason than a need, with the reason.
const ENDS: &[(&str, &str)] = &[
    (
        "a_change_that_failed_its_verifier_and_could_not_be_undone_is_not_verified_whatever_comes_later",
        "it fails at its end",
    ),
    ("a_verifier_that_takes_too_long_has_not_passed", "it fails at its end"),
];

/// A test that returns early passes, and nobody learns that it looked at nothing: before it returns, it has to skip by a need, or ask
/// a function that does so.
#[test]
fn a_test_returns_early_after_a_skip_alone() {
    let files: Vec<(String, Vec<Function>)> = ["src/", "tests/"]
        .into_iter()
        .flat_map(rust_below)
        .map(|(path, text)| {
            let functions = functions(&text);
            (path, functions)
        })
        .collect();
    let all: Vec<&Function> = files.iter().flat_map(|(_, functions)| functions).collect();
    let mut skipping = BTreeSet::from(["need::skip(".to_owned()]);
    // A function that asks another one passes its answer on.
    let mut known = 0;
    while known < skipping.len() {
        known = skipping.len();
        let asks = |one: &&&Function| one.may_say_no && !one.called.is_disjoint(&skipping);
        let more: Vec<String> = all.iter().filter(asks).map(|one| one.call.clone()).collect();
        skipping.extend(more);
    }
    let mut silent = Vec::new();
    for (path, functions) in &files {
        for test in functions.iter().filter(|one| one.is_test) {
            let is_excused = ENDS.iter().any(|(name, _)| *name == test.name);
            let ends = silent_ends(test, &skipping).into_iter().filter(|_| !is_excused);
            silent.extend(ends.map(|line| format!("{path}: `{}`: {line}", test.name)));
        }
    }
    assert!(silent.is_empty(), "these tests return early without a need:\n{}", silent.join("\n"));
    for (name, _) in ENDS {
        assert!(all.iter().any(|one| one.name == *name && !silent_ends(one, &skipping).is_empty()), "`{name}`");
    }
}

/// The files of Rust below a folder, with their texts.
fn rust_below(folder: &str) -> Vec<(String, String)> {
    let files = repository::files().into_iter().filter(|path| path.starts_with(folder) && path.ends_with(".rs"));
    files.filter_map(|path| Some((repository::text(&path)?, path))).map(|(text, path)| (path, text)).collect()
}

/// A function as rustfmt writes it.
struct Function {
    name: String,
    /// The words of a call of it, up to the parenthesis.
    call: String,
    /// True if it returns an option or a truth.
    may_say_no: bool,
    /// The functions that it calls.
    called: BTreeSet<String>,
    is_test: bool,
    body: Vec<String>,
}

/// The functions of a file; those in other functions are a part of these, too.
fn functions(text: &str) -> Vec<Function> {
    static HEAD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^( *)(?:pub(?:\(\w+\))? )?fn (\w+)").expect("a pattern"));
    static OF_TYPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^ *impl(?:<[^>]*>)? (?:\w+ for )?(\w+)").expect("a pattern"));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let (mut found, mut own_type) = (Vec::new(), (0, String::new()));
    for (at, line) in lines.iter().enumerate() {
        if line.contains("impl")
            && let Some(of_type) = OF_TYPE.captures(line)
        {
            own_type = (line.len() - line.trim_start().len() + 4, of_type[1].to_owned());
        }
        let Some(head) = Some(line).filter(|line| line.contains("fn ")).and_then(|line| HEAD.captures(line)) else {
            continue;
        };
        let (indent, name) = (head[1].len(), head[2].to_owned());
        let end = format!("{}}}", &head[1]);
        let length = lines[at..].iter().position(|line| *line == end).unwrap_or(0);
        let (signature, body): (Vec<&str>, Vec<&str>) = {
            let opened = lines[at..at + length].iter().position(|line| line.ends_with('{')).map_or(0, |open| open + 1);
            (lines[at..at + opened].to_vec(), lines[at + opened..at + length].to_vec())
        };
        let (signature, is_inside) = (signature.concat(), own_type.0 == indent && indent > 0);
        let call = match (is_inside, signature.contains("self")) {
            (true, true) => format!(".{name}("),
            (true, false) => format!("{}::{name}(", own_type.1),
            (false, _) => format!("{name}("),
        };
        let own = |line: &&str| line.replace("Self::", &format!("{}::", own_type.1));
        let attributes = lines[..at].iter().rev().take_while(|line| line.trim_start().starts_with("#["));
        let body: Vec<String> = body.iter().map(own).collect();
        let may_say_no = ["-> Option<", "-> bool"].iter().any(|words| signature.contains(words));
        found.push(Function {
            is_test: attributes.into_iter().any(|line| line.trim() == "#[test]"),
            may_say_no,
            called: if may_say_no { called(&body.join("\n")) } else { BTreeSet::new() },
            body,
            name,
            call,
        });
    }
    found
}

/// The functions that a text calls: each alone, with its type or module, and as a method.
fn called(text: &str) -> BTreeSet<String> {
    static CALL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:(\w+)::)?(\.?)(\w+)\(").expect("a pattern"));
    let words = |found: regex::Captures<'_>| {
        let plain = format!("{}{}(", &found[2], &found[3]);
        [found.get(1).map(|of| format!("{}::{}(", of.as_str(), &found[3])), Some(plain)]
    };
    CALL.captures_iter(text).flat_map(words).flatten().collect()
}

/// True if a text calls one of these functions.
fn calls(text: &str, functions: &BTreeSet<String>) -> bool {
    !called(text).is_disjoint(functions)
}

/// The lines that end a test without a skip.
fn silent_ends(test: &Function, skipping: &BTreeSet<String>) -> Vec<String> {
    let mut skipping = skipping.clone();
    static CLOSURE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"let (\w+) =\s*\|").expect("a pattern"));
    if !test.body.iter().any(|line| line.contains("return")) {
        return Vec::new();
    }
    let text = test.body.join("\n");
    for found in CLOSURE.captures_iter(&text) {
        let whole = found.get(0).expect("a match");
        if calls(text[whole.end()..].split(";\n").next().unwrap_or_default(), &skipping) {
            skipping.insert(format!("{}(", &found[1]));
        }
    }
    let mut ends = Vec::new();
    for (at, line) in test.body.iter().enumerate() {
        let line = line.trim();
        let is_end =
            line == "return;" || line == "return" || line.ends_with("{ return };") || line.ends_with("{ return }");
        let before = if line.starts_with("return") && at > 0 { test.body[at - 1].as_str() } else { "" };
        if is_end && !calls(&format!("{before}\n{line}"), &skipping) {
            ends.push(line.to_owned());
        }
    }
    ends
}
