//! Detects destructive commands, from the command line alone.
//!
//! The line is parsed like a shell's; programs that run other programs are followed; the final commands are checked against
//! [`Rules`]. Nothing is run, read or looked up here. Quoted data is data: only executed words count. An unparsable line is
//! reported as such, and is never harmless.

mod arguments;
mod check;
#[cfg(test)]
mod class_tests;
mod code;
mod describe;
mod exception;
mod followed_links;
mod guard;
mod guard_code;
#[cfg(test)]
mod guard_tests;
mod guarded;
mod kind;
mod line_state;
mod lists;
mod names;
mod place;
mod printed;
mod programs;
mod rule;
mod run;
mod sed;
mod shell;
mod source;
mod sql;
#[cfg(test)]
mod tests;
mod walk;
mod wrapper;
mod written;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(super) use self::guarded::is_in_store;
use self::walk::{Context, Walk};
pub use self::{
    describe::Described,
    exception::Exception,
    rule::{OwnRule, Rules},
};

/// A command, in one of two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// A program and its arguments, verbatim.
    Argv(&'a [String]),
    /// A line that a shell parses.
    Line(&'a str),
}

/// The severity of a rule, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It deserves a warning.
    Warn,
    /// A person must confirm it.
    #[default]
    Confirm,
    /// It must not run.
    Block,
}

/// The findings in a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// The broken rules, in the order of the commands, each rule once for each command.
    pub hits: Vec<Hit>,
    /// The reason that it, or a part of it, can't be parsed; then it may do more than `hits` say.
    pub unparsed: Option<String>,
}

/// A rule that a command breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The rule.
    pub rule: String,
    /// Its severity.
    pub severity: Severity,
    /// The reason, a sentence without final period.
    pub reason: String,
    /// An alternative.
    pub remediation: String,
    /// The command, without its wrappers; long ones are cut off.
    pub argv: Vec<String>,
    /// The place of the exception that allows it; none if it is not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<usize>,
}

/// Resolves the links of a path, from a folder without links in its own path, to an absolute path; none if they form a cycle.
pub type Real = fn(&str, &str) -> Option<String>;

/// The starting folder of a command.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Start<'a> {
    /// The folder, relative to the workspace if it is in it; if none, the workspace's own, or an unknown one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<&'a str>,
    /// The absolute path of the workspace, if it is known: nothing there is disposable.
    #[serde(skip)]
    pub root: Option<&'a str>,
    /// Resolves links. Without it no folder is known to be disposable.
    #[serde(skip)]
    pub real: Option<Real>,
}

/// Checks a command against rules.
pub fn examine(command: Command<'_>, rules: &Rules) -> Examined {
    examine_from(Start::default(), command, rules)
}

/// Checks a command that begins in some folder against rules.
pub fn examine_from(start: Start<'_>, command: Command<'_>, rules: &Rules) -> Examined {
    let ctx = Context { elsewhere: false, input: None };
    let walk = match command {
        Command::Argv(argv) => {
            let mut walk = Walk::new(rules, argv.iter().map(String::len).sum());
            walk.begin(start);
            walk.command(argv, ctx);
            walk
        }
        Command::Line(line) => {
            let mut walk = Walk::new(rules, line.len());
            walk.begin(start);
            match sql::bare(line) {
                Some(language) => {
                    walk.statements(line, language, &[line.to_owned()], ctx);
                    walk.guess(line, ctx);
                }
                None => walk.line(line, ctx),
            }
            // Where backslashes separate folders, our shell parser would drop them.
            if line.contains('\\') && [":\\", "HOME\\", "%\\", "PROFILE\\"].iter().any(|sign| line.contains(sign)) {
                walk.guess(&line.replace('\\', "/"), ctx);
            }
            walk
        }
    };
    walk.settle()
}

/// True if words are the beginning of a command that runs the words after them, such as `env`, `sh -c` or `npx`.
pub fn runs_what_follows(words: &[String]) -> bool {
    let Some(first) = words.first() else { return true };
    let name = program(first);
    let is_bare = words.iter().skip(1).all(|word| word.starts_with('-'));
    if run::is_shell(&name) || code::language(&name).is_some() || name == "xargs" || name == "parallel" {
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

/// The name of a program without its folder and, as on Windows, without its extension.
fn program(word: &str) -> Cow<'_, str> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let ending = name.len().checked_sub(4).filter(|at| name.is_char_boundary(*at));
    let name = match ending.map(|at| name.split_at(at)) {
        Some((stem, ".exe" | ".EXE" | ".jar" | ".cmd" | ".bat" | ".com")) if !stem.is_empty() => stem,
        _ => name,
    };
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() }
}
