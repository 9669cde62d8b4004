//! The files that `nrv definitions` writes: complete, and in the form of Rhai's language server.

use std::collections::BTreeMap;

use nrv::script::guest::bindings;
use serde_json::Value;

use super::reference;
use crate::support::site::Site;

fn files() -> BTreeMap<String, String> {
    reference().definitions().into_iter().collect()
}

/// True if brackets outside of strings are balanced.
fn is_balanced(text: &str) -> bool {
    let mut open = Vec::new();
    for char in text.chars() {
        match char {
            '(' | '[' | '{' => open.push(char),
            ')' | ']' | '}' => {
                let Some(last) = open.pop() else { return false };
                if !matches!((last, char), ('(', ')') | ('[', ']') | ('{', '}')) {
                    return false;
                }
            }
            _ => {}
        }
    }
    open.is_empty()
}

#[test]
fn every_definition_has_the_form_that_the_language_server_reads() {
    let function = regex::Regex::new(r"^fn [a-z_0-9]+\(([a-z_0-9]+: [^:]+.*)?\) -> .+;$").unwrap();
    let other = regex::Regex::new(r"^(const [a-z]+: [A-Za-z]+;|type [A-Za-z]+ = .+;|module( static)?;)$").unwrap();
    for (name, text) in files().iter().filter(|(name, _)| *name != "rhai.d.rhai" && name.ends_with(".d.rhai")) {
        let code: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with("///")).collect();
        for line in &code {
            assert!(function.is_match(line) || other.is_match(line), "{name}: {line}");
            assert!(is_balanced(line), "{name}: {line}");
            assert!(!line.contains("any") && !line.contains("(name)") && !line.contains("() | ()"), "{name}: {line}");
        }
        assert!(code[0].starts_with("module"), "{name} begins with {}", code[0]);
    }
}

#[test]
fn definitions_have_every_call_with_every_number_of_arguments() {
    let text = &files()["nrv.d.rhai"];
    for call in bindings::calls() {
        if call.property {
            assert!(text.contains(&format!(" {}: ", call.name)), "{}", call.path());
            continue;
        }
        let head = format!("fn {}(host: ", call.name);
        let optional = call.params.iter().filter(|param| param.is_optional()).count();
        let same = bindings::calls().filter(|other| !other.property && other.name == call.name);
        let expected: usize =
            same.map(|other| 1 + other.params.iter().filter(|param| param.is_optional()).count()).sum();
        assert!(expected > optional && text.matches(&head).count() == expected, "{}", call.path());
    }
    assert!(
        text.contains("fn capabilities(host: NrvLlm) -> ")
            && text.contains("fn capabilities(host: NrvLlm, provider: String) -> ")
    );
    assert!(text.contains("fn propose(host: Adapter, input: #{ target: #{ glob: String | Array"), "{text}");
    assert!(
        text.contains("hits = nrv.files.grep")
            && text.contains("-> [#{ path: String, line: int, column: int, text: String }];")
    );
}

#[test]
fn the_languages_own_functions_are_those_that_a_script_may_call() {
    let text = &files()["rhai.d.rhai"];
    assert!(text.starts_with("module static;\n") && !text.contains('\r'));
    for name in ["fn print(", "fn to_upper(", "fn filter(", "fn parse_int(", "fn type_of("] {
        assert!(text.contains(name), "{name}");
    }
    for name in ["fn eval(", "fn timestamp(", "fn sleep(", "fn exit("] {
        assert!(!text.contains(name), "{name}");
    }
    assert_eq!(text, &files()["rhai.d.rhai"], "they are the same each time");
}

#[test]
fn the_command_writes_all_files_and_nothing_takes_them_for_scripts() {
    let site = Site::new(0);
    let listed = || site.nrv(&["scripts", "--json"]).exits(0).json();
    let before = listed();
    let told = site.nrv(&["definitions", "scripts"]).exits(0).stdout;
    assert_eq!(told.lines().count(), files().len());
    for (name, text) in files() {
        assert_eq!(String::from_utf8(site.read(&format!("scripts/{name}"))).unwrap(), text, "{name}");
    }
    assert_eq!(listed(), before);
    let all: Value = serde_json::from_slice(&site.read("scripts/nrv.json")).unwrap();
    assert_eq!(all, reference().json());
    // They can be written again, and not where nothing is ever written.
    site.write("scripts/nrv.d.rhai", "of an earlier version");
    site.nrv(&["definitions", "scripts"]).exits(0);
    assert_eq!(String::from_utf8(site.read("scripts/nrv.d.rhai")).unwrap(), files()["nrv.d.rhai"]);
    site.nrv(&["definitions", ".git/hooks"]).exits(3).says("give another folder");
    site.nrv(&["definitions", ".git/new/deep"]).exits(3).says("give another folder");
    assert!(!site.path(".git/new").exists());
}
