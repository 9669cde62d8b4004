//! The workflows of a workspace: every script with a header, in any folder.

use serde::Serialize;

use crate::{
    approval::{self, Lock, Standing},
    header,
    load::summary,
    run::{load_script, origin, read_source},
    session::Worker,
    shipped,
};
use base::{
    error::{Code, Error, nearest},
    frame::Inspection,
    path::RepoPath,
};
use host::Context;

/// The globs of scripts, without definitions for editors and the inputs of test cases.
const SCRIPTS: &[&str] = &["**/*.rhai", "!**/*.d.rhai", "!**/*.test/**"];

/// The extension of scripts.
const ENDING: &str = ".rhai";

/// A workflow, or a file that may be one and can't be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// The script.
    pub path: RepoPath,
    /// The name in its header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The first line of its documentation, else of its header's description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The state of its approval; none if nothing is approved in this workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Standing>,
    /// The error that keeps it from running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

/// The workflows in the order of their paths: files `*.rhai` that git does not ignore and that have a header.
///
/// A script without a header can be run too, but so can a module that others import; neither is listed. A file that
/// can't be read or parsed is listed with its error. Imports are not followed. Nothing runs.
pub fn list(context: &Context) -> Result<Vec<Listed>, Error> {
    listed_all(context, context.list(SCRIPTS)?)
}

/// The workflows that are shipped with the program, in the order of their names `std:NAME`. Nothing runs.
pub fn list_shipped(context: &Context) -> Result<Vec<Listed>, Error> {
    listed_all(context, shipped::workflows()?)
}

fn listed_all(context: &Context, paths: Vec<RepoPath>) -> Result<Vec<Listed>, Error> {
    let lock = approval::text(context)?.map(|text| Lock::parse(&text)).transpose()?;
    let mut worker = None;
    let mut all = Vec::new();
    for path in paths {
        let listed = listed(context, &mut worker, path)?;
        all.extend(listed.map(|listed| Listed {
            approval:
                lock.as_ref().filter(|_| listed.error.is_none()).map(|lock| standing(context, lock, &listed.path)),
            ..listed
        }));
    }
    Ok(all)
}

/// The scripts below a folder, or without one in the whole workspace, sorted by path.
pub fn scripts_below(context: &Context, folder: Option<&RepoPath>) -> Result<Vec<RepoPath>, Error> {
    let below = folder.map_or_else(String::new, |folder| format!("{folder}/"));
    let all = context.list(SCRIPTS)?;
    Ok(all.into_iter().filter(|path| path.as_str().starts_with(&below)).collect())
}

/// The error of a missing script, with a suggestion: one of that name elsewhere, or one of a similar name.
pub(super) fn meant(context: &Context, path: &RepoPath, error: Error) -> Error {
    let is_there = || !matches!(context.workspace.stat(path), Ok(None));
    if error.code() != Code::NotFound || error.hint_text().is_some() || is_there() {
        return error;
    }
    let Ok(all) = context.list(SCRIPTS) else { return error };
    let name = if path.ends_with(ENDING) { path.to_string() } else { format!("{path}{ENDING}") };
    let is_it =
        |known: &&str| known.strip_suffix(&name).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'));
    let names = || all.iter().map(RepoPath::as_str);
    let bare = name.rsplit('/').next().and_then(|file| file.strip_suffix(ENDING)).unwrap_or_default();
    let std_name = format!("std:{bare}");
    if names().find(is_it).is_none() && shipped::workflow(&std_name).is_some() {
        return error.hint(format!("`{std_name}` is shipped with nrv: `nrv run {std_name}` runs it"));
    }
    match names().find(is_it).or_else(|| nearest(&name, names())) {
        Some(known) => error.hint(format!("did you mean `{known}`?")),
        None => error.hint("`nrv scripts` lists the scripts of the workspace"),
    }
}

/// The state of the approval of a script with its imports.
fn standing(context: &Context, lock: &Lock, path: &RepoPath) -> Standing {
    if !lock.scripts.contains_key(path.as_str()) {
        return Standing::Unapproved;
    }
    match load_script(context, path) {
        Ok(loaded) => Standing::of(lock, &loaded),
        Err(rejected) => Standing::Changed(rejected.errors.iter().map(ToString::to_string).collect()),
    }
}

fn listed(context: &Context, worker: &mut Option<Worker>, path: RepoPath) -> Result<Option<Listed>, Error> {
    let stop = || context.cancelled();
    let mut living = match worker.take() {
        Some(living) => living,
        None => Worker::start(origin(context), &context.policy.settings().script.limits, &stop)?,
    };
    let inspected = read_source(context, &path).map(|source| living.inspect(path.as_str(), &source, true, &stop));
    let inspection = match inspected {
        Ok(Ok(inspection)) => {
            *worker = Some(living);
            inspection
        }
        // A worker that a source has killed is not used again.
        Ok(Err(error)) => match context.cancelled() {
            Some(reason) => return Err(reason),
            None => Inspection { errors: vec![error], ..Inspection::default() },
        },
        Err(error) => {
            *worker = Some(living);
            Inspection { errors: vec![error], ..Inspection::default() }
        }
    };
    let parsed = inspection.header.as_ref().map(header::parse).transpose();
    let (header, wrong) = match parsed {
        Ok(header) => (header, None),
        Err(error) => (None, Some(error)),
    };
    let error = inspection.errors.into_iter().next().or(wrong);
    if header.is_none() && error.is_none() {
        return Ok(None);
    }
    let header = header.unwrap_or_default();
    let summary = summary(inspection.doc.as_ref(), &header);
    Ok(Some(Listed { path, name: header.name, summary, approval: None, error }))
}
