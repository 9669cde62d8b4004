//! The files that the policy hides from a client, kept out of what an adapter reads for it.

use serde_json::{Map, Value, json};

use crate::{life::request::Origin, terms::Terms};
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use system::workspace::{Globs, View};

/// Excludes hidden files from the target of an invocation, and refuses parameters that name one.
pub(super) fn exclude(run: &Terms<'_>, view: View<'_>, invocation: &mut Map<String, Value>) -> Result<(), Error> {
    if run.origin != Origin::Client {
        return Ok(());
    }
    if let Some(named) = invocation.get("params").and_then(|params| hidden_in(run, view, params)) {
        return Err(refusal(run, &named));
    }
    let Some(Value::Object(target)) = invocation.get_mut("target") else { return Ok(()) };
    let is_root = matches!(target.get("repo_path").and_then(Value::as_str), Some("." | "./") | None);
    let mut globs = match target.remove("glob") {
        Some(Value::Array(globs)) => globs,
        one => one.into_iter().collect(),
    };
    for hidden in run.policy.hidden() {
        let anywhere = match hidden.contains('/') {
            false => Some(format!("**/{hidden}")),
            true => Some(hidden).filter(|hidden| is_root || hidden.starts_with("**/")),
        };
        globs.extend(anywhere.into_iter().flat_map(|glob| [json!(format!("!{glob}")), json!(format!("!{glob}/**"))]));
    }
    target.insert("glob".to_owned(), Value::Array(globs));
    Ok(())
}

/// Checks that no hidden file is left in the target.
pub(super) fn check(run: &Terms<'_>, view: View<'_>, globs: &Globs) -> Result<(), Error> {
    if run.origin != Origin::Client {
        return Ok(());
    }
    let listed = view.list(globs, run.context.options.threads)?;
    match listed.paths.iter().find(|path| run.policy.read_refusal(path).is_some()) {
        Some(path) => Err(refusal(run, path)),
        None => Ok(()),
    }
}

/// The first text in a value that names a hidden file which is there.
fn hidden_in(run: &Terms<'_>, view: View<'_>, value: &Value) -> Option<RepoPath> {
    match value {
        Value::String(text) => {
            let path = RepoPath::parse(text).ok().filter(|path| run.policy.read_refusal(path).is_some())?;
            view.hash(&path).is_ok().then_some(path)
        }
        Value::Array(items) => items.iter().find_map(|item| hidden_in(run, view, item)),
        Value::Object(members) => members.values().find_map(|item| hidden_in(run, view, item)),
        _ => None,
    }
}

fn refusal(run: &Terms<'_>, path: &RepoPath) -> Error {
    match run.policy.read_refusal(path) {
        Some(refusal) => refusal.into_error(path),
        None => Error::new(Code::PermissionDenied, "the target has a file that the policy hides"),
    }
}
