//! Commands in the arguments and the scripts of other programs: values of options, words behind `--` or `exec`, and the small
//! languages of makefiles, macros, editors, debuggers and lists of planned commands.

use super::{
    check, code,
    command::program,
    guard,
    kind::{is_scanned, is_shell},
    run::{is_open, is_pattern},
    sql,
    value::{UNKNOWN, Value},
    walk::{Context, Walk},
    wrapper,
};

/// Last parts of the names of options, settings and functions whose value is a command.
const RUNNING: &[&str] = &[
    "become", "bind", "cmd", "command", "commands", "esyscmd", "eval", "exec", "execute", "extcmd", "filter", "hook",
    "invoke", "pack", "pager", "prepare", "preview", "prog", "program", "rsh", "run", "runner", "script", "scripts",
    "shell", "spawn", "syscmd", "system", "toolexec", "under", "wrap", "wrapper",
];

/// Words after which a program takes the command that it runs.
const RUNNERS: &[&str] = &["cmd", "exec", "execute", "launch", "lock", "run", "shell", "ssh", "x"];

/// Options and settings whose value is a text for people.
const TOLD: &[&str] = &[
    "b",
    "body",
    "comment",
    "content",
    "d",
    "description",
    "label",
    "m",
    "message",
    "msg",
    "name",
    "note",
    "prompt",
    "q",
    "query",
    "subject",
    "summary",
    "t",
    "text",
    "title",
];

/// Programs that store or print their arguments and never run them.
const KEEPERS: &[&str] = &[
    ":",
    "[",
    "[[",
    "alias",
    "declare",
    "echo",
    "egrep",
    "export",
    "fgrep",
    "grep",
    "local",
    "logger",
    "notify-send",
    "print",
    "printf",
    "readonly",
    "say",
    "setenv",
    "test",
    "typeset",
];

/// Programs that delete when they come with an option, and are rarely a word of another command.
const DELETERS: &[&str] = &["dd", "find", "rm", "shred", "xargs"];

impl Walk<'_> {
    /// Options of any program whose name says that the value is a command: `--pager='…'`, `-o ProxyCommand=…`.
    pub(super) fn running_options(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        let values = argv.iter().enumerate().skip(1).filter_map(|(at, word)| running_value(word, argv.get(at + 1)));
        let values: Vec<&str> = values.collect();
        if values.is_empty() || KEEPERS.binary_search(&name).is_ok() {
            return;
        }
        for value in values {
            if value.contains('"') || !value.contains(",-") {
                self.embedded(value, ctx);
            } else {
                // `-wrapper rm,-rf,src`
                let words: Vec<String> = value.split(',').map(str::to_owned).collect();
                self.command(&words, ctx);
            }
        }
    }

    /// The commands in a text of a small language.
    pub(super) fn embedded(&mut self, text: &str, ctx: Context<'_>) {
        if !self.pay(1 + text.len() / 8) {
            return;
        }
        let lines = commands(text);
        self.deeper(|walk| lines.iter().for_each(|line| walk.guess(line, ctx)));
    }

    /// The commands inside the lines of a text, but not the lines themselves.
    pub(super) fn inside(&mut self, text: &str, ctx: Context<'_>) {
        for line in text.lines().take(64).flat_map(inner) {
            self.deeper(|walk| walk.guess(&line, ctx));
        }
    }

    /// A program without a table of its own: it may run the words after it, those behind `--` or `exec`, and quoted lines.
    pub(super) fn unknown(&mut self, argv: &[String], ctx: Context<'_>) {
        let name = program(&argv[0]).into_owned();
        let is_known = self.rules.knows(&name);
        if !is_known {
            self.disguised(argv);
            let at = 1 + argv[1..].iter().take_while(|word| wrapper::is_assignment(word)).count();
            // The output of a command after it is an argument more often than a program.
            let is_open = argv.get(at).is_some_and(|next| next != UNKNOWN && is_open(next) && !is_pattern(next));
            if argv.get(at).is_some_and(|next| is_open || self.is_command(next)) {
                return self.command(&argv[at..], Context { elsewhere: true, ..ctx });
            }
            if let Some(at) = argv.iter().position(|word| word == "--").filter(|at| at + 1 < argv.len()) {
                return self.command(&argv[at + 1..], Context { elsewhere: true, ..ctx });
            }
        }
        let runs = |word: &String| RUNNERS.contains(&word.as_str()) || word.starts_with("cmd.");
        let told = argv.iter().skip(1).position(runs).map(|at| at + 2);
        let dashes = || argv.iter().position(|word| word == "--").map(|at| at + 1);
        let from = if is_known { told.or_else(dashes) } else { Some(1) };
        for at in from.unwrap_or(argv.len())..argv.len() {
            let word = argv[at].as_str();
            if word.contains(' ') {
                let value = word.split_once('=').map_or(word, |(_, value)| value);
                let runs = told.is_some_and(|told| at >= told) || self.may_run(value);
                if runs && !is_told(&argv[at - 1], word) && !word.contains("$(") {
                    self.embedded(value, ctx);
                }
                continue;
            }
            let name = program(word);
            let is_far = told.is_none_or(|told| at < told) && at + 1 < argv.len();
            let deletes = || argv[at + 1].starts_with('-') && (is_shell(&name) || DELETERS.contains(&&*name));
            if !word.starts_with('-') && if is_far { deletes() } else { told.is_some() && self.is_command(word) } {
                return self.command(&argv[at..], ctx);
            }
        }
    }

    /// True if a quoted word is more likely a command than a sentence.
    fn may_run(&self, word: &str) -> bool {
        let first = word.split(' ').next().unwrap_or_default();
        word.contains([';', '|', '&']) || first.starts_with(['!', ':']) || word.contains(" -") && self.is_command(first)
    }

    /// True if a word is the name of a program that is judged, or that runs another one.
    fn is_command(&self, word: &str) -> bool {
        let name = program(word);
        let runs = is_shell(&name) || wrapper::is_known(&name) || code::language(&name).is_some();
        runs || self.rules.knows(&name) || check::knows(&name) || sql::console(&name).is_some() || guard::knows(&name)
    }

    /// A program that runs others, with too many options to list: each known program among its arguments counts.
    pub(super) fn scan(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        self.disguise(name, argv);
        for at in 1..argv.len() {
            let word = argv[at].as_str();
            if word.contains(' ') {
                if word.contains('(') {
                    self.code(word, code::Language::Other, argv, ctx);
                }
                self.embedded(word, ctx);
                continue;
            }
            let name = program(word);
            if !word.starts_with('-') && (is_scanned(&name) || name == "nrv" || self.is_command(word)) {
                return self.command(&argv[at..], ctx);
            }
        }
    }

    /// Commands of the shell inside those of an editor or a pager: `:!ls`, `+!ls`, `call system("ls")`. Also the files that an
    /// editor writes: `:w x`.
    pub(super) fn escapes(&mut self, argv: &[String], ctx: Context<'_>) {
        let fed = match ctx.input {
            Some(Value::Text(text)) => text.as_str(),
            Some(Value::Output { .. }) | None => "",
        };
        let escaped = fed.lines().filter(|line| line.contains('!'));
        for word in argv.iter().skip(1).map(String::as_str).chain(escaped).filter(|word| word.contains([' ', '('])) {
            let word = word.trim_start_matches(['+', ':']);
            if word.contains('(') {
                self.code(word, code::Language::Other, argv, ctx);
            }
            self.embedded(word, ctx);
        }
        for line in argv.iter().skip(1).map(String::as_str).chain(fed.lines()) {
            let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || "+:%.,$".contains(c));
            let Some((command, path)) = line.split_once(' ') else { continue };
            if matches!(command.trim_end_matches('!'), "w" | "wq" | "write" | "x" | "sav" | "saveas" | "up" | "update")
            {
                self.guard_written(path.trim(), argv);
            }
        }
    }

    /// A program that runs the commands in its script: those that the line feeds it or has written.
    pub(super) fn scripted(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        let is_make = name.ends_with("make");
        let is_fed =
            !is_make || argv.iter().any(|word| matches!(word.as_str(), "-" | "/dev/stdin") || word.ends_with("f-"));
        let fed = ctx.input.filter(|_| is_fed);
        if name == "crontab" && fed.is_some() && argv.len() == 1 {
            self.hit("system.cron-replace", argv);
        }
        if is_make && !matches!(fed, Some(Value::Text(_)) | None) {
            self.input(argv, ctx);
        }
        let own = ["Makefile", "makefile", "GNUmakefile"].into_iter().filter(|_| is_make);
        let named = argv.iter().skip(1).filter_map(|word| word.trim_start_matches("-f").rsplit('=').next()).chain(own);
        let texts = named.filter_map(|path| self.files.get(path)).chain(fed);
        // Their commands delete on another machine.
        let ctx = Context { elsewhere: ctx.elsewhere || name.ends_with("ftp"), ..ctx };
        let text = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            Value::Output { .. } => None,
        };
        for text in texts.filter_map(text).collect::<Vec<_>>() {
            match name {
                "make" | "gmake" => recipes(&text, &argv[1..]).for_each(|line| self.embedded(line, ctx)),
                "crontab" | "incrontab" => planned(&text).for_each(|line| self.embedded(line, ctx)),
                _ => text.lines().take(64).for_each(|line| self.embedded(line, ctx)),
            }
        }
    }
}

/// The command in an option or a setting, if its name says so.
fn running_value<'a>(word: &'a str, next: Option<&'a String>) -> Option<&'a str> {
    let (name, value) = match (word.split_once('='), word.split_once("Command ")) {
        _ if word.starts_with('|') => return Some(&word[1..]).filter(|line| line.contains(' ')),
        (_, Some((name, value))) if !name.contains([' ', '=']) => ("command", value),
        (Some(parts), _) => parts,
        (None, _) if word.starts_with('-') && word.len() > 3 => (word, next?.as_str()),
        (None, _) => return None,
    };
    let is_line = value.contains(' ') || value.contains(",-") || value.contains(",\"-");
    // Variables of a build or of a container are data.
    let is_variable = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let runs = || is_running(name) || name.ends_with("rsync-path") || value.starts_with('!');
    (is_line && !is_variable && runs()).then_some(value)
}

/// True if the name of an option, a setting or a function says that its value is a command.
fn is_running(name: &str) -> bool {
    let last = name.trim_end_matches([':', ' ']).rsplit(['-', '.', '_', ':', '@']).next().unwrap_or_default();
    let last = last.to_ascii_lowercase();
    RUNNING.binary_search(&&*last).is_ok() || last.ends_with("command")
}

/// True if a word is a text for people, by the option or the name before it.
fn is_told(before: &str, word: &str) -> bool {
    let name = word.split_once('=').map_or(before, |(name, _)| name);
    TOLD.binary_search(&name.trim_start_matches('-')).is_ok() && (name.starts_with('-') || word.contains('='))
}

/// The texts that may be commands: the whole, those in its lines, and strings.
fn commands(text: &str) -> Vec<String> {
    let mut found = vec![text.trim().to_owned()];
    found.extend(text.lines().take(64).flat_map(inner));
    if text.starts_with('[') {
        found.extend(code::joined_strings(text));
    } else if text.contains('(') {
        found.extend(code::scan(text, code::Language::Other).commands);
    }
    found
}

/// The texts in a line of a small language that may be commands: behind `!` or a word that runs it, and in the call of a function.
fn inner(line: &str) -> Vec<String> {
    let (line, mut found) = (line.trim(), Vec::new());
    match line.split_once('!') {
        Some((before, rest)) if before.bytes().all(|byte| b"+:%.,$ ~0123456789silentrw".contains(&byte)) => {
            found.push(rest.to_owned());
        }
        _ => {}
    }
    if let Some((first, rest)) = line.split_once(' ') {
        if is_running(first) {
            found.push(rest.to_owned());
        } else if first == "platform" {
            found.extend(rest.strip_prefix("shell ").map(str::to_owned));
        }
    }
    let calls = line.match_indices('(').take(8).filter(|(at, _)| {
        let name = line[..*at].rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '%' && c != '$').next();
        name.is_some_and(|name| matches!(name, "%" | "$") || is_running(name))
    });
    for (at, _) in calls {
        let inner = &line[at + 1..];
        let end = inner.rfind(')').unwrap_or(inner.len());
        found.push(inner[..end].trim_matches(['"', '\'', '`', '[', ']', ' ']).to_owned());
    }
    found
}

/// The lines of a makefile that are run for the targets among the arguments, or for the first target.
fn recipes<'a>(text: &'a str, arguments: &'a [String]) -> impl Iterator<Item = &'a str> {
    let heads =
        || text.lines().filter(|line| !line.starts_with(['\t', '#', ' ', '.'])).filter_map(|line| line.split_once(':'));
    let mut goals: Vec<&str> = arguments.iter().map(String::as_str).collect();
    goals.extend(
        heads().next().filter(|_| !heads().any(|(name, _)| goals.contains(&name.trim()))).map(|(name, _)| name.trim()),
    );
    for _ in 0..3 {
        let needed = heads().filter(|(name, _)| name.split(' ').any(|name| goals.contains(&name)));
        let needed: Vec<&str> =
            needed.flat_map(|(_, needs)| needs.split(';').next().unwrap_or_default().split(' ')).collect();
        goals.extend(needed);
    }
    let mut is_wanted = false;
    text.lines().take(256).filter_map(move |line| {
        if let Some(recipe) = line.strip_prefix('\t') {
            return is_wanted.then(|| recipe.trim_start_matches(['@', '-', '+']));
        }
        let (names, rest) = line.split_once(':')?;
        is_wanted = names.split(' ').any(|name| goals.contains(&name));
        rest.split_once(';').map(|(_, recipe)| recipe).filter(|_| is_wanted)
    })
}

/// The commands in a list of planned ones: behind a word such as `@daily`, behind the name of an event, and behind five times.
fn planned(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take(64).flat_map(|line| {
        let ends = line.match_indices([' ', '\t']).map(|(at, _)| line[at..].trim());
        [0, 1, 4, 5].into_iter().filter_map(move |skipped| ends.clone().nth(skipped))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(RUNNING.is_sorted() && TOLD.is_sorted() && KEEPERS.is_sorted());
    }

    #[test]
    fn only_the_recipes_of_the_targets_run() {
        let text = "all: build\n\techo\nbuild:\n\tcc x.c\nclean:\n\t@rm -rf out\n";
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            recipes(text, &words).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of(&[]), ["echo", "cc x.c"]);
        assert_eq!(of(&["clean"]), ["rm -rf out"]);
    }
}
