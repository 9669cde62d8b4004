//! Runs a parsed line in the order of a shell, and finds the commands that it would run.

use std::rc::Rc;

use super::{
    command::program,
    guard,
    guarded::is_pattern_of_guarded,
    line_state::EACH,
    lists,
    place::{self, Place},
    shell::{
        self, Body, Direction, Operator, Part, Redirect, Script, Simple, Stage, Then, Values, Word, expand, joined,
    },
    value::Value,
    walk::{Context, TOLD, Walk},
};

/// Commands of a shell after which assignments before them stay.
const PERSISTENT: &[&str] = &[".", ":", "eval", "exec", "export", "readonly", "set", "shift", "times", "trap", "unset"];

/// Commands of a shell that compute a part of their words: `unset "a[$(…)]"`.
const COMPUTING: &[&str] = &[
    "[",
    "[[",
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];

impl Walk<'_> {
    /// A line that a shell parses.
    pub(super) fn line(&mut self, text: &str, ctx: Context<'_>) {
        if !self.pay(1 + text.len() / 8) {
            return;
        }
        match shell::parse(text) {
            Ok(script) => self.deeper(|walk| walk.script(&script, ctx)),
            Err(why) => self.give_up(why),
        }
    }

    /// A text that may be a command line, inside code of another language. An unparsable text is not one.
    pub(super) fn guess(&mut self, text: &str, ctx: Context<'_>) {
        let unparsed = self.unparsed.clone();
        self.line(text, ctx);
        self.unparsed = unparsed;
    }

    pub(super) fn script(&mut self, script: &Script, ctx: Context<'_>) {
        let start = self.made.len();
        let mut before = Then::Always;
        for pipeline in &script.pipelines {
            let known = self.made.len();
            let mut input = None;
            for (at, stage) in pipeline.stages.iter().enumerate() {
                if !self.pay(1) {
                    return;
                }
                let own = self.redirected(&stage.redirects);
                let all = self.given.clone();
                let given = if at == 0 { ctx.input.or(all.as_ref()) } else { input.as_ref() };
                // `exec < <(…)`
                let is_exec = |simple: &Simple| matches!(simple.words.as_slice(), [one] if one.bare() == Some("exec"));
                if matches!((&stage.body, &own), (Body::Simple(simple), Some(Value::Text(_))) if is_exec(simple)) {
                    self.given.clone_from(&own);
                }
                let ctx = Context { input: own.as_ref().or(given), ..ctx };
                let listed = self.listed;
                self.listed |= at > 0 && self.is_listed(&pipeline.stages[..at], stage);
                let fed = match self.read_file(stage) {
                    Some(file) => Some(vec!["cat".to_owned(), file]),
                    None => (at > 0).then(|| self.words(&pipeline.stages[at - 1])),
                };
                // A group reads what is around it.
                let before = fed.map(|fed| std::mem::replace(&mut self.fed, fed));
                self.stage(stage, ctx);
                if let Some(before) = before {
                    self.fed = before;
                }
                self.listed = listed;
                let next = (at + 1 < pipeline.stages.len()).then(|| self.printed(stage, ctx.input));
                input = next;
            }
            if pipeline.stages.len() > 1 || pipeline.background {
                self.forks(&pipeline.stages);
            }
            self.settle_made(pipeline, before == Then::Failure, (start, known));
            before = pipeline.then;
        }
    }

    /// The file from which a command reads.
    fn read_file(&self, stage: &Stage) -> Option<String> {
        let reads = |redirect: &&Redirect| redirect.kind == Direction::Read;
        let redirect = stage.redirects.iter().rev().find(reads)?;
        let is_process = matches!(redirect.target.parts.as_slice(), [Part::Process { .. }]);
        (!is_process).then(|| joined(&redirect.target, self))
    }

    /// True if a command reads the names of a whole tree's files from its pipeline.
    fn is_listed(&self, before: &[Stage], stage: &Stage) -> bool {
        let Some((first, rest)) = before.split_first() else { return false };
        let takes = match &stage.body {
            // Most commands read none, and their first word tells.
            Body::Simple(simple) => {
                let is_one = simple.words.first().and_then(Word::bare).is_some_and(lists::takes_input);
                is_one && lists::takes_names(&self.words(stage))
            }
            Body::Group(_) | Body::Subshell(_) | Body::Loop { .. } | Body::Function { .. } => true,
        };
        // A stage between may select among them.
        let passes = |stage: &Stage| {
            let name = self.words(stage).first().map(|first| program(first).into_owned());
            matches!(name.as_deref(), Some("sort" | "uniq" | "cat" | "tee" | "tr"))
        };
        takes && lists::lists_tree(&self.words(first)) && rest.iter().all(passes)
    }

    /// A function that starts itself more than once fills the machine with processes.
    fn forks(&mut self, stages: &[Stage]) {
        let calls = |stage: &&Stage| {
            match &stage.body {
            Body::Simple(simple) => simple.words.first().is_some_and(
                |word| matches!(word.parts.as_slice(), [Part::Text { text, .. }] if self.running.iter().any(|(name, _)| name == text)),
            ),
            Body::Group(_) | Body::Subshell(_) | Body::Loop { .. } | Body::Function { .. } => false,
        }
        };
        if let Some(stage) = stages.iter().find(calls) {
            let argv = self.words(stage);
            self.hit("system.fork-bomb", &argv);
        }
    }

    fn stage(&mut self, stage: &Stage, ctx: Context<'_>) {
        for redirect in &stage.redirects {
            if !matches!(redirect.kind, Direction::Write | Direction::Append) || receiver(&redirect.target).is_none() {
                self.substitutions(&redirect.target, ctx);
            }
            if redirect.kind == Direction::Read {
                let path = joined(&redirect.target, self);
                self.keep_out_input(&path);
                if place::is_secret(&path) {
                    self.hit("secrets.read", &["<".to_owned(), path]);
                }
            }
            if let Direction::Here(text) = &redirect.kind
                && let Some(word) = text.get()
            {
                self.substitutions(word, ctx);
            }
        }
        match &stage.body {
            Body::Simple(simple) => self.simple(simple, ctx),
            Body::Group(script) => self.deeper(|walk| walk.by_line(script, ctx)),
            Body::Subshell(script) => self.deeper(|walk| walk.apart(|walk| walk.by_line(script, ctx))),
            Body::Loop { name, words, body } => self.for_each(name, words, body, ctx),
            Body::Function { name, body } => {
                self.functions.insert(name.clone(), Rc::clone(body));
                if is_handler(name) {
                    self.deeper(|walk| walk.script(body, ctx));
                }
            }
        }
        let writes = |redirect: &&Redirect| matches!(redirect.kind, Direction::Write | Direction::Append);
        let redirects: Vec<&Redirect> = stage.redirects.iter().filter(writes).collect();
        if redirects.is_empty() {
            return;
        }
        let value = self.printed(stage, ctx.input);
        let argv = self.words(stage);
        let prints_nothing = argv.is_empty() || matches!(&value, Value::Text(text) if text.is_empty());
        let empties = matches!(stage.body, Body::Simple(_)) && prints_nothing;
        for (at, redirect) in redirects.into_iter().enumerate() {
            if let Some(script) = receiver(&redirect.target) {
                self.deeper(|walk| walk.aside(|walk| walk.script(script, Context { input: Some(&value), ..ctx })));
                continue;
            }
            let path = joined(&redirect.target, self);
            self.written(&path, &argv[..argv.len().min(TOLD.0)], empties && redirect.kind == Direction::Write);
            // One text is rarely written to many files, and copies of it would add up.
            let value = if at < 8 { value.clone() } else { Value::Output { fetched: false } };
            self.files.insert(path, value);
        }
    }

    /// A file that a redirection writes.
    fn written(&mut self, path: &str, argv: &[String], empties: bool) {
        if place::is_stream(path) || matches!(path, "NUL" | "nul" | "$null") {
            return;
        }
        let told = [argv, &[">".to_owned(), path.to_owned()]].concat();
        self.guard_written(path, &told);
        // A shell takes the only file that matches a pattern.
        if is_pattern_of_guarded(path) {
            self.hit("guard.pattern", &told);
        }
        if path.contains(".ssh/authorized_keys") {
            self.hit("files.write-login", &told);
        }
        match Place::within(self.folder(), path) {
            Place::Device => self.hit("disks.write", &told),
            Place::Root | Place::System => self.hit("files.write-system", &told),
            Place::Temporary | Place::Cache => {}
            Place::Home if place::is_setting_of_user(path) => {
                self.hit("files.write-home", &told);
            }
            Place::Home | Place::Outside | Place::Unknown | Place::Inside | Place::Here if empties => {
                self.hit("files.truncate", &told);
            }
            Place::Home | Place::Outside | Place::Unknown | Place::Inside | Place::Here => {}
        }
    }

    /// A group of commands that reads lines: again for the lines that are left, as a loop does.
    fn by_line(&mut self, script: &Script, ctx: Context<'_>) {
        self.unread = None;
        self.script(script, ctx);
        for _ in 1..EACH {
            let Some(rest) = self.unread.take() else { return };
            let input = Value::Text(rest);
            self.script(script, Context { input: Some(&input), ..ctx });
        }
        self.unread = None;
    }

    /// The operator of a variable: its commands, and the value that it sets or expands.
    fn replaced(&mut self, name: &str, operator: &Operator, raw: &str, ctx: Context<'_>) {
        let (Operator::Default(word) | Operator::Alternative(word) | Operator::Other(word)) = operator else { return };
        self.deeper(|walk| walk.substitutions(word, ctx));
        if raw.ends_with("@P}")
            && let Some(Value::Text(text)) = self.variables.get(name).cloned()
        {
            self.expanded(&text, ctx);
        }
        // `${x:=…}`
        let sets = raw[2..].strip_prefix(name).is_some_and(|rest| rest.trim_start_matches(':').starts_with('='));
        if sets && !self.variables.contains_key(name) {
            let value = Value::Text(joined(word, self));
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// A text whose substitutions a shell runs, though it is the value of a variable: a prompt, a part of arithmetic.
    pub(super) fn expanded(&mut self, text: &str, ctx: Context<'_>) {
        if !(text.contains("$(") || text.contains('`')) || !self.pay(1 + text.len() / 8) {
            return;
        }
        if let Ok(word) = shell::template(text) {
            self.deeper(|walk| walk.substitutions(&word, ctx));
        }
    }

    /// A text that a shell may compute: it runs the substitutions in a subscript, `a[$(…)]`.
    pub(super) fn computed(&mut self, text: &str, ctx: Context<'_>) {
        let is_name = |at: usize| text[..at].ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
        if (text.contains("$(") || text.contains('`')) && text.match_indices('[').any(|(at, _)| is_name(at)) {
            self.expanded(text, ctx);
        }
    }

    /// Runs the substitutions of a word as commands of their own.
    pub(super) fn substitutions(&mut self, word: &Word, ctx: Context<'_>) {
        let given = ctx.input;
        let ctx = Context { input: None, ..ctx };
        for part in &word.parts {
            match part {
                Part::Text { .. } => {}
                Part::Variable { name, operator, raw, .. } => self.replaced(name, operator, raw, ctx),
                Part::Process { script, raw } if raw.starts_with('>') => {
                    // It reads what the command writes there; `tee` writes its input.
                    let input = given.cloned().unwrap_or(Value::Output { fetched: false });
                    let ctx = Context { input: Some(&input), ..ctx };
                    self.deeper(|walk| walk.aside(|walk| walk.script(script, ctx)));
                }
                Part::Command { script, .. } | Part::Process { script, .. } => {
                    self.deeper(|walk| walk.apart(|walk| walk.script(script, ctx)));
                }
                Part::Arithmetic(word) => self.deeper(|walk| walk.substitutions(word, ctx)),
            }
        }
    }

    fn simple(&mut self, simple: &Simple, ctx: Context<'_>) {
        let guise = self.guise;
        for assignment in &simple.assignments {
            self.substitutions(&assignment.index, ctx);
            assignment.values.iter().for_each(|word| self.substitutions(word, ctx));
            if simple.words.is_empty() || assignment.is_list {
                self.assign(assignment);
            }
            if let [word] = assignment.values.as_slice() {
                let value = joined(word, self);
                self.environment(&assignment.name, &value, ctx);
                self.computed(&value, ctx);
                if guard::is_telling(&assignment.name) {
                    self.set_variable(&assignment.name, &[format!("{}={value}", assignment.name)]);
                }
            }
        }
        self.run_simple(simple, ctx);
        if !simple.words.is_empty() && !simple.assignments.is_empty() {
            self.guise = guise;
        }
    }

    fn run_simple(&mut self, simple: &Simple, ctx: Context<'_>) {
        simple.words.iter().for_each(|word| self.substitutions(word, ctx));
        let Some(first) = simple.words.first() else { return };
        let mut argv = Vec::with_capacity(simple.words.len());
        let mut elsewhere = ctx.elsewhere;
        match first.parts.as_slice() {
            // The default may be the value, if nothing else is known.
            [Part::Variable { name, operator: Operator::Default(word), .. }] if self.variable(name).is_none() => {
                argv.extend(joined(word, self).split_ascii_whitespace().map(str::to_owned));
                elsewhere = true;
            }
            _ => expand(first, self, &mut argv),
        }
        simple.words[1..].iter().for_each(|word| expand(word, self, &mut argv));
        if !self.pay(argv.len()) {
            return;
        }
        let ctx = Context { elsewhere, ..ctx };
        // Assignments before a command hold for that one; before some commands of the shell they stay.
        let assigned = simple.assignments.iter().filter(|assignment| !assignment.is_list);
        if argv.first().is_some_and(|first| PERSISTENT.contains(&first.as_str())) {
            assigned.for_each(|assignment| self.assign(assignment));
            return self.expanded_words(first, argv, ctx);
        }
        let lent = assigned.map(|assignment| (assignment.name.clone(), self.value_of(assignment))).collect();
        self.lend(lent, |walk| walk.expanded_words(first, argv, ctx));
    }

    /// A command whose words are expanded; `first` is the word before that.
    fn expanded_words(&mut self, first: &Word, mut argv: Vec<String>, ctx: Context<'_>) {
        if let Some(alias) = argv.first().and_then(|first| self.aliases.get(first)).cloned() {
            return self.aliased(&alias, &argv, ctx);
        }
        if let Some(function) = argv.first().and_then(|first| self.functions.get(first)).cloned() {
            return self.call(&argv, &function, ctx);
        }
        // zsh needs no blank after a brace.
        if let Some(rest) = argv.first().and_then(|first| first.strip_prefix('{')).filter(|rest| !rest.is_empty()) {
            argv[0] = rest.to_owned();
            if let Some(last) = argv.last_mut()
                && let Some(rest) = last.strip_suffix('}')
            {
                *last = rest.to_owned();
            }
        }
        if argv.first().is_some_and(|first| COMPUTING.binary_search(&first.as_str()).is_ok()) {
            argv[1..].iter().for_each(|word| self.computed(word, ctx));
        }
        let fetched = |word: &Word| match word.parts.as_slice() {
            [Part::Variable { name, .. }] => self.variables.get(name).cloned(),
            [Part::Command { script, .. }] => Some(self.printed_or_chosen(script)),
            _ => None,
        };
        match fetched(first) {
            Some(Value::Output { .. }) => self.hit("shell.output", &argv),
            Some(Value::Text(chosen)) if argv.first().is_some_and(|first| first.starts_with("$(")) => argv[0] = chosen,
            Some(Value::Text(_)) | None => {}
        }
        self.command(&argv, ctx);
    }

    fn call(&mut self, argv: &[String], function: &Rc<Script>, ctx: Context<'_>) {
        let name = &argv[0];
        if self.running.iter().any(|(_, body)| Rc::ptr_eq(body, function)) {
            return;
        }
        self.positional(&argv[1..]);
        self.running.push((name.clone(), Rc::clone(function)));
        self.deeper(|walk| walk.script(function, ctx));
        self.running.pop();
    }
}

/// The commands in `>(…)`.
fn receiver(target: &Word) -> Option<&Script> {
    match target.parts.as_slice() {
        [Part::Process { script, raw }] if raw.starts_with('>') => Some(script),
        _ => None,
    }
}

/// True if a shell calls functions of this name by itself.
fn is_handler(name: &str) -> bool {
    let known = ["chpwd", "command_not_found_handle", "command_not_found_handler", "precmd", "preexec", "zshexit"];
    known.contains(&name)
        || name
            .strip_prefix("TRAP")
            .is_some_and(|signal| signal.bytes().all(|b| b.is_ascii_uppercase()) && !signal.is_empty())
}
