//! Command lines like a shell's: words, quoting, expansions, pipelines, lists, compound commands, redirections.
//!
//! Bash, with the few different spellings of zsh and ksh. Nothing is expanded or run here. The parser reads its text once,
//! descends at most [`DEPTH`] levels, and reports unknown syntax with a reason.

mod assignment;
mod byte_set;
mod expansion;
mod parser;
mod redirection;
mod word;

use std::{cell::OnceCell, rc::Rc};

/// The deepest nesting of constructs.
const DEPTH: u32 = 48;

/// Commands that run one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) pipelines: Vec<Pipeline>,
}

/// Commands, each of which reads the output of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Stage>,
    /// True if the shell does not wait for it.
    pub(super) background: bool,
    /// True if its success counts as a failure.
    pub(super) negated: bool,
    /// The outcome on which the next pipeline runs.
    pub(super) then: Then,
}

/// The condition under which a shell goes on after a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Then {
    /// `;`, `&`, or the end of the line.
    #[default]
    Always,
    /// `&&`
    Success,
    /// `||`
    Failure,
}

/// One command with its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) body: Body,
    pub(super) redirects: Vec<Redirect>,
}

/// The form of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Assignments and words.
    Simple(Simple),
    /// Anything that holds other commands, all of which may run: `( )`, `{ }`, `if`, `while`, `case`.
    Group(Script),
    /// `( )`: its changes of variables and of the folder end with it.
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
    /// The text in brackets.
    pub(super) index: Word,
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

/// The operator in `${x…}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// The value itself.
    Plain,
    /// `:-`, `-`, `:=`, `=`: another text if there is no value.
    Default(Word),
    /// `:+`, `+`: another text if there is a value.
    Alternative(Word),
    /// A change that is not followed.
    Other(Word),
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) kind: Direction,
    pub(super) target: Word,
}

/// The direction of a redirection.
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
    /// `<<<`, whose target is the text.
    Text,
    /// `<<`, whose text follows later in the source.
    Here(Rc<OnceCell<Word>>),
}

pub(super) use self::expansion::{Values, expand, joined};

/// The limit of bytes of a parsed line: its parts take many times as much. No shell takes a longer one as an argument.
const MOST: usize = 1 << 20;

/// Parses a command line; the error names the reason of a failure.
pub(super) fn parse(text: &str) -> Result<Script, &'static str> {
    if text.len() > MOST {
        return Err("it is too long to be judged");
    }
    parser::Parser::new(text).all()
}

/// Parses a text in which only substitutions and variables are special, as in a here-document.
pub(super) fn template(text: &str) -> Result<Word, &'static str> {
    parser::Parser::new(text).here_document()
}

impl Script {
    /// A command that only holds words, whose substitutions run.
    fn of_words(mut words: Vec<Word>) -> Self {
        words.insert(0, Word::literal(":"));
        let body = Body::Simple(Simple { assignments: Vec::new(), words });
        let stage = Stage { body, redirects: Vec::new() };
        Script { pipelines: vec![Pipeline { stages: vec![stage], ..Pipeline::default() }] }
    }
}

impl Word {
    /// A word of plain text.
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Word { parts: vec![Part::Text { text: text.into(), quoted: true }] }
    }

    /// The text of a word that is only unquoted text.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }
}
