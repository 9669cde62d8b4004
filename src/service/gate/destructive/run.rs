//! One command: the commands that it runs, its input, and the rules that it breaks itself.

use super::{
    brought, check, code,
    command::program,
    kind::{Kind, is_shell, programs},
    landing::fits,
    place::{self, Place},
    value::{UNKNOWN, Value},
    walk::{Context, Walk},
    wrapper::{self, Runs},
};

impl Walk<'_> {
    /// One command, by its arguments.
    pub(super) fn command(&mut self, argv: &[String], ctx: Context<'_>) {
        let Some(first) = argv.first() else { return };
        if !self.pay(argv.iter().map(|word| 1 + word.len() / 32).sum()) {
            return;
        }
        if is_open(first) {
            return self.open(argv, ctx);
        }
        let is_outer = self.outer.is_none() && !self.rules.exceptions.is_empty();
        if is_outer {
            self.outer = Some(argv.to_vec());
        }
        let foreign = std::mem::replace(&mut self.foreign, ctx.elsewhere);
        self.one_command(argv, ctx);
        self.foreign = foreign;
        if is_outer {
            self.outer = None;
        }
    }

    fn one_command(&mut self, argv: &[String], ctx: Context<'_>) {
        let Some(first) = argv.first() else { return };
        // zsh has `=name` for the path of a program.
        let first = first.strip_prefix('=').unwrap_or(first);
        let name = program(first);
        let name = name.as_ref();
        let (kind, valued) = (Kind::of(name), self.rules.valued(name, argv));
        self.judge(argv, name, valued, ctx);
        if let Some(id) = check::check(name, argv, valued, self.folder()) {
            self.hit(id, argv);
        }
        self.own_program(argv, ctx);
        self.keep_out(name, argv);
        self.guard(name, kind, argv, ctx);
        if kind.is(Kind::READER) && shown(name, argv).any(|word| is_secret(name, word)) && !is_quiet(name, argv) {
            self.hit("secrets.read", argv);
        }
        self.running_options(name, argv, ctx);
        self.deeper(|walk| {
            if let Some((runs, elsewhere)) = kind.is(Kind::WRAPPER).then(|| wrapper::runs(name, argv)).flatten() {
                let ctx = Context { elsewhere: ctx.elsewhere || elsewhere, ..ctx };
                match name {
                    "eval" | "builtin" | "command" => walk.wrapped(name, argv, runs, ctx),
                    _ => walk.aside(|walk| {
                        walk.disguise(name, argv);
                        if let Some(folder) = wrapper::folder(name, argv) {
                            walk.enter(walk.landed(folder));
                        }
                        walk.wrapped(name, argv, runs, ctx);
                    }),
                }
            } else if kind.is(Kind::SHELL) {
                walk.apart(|walk| walk.shell(name, argv, ctx));
            } else {
                walk.special(name, kind, argv, ctx);
            }
        });
        self.makes(name, argv, valued, ctx);
        // The commands that a wrapper runs count themselves.
        let runs_others =
            matches!(name, "find" | "xargs") || kind.is(Kind::WRAPPER) && wrapper::runs(name, argv).is_some();
        self.fills(name, argv, valued, ctx);
        self.acted = self.acted || !runs_others && brought::may_make(argv, valued);
        self.dotted |= argv.iter().any(|word| matches!(word.as_str(), "dotglob" | "globdots" | "GLOB_DOTS"));
    }

    fn wrapped(&mut self, name: &str, argv: &[String], runs: Runs, ctx: Context<'_>) {
        let mut lent = Vec::new();
        if let Runs::Argv(from) = runs {
            for (variable, value) in argv.iter().take(from).filter_map(|word| word.split_once('=')) {
                self.environment(variable, value, ctx);
                self.set_variable(variable, argv);
                lent.push((variable.to_owned(), Value::Text(value.to_owned())));
            }
        }
        self.lend(lent, |walk| walk.started(name, argv, runs, ctx));
    }

    /// The command that a wrapper starts.
    fn started(&mut self, name: &str, argv: &[String], runs: Runs, ctx: Context<'_>) {
        match runs {
            Runs::Argv(from) => {
                let inner = argv.get(from..).unwrap_or_default();
                // `docker run --entrypoint rm image x`
                if let Some(program) = wrapper::option(argv.get(..from).unwrap_or_default(), &["--entrypoint"]) {
                    return self.command(&[vec![program], inner.to_vec()].concat(), ctx);
                }
                match inner.first().map(String::as_str) {
                    None => {
                        if is_login(name, argv) {
                            self.input(argv, ctx);
                        }
                    }
                    // A login shell runs the command that follows.
                    Some("-") => self.command(&inner[1..], ctx),
                    Some(line) if inner.len() == 1 && line.contains(' ') => self.line(line, ctx),
                    // `npx name@version`
                    Some(first) if first.find('@').is_some_and(|at| at > 0 && !first.contains(['/', '$'])) => {
                        let name = first.split('@').next().unwrap_or(first).to_owned();
                        self.command(&[vec![name], inner[1..].to_vec()].concat(), ctx);
                    }
                    Some(_) => self.command(inner, ctx),
                }
            }
            Runs::Line(line) => {
                if matches!(name, "eval" | "iex" | "invoke-expression") {
                    return self.evaluate(&line, argv, ctx);
                }
                self.line(&line, ctx);
            }
            Runs::Input
                if matches!(name, "ssh" | "su" | "iex" | "invoke-expression" | "wsl") || is_login(name, argv) =>
            {
                self.input(argv, ctx);
            }
            Runs::Input => {}
        }
    }

    /// An unknown word in the place of a program: the words after it are judged as the command of another program.
    fn open(&mut self, argv: &[String], ctx: Context<'_>) {
        if argv[0] == UNKNOWN {
            return self.hit("shell.output", argv);
        }
        if self.is_held(&argv[0]) {
            self.suspect(ctx);
        }
        for name in self.matched_programs(&argv[0]) {
            self.deeper(|walk| walk.command(&[vec![name], argv[1..].to_vec()].concat(), ctx));
        }
        self.deeper(|walk| walk.command(&argv[1..], Context { elsewhere: true, ..ctx }));
    }

    /// The known programs for which a pattern in the place of a program may stand: `/bin/r?`.
    fn matched_programs(&self, pattern: &str) -> Vec<String> {
        let (folder, pattern) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let last = folder.rsplit('/').next().unwrap_or(folder);
        let has_programs = match folder {
            "" => !pattern.contains(['*', '.']),
            _ => ["bin", "sbin"].iter().any(|known| fits(last, known)),
        };
        // A whole folder stands for nothing in particular.
        if !is_pattern(pattern) || pattern.contains('$') || pattern.trim_matches('*').is_empty() || !has_programs {
            return Vec::new();
        }
        let fitting = |name: &&str| fits(pattern, name);
        let mut names: Vec<String> = programs().filter(fitting).map(str::to_owned).collect();
        names.extend(self.rules.programs().filter(fitting).map(str::to_owned));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn evaluate(&mut self, line: &str, argv: &[String], ctx: Context<'_>) {
        let inner = line.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
        match inner {
            Some(inner) => {
                if !self.is_settings(inner) {
                    self.hit("shell.output", argv);
                }
            }
            None => self.line(line, ctx),
        }
    }

    /// A shell: a line in its arguments, a script, or its input.
    fn shell(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        let windows = matches!(name, "powershell" | "pwsh" | "cmd");
        let (mut takes_line, mut reads_input, mut at) = (false, false, 1);
        while let Some(word) = argv.get(at) {
            let lower = word.to_ascii_lowercase();
            let bare = lower.trim_start_matches(['-', '/']);
            if windows && bare.len() != lower.len() && !bare.is_empty() && "encodedcommand".starts_with(bare)
                || bare == "ec"
            {
                return self.hit("shell.encoded", argv);
            }
            let is_line = match (windows, lower.starts_with("--")) {
                (true, _) => {
                    bare.len() != lower.len() && ("command".starts_with(bare) && !bare.is_empty() || bare == "k")
                }
                (false, true) => matches!(bare, "command" | "commands"),
                (false, false) => word.starts_with('-') && word.contains('c'),
            };
            if windows && is_line {
                return self.line(&argv[at + 1..].join(" "), ctx);
            }
            if let Some(line) = word.strip_prefix("--command=").or_else(|| word.strip_prefix("--commands=")) {
                return self.line(line, ctx);
            }
            takes_line |= is_line;
            reads_input |= !windows && !word.starts_with("--") && word.starts_with('-') && word.contains('s');
            if let Some(file) = argv.get(at + 1).filter(|_| matches!(word.as_str(), "--rcfile" | "--init-file")) {
                self.script_file(file, argv, ctx);
            }
            let valued = ["-o", "-O", "+O", "+o", "--rcfile", "--init-file", "-file", "-executionpolicy", "-ep"];
            let is_option = (word.starts_with(['-', '+']) || windows && word.starts_with('/')) && word.len() > 1;
            if !is_option && word != "-" {
                break;
            }
            at += if valued.contains(&word.as_str()) && !(windows && bare == "file") { 2 } else { 1 };
        }
        let Some(operand) = argv.get(at) else { return self.input(argv, ctx) };
        if takes_line {
            // The first argument is the name of the line itself.
            let arguments = &argv[at + 1..];
            if let Some((name, arguments)) = arguments.split_first() {
                self.variables.insert("0".to_owned(), Value::Text(name.clone()));
                self.positional(arguments);
            }
            return match operand == UNKNOWN {
                true => self.hit("shell.output", argv),
                false => self.evaluate(operand, argv, ctx),
            };
        }
        if reads_input {
            return self.input(argv, ctx);
        }
        self.script_file(operand, argv, ctx);
    }

    /// A script that the line itself has written or fetched.
    pub(super) fn script_file(&mut self, path: &str, argv: &[String], ctx: Context<'_>) {
        if place::is_input(path) {
            return self.input(argv, ctx);
        }
        match self.content(path) {
            Some(Value::Text(text)) => self.fed(&text, argv, ctx),
            Some(Value::Output { .. }) if path.starts_with("<(") => {
                if !path.strip_suffix(')').is_some_and(|path| self.is_settings(&path[2..])) {
                    self.hit("shell.output", argv);
                }
            }
            Some(Value::Output { fetched: true }) => self.hit("shell.fetched", argv),
            Some(Value::Output { fetched: false }) | None => {}
        }
    }

    /// A program that runs its input.
    pub(super) fn input(&mut self, argv: &[String], ctx: Context<'_>) {
        match ctx.input.cloned() {
            Some(Value::Text(text)) => self.fed(&text, argv, Context { input: None, ..ctx }),
            Some(Value::Output { fetched: true }) => self.hit("shell.fetched", argv),
            Some(Value::Output { fetched: false }) => self.hit("shell.output", argv),
            None => {}
        }
    }

    /// A text that a program runs: a shell's commands, or an interpreter's code.
    pub(super) fn fed(&mut self, text: &str, argv: &[String], ctx: Context<'_>) {
        let name = argv.first().map(|first| program(first).into_owned()).unwrap_or_default();
        match code::language(&name) {
            Some(language) => self.code(text, language, argv, ctx),
            None => self.line(text, ctx),
        }
    }

    pub(super) fn code(&mut self, text: &str, language: code::Language, argv: &[String], ctx: Context<'_>) {
        self.guard_code(text, Some(language), argv);
        self.may_move(text);
        let found = code::scan(text, language);
        for id in found.rules {
            self.hit(id, argv);
        }
        for line in found.commands {
            self.deeper(|walk| walk.guess(&line, ctx));
        }
        // Many of them run what follows a word or a sign.
        if language == code::Language::Other {
            self.inside(text, ctx);
        }
    }
}

/// True if words are the beginning of a command that runs the words after them, such as `env`, `sh -c` or `npx`.
pub fn runs_what_follows(words: &[String]) -> bool {
    let Some(first) = words.first() else { return true };
    let name = program(first);
    let is_bare = words.iter().skip(1).all(|word| word.starts_with('-'));
    if is_shell(&name) || code::language(&name).is_some() || name == "xargs" || name == "parallel" {
        return is_bare;
    }
    // `find . -exec`: its command may stand anywhere.
    if name == "find" || is_bare && wrapper::is_known(&name) {
        return true;
    }
    match wrapper::runs(&name, words) {
        Some((wrapper::Runs::Argv(from), _)) => words.get(from..).is_none_or(runs_what_follows),
        Some((wrapper::Runs::Input, _)) => true,
        Some((wrapper::Runs::Line(_), _)) | None => false,
    }
}

/// True for a word that only the run tells.
pub(super) fn is_open(word: &str) -> bool {
    let is_whole = word.starts_with("$(") && word.ends_with(')') || word.starts_with('`');
    let name = word.rsplit('/').next().unwrap_or(word);
    let is_variable = name.starts_with('$') && !name.starts_with("$(") && !name.contains('.');
    is_whole || is_variable || is_pattern(word)
}

/// True for a word that a shell takes for the name of a file that fits it: `/bin/r?`, `r[m]`.
pub(super) fn is_pattern(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_set = name.split_once('[').is_some_and(|(_, rest)| rest.len() > 1 && rest.contains(']'));
    (name.contains(['*', '?']) || has_set) && name.len() > 1 && !name.contains("?.") && !name.contains('=')
}

/// The arguments of a reader whose contents are sent or shown: neither files that are only loaded, nor the destination of a
/// copy.
fn shown<'a>(name: &str, argv: &'a [String]) -> impl Iterator<Item = &'a String> {
    let copies = matches!(name, "cp" | "mv" | "ln" | "install") && argv.len() > 2;
    let to = argv.len() - usize::from(copies && argv.last().is_some_and(|to| Place::of(to) == Place::Inside));
    let is_loaded = |word: &str| word.starts_with("--env-file");
    let words = argv[..to].iter().enumerate().skip(1);
    words.filter(move |(at, word)| !is_loaded(word) && argv[at - 1] != "--env-file").map(|(_, word)| word)
}

/// True if a word is a file with credentials, or code that reads one.
fn is_secret(name: &str, word: &str) -> bool {
    let reads = || ["read", "Read", "open"].iter().any(|call| word.contains(call));
    place::is_secret(word)
        || code::language(name).is_some()
            && reads()
            && code::strings(word).iter().any(|text| !text.contains(' ') && place::is_secret(text))
}

/// A search that shows no line.
fn is_quiet(name: &str, argv: &[String]) -> bool {
    let quiet = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(['q', 'l', 'c', 'L']);
    matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "ag") && argv.iter().skip(1).any(quiet)
}

/// A wrapper that starts a shell if it has no command.
fn is_login(name: &str, argv: &[String]) -> bool {
    let shell = ["-s", "-i", "--shell", "--login", "-l", "-"];
    name == "su" || argv.iter().skip(1).any(|word| shell.contains(&word.as_str()))
}
