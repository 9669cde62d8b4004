//! `nrv rollback` and `nrv recover`: back to a state that somebody chose.

use super::{
    Here,
    arguments::RollbackArguments,
    output::{Output, shown},
    run::summarise,
    terminal::Terminal,
};
use crate::{
    error::Error,
    host::{self, Flags},
};

pub(super) fn rollback(here: &Here, arguments: &RollbackArguments, out: &mut Output) -> Result<u8, Error> {
    let flags = Flags { dry_run: arguments.dry_run, ..Flags::default() };
    let mut terminal = Terminal { out };
    let done = host::rollback(&here.context, &arguments.run, arguments.keep_later, flags, &mut terminal)?;
    if out.is_json() {
        out.document(&done);
    }
    for path in &done.kept {
        out.say(&format!("Left alone, since it changed: {}", shown(path)));
    }
    if done.finished.error.is_some() {
        summarise(&done.finished, out);
        return Ok(done.finished.exit_code());
    }
    let n = done.restored.len();
    let run = &done.parent;
    out.say(&match (n, arguments.dry_run) {
        (0, _) => format!("Run {run} left nothing to bring back."),
        (n, true) => format!("{n} files of run {run} would be brought back."),
        (n, false) => format!("{n} files of run {run} are as they were before it."),
    });
    Ok(done.finished.exit_code())
}

pub(super) fn recover(here: &Here, out: &mut Output) -> Result<u8, Error> {
    let recoveries = host::recover(&here.context)?;
    if out.is_json() {
        out.document(&recoveries);
    }
    for recovery in &recoveries {
        out.say(&recovery.sentence());
    }
    if recoveries.is_empty() {
        out.say("Nothing to recover.");
    }
    Ok(0)
}
