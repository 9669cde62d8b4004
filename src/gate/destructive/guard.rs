//! What an agent may not do to its own guard: approve in a person's place, hide from nrv who asks, and change the policy,
//! the records, git's hooks and the settings of agents.
//!
//! Only what the command line says counts: contents of files and of archives are not known here.

use std::path::Path;

use super::{
    arguments::Arguments,
    code::Language,
    guarded::{self, NAMES, guarded, is_pattern_of_guarded, may_be_guarded, names_store},
    kind::Kind,
    place::{self, Place},
    program,
    walk::{Context, Value, Walk},
    written::{edits_in_place, written},
};

/// What the line has made ready for nrv.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guise {
    /// Variables by which nrv tells who asks, or where a person's trust is kept, are not those of the agent's shell.
    variables: bool,
    /// What looks like a person's terminal is none.
    terminal: bool,
}

/// What code says that writes, in lower case.
const WRITES: &[&str] = &[
    "'a'",
    "'r+'",
    "'w'",
    "'w+'",
    "'wb'",
    "'x'",
    "\"a\"",
    "\"r+\"",
    "\"w\"",
    "\"w+\"",
    "\"wb\"",
    "\"x\"",
    "append",
    "chmod",
    "copy",
    "put_contents",
    "delete",
    "dump(",
    "move",
    "remove",
    "rename",
    "replace(",
    "rm(",
    "rmsync",
    "rmtree",
    "save",
    "spew",
    "symlink",
    "touch",
    "truncate",
    "unlink",
    "write",
];

/// Options of nrv that take the next argument.
const VALUED: &[&str] = &[
    "--approve",
    "--arg",
    "--args",
    "--backup",
    "--by",
    "--color",
    "--grant",
    "--output",
    "--reason",
    "--record-llm",
    "--reject",
    "--replay-llm",
    "--reply",
    "--root",
    "--seed",
    "--strip",
    "--threads",
    "-o",
    "-p",
];

impl Walk<'_> {
    /// Holds a command against the guard.
    pub(super) fn guard(&mut self, name: &str, kind: Kind, argv: &[String], ctx: Context<'_>) {
        if name == "nrv" {
            return self.nrv(argv, ctx);
        }
        if kind.is(Kind::COPIES) {
            self.renamed(argv);
        }
        // Most commands name nothing that could be guarded.
        let is_open = |word: &String| word.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        let telling = |word: &String| is_open(word) || may_be_guarded(word);
        if self.folder().is_none() && !argv.iter().skip(1).any(telling) {
            return;
        }
        let removes = matches!(name, "rm" | "unlink" | "srm" | "shred" | "truncate" | "mv" | "gmv" | "sed" | "gsed");
        self.links |= matches!(name, "ln" | "mount" | "mklink" | "new-item");
        let is_here = self.folder().is_none();
        for path in written(name, kind, argv, self.rules.valued(name, argv), is_here) {
            self.guard_written(&path, argv);
            if removes && is_pattern_of_guarded(&path) {
                self.hit("guard.pattern", argv);
            }
        }
        if matches!(name, "find" | "gfind" | "bfs" | "fd" | "fdfind") {
            let edits = edits_in_place(argv);
            let changes = |word: &String| {
                let kind = Kind::of(&program(word));
                *word == "-delete" || kind.is(Kind::CHANGES.or(Kind::COPIES)) || edits && kind.is(Kind::EDITS)
            };
            let named = || argv.iter().skip(1).any(|word| guarded(word).is_some() || is_pattern_of_guarded(word));
            if argv.iter().any(changes) && named() {
                self.hit("guard.pattern", argv);
            }
        }
    }

    /// A file that a command writes.
    pub(super) fn guard_written(&mut self, path: &str, argv: &[String]) {
        let there = self.folder().map(|folder| place::below(folder, path));
        let path = there.as_deref().unwrap_or(path);
        if let Some(id) = guarded(path)
            && !self.is_thrown_away(path, id)
        {
            self.hit(id, argv);
        }
    }

    /// Whether a guarded name stands in a folder that is made to be thrown away: a clone there has hooks of its own.
    fn is_thrown_away(&self, path: &str, id: &str) -> bool {
        let is_cache = Place::of(path) == Place::Cache;
        let Some(real) = self.stand.real.filter(|_| path.starts_with('/') && !is_cache) else {
            return id == "guard.git" && !Place::of(path).is_kept();
        };
        let is_plain = !path.contains(['*', '?', '[', '{', '$', '`']);
        let is_temporary = |path: &str| Place::of(path) == Place::Temporary && !guarded::is_in_store(path);
        let is_own = |real: &str| self.stand.root.as_deref().is_none_or(|root| Path::new(real).starts_with(root));
        match is_plain && !self.links {
            true => is_temporary(path) && real(path).is_some_and(|real| is_temporary(&real) && !is_own(&real)),
            false => false,
        }
    }

    /// Code that names what is guarded and writes.
    pub(super) fn guard_code(&mut self, text: &str, language: Option<Language>, argv: &[String]) {
        self.links |= text.contains("link");
        if !may_be_guarded(text) {
            return;
        }
        let text = text.to_ascii_lowercase();
        let redirects = !matches!(language, Some(Language::Python | Language::Node)) && text.contains('>');
        if !redirects && !WRITES.iter().any(|sign| text.contains(sign)) {
            return;
        }
        // A name may be put together from pieces.
        let whole: String = text.chars().filter(|character| !"'\"+ ,()`".contains(*character)).collect();
        let named = |name: &str| match name {
            ".git" => text.contains(".git/") || text.contains("'.git'") || text.contains("\".git\""),
            name => whole.contains(name),
        };
        if let Some((_, id)) = NAMES.iter().find(|(name, _)| named(name)) {
            self.hit(id, argv);
        } else if names_store(&whole) {
            self.hit("guard.policy", argv);
        }
    }

    /// A variable that the line sets, or takes away.
    pub(super) fn set_variable(&mut self, name: &str, argv: &[String]) {
        let harmless = ["NRV_BLESS", "NRV_LOG", "NRV_PAGER"].contains(&name) || name.starts_with("NRV_FUZZ_");
        let is_home = matches!(name, "HOME" | "XDG_CONFIG_HOME" | "XDG_DATA_HOME" | "XDG_STATE_HOME");
        self.guise.variables |= name == "CI" || is_home || name.starts_with("NRV_") && !harmless;
        if name.starts_with("NRV_TRUST") {
            self.hit("guard.disguise", argv);
        }
        if name.starts_with("GIT_CONFIG")
            && argv.iter().any(|word| word.to_ascii_lowercase().contains("core.hookspath"))
        {
            self.hit("guard.git-hooks", argv);
        }
    }

    /// What a program changes for the one that it runs.
    pub(super) fn disguise(&mut self, name: &str, argv: &[String]) {
        match name {
            "env" => {
                for (at, word) in argv.iter().enumerate().skip(1) {
                    let taken = match word.as_str() {
                        "-i" | "-" | "--ignore-environment" => Some("CI"),
                        "-u" | "--unset" => argv.get(at + 1).map(String::as_str),
                        word => word.strip_prefix("--unset=").or_else(|| word.strip_prefix("-u")),
                    };
                    taken.into_iter().for_each(|variable| self.set_variable(variable, argv));
                }
            }
            "script" | "unbuffer" | "expect" | "screen" | "tmux" | "socat" | "dtach" => self.guise.terminal = true,
            _ => {}
        }
    }

    /// `cargo run -- …`, which may be nrv.
    pub(super) fn built(&mut self, argv: &[String], ctx: Context<'_>) {
        let Some(at) = argv.iter().position(|word| word == "--") else { return };
        let arguments = Arguments::parse(&argv[1..at], &["-p", "--package", "--bin", "--example", "--features", "-j"]);
        let runs = arguments.operands.iter().any(|word| matches!(*word, "run" | "r"));
        let others = ["-p", "--package", "--bin", "--example"];
        let is_other = others.iter().any(|option| arguments.values(option).any(|name| name != "nrv"));
        if runs && !is_other {
            let argv: Vec<String> = std::iter::once("nrv".to_owned()).chain(argv[at + 1..].iter().cloned()).collect();
            self.nrv(&argv, ctx);
        }
    }

    /// A program that nobody knows, and that is asked for what only nrv does.
    pub(super) fn disguised(&mut self, argv: &[String]) {
        let has = |word: &str| argv.iter().any(|given| given == word);
        // It may itself be started by a program that nobody knows.
        let approves = |word: &String| match word.as_str() {
            "approve" | "trust" => has("--yes"),
            "resume" => has("--approve"),
            _ => false,
        };
        if argv.iter().skip(1).take(2).any(approves) {
            self.hit("guard.approve", argv);
        }
    }

    /// nrv itself.
    fn nrv(&mut self, argv: &[String], ctx: Context<'_>) {
        let arguments = Arguments::parse(&argv[1..], VALUED);
        let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
        if arguments.has_free(&["--help", "-h", "--version", "-V"]) {
            return;
        }
        let (name, next) = (arguments.operands.first().copied(), arguments.operands.get(1).copied());
        let only_shows = matches!(next, Some("check" | "list" | "show" | "status"));
        let rehearses = arguments.is_rehearsal() || arguments.has_free(&["--check", "--list", "--show", "--status"]);
        let approves = match name {
            Some("gate" | "docs" | "help") | None => return,
            Some("approve") => !rehearses,
            Some("trust") => !rehearses && !only_shows,
            Some("hooks") => next.is_some() && !only_shows,
            Some("resume") => given(&["--approve", "--yes", "--reply", "-y"]),
            Some(_) => given(&["--yes", "-y"]) && !rehearses,
        };
        let asks = matches!(
            name,
            Some("run" | "resume" | "apply" | "approve" | "trust" | "hooks" | "repl" | "rollback" | "migrate")
        );
        let is_yes = |line: &str| matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes" | "");
        let answered =
            matches!(ctx.input, Some(Value::Text(text)) if text.lines().all(is_yes) && !text.trim().is_empty());
        if approves || asks && !rehearses && (answered || self.guise.terminal) {
            self.hit("guard.approve", argv);
        }
        if asks && !rehearses && self.guise.variables {
            self.hit("guard.disguise", argv);
        }
        match (name, next) {
            (Some("runs"), Some("gc")) if !rehearses => self.hit("guard.records", argv),
            (Some("rollback"), _) if !rehearses => self.hit("guard.rollback", argv),
            _ => {}
        }
    }

    /// `cp target/debug/nrv x`: from here on `x` is nrv.
    fn renamed(&mut self, argv: &[String]) {
        if argv.len() < 3 {
            return;
        }
        if let [.., from, to] = argv
            && program(from) == "nrv"
        {
            self.aliases.insert(to.clone(), "nrv".to_owned());
        }
    }
}

/// Whether a variable says something to nrv, or to git about hooks.
pub(super) fn is_telling(name: &str) -> bool {
    name == "CI" || name == "HOME" || ["XDG_", "NRV_", "GIT_CONFIG"].iter().any(|start| name.starts_with(start))
}

/// Whether a program is held against the guard.
pub(super) fn knows(program: &str) -> bool {
    program == "nrv" || Kind::of(program).is(Kind::CHANGES.or(Kind::COPIES).or(Kind::EDITS))
}
