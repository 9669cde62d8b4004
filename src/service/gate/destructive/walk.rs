//! Walks a parsed line in the order of a shell, and finds the commands that it would run.
//!
//! It tracks the line's own effects: variables, aliases, functions, the output of `echo`, written and fetched files. So it
//! recognises `x=rm; $x -rf /` and `echo 'rm -rf /' | sh`.

use std::{cell::Cell, collections::BTreeMap, rc::Rc};

use super::{
    Examined, Hit, Severity,
    guard::{self, Guise},
    guarded::is_pattern_of_guarded,
    line_state::Stand,
    lists,
    place::{self, Place},
    printed::{fetches, text_of},
    program,
    rule::{Rule, Rules, Subject},
    shell::{self, Body, Direction, Operator, Part, Redirect, Script, Simple, Stage, Values, Word, expand, joined},
};

/// The deepest nesting of commands that run others.
const DEPTH: u32 = 24;

/// The deepest nesting at which the output of commands is examined.
const LOOKS: u32 = 4;

/// The largest number of reported hits.
const MOST_HITS: usize = 64;

/// The limits of a reported command: its words, and the bytes of a word.
const TOLD: (usize, usize) = (16, 120);

/// Stands for a word that is only known when the command runs.
pub(super) const UNKNOWN: &str = "$_";

/// The line's knowledge of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// All of it.
    Text(String),
    /// The output of a command, and true if it comes from the network.
    Output { fetched: bool },
}

/// The circumstances of commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'c> {
    /// With the rights of another user, or on another machine.
    pub(super) elsewhere: bool,
    /// Their input; none if that is the terminal's.
    pub(super) input: Option<&'c Value>,
}

/// The state of a walk.
pub(super) struct Walk<'r> {
    pub(super) rules: &'r Rules,
    pub(super) hits: Vec<Hit>,
    pub(super) unparsed: Option<String>,
    pub(super) files: BTreeMap<String, Value>,
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) variables: BTreeMap<String, Value>,
    /// Lists by name; those of the line itself, or of a function, as `@`.
    pub(super) lists: BTreeMap<String, Vec<String>>,
    pub(super) functions: BTreeMap<String, Rc<Script>>,
    running: Vec<(String, Rc<Script>)>,
    /// The folder of commands.
    pub(super) stand: Stand,
    /// The disguises that the line has prepared for a command that is forbidden to an agent.
    pub(super) guise: Guise,
    /// True once the line may have made a link.
    pub(super) links: bool,
    /// True while the input of a command is the names of a whole tree's files.
    pub(super) listed: bool,
    /// The number of paths that have been looked up.
    pub(super) lookups: u32,
    /// The commands that run when the line ends; true if elsewhere.
    pub(super) traps: Vec<(String, bool)>,
    /// True while a command runs with the rights of another user, or on another machine.
    pub(super) foreign: bool,
    /// The command in the line itself, around those that it runs.
    pub(super) outer: Option<Vec<String>>,
    /// The steps that are left; examining the output of a command costs some too.
    steps: Cell<usize>,
    looks: Cell<u32>,
    depth: u32,
}

impl Values for Walk<'_> {
    fn variable(&self, name: &str) -> Option<&str> {
        match self.variables.get(name) {
            Some(Value::Text(text)) => Some(text),
            None if name == "IFS" => Some(" "),
            Some(Value::Output { .. }) | None => None,
        }
    }

    fn list(&self, name: &str) -> Option<&[String]> {
        if matches!(name, "@" | "*") {
            return self.lists.get("@").map(Vec::as_slice);
        }
        let (name, place) = name.strip_suffix(']')?.split_once('[')?;
        let list = self.lists.get(name)?;
        match place.parse::<usize>() {
            Ok(at) => Some(list.get(at..=at).unwrap_or_default()),
            Err(_) => Some(list),
        }
    }

    fn output(&self, script: &Script) -> Option<String> {
        match self.printed_by(script) {
            Value::Text(text) => Some(text),
            Value::Output { .. } => None,
        }
    }
}

impl<'r> Walk<'r> {
    pub(super) fn new(rules: &'r Rules, length: usize) -> Self {
        Walk {
            rules,
            hits: Vec::new(),
            unparsed: None,
            files: BTreeMap::new(),
            aliases: BTreeMap::new(),
            variables: BTreeMap::new(),
            lists: BTreeMap::new(),
            functions: BTreeMap::new(),
            running: Vec::new(),
            stand: Stand::default(),
            guise: Guise::default(),
            links: false,
            listed: false,
            lookups: 0,
            traps: Vec::new(),
            foreign: false,
            outer: None,
            steps: Cell::new(20_000 + 2 * length),
            looks: Cell::new(0),
            depth: 0,
        }
    }

    /// Records the reason that something can't be judged; the first reason stays.
    pub(super) fn give_up(&mut self, why: &str) {
        self.unparsed.get_or_insert_with(|| why.to_owned());
    }

    /// Spends steps; false if none are left.
    pub(super) fn pay(&mut self, steps: usize) -> bool {
        let is_paid = self.spend(steps);
        if !is_paid {
            self.give_up("it is too long to be judged");
        }
        is_paid
    }

    /// The steps that are left.
    pub(super) fn left(&self) -> usize {
        self.steps.get()
    }

    fn spend(&self, steps: usize) -> bool {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Ends the walk, and reports if steps ran out.
    pub(super) fn settle(mut self) -> Examined {
        for (line, elsewhere) in std::mem::take(&mut self.traps) {
            self.foreign = elsewhere;
            self.line(&line, Context { elsewhere, input: None });
        }
        self.pay(1);
        Examined { hits: self.hits, unparsed: self.unparsed }
    }

    /// Runs `inner` one level deeper, if one is left.
    pub(super) fn deeper(&mut self, inner: impl FnOnce(&mut Self)) {
        if self.depth >= DEPTH {
            return self.give_up("it is nested too deeply");
        }
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

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
        for pipeline in &script.pipelines {
            let mut input = None;
            for (at, stage) in pipeline.stages.iter().enumerate() {
                if !self.pay(1) {
                    return;
                }
                let own = self.redirected(&stage.redirects);
                let given = if at == 0 { ctx.input } else { input.as_ref() };
                let ctx = Context { input: own.as_ref().or(given), ..ctx };
                let listed = self.listed;
                self.listed |= at > 0 && self.is_listed(&pipeline.stages[..at], stage);
                self.stage(stage, ctx);
                self.listed = listed;
                let next = (at + 1 < pipeline.stages.len()).then(|| self.printed(stage, ctx.input));
                input = next;
            }
            if pipeline.stages.len() > 1 || pipeline.background {
                self.forks(&pipeline.stages);
            }
        }
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

    fn words(&self, stage: &Stage) -> Vec<String> {
        let mut words = Vec::new();
        if let Body::Simple(simple) = &stage.body {
            words.reserve_exact(simple.words.len());
            simple.words.iter().for_each(|word| expand(word, self, &mut words));
        }
        words
    }

    /// The input of a command from its own redirections.
    fn redirected(&self, redirects: &[Redirect]) -> Option<Value> {
        let input = |redirect: &Redirect| match &redirect.kind {
            Direction::Here(text) => Some(Value::Text(text.get().map(|word| joined(word, self)).unwrap_or_default())),
            Direction::Text => Some(match redirect.target.parts.as_slice() {
                [Part::Command { script, .. }] => self.printed_by(script),
                _ => Value::Text(joined(&redirect.target, self)),
            }),
            Direction::Read => match redirect.target.parts.as_slice() {
                [Part::Process { script, .. }] => Some(self.printed_by(script)),
                _ => {
                    let known = self.files.get(&joined(&redirect.target, self)).cloned();
                    Some(known.unwrap_or(Value::Output { fetched: false }))
                }
            },
            Direction::Write | Direction::Append | Direction::Duplicate => None,
        };
        redirects.iter().rev().find_map(input)
    }

    fn stage(&mut self, stage: &Stage, ctx: Context<'_>) {
        for redirect in &stage.redirects {
            self.substitutions(&redirect.target, ctx);
            if redirect.kind == Direction::Read {
                let path = joined(&redirect.target, self);
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
            Body::Group(script) => self.deeper(|walk| walk.script(script, ctx)),
            Body::Subshell(script) => self.deeper(|walk| walk.apart(|walk| walk.script(script, ctx))),
            Body::Loop { name, words, body } => self.for_each(name, words, body, ctx),
            Body::Function { name, body } => {
                self.functions.insert(name.clone(), Rc::clone(body));
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
        match Place::within(self.folder(), path) {
            Place::Device => self.hit("disks.write", &told),
            Place::Root | Place::System => self.hit("files.write-system", &told),
            Place::Temporary | Place::Cache => {}
            Place::Home if path.split('/').nth(1).is_some_and(|name| name.starts_with('.')) => {
                self.hit("files.write-home", &told);
            }
            Place::Home | Place::Outside | Place::Unknown | Place::Inside | Place::Here if empties => {
                self.hit("files.truncate", &told);
            }
            Place::Home | Place::Outside | Place::Unknown | Place::Inside | Place::Here => {}
        }
    }

    /// Runs the substitutions of a word as commands of their own.
    pub(super) fn substitutions(&mut self, word: &Word, ctx: Context<'_>) {
        let ctx = Context { input: None, ..ctx };
        for part in &word.parts {
            match part {
                Part::Text { .. } => {}
                Part::Variable { operator, .. } => match operator {
                    Operator::Plain => {}
                    Operator::Default(word) | Operator::Alternative(word) | Operator::Other(word) => {
                        self.deeper(|walk| walk.substitutions(word, ctx));
                    }
                },
                Part::Command { script, .. } | Part::Process { script, .. } => {
                    self.deeper(|walk| walk.aside(|walk| walk.script(script, ctx)));
                }
                Part::Arithmetic(word) => self.deeper(|walk| walk.substitutions(word, ctx)),
            }
        }
    }

    fn simple(&mut self, simple: &Simple, ctx: Context<'_>) {
        let guise = self.guise;
        for assignment in &simple.assignments {
            assignment.values.iter().for_each(|word| self.substitutions(word, ctx));
            // `CDPATH=/ cd etc`: assignments before a command hold for that one.
            if simple.words.is_empty() || assignment.is_list || assignment.name == "CDPATH" {
                self.assign(assignment);
            }
            if let [word] = assignment.values.as_slice() {
                let value = joined(word, self);
                self.variable_command(&assignment.name, &value, ctx);
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
        if let Some(alias) = argv.first().and_then(|first| self.aliases.get(first)) {
            let words: Vec<String> = alias.split_ascii_whitespace().map(str::to_owned).collect();
            argv.splice(..1, words);
        }
        let ctx = Context { elsewhere, ..ctx };
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
        let fetched = |word: &Word| match word.parts.as_slice() {
            [Part::Variable { name, .. }] => self.variables.get(name).cloned(),
            [Part::Command { script, .. }] => Some(self.printed_by(script)),
            _ => None,
        };
        if let Some(Value::Output { .. }) = fetched(first) {
            self.hit("shell.output", &argv);
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

    /// The output of commands.
    pub(super) fn printed_by(&self, script: &Script) -> Value {
        // Each level is examined more than once, so that many levels would take exponential time.
        if self.looks.get() >= LOOKS {
            return Value::Output { fetched: false };
        }
        self.looks.set(self.looks.get() + 1);
        let printed = self.printed_in_turn(script);
        self.looks.set(self.looks.get() - 1);
        printed
    }

    fn printed_in_turn(&self, script: &Script) -> Value {
        let mut value = Value::Text(String::new());
        let mut fetched = false;
        for pipeline in &script.pipelines {
            let mut input = None;
            for stage in &pipeline.stages {
                if !self.spend(1) {
                    return Value::Output { fetched };
                }
                let own = self.redirected(&stage.redirects);
                input = Some(self.printed(stage, own.as_ref().or(input.as_ref())));
            }
            let printed = input.unwrap_or(Value::Output { fetched: false });
            fetched |= printed == Value::Output { fetched: true };
            value = match (value, printed) {
                (Value::Text(before), Value::Text(now)) => Value::Text([before, now].concat()),
                (_, _) => Value::Output { fetched },
            };
        }
        value
    }

    /// The output of a command, given its input.
    fn printed(&self, stage: &Stage, input: Option<&Value>) -> Value {
        let fetched = matches!(input, Some(Value::Output { fetched: true }));
        match &stage.body {
            Body::Simple(_) => {
                let argv = self.words(stage);
                let name = argv.first().map(|first| program(first)).unwrap_or_default();
                match text_of(&name, argv.get(1..).unwrap_or_default(), input) {
                    Some(text) => Value::Text(text),
                    None => Value::Output { fetched: fetched || argv.iter().any(|word| fetches(&program(word))) },
                }
            }
            Body::Group(script) | Body::Subshell(script) => match self.printed_by(script) {
                Value::Output { fetched: inner } => Value::Output { fetched: fetched || inner },
                Value::Text(_) if input.is_some() => Value::Output { fetched },
                Value::Text(text) => Value::Text(text),
            },
            Body::Loop { .. } | Body::Function { .. } => Value::Output { fetched },
        }
    }

    /// Checks a command against the rules.
    pub(super) fn judge(&mut self, argv: &[String], name: &str, valued: &[&str], ctx: Context<'_>) {
        let rules = self.rules;
        let (moved, folder) = (self.stand.moved, self.stand.folder.clone());
        let subject = Subject {
            program: name,
            argv,
            valued,
            elsewhere: ctx.elsewhere,
            moved,
            folder: folder.as_deref().filter(|_| name != "git"),
        };
        for rule in rules.broken(&subject) {
            self.add(rule, argv);
        }
    }

    /// Records a rule that something other than words matches.
    pub(super) fn hit(&mut self, id: &str, argv: &[String]) {
        let rules = self.rules;
        match rules.named(id) {
            Some(rule) => self.add(rule, argv),
            None => self.give_up("a rule is missing"),
        }
    }

    /// The exception that allows a command to break a rule. A relative path has another meaning in another folder.
    fn exception(&self, rule: &str, argv: &[String]) -> Option<usize> {
        if self.rules.exceptions.is_empty() || self.stand.moved || self.stand.folder.is_some() {
            return None;
        }
        let covers = |words: &[String]| self.rules.exceptions.iter().position(|one| one.covers(rule, words));
        let own = (!self.foreign).then(|| covers(argv)).flatten();
        own.or_else(|| covers(self.outer.as_deref().filter(|outer| *outer != argv)?))
    }

    fn add(&mut self, rule: &Rule, argv: &[String]) {
        let cut = |word: &String| match word.char_indices().nth(TOLD.1) {
            Some((at, _)) => format!("{}…", &word[..at]),
            None => word.clone(),
        };
        let mut told: Vec<String> = argv.iter().take(TOLD.0).map(cut).collect();
        if argv.len() > TOLD.0 {
            told.push("…".to_owned());
        }
        let body = rule.body();
        let allowed = self.exception(&rule.id, argv);
        let is_known = self.hits.iter().any(|hit| hit.rule == rule.id && hit.argv == told && hit.allowed == allowed);
        let strictest = self.hits.iter().map(|hit| hit.severity).max();
        if is_known || self.hits.len() >= MOST_HITS && strictest >= Some(body.severity) {
            return;
        }
        self.hits.push(Hit {
            rule: rule.id.to_string(),
            severity: body.severity.max(Severity::Warn),
            reason: body.reason.to_string(),
            remediation: body.remediation.to_string(),
            argv: told,
            allowed,
        });
    }
}
