//! The output of commands: data to stdout, messages to stderr, colours only where they are wanted.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ffi::OsString,
    io::{ErrorKind, IsTerminal, Write},
};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use owo_colors::OwoColorize;
use serde::Serialize;
use serde_json::json;

pub(super) use super::mode::Mode;
use super::{ci, hunk, mode::Color, redact, table};
use base::{
    error::{Code, Error},
    text::{escape, escape_in_json, escape_lines, escape_styled},
};
use host::Question;
use script::diagnostic;

/// The lines of a stream of events beside [`host::Event`].
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    /// A question to a person.
    Question { question: &'a Question },
    /// The last line if no run has ended.
    Error { error: &'a Error, exit_code: u8 },
}

/// Standard output and standard error of one command.
pub(super) struct Output {
    stdout: AutoStream<std::io::Stdout>,
    stderr: AutoStream<std::io::Stderr>,
    mode: Mode,
    color: Color,
    /// True if people are told of errors, warnings and questions alone.
    quiet: bool,
    sources: BTreeMap<String, String>,
    patches: BTreeMap<String, Vec<u8>>,
    /// The end of a failed command's output that was shown last.
    said: Option<String>,
    unwritten: Option<std::io::Error>,
}

impl Output {
    pub(super) fn new(mode: Mode, color: Color, quiet: bool) -> Self {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Output {
            stdout: AutoStream::new(std::io::stdout(), choice),
            stderr: AutoStream::new(std::io::stderr(), choice),
            mode,
            color,
            quiet,
            sources: BTreeMap::new(),
            patches: BTreeMap::new(),
            said: None,
            unwritten: None,
        }
    }

    /// The mode of stdout.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// The user's choice of colours.
    pub(super) fn color(&self) -> Color {
        self.color
    }

    /// True if stdout is for programs.
    pub(super) fn is_json(&self) -> bool {
        self.mode != Mode::Text
    }

    /// True if stdout is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal() && !self.is_json()
    }

    /// True if a person can be asked.
    pub(super) fn can_ask(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Keeps the sources that errors of a script point into.
    pub(super) fn know_sources(&mut self, sources: &BTreeMap<String, String>) {
        self.sources.clone_from(sources);
    }

    /// Keeps a patch that errors point into.
    pub(super) fn know_patch(&mut self, name: &str, patch: &[u8]) {
        self.patches.insert(name.to_owned(), patch.to_owned());
    }

    /// Writes text to stdout.
    pub(super) fn data(&mut self, text: &str) {
        self.styled(&escape_lines(text));
    }

    /// Writes text to stdout that has colours of nrv's own; every other part of it is escaped already.
    pub(super) fn styled(&mut self, text: &str) {
        let text = redact::shown_styled(text);
        let text = text.as_ref();
        // A stream that removes colours writes the text between them piece by piece.
        let plain = match self.stdout.current_choice() {
            ColorChoice::Never => Cow::Owned(strip_str(text).to_string()),
            ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => Cow::Borrowed(text),
        };
        let written = self.stdout.write_all(plain.as_bytes()).and_then(|()| self.stdout.flush());
        self.note(written);
    }

    /// Writes bytes to stdout, without a look for colours.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        self.note(written);
    }

    /// Writes foreign bytes to stdout: as they are, unless a CI service would take a part of them for a command.
    pub(super) fn foreign(&mut self, bytes: &[u8]) {
        self.bytes(&ci::bytes(bytes));
    }

    /// Writes a JSON document to stdout, changed only where a CI service would take a part of it for a command.
    pub(super) fn json_bytes(&mut self, bytes: Vec<u8>) {
        match String::from_utf8(bytes) {
            Ok(text) => self.bytes(ci::json(text).as_bytes()),
            Err(other) => self.bytes(other.as_bytes()),
        }
    }

    /// The first failure to write to stdout, returned once.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.unwritten.take().map(|error| Error::io("stdout can't be written", &error))
    }

    /// Remembers the first failure; a closed pipe is none, since its reader wants no more.
    fn note(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.unwritten.get_or_insert(error);
        }
    }

    /// Writes a line to stdout.
    pub(super) fn line(&mut self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// Writes an indented JSON document to stdout.
    pub(super) fn document(&mut self, value: &impl Serialize) {
        let redacted = redact::value(value);
        let text = match &redacted {
            Some(value) => serde_json::to_string_pretty(value),
            None => serde_json::to_string_pretty(value),
        };
        let text = text.unwrap_or_else(|error| json!({"error": error.to_string()}).to_string());
        self.line(&ci::json(escape_in_json(&text)));
    }

    /// Writes a JSON document as one line to stdout, in one piece.
    pub(super) fn json_line(&mut self, value: &impl Serialize) {
        self.bytes(json_line(value).as_bytes());
    }

    /// Writes an event, if stdout is a stream of them.
    pub(super) fn event(&mut self, event: &impl Serialize) {
        if self.mode == Mode::Lines {
            self.json_line(event);
        }
    }

    /// True if nothing is told but errors, warnings and questions.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Writes a sentence of nrv's own to stderr, unless that is to be quiet.
    pub(super) fn say(&mut self, text: &str) {
        if !self.quiet {
            self.tell(text);
        }
    }

    /// Writes a line to stderr.
    pub(super) fn tell(&mut self, text: &str) {
        let _ = self.stderr.write_all(format!("{}\n", redact::shown(text)).as_bytes());
    }

    /// Writes the end of a failed command's output to stderr.
    pub(super) fn say_output(&mut self, output: &str) {
        self.tell(&table::output(output, ""));
        self.said = Some(output.to_owned());
    }

    /// Writes a warning to stderr.
    pub(super) fn warn(&mut self, text: &str) {
        let _ = writeln!(self.stderr, "{}: {}", "warning".yellow().bold(), redact::shown(text));
    }

    /// Writes text to stderr without a line feed, for questions.
    pub(super) fn prompt(&mut self, text: &str) {
        let _ = write!(self.stderr, "{}", redact::shown_styled(text)).and_then(|()| self.stderr.flush());
    }

    /// A text in the form for stderr: without secrets, and with colours only where they are wanted.
    pub(super) fn for_stderr(&self, text: &str) -> String {
        let text = redact::shown_styled(text);
        match self.stderr.current_choice() {
            ColorChoice::Never => strip_str(&text).to_string(),
            ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => text.into_owned(),
        }
    }

    /// Writes an error: to stderr for people, with the script's line if there is one, or to stdout as JSON.
    pub(super) fn error(&mut self, error: &Error) {
        let exit_code = error.code().exit_code();
        match self.mode {
            Mode::Text => {}
            Mode::Document => self.document(&json!({"error": error, "exit_code": exit_code})),
            Mode::Lines => self.json_line(&Line::Error { error, exit_code }),
        }
        self.explain(error);
    }

    /// Writes a warning about a script to stderr.
    pub(super) fn warn_of(&mut self, warning: &Error) {
        let text = diagnostic::render_warning(warning, &self.sources, redact::text, self.colors());
        let _ = writeln!(self.stderr, "{}", redact::shown_styled(text.trim_end()));
    }

    /// True if stderr has colours.
    fn colors(&self) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => std::io::stderr().is_terminal(),
        }
    }

    /// Writes an error to stderr.
    pub(super) fn explain(&mut self, error: &Error) {
        let color = self.colors();
        let patch = || self.patches.iter().find(|(name, _)| is_about(error, name));
        let text = patch().and_then(|(name, patch)| hunk::render(error, name, patch, color));
        let text = text.unwrap_or_else(|| diagnostic::render(error, &self.sources, redact::text, color));
        let _ = writeln!(self.stderr, "{}", redact::shown_styled(text.trim_end()));
        let output = error.details().get("output").and_then(|output| output.as_str()).unwrap_or_default();
        if !output.is_empty() && self.said.as_deref() != Some(output) {
            self.say_output(output);
        }
        let files = error.details().get("files").and_then(|files| files.as_array()).into_iter().flatten();
        for file in files.filter_map(|file| file.as_str()).take(50) {
            let _ = writeln!(self.stderr, "{}", redact::shown(&format!("  {}", escape(file))));
        }
        if error.code() == Code::Internal {
            let _ =
                writeln!(self.stderr, "This is a defect of nrv: please report it with the command and this message.");
        }
    }
}

/// True for an error of a run that points into the patch of that name.
fn is_about(error: &Error, name: &str) -> bool {
    let within = error.details().get("within").and_then(|within| within.as_str());
    within == Some(&format!("`{}`", name.escape_debug()))
}

/// Prints the help or the version, or an error of the arguments. The error repeats the arguments, without their secrets.
pub(super) fn print_of_arguments(error: &clap::Error, arguments: &[OsString]) -> std::io::Result<()> {
    let text = error.render().ansi().to_string();
    if !error.use_stderr() {
        return anstream::stdout().write_all(text.as_bytes());
    }
    // Only arguments are redacted: words of the parser itself, such as "to pass '--x' as a value", are no secrets.
    let arguments: Vec<Cow<'_, str>> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let values = arguments.iter().filter_map(|argument| argument.split_once('=').map(|(_, value)| value));
    let repeated = arguments.iter().map(|argument| &**argument).chain(values);
    let text = repeated.fold(text, |text, part| match escape(&redact::text(part)) {
        shown if shown == part => text,
        shown => text.replace(part, &shown),
    });
    anstream::stderr().write_all(ci::text(escape_styled(&text)).as_bytes())
}

/// A JSON document as one line, without secrets.
pub(super) fn json_line(value: &impl Serialize) -> String {
    ci::json(escape_in_json(&match redact::value(value) {
        Some(value) => exact_line(&value),
        None => exact_line(value),
    }))
}

/// A JSON document as one line, as it is.
pub(super) fn exact_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| json!({"error": error.to_string()}).to_string()) + "\n"
}
