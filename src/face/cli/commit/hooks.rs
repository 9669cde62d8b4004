//! The hooks of a commit, confined like a command of a run: they see a view of the tree, and may refuse or edit the message.

use super::{super::Here, git::Git};
use base::{
    call::Run,
    error::{Code, Error},
    text::{escape, first_file},
};
use service::exec;

/// Runs a hook without a message.
const PLAIN: &str = r#"export GIT_INDEX_FILE="$1"; exec "$0""#;

/// Runs a hook with a file of the message, and writes the message to stdout.
const WITH_MESSAGE: &str =
    r#"export GIT_INDEX_FILE="$1"; shift; m=$(mktemp) && cat >"$m" && "$0" "$m" "$@" >&2 && cat "$m""#;

/// The time limit of a hook, in milliseconds.
const PATIENCE_MS: u64 = 600_000;

/// Runs the hooks that git runs before a commit; the message as they left it.
pub(super) fn run(here: &Here, git: &Git<'_>, (run, index): (&str, &str), message: &str) -> Result<String, Error> {
    if !git.is_top() {
        return Err(Error::new(Code::InvalidInput, "hooks see the workspace, which is not the top of the repository")
            .hint("run nrv with `--root` at the top of the repository, or leave `--with-hooks` out"));
    }
    hook(here, git, (run, index), ("pre-commit", &[]), None)?;
    let message = match hook(here, git, (run, index), ("prepare-commit-msg", &["message"]), Some(message))? {
        Some(edited) => edited,
        None => message.to_owned(),
    };
    let edited = hook(here, git, (run, index), ("commit-msg", &[]), Some(&message))?;
    let message = edited.unwrap_or(message);
    if message.lines().any(|line| line == format!("{}: {run}", super::TRAILER)) {
        return Ok(message);
    }
    Err(Error::new(Code::CommandFailed, "a hook took the line that names the run out of the message")
        .hint("change the hook, or leave `--with-hooks` out"))
}

/// Runs one hook, if it is there; the message as it left it.
fn hook(
    here: &Here,
    git: &Git<'_>,
    (run, index): (&str, &str),
    (name, args): (&str, &[&str]),
    message: Option<&str>,
) -> Result<Option<String>, Error> {
    let context = &here.context;
    let place = git.place(&format!("hooks/{name}"))?;
    let file = context.workspace.root().join(&place);
    let is_program = file.metadata().is_ok_and(|found| {
        use std::os::unix::fs::PermissionsExt;
        found.is_file() && found.permissions().mode() & 0o111 != 0
    });
    if !is_program {
        return Ok(None);
    }
    let line = if message.is_some() { WITH_MESSAGE } else { PLAIN };
    let words = ["-c", line, &place, index].into_iter().chain(args.iter().copied());
    let command = Run {
        program: "sh".to_owned(),
        args: words.map(str::to_owned).collect(),
        stdin: message.map(str::to_owned),
        timeout_ms: Some(PATIENCE_MS),
        writes: vec!["**".to_owned()],
        ..Run::default()
    };
    let done = confined(here, run, &command).map_err(|error| failed(name, error.message()))?;
    if done.ended.status != Some(0) {
        let streams = [&done.ended.stdout, &done.ended.stderr];
        let last = streams.map(|stream| String::from_utf8_lossy(stream.tail.as_ref().unwrap_or(&stream.head)));
        // Of a message hook stdout is the message.
        let said = if message.is_some() { last[1].to_string() } else { last.concat() };
        let status = done.ended.status.map_or("no status".to_owned(), |status| format!("status {status}"));
        return Err(failed(name, &format!("it ended with {status}: {}", escape(said.trim()))));
    }
    let changed: Vec<_> = done.changes.changes().iter().map(|change| &change.path).collect();
    if let Some(named) = first_file(&changed) {
        return Err(failed(name, &format!("it would change {named}, and a commit holds what the run left")));
    }
    let stdout = &done.ended.stdout;
    if message.is_some() && stdout.tail.is_some() {
        return Err(failed(name, "the message is longer than `exec.output`"));
    }
    Ok(message.map(|_| String::from_utf8_lossy(&stdout.head).into_owned()))
}

/// Runs a command on a view of the tree, in which its changes stay.
fn confined(here: &Here, run: &str, command: &Run) -> Result<exec::Done, Error> {
    let (context, options) = (&here.context, &here.context.options);
    let ctx = exec::Context {
        view: context.view(),
        exec: &context.policy.settings().exec,
        environment: &options.environment,
        supervisor: &options.program,
        run,
        from_workspace: true,
        variables: &[],
        permitted: &[],
        discard: false,
        dry_run: true,
        timeout_ms: PATIENCE_MS,
        threads: options.threads,
        cancel: &options.cancel,
        critical: &options.critical,
        output: None,
    };
    exec::prepare(ctx, command)?.run(&mut |_| Ok(()))
}

fn failed(name: &str, why: &str) -> Error {
    Error::new(Code::CommandFailed, format!("the hook `{name}` does not let the commit be made: {why}")).hint(
        "a hook runs confined, on a view of the tree in which `.git` is read-only; without `--with-hooks` none runs",
    )
}
