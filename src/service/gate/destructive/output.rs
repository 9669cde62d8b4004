//! The values that a line knows: of variables and lists, and the output of its commands.

use super::{
    command::program,
    printed::{chosen, fetches, text_of},
    shell::{self, Body, Direction, Part, Redirect, Script, Stage, Values, expand, joined},
    value::Value,
    walk::Walk,
};

/// The deepest nesting at which the output of commands is examined.
const LOOKS: u32 = 4;

impl Values for Walk<'_> {
    fn variable(&self, name: &str) -> Option<&str> {
        let name = self.references.get(name).map_or(name, String::as_str);
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

impl Walk<'_> {
    pub(super) fn words(&self, stage: &Stage) -> Vec<String> {
        let mut words = Vec::new();
        if let Body::Simple(simple) = &stage.body {
            words.reserve_exact(simple.words.len());
            simple.words.iter().for_each(|word| expand(word, self, &mut words));
        }
        words
    }

    /// The input of a command from its own redirections.
    pub(super) fn redirected(&self, redirects: &[Redirect]) -> Option<Value> {
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
    pub(super) fn printed(&self, stage: &Stage, input: Option<&Value>) -> Value {
        let fetched = matches!(input, Some(Value::Output { fetched: true }));
        match &stage.body {
            Body::Simple(_) => {
                let argv = self.words(stage);
                let name = argv.first().map(|first| program(first)).unwrap_or_default();
                if let Some(printed) = argv.first().and_then(|first| self.printed_by_function(first)) {
                    return printed;
                }
                if self.declares_own(&name, &argv) {
                    return Value::Text(":\n".to_owned());
                }
                let files = argv.get(1..).filter(|files| &*name == "cat" && !files.is_empty());
                if let Some(shown) = files.and_then(|files| self.shown(files)) {
                    return shown;
                }
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

    /// The output of a function of the line; a text with an unknown part is unknown.
    fn printed_by_function(&self, name: &str) -> Option<Value> {
        Some(match self.printed_by(self.functions.get(name)?) {
            Value::Text(text) if text.contains(['$', '`']) => Value::Output { fetched: false },
            printed => printed,
        })
    }

    /// True if a command only prints functions of the line, which are known: `declare -f f`.
    fn declares_own(&self, name: &str, argv: &[String]) -> bool {
        let own = |name: &String| self.functions.contains_key(name);
        matches!(name, "declare" | "typeset")
            && matches!(argv, [_, option, names @ ..] if option == "-f" && !names.is_empty() && names.iter().all(own))
    }

    /// The output of commands; where they only choose an existing file by its name, that name.
    pub(super) fn printed_or_chosen(&self, script: &Script) -> Value {
        let chosen = || match script.pipelines.as_slice() {
            [pipeline] => chosen(&pipeline.stages.iter().map(|stage| self.words(stage)).collect::<Vec<_>>()),
            _ => None,
        };
        match self.printed_by(script) {
            output @ Value::Output { fetched: false } => chosen().map_or(output, Value::Text),
            printed => printed,
        }
    }

    /// The contents of a file that the line has written or fetched, or the output of `<(…)`.
    pub(super) fn content(&self, path: &str) -> Option<Value> {
        if let Some(inner) = path.strip_prefix("<(").and_then(|rest| rest.strip_suffix(')')) {
            return Some(
                shell::parse(inner).map_or(Value::Output { fetched: false }, |script| self.printed_by(&script)),
            );
        }
        let bare = path.strip_prefix("$PWD/").unwrap_or(path).trim_start_matches("./");
        self.files.get(path).or_else(|| self.files.get(bare)).or_else(|| self.files.get(&format!("./{bare}"))).cloned()
    }

    /// The contents of files, one after another; none if one of them is unknown.
    fn shown(&self, paths: &[String]) -> Option<Value> {
        let mut all = String::new();
        for path in paths {
            match self.content(path)? {
                Value::Text(text) => all.push_str(&text),
                output @ Value::Output { .. } => return Some(output),
            }
        }
        Some(Value::Text(all))
    }
}
