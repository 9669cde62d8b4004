//! `nrv rollback` and `nrv recover`: restore an earlier state of the tree.

use super::{
    Here, arguments::RollbackArguments, commit::commit_of, here::Place, output::Output, run::summarise, runs::latest,
    terminal::Terminal,
};
use base::{
    error::{Code, Error},
    text::{counted, escape},
};
use host::{Flags, Overview, RolledBack};
use system::workspace::Workspace;

pub(super) fn rollback(here: &Here, arguments: &RollbackArguments, out: &mut Output) -> Result<u8, Error> {
    let flags = Flags { dry_run: arguments.dry_run, ..Flags::default() };
    let mut terminal = Terminal::new(here, out)?;
    let run = run_to_undo(here, &arguments.run)?;
    let done = match &arguments.position {
        Some(position) => host::rollback_position(&here.context, &run, position, flags, &mut terminal)?,
        None => host::rollback(&here.context, &run, arguments.keep_later, flags, &mut terminal)?,
    };
    drop(terminal);
    if out.is_json() {
        out.document(&done);
    }
    tell(here, &done, arguments.dry_run, out);
    Ok(done.finished.exit_code())
}

/// Shows the restored files, and those that were left.
pub(super) fn tell(here: &Here, done: &RolledBack, dry_run: bool, out: &mut Output) {
    for path in &done.kept {
        out.say(&format!("Left alone, since it changed: {}", escape(path)));
    }
    if done.finished.error.is_some() {
        return summarise(&done.finished, out);
    }
    let n = done.restored.len();
    let run = &done.parent;
    if let Some(position) = &done.position {
        let position = escape(position);
        return out.say(&match (n, dry_run) {
            (0, _) => format!("The change at position {position} of run {run} was undone already."),
            (n, true) => {
                format!("The change at position {position} of run {run} would be undone in {}.", counted(n, "file"))
            }
            (n, false) => {
                format!("The change at position {position} of run {run} is undone in {}.", counted(n, "file"))
            }
        });
    }
    out.say(&match (n, dry_run) {
        (0, _) => match undone_by(here, done) {
            Some(by) => format!("Run {run} was rolled back already, by run {by}."),
            None => format!("Run {run} left nothing to bring back."),
        },
        (n, true) => format!("{} of run {run} would be brought back.", counted(n, "file")),
        (1, false) => format!("1 file of run {run} is as it was before it."),
        (n, false) => format!("{n} files of run {run} are as they were before it."),
    });
    if dry_run && !out.is_json() {
        done.restored.iter().for_each(|path| out.line(&escape(path)));
    }
    if let (true, false, Some(commit)) = (n > 0, dry_run, commit_of(here, run)) {
        let rollback = &done.finished.run;
        out.say(&format!(
            "Commit {commit} holds its changes: `nrv runs commit {rollback}` commits what is back, as `git revert {commit}` does elsewhere."
        ));
    }
}

/// The latest earlier rollback of the same run.
fn undone_by(here: &Here, done: &RolledBack) -> Option<String> {
    let subject = format!("rollback of {}", done.parent);
    let is_it = |run: &Overview| {
        run.is_rollback
            && run.subject == subject
            && run.files_changed > 0
            && run.mode == "apply"
            && run.run != done.finished.run
    };
    host::overviews(&here.context).ok()?.into_iter().rfind(is_it).map(|run| run.run)
}

/// Resolves `last` to the latest run that changed something and is no rollback, so that a refused rollback can be repeated.
fn run_to_undo(here: &Here, run: &str) -> Result<String, Error> {
    if run != "last" {
        return Ok(run.to_owned());
    }
    latest(here, |run| !run.is_rollback)
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

/// Fails if a run died and is not recovered, for hooks and for programs that are about to use the tree.
pub(super) fn check(place: &Place, out: &mut Output) -> Result<u8, Error> {
    let dead = host::unrecovered(&Workspace::open(&place.root)?)?;
    if !dead.is_empty() {
        let why = format!("runs died and are not recovered: {}", dead.join(", "));
        return Err(Error::new(Code::DirtyTree, why)
            .detail("runs", dead)
            .hint("`nrv recover` finishes or undoes them"));
    }
    if out.is_json() {
        out.document(&dead);
    }
    out.say("Nothing to recover.");
    Ok(0)
}
