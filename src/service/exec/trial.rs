//! A trial of the view: tests that a command can change this tree in it, for every owner of files.

use std::collections::BTreeMap;

use super::{Context, owner::Own, prepare};
use base::{call::Run, error::Error, path::protected};
use system::{
    process::sandbox::Confinement,
    workspace::{Kind, Visit},
};

/// The largest number of owners that are tried with a file and a folder.
const OWNERS: usize = 16;

/// Special characters of a glob.
const GLOB: &[char] = &['*', '?', '[', ']', '{', '}', '!', '\\'];

/// Makes a file in each folder, whose name ends with `/`, and opens each file for writing; prints the failures.
const SCRIPT: &str =
    "for path; do case $path in */) path=${path}nrv-trial;; esac; true >> \"$path\" || echo \"$path\"; done";

/// The result of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The number of files and folders that were tried.
    pub tried: usize,
    /// The ones that could not be changed.
    pub refused: Vec<String>,
    /// The system's message about the first.
    pub reason: String,
    /// The confinement of the command.
    pub confinement: Confinement,
}

/// Has a command make and change files of each owner in the tree, as far as this user may, in a disposable view.
pub fn trial(ctx: Context<'_>) -> Result<Trial, Error> {
    let samples = samples(&ctx)?;
    let is_file = |path: &&String| !path.ends_with('/');
    let mut args = vec!["-c".to_owned(), SCRIPT.to_owned(), "sh".to_owned()];
    args.extend(samples.iter().cloned());
    let writes = samples.iter().filter(is_file).cloned().collect();
    let run = Run { program: "/bin/sh".to_owned(), args, writes, ..Run::default() };
    let ended = prepare(Context { discard: true, ..ctx }, &run)?.run(&mut |_| Ok(()))?.ended;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let refused = text(&ended.stdout.head).lines().map(str::to_owned).collect();
    let reason = text(&ended.stderr.head).lines().next().unwrap_or_default().to_owned();
    Ok(Trial { tried: samples.len(), refused, reason, confinement: ended.confinement })
}

/// The root, and a writable file and folder of each owner.
fn samples(ctx: &Context<'_>) -> Result<Vec<String>, Error> {
    let tree = ctx.view.workspace();
    let survey = tree.survey(ctx.threads, |path, kind| match kind {
        _ if protected::write_refusal(path).is_some() || path.contains(GLOB) => Visit::Skip,
        Kind::Folder => Visit::TakeAndEnter,
        Kind::File => Visit::Take,
        Kind::Link | Kind::Other => Visit::Skip,
    })?;
    let own = Own::of_this_process();
    let mut samples: BTreeMap<(bool, (u32, u32)), String> = BTreeMap::new();
    for seen in survey.seen {
        let is_folder = seen.metadata.is_folder();
        let key = (is_folder, seen.metadata.owner);
        if samples.contains_key(&key) || samples.len() == 2 * OWNERS {
            continue;
        }
        let wanted = if is_folder { 3 } else { 6 };
        if own.rights(&tree.root().join(seen.path.as_str()), &seen.metadata) & wanted == wanted {
            let slash = if is_folder { "/" } else { "" };
            samples.insert(key, format!("{}{slash}", seen.path));
        }
    }
    let root = std::iter::once("./".to_owned());
    Ok(root.chain(samples.into_values()).collect())
}
