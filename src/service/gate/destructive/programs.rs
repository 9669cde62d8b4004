//! Programs that the words of a rule can't judge: the commands that they run, their input, and their effects on the line.

use super::{
    arguments::Arguments,
    brought::{self, Brought},
    check, code,
    command::program,
    kind::{Kind, is_loader},
    lists::lists_tree,
    place::{self, Place},
    printed::{cached, fetches, starts},
    sed, sql,
    value::{UNKNOWN, Value},
    walk::{Context, Walk},
};

/// Options of `xargs` and `parallel` that take the next argument.
const XARGS: &[&str] = &[
    "-I",
    "-n",
    "-P",
    "-L",
    "-s",
    "-d",
    "-E",
    "-a",
    "-j",
    "-S",
    "--max-args",
    "--max-procs",
    "--max-lines",
    "--replace",
    "--delimiter",
    "--arg-file",
    "--jobs",
];

impl Walk<'_> {
    /// Programs that the words of a rule can't judge.
    pub(super) fn special(&mut self, name: &str, kind: Kind, argv: &[String], ctx: Context<'_>) {
        if let Some(language) = code::language(name) {
            return self.interpreter(name, argv, language, ctx);
        }
        match name {
            "xargs" | "gxargs" | "parallel" => self.xargs(argv, ctx),
            "find" | "gfind" | "bfs" | "fd" | "fdfind" => self.find(argv, ctx),
            "cd" | "pushd" | "popd" | "chdir" | "set-location" => self.go(name, argv),
            "alias" => self.alias(argv),
            "set" => self.set(argv),
            "shift" => self.shift(argv),
            "unset" => argv.iter().skip(1).for_each(|name| self.set_variable(name, argv)),
            "nrv" => {}
            "cargo" => self.built(argv, ctx),
            _ if !kind.is(Kind::DATA) && (kind.is(Kind::SCANNED) || is_loader(name)) => self.scan(name, argv, ctx),
            "export" | "declare" | "local" | "readonly" | "typeset" | "setenv" => self.export(argv, ctx),
            "read" | "mapfile" | "readarray" => self.read(name, argv, ctx),
            "printf" => self.print_into(argv),
            "compgen" | "complete" | "bind" | "hash" => self.later(name, argv, ctx),
            "git" => self.settings(argv, ctx),
            "trap" => self.trap(argv, ctx),
            "at" | "batch" | "newgrp" => self.input(argv, ctx),
            "crontab" | "ftp" | "gmake" | "incrontab" | "lftp" | "logrotate" | "m4" | "make" | "sftp" => {
                if matches!(name, "gmake" | "make") {
                    self.made(argv, ctx);
                }
                self.scripted(name, argv, ctx);
                self.unknown(argv, ctx);
            }
            "socat" => self.socket(argv, ctx),
            "." | "source" => {
                argv.get(1).into_iter().for_each(|path| self.script_file(path, argv, ctx));
            }
            "awk" | "gawk" | "goawk" | "mawk" | "nawk" | "original-awk" => self.awk(argv, ctx),
            "vi" | "vim" | "nvim" | "view" | "ex" | "ed" | "less" | "more" => self.escapes(argv, ctx),
            "tmux" => {
                for text in argv.iter().skip(1).filter(|word| word.contains(' ')) {
                    self.deeper(|walk| walk.guess(text, ctx));
                }
            }
            "sed" | "gsed" => self.sed(argv, ctx),
            "tee" => self.tee(argv),
            "apt" | "apt-get" | "dpkg" | "rpm" => self.installs(argv),
            "remove-item" | "ri" if ctx.input.is_some() && argv.iter().any(|word| word.starts_with('-')) => {
                self.hit("files.delete-listed", argv);
            }
            "rm" | "unlink" | "srm" | "rimraf" | "del-cli" | "trash" | "mdelete" | "mrm" => self.deletes(argv, ctx),
            _ if fetches(name) => self.fetch(name, argv),
            "heroku" if argv.get(1).is_some_and(|word| word == "pg:psql") => self.database("psql", &argv[1..], ctx),
            _ if sql::console(name).is_some() => self.database(name, argv, ctx),
            _ if self.files.contains_key(&argv[0]) && !argv[0].contains('/') => {
                let path = argv[0].clone();
                self.disguised(argv);
                self.script_file(&path, &[vec!["sh".to_owned()], argv.to_vec()].concat(), ctx);
            }
            _ if !kind.is(Kind::DATA) && !name.starts_with("get-") => self.unknown(argv, ctx),
            _ => {}
        }
    }

    /// The programs at the ends of `socat`.
    fn socket(&mut self, argv: &[String], ctx: Context<'_>) {
        let runs = |kind: &str| ["EXEC", "SYSTEM", "SHELL"].iter().any(|one| kind.eq_ignore_ascii_case(one));
        let ends = argv.iter().filter_map(|word| word.split_once(':')).filter(|(kind, _)| runs(kind));
        for (_, line) in ends {
            let line = line.split(',').next().unwrap_or_default().trim_matches(['\'', '"']);
            self.deeper(|walk| walk.guess(line, ctx));
        }
        self.fetch("socat", argv);
    }

    /// A line that runs on a signal, or at the end.
    fn trap(&mut self, argv: &[String], ctx: Context<'_>) {
        let from = 1 + usize::from(argv.get(1).is_some_and(|word| word == "--"));
        let Some(line) = argv.get(from).filter(|line| !line.starts_with('-') && !line.is_empty()) else { return };
        let last = ["0", "EXIT", "HUP", "INT", "QUIT", "TERM"];
        let is_last = |signal: &String| last.contains(&signal.trim_start_matches("SIG"));
        // By then the rest of the line has set its variables.
        match argv[from + 1..].iter().all(is_last) && self.traps.len() < 16 {
            true => self.traps.push((line.clone(), ctx.elsewhere)),
            false => self.line(line, ctx),
        }
    }

    /// Commands that an edit of `sed` runs, and files that it writes.
    fn sed(&mut self, argv: &[String], ctx: Context<'_>) {
        let arguments = Arguments::parse(&argv[1..], &["-e", "-f", "--expression", "--file", "-l", "--line-length"]);
        let given: Vec<&str> = arguments.values("-e").chain(arguments.values("--expression")).collect();
        let has_file = ["-f", "--file"].iter().any(|option| arguments.has_one(option, true));
        let first = arguments.operands.first().copied().filter(|_| given.is_empty() && !has_file);
        let is_fed =
            arguments.values("-f").chain(arguments.values("--file")).any(|file| matches!(file, "-" | "/dev/stdin"));
        let fed = match ctx.input {
            Some(Value::Text(text)) if is_fed => Some(text.as_str()),
            Some(Value::Text(_) | Value::Output { .. }) | None => None,
        };
        for script in first.into_iter().chain(given).chain(fed) {
            let deeds = sed::deeds(script);
            deeds.writes.into_iter().for_each(|path| self.guard_written(path, argv));
            for line in deeds.runs {
                let line = line.replace('&', UNKNOWN);
                match ctx.input {
                    Some(Value::Text(text)) if line.is_empty() => self.deeper(|walk| walk.guess(text, ctx)),
                    _ if line.is_empty() => {}
                    // More of the line may follow.
                    _ => self.deeper(|walk| walk.guess(&format!("{line} {UNKNOWN}"), ctx)),
                }
            }
        }
    }

    fn deletes(&mut self, argv: &[String], ctx: Context<'_>) {
        // Only the system's owner can delete the downloads of packages.
        let is_kept = |word: &String| !word.starts_with('-') && !place::is_made_again(word);
        if ctx.elsewhere && argv.iter().skip(1).any(is_kept) {
            self.hit("files.delete-elsewhere", argv);
        }
        if argv.iter().any(|word| word.contains(UNKNOWN)) {
            self.hit("files.delete-listed", argv);
        }
        let words = || argv.iter().skip(1).filter(|word| !word.starts_with('-'));
        if words().any(|word| !self.is_free(word) && check::empties(word, self.folder())) {
            self.hit("files.delete-every", argv);
        }
        // The line may have made them itself.
        if words().any(|word| place::is_secret(word) && !self.files.contains_key(word)) {
            self.hit("secrets.delete", argv);
        }
    }

    /// An interpreter: code in its arguments, a script, or its input.
    fn interpreter(&mut self, name: &str, argv: &[String], language: code::Language, ctx: Context<'_>) {
        let words = argv.get(1..).unwrap_or_default();
        let start =
            usize::from(words.first().is_some_and(|word| matches!(word.as_str(), "eval" | "run")) && name != "php");
        let arguments = Arguments::parse(&words[start..], language.valued());
        let mut has_code = false;
        for flag in &arguments.flags {
            let letter = flag.name.chars().last();
            let is_code = language.takes_code(flag.name, letter);
            if let Some(code) = flag.value.filter(|_| is_code) {
                has_code = true;
                if code.starts_with("$(") || code == UNKNOWN {
                    self.hit("shell.output", argv);
                }
                self.code(code, language, argv, ctx);
            }
        }
        for path in ["-r", "--require", "--import", "--loader"].iter().flat_map(|option| arguments.values(option)) {
            self.script_file(path, argv, ctx);
        }
        if start == 1 && words.first().is_some_and(|word| word == "eval") {
            for code in &arguments.operands {
                self.code(code, language, argv, ctx);
            }
            return;
        }
        let module = arguments.values("-m").next();
        if let Some(module) = module.filter(|_| name.starts_with("py")) {
            self.module(module, argv, (&arguments.operands, language), ctx);
            return;
        }
        match arguments.operands.first() {
            _ if has_code => {}
            None | Some(&"-") => self.input(argv, ctx),
            // `bb '(shell "ls")'`
            Some(code) if language == code::Language::Other && code.starts_with('(') => {
                self.code(code, language, argv, ctx);
            }
            Some(path) => self.script_file(path, argv, ctx),
        }
    }

    /// `python -m`: a program of the library, with its own operands.
    fn module(
        &mut self,
        module: &str,
        argv: &[String],
        (operands, language): (&[&str], code::Language),
        ctx: Context<'_>,
    ) {
        let command = [vec![module.to_owned()], operands.iter().map(|word| (*word).to_owned()).collect()].concat();
        self.judge(&command, module, self.rules.valued(module, &command), ctx);
        if matches!(module, "zipfile" | "tarfile")
            && argv[1..].iter().any(|word| matches!(word.as_str(), "-e" | "--extract"))
        {
            let into = operands.last().filter(|word| !word.contains(".tar") && !word.ends_with(".tgz"));
            self.land(&Brought::unknown(into.copied().unwrap_or(".")), argv);
        }
        if matches!(module, "asyncio" | "cProfile" | "code" | "pdb" | "timeit") {
            operands.iter().for_each(|code| self.code(code, language, argv, ctx));
            if let Some(Value::Text(code)) = ctx.input {
                self.code(code, language, argv, ctx);
            }
        }
        let fetched = matches!(ctx.input, Some(Value::Output { fetched: true }));
        let reads =
            matches!(module, "json.tool" | "base64" | "gzip" | "quopri" | "calendar" | "tokenize" | "ast" | "json");
        if fetched && !reads {
            self.hit("shell.fetched", argv);
        }
    }

    /// `xargs`, with its input as arguments as far as that is known.
    fn xargs(&mut self, argv: &[String], ctx: Context<'_>) {
        let (mut at, mut replaced) = (1, None);
        while let Some(word) = argv.get(at).filter(|word| word.starts_with('-')) {
            if matches!(word.as_str(), "-I" | "--replace" | "-J") {
                replaced = argv.get(at + 1).cloned();
            } else if let Some(mark) = word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace=")) {
                replaced = Some(mark.to_owned());
            } else if word == "-i" {
                replaced = Some("{}".to_owned());
            }
            at += if XARGS.contains(&word.as_str()) { 2 } else { 1 };
        }
        let mut inner: Vec<String> = argv.get(at..).unwrap_or_default().to_vec();
        let lines =
            replaced.is_some() || argv[..at].iter().any(|word| matches!(word.as_str(), "-0" | "-d" | "-L" | "-L1"));
        let mut fed: Vec<String> = match ctx.input {
            Some(Value::Text(text)) if lines => text
                .split(['\n', '\0'])
                .filter(|line| !line.is_empty())
                .take(256)
                .map(|line| line.trim().to_owned())
                .collect(),
            Some(Value::Text(text)) => text.split_ascii_whitespace().take(256).map(str::to_owned).collect(),
            Some(Value::Output { .. }) | None => vec![UNKNOWN.to_owned()],
        };
        if let Some(separator) = inner.iter().position(|word| matches!(word.as_str(), ":::" | ":::+" | "::::")) {
            fed = inner.split_off(separator).split_off(1);
        }
        if inner.first().is_some_and(|first| argv[0].ends_with("parallel") && first.contains(' ')) {
            let line = inner.join(" ").replace("{}", fed.first().map_or("", String::as_str));
            return self.line(&format!("{line} {}", fed.join(" ")), ctx);
        }
        let Some(mark) = replaced.or_else(|| inner.iter().any(|word| word == "{}").then(|| "{}".to_owned())) else {
            let is_unknown = fed == [UNKNOWN];
            inner.extend(fed);
            // The folder is the last word of its input.
            let name = inner.first().map(|first| program(first).into_owned()).unwrap_or_default();
            let brought = brought::brought(&name, &inner, self.rules.valued(&name, &inner));
            if is_unknown && brought.is_some_and(|brought| brought.into == UNKNOWN) {
                self.land(&Brought::unknown("."), argv);
            }
            return self.command(&inner, Context { input: None, ..ctx });
        };
        for one in fed.iter().take(8) {
            let argv: Vec<String> = inner.iter().map(|word| word.replace(&mark, one)).collect();
            self.command(&argv, Context { input: None, ..ctx });
        }
    }

    /// `find` and similar programs: their deletions, and the commands that they run for each file.
    fn find(&mut self, argv: &[String], ctx: Context<'_>) {
        let value = |option: &str| {
            let at = argv.iter().position(|word| word == option)?;
            argv.get(at + 1)
        };
        let cached = cached(&argv[1..]);
        let named = argv.iter().any(|word| matches!(word.as_str(), "-name" | "-iname" | "-path" | "-user"));
        let is_down = |start: &String| {
            Place::of(start) == Place::Temporary || named && place::is_temporary(start) || self.is_free(start)
        };
        let down = starts(&argv[1..]).all(is_down) && starts(&argv[1..]).next().is_some();
        let harmless = !ctx.elsewhere && !self.stand.moved && (cached.is_some() || down);
        if argv.iter().any(|word| word == "-delete") && !harmless {
            self.hit("files.find-delete", argv);
        }
        if argv.iter().any(|word| matches!(word.as_str(), "-fprint" | "-fprintf" | "-fls" | "-fprint0")) {
            let options = ["-fprint", "-fprintf", "-fls", "-fprint0"];
            if options
                .iter()
                .filter_map(|option| value(option))
                .any(|path| matches!(Place::of(path), Place::System | Place::Device))
            {
                self.hit("files.write-system", argv);
            }
        }
        let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let mut rest = argv;
        while let Some(at) = rest.iter().position(|word| runs.contains(&word.as_str())) {
            let inner = &rest[at + 1..];
            let end = inner.iter().position(|word| matches!(word.as_str(), ";" | "+")).unwrap_or(inner.len());
            let found = cached.map_or(UNKNOWN, String::as_str);
            let command: Vec<String> = inner[..end].iter().map(|word| word.replace("{}", found)).collect();
            let deletes = command
                .first()
                .is_some_and(|first| matches!(&*program(first), "rm" | "unlink" | "shred" | "rmdir" | "srm"));
            if deletes && (!harmless || inner[..end].iter().any(|word| word.contains(".."))) {
                self.hit("files.find-delete", argv);
            }
            let leaves = inner[..end].iter().any(|word| word.contains(".."));
            if !(deletes && harmless && !leaves) {
                let own = &argv[..argv.len() - rest.len() + at];
                let listed = std::mem::replace(&mut self.listed, lists_tree(own));
                self.command(&command, Context { input: None, ..ctx });
                self.listed = listed;
            }
            rest = &inner[end..];
        }
    }

    /// A change of folder.
    fn go(&mut self, name: &str, argv: &[String]) {
        let here = (self.stand.folder.clone(), self.stand.moved);
        if name == "popd" {
            (self.stand.folder, self.stand.moved) = self.stand.before.pop().unwrap_or((here.0, true));
            return;
        }
        if name == "pushd" && self.stand.before.len() < 16 {
            self.stand.before.push(here);
        }
        let to = argv.iter().skip(1).find(|word| !word.starts_with('-') || *word == "-");
        let path = match (to, self.variables.get("CDPATH")) {
            (None, _) => "~".to_owned(),
            (Some(to), Some(Value::Text(paths))) if !to.starts_with(['/', '.', '~', '$', '-']) => {
                place::below(paths.split(':').next().unwrap_or_default(), to)
            }
            (Some(to), _) => to.clone(),
        };
        // A shell takes `..` for the name before it, also if that is a link, unless an option says otherwise.
        let path = match argv.iter().any(|word| word == "-P") {
            true => self.landed(path),
            false if path.contains("/..") => place::below("", &path),
            false => path,
        };
        self.enter(path);
    }

    /// `set -- one two`: the arguments of the line itself.
    fn set(&mut self, argv: &[String]) {
        let words = argv.get(1..).unwrap_or_default();
        for word in words.iter().take_while(|word| *word != "--") {
            match word.as_str() {
                "errexit" => self.strict = true,
                word if word.starts_with('-') && word.contains('e') => self.strict = true,
                word if word.starts_with('+') && word.contains(['e', 'o']) => self.strict = false,
                _ => {}
            }
        }
        match words.iter().position(|word| word == "--" || !word.starts_with(['-', '+'])) {
            Some(at) if words[at] == "--" => self.positional(&words[at + 1..]),
            // The name of an option may follow: `set -o pipefail`.
            Some(0) => self.positional(words),
            Some(_) | None => {}
        }
    }

    fn shift(&mut self, argv: &[String]) {
        let by = argv.get(1).and_then(|by| by.parse().ok()).unwrap_or(1_usize);
        if let Some(list) = self.lists.get("@") {
            let left = list.get(by..).unwrap_or_default().to_vec();
            self.positional(&left);
        }
    }

    fn awk(&mut self, argv: &[String], ctx: Context<'_>) {
        for word in argv.iter().skip(1).filter(|word| word.contains('>')) {
            match code::redirected(word) {
                Some(paths) => paths.iter().for_each(|path| self.guard_written(path, argv)),
                None => self.guard_code(word, None, argv),
            }
        }
        if !argv.iter().any(|word| word.contains("system(") || word.contains('|')) {
            return;
        }
        // `echo ls | awk '{ system($0) }'`
        let runs = ["system($0)", "| \"sh\"", "|\"sh\"", "| \"bash\""];
        if argv.iter().any(|word| runs.iter().any(|run| word.contains(run))) {
            self.input(argv, ctx);
        }
        for word in argv.iter().skip(1) {
            let value = word.split_once('=').map(|(_, value)| value.to_owned());
            for line in code::lines(word).into_iter().chain(value.filter(|value| !value.contains('"'))) {
                self.deeper(|walk| walk.guess(&line, ctx));
            }
        }
    }

    /// One text over every file that a pattern matches.
    fn tee(&mut self, argv: &[String]) {
        let appends = argv.iter().any(|word| matches!(word.as_str(), "-a" | "--append"));
        if !appends && argv.iter().any(|word| word.contains('*')) {
            self.hit("files.overwrite-many", argv);
        }
    }

    /// Packages that the line has fetched, whose scripts run.
    fn installs(&mut self, argv: &[String]) {
        let installs = ["install", "-i", "--install", "-U", "-Uvh", "-ivh", "-F"];
        let mut paths = argv.iter().filter(|word| word.contains('.')).map(|word| word.trim_start_matches("./"));
        if argv.iter().any(|word| installs.contains(&word.as_str()))
            && paths.any(|path| self.files.get(path) == Some(&Value::Output { fetched: true }))
        {
            self.hit("shell.fetched", argv);
        }
    }

    /// Remembers the fetched files.
    fn fetch(&mut self, name: &str, argv: &[String]) {
        for (at, word) in argv.iter().enumerate() {
            let to = match (name, word.as_str()) {
                ("curl", "-o" | "--output" | "-fsSLo" | "-sLo" | "-Lo" | "-so" | "-sSLo" | "-fLo") => {
                    argv.get(at + 1).cloned()
                }
                ("wget", "-O" | "--output-document" | "-qO" | "-q0") => argv.get(at + 1).cloned(),
                (_, url) if url.contains("://") => url.rsplit('/').next().map(str::to_owned),
                _ => None,
            };
            if let Some(path) = to.filter(|path| path != "-" && !path.is_empty()) {
                self.files.insert(path, Value::Output { fetched: true });
            }
        }
    }

    fn database(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        let Some(console) = sql::console(name) else { return };
        let arguments = Arguments::parse(argv.get(1..).unwrap_or_default(), self.rules.valued(name, argv));
        let mut texts: Vec<String> = Vec::new();
        for option in console.options {
            texts.extend(arguments.values(option).map(str::to_owned));
        }
        // One argument may have lost its quotes.
        if let Some(last) = texts.last_mut().filter(|_| console.language == sql::Language::Sql && !console.second) {
            last.push(' ');
            last.push_str(&arguments.operands.join(" "));
        }
        if console.operands {
            texts.push(arguments.operands.join(" "));
        } else if console.second {
            texts.extend(arguments.operands.iter().skip(1).map(|text| (*text).to_owned()));
        }
        for file in arguments.values("-f").chain(arguments.values("--file")) {
            if let Some(Value::Text(text)) = self.files.get(file) {
                texts.push(text.clone());
            }
        }
        if let Some(Value::Text(text)) = ctx.input {
            texts.push(text.clone());
        }
        for text in texts {
            self.statements(&text, console.language, argv, ctx);
        }
    }

    /// Statements for a database.
    pub(super) fn statements(&mut self, text: &str, language: sql::Language, argv: &[String], ctx: Context<'_>) {
        let found = sql::scan(text, language);
        for id in found.rules {
            self.hit(id, argv);
        }
        for line in found.commands {
            self.deeper(|walk| walk.guess(&line, ctx));
        }
    }
}
