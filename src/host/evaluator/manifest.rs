//! Which dependencies a manifest names: of Cargo, npm, pip, Poetry, Go, Bundler and Maven.
//!
//! Lock files are not looked at: what they hold follows from manifests.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde_json::Value;
use toml_edit::{Document, Item, TableLike};

use base::{error::Code, path::RepoPath, toml_file::TomlFile};

/// The bounds of a manifest in TOML.
const BOUNDS: TomlFile = TomlFile { most: 1 << 20, values: 1 << 17, code: Code::Unreadable };

/// A dependency: its name, and what is asked for of its versions, as it is written.
pub(super) type Dependency = (String, String);

type Reader = fn(&str) -> Option<BTreeSet<Dependency>>;

/// Returns the parser for a manifest of that name; none if the file is no manifest.
fn reader(path: &RepoPath) -> Option<Reader> {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    Some(match name {
        "Cargo.toml" => cargo,
        "package.json" => npm,
        "pyproject.toml" => pyproject,
        "go.mod" => go,
        "Gemfile" => bundler,
        "pom.xml" => maven,
        _ if name.starts_with("requirements") && name.ends_with(".txt") => pip,
        _ => return None,
    })
}

/// True for a file that names dependencies.
pub(super) fn is_manifest(path: &RepoPath) -> bool {
    reader(path).is_some()
}

/// The dependencies of a manifest; none if it can't be read.
pub(super) fn dependencies(path: &RepoPath, text: &[u8]) -> Option<BTreeSet<Dependency>> {
    reader(path)?(str::from_utf8(text).ok()?)
}

/// A manifest in TOML, unless it is one that would take a parser's memory.
fn toml(text: &str) -> Option<Document<&str>> {
    BOUNDS.check(text, "manifest").ok()?;
    Document::parse(text).ok()
}

fn cargo(text: &str) -> Option<BTreeSet<Dependency>> {
    let document = toml(text)?;
    let mut found = BTreeSet::new();
    cargo_tables(document.as_table(), &mut found);
    let inner = |key: &str| document.as_table().get(key).and_then(Item::as_table_like);
    if let Some(workspace) = inner("workspace") {
        cargo_tables(workspace, &mut found);
    }
    for (_, target) in inner("target").into_iter().flat_map(TableLike::iter) {
        if let Some(target) = target.as_table_like() {
            cargo_tables(target, &mut found);
        }
    }
    Some(found)
}

fn cargo_tables(table: &dyn TableLike, found: &mut BTreeSet<Dependency>) {
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        found.extend(named(table.get(kind)));
    }
}

/// The entries of a table of dependencies: a version, or a table with one and maybe the real name.
fn named(table: Option<&Item>) -> Vec<Dependency> {
    let entries = table.and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter);
    let text = |table: &dyn TableLike, key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
    let entry = |(name, item): (&str, &Item)| match item.as_table_like() {
        Some(table) => {
            (text(table, "package").unwrap_or_else(|| name.to_owned()), text(table, "version").unwrap_or_default())
        }
        None => (name.to_owned(), item.as_str().unwrap_or_default().to_owned()),
    };
    entries.map(entry).collect()
}

fn npm(text: &str) -> Option<BTreeSet<Dependency>> {
    let manifest: Value = serde_json::from_str(text).ok()?;
    let kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
    let entries = kinds.iter().filter_map(|kind| manifest[*kind].as_object()).flatten();
    let entry = |(name, asked): (&String, &Value)| {
        let asked = asked.as_str().unwrap_or_default();
        // `npm:left-pad@1` is another package under this name.
        match asked
            .strip_prefix("npm:")
            .map(|real| real.rsplit_once('@').filter(|(name, _)| !name.is_empty()).unwrap_or((real, "")))
        {
            Some((real, version)) => (real.to_owned(), version.to_owned()),
            None => (name.clone(), asked.to_owned()),
        }
    };
    Some(entries.map(entry).collect())
}

fn pip(text: &str) -> Option<BTreeSet<Dependency>> {
    let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default());
    Some(lines.filter_map(requirement).collect())
}

/// A requirement of Python, such as `name[extra]>=1; marker`; none if it is an option, a comment or an address without a name.
fn requirement(text: &str) -> Option<Dependency> {
    // What is fetched from an address may say its name behind it; its version stands nowhere.
    static EGG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"://[^\s]*[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]*)").expect("it is a pattern"));
    static ADDRESS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*[A-Za-z][A-Za-z0-9+.-]*://").expect("it is a pattern"));
    let normal = |name: &str| name.replace(['_', '.'], "-").to_lowercase();
    if let Some(found) = EGG.captures(text) {
        return Some((normal(&found[1]), String::new()));
    }
    if ADDRESS.is_match(text) {
        return None;
    }
    static REQUIREMENT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*([^;]*)").expect("it is a pattern")
    });
    let found = REQUIREMENT.captures(text)?;
    let asked = found[2].trim();
    // The version of what is fetched from an address stands nowhere.
    let asked = if asked.starts_with('@') { "" } else { asked };
    Some((normal(&found[1]), asked.to_owned()))
}

fn pyproject(text: &str) -> Option<BTreeSet<Dependency>> {
    let document = toml(text)?;
    let mut found = BTreeSet::new();
    for path in [&["project", "dependencies"][..], &["build-system", "requires"]] {
        found.extend(listed(at(document.as_item(), path)));
    }
    for path in [&["project", "optional-dependencies"][..], &["dependency-groups"]] {
        let groups = at(document.as_item(), path).and_then(Item::as_table_like);
        found.extend(groups.into_iter().flat_map(TableLike::iter).flat_map(|(_, list)| listed(Some(list))));
    }
    let poetry = at(document.as_item(), &["tool", "poetry"]);
    let groups = poetry.and_then(|poetry| at(poetry, &["group"])).and_then(Item::as_table_like);
    let groups = groups.into_iter().flat_map(TableLike::iter).map(|(_, group)| group);
    for table in poetry.into_iter().chain(groups) {
        for kind in ["dependencies", "dev-dependencies"] {
            found.extend(named(table.get(kind)).into_iter().filter(|(name, _)| name != "python"));
        }
    }
    Some(found)
}

fn at<'d>(item: &'d Item, path: &[&str]) -> Option<&'d Item> {
    path.iter().try_fold(item, |item, name| item.get(name))
}

/// The requirements of a list.
fn listed(list: Option<&Item>) -> Vec<Dependency> {
    let items = list.and_then(Item::as_array).into_iter().flat_map(|list| list.iter());
    items.filter_map(|item| requirement(item.as_str()?)).collect()
}

fn go(text: &str) -> Option<BTreeSet<Dependency>> {
    let mut found = BTreeSet::new();
    let mut block = None;
    // A bracket needs no space around it.
    let text = text.replace('(', " ( ").replace(')', " ) ");
    for line in text.lines() {
        let words: Vec<&str> = line.split("//").next().unwrap_or_default().split_whitespace().collect();
        let (verb, rest) = match (block, words.as_slice()) {
            (_, []) => continue,
            (_, [")"]) => {
                block = None;
                continue;
            }
            (None, [verb, "("]) => {
                block = Some(*verb);
                continue;
            }
            (Some(verb), rest) => (verb, rest),
            (None, [verb, rest @ ..]) => (*verb, rest),
        };
        // What stands in place of another module is a dependency, too.
        let named = match verb {
            "require" => rest,
            "replace" => rest.split(|word| *word == "=>").nth(1).unwrap_or_default(),
            _ => &[],
        };
        if let [name, version @ ..] = named {
            found.insert((unquoted(name), version.first().copied().map(unquoted).unwrap_or_default()));
        }
    }
    Some(found)
}

fn unquoted(text: &str) -> String {
    text.trim_matches(['"', '`']).to_owned()
}

fn bundler(text: &str) -> Option<BTreeSet<Dependency>> {
    static GEM: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?m)^\s*gem[\s(]+["']([^"']+)["'](?:\s*,\s*["']([^"']*)["'])?"#).expect("it is a pattern")
    });
    let gem =
        |found: regex::Captures<'_>| (found[1].to_owned(), found.get(2).map_or("", |asked| asked.as_str()).to_owned());
    Some(GEM.captures_iter(text).map(gem).collect())
}

fn maven(text: &str) -> Option<BTreeSet<Dependency>> {
    let document = roxmltree::Document::parse(text).ok()?;
    let names = ["dependency", "plugin", "extension", "parent"];
    let is_named = |node: &roxmltree::Node<'_, '_>| names.contains(&node.tag_name().name());
    let child = |node: roxmltree::Node<'_, '_>, name: &str| {
        let hit = node.children().find(|child| child.tag_name().name() == name);
        hit.and_then(|hit| hit.text()).unwrap_or_default().trim().to_owned()
    };
    let entry = |node: roxmltree::Node<'_, '_>| {
        let group = child(node, "groupId");
        let artifact = child(node, "artifactId");
        (if group.is_empty() { artifact } else { format!("{group}:{artifact}") }, child(node, "version"))
    };
    Some(document.descendants().filter(is_named).map(entry).collect())
}

/// A manifest that the run changed.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    pub(super) path: RepoPath,
    /// The content before the run; none if the file did not exist or can't be read.
    pub(super) before: Option<Vec<u8>>,
    /// The content after the run; none if it can't be read.
    pub(super) after: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, expected: &[(&str, &str)]) {
        let path = RepoPath::parse(name).unwrap();
        let found = dependencies(&path, text.as_bytes()).unwrap();
        let found: Vec<_> = found.iter().map(|(name, asked)| (name.as_str(), asked.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn cargo_names_dependencies_in_several_tables() {
        let text = "[dependencies]\na = '1'\nb = { version = '2', features = [] }\nc.package = 'real'\nc.version = '3'\n\
            [dev-dependencies]\nd = { path = 'd' }\n[target.'cfg(unix)'.build-dependencies]\ne = '^5'\n\
            [workspace.dependencies]\nf = '6'\n[features]\ng = []\n";
        check("x/Cargo.toml", text, &[("a", "1"), ("b", "2"), ("d", ""), ("e", "^5"), ("f", "6"), ("real", "3")]);
    }

    #[test]
    fn npm_names_real_packages_behind_other_names() {
        let text = r#"{"dependencies": {"a": "^1", "b": "npm:left-pad@1.3", "s": "npm:@x/y"}, "devDependencies": {"@c/d": "2"}, "scripts": {"z": "1"}}"#;
        check("package.json", text, &[("@c/d", "2"), ("@x/y", ""), ("a", "^1"), ("left-pad", "1.3")]);
    }

    #[test]
    fn python_names_requirements_in_files_and_projects() {
        let text = "# a comment\n-r other.txt\nFlask_Login[x]>=1,<2 ; python_version > '3'  # why\nb==1.0\nc @ https://x/c.whl\n\n";
        check("requirements-dev.txt", text, &[("b", "==1.0"), ("c", ""), ("flask-login", ">=1,<2")]);
        let text = "git+https://x/y/left_pad@v1#egg=left_pad\n-e git+ssh://x/z#subdirectory=a&egg=z\nhttps://x/w.whl\n";
        check("requirements.txt", text, &[("left-pad", ""), ("z", "")]);
        let text = "[project]\ndependencies = ['a>=1']\n[project.optional-dependencies]\nx = ['b']\n[build-system]\nrequires = ['hatch']\n\
            [dependency-groups]\ndev = ['c~=2', {include-group = 'x'}]\n\
            [tool.poetry.dependencies]\npython = '^3'\nd = '^1'\n[tool.poetry.group.dev.dependencies]\ne = {version = '2'}\n";
        let expected = [("a", ">=1"), ("b", ""), ("c", "~=2"), ("d", "^1"), ("e", "2"), ("hatch", "")];
        check("pyproject.toml", text, &expected);
    }

    #[test]
    fn go_bundler_and_maven_are_read() {
        let text = "module m\n\nrequire (\n\ta.b/c v1.2.3 // indirect\n)\nrequire d.e/f v0.1.0\nreplace a.b/c => ../c\nreplace d.e/f => g.h/i v9.0.0\n";
        check("go.mod", text, &[("../c", ""), ("a.b/c", "v1.2.3"), ("d.e/f", "v0.1.0"), ("g.h/i", "v9.0.0")]);
        check("go.mod", "require(\n\ta.b/c v1\n)\n", &[("a.b/c", "v1")]);
        check(
            "Gemfile",
            "source 'x'\ngem \"rails\", \"~> 7\"\n  gem('rack')\n# gem 'no'\n",
            &[("rack", ""), ("rails", "~> 7")],
        );
        let text = "<project><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>1</version></dependency></dependencies></project>";
        check("pom.xml", text, &[("g:a", "1")]);
    }

    #[test]
    fn other_files_are_no_manifests_and_broken_ones_can_not_be_read() {
        for name in ["Cargo.lock", "src/package.json.md", "requirements.in"] {
            assert!(!is_manifest(&RepoPath::parse(name).unwrap()), "{name}");
        }
        for name in ["Cargo.toml", "package.json", "pyproject.toml", "pom.xml"] {
            assert_eq!(dependencies(&RepoPath::parse(name).unwrap(), b"{"), None, "{name}");
        }
    }
}
