//! The dependencies of the crates in `src/`. Cargo enforces them; these rules say which ones may be declared.

use std::collections::BTreeSet;

use super::source::CRATES;
use crate::repository;

/// Crates that both the readers of proposers and those of verifiers use, each with the reason.
const SHARED: &[(&str, &str)] = &[
    ("base", "plain data and errors"),
    ("memchr", "finds bytes and parses nothing"),
    ("oxc_allocator", OXC),
    ("oxc_parser", OXC),
    ("oxc_span", OXC),
    ("serde", "derives, and parses nothing"),
    ("serde_json", "values in memory, numbers and well-formedness; each side finds the places of values by itself"),
    (
        "tree-sitter",
        "the grammars of languages, of which there is one each; the rules over their trees are written twice",
    ),
];

const OXC: &str = "the verifier of rewrites asks it beside the grammars by which rewrites are proposed";

/// The crates of the workspace that each one uses. A floor uses only those before it, and services don't know each other.
const USES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("format", &["base"]),
    ("audit", &["base"]),
    ("system", &["base"]),
    ("record", &["base", "system"]),
    ("gate", &["base", "system"]),
    ("llm", &["base", "system"]),
    ("adapter", &["audit", "base", "format", "system"]),
    ("service", &["base", "format", "system"]),
    ("host", &["adapter", "base", "gate", "llm", "record", "service", "system"]),
    ("flow", &["base", "host", "system"]),
    ("script", &["adapter", "audit", "base", "flow", "format", "host", "service", "system"]),
];

/// Cargo refuses an edge that no manifest has; this refuses a manifest with a new edge, and one that a list has forgotten.
#[test]
fn every_crate_is_known_and_uses_only_those_below_it() {
    let names: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let root: toml_edit::DocumentMut =
        repository::text("Cargo.toml").expect("UTF-8").parse().expect("cargo has read it");
    for (name, folder) in CRATES {
        let folder = format!("src/{}", folder.join("/"));
        for list in ["members", "default-members"] {
            let mut members = root["workspace"][list].as_array().expect("a list").iter();
            assert!(members.any(|member| member.as_str() == Some(&folder)), "`{list}` lacks `{folder}`");
        }
        let used: Vec<String> = dependencies(&format!("{folder}/Cargo.toml")).into_iter().collect();
        let used: Vec<&str> = used.iter().map(String::as_str).filter(|used| names.contains(used)).collect();
        let below = &names[..names.iter().position(|other| other == name).expect("it is listed")];
        assert!(used.iter().all(|used| below.contains(used)), "`{name}` uses {used:?}, which must be below it");
        let stated = USES.iter().find(|(of, _)| of == name).map(|(_, uses)| uses.to_vec());
        assert_eq!(stated, Some(used), "`{name}`");
    }
    let files = repository::files();
    let manifests = files.iter().filter(|path| path.starts_with("src/") && path.ends_with("/Cargo.toml"));
    assert_eq!(manifests.count(), names.len());
}

/// The names in `[dependencies]` of a crate.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let text = repository::text(manifest).expect("manifests are UTF-8");
    let manifest: toml_edit::DocumentMut = text.parse().expect("cargo has read it");
    let table = manifest["dependencies"].as_table().expect("a table");
    table.iter().map(|(name, _)| name.to_owned()).collect()
}

/// A verifier that used the proposer's parser would repeat its mistakes.
#[test]
fn proposers_and_verifiers_share_no_parser_without_a_reason() {
    let [format, audit] = ["src/format/Cargo.toml", "src/audit/Cargo.toml"].map(dependencies);
    assert!(!format.contains("audit") && !audit.contains("format"), "{format:?} {audit:?}");
    let shared: BTreeSet<&str> = format.intersection(&audit).map(String::as_str).collect();
    let excused: BTreeSet<&str> = SHARED.iter().map(|(name, _)| *name).collect();
    assert_eq!(shared, excused, "crates of `format` and `audit`");
}

/// One version and one set of features of each dependency, whichever crate names it.
#[test]
fn crates_take_their_dependencies_from_the_workspace() {
    let mut broken = Vec::new();
    for path in repository::files().iter().filter(|path| path.starts_with("src/") && path.ends_with("Cargo.toml")) {
        let text = repository::text(path).expect("manifests are UTF-8");
        let (_, dependencies) = text.split_once("[dependencies]").expect("it has dependencies");
        let lines = dependencies.lines().filter(|line| line.contains('=') && !line.contains("workspace = true"));
        broken.extend(lines.map(|line| format!("{path}: {line}")));
    }
    super::none(&broken);
}
