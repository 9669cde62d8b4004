//! Handles an input: evaluates it or, with a colon in front, obeys it, and shows the result.

use std::{cell::RefCell, io::IsTerminal, path::Path, rc::Rc, sync::atomic::Ordering};

use serde_json::{Map, Value, json};

use super::{
    command::{self, Command},
    help,
    value::{self, Length},
};
use crate::face::cli::{
    Here,
    arguments::ReplArguments,
    output::Output,
    pager, recover,
    run::{parse_json, script_path, summarise, tell_end},
    table,
    target::Target,
    terminal::Terminal,
};
use base::{
    error::{Code, Error},
    frame::{CandidateKind, Shown},
    text::{counted, escape},
};
use host::{Finished, RolledBack};
use script::{
    Header, Tapes,
    interactive::{Evaluated, Interactive, Start},
};

/// The hint when a file has changed since a change of it was proposed.
const STALE: &str =
    "the proposal can't be applied any more: `:save FILE` keeps the lines that worked, `:reset` starts anew without it";

/// The next step of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Read the next input.
    GoOn,
    /// End the session.
    End,
}

/// A session with the state of its output.
pub(super) struct Session<'a> {
    here: &'a Here,
    applies: bool,
    /// The session itself; the line editor asks it between two inputs.
    pub(super) interactive: Rc<RefCell<Interactive<'a>>>,
    /// The exit code of the first error.
    first_error: Option<u8>,
    /// True if a person types.
    typed: bool,
}

/// The arguments as they are given, since no header says what they are.
fn args(here: &Here, arguments: &ReplArguments) -> Result<Map<String, Value>, Error> {
    let json = arguments.args.as_ref().map(|file| parse_json(&here.read_input(file)?, file)).transpose()?;
    let any = Header { args: Some(json!({"type": "object", "additionalProperties": true})), ..Header::default() };
    match script::complete(&any, &arguments.arg, json.as_ref())? {
        Value::Object(args) => Ok(args),
        _ => Ok(Map::new()),
    }
}

impl<'a> Session<'a> {
    /// Begins a session.
    pub(super) fn start(here: &'a Here, arguments: &ReplArguments, out: &mut Output) -> Result<Self, Error> {
        let start = Start {
            apply: arguments.apply,
            seed: arguments.seed,
            yes: arguments.yes,
            allow_dirty: arguments.allow_dirty,
            tapes: if here.replays_only() { Tapes::ReplayOnly } else { Tapes::Policy },
            args: args(here, arguments)?,
        };
        let interactive = Interactive::start(&here.context, start, &mut Terminal::over(here, out))?;
        let interactive = Rc::new(RefCell::new(interactive));
        let typed = std::io::stdin().is_terminal();
        Ok(Session { here, applies: arguments.apply, interactive, first_error: None, typed })
    }

    /// The prompt before an input.
    pub(super) fn prompt(&self) -> &'static str {
        if self.applies { "nrv apply> " } else { "nrv> " }
    }

    /// True if an input needs no further line.
    pub(super) fn is_complete(&self, input: &str) -> bool {
        self.interactive.borrow_mut().parse(input).map_or(true, |parsed| parsed.complete)
    }

    /// Handles an input and shows its result. An error means that the session can't go on.
    pub(super) fn input(&mut self, input: &str, out: &mut Output) -> Result<Flow, Error> {
        let asked_to_stop = self.here.context.options.cancel.swap(false, Ordering::Relaxed);
        // At a terminal a stop is for the input that ran, which is over; in a program it is for all further inputs.
        if asked_to_stop && !self.typed {
            self.fail(&Error::new(Code::Cancelled, "the session was cancelled"), out);
            return Ok(Flow::End);
        }
        let told = match command::of(input).map(command::parse) {
            Some(Ok(Command::Quit)) => return Ok(Flow::End),
            Some(command) => command.and_then(|command| self.obey(command, out)),
            None if input.trim().is_empty() => Ok(None),
            None => {
                let evaluated = self.interactive.borrow_mut().evaluate(input, &mut Terminal::over(self.here, out))?;
                Ok(self.evaluated(evaluated, out))
            }
        };
        let code = match told {
            Ok(code) => code,
            Err(error) => Some(self.fail(&self.advised(error), out)),
        };
        let Some(code) = code else { return Ok(Flow::GoOn) };
        self.first_error.get_or_insert(code.exit_code());
        // A stopped program must not need a stop for each of its lines.
        Ok(if code == Code::Cancelled && !self.typed { Flow::End } else { Flow::GoOn })
    }

    /// Shows an error that no input caused; returns its code.
    pub(super) fn fail(&mut self, error: &Error, out: &mut Output) -> Code {
        if out.is_json() {
            out.json_line(&json!({"error": error}));
        }
        out.explain(error);
        self.first_error.get_or_insert(error.code().exit_code());
        error.code()
    }

    /// The error, with a hint if files have changed since changes of them were proposed.
    fn advised(&self, error: Error) -> Error {
        match error.code() {
            Code::StalePreimage if !self.applies => error.hint(STALE),
            _ => error,
        }
    }

    /// Ends the session; returns the exit code of the command.
    ///
    /// A person at the terminal has seen each error; a program gets the exit code of the first one.
    pub(super) fn finish(self, out: &mut Output) -> Result<u8, Error> {
        let Ok(interactive) = Rc::try_unwrap(self.interactive) else {
            return Err(Error::new(Code::Internal, "the session is still in use"));
        };
        let finished = interactive.into_inner().finish(&mut Terminal::over(self.here, out))?;
        if finished.error.is_some() {
            summarise(&finished, out);
        } else if !self.applies && finished.files_changed > 0 {
            let files = counted(finished.files_changed, "file");
            let patch =
                finished.patch.iter().map(|patch| format!("; the patch is {}", escape(patch))).collect::<String>();
            out.warn(&format!("the proposal for {files} was not applied{patch}"));
        }
        let of_lines = self.first_error.filter(|_| !self.typed);
        Ok(of_lines.unwrap_or_else(|| finished.exit_code()))
    }

    /// Shows the result of an input; returns the code of its error.
    fn evaluated(&self, mut evaluated: Evaluated, out: &mut Output) -> Option<Code> {
        evaluated.error = evaluated.error.map(|error| self.advised(error));
        if out.is_json() {
            out.json_line(&evaluated);
        } else if let Some(shown) = &evaluated.shown {
            self.show(shown, out);
        }
        if let Some(error) = &evaluated.error {
            out.know_sources(&evaluated.sources);
            out.explain(error);
        }
        if evaluated.lost {
            out.say("The session's process died, and all variables and functions with it. The proposal stays.");
        }
        evaluated.error.map(|error| error.code())
    }

    /// Shows a value; `()` shows nothing.
    fn show(&self, shown: &Shown, out: &mut Output) {
        match (&shown.value, &shown.text) {
            (Some(Value::Null), _) | (None, None) => {}
            (Some(value), _) => self.show_value(value, out),
            (None, Some(text)) => out.line(&escape(text)),
        }
    }

    fn show_value(&self, value: &Value, out: &mut Output) {
        let length = if out.is_terminal() { Length::Cut } else { Length::Whole };
        out.styled(&(value::literal(value, length) + "\n"));
    }

    /// Obeys a command; returns the code of an error that was shown already.
    fn obey(&mut self, command: Command, out: &mut Output) -> Result<Option<Code>, Error> {
        match command {
            Command::Apply => {
                let finished = self.interactive.borrow_mut().apply(&mut Terminal::over(self.here, out))?;
                Ok(self.applied(finished, out))
            }
            Command::Budget => {
                let budget = self.interactive.borrow().budget()?;
                match out.is_json() {
                    true => out.json_line(&json!({"budget": budget})),
                    false => self.show_value(&budget, out),
                }
                Ok(None)
            }
            Command::Diff => self.diff(out).map(|()| None),
            Command::Help(name) => {
                let text = help::text(name.as_deref())?;
                match out.is_json() {
                    true => out.json_line(&json!({"help": text})),
                    false => out.styled(&text),
                }
                Ok(None)
            }
            Command::Load(file) => {
                let path = script_path(self.here, Path::new(&file))?;
                let evaluated = self.interactive.borrow_mut().load(&path, &mut Terminal::over(self.here, out))?;
                Ok(self.evaluated(evaluated, out))
            }
            Command::Quit => Ok(None),
            Command::Reset => {
                self.interactive.borrow_mut().reset(&mut Terminal::over(self.here, out))?;
                if out.is_json() {
                    out.json_line(&json!({"reset": true}));
                }
                out.say("A new session: no variables, nothing proposed.");
                Ok(None)
            }
            Command::Rollback => {
                let done = self.interactive.borrow_mut().rollback(&mut Terminal::over(self.here, out))?;
                Ok(self.rolled_back(&done, out))
            }
            Command::Save { file, replace } => self.save(&file, replace, out),
            Command::Vars => self.variables(out).map(|()| None),
        }
    }

    fn diff(&self, out: &mut Output) -> Result<(), Error> {
        let patch = self.interactive.borrow_mut().diff()?;
        if out.is_json() {
            out.json_line(&json!({"diff": String::from_utf8_lossy(&patch)}));
        } else if patch.is_empty() {
            out.say(if self.applies { "Nothing was changed." } else { "No change is proposed." });
        } else if out.is_terminal() {
            pager::show_long(&table::patch(&patch), out);
        } else {
            out.bytes(&patch);
        }
        Ok(())
    }

    fn applied(&self, mut finished: Finished, out: &mut Output) -> Option<Code> {
        finished.error = finished.error.map(|error| self.advised(error));
        if out.is_json() {
            out.json_line(&json!({"applied": finished}));
        }
        tell_end(&finished, out);
        finished.error.as_ref().map(Error::code)
    }

    fn rolled_back(&self, done: &RolledBack, out: &mut Output) -> Option<Code> {
        if out.is_json() {
            out.json_line(&json!({"rolled_back": done}));
        }
        recover::tell(self.here, done, false, out);
        done.finished.error.as_ref().map(Error::code)
    }

    /// Lists the variables with their types.
    fn variables(&self, out: &mut Output) -> Result<(), Error> {
        let mut candidates = self.interactive.borrow_mut().complete("", 0)?.candidates;
        let is_own = |name: &str| !matches!(name, "args" | "nrv");
        candidates.retain(|candidate| candidate.kind == CandidateKind::Variable && is_own(&candidate.text));
        if out.is_json() {
            out.json_line(&json!({"variables": candidates}));
            return Ok(());
        }
        if candidates.is_empty() {
            out.say("There are no variables.");
        }
        let width = candidates.iter().map(|one| one.text.chars().count()).max().unwrap_or_default();
        for one in candidates {
            out.line(&format!("{:<width$}  {}", escape(&one.text), escape(&one.detail)));
        }
        Ok(())
    }

    /// Writes the inputs that worked as a script, and checks it; returns the code of the first error that was found.
    fn save(&self, file: &str, replace: bool, out: &mut Output) -> Result<Option<Code>, Error> {
        let path = self.here.absolute(Path::new(file));
        let path = if path.extension().is_none() { path.with_extension("rhai") } else { path };
        let shown = path.strip_prefix(self.here.context.workspace.root()).unwrap_or(&path).display().to_string();
        if path.exists() && !replace {
            return Err(Error::new(Code::Usage, format!("`{shown}` exists"))
                .hint(format!("`:save! {file}` replaces it, or choose another name")));
        }
        let script = script_path(self.here, &path)?;
        let text = self.interactive.borrow().script(&script);
        Target::of(&path, "a script")?.write(text.as_bytes())?;
        out.say(&format!("Saved as {}.", escape(&shown)));
        let checked = script::check(&self.here.context, &script);
        if out.is_json() {
            out.json_line(&json!({"saved": script, "errors": checked.errors, "warnings": checked.warnings}));
        }
        out.know_sources(&checked.sources);
        checked.errors.iter().for_each(|error| out.explain(error));
        checked.warnings.iter().for_each(|warning| out.warn_of(warning));
        Ok(checked.errors.first().map(Error::code))
    }
}
