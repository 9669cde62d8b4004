//! The assistant of the line editor: checks if an input is complete, finds candidates, and shows hints beside it.

use std::{borrow::Cow, cell::RefCell, rc::Rc};

use owo_colors::OwoColorize;
use rustyline::{
    CompletionType, Config, Context, Editor, Helper,
    completion::{Completer, Pair},
    config::{Behavior, BellStyle, ColorMode},
    error::ReadlineError,
    highlight::{CmdKind, Highlighter},
    hint::{Hint, Hinter},
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};

use super::{
    command::{self, Takes},
    help, history, paths,
};
use crate::face::cli::mode::Color;
use base::{
    frame::Candidate,
    text::shortened,
    tokens::{KEYWORDS, Kind, Scan},
};
use script::interactive::Interactive;
use system::workspace::Workspace;

/// The most candidates that are listed without a question.
const LISTED: usize = 200;

/// The most candidates that are listed with a description of each.
const TOLD: usize = 20;

/// The columns of a terminal of unknown width.
const NARROW: usize = 80;

/// The gap between a candidate and its description.
const GAP: &str = "  ";

/// Answers the line editor.
pub(super) struct Assistant<'a> {
    /// The session, which others use between two inputs.
    pub(super) session: Rc<RefCell<Interactive<'a>>>,
    /// The workspace whose paths are completed.
    pub(super) workspace: &'a Workspace,
}

/// The line editor of a session.
pub(super) type LineEditor<'a> = Editor<Assistant<'a>, FileHistory>;

/// Makes a line editor with the user's choice of colours.
pub(super) fn editor(assistant: Assistant<'_>, color: Color, to_stdout: bool) -> Result<LineEditor<'_>, ReadlineError> {
    let config = Config::builder()
        .max_history_size(history::MOST)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .completion_prompt_limit(LISTED)
        .bell_style(BellStyle::None)
        .color_mode(match color {
            Color::Auto => ColorMode::Enabled,
            Color::Always => ColorMode::Forced,
            Color::Never => ColorMode::Disabled,
        })
        // Only values go to stdout.
        .behavior(if to_stdout { Behavior::Stdio } else { Behavior::PreferTerm })
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(assistant));
    Ok(editor)
}

impl Helper for Assistant<'_> {}

impl Completer for Assistant<'_> {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..cursor];
        if let Some(text) = command::of(typed) {
            return Ok(self.of_command(typed.len() - text.len(), text));
        }
        if let Some(start) = Scan::of(typed).open_string() {
            let (within, names) = paths::complete(self.workspace, &typed[start..]);
            return Ok((start + within, names.into_iter().map(plain).collect()));
        }
        // The next line shows the session's error.
        let Ok(completion) = self.session.borrow_mut().complete(line, cursor) else { return Ok((cursor, Vec::new())) };
        let told = |one: Candidate| (one.text.clone(), one.detail, one.text);
        Ok((completion.start, listed(completion.candidates.into_iter().map(told).collect())))
    }
}

impl Assistant<'_> {
    /// Completes the names of commands and their arguments. The text begins at `start`.
    fn of_command(&self, start: usize, text: &str) -> (usize, Vec<Pair>) {
        let Some((name, rest)) = text.split_once(char::is_whitespace) else {
            let fitting = command::COMMANDS.iter().filter(|command| command.name.starts_with(text));
            let told = |one: &command::Described| {
                let space = if one.takes == Takes::Nothing { "" } else { " " };
                (format!(":{}", one.name), one.doc.to_owned(), format!("{}{space}", one.name))
            };
            return (start, listed(fitting.map(told).collect()));
        };
        let rest_start = start + text.len() - rest.len();
        match command::find(name.trim_end_matches('!')).map(|command| command.takes) {
            Ok(Takes::File) => {
                let (within, names) = paths::complete(self.workspace, rest);
                (rest_start + within, names.into_iter().map(plain).collect())
            }
            Ok(Takes::Name) => (rest_start, help::names(rest).into_iter().map(plain).collect()),
            Ok(Takes::Nothing) | Err(_) => (rest_start, Vec::new()),
        }
    }
}

/// Candidates with their descriptions, if all fit on the screen; each is its name, its description and the text to insert.
fn listed(candidates: Vec<(String, String, String)>) -> Vec<Pair> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col)).max(NARROW);
    let width = candidates.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or_default();
    let is_told = candidates.len() <= TOLD;
    let pair = |(name, told, typed): (String, String, String)| Pair {
        display: match told.as_str() {
            told if is_told && !told.is_empty() => shortened(&format!("{name:width$}{GAP}{told}"), columns - 2),
            _ => name,
        },
        replacement: typed,
    };
    candidates.into_iter().map(pair).collect()
}

fn plain(name: String) -> Pair {
    Pair { display: name.clone(), replacement: name }
}

/// The parameters of a call, shown as a hint that is never inserted.
pub(super) struct Form(String);

impl Hint for Form {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Hinter for Assistant<'_> {
    type Hint = Form;

    fn hint(&self, line: &str, cursor: usize, _: &Context<'_>) -> Option<Form> {
        if cursor < line.len() || command::of(line).is_some() {
            return None;
        }
        let form = self.session.borrow_mut().complete(line, cursor).ok()?.form?;
        Some(Form(format!("{GAP}{form}")))
    }
}

impl Validator for Assistant<'_> {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        if input.trim().is_empty() || command::of(input).is_some() {
            return Ok(ValidationResult::Valid(None));
        }
        // The evaluation reports errors, with a mark at the place.
        let complete = self.session.borrow_mut().parse(input).map_or(true, |parsed| parsed.complete);
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Highlighter for Assistant<'_> {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(coloured(line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(prompt.bold().to_string())
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(hint.dimmed().to_string())
    }

    fn highlight_candidate<'c>(&self, candidate: &'c str, _: CompletionType) -> Cow<'c, str> {
        match candidate.split_once(GAP) {
            Some((name, told)) => Cow::Owned(format!("{name}{GAP}{}", told.dimmed())),
            None => Cow::Borrowed(candidate),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

/// An input with colours, as wide as without.
fn coloured(line: &str) -> String {
    if command::of(line).is_some() {
        return line.bold().to_string();
    }
    let (mut text, mut at) = (String::new(), 0);
    for token in Scan::of(line).with_comments() {
        text.push_str(&line[at..token.from]);
        at = token.to;
        let word = &line[token.from..token.to];
        text.push_str(&match token.kind {
            Kind::Comment | Kind::Doc => word.dimmed().to_string(),
            Kind::Word if KEYWORDS.contains(&word) => word.magenta().to_string(),
            Kind::Number => word.yellow().to_string(),
            Kind::Text => word.green().to_string(),
            Kind::Word | Kind::Sign => word.to_owned(),
        });
    }
    text + &line[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_no_letter() {
        for line in ["", "let x = \"a\nb\"; // é", " :help x", "fn f(a) {\n  a + 1\n}\n", "\"open"] {
            let text = coloured(line);
            assert_eq!(anstream::adapter::strip_str(&text).to_string(), line);
        }
        assert!(coloured("let").contains("\u{1b}["));
    }
}
