//! What a command line would destroy, told from the command line alone.
//!
//! The line is parsed as a shell would parse it; programs that run other programs are looked through; what is then run
//! is held against [`Rules`]. Nothing is run, read or looked up here. Data in quotes is data: only what would be executed
//! counts. What can't be parsed is said to be so, and is never taken as harmless.

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

/// A command, in one of the two forms that it may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// A program and its arguments, as they are.
    Argv(&'a [String]),
    /// A line that a shell would take apart.
    Line(&'a str),
}

/// What follows from a rule, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It is worth a word.
    Warn,
    /// Somebody has to confirm it.
    #[default]
    Confirm,
    /// Nobody wants it.
    Block,
}

/// What is found in a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// The rules that it breaks, in the order in which the commands stand, each rule once for each command.
    pub hits: Vec<Hit>,
    /// Why it, or a part of it, can't be parsed; then it may do more than `hits` say.
    pub unparsed: Option<String>,
}

/// A rule that a command breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The rule.
    pub rule: String,
    /// What follows from it.
    pub severity: Severity,
    /// Why, a sentence without final period.
    pub reason: String,
    /// What to do instead.
    pub remediation: String,
    /// The command that it is about, without what runs it; long ones are cut off.
    pub argv: Vec<String>,
    /// The place of the exception that allows it; none if it is not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<usize>,
}

/// Gives the absolute path to which a path leads through links, from a folder to which no link leads; none if it leads in circles.
pub type Real = fn(&str, &str) -> Option<String>;

/// Where a command begins.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Start<'a> {
    /// The folder, relative to the workspace if it is in it; none: the workspace's own, or one that nobody tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<&'a str>,
    /// The absolute path of the workspace, if it is known: where it lies, nothing is thrown away.
    #[serde(skip)]
    pub root: Option<&'a str>,
    /// Tells where a path leads. Without it nobody knows a folder that is thrown away.
    #[serde(skip)]
    pub real: Option<Real>,
}

/// Holds a command against rules.
pub fn examine(command: Command<'_>, rules: &Rules) -> Examined {
    examine_from(Start::default(), command, rules)
}

/// Holds a command that begins in some folder against rules.
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
            // Where folders are told apart by backslashes, a shell of ours would drop them.
            if line.contains('\\') && [":\\", "HOME\\", "%\\", "PROFILE\\"].iter().any(|sign| line.contains(sign)) {
                walk.guess(&line.replace('\\', "/"), ctx);
            }
            walk
        }
    };
    walk.settle()
}

/// Whether words are the beginning of a command that runs whatever follows them, such as `env`, `sh -c` or `npx`.
pub fn runs_what_follows(words: &[String]) -> bool {
    let Some(first) = words.first() else { return true };
    let name = program(first);
    let is_bare = words.iter().skip(1).all(|word| word.starts_with('-'));
    if run::is_shell(&name) || code::language(&name).is_some() || name == "xargs" || name == "parallel" {
        return is_bare;
    }
    // `find . -exec`: what it runs may stand anywhere.
    if name == "find" || is_bare && wrapper::is_known(&name) {
        return true;
    }
    match wrapper::runs(&name, words) {
        Some((wrapper::Runs::Argv(from), _)) => words.get(from..).is_none_or(runs_what_follows),
        Some((wrapper::Runs::Input, _)) => true,
        Some((wrapper::Runs::Line(_), _)) | None => false,
    }
}

/// The name of a program without its folder, and as Windows has it, without its ending.
fn program(word: &str) -> Cow<'_, str> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let ending = name.len().checked_sub(4).filter(|at| name.is_char_boundary(*at));
    let name = match ending.map(|at| name.split_at(at)) {
        Some((stem, ".exe" | ".EXE" | ".jar" | ".cmd" | ".bat" | ".com")) if !stem.is_empty() => stem,
        _ => name,
    };
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() }
}
