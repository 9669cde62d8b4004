//! The guard: an agent may not approve in a person's place, or hide the caller from nrv. It may not change the policy, the
//! records, git's hooks and the settings of agents.
//!
//! Only the command line counts: the contents of files and archives are unknown here.

use std::path::Path;

use super::{
    acts::{self, Act, VALUED},
    arguments::Arguments,
    brought::{self, Source},
    check,
    command::{Disk, program},
    guarded::{self, guarded, is_pattern_of_guarded, may_be_guarded},
    kind::Kind,
    lists,
    place::{self, Place},
    printed::starts,
    value::Value,
    walk::{Context, Walk},
    written::{edits_in_place, written},
};

/// Programs that remove a link itself, and leave its target alone.
const UNLINKS: &[&str] =
    &["del", "del-cli", "erase", "remove-item", "ri", "rimraf", "rm", "rmdir", "srm", "trash", "trash-put", "unlink"];

/// Commands of git that make no commit.
const NO_COMMIT: &[&str] = &[
    "blame",
    "cat-file",
    "clone",
    "describe",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "push",
    "rev-list",
    "rev-parse",
    "show",
    "status",
];

/// Commands of nrv that look at no person's trust, or only tell of it.
const FREE_OF_TRUST: &[&str] =
    &["check", "completions", "docs", "doctor", "gate", "help", "init", "man", "new", "runs", "scripts"];

impl Walk<'_> {
    /// Checks a command against the guard.
    pub(super) fn guard(&mut self, name: &str, kind: Kind, argv: &[String], ctx: Context<'_>) {
        if name == "nrv" {
            return self.nrv(argv, ctx);
        }
        if kind.is(Kind::COPIES) {
            self.renamed(argv);
        }
        if name == "git" {
            self.git(argv);
            self.revisions(argv);
        }
        if name == "nix" {
            self.built(argv, ctx);
        }
        let applies = |word: &String| matches!(word.as_str(), "apply" | "am");
        if name == "patch" || name == "git" && argv.iter().any(applies) && !argv.iter().any(|word| word == "stash") {
            self.patched(name, argv, ctx);
        }
        // Most commands name nothing that could be guarded. A glob may match a link.
        let is_open = |word: &String| word.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'(' | b'`'));
        let telling = |word: &String| is_open(word) || may_be_guarded(word);
        let is_told = self.folder().is_some() || self.stand.disk.is_some() || self.listed;
        if !is_told && !argv.iter().skip(1).any(telling) {
            return;
        }
        let is_matched = matches!(
            name,
            "cp" | "gcp" | "tee" | "rm" | "unlink" | "srm" | "shred" | "truncate" | "mv" | "gmv" | "sed" | "gsed"
        );
        self.links |= matches!(name, "ln" | "mount" | "mklink" | "new-item");
        let is_here = self.folder().is_none();
        // These take a link itself, not its target.
        let follows = !UNLINKS.contains(&name);
        for path in written(name, kind, argv, self.rules.valued(name, argv), is_here) {
            self.guard_path(&path, follows, argv);
            if is_matched && is_pattern_of_guarded(&path) {
                self.hit("guard.pattern", argv);
            }
            if self.listed && path.contains('$') || lists::prints_tree(&path) {
                self.hit("guard.listed", argv);
            }
        }
        if matches!(name, "find" | "gfind" | "bfs" | "fd" | "fdfind") {
            self.guard_found(argv);
        }
        self.arrivals(name, argv);
    }

    /// The things that a command brings into a guarded folder under names that its words do not tell.
    fn arrivals(&mut self, name: &str, argv: &[String]) {
        if !brought::knows(name) {
            return;
        }
        let valued = self.rules.valued(name, argv);
        let Some(brought) = brought::brought(name, argv, valued) else { return };
        self.land(&brought, argv);
        if matches!(name, "mv" | "gmv" | "move-item") {
            let from = |source| match source {
                Source::Entry(path) | Source::Contents(path) => Some(path),
                Source::Archive(..) | Source::Named(_) | Source::Unknown => None,
            };
            let from: Vec<String> = brought.from.into_iter().filter_map(from).collect();
            self.moves_above(&from, argv);
        }
    }

    /// Options of git that set its hooks, or write its settings.
    fn git(&mut self, argv: &[String]) {
        let is_telling = |word: &String| {
            let word = word.as_str();
            matches!(word, "config" | "-c" | "init")
                || word.starts_with("--config-env")
                || word.starts_with("--template")
        };
        if !argv.iter().any(is_telling) {
            return;
        }
        let arguments = Arguments::parse(&argv[1..], self.rules.valued("git", argv));
        let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
        let mut settings = arguments.values("-c").chain(arguments.values("--config-env"));
        let copies = arguments.operands.first() == Some(&"init") && given(&["--template"]);
        // Without hooks, a command that makes no commit only skips the repository's own checks.
        let runs_none = |setting: &str| matches!(setting.split_once('='), Some((_, "" | "/dev/null")));
        let commits_nothing = arguments.operands.first().is_some_and(|command| NO_COMMIT.contains(command));
        let is_guarded = |setting: &&str| check::decides_hooks(setting) && !(commits_nothing && runs_none(setting));
        if copies || settings.any(|setting| is_guarded(&setting)) {
            self.hit("guard.git-hooks", argv);
        } else if arguments.operands.first() == Some(&"push") && arguments.values("-c").any(check::decides_hooks) {
            self.hit("git.no-verify", argv);
        }
        if arguments.operands.first() == Some(&"config") {
            let edits = given(&["-e", "--edit"]) || arguments.operands.get(1) == Some(&"edit");
            if edits {
                self.hit("guard.git", argv);
            }
            // The file that git itself writes.
            let files: Vec<String> =
                arguments.values("-f").chain(arguments.values("--file")).map(str::to_owned).collect();
            if check::sets(&arguments) {
                files
                    .iter()
                    .filter(|path| guarded(path) != Some("guard.git"))
                    .for_each(|path| self.guard_written(path, argv));
            }
        }
    }

    /// The files that `find` and similar programs remove or change.
    fn guard_found(&mut self, argv: &[String]) {
        let edits = edits_in_place(argv);
        let changes = |word: &String| {
            let kind = Kind::of(&program(word));
            *word == "-delete" || kind.is(Kind::CHANGES.or(Kind::COPIES)) || edits && kind.is(Kind::EDITS)
        };
        if !argv.iter().any(changes) {
            return;
        }
        let named = argv.iter().skip(1).any(|word| guarded(word).is_some() || is_pattern_of_guarded(word));
        if named || starts(&argv[1..]).any(|start| self.led(start, true).is_some()) {
            self.hit("guard.pattern", argv);
        }
    }

    /// A file that a command writes, through any links on the way.
    pub(super) fn guard_written(&mut self, path: &str, argv: &[String]) {
        self.guard_path(path, true, argv);
    }

    fn guard_path(&mut self, path: &str, follows: bool, argv: &[String]) {
        let below = self.folder().map(|folder| place::below(folder, path));
        let there = below.as_deref().unwrap_or(path);
        let named = guarded(there).filter(|id| !self.is_thrown_away(there, id));
        if let Some(id) = named.or_else(|| self.led(path, follows)) {
            self.hit(id, argv);
        }
    }

    /// True if a guarded name is in a disposable folder: a clone there has hooks of its own.
    pub(super) fn is_thrown_away(&self, path: &str, id: &str) -> bool {
        // Programs in a workspace's build folder are not on the search path.
        let is_within = |root: &str| Path::new(path).starts_with(root);
        if id == "guard.program" && self.stand.root.as_deref().is_some_and(is_within) {
            return true;
        }
        let is_cache = Place::of(path) == Place::Cache;
        let Some(Disk { real, .. }) = self.stand.disk.filter(|_| path.starts_with('/') && !is_cache) else {
            return matches!(id, "guard.git" | "guard.program") && !Place::of(path).is_kept();
        };
        let is_plain = !path.contains(['*', '?', '[', '{', '$', '`']);
        let is_temporary = |path: &str| Place::of(path) == Place::Temporary && !guarded::is_in_store(path);
        let is_own = |real: &str| self.stand.root.as_deref().is_none_or(|root| Path::new(real).starts_with(root));
        match is_plain && !self.links {
            true => is_temporary(path) && real("/", path).is_some_and(|real| is_temporary(&real) && !is_own(&real)),
            false => false,
        }
    }

    /// A variable that the line sets or unsets.
    pub(super) fn set_variable(&mut self, name: &str, argv: &[String]) {
        let harmless = ["NRV_BLESS", "NRV_LOG", "NRV_PAGER"].contains(&name) || name.starts_with("NRV_FUZZ_");
        let is_home = matches!(name, "HOME" | "XDG_CONFIG_HOME" | "XDG_DATA_HOME" | "XDG_STATE_HOME");
        self.guise.variables |= name == "CI" || is_home || name.starts_with("NRV_") && !harmless;
        self.guise.home |= is_home;
        if name.starts_with("NRV_TRUST") {
            self.hit("guard.disguise", argv);
        }
        if name.starts_with("GIT_CONFIG")
            && argv.iter().any(|word| word.to_ascii_lowercase().contains("core.hookspath"))
        {
            self.hit("guard.git-hooks", argv);
        }
    }

    /// The changes that a program makes for the program that it runs.
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

    /// `cargo run -- …` and `nix run . -- …`, which may be nrv.
    pub(super) fn built(&mut self, argv: &[String], ctx: Context<'_>) {
        let Some(at) = argv.iter().position(|word| word == "--") else { return };
        let arguments = Arguments::parse(&argv[1..at], &["-p", "--package", "--bin", "--example", "--features", "-j"]);
        let runs = arguments.operands.iter().any(|word| matches!(*word, "run" | "r"));
        let others = ["-p", "--package", "--bin", "--example"];
        let is_named = |name: &str| name.rsplit(['/', '#', ':']).next().is_some_and(|name| name == "nrv");
        let is_other = match program(&argv[0]).as_ref() {
            "nix" => {
                let from = arguments.operands.get(1).copied().unwrap_or(".");
                let is_own = from.starts_with(['.', '/']) && !from.contains('#');
                !is_own && !from.starts_with("github:") && !is_named(from)
            }
            _ => others.iter().any(|option| arguments.values(option).any(|name| name != "nrv")),
        };
        if runs && !is_other {
            let argv: Vec<String> = std::iter::once("nrv".to_owned()).chain(argv[at + 1..].iter().cloned()).collect();
            self.nrv(&argv, ctx);
        }
    }

    /// An unknown program with arguments that only nrv takes.
    pub(super) fn disguised(&mut self, argv: &[String]) {
        let has = |word: &str| argv.iter().any(|given| given == word);
        // An unknown program may start it.
        let approves = |word: &String| match word.as_str() {
            "approve" | "trust" => has("--yes"),
            "resume" => has("--approve"),
            "fleet" => has("rollback") || has("collect") && (has("--apply") || has("--approve")),
            "runs" => has("import"),
            "run" => has("--yes") && argv.iter().any(|word| word.ends_with(".rhai")),
            _ => false,
        };
        if argv.iter().skip(1).take(2).any(approves) {
            self.hit("guard.approve", argv);
        }
    }

    /// A command of nrv.
    fn nrv(&mut self, argv: &[String], ctx: Context<'_>) {
        // `execvp("nrv", ["nrv", "mcp"])`
        let own = 1 + argv.iter().skip(1).take_while(|word| *word == "nrv").count();
        let arguments = Arguments::parse(argv.get(own..).unwrap_or_default(), VALUED);
        if arguments.has_free(&["--help", "-h", "--version", "-V"]) {
            return;
        }
        let name = arguments.operands.first().copied();
        if matches!(name, Some("gate" | "docs" | "help")) {
            return;
        }
        let rehearses = arguments.is_rehearsal() || arguments.has_free(&["--check", "--list", "--show", "--status"]);
        // A command that only the run tells may be any.
        let approves = acts::is_of_person(&arguments) || name.is_some_and(brought::is_open);
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
        // Elsewhere nrv finds another trust, under which a rehearsal starts programs, too.
        let trusts = name.is_some_and(|name| FREE_OF_TRUST.binary_search(&name).is_err());
        if asks && !rehearses && self.guise.variables || trusts && self.guise.home {
            self.hit("guard.disguise", argv);
        }
        match acts::act(&arguments.operands) {
            Some(Act::Records) if !rehearses => self.hit("guard.records", argv),
            Some(Act::Rollback) if !rehearses => self.hit("guard.rollback", argv),
            _ => {}
        }
    }

    /// `cp target/debug/nrv x`: after it `x` is nrv.
    fn renamed(&mut self, argv: &[String]) {
        if argv.len() < 3 {
            return;
        }
        if let [.., from, to] = argv
            && program(from) == "nrv"
        {
            self.aliases.insert(to.trim_start_matches("./").to_owned(), "nrv".to_owned());
            self.aliases.insert(format!("./{}", to.trim_start_matches("./")), "nrv".to_owned());
        }
    }
}

/// True if nrv reads a variable, or git reads hooks from it.
pub(super) fn is_telling(name: &str) -> bool {
    name == "CI" || name == "HOME" || ["XDG_", "NRV_", "GIT_CONFIG"].iter().any(|start| name.starts_with(start))
}

/// True if the guard checks a program.
pub(super) fn knows(program: &str) -> bool {
    program == "nrv" || Kind::of(program).is(Kind::CHANGES.or(Kind::COPIES).or(Kind::EDITS))
}
