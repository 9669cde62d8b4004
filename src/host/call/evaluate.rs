//! `nrv.gate.evaluate_*`: what the gates say of something that nobody does yet.

use serde_json::{Value, json};

use crate::{life::request::Origin, terms::Terms};
use base::{
    call::{Call, Command},
    change::Content,
    diff,
    error::{Code, Error},
    path::{RepoPath, protected},
};
use gate::{Edit, Rules, Subject, Verdict, destructive, secrets};
use system::{policy::Policy, workspace::View};

/// The key of a reply that says if a run may start a command: the policy and the script's header allow it, and the policy is trusted.
pub(crate) const PERMITTED: &str = "permitted";

/// Returns the verdict of the gates on a command, or on the use of a tool, that a script asks about; none for another call.
pub(crate) fn verdict(call: &Call, policy: &Policy, rules: &Rules) -> Option<Verdict> {
    match call {
        Call::GateEvaluateCommand { command: Command::Argv(argv) } => {
            Some(gate::evaluate_command(destructive::Command::Argv(argv), policy, rules))
        }
        Call::GateEvaluateCommand { command: Command::Line(line) } => {
            Some(gate::evaluate_command(destructive::Command::Line(line), policy, rules))
        }
        Call::GateEvaluateToolUse { tool, params } => Some(gate::evaluate_tool_use(tool, params, policy, rules)),
        _ => None,
    }
}

/// Answers what [`verdict`] is about.
pub(crate) fn evaluate(run: &Terms<'_>, call: &Call) -> Result<Value, Error> {
    let none = || Error::new(Code::Internal, format!("`{}` asks the gates nothing", call.name()));
    let mut reply = reply(&verdict(call, &run.policy, &run.rules).ok_or_else(none)?)?;
    if let Call::GateEvaluateCommand { command: Command::Argv(argv) } = call {
        reply[PERMITTED] = json!(run.policy.exec_rule(argv).is_ok() && run.context.check_trust().is_ok());
    }
    Ok(reply)
}

/// The bytes of a file as the maker of a call may see them; none of a hidden one. A verdict that compared with more would confirm guesses.
fn seen(run: &Terms<'_>, view: View<'_>, path: &str) -> Vec<u8> {
    let is_hidden =
        |path: &RepoPath| protected::read_refusal(path).is_some() || run.policy.read_refusal(path).is_some();
    let path = RepoPath::parse(path).ok().filter(|path| !(run.origin.is_kept_from_secrets() && is_hidden(path)));
    let bytes = path.and_then(|path| view.read(&path).ok()).map(Content::into_bytes).unwrap_or_default();
    if run.origin != Origin::Client {
        return bytes;
    }
    String::from_utf8(bytes)
        .map(|text| secrets::redact(&text, run.rules.secrets()).into_owned().into_bytes())
        .unwrap_or_default()
}

/// The file as the run sees it says what is new, and how many lines change; a caller may only say more.
pub(crate) fn evaluate_edit(
    run: &Terms<'_>,
    view: View<'_>,
    path: &str,
    content: &str,
    diff_lines: u64,
) -> Result<Value, Error> {
    let before = seen(run, view, path);
    let counted = diff::count(&before, content.as_bytes()).total();
    let edit = Edit {
        path: path.into(),
        before: before.as_slice().into(),
        after: content.as_bytes().into(),
        diff_lines: counted.max(diff_lines),
    };
    let subject = Subject::Edit { edit: &edit, run_lines_so_far: run.budget.lines() };
    reply(&gate::decide(&subject, &run.policy, &run.rules))
}

fn reply(verdict: &Verdict) -> Result<Value, Error> {
    serde_json::to_value(verdict).map_err(|error| Error::new(Code::Internal, error.to_string()))
}
