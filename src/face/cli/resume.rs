//! `nrv resume`: resumes or undoes a run that waits, or whose process died.

use super::{
    Here,
    apply::tell,
    arguments::{Mutation, ResumeArguments},
    commit::{Wish, subject_of},
    edit,
    output::Output,
    recordings,
    run::{conclude, conclude_with, parse_json},
    terminal::Terminal,
};

use base::error::Error;
use host::{Asked, Resumption, Ruling, Started};

pub(super) fn resume(here: &Here, arguments: &ResumeArguments, out: &mut Output) -> Result<u8, Error> {
    let context = &here.context;
    let folder = match arguments.run.as_str() {
        "last" => context.runs.open(&waiting(here)?)?,
        run => context.runs.open(run)?,
    };
    let ruling = |id: &String| Ruling {
        id: id.clone(),
        by: arguments.by.clone().or_else(user),
        reason: arguments.reason.clone(),
    };
    let reply = arguments.reply.as_ref().map(|text| parse_json(text, "--reply".as_ref())).transpose()?;
    if let Some(id) = &arguments.reject {
        let mut terminal = Terminal::new(here, out)?;
        let finished = host::reject(context, folder.id(), &ruling(id), &mut terminal)?;
        drop(terminal);
        return Ok(conclude(&finished, Mutation::default(), out));
    }
    let asked = Started::load(&folder).map(|started| started.asked).ok();
    if let Some(Asked::Script { sources, .. }) = &asked {
        out.know_sources(&sources.iter().map(|(name, source)| (name.clone(), source.text.clone())).collect());
    }
    let subject = host::overview(context, &folder).ok().map(|overview| subject_of(here, &overview));
    let wish = Wish::of(here, &arguments.commit, subject)?;
    let resumption = Resumption {
        approve: arguments.approve.as_ref().map(ruling),
        reply,
        accept_stale_reads: arguments.accept_stale_reads,
        yes: arguments.yes,
        tape: recordings::again(here, host::tape_of(context, folder.id())?)?,
        replay_only: here.replays_only(),
        locked: here.is_locked(),
    };
    let mut terminal = Terminal::new(here, out)?;
    let finished = script::resume(context, folder.id(), resumption, &mut terminal)?;
    drop(terminal);
    recordings::keep(here, &finished, out)?;
    match asked {
        Some(Asked::Patch { .. } | Asked::Planned { .. }) => tell(&finished.result, out),
        Some(Asked::Edit { .. }) => edit::tell(&finished.result, out),
        _ => {}
    }
    let committed = wish.map(|wish| wish.carry_out(here, &finished, out)).transpose()?.flatten();
    Ok(conclude_with(&finished, committed, Mutation::default(), out))
}

/// The latest run that can go on: one that waits, or whose process died. If there is none, the latest, which says why it can't.
fn waiting(here: &Here) -> Result<String, Error> {
    let states = [host::State::Suspended.as_str(), host::State::Interrupted.as_str()];
    let found = host::overviews(&here.context)?.into_iter().rfind(|run| states.contains(&run.state.as_str()));
    Ok(found.map_or_else(|| "last".to_owned(), |run| run.run))
}

/// The user's name in the system.
#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn user() -> Option<String> {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok().filter(|name| !name.is_empty())
}
