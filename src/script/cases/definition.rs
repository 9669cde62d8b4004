//! The definition of a case: its input, expectations, arguments, policy and recorded replies.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Tree, outcome::Outcome};
use crate::{Loaded, Tapes};
use base::{
    error::{Code, Error, nearest},
    path::RepoPath,
};
use host::{Context, Tape};
use system::{
    policy::{Cassettes, Policy},
    workspace::{Globs, Kind, Visit},
};

/// The parts of a case's folder; hidden files and files for readers may stand beside them.
const PARTS: &[&str] = &["args.json", "expected", "input", "llm", "nrv.toml", "outcome.json"];

/// A case as it was read.
#[derive(Debug)]
pub(super) struct Case {
    /// Its folder.
    pub(super) folder: RepoPath,
    pub(super) input: Tree,
    /// The tree that the run has to leave, if the case has one.
    pub(super) expected: Option<Tree>,
    /// The content of `outcome.json`, if there is one.
    pub(super) outcome: Option<Outcome>,
    /// The checked arguments.
    pub(super) args: Value,
    pub(super) tapes: Tapes,
    pub(super) policy: Policy,
    /// The scratch files of commands, which are no part of a tree.
    pub(super) scratch: Option<Globs>,
}

impl Case {
    pub(super) fn read(context: &Context, loaded: &Loaded, folder: RepoPath) -> Result<Self, Error> {
        check_parts(context, &folder)?;
        let policy = match text(context, &folder.child("nrv.toml"))? {
            Some(text) => Policy::parse(&text, &folder.child("nrv.toml"))?,
            None => context.policy.clone(),
        };
        let scratch = &policy.settings().exec.scratch;
        let scratch = if scratch.is_empty() { None } else { Some(Globs::parse(scratch)?) };
        let tree = |name: &str| tree(context, &folder.child(name), scratch.as_ref());
        let args: Option<Value> = json(context, &folder.child("args.json"))?;
        let outcome: Option<Outcome> = json(context, &folder.child("outcome.json"))?;
        if outcome.as_ref().is_some_and(|outcome| outcome.error.is_some() && outcome.result.is_some()) {
            let message = format!("`{}` names an error and a result", folder.child("outcome.json"));
            return Err(
                Error::new(Code::InvalidInput, message).hint("a script that fails has no result: leave one out")
            );
        }
        Ok(Case {
            input: tree("input")?.unwrap_or_default(),
            expected: tree("expected")?,
            outcome,
            args: crate::complete(&loaded.header, &[], args.as_ref())
                .map_err(|error| error.hint(format!("the arguments stand in `{}`", folder.child("args.json"))))?,
            tapes: tapes(context, loaded, &folder)?,
            policy: policy.for_cases()?,
            scratch,
            folder,
        })
    }
}

/// Refuses unknown names in a case's folder: a misspelt part would be left out silently.
fn check_parts(context: &Context, folder: &RepoPath) -> Result<(), Error> {
    let survey = context.workspace.survey_below(std::slice::from_ref(folder), 1, |_, _| Visit::Take)?;
    for seen in survey.seen {
        let name = seen.path.file_name();
        if PARTS.contains(&name) || name.starts_with('.') || name.ends_with(".md") {
            continue;
        }
        let error = Error::new(Code::InvalidInput, format!("`{}` is no part of a case", seen.path));
        return Err(match nearest(name, PARTS.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("a case has `{}`; files `*.md` are for readers", PARTS.join("`, `"))),
        });
    }
    Ok(())
}

/// The files in a folder; none if it does not exist.
fn tree(context: &Context, folder: &RepoPath, scratch: Option<&Globs>) -> Result<Option<Tree>, Error> {
    match context.workspace.stat(folder)? {
        None => Ok(None),
        Some(found) if found.kind == Kind::Folder => Tree::read(&context.workspace, Some(folder), scratch).map(Some),
        Some(found) => {
            let message = format!("`{folder}` is a {}, not a folder", found.kind.noun());
            Err(Error::new(Code::InvalidInput, message).hint("make it a folder with the files of the case"))
        }
    }
}

fn text(context: &Context, path: &RepoPath) -> Result<Option<String>, Error> {
    if context.workspace.stat(path)?.is_none() {
        return Ok(None);
    }
    let bytes = context.workspace.read(path)?.into_bytes();
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| Error::new(Code::InvalidInput, format!("`{path}` is not UTF-8")))
}

fn json<T: DeserializeOwned>(context: &Context, path: &RepoPath) -> Result<Option<T>, Error> {
    let Some(text) = text(context, path)? else { return Ok(None) };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| Error::new(Code::InvalidInput, format!("`{path}` can't be used: {error}")))
}

/// The recorded replies of the case, else those beside the script. No provider is ever asked.
fn tapes(context: &Context, loaded: &Loaded, folder: &RepoPath) -> Result<Tapes, Error> {
    let own = folder.child("llm").to_string();
    for folder in [own, crate::tape_folder(&loaded.main)] {
        let files = crate::read_tape(context, &folder)?;
        if !files.is_empty() {
            return Ok(Tapes::Given(Tape { mode: Cassettes::Replay, folder, files }));
        }
    }
    Ok(Tapes::ReplayOnly)
}
