//! `nrv hooks install`: a hook of git's that keeps a half-changed tree from being committed.

use serde_json::{Value, json};

use super::{
    Here,
    arguments::Hooks,
    output::{Mode, Output},
    table,
    terminal::Terminal,
};
use crate::{
    error::{Code, Error},
    host::{self, Answer, Question, Sink},
    text::escape,
};

pub(super) fn hooks(here: &Here, command: &Hooks, out: &mut Output) -> Result<u8, Error> {
    let Hooks::Install { dry_run, yes } = command;
    let context = &here.context;
    let hook = host::propose_hook(&context.workspace, &context.options.environment_of_git())?;
    let is_there = hook.proposed.changes.is_empty();
    if !is_there && !dry_run {
        if !yes {
            ask(here, &hook, out)?;
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
    if *dry_run && !is_there {
        out.data(&table::patch(&hook.proposed.patch));
    }
    out.say(&format!("{said}: {}", escape(&hook.shown)));
    Ok(0)
}

fn ask(here: &Here, hook: &host::Hook, out: &mut Output) -> Result<(), Error> {
    let question = Question {
        id: hook.shown.clone(),
        label: format!("write {}", hook.shown),
        subject: Value::Null,
        files: Vec::new(),
        patch: hook.proposed.patch.clone(),
        may_all: false,
    };
    match Terminal::new(here, out)?.ask(&question) {
        Answer::Yes | Answer::All => Ok(()),
        Answer::No => Err(Error::new(Code::Cancelled, "no hook was written")),
        Answer::Nobody => Err(Error::new(Code::Usage, "nobody can be asked here whether the hook is written")
            .hint("say `--yes`, or install it on a terminal")),
    }
}
