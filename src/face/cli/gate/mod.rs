//! `nrv gate`: verdicts of the gates on commands, tools and edits. Nothing is started, written or recorded.

#[cfg(test)]
mod acts;
mod archive;
mod arguments;
mod disk;
mod edit;
mod hook;
mod place;
pub(super) mod sarif;

use std::io::{BufRead, Read};

use serde_json::{Value, json};

use self::arguments::{CommandArguments, Explained, Gate, ToolArguments};
pub(super) use self::{
    arguments::GateArguments,
    hook::{hook, watched},
};
use super::{Here, output::Output, run::parse_json};
use base::error::{Code, Error};
use gate::{Decision, Rules, Subject, Verdict, destructive, jsonl};
use system::policy::Policy;

/// The basis of verdicts: the policy, tightened on demand, and the rules.
struct Bench<'a> {
    policy: Policy,
    rules: &'a Rules,
}

impl Bench<'_> {
    fn new<'a>(here: &'a Here, arguments: &GateArguments) -> Result<Bench<'a>, Error> {
        let policy = &here.context.policy;
        let policy = if arguments.locked { policy.locked()? } else { policy.clone() };
        Ok(Bench { policy, rules: &here.context.rules })
    }

    fn decide(&self, subject: &Subject<'_>) -> Verdict {
        gate::decide(subject, &self.policy, self.rules)
    }

    fn explain(&self, subject: &Subject<'_>) -> Value {
        let verdict = self.decide(subject);
        json!({"decision": verdict.decision, "rules": gate::explain(subject, &self.policy, self.rules)})
    }
}

pub(super) fn gate(here: &Here, arguments: &GateArguments, out: &mut Output) -> Result<u8, Error> {
    let bench = Bench::new(here, arguments)?;
    match &arguments.command {
        None => answer_lines(here, &bench, out),
        Some(_) if arguments.jsonl => {
            Err(Error::new(Code::Usage, "`--jsonl` takes requests from stdin, not from a subcommand"))
        }
        Some(Gate::Command(command)) => {
            Ok(command_subject(here, command, |subject| conclude(bench.decide(subject), out)))
        }
        Some(Gate::Tool(tool)) => tool_subject(here, tool, |subject| conclude(bench.decide(subject), out)),
        Some(Gate::Edit(edit)) => edit::judge(here, &bench, edit, out),
        Some(Gate::Explain { subject }) => explain(here, &bench, subject, out),
        Some(Gate::Hook { .. }) => Err(Error::new(Code::Internal, "the hook is answered elsewhere")),
    }
}

/// Writes a verdict and returns its exit code.
fn conclude(verdict: Verdict, out: &mut Output) -> u8 {
    out.document(&verdict);
    exit_code(verdict.decision)
}

fn exit_code(decision: Decision) -> u8 {
    match decision {
        Decision::Allow | Decision::Warn => 0,
        Decision::RequireConfirmation | Decision::Block => Code::Blocked.exit_code(),
    }
}

/// Calls `take` with the folder where commands start: the current one if it is in the workspace, else the workspace's root.
fn started<T>(here: &Here, take: impl FnOnce(destructive::Start<'_>) -> T) -> T {
    let root = here.context.workspace.root().to_string_lossy();
    let folder = place::in_workspace(here, &here.place.folder);
    let folder = Some(folder.as_str()).filter(|folder| !folder.is_empty() && !folder.starts_with('/'));
    take(destructive::Start { folder, root: Some(&root), disk: Some(disk::looks()) })
}

fn command_subject<T>(here: &Here, arguments: &CommandArguments, take: impl FnOnce(&Subject<'_>) -> T) -> T {
    let command = match &arguments.line {
        Some(line) => destructive::Command::Line(line),
        None => destructive::Command::Argv(&arguments.argv),
    };
    started(here, |start| take(&Subject::Command { command, start }))
}

fn tool_subject<T>(here: &Here, arguments: &ToolArguments, take: impl FnOnce(&Subject<'_>) -> T) -> Result<T, Error> {
    let params = match &arguments.params {
        Some(file) => parse_json(&here.read_input(file)?, file)?,
        None => Value::Null,
    };
    Ok(started(here, |start| take(&Subject::ToolUse { name: &arguments.name, params: &params, start })))
}

fn explain(here: &Here, bench: &Bench<'_>, subject: &Explained, out: &mut Output) -> Result<u8, Error> {
    let explanation = match subject {
        Explained::Command(command) => command_subject(here, command, |subject| bench.explain(subject)),
        Explained::Tool(tool) => tool_subject(here, tool, |subject| bench.explain(subject))?,
        Explained::Edit(edit) => edit::explained(here, bench, edit)?,
    };
    out.document(&explanation);
    Ok(0)
}

/// Answers requests, one a line, until stdin ends. The client may be in any folder, so commands start in the workspace's root.
fn answer_lines(here: &Here, bench: &Bench<'_>, out: &mut Output) -> Result<u8, Error> {
    let root = here.context.workspace.root().to_string_lossy();
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line.map_err(|error| Error::io("stdin can't be read", &error))?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let start = destructive::Start { folder: None, root: Some(&root), disk: Some(disk::looks()) };
        let id = || serde_json::from_slice::<Value>(&line).ok().and_then(|value| value.get("id").cloned());
        let answer = serde_json::from_slice::<jsonl::Request>(&line)
            .map_err(|error| Error::new(Code::InvalidInput, format!("the line is no request: {error}")))
            .and_then(|request| jsonl::answer_from(start, &request, &bench.policy, bench.rules));
        match answer {
            Ok(answer) => out.json_line(&answer),
            // A client that reads only the decision must not take an error for a permission.
            Err(error) => out.json_line(&json!({"id": id(), "decision": Decision::Block, "error": error})),
        }
    }
    Ok(0)
}

/// The most bytes of stdin that the hook reads: an agent that waits too long for an answer goes on without one.
const MAX_INPUT: u64 = 8 << 20;

fn read_stdin() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_INPUT {
        true => Err(std::io::Error::other("it is longer than 8 MiB")),
        false => Ok(bytes),
    }
}
