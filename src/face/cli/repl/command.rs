//! The commands of a session: lines that begin with a colon.

use base::error::{Code, Error, nearest};

/// The description of a command.
pub(super) struct Described {
    /// Its name, without the colon.
    pub(super) name: &'static str,
    /// Its argument.
    pub(super) takes: Takes,
    /// Its effect, in a sentence.
    pub(super) doc: &'static str,
    /// Makes the command of its argument; true for one with `!`.
    make: fn(String, bool) -> Command,
}

/// The argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// A file of the workspace.
    File,
    /// The name of a call or namespace, or nothing.
    Name,
}

/// Every command, sorted by name.
pub(super) const COMMANDS: &[Described] = &[
    Described {
        name: "apply",
        takes: Takes::Nothing,
        doc: "Make the proposed changes, after a confirmation.",
        make: |_, _| Command::Apply,
    },
    Described {
        name: "budget",
        takes: Takes::Nothing,
        doc: "Show the used and remaining budgets.",
        make: |_, _| Command::Budget,
    },
    Described { name: "diff", takes: Takes::Nothing, doc: "Show the proposed changes.", make: |_, _| Command::Diff },
    Described {
        name: "help",
        takes: Takes::Name,
        doc: "List the commands, or show the help on a call: `:help nrv.files.read`.",
        make: |name, _| Command::Help(Some(name).filter(|name| !name.is_empty())),
    },
    Described {
        name: "load",
        takes: Takes::File,
        doc: "Run the lines of a script as if they were typed.",
        make: |file, _| Command::Load(file),
    },
    Described {
        name: "quit",
        takes: Takes::Nothing,
        doc: "End the session, as Ctrl-D does.",
        make: |_, _| Command::Quit,
    },
    Described {
        name: "reset",
        takes: Takes::Nothing,
        doc: "Start anew: no variables, no proposed changes.",
        make: |_, _| Command::Reset,
    },
    Described {
        name: "rollback",
        takes: Takes::Nothing,
        doc: "Undo the changes that were applied last.",
        make: |_, _| Command::Rollback,
    },
    Described {
        name: "save",
        takes: Takes::File,
        doc: "Write the lines that worked as a script; `:save! FILE` replaces one.",
        make: |file, replace| Command::Save { file, replace },
    },
    Described { name: "vars", takes: Takes::Nothing, doc: "List the variables.", make: |_, _| Command::Vars },
];

/// A command to obey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Apply,
    Budget,
    Diff,
    Help(Option<String>),
    Load(String),
    Quit,
    Reset,
    Rollback,
    Save { file: String, replace: bool },
    Vars,
}

/// The text after the colon; none if a line is no command. `exit`, `quit` and `help` are commands without a colon, too.
pub(super) fn of(line: &str) -> Option<&str> {
    let text = line.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let names = |c: char| c.is_alphabetic() || c == ':';
    match (word, rest.trim_start()) {
        ("exit" | "quit", "") => Some("quit"),
        ("help", rest) if rest.is_empty() || rest.starts_with(names) => Some(text),
        _ => line.trim_start().strip_prefix(':'),
    }
}

/// Parses the text after the colon. The beginning of a name is enough if no other one begins so.
pub(super) fn parse(text: &str) -> Result<Command, Error> {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (name, forced) = word.strip_suffix('!').map_or((word, false), |name| (name, true));
    let described = find(name)?;
    let rest = rest.trim();
    match (described.takes, rest) {
        (Takes::File, "") => {
            return Err(Error::new(Code::Usage, format!("`:{}` needs a file", described.name))
                .hint(format!("such as `:{} scripts/new.rhai`", described.name)));
        }
        (Takes::Nothing, given) if !given.is_empty() => {
            return Err(Error::new(Code::Usage, format!("`:{}` takes nothing, and got `{given}`", described.name))
                .hint(format!("`:{}` alone does it", described.name)));
        }
        _ => {}
    }
    if forced && described.name != "save" {
        return Err(Error::new(Code::Usage, format!("`:{}!` means nothing", described.name))
            .hint("`!` lets `:save!` replace a file"));
    }
    Ok((described.make)(unquoted(rest).to_owned(), forced))
}

/// The command of a name, or the only one that begins so.
pub(super) fn find(name: &str) -> Result<&'static Described, Error> {
    let beginning: Vec<_> = COMMANDS.iter().filter(|command| command.name.starts_with(name)).collect();
    match beginning.as_slice() {
        [one] => return Ok(one),
        [_, _, ..] if !name.is_empty() => {
            let names: Vec<_> = beginning.iter().map(|command| format!("`:{}`", command.name)).collect();
            return Err(Error::new(Code::Usage, format!("`:{name}` is short for {}", names.join(" and ")))
                .hint("write a letter more"));
        }
        _ => {}
    }
    let near = nearest(name, COMMANDS.iter().map(|command| command.name));
    Err(Error::new(Code::Usage, format!("there is no command `:{name}`"))
        .hint(near.map_or_else(|| "`:help` lists the commands".to_owned(), |near| format!("did you mean `:{near}`?"))))
}

/// A file's name without quotes around it.
fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// The list of commands.
pub(super) fn list() -> String {
    COMMANDS.iter().map(Described::line).collect()
}

impl Described {
    /// Its form and its effect.
    pub(super) fn line(&self) -> String {
        let form = match self.takes {
            Takes::Nothing => format!(":{}", self.name),
            Takes::File => format!(":{} FILE", self.name),
            Takes::Name => format!(":{} [NAME]", self.name),
        };
        format!("{form:<15} {}\n", self.doc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_name_is_enough() {
        for (text, expected) in [
            ("q", Command::Quit),
            (" quit ", Command::Quit),
            ("h", Command::Help(None)),
            ("help nrv.files", Command::Help(Some("nrv.files".to_owned()))),
            ("sa x.rhai", Command::Save { file: "x.rhai".to_owned(), replace: false }),
            ("save! \"a b.rhai\"", Command::Save { file: "a b.rhai".to_owned(), replace: true }),
            ("l x", Command::Load("x".to_owned())),
            ("v", Command::Vars),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_told_with_what_to_do() {
        for (text, words, hint) in [
            ("", "no command `:`", "`:help` lists"),
            ("r", "short for `:reset` and `:rollback`", "a letter more"),
            ("dfif", "no command `:dfif`", "did you mean `:diff`?"),
            ("zzzz", "no command `:zzzz`", "`:help` lists"),
            ("save", "`:save` needs a file", ":save scripts/"),
            ("quit now", "takes nothing, and got `now`", ":quit"),
            ("apply!", "`:apply!` means nothing", ":save!"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code(), Code::Usage);
            assert!(error.message().contains(words), "{error}");
            assert!(error.hint_text().unwrap().contains(hint), "{error:?}");
        }
    }

    #[test]
    fn commands_are_sorted_and_each_can_be_parsed() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
        for command in COMMANDS {
            let text = format!("{} {}", command.name, if command.takes == Takes::Nothing { "" } else { "x" });
            let parsed = format!("{:?}", parse(&text).unwrap()).to_lowercase();
            assert!(parsed.starts_with(command.name), "{parsed}");
            assert!(list().contains(&format!(":{}", command.name)));
        }
    }
}
