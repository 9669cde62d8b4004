//! `nrv run`: runs a script of the workspace, from its header to its summary.

use std::path::Path;

use clap::CommandFactory;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Here,
    arguments::{Asked, Cli, Mutation, RunArguments, ScriptArguments},
    commit::{Outcome as Committed, Wish},
    output::{Mode, Output},
    recordings, table,
    terminal::Terminal,
};
use base::{
    error::{Code, Error},
    path::RepoPath,
    span::span,
    text::escape,
};
use host::{Finished, Flags, Outcome, count_sentence};
use script::{Checked, Invocation, Loaded, shipped};

/// The exit code of a dry run with `--exit-code` that would change something.
const WOULD_CHANGE: u8 = 8;

/// The most failures of a verifier that are listed for people, beside the first.
const MOST_FAILURES: usize = 20;

pub(super) fn run(here: &Here, arguments: &RunArguments, out: &mut Output) -> Result<u8, Error> {
    let flags = flags(arguments.mutation, arguments.keep);
    if !arguments.script.help {
        needs_dry_run(arguments.mutation, flags)?;
    }
    let Some((loaded, invocation)) = prepare(here, "run", &arguments.script, flags, out)? else { return Ok(0) };
    let wish =
        Wish::of(here, &arguments.commit, Some(loaded.summary().unwrap_or_else(|| format!("Run {}", loaded.main))))?;
    if let Some(wish) = &wish {
        wish.check_clean(here, &loaded.header.ceiling.write)?;
    }
    let finished = script::run(&here.context, &loaded, invocation, &mut Terminal::new(here, out)?)?;
    recordings::keep(here, &finished, out)?;
    let committed = wish.map(|wish| wish.carry_out(here, &finished, out)).transpose()?.flatten();
    Ok(conclude_with(&finished, committed, arguments.mutation, out))
}

/// A script that is ready to run; none if only help was wanted.
pub(super) fn prepare(
    here: &Here,
    command: &str,
    arguments: &ScriptArguments,
    flags: Flags,
    out: &mut Output,
) -> Result<Option<(Loaded, Invocation)>, Error> {
    let Some(script) = &arguments.script else {
        let mut cli = Cli::command();
        cli.build();
        let help = cli.find_subcommand_mut(command).map(|command| command.render_help().to_string());
        out.data(&help.unwrap_or_default());
        return Ok(None);
    };
    let (loaded, warnings) = load(here, script, out)?;
    if arguments.help {
        out.data(&script::help(&loaded));
        return Ok(None);
    }
    warnings.iter().for_each(|warning| out.warn_of(warning));
    let json = match &arguments.args {
        Some(file) => Some(parse_json(&here.read_input(file)?, file)?),
        None => None,
    };
    let args = script::complete(&loaded.header, &arguments.arg, json.as_ref())?;
    Ok(Some((
        loaded,
        Invocation {
            args,
            seed: arguments.seed,
            flags,
            tapes: recordings::tapes(here, arguments)?,
            locked: arguments.locked || here.is_locked(),
            budget: arguments.budget.clone(),
        },
    )))
}

/// Loads a script with its imports, and shows its errors; returns its warnings, too.
pub(super) fn load(here: &Here, script: &Path, out: &mut Output) -> Result<(Loaded, Vec<Error>), Error> {
    let path = script_path(here, script)?;
    let Checked { loaded, errors, warnings, beyond, sources, .. } =
        span!("check").in_scope(|| script::check(&here.context, &path));
    out.know_sources(&sources);
    match loaded {
        // A call without permission is refused when it is made, and not before.
        Some(loaded) => Ok((loaded, [errors, warnings, beyond].concat())),
        None => Err(told(errors, out)),
    }
}

/// Shows all errors of a script that can't run but the last, which the caller shows.
pub(super) fn told(mut errors: Vec<Error>, out: &mut Output) -> Error {
    let last = errors.pop();
    errors.iter().for_each(|error| out.explain(error));
    last.unwrap_or_else(|| Error::new(Code::Internal, "a script was rejected without a reason"))
}

/// The script's path in the workspace: relative to the current folder, else to the workspace's root. `std:NAME` is a shipped workflow.
pub(super) fn script_path(here: &Here, script: &Path) -> Result<RepoPath, Error> {
    if let Some(shipped) = script.to_str().and_then(shipped::named) {
        return shipped;
    }
    let path = file_path(here, script)?;
    match shipped::workflow(&path) {
        None => Ok(path),
        Some(_) => {
            Err(Error::new(Code::InvalidPath, format!("`{path}` is the name of a shipped workflow, not of a file"))
                .hint("give the file another name"))
        }
    }
}

/// The path of a script that is a file.
fn file_path(here: &Here, script: &Path) -> Result<RepoPath, Error> {
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

/// Refuses `--exit-code` outside a dry run: 8 means that something would change.
pub(super) fn needs_dry_run(mutation: Mutation, flags: Flags) -> Result<(), Error> {
    if mutation.asked.exit_code && !flags.dry_run {
        return Err(Error::new(Code::Usage, "`--exit-code` reports the changes of a dry run, and this is none")
            .hint("add `--dry-run`"));
    }
    Ok(())
}

/// Shows the outcome of a run; returns the exit code of the command.
pub(super) fn conclude(finished: &Finished, mutation: Mutation, out: &mut Output) -> u8 {
    document(finished, out);
    summarise(finished, out);
    exit_code(finished, mutation.asked)
}

/// Shows the outcome of a run and of its commit; returns the exit code of the command.
pub(super) fn conclude_with(
    finished: &Finished,
    committed: Option<Committed>,
    mutation: Mutation,
    out: &mut Output,
) -> u8 {
    let Some(commit) = committed else { return conclude(finished, mutation, out) };
    document(&WithCommit { finished, commit: &commit }, out);
    summarise(finished, out);
    commit.tell(out);
    commit.exit_code()
}

/// A run that is done, and its commit.
#[derive(Serialize)]
struct WithCommit<'a> {
    #[serde(flatten)]
    finished: &'a Finished,
    commit: &'a Committed,
}

/// Writes the result of a run, if stdout is for programs.
pub(super) fn document(finished: &impl Serialize, out: &mut Output) {
    match out.mode() {
        Mode::Text => {}
        Mode::Document => out.document(finished),
        Mode::Lines => out.json_line(&json!({"event": "run_finished", "finished": finished})),
    }
}

/// The exit code of the command.
pub(super) fn exit_code(finished: &Finished, asked: Asked) -> u8 {
    match finished.error {
        None if asked.exit_code && finished.files_changed > 0 => WOULD_CHANGE,
        None if asked.fail_on_no_match && finished.outcome == Some(Outcome::NoMatch) => Code::NoMatch.exit_code(),
        _ => finished.exit_code(),
    }
}

/// The error if there is one, the sentence, and the paths that the user may want next.
pub(super) fn summarise(finished: &Finished, out: &mut Output) {
    tell_end(finished, out);
    // The patch of a failed run is incomplete.
    if let (Some(patch), None, false) = (&finished.patch, &finished.error, out.is_json()) {
        out.line(patch);
    }
}

/// The error if there is one, and the sentence.
pub(super) fn tell_end(finished: &Finished, out: &mut Output) {
    if let Some(error) = &finished.error {
        out.explain(error);
        out.prompt(&table::failures(error, MOST_FAILURES));
        if let Some(text) = table::waiting(error) {
            out.prompt(&text);
        }
    }
    for asked in &finished.would_ask {
        let label = &asked.label;
        out.say(&match asked.refused {
            true => format!("Would be refused, since there is no person to ask: {}.", escape(label)),
            false => format!("Would ask: {}.", escape(label)),
        });
    }
    if let Some(sentence) = count_sentence(&finished.commitments) {
        out.say(&sentence);
    }
    for evaluation in finished.evaluations.iter().filter(|evaluation| !evaluation.is_trivial()) {
        out.say(&evaluation.sentence());
    }
    finished.left.file_lines().for_each(|line| out.prompt(&format!("{}\n", escape(&line))));
    tell_withheld(&finished.withheld, out);
    out.say(&format!("{} (run {}, {} ms)", finished.sentence(), finished.run, finished.duration_ms));
}

/// Explains why no command can apply a dry run's patch, and the permission that would allow its additions.
fn tell_withheld(withheld: &[Value], out: &mut Output) {
    const TOLD: usize = 20;
    if withheld.is_empty() {
        return;
    }
    out.tell("The patch adds secrets, and shows marks in their place, so that nothing can apply it:");
    let word = |value: &Value| escape(value.as_str().unwrap_or_default());
    for one in withheld.iter().take(TOLD) {
        let place = match one["line"].as_u64() {
            Some(line) => format!("{}:{line}", word(&one["path"])),
            None => format!("the name of {}", word(&one["path"])),
        };
        let (rule, allow) = (word(&one["rule"]), word(&one["allow"]));
        out.tell(&format!("  {place}: rule `{rule}`; `gates.secrets.allow = [{allow}]` in `nrv.toml` permits it"));
    }
    if let Some(more) = withheld.len().checked_sub(TOLD).filter(|more| *more > 0) {
        out.tell(&format!("  … and {more} more"));
    }
}
