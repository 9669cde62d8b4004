//! `nrv gate hook`: a coding agent asks before it uses a tool. Whatever goes wrong here blocks, since an agent takes every exit code
//! but that for leave to go on.

use std::{
    io::Write,
    panic::{self, AssertUnwindSafe},
};

use super::{Bench, GateArguments, MAX_INPUT, place, read_stdin};
use crate::{
    cli::{
        Here,
        output::{Output, json_line},
    },
    error::{Code, Error},
    gate::{
        Subject,
        hook::{BLOCK, Question, Reply},
    },
    path::RepoPath,
    text,
};

/// Answers one question on stdin; `open` opens the workspace. Gives the exit code.
pub(in crate::cli) fn hook(
    open: impl FnOnce() -> Result<Here, Error>,
    arguments: &GateArguments,
    out: &mut Output,
) -> u8 {
    let answered = panic::catch_unwind(AssertUnwindSafe(|| open().and_then(|here| answer(&here, arguments))));
    let result = answered.unwrap_or_else(|panic| {
        let words = text::of_panic(panic.as_ref());
        Err(Error::new(Code::Internal, format!("the hook panicked: {words}")))
    });
    match result {
        Ok(reply) => {
            if let Some(reason) = &reply.reason {
                out.say(reason);
            }
            let written = reply.document.as_ref().map_or(Ok(()), |document| write(&json_line(document)));
            match written {
                Ok(()) => reply.exit_code,
                // What the agent does not hear would be taken for leave.
                Err(error) => {
                    out.explain(&Error::io("stdout can't be written", &error));
                    BLOCK
                }
            }
        }
        Err(error) => {
            out.say("nrv: the call is blocked, because it could not be judged:");
            out.explain(&error);
            BLOCK
        }
    }
}

fn write(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}

fn answer(here: &Here, arguments: &GateArguments) -> Result<Reply, Error> {
    let bench = Bench::new(here, arguments)?;
    let input = read_stdin().map_err(|error| Error::io("stdin can't be read", &error))?;
    let question = Question::parse(&input)?;
    let folder =
        question.folder.as_ref().map_or_else(|| here.place.folder.clone(), |folder| here.place.folder.join(folder));
    let place = |path: &str| match path.starts_with('~') {
        true => path.to_owned(),
        false => place::in_workspace(here, &folder.join(path)),
    };
    // What can't be read as text is judged by the pieces alone, as a file is that does not exist yet.
    let read = |path: &str| {
        let (workspace, path) = (&here.context.workspace, RepoPath::parse(path).ok()?);
        workspace.stat(&path).ok()?.filter(|metadata| metadata.length <= MAX_INPUT)?;
        std::str::from_utf8(&workspace.read(&path).ok()?.bytes).ok().map(str::to_owned)
    };
    let question = question.located(&place, &read);
    let subject = Subject::ToolUse { name: &question.tool, params: &question.params };
    Ok(question.reply(&bench.decide(&subject)))
}
