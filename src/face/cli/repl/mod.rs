//! `nrv repl`: a session at the terminal, or one whose lines come through a pipe.
//!
//! The session itself is [`Interactive`]; this module reads its lines and shows their results.

mod command;
mod editor;
mod help;
mod history;
mod paths;
mod pipe;
mod session;
mod value;

use std::{io::IsTerminal, rc::Rc, sync::atomic::Ordering};

use rustyline::error::ReadlineError;

use self::{
    editor::Assistant,
    history::History,
    session::{Flow, Session},
};
use super::{
    Here,
    arguments::ReplArguments,
    output::Output,
    signals::{self, Editing},
};
use base::error::{Code, Error};

/// The greeting before the first line.
const GREETING: &str = "changes are proposed and not made until `:apply`";

/// The greeting of a session that makes changes at once.
const GREETING_APPLY: &str = "changes are made at once; `:rollback` undoes them";

pub(super) fn repl(here: &Here, arguments: &ReplArguments, out: &mut Output) -> Result<u8, Error> {
    if here.is_locked() {
        let message = "a session runs unapproved texts, and where `CI` is set only approved scripts run";
        return Err(Error::new(Code::NotApproved, message)
            .hint("run an approved script with `nrv run`, or set `locked = false` in `[ci]` of `nrv.toml`"));
    }
    let editing = signals::listen_in_session(&here.context.options.cancel, &here.meter)?;
    let mut session = Session::start(here, arguments, out)?;
    let read = if std::io::stdin().is_terminal() {
        let greeting = if arguments.apply { GREETING_APPLY } else { GREETING };
        out.say(&format!("nrv {}: {greeting}. `:help` lists the commands.", env!("CARGO_PKG_VERSION")));
        type_lines(here, &mut session, &editing, out)
    } else {
        pipe::read_lines(here, &mut session, out)
    };
    // However it ends, its record is closed and changes that were not applied are reported.
    let failed = read.err().map(|error| session.fail(&error, out).exit_code());
    here.context.options.cancel.store(false, Ordering::Relaxed);
    match (session.finish(out), failed) {
        (Ok(0) | Err(_), Some(code)) => Ok(code),
        (ended, _) => ended,
    }
}

/// Reads inputs from the terminal until there are no more.
fn type_lines<'a>(here: &'a Here, session: &mut Session<'a>, editing: &Editing, out: &mut Output) -> Result<(), Error> {
    let failed = |error: ReadlineError| Error::new(Code::Io, format!("the terminal can't be read: {error}"));
    let assistant = Assistant { session: Rc::clone(&session.interactive), workspace: &here.context.workspace };
    let mut editor = editor::editor(assistant, out.color(), std::io::stdout().is_terminal()).map_err(failed)?;
    let mut history = History::find();
    history.load(&mut editor);
    loop {
        match editing.read(|| editor.readline(session.prompt())) {
            Ok(input) => {
                history.add(&mut editor, &input);
                if session.input(&input, out)? == Flow::End {
                    return Ok(());
                }
            }
            // The input is dropped, the session goes on.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
    }
}
