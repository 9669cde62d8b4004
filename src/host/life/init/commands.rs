//! The part of a new policy on commands: rules for what the repository shows that it uses, and the folders of its toolchains.
//!
//! The proposal is for a person to read. It omits files that hold keys, such as those of package registries.

use std::{fmt::Write, path::Path};

use serde_json::Value;

use base::path::RepoPath;
use service::exec;
use system::workspace::{Kind, Workspace};

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
                rule(&["rustfmt"], &[], &["**/*.rs"]),
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
        marks: &["pyproject.toml", "requirements-dev.txt", "requirements.txt", "setup.cfg", "setup.py", "tox.ini"],
        home: &[".local/bin", ".local/lib", ".local/share/uv", ".pyenv"],
        scratch: &["**/.mypy_cache/**", "**/.pytest_cache/**", "**/.ruff_cache/**", "**/__pycache__/**"],
        rules: python,
    },
    Toolchain {
        marks: &["go.mod"],
        home: &["go/bin", "go/pkg/mod", "sdk"],
        scratch: &[],
        rules: |_| {
            vec![
                rule(&["go"], &["build", "test", "vet"], &[]),
                rule(&["go"], &["fmt"], &["**/*.go"]),
                rule(&["gofmt"], &["-l", "-w"], &["**/*.go"]),
            ]
        },
    },
    Toolchain {
        marks: &["deno.json", "deno.jsonc"],
        home: &[".deno/bin"],
        scratch: &[],
        rules: |_| vec![rule(&["deno"], &["check", "lint", "test"], &[]), rule(&["deno"], &["fmt"], TEXTS)],
    },
    Toolchain { marks: &["Makefile"], home: &[], scratch: &[], rules: |found| targets(found, "Makefile", "make") },
    Toolchain { marks: &["justfile"], home: &[], scratch: &[], rules: |found| targets(found, "justfile", "just") },
];

/// The files that formatters of JavaScript change, whatever else they can read.
const TEXTS: &[&str] =
    &["**/*.{cjs,css,cts,html,js,json,json5,jsonc,jsx,less,md,mdx,mjs,mts,scss,svelte,ts,tsx,vue,yaml,yml}"];

/// The files with code in JavaScript or TypeScript.
const CODE: &[&str] = &["**/*.{cjs,cts,js,jsx,mjs,mts,svelte,ts,tsx,vue}"];

/// The files with code in Python.
const PYTHON: &[&str] = &["**/*.{py,pyi}"];

/// Managers of versions, whatever the toolchain.
const MANAGERS: &[&str] = &[".asdf", ".local/share/mise"];

/// Scripts of `package.json` and targets of a `Makefile` that only look, build or format.
const KNOWN: &[&str] =
    &["all", "build", "check", "fmt", "format", "lint", "lint:fix", "prettier", "test", "tsc", "typecheck"];

/// Files at the root that are read, or whose being there says something.
const FILES: &[&str] = &[
    ".prettierrc",
    ".prettierrc.json",
    "Cargo.toml",
    "Makefile",
    "biome.json",
    "bun.lock",
    "bun.lockb",
    "deno.json",
    "deno.jsonc",
    "go.mod",
    "justfile",
    "package.json",
    "pnpm-lock.yaml",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements.txt",
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
    /// The folders of programs; unknown if there are none, and then each program counts as installed.
    path: Option<String>,
}

impl Found {
    /// Looks at the files of the root, at toolchains in the home, and at the folders of programs. What can't be read shows nothing.
    pub(super) fn look(workspace: &Workspace, home: Option<&Path>, path: Option<&str>) -> Self {
        let file = |name: &&'static str| {
            let path = RepoPath::parse(name).ok()?;
            workspace.stat(&path).ok()?.filter(|found| found.kind == Kind::File)?;
            let text = workspace.read(&path).ok().and_then(|content| String::from_utf8(content.into_bytes()).ok());
            Some((*name, text.unwrap_or_default()))
        };
        let all = TOOLCHAINS.iter().flat_map(|toolchain| toolchain.home).chain(MANAGERS).copied();
        let exists = |path: &&str| home.is_some_and(|home| home.join(path).exists());
        Found {
            files: FILES.iter().filter_map(file).collect(),
            home: all.filter(exists).collect(),
            path: path.map(str::to_owned),
        }
    }

    /// True if the program of a rule can be started here.
    fn is_installed(&self, rule: &Rule) -> bool {
        let program = rule.prefix.first();
        self.path.is_none() || program.is_some_and(|name| exec::look_up(name, self.path.as_ref()).is_ok())
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
        let (rules, missing): (Vec<Rule>, Vec<Rule>) = rules.into_iter().partition(|rule| self.is_installed(rule));
        if rules.is_empty() && missing.is_empty() {
            text.push_str(EXAMPLE);
        }
        let texts = |rules: &[Rule]| rules.iter().map(Rule::text).collect::<Vec<_>>().join("\n");
        if !rules.is_empty() {
            text.push_str("\n# The commands that runs may start. A script's header names its programs as well.\n");
            text.push_str(&texts(&rules));
        }
        if !missing.is_empty() {
            text.push_str("\n# Commands that the repository uses, and whose programs are not installed here. Remove the marks to allow them.\n");
            let lines = texts(&missing);
            let lines: Vec<String> =
                lines.lines().map(|line| if line.is_empty() { "#".to_owned() } else { format!("# {line}") }).collect();
            text.push_str(&(lines.join("\n") + "\n"));
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
    let start: &[&str] = match manager {
        "pnpm" => &["pnpm", "exec"],
        "yarn" => &["yarn", "run"],
        "bun" => &["bunx"],
        _ => &["npx"],
    };
    let depends = |name: &str| ["dependencies", "devDependencies"].iter().any(|list| package[list][name].is_string());
    let tool = |name: &str, last: &[&str], writes| rule(&[start, &[name]].concat(), last, writes);
    if depends("prettier") || found.has(".prettierrc") || found.has(".prettierrc.json") {
        rules.push(tool("prettier", &["--check", "--write"], TEXTS));
    }
    if depends("@biomejs/biome") || found.has("biome.json") {
        rules.push(tool("biome", &["check", "format", "lint"], TEXTS));
    }
    if depends("eslint") {
        rules.push(tool("eslint", &[], CODE));
    }
    if depends("typescript") {
        rules.push(tool("tsc", &["--noEmit"], &[]));
    }
    rules
}

/// The tools that the project's settings or requirements name.
fn python(found: &Found) -> Vec<Rule> {
    let settings = found.text("pyproject.toml");
    let has = |tool: &str| settings.contains(&format!("[tool.{tool}")) || requires(found, tool);
    let mut rules = vec![rule(&["pytest"], &[], &[]), rule(&["python", "-m", "pytest"], &[], &[])];
    let mut add = |prefix: &[&str], last: &[&str], writes: &'static [&'static str]| {
        if found.has("uv.lock") {
            rules.push(rule(&[&["uv", "run"], prefix].concat(), last, writes));
        }
        if prefix != ["pytest"] {
            rules.push(rule(prefix, last, writes));
        }
    };
    add(&["pytest"], &[], &[]);
    if has("ruff") || found.has("ruff.toml") {
        add(&["ruff"], &["check", "format"], PYTHON);
    }
    if has("black") {
        add(&["black"], &[], PYTHON);
    }
    if has("isort") {
        add(&["isort"], &[], PYTHON);
    }
    if has("mypy") {
        add(&["mypy"], &[], &[]);
    }
    rules
}

/// True if the project lists this package among its requirements.
fn requires(found: &Found, package: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_it = |text: &str| text.strip_prefix(package).is_some_and(|rest| !rest.starts_with(is_name));
    let listed = ["requirements-dev.txt", "requirements.txt"];
    listed.iter().any(|file| found.text(file).lines().any(|line| is_it(line.trim_start())))
        || found.text("pyproject.toml").split('"').skip(1).step_by(2).any(is_it)
}

/// The known targets of a file of rules.
fn targets(found: &Found, file: &str, program: &str) -> Vec<Rule> {
    let text = found.text(file);
    let is_target =
        |name: &&str| text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
    let targets: Vec<&str> = KNOWN.iter().copied().filter(|name| !name.contains(':')).filter(is_target).collect();
    if targets.is_empty() { Vec::new() } else { vec![rule(&[program], &targets, &[])] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::policy::{FILE, Policy};

    fn policy(found: &Found) -> Policy {
        let text = found.section();
        Policy::parse(&text, FILE).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn file(name: &'static str) -> (&'static str, String) {
        let text = match name {
            "package.json" => {
                r#"{"scripts": {"test": "x", "lint:fix": "y", "deploy": "z", "build": 1},
                    "devDependencies": {"eslint": "^9", "typescript": "^5", "prettier-plugin-x": "1"}}"#
            }
            "pyproject.toml" => {
                "[project]\ndependencies = [\"isort>=5\", \"black-box\"]\n[tool.ruff.lint]\n[tool.mypy]\n"
            }
            "requirements.txt" => "# black\nblack==24.1 # formats\nmypy-extensions\n",
            "justfile" => "fmt:\n  x\ndeploy:\n",
            "Makefile" => "build: x\n\ttest:\ntest :=\n.PHONY: all\nfmt:\ndeploy:\n",
            _ => "",
        };
        (name, text.to_owned())
    }

    #[track_caller]
    fn check(files: &[&'static str], line: &str, expected: bool) {
        let found = Found { files: files.iter().map(|name| file(name)).collect(), ..Found::default() };
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(policy(&found).exec_rule(&argv).is_ok(), expected, "{line}\n{}", found.section());
    }

    /// One or two kinds of projects in one repository, or all of them, with settings that can be read and that can't.
    #[test]
    fn every_proposal_is_a_policy_under_which_commands_without_a_rule_stay_refused() {
        let homes: Vec<&str> =
            TOOLCHAINS.iter().flat_map(|toolchain| toolchain.home).chain(MANAGERS).copied().collect();
        let pairs = FILES.iter().flat_map(|one| FILES.iter().map(|other| vec![*one, *other]));
        let sets = pairs.chain([Vec::new(), FILES.to_vec()]);
        for (set, odd) in sets.flat_map(|set| [(set.clone(), false), (set, true)]) {
            let files = set.iter().map(|name| if odd { (*name, "\"\\[".to_owned()) } else { file(name) }).collect();
            let path = odd.then(|| "/nowhere".to_owned());
            let found = Found { files, home: if odd { Vec::new() } else { homes.clone() }, path };
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
        check(&["pyproject.toml", "uv.lock"], "uv run ruff format", true);
        check(&["pyproject.toml"], "isort a.py", true);
        check(&["pyproject.toml"], "black a.py", false);
        check(&["requirements.txt"], "black a.py", true);
        check(&["requirements.txt"], "mypy", false);
        check(&["package.json"], "npx eslint src", true);
        check(&["package.json", "yarn.lock"], "yarn run tsc --noEmit", true);
        check(&["package.json"], "npx tsc", false);
        check(&["package.json"], "npx prettier --write src", false);
        check(&["package.json", ".prettierrc"], "npx prettier --write src", true);
        check(&["package.json", "pnpm-lock.yaml", "biome.json"], "pnpm exec biome format", true);
        check(&["deno.json"], "deno fmt", true);
        check(&["deno.json"], "deno run x", false);
        check(&["go.mod"], "gofmt -w a.go", true);
        check(&["justfile"], "just fmt", true);
        check(&["justfile"], "just deploy", false);
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
        let found = Found { files: vec![file("Cargo.toml")], ..Found::default() };
        let rule = policy(&found).exec_rule(&["cargo".to_owned(), "fmt".to_owned()]).unwrap();
        assert_eq!(rule.write_refusal(&RepoPath::parse("src/a.rs").unwrap()), None);
        assert!(rule.write_refusal(&RepoPath::parse("build.sh").unwrap()).is_some());
    }

    #[test]
    fn a_rule_whose_program_is_not_installed_is_only_shown() {
        let files = vec![file("go.mod")];
        let found = Found { files, path: Some("/nowhere".to_owned()), ..Found::default() };
        assert!(policy(&found).exec_rule(&["go".to_owned(), "vet".to_owned()]).is_err());
        let text = found.section();
        assert!(text.contains("# [[exec.allow]]\n# prefix = [\"go\", [\"build\", \"test\", \"vet\"]]\n"), "{text}");
        // Without the marks it is a policy with these rules.
        let (head, shown) = text.split_once("Remove the marks to allow them.\n").unwrap();
        let shown: String = shown.lines().map(|line| line.trim_start_matches(['#', ' ']).to_owned() + "\n").collect();
        let allowed = Policy::parse(&format!("{head}\n{shown}"), FILE).unwrap();
        assert!(allowed.exec_rule(&["gofmt".to_owned(), "-w".to_owned()]).is_ok());
    }

    #[test]
    fn of_the_home_only_what_the_toolchain_needs_is_read() {
        let home = vec![".cargo/bin", ".cargo/registry", ".nvm", ".asdf"];
        let found = Found { files: vec![file("Cargo.toml")], home: home.clone(), path: None };
        assert_eq!(policy(&found).settings().exec.read, ["~/.cargo/bin", "~/.cargo/registry", "~/.asdf"]);
        assert_eq!(policy(&found).settings().exec.scratch, ["target/**"]);
        let found = Found { files: vec![file("Makefile")], home, path: None };
        assert!(policy(&found).settings().exec.read.is_empty());
    }
}
