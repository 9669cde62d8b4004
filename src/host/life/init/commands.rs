//! The part of a new policy on commands: rules for what the repository shows that it uses, and the folders of its toolchains.
//!
//! The proposal is for a person to read. It omits files that hold keys, such as those of package registries.

use std::{fmt::Write, path::Path};

use serde_json::Value;

use crate::{
    base::path::RepoPath,
    system::workspace::{Kind, Workspace},
};

/// The beginning of `[exec]` in the policy of every new workspace.
const HEAD: &str = "\
[exec]
# How commands are confined. \"auto\": as far as the machine can. \"require\": in full, or they are not started. \"off\": not at all.
sandbox = \"auto\"
# true: they may use the network.
network = false
# What they may read outside of the repository and the system's folders.
";

/// A commented example of a rule, for a policy in which none is proposed.
const EXAMPLE: &str = "
# Without a rule no command is started, and a script's header names its programs as well.
# [[exec.allow]]
# prefix = [\"make\", [\"build\", \"test\"]]
";

/// A kind of project.
struct Toolchain {
    /// Files of which one shows that the repository is of that kind.
    marks: &'static [&'static str],
    /// Files and folders in the home that its programs read, without those that hold keys.
    home: &'static [&'static str],
    /// Globs of the files that its programs write and that are no part of the tree.
    scratch: &'static [&'static str],
    /// The rules, from the texts of the files that show what is used.
    rules: fn(&Found) -> Vec<Rule>,
}

/// A proposed rule.
struct Rule {
    /// The words; of the last one the alternatives.
    prefix: Vec<String>,
    last: Vec<String>,
    writes: &'static [&'static str],
}

const TOOLCHAINS: &[Toolchain] = &[
    Toolchain {
        marks: &["Cargo.toml"],
        home: &[".cargo/bin", ".cargo/config.toml", ".cargo/git", ".cargo/registry", ".rustup"],
        scratch: &["target/**"],
        rules: |_| {
            vec![
                rule(&["cargo"], &["build", "check", "clippy", "test"], &["**/Cargo.lock"]),
                rule(&["cargo"], &["fmt"], &["**/*.rs"]),
            ]
        },
    },
    Toolchain {
        marks: &["package.json"],
        home: &[".bun/bin", ".fnm", ".local/share/fnm", ".local/share/pnpm", ".nvm", ".volta"],
        scratch: &["**/node_modules/**"],
        rules: node,
    },
    Toolchain {
        marks: &["pyproject.toml", "setup.cfg", "setup.py", "tox.ini"],
        home: &[".local/bin", ".local/lib", ".local/share/uv", ".pyenv"],
        scratch: &["**/.mypy_cache/**", "**/.pytest_cache/**", "**/.ruff_cache/**", "**/__pycache__/**"],
        rules: python,
    },
    Toolchain {
        marks: &["go.mod"],
        home: &["go/bin", "go/pkg/mod", "sdk"],
        scratch: &[],
        rules: |_| vec![rule(&["go"], &["build", "test", "vet"], &[]), rule(&["go"], &["fmt"], &["**/*.go"])],
    },
    Toolchain { marks: &["Makefile"], home: &[], scratch: &[], rules: make },
];

/// Managers of versions, whatever the toolchain.
const MANAGERS: &[&str] = &[".asdf", ".local/share/mise"];

/// Scripts of `package.json` and targets of a `Makefile` that only look, build or format.
const KNOWN: &[&str] =
    &["all", "build", "check", "fmt", "format", "lint", "lint:fix", "prettier", "test", "tsc", "typecheck"];

/// Files at the root that are read, or whose being there says something.
const FILES: &[&str] = &[
    "Cargo.toml",
    "Makefile",
    "bun.lock",
    "bun.lockb",
    "go.mod",
    "package.json",
    "pnpm-lock.yaml",
    "pyproject.toml",
    "ruff.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "uv.lock",
    "yarn.lock",
];

/// The files and folders that were found in the root of a repository and in a home.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Files at the root, with their texts; empty where that is none.
    files: Vec<(&'static str, String)>,
    /// Folders and files in the home.
    home: Vec<&'static str>,
}

impl Found {
    /// Looks at the files of the root and at toolchains in the home. What can't be read shows nothing.
    pub(super) fn look(workspace: &Workspace, home: Option<&Path>) -> Self {
        let file = |name: &&'static str| {
            let path = RepoPath::parse(name).ok()?;
            workspace.stat(&path).ok()?.filter(|found| found.kind == Kind::File)?;
            let text = workspace.read(&path).ok().and_then(|content| String::from_utf8(content.into_bytes()).ok());
            Some((*name, text.unwrap_or_default()))
        };
        let all = TOOLCHAINS.iter().flat_map(|toolchain| toolchain.home).chain(MANAGERS).copied();
        let exists = |path: &&str| home.is_some_and(|home| home.join(path).exists());
        Found { files: FILES.iter().filter_map(file).collect(), home: all.filter(exists).collect() }
    }

    fn has(&self, name: &str) -> bool {
        self.files.iter().any(|(known, _)| *known == name)
    }

    fn text(&self, name: &str) -> &str {
        self.files.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
    }

    /// The text of `[exec]` and its rules.
    pub(super) fn section(&self) -> String {
        let used = TOOLCHAINS.iter().filter(|toolchain| toolchain.marks.iter().any(|mark| self.has(mark)));
        let (mut rules, mut scratch, mut read) = (Vec::new(), Vec::new(), Vec::new());
        for toolchain in used {
            rules.extend((toolchain.rules)(self));
            scratch.extend(toolchain.scratch.iter().map(|glob| (*glob).to_owned()));
            read.extend_from_slice(toolchain.home);
        }
        if !read.is_empty() {
            read.extend_from_slice(MANAGERS);
        }
        let read = read.iter().filter(|path| self.home.contains(path)).map(|path| format!("~/{path}"));
        let mut text = format!("{HEAD}read = {}\n", list(read));
        text.push_str("# What they write that is no part of the tree: it stays, and is not recorded.\n");
        let _ = writeln!(text, "scratch = {}", list(scratch.into_iter()));
        if rules.is_empty() {
            text.push_str(EXAMPLE);
        } else {
            text.push_str("\n# The commands that runs may start. A script's header names its programs as well.\n");
            let rules: Vec<String> = rules.iter().map(Rule::text).collect();
            text.push_str(&rules.join("\n"));
        }
        text
    }
}

impl Rule {
    fn text(&self) -> String {
        let words = list(self.prefix.iter().cloned());
        let prefix = match self.last.as_slice() {
            [] => words,
            [one] => list(self.prefix.iter().chain([one]).cloned()),
            either => format!("{}, {}]", words.trim_end_matches(']'), list(either.iter().cloned())),
        };
        let mut text = format!("[[exec.allow]]\nprefix = {prefix}\n");
        if !self.writes.is_empty() {
            let _ = writeln!(text, "writes = {}", list(self.writes.iter().map(|glob| (*glob).to_owned())));
        }
        text
    }
}

fn rule(prefix: &[&str], last: &[&str], writes: &'static [&'static str]) -> Rule {
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Rule { prefix: own(prefix), last: own(last), writes }
}

/// A list as TOML writes it; nothing in it needs an escape.
fn list(words: impl Iterator<Item = String>) -> String {
    let quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

/// The scripts of `package.json` that are known, with the manager that the lock file shows.
fn node(found: &Found) -> Vec<Rule> {
    let package: Value = serde_json::from_str(found.text("package.json")).unwrap_or_default();
    let scripts: Vec<&str> = KNOWN.iter().copied().filter(|name| package["scripts"][*name].is_string()).collect();
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    let manager = locks.iter().find(|(lock, _)| found.has(lock)).map_or("npm", |(_, manager)| *manager);
    let mut rules = Vec::new();
    if scripts.contains(&"test") {
        rules.push(rule(&[manager, "test"], &[], &[]));
    }
    if !scripts.is_empty() {
        rules.push(rule(&[manager, "run"], &scripts, &[]));
    }
    rules
}

/// The tools that the project's settings name.
fn python(found: &Found) -> Vec<Rule> {
    let settings = found.text("pyproject.toml");
    let has = |tool: &str| settings.contains(&format!("[tool.{tool}"));
    let mut rules = vec![rule(&["pytest"], &[], &[]), rule(&["python", "-m", "pytest"], &[], &[])];
    if found.has("uv.lock") {
        rules.push(rule(&["uv", "run", "pytest"], &[], &[]));
    }
    if has("ruff") || found.has("ruff.toml") {
        rules.push(rule(&["ruff"], &["check", "format"], &["**/*.py", "**/*.pyi"]));
    }
    if has("black") {
        rules.push(rule(&["black"], &[], &["**/*.py", "**/*.pyi"]));
    }
    if has("mypy") {
        rules.push(rule(&["mypy"], &[], &[]));
    }
    rules
}

/// The targets that are known.
fn make(found: &Found) -> Vec<Rule> {
    let text = found.text("Makefile");
    let is_target =
        |name: &&str| text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
    let targets: Vec<&str> = KNOWN.iter().copied().filter(|name| !name.contains(':')).filter(is_target).collect();
    if targets.is_empty() { Vec::new() } else { vec![rule(&["make"], &targets, &[])] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::policy::{FILE, Policy};

    fn policy(found: &Found) -> Policy {
        let text = found.section();
        Policy::parse(&text, FILE).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn file(name: &'static str) -> (&'static str, String) {
        let text = match name {
            "package.json" => r#"{"scripts": {"test": "x", "lint:fix": "y", "deploy": "z", "build": 1}}"#,
            "pyproject.toml" => "[tool.ruff.lint]\n[tool.black]\n[tool.mypy]\n",
            "Makefile" => "build: x\n\ttest:\ntest :=\n.PHONY: all\nfmt:\ndeploy:\n",
            _ => "",
        };
        (name, text.to_owned())
    }

    #[track_caller]
    fn check(files: &[&'static str], line: &str, expected: bool) {
        let found = Found { files: files.iter().map(|name| file(name)).collect(), home: Vec::new() };
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(policy(&found).exec_rule(&argv).is_ok(), expected, "{line}\n{}", found.section());
    }

    /// One or two kinds of projects in one repository, or all of them, with settings that can be read and that can't.
    #[test]
    fn every_proposal_is_a_policy_under_which_commands_without_a_rule_stay_refused() {
        let homes: Vec<&str> =
            TOOLCHAINS.iter().flat_map(|toolchain| toolchain.home).chain(MANAGERS).copied().collect();
        let sets = (0..1_usize << FILES.len()).filter(|set| matches!(set.count_ones() as usize, 0..=2 | 13..));
        for (set, odd) in sets.flat_map(|set| [(set, false), (set, true)]) {
            let names = FILES.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, name)| *name);
            let files = names.map(|name| if odd { (name, "\"\\[".to_owned()) } else { file(name) }).collect();
            let found = Found { files, home: if odd { Vec::new() } else { homes.clone() } };
            let policy = policy(&found);
            assert!(policy.exec_rule(&["sh".to_owned(), "-c".to_owned()]).is_err());
            assert_eq!((policy.settings().exec.sandbox, policy.settings().exec.network), Default::default());
        }
    }

    #[test]
    fn a_repository_gets_rules_for_what_it_uses() {
        check(&["Cargo.toml"], "cargo test --lib", true);
        check(&["Cargo.toml"], "cargo publish", false);
        check(&["package.json"], "npm test", true);
        check(&["package.json", "pnpm-lock.yaml"], "pnpm run lint:fix", true);
        check(&["package.json", "pnpm-lock.yaml"], "npm test", false);
        check(&["package.json"], "npm run build", false);
        check(&["package.json"], "npm run deploy", false);
        check(&["pyproject.toml"], "ruff format", true);
        check(&["setup.py"], "ruff format", false);
        check(&["setup.py"], "python -m pytest -q", true);
        check(&["pyproject.toml", "uv.lock"], "uv run pytest", true);
        check(&["go.mod"], "go vet ./...", true);
        check(&["Makefile"], "make build", true);
        check(&["Makefile"], "make fmt", true);
        for target in ["make test", "make all", "make deploy", "make"] {
            check(&["Makefile"], target, false);
        }
        check(&[], "make build", false);
    }

    #[test]
    fn a_formatter_may_change_what_it_formats() {
        let found = Found { files: vec![file("Cargo.toml")], home: Vec::new() };
        let rule = policy(&found).exec_rule(&["cargo".to_owned(), "fmt".to_owned()]).unwrap();
        assert_eq!(rule.write_refusal(&RepoPath::parse("src/a.rs").unwrap()), None);
        assert!(rule.write_refusal(&RepoPath::parse("build.sh").unwrap()).is_some());
    }

    #[test]
    fn of_the_home_only_what_the_toolchain_needs_is_read() {
        let home = vec![".cargo/bin", ".cargo/registry", ".nvm", ".asdf"];
        let found = Found { files: vec![file("Cargo.toml")], home: home.clone() };
        assert_eq!(policy(&found).settings().exec.read, ["~/.cargo/bin", "~/.cargo/registry", "~/.asdf"]);
        assert_eq!(policy(&found).settings().exec.scratch, ["target/**"]);
        let found = Found { files: vec![file("Makefile")], home };
        assert!(policy(&found).settings().exec.read.is_empty());
    }
}
