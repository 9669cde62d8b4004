//! The state of a line as it runs: the values of variables and lists, and the folder of its commands.

use super::{
    command::Start,
    lists,
    place::{self, Place},
    shell::{Assignment, Operator, Part, Script, Word, expand, joined},
    value::{UNKNOWN, Value},
    walk::{Context, Walk},
};

/// The limits of a list: its values, and the bytes of all of them.
const LISTED: (usize, usize) = (256, 4096);

/// The number of values up to which the body of a loop is examined for each.
pub(super) const EACH: usize = 8;

impl Walk<'_> {
    /// Runs `inner` without effect on the folder of later commands.
    pub(super) fn aside(&mut self, inner: impl FnOnce(&mut Self)) {
        let (stand, guise) = (self.stand.clone(), self.guise);
        inner(self);
        (self.stand, self.guise) = (stand, guise);
    }

    /// Runs `inner` like a process of its own: its changes of variables and of the folder end with it.
    pub(super) fn apart(&mut self, inner: impl FnOnce(&mut Self)) {
        let text = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Output { .. } => 0,
        };
        let bytes: usize = self.variables.values().map(text).sum();
        if !self.pay(1 + self.variables.len() + 8 * self.lists.len() + bytes / 64) {
            return;
        }
        let (variables, lists) = (self.variables.clone(), self.lists.clone());
        let (aliases, functions) = (self.aliases.clone(), self.functions.clone());
        self.aside(inner);
        (self.variables, self.lists) = (variables, lists);
        (self.aliases, self.functions) = (aliases, functions);
    }

    /// Sets the starting folder.
    pub(super) fn begin(&mut self, start: Start<'_>) {
        self.stand.disk = start.disk;
        self.stand.root = start.root.map(str::to_owned);
        if let Some(folder) = start.folder.filter(|folder| !folder.is_empty()) {
            self.enter(folder.to_owned());
        }
    }

    /// Enters a folder; outside of the tree below, a relative path is unknown.
    pub(super) fn enter(&mut self, path: String) {
        let path = self.folder().map_or(path.clone(), |folder| place::below(folder, &path));
        let is_told =
            path != "-" && !path.starts_with('+') && Place::of(&path) != Place::Unknown && !path.contains('$');
        let is_home = path.starts_with("$HOME") || path.starts_with("${HOME}");
        // Caches are disposable below here; elsewhere that is unknown.
        self.stand.moved |= !is_told || Place::of(&path) == Place::Root;
        self.stand.folder = (is_told || is_home).then_some(path).filter(|path| path != "." && path.len() < 4096);
    }

    /// The folder of commands, if the line has entered one.
    pub(super) fn folder(&self) -> Option<&str> {
        self.stand.folder.as_deref()
    }

    /// The body of a loop, for each value as far as the line tells them and the steps suffice.
    pub(super) fn for_each(&mut self, name: &str, words: &[Word], body: &Script, ctx: Context<'_>) {
        words.iter().for_each(|word| self.substitutions(word, ctx));
        let mut fields = Vec::new();
        words.iter().for_each(|word| expand(word, self, &mut fields));
        let before = self.listed;
        self.listed |= fields.iter().any(|field| lists::prints_tree(field));
        self.each(name, fields, body, ctx);
        self.listed = before;
    }

    /// The body of a loop, for each of some values.
    fn each(&mut self, name: &str, mut fields: Vec<String>, body: &Script, ctx: Context<'_>) {
        let printed = |field: &String| field.contains("$(") || field.contains('`');
        if fields.iter().any(printed) {
            fields = vec![UNKNOWN.to_owned()];
        }
        let is_told = fields.iter().all(|field| field == UNKNOWN || !field.contains('$'));
        if is_told && (1..=EACH).contains(&fields.len()) {
            let before = self.left();
            for (at, field) in fields.iter().enumerate() {
                // One pass shows the cost of the others.
                if at == 1 && (before - self.left()) * fields.len() > before / 4 {
                    break;
                }
                self.variables.insert(name.to_owned(), Value::Text(field.clone()));
                self.deeper(|walk| walk.script(body, ctx));
                if at + 1 == fields.len() {
                    return;
                }
            }
        }
        let value = match fields.as_slice() {
            [one] => Value::Text(one.clone()),
            _ => Value::Output { fetched: false },
        };
        self.variables.insert(name.to_owned(), value);
        self.deeper(|walk| walk.script(body, ctx));
    }

    /// The arguments of the line itself, of a function or of `sh -c`.
    pub(super) fn positional(&mut self, arguments: &[String]) {
        for (at, argument) in arguments.iter().enumerate().take(9) {
            self.variables.insert((at + 1).to_string(), Value::Text(argument.clone()));
        }
        self.keep("@", arguments.to_vec());
    }

    /// Keeps a list, unless it is unusually large.
    pub(super) fn keep(&mut self, name: &str, values: Vec<String>) {
        let bytes: usize = values.iter().map(String::len).sum();
        if values.len() > LISTED.0 || bytes > LISTED.1 {
            self.lists.remove(name);
            return self.give_up("a list of the line is too long to be judged");
        }
        self.lists.insert(name.to_owned(), values);
    }

    pub(super) fn assign(&mut self, assignment: &Assignment) {
        let name = assignment.name.as_str();
        if assignment.is_list || assignment.place.is_some() || assignment.appends && self.lists.contains_key(name) {
            let mut values = Vec::new();
            assignment.values.iter().for_each(|word| expand(word, self, &mut values));
            // `([k]=one [l]=two)`
            let mut placed: Vec<(usize, String)> = Vec::with_capacity(values.len());
            for (at, value) in values.into_iter().enumerate() {
                let told = value.strip_prefix('[').and_then(|rest| rest.split_once("]="));
                let place = told.and_then(|(place, _)| place.parse().ok()).unwrap_or(at);
                placed.push((place, told.map_or(value.clone(), |(_, told)| told.to_owned())));
            }
            placed.sort_by_key(|(place, _)| *place);
            let values: Vec<String> = placed.into_iter().map(|(_, value)| value).collect();
            let mut list = self.lists.remove(name).unwrap_or_default();
            match assignment.place.filter(|_| !assignment.is_list) {
                Some(at) if at < LISTED.0 => {
                    list.resize(list.len().max(at + 1), String::new());
                    list[at] = values.join(" ");
                }
                _ if assignment.appends => list.extend(values),
                _ => list = values,
            }
            let first = list.first().cloned().unwrap_or_default();
            self.variables.insert(name.to_owned(), Value::Text(first));
            return self.keep(name, list);
        }
        if !assignment.values.is_empty() {
            let value = self.value_of(assignment);
            self.lists.remove(name);
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// The value of an assignment without a list.
    pub(super) fn value_of(&self, assignment: &Assignment) -> Value {
        let name = assignment.name.as_str();
        let Some(word) = assignment.values.first() else { return Value::Text(String::new()) };
        if let Some(Value::Text(before)) = self.variables.get(name).filter(|_| assignment.appends) {
            return Value::Text(format!("{before}{}", joined(word, self)));
        }
        match word.parts.as_slice() {
            [Part::Command { script, .. }] => self.printed_or_chosen(script),
            [Part::Variable { name, operator: Operator::Plain, .. }] if self.variables.contains_key(name) => {
                self.variables[name].clone()
            }
            _ => Value::Text(joined(word, self)),
        }
    }
}
