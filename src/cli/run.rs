//! `nrv run`: a script from the workspace, from its header to its summary.

use std::path::Path;

use clap::CommandFactory;
use serde_json::Value;

use super::{
    Here,
    arguments::{Cli, Mutation, RunArguments},
    output::{Line, Mode, Output},
    terminal::Terminal,
};
use crate::{
    error::{Code, Error},
    host::{Finished, Flags},
    path::RepoPath,
    script::{self, Invocation},
    text::escape,
};

/// The exit code of a dry run with `--exit-code` that would change something.
const WOULD_CHANGE: u8 = 8;

pub(super) fn run(here: &Here, arguments: &RunArguments, out: &mut Output) -> Result<u8, Error> {
    let Some(script) = &arguments.script else {
        let mut command = Cli::command();
        let help = command.find_subcommand_mut("run").map(|run| run.render_help().to_string()).unwrap_or_default();
        out.data(&help);
        return Ok(0);
    };
    let flags = flags(arguments.mutation, arguments.keep);
    if !arguments.help {
        needs_dry_run(arguments.mutation, flags)?;
    }
    if arguments.locked {
        out.warn("`--locked` has no effect, since this version has no approvals");
    }
    let path = script_path(here, script)?;
    let loaded = script::load_script(&here.context, &path).map_err(|rejected| {
        out.know_sources(&rejected.sources);
        // All but the last are told here, the last by whoever called.
        let mut errors = rejected.errors;
        let last = errors.pop();
        errors.iter().for_each(|error| out.explain(error));
        last.unwrap_or_else(|| Error::new(Code::Internal, "a script was rejected without a reason"))
    })?;
    out.know_sources(&loaded.sources);
    if arguments.help {
        out.data(&script::help(&loaded));
        return Ok(0);
    }
    let json = match &arguments.args {
        Some(file) => Some(parse_json(&here.read_input(file)?, file)?),
        None => None,
    };
    let invocation = Invocation {
        args: script::complete(&loaded.header, &arguments.arg, json.as_ref())?,
        seed: arguments.seed,
        flags,
    };
    let finished = script::run(&here.context, &loaded, invocation, &mut Terminal::new(here, out)?)?;
    Ok(conclude(&finished, arguments.mutation, out))
}

/// The script's path in the workspace: relative to the current folder, else to the workspace's root.
fn script_path(here: &Here, script: &Path) -> Result<RepoPath, Error> {
    let root = here.context.workspace.root();
    let absolute = here.absolute(script);
    let beneath = |path: &Path| path.strip_prefix(root).ok().and_then(|path| path.to_str()).map(RepoPath::parse);
    match beneath(&absolute) {
        Some(path) if absolute.exists() => path,
        inside => {
            let by_root = script.to_str().filter(|_| script.is_relative() && root.join(script).exists());
            match (by_root, inside) {
                (Some(text), _) => RepoPath::parse(text),
                (None, Some(path)) => path,
                (None, None) => Err(Error::new(
                    Code::InvalidPath,
                    format!("the script `{}` is outside the workspace `{}`", script.display(), root.display()),
                )
                .hint("scripts are part of the workspace that they work on; choose it with `--root`")),
            }
        }
    }
}

pub(super) fn parse_json(text: &str, file: &Path) -> Result<Value, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::new(Code::InvalidInput, format!("`{}` is not JSON: {error}", file.display())))
}

pub(super) fn flags(mutation: Mutation, keep: bool) -> Flags {
    Flags { dry_run: mutation.dry_run, yes: mutation.yes, keep, allow_dirty: mutation.allow_dirty }
}

/// Refuses `--exit-code` where something may be changed: 8 means that something would be.
pub(super) fn needs_dry_run(mutation: Mutation, flags: Flags) -> Result<(), Error> {
    if mutation.exit_code && !flags.dry_run {
        return Err(Error::new(Code::Usage, "`--exit-code` says what a dry run would change, and this is none")
            .hint("add `--dry-run`"));
    }
    Ok(())
}

/// Tells how a run ended; the exit code of the command.
pub(super) fn conclude(finished: &Finished, mutation: Mutation, out: &mut Output) -> u8 {
    match out.mode() {
        Mode::Text => {}
        Mode::Document => out.document(finished),
        Mode::Lines => out.json_line(&Line::RunFinished { finished }),
    }
    summarise(finished, out);
    exit_code(finished, mutation)
}

/// The exit code of the command, with what `--exit-code` asks for.
pub(super) fn exit_code(finished: &Finished, mutation: Mutation) -> u8 {
    if mutation.exit_code && finished.error.is_none() && finished.files_changed > 0 {
        WOULD_CHANGE
    } else {
        finished.exit_code()
    }
}

/// The error if there is one, the sentence, and the paths that the user may want next.
pub(super) fn summarise(finished: &Finished, out: &mut Output) {
    if let Some(error) = &finished.error {
        out.explain(error);
    }
    for asked in &finished.would_ask {
        let label = asked["label"].as_str().unwrap_or_default();
        out.say(&format!("Would ask: {}.", escape(label)));
    }
    out.say(&format!("{} (run {}, {} ms)", finished.sentence(), finished.run, finished.duration_ms));
    // The patch of a run that failed is not what it would have come to.
    if let (Some(patch), None, false) = (&finished.patch, &finished.error, out.is_json()) {
        out.line(patch);
    }
}
