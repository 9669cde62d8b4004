//! Command lines as a shell reads them: words, quoting, expansions, pipelines, lists, compound commands, redirections.
//!
//! Bash with the few things that zsh and ksh spell differently. Nothing is expanded or run here. The parser reads its
//! text once, goes at most [`DEPTH`] levels deep, and gives up with a reason on what it does not know.

mod expansion;
mod parser;
mod word;

use std::{cell::OnceCell, rc::Rc};

/// How deep constructs may lie in each other.
const DEPTH: u32 = 48;

/// Commands that run one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) pipelines: Vec<Pipeline>,
}

/// Commands of which each reads what the one before it prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Stage>,
    /// True if the shell does not wait for it.
    pub(super) background: bool,
}

/// One command with its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) body: Body,
    pub(super) redirects: Vec<Redirect>,
}

/// What a command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Assignments and words.
    Simple(Simple),
    /// Anything that holds other commands, all of which may run: `( )`, `{ }`, `if`, `while`, `case`.
    Group(Script),
    /// `( )`: what it changes of variables and of the folder ends with it.
    Subshell(Script),
    /// `for` and `select`: the words, then the body.
    Loop { name: String, words: Vec<Word>, body: Script },
    /// A definition, which runs nothing yet.
    Function { name: String, body: Rc<Script> },
}

/// A command without structure of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<Word>,
}

/// `NAME=value`, `NAME[3]=value`, `NAME=(one two)`, or any of them with `+=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) values: Vec<Word>,
    /// True for a list in parentheses.
    pub(super) is_list: bool,
    /// True for `+=`.
    pub(super) appends: bool,
    /// The place in a list, if it is a number.
    pub(super) place: Option<usize>,
}

/// A word before expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) parts: Vec<Part>,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text as it is, quotes removed.
    Text { text: String, quoted: bool },
    /// `$x`, `${x…}`.
    Variable { name: String, operator: Operator, raw: String, quoted: bool },
    /// `$(…)` or backticks.
    Command { script: Script, raw: String, quoted: bool },
    /// `<(…)` or `>(…)`.
    Process { script: Script, raw: String },
    /// `$((…))`, with the substitutions in it.
    Arithmetic(Word),
}

/// What `${x…}` does with the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// Gives it as it is.
    Plain,
    /// `:-`, `-`, `:=`, `=`: something else if there is none.
    Default(Word),
    /// `:+`, `+`: something else if there is one.
    Alternative(Word),
    /// Changes it in a way that is not followed.
    Other(Word),
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) kind: Direction,
    pub(super) target: Word,
}

/// Where a redirection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`, `<>`
    Write,
    /// `>>`, `&>>`
    Append,
    /// `2>&1`, `<&3`, `>&-`
    Duplicate,
    /// `<<<`, of which the target is the text.
    Text,
    /// `<<`, of which the text follows later in the source.
    Here(Rc<OnceCell<Word>>),
}

pub(super) use self::expansion::{Values, expand, joined};

/// Bytes of a line that is parsed: its parts take many times as much. No shell takes a longer one as an argument.
const MOST: usize = 1 << 20;

/// Parses a command line; the error says what it can't make sense of.
pub(super) fn parse(text: &str) -> Result<Script, &'static str> {
    if text.len() > MOST {
        return Err("it is too long to be judged");
    }
    parser::Parser::new(text).all()
}

impl Word {
    /// A word of plain text.
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Word { parts: vec![Part::Text { text: text.into(), quoted: true }] }
    }

    /// The text of a word that is nothing but unquoted text.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }
}
