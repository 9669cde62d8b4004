//! Commands of the shell that keep something for later commands: aliases, variables, lines that they read, files.

use super::{
    arguments::Arguments,
    place,
    shell::Values,
    value::{UNKNOWN, Value},
    walk::{Context, Walk},
};

/// Options of commands that read lines, and take the next argument.
const READ: &[&str] = &["-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"];
const MAPFILE: &[&str] = &["-d", "-n", "-O", "-s", "-u", "-C", "-c"];

impl Walk<'_> {
    pub(super) fn alias(&mut self, argv: &[String]) {
        for word in &argv[1..] {
            if let Some((name, value)) = word.split_once('=') {
                self.aliases.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// A command whose first word is an alias. Behind a blank at the end of one, the next word may be an alias too.
    pub(super) fn aliased(&mut self, value: &str, argv: &[String], ctx: Context<'_>) {
        let mut line = value.to_owned();
        let mut blank = value.ends_with([' ', '\t']);
        for word in &argv[1..] {
            let next = self.aliases.get(word).filter(|_| blank);
            blank = next.is_some_and(|next| next.ends_with([' ', '\t']));
            line.push(' ');
            match next {
                Some(next) => line.push_str(next),
                None => line.push_str(&format!("'{}'", word.replace('\'', "'\\''"))),
            }
        }
        // A shell takes an alias once.
        let taken = self.aliases.remove(&argv[0]);
        self.line(&line, ctx);
        if let Some(taken) = taken {
            self.aliases.entry(argv[0].clone()).or_insert(taken);
        }
    }

    /// `export`, `declare` and similar commands.
    pub(super) fn export(&mut self, argv: &[String], ctx: Context<'_>) {
        let lists = argv[1..].iter().any(|word| word.starts_with('-') && word.contains(['a', 'A']));
        let refers = argv[1..].iter().any(|word| word.starts_with('-') && word.contains('n'));
        for (name, value) in argv[1..].iter().filter_map(|word| word.split_once('=')) {
            if refers {
                self.references.insert(name.to_owned(), value.to_owned());
                continue;
            }
            if lists && value.starts_with('(') {
                self.guess(&format!("{name}={value}"), ctx);
                continue;
            }
            self.environment(name, value, ctx);
            self.set_variable(name, argv);
            self.variables.insert(name.to_owned(), Value::Text(value.to_owned()));
        }
    }

    /// `read` and `mapfile`: the variables that they fill from their input.
    pub(super) fn read(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        let is_whole = name != "read";
        let arguments = Arguments::parse(&argv[1..], if is_whole { MAPFILE } else { READ });
        for line in arguments.values("-C").filter(|_| is_whole) {
            self.guess(line, ctx);
        }
        let list = match is_whole {
            true => Some(arguments.operands.first().copied().unwrap_or("MAPFILE")),
            false => arguments.values("-a").next(),
        };
        let names = match arguments.operands.as_slice() {
            [] => &["REPLY"],
            names => names,
        };
        let text = match ctx.input {
            Some(Value::Text(text)) => text.as_str(),
            Some(Value::Output { fetched: true }) if list.is_none() => {
                return names.iter().for_each(|name| {
                    self.variables.insert((*name).to_owned(), Value::Output { fetched: true });
                });
            }
            Some(Value::Output { .. }) => UNKNOWN,
            None => return,
        };
        let (line, rest) = match text.split_once('\n') {
            _ if is_whole || arguments.has_one("-d", false) => (text.trim_end_matches(['\n', '\0']), ""),
            Some((line, rest)) => (line, rest),
            None => (text, ""),
        };
        self.unread = (!rest.trim().is_empty()).then(|| rest.to_owned());
        let separators = self.variable("IFS").unwrap_or_default().to_owned();
        let ends = |character: char| character.is_ascii_whitespace() || separators.contains(character);
        if let Some(list) = list {
            let values = match is_whole {
                true => {
                    let delimiter = arguments.values("-d").next().and_then(|mark| mark.chars().next()).unwrap_or('\n');
                    line.split([delimiter, '\n']).map(str::to_owned).collect()
                }
                false => line.split(ends).filter(|piece| !piece.is_empty()).map(str::to_owned).collect::<Vec<_>>(),
            };
            let first = values.first().cloned().unwrap_or_default();
            self.variables.insert(list.to_owned(), Value::Text(first));
            return self.keep(list, values);
        }
        let mut left = line.trim_matches(ends);
        for (at, name) in names.iter().enumerate() {
            let (value, rest) = match left.split_once(ends) {
                Some((value, rest)) if at + 1 < names.len() => (value, rest.trim_start_matches(ends)),
                _ => (left, ""),
            };
            let value = if line == UNKNOWN { UNKNOWN } else { value };
            self.variables.insert((*name).to_owned(), Value::Text(value.to_owned()));
            left = rest;
        }
    }

    /// `printf -v x …`
    pub(super) fn print_into(&mut self, argv: &[String]) {
        if let [_, option, name, rest @ ..] = argv
            && option == "-v"
        {
            let printed = super::printed::text_of("printf", rest, None);
            let value = printed.map_or(UNKNOWN.to_owned(), |text| text.trim_end_matches('\n').to_owned());
            self.variables.insert(name.clone(), Value::Text(value));
        }
    }

    /// Commands that a shell keeps for completion or a key, and places of programs.
    pub(super) fn later(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        let arguments =
            Arguments::parse(&argv[1..], &["-A", "-C", "-F", "-G", "-P", "-S", "-W", "-X", "-p", "-s", "-x"]);
        match name {
            "hash" => {
                if let (Some(path), Some(known)) = (arguments.values("-p").next(), arguments.operands.first()) {
                    self.aliases.insert((*known).to_owned(), path.to_owned());
                }
            }
            "bind" => {
                for text in arguments.values("-x") {
                    self.guess(text.split_once(':').map_or(text, |(_, line)| line.trim_matches([' ', '"'])), ctx);
                }
            }
            _ => {
                arguments.values("-C").for_each(|line| self.guess(line, ctx));
                arguments.values("-W").for_each(|text| self.expanded(text, ctx));
                for function in arguments.values("-F") {
                    self.guess(function, ctx);
                }
            }
        }
    }

    /// Variables that `make` takes as arguments, and its code.
    pub(super) fn made(&mut self, argv: &[String], ctx: Context<'_>) {
        for word in argv[1..].iter() {
            match (word.strip_prefix("--eval="), word.split_once('=')) {
                (Some(code), _) => {
                    let recipe = code.split_once([';', '\n', '\t']).map_or("", |(_, recipe)| recipe);
                    self.guess(recipe.trim_start_matches(['@', '-', '+', ' ', '\t']), ctx);
                    self.expanded(code, ctx);
                }
                (None, Some((name, value))) => {
                    self.environment(name, value, ctx);
                    self.expanded(value, ctx);
                }
                (None, None) => {}
            }
        }
    }

    /// Settings that git takes as arguments: `git -c alias.x='!rm' x`.
    pub(super) fn settings(&mut self, argv: &[String], ctx: Context<'_>) {
        let arguments = Arguments::parse(&argv[1..], self.rules.valued("git", argv));
        for (name, value) in arguments.values("-c").filter_map(|setting| setting.split_once('=')) {
            self.setting(name, value, ctx);
        }
    }

    /// The files that a command fills with contents that the line tells.
    pub(super) fn fills(&mut self, name: &str, argv: &[String], valued: &[&str], ctx: Context<'_>) {
        match name {
            "cp" | "gcp" | "mv" | "gmv" | "install" | "ln" => {
                let arguments = Arguments::parse(&argv[1..], valued);
                let [from, to] = arguments.operands.as_slice() else { return };
                let given = ctx.input.filter(|_| place::is_input(from)).cloned();
                let Some(value) = given.or_else(|| self.content(from)) else { return };
                let base = from.rsplit('/').next().unwrap_or(from);
                self.files.insert(format!("{}/{base}", to.trim_end_matches('/')), value.clone());
                self.files.insert((*to).to_owned(), value);
            }
            "tee" | "sponge" => {
                let Some(value) = ctx.input else { return };
                for path in argv[1..].iter().filter(|word| !word.starts_with(['-', '>'])).take(8) {
                    self.files.insert(path.clone(), value.clone());
                }
            }
            "dd" => {
                let value = |key: &str| argv[1..].iter().find_map(|word| word.strip_prefix(key));
                let given = value("if=").map_or_else(|| ctx.input.cloned(), |path| self.content(path));
                if let (Some(path), Some(given)) = (value("of="), given) {
                    self.files.insert(path.to_owned(), given);
                }
            }
            _ => {}
        }
    }

    /// True if a word in the place of a program is made of a variable that the line has set, but in an unknown way.
    pub(super) fn is_held(&self, word: &str) -> bool {
        let name = word.trim_start_matches(['$', '{', '!', '#']);
        let end = name.find(|one: char| !(one.is_ascii_alphanumeric() || one == '_')).unwrap_or(name.len());
        let name = &name[..end];
        word.starts_with('$') && (self.variables.contains_key(name) || self.lists.contains_key(name))
    }

    /// Judges each value of the line as a command, since one of them runs.
    pub(super) fn suspect(&mut self, ctx: Context<'_>) {
        if std::mem::replace(&mut self.suspecting, true) {
            return;
        }
        let text = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            Value::Output { .. } => None,
        };
        let mut texts: Vec<String> = self.variables.values().filter_map(text).collect();
        texts.extend(self.lists.values().map(|list| list.join(" ")));
        texts.extend(self.lists.values().flatten().cloned());
        texts.iter().filter(|text| text.contains(' ')).for_each(|text| self.guess(text, ctx));
        self.suspecting = false;
    }
}
