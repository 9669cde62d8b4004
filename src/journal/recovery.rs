//! After a crash: undo a transaction without a commit mark, finish one with it.
//!
//! Every step may be repeated, so that recovery may crash as well. Only a process that holds the lease of the run that
//! owned the transaction may call it.

use std::path::Path;

use super::{
    entry::{Files, Intent, is_committed, read_intent},
    tree,
};
use crate::{
    change::Entry,
    error::{Code, Error},
    path::RepoPath,
    workspace::Workspace,
};

/// What became of an open transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// True if it was committed: its outcome is to be recorded, then [`super::settle`] is due. False if it was undone.
    pub committed: bool,
    /// Its files; empty if it had not begun.
    pub entries: Vec<Entry>,
    /// Where in the run it belongs.
    pub position: String,
    /// Files that are neither as before nor as after: left alone.
    pub foreign: Vec<RepoPath>,
}

/// Recovers one open transaction of a run.
pub fn recover(workspace: &Workspace, run_folder: &Path, transaction: &str) -> Result<Recovered, Error> {
    let files = Files::new(run_folder, transaction);
    let Some(intent) = read_intent(&files)? else {
        files.remove_pack()?;
        files.remove_entry()?;
        return Ok(Recovered { committed: false, entries: Vec::new(), position: String::new(), foreign: Vec::new() });
    };
    let committed = is_committed(run_folder, transaction);
    let mut recovered = Recovered {
        committed,
        entries: intent.entries.clone(),
        position: intent.position.clone(),
        foreign: Vec::new(),
    };
    if committed {
        return Ok(recovered);
    }
    let mut failure = None;
    for index in (0..intent.entries.len()).rev() {
        match restore(workspace, &files, &intent, index) {
            Ok(true) => {}
            Ok(false) => recovered.foreign.push(intent.entries[index].path.clone()),
            // One file that can't be put back must not keep the others from it.
            Err(error) => failure = Some(error),
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    recovered.foreign.sort();
    for index in 0..intent.entries.len() {
        tree::remove(workspace, &intent.temporary(index))?;
    }
    for folder in intent.folders.iter().rev() {
        tree::remove_empty_folder(workspace, folder)?;
    }
    tree::sync(workspace.handle())?;
    // What could not be put back stays in the pack.
    if recovered.foreign.is_empty() {
        files.remove_pack()?;
    }
    files.remove_entry()?;
    Ok(recovered)
}

/// Brings one file back to what it was. False if somebody else changed it meanwhile.
fn restore(workspace: &Workspace, files: &Files, intent: &Intent, index: usize) -> Result<bool, Error> {
    let entry = &intent.entries[index];
    let now = tree::stamp(workspace, &entry.path)?;
    if now == entry.before {
        return Ok(true);
    }
    if now != entry.after {
        return Ok(false);
    }
    let Some(before) = entry.before else {
        tree::remove(workspace, &entry.path)?;
        return Ok(true);
    };
    if !files.holds(index, &before) {
        return Err(Error::new(
            Code::RecordDamaged,
            format!("the pre-image of `{}` is missing or was altered", entry.path),
        )
        .detail("path", entry.path.as_str())
        .detail("pack", files.pre_image(index).display().to_string()));
    }
    let mut missing = Vec::new();
    let mut folder = entry.path.parent();
    while let Some(path) = folder.filter(|path| matches!(workspace.stat(path), Ok(None))) {
        folder = path.parent();
        missing.push(path);
    }
    missing.iter().rev().try_for_each(|path| tree::make_folder(workspace, path))?;
    tree::put_back(workspace, &files.pre_image(index), before.mode, &intent.temporary(index), &entry.path)?;
    Ok(true)
}
