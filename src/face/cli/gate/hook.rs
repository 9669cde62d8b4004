//! `nrv gate hook`: a coding agent asks before it uses a tool. Every failure here blocks, since an agent takes any exit code
//! but the blocking one as a permission.
//!
//! Where memory or processor time is limited, a signal could end the process before it answers. Another process does the work
//! then, and this one blocks if that dies.

use std::{
    ffi::OsString,
    io::Write,
    panic::{self, AssertUnwindSafe},
};

use super::{Bench, GateArguments, MAX_INPUT, disk, place, read_stdin};
use crate::face::cli::{
    Here,
    output::{Output, json_line},
};
use base::{
    error::{Code, Error},
    path::RepoPath,
    text,
};
use gate::{
    Subject,
    destructive::Start,
    hook::{BLOCK, Question, Reply},
};
use system::process::guard;

/// The hidden flag of the process that does the work.
const GUARDED: &str = "--guarded";

/// Answers one question on stdin; `open` opens the workspace. Returns the exit code.
pub(in crate::face::cli) fn hook(
    open: impl FnOnce() -> Result<Here, Error>,
    arguments: &GateArguments,
    out: &mut Output,
) -> u8 {
    if arguments.is_guarded() {
        guard::end_with_parent();
    }
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
                // The agent would take a missing answer as a permission.
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

/// Lets another process answer if these are the arguments of the hook and a limit could end this one; none otherwise.
///
/// This comes before all else, since parsing arguments takes memory, too. However the other process ends, the exit code is
/// one that agents know.
pub(in crate::face::cli) fn watched(args: &[OsString]) -> Option<u8> {
    let at = |word: &str| args.iter().position(|arg| arg == word);
    let is_hook = at("gate").is_some_and(|gate| at("hook").is_some_and(|hook| gate < hook));
    if !is_hook || at("--").is_some() || at(GUARDED).is_some() || !guard::is_limited() {
        return None;
    }
    let args: Vec<OsString> = args.iter().skip(1).cloned().chain([GUARDED.into()]).collect();
    let why = match guard::again(&args, std::env::vars_os()) {
        Ok(Some(0)) => return Some(0),
        Ok(Some(code)) if code == i32::from(BLOCK) => return Some(BLOCK),
        Ok(Some(code)) => format!("the process that judges it ended with status {code}"),
        Ok(None) => "a signal ended the process that judges it".to_owned(),
        Err(error) => format!("the process that judges it can't be started: {error}"),
    };
    // The reader may be gone.
    let _ = writeln!(
        std::io::stderr(),
        "nrv: the call is blocked, because it could not be judged: {why}\n\
         Memory or processor time is limited here (`ulimit -a`): give the hook more."
    );
    Some(BLOCK)
}

fn write(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}

fn answer(here: &Here, arguments: &GateArguments) -> Result<Reply, Error> {
    // A policy that nobody has seen may permit everything; git may have brought it since.
    here.context.check_trust()?;
    let bench = Bench::new(here, arguments)?;
    let input = read_stdin().map_err(|error| Error::io("stdin can't be read", &error))?;
    let question = Question::parse(&input)?;
    let folder =
        question.folder.as_ref().map_or_else(|| here.place.folder.clone(), |folder| here.place.folder.join(folder));
    let place = |path: &str| match path.starts_with('~') {
        true => path.to_owned(),
        false => place::in_workspace(here, &folder.join(path)),
    };
    // A file that is no text is judged by the pieces alone, like one that does not exist yet.
    let read = |path: &str| {
        let (workspace, path) = (&here.context.workspace, RepoPath::parse(path).ok()?);
        workspace.stat(&path).ok()?.filter(|metadata| metadata.length <= MAX_INPUT)?;
        std::str::from_utf8(&workspace.read(&path).ok()?.bytes).ok().map(str::to_owned)
    };
    let question = question.located(&place, &read);
    let (begins, root) = (place::in_workspace(here, &folder), here.context.workspace.root().to_string_lossy());
    let start = Start { folder: Some(&begins), root: Some(&root), disk: Some(disk::looks()) };
    let subject = Subject::ToolUse { name: &question.tool, params: &question.params, start };
    Ok(question.reply(&bench.decide(&subject)))
}
