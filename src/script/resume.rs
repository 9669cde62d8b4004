//! Resumes a run: the sources in its record run again, whatever the workspace holds now.

use std::collections::BTreeMap;

use crate::{
    Loaded,
    header::{self, Header},
    library, recordings,
    run::{self, go, origin},
    session::{Spare, Worker},
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};
use host::{Asked, Context, Finished, Host, Resumed, Resumption, Sink, Source, Started, Tape};
use system::policy::{BudgetCeiling, Cassettes, Policy};

/// Resumes a run that waits, or whose process died, from its record; see [`Host::resume`].
///
/// A run of a program that embeds nrv is `invalid_input`: the program makes the calls and has to resume by itself. An error means
/// that the run did not resume; [`Finished`] has the outcome of a resumed one.
pub fn resume(context: &Context, run: &str, resumption: Resumption, sink: &mut dyn Sink) -> Result<Finished, Error> {
    let folder = context.runs.open(run)?;
    let started = Started::load(&folder)?;
    let (path, args) = match &started.asked {
        Asked::Script { path, args, .. } => (path, args.clone()),
        Asked::Program { name } => {
            return Err(Error::new(
                Code::InvalidInput,
                format!("the program `{name}` has to go on with its run itself"),
            )
            .hint("it opens the run with `Host::resume` and makes its calls again"));
        }
        Asked::Client { .. } => {
            let Resumed { finished, answer } = host::resume_client(context, folder.id(), resumption, sink)?;
            // The run is over either way, and an error of its last call is none of the run.
            return match (&finished.error, answer) {
                (None, answer) => Ok(Finished { result: answer?, ..finished }),
                // The call's own error says more than what evaluators make of it.
                (Some(_), Err(error)) => Ok(Finished { error: Some(error), ..finished }),
                (Some(_), Ok(_)) => Ok(finished),
            };
        }
        Asked::Session { .. } => {
            return Err(Error::new(Code::InvalidInput, format!("the session `{}` can't be resumed", folder.id()))
                .hint(
                    "its variables are gone; `nrv runs show` has its texts, and `nrv rollback` brings its changes back",
                ));
        }
        Asked::Adapter { .. }
        | Asked::Patch { .. }
        | Asked::Edit { .. }
        | Asked::Planned { .. }
        | Asked::Rollback { .. } => return host::resume_call(context, folder.id(), resumption, sink),
    };
    let loaded = load_recorded(context, &RepoPath::parse(path)?, &started.asked)?;
    // A locked run resumes only if it is still approved.
    let locked = resumption.locked || started.is_locked();
    // What the run began with holds besides; an approved script gets no more than its header.
    let given = if locked { BudgetCeiling::default() } else { started.given_budget() };
    let policy = run::policy(context, &loaded, given, locked)?;
    let tape = tape_of(context, folder.id(), &loaded.main, &policy, &resumption)?;
    let mut host = Host::resume(context, folder.id(), &policy, resumption, sink)?;
    if let Some(tape) = tape
        && let Err(error) = host.use_cassettes(tape, None)
    {
        return Err(host.wait_on(error));
    }
    go(context, host, &loaded, (args, started.seed), sink)
}

/// The recorded replies for the rest of a run: those that it used before, unless the options or the policy now ask fewer models.
fn tape_of(
    context: &Context,
    run: &str,
    script: &RepoPath,
    policy: &Policy,
    resumption: &Resumption,
) -> Result<Option<Tape>, Error> {
    let folder = recordings::folder(script);
    let before = match &resumption.tape {
        Some(tape) => Some(tape.clone()),
        None => host::tape_of(context, run)?,
    };
    // The folder of the command line does not follow the policy.
    let of_policy =
        policy.settings().llm.cassettes.filter(|_| before.as_ref().is_none_or(|tape| tape.folder == folder));
    let least = if resumption.replay_only { Some(Cassettes::Replay) } else { of_policy };
    let mode = before.as_ref().map(|tape| tape.mode).max(least);
    let Some(mode) = mode.filter(|mode| *mode != Cassettes::Off) else { return Ok(None) };
    let tape = before.unwrap_or_else(|| Tape { mode, folder, files: BTreeMap::new() });
    let files = match resumption.tape.is_some() {
        true => tape.files,
        false => recordings::read(context, &tape.folder)?,
    };
    Ok(Some(Tape { mode, files, ..tape }))
}

/// The script as it ran, with its header. Its file is not read.
fn load_recorded(context: &Context, main: &RepoPath, asked: &Asked) -> Result<Loaded, Error> {
    let Asked::Script { sources, imports, .. } = asked else {
        return Err(Error::new(Code::Internal, "the run has no script"));
    };
    let damaged = |what: String| Error::new(Code::RecordDamaged, what);
    if let Some((name, _)) = sources.iter().find(|(_, Source { sha256, text })| Sha256::of(text.as_bytes()) != *sha256)
    {
        return Err(damaged(format!("the recorded source of `{name}` is not the one that ran")));
    }
    for (importer, meant) in imports {
        // A module that is no longer shipped has no target now.
        let leads = |(literal, name): (&String, &String)| {
            library::resolve(importer, literal).map_or(true, |target| target.name() == name)
        };
        if let Some((literal, _)) = meant.iter().find(|one| !leads(*one)) {
            return Err(damaged(format!("what `{importer}` imports as `{literal}` is not the module that ran")));
        }
    }
    let text = sources.get(main.as_str()).map(|source| source.text.as_str());
    let text = text.ok_or_else(|| damaged(format!("the record does not hold the source of `{main}`")))?;
    let limits = &context.policy.settings().script.limits;
    let stop = || context.cancelled();
    let mut worker = Worker::start(origin(context), limits, &stop)?;
    let inspection = worker.inspect(main.as_str(), text, true, &stop)?;
    if let Some(error) = inspection.errors.into_iter().next() {
        return Err(error);
    }
    let header = inspection.header.as_ref().map_or(Ok(Header::default()), header::parse)?;
    Ok(Loaded {
        main: main.clone(),
        sources: sources.iter().map(|(name, source)| (name.clone(), source.text.clone())).collect(),
        imports: imports.clone(),
        hashes: sources.iter().map(|(name, source)| (name.clone(), source.sha256)).collect::<BTreeMap<_, _>>(),
        doc: inspection.doc,
        header,
        uses: Vec::new(),
        places: BTreeMap::new(),
        is_module: false,
        warnings: Vec::new(),
        spare: Spare::new(Some(worker)),
    })
}
