//! The reference of the interface of scripts: the page is current and true, and every example in it runs.
#![expect(clippy::disallowed_methods, reason = "tests read the repository, write its page and run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod editors;
mod examples;
mod fields;
mod shells;

pub(crate) use self::shells::commands;

use std::{collections::BTreeSet, fs};

use nrv::script::{library::MODULES, reference::Reference};
use serde_json::{Value, json};

use crate::{
    repository,
    support::{script::Script, site::Site},
};

fn reference() -> Reference {
    Reference::new(MODULES)
}

#[test]
fn the_page_is_what_the_sources_say() {
    let path = repository::root().join("docs/script-api.md");
    let page = reference().page();
    if std::env::var_os("NRV_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap() == page, "`NRV_BLESS=1 cargo test --test it reference` writes the page");
}

#[test]
fn everything_is_found_by_its_name_and_by_less_if_that_is_enough() {
    let reference = reference();
    for entry in reference.entries() {
        assert_eq!(reference.find(&entry.name()).unwrap().title(), entry.title());
        assert!(entry.summary().len() > 10, "{}", entry.name());
    }
    for (asked, title) in [
        ("files.read", "nrv.files.read(path)"),
        ("nrv.files.read(path)", "nrv.files.read(path)"),
        ("glob", "nrv.files.glob(patterns)"),
        ("files", "nrv.files"),
        ("nrv", "nrv"),
        ("nrv.dta(\"link_updater\").propose", "nrv.dta(name).propose(input)"),
        ("dta.propose", "nrv.dta(name).propose(input)"),
        ("report", "std/report"),
        ("std/report.rhai", "std/report"),
        ("report::summary", "std/report::summary(output)"),
        ("strings", "Strings"),
        ("globs", "Globs"),
        ("WORKFLOW", "Header"),
        ("args", "Header"),
        ("commitments", "nrv.commit(commitment)"),
    ] {
        assert_eq!(reference.find(asked).unwrap().title(), title, "{asked}");
    }
}

#[test]
fn what_is_not_there_names_the_nearest() {
    let site = Site::empty();
    site.nrv(&["docs", "files.raed"]).exits(1).says("did you mean `nrv.files.read`?");
    site.nrv(&["docs", "nrv.fils"]).exits(1).says("did you mean `nrv.files`?");
    site.nrv(&["docs", "std/raport"]).exits(1).says("did you mean `std/report`?");
    site.nrv(&["docs", "nobody wrote this"]).exits(1).says("the reference has nothing on");
}

#[test]
fn the_command_finds_keys_of_the_policy_guides_and_words() {
    let site = Site::empty();
    let shown = |asked: &[&str]| site.nrv(&[&["docs"], asked].concat()).exits(0).stdout;
    for (asked, words) in [
        (&["exec.allow"][..], "    - prefix: The program"),
        (&["llm.providers.mine.base_url"], "llm.providers.NAME.base_url\n"),
        (
            &["[budget]"],
            "budget.files\n    Files that a run may change.\n    Takes a whole number, at least 0. Default: 5000\n",
        ),
        (&["policy"], "paths.read_deny\n"),
        (&["gates.md"], "# Gates"),
        (&["regex"], "nrv.files.grep"),
        (&["parse"], "nrv.json.parse"),
        (&["secrets", "in", "a", "diff"], "guides:\n"),
        (&["Secrets in a DIFF"], "guides:\n"),
    ] {
        let text = shown(asked);
        assert!(text.contains(words), "{asked:?}: {text}");
    }
    assert!(!shown(&["exec.allow"]).contains("exec.env"));
    let found = site.nrv(&["docs", "regex", "--json"]).exits(0).json();
    assert!(found["guides"][0]["text"].as_str().is_some_and(|text| text.contains("regex")), "{found}");
    let keys = site.nrv(&["docs", "exec", "--json"]).exits(0).json();
    assert!(keys["policy"].is_null(), "the namespace is meant first");
    let keys = site.nrv(&["docs", "budget.mcp", "--json"]).exits(0).json();
    assert_eq!(keys["policy"][0]["default"], 1000);
}

#[test]
fn the_command_shows_signature_fields_and_example() {
    let site = Site::empty();
    let text = site.nrv(&["docs", "nrv.files.stat"]).exits(0).stdout;
    for words in
        ["nrv.files.stat(path)\n", "- `path`: string\n", "  - `sha256`: string, may be missing\n", "    let size = "]
    {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
    assert!(!text.contains("```"), "{text}");
    let list = site.nrv(&["docs"]).exits(0).stdout;
    assert!(
        reference()
            .entries()
            .filter(|entry| entry.name().contains(['/', ':']))
            .all(|entry| list.contains(&entry.name()))
    );
    let call = site.nrv(&["docs", "files.stat", "--json"]).exits(0).json();
    assert_eq!((&call["name"], &call["gives"][4]["optional"]), (&json!("nrv.files.stat"), &json!(true)));
    let all = site.nrv(&["docs", "--json"]).exits(0).json();
    assert_eq!(all["namespaces"].as_array().unwrap().len(), nrv::script::guest::bindings::NAMESPACES.len());
}

/// The examples of [`nrv::reference::RESERVED`] would be too many: each word is tried.
#[test]
fn reserved_words_are_those_that_the_parser_refuses() {
    assert!(nrv::script::reference::RESERVED.is_sorted());
    let is_refused = |text: &str| Script::new(text).load().is_err();
    for word in nrv::script::reference::RESERVED {
        assert!(is_refused(&format!("let m = #{{ {word}: 1 }};")), "`{word}` as a key");
        assert!(is_refused(&format!("let m = #{{ \"{word}\": 1 }}; m.{word}")), "`{word}` as a field");
        assert!(!is_refused(&format!("let m = #{{ \"{word}\": 1 }}; m[\"{word}\"]")), "`{word}` in quotes");
    }
    for word in ["description", "enum", "from", "global", "id", "type", "required", "struct"] {
        assert!(!is_refused(&format!("let m = #{{ {word}: 1 }};")), "`{word}`");
    }
}

#[test]
fn limits_stand_in_the_reference_as_the_policy_has_them() {
    let schema: Value = serde_json::from_str(&repository::text("schemas/policy.schema.json").unwrap()).unwrap();
    let limits = schema["properties"]["script"]["properties"]["limits"]["properties"].as_object().unwrap();
    let text = reference().find("limits").unwrap().markdown(1);
    let rows: BTreeSet<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> =
                line.strip_prefix("| `")?.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            Some((cells[0], cells[2]))
        })
        .collect();
    let default = |limit: &Value| {
        limit.get("default").map_or("only memory bounds it".to_owned(), |value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let expected: Vec<(&str, String)> = limits.iter().map(|(name, limit)| (name.as_str(), default(limit))).collect();
    assert_eq!(rows, expected.iter().map(|(name, default)| (*name, default.as_str())).collect());
}
