//! `nrv hooks`: a git hook that keeps a half-changed tree from being committed.

use serde_json::json;

use super::{
    Here,
    arguments::Hooks,
    ask::ask,
    output::{Mode, Output},
    table,
};
use base::{error::Error, text::escape};
use host::HookState;

pub(super) fn hooks(here: &Here, command: &Hooks, out: &mut Output) -> Result<u8, Error> {
    match command {
        Hooks::Install { dry_run, yes } => install(here, *dry_run, *yes, out),
        Hooks::Status => status(here, out),
        Hooks::Remove { yes } => remove(here, *yes, out),
    }
}

fn install(here: &Here, dry_run: bool, yes: bool, out: &mut Output) -> Result<u8, Error> {
    let context = &here.context;
    let hook = host::propose_hook(&context.workspace, &context.options.environment_of_git())?;
    let is_there = hook.proposed.changes.is_empty();
    if !is_there && !dry_run {
        if !yes {
            let (label, patch) = (format!("write {}", hook.shown), hook.proposed.patch.clone());
            ask(here, label, patch, "no hook was written", out)?;
        }
        host::set_up(&hook.repository, &hook.proposed)?;
    }
    let (action, said) = match (is_there, dry_run) {
        (true, _) => ("keep", "The hook is there already"),
        (false, true) => ("make", "The hook would be written"),
        (false, false) => ("make", "The hook is written"),
    };
    if out.mode() != Mode::Text {
        out.document(&json!({"dry_run": dry_run, "files": [{"path": hook.shown, "action": action}]}));
        return Ok(0);
    }
    if dry_run && !is_there {
        out.styled(&table::patch(&hook.proposed.patch));
    }
    out.say(&format!("{said}: {}", escape(&hook.shown)));
    Ok(0)
}

fn status(here: &Here, out: &mut Output) -> Result<u8, Error> {
    let context = &here.context;
    let hook = host::installed_hook(&context.workspace, &context.options.environment_of_git())?;
    if out.mode() != Mode::Text {
        let mut document = json!(hook.state);
        document["path"] = json!(hook.shown);
        out.document(&document);
        return Ok(0);
    }
    let shown = escape(&hook.shown);
    let said = match &hook.state {
        HookState::Absent => format!("There is no hook; `nrv hooks install` writes it: {shown}"),
        HookState::Own { root } if root == "." => format!("The hook is nrv's own: {shown}"),
        HookState::Own { root } => format!("The hook is nrv's own, for the workspace `{}`: {shown}", escape(root)),
        HookState::Edited => format!("The hook is nrv's, and was edited or is of another version: {shown}"),
        HookState::Other => format!("The hook is not nrv's: {shown}"),
        HookState::Elsewhere { folder } => {
            format!("git looks for hooks in `{}`, which `core.hooksPath` names, and not here: {shown}", escape(folder))
        }
    };
    out.data(&format!("{said}\n"));
    Ok(0)
}

fn remove(here: &Here, yes: bool, out: &mut Output) -> Result<u8, Error> {
    let context = &here.context;
    let hook = host::installed_hook(&context.workspace, &context.options.environment_of_git())?;
    if !yes && matches!(hook.state, HookState::Own { .. }) {
        ask(here, format!("remove {}", hook.shown), Vec::new(), "no hook was removed", out)?;
    }
    host::remove_hook(&hook)?;
    if out.mode() != Mode::Text {
        out.document(&json!({"files": [{"path": hook.shown, "action": "remove"}]}));
    }
    out.say(&format!("The hook is removed: {}", escape(&hook.shown)));
    Ok(0)
}
