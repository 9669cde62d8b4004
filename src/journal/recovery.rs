//! After a crash: undo a transaction without a commit mark, finish one with it.
//!
//! Every step may be repeated, so that recovery may crash as well. Only a process that holds the lease of the run that
//! owned the transaction may call it.

use std::path::Path;

use super::{
    entry::{Files, Intent, distrusted, is_committed, place, read_intent, temporary_prefix},
    tree,
};
use crate::{
    change::Entry,
    error::{Code, Error},
    path::{RepoPath, protected},
    workspace::Workspace,
};

/// What became of an open transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// True if it was committed; false if it was undone.
    pub committed: bool,
    /// True if it undid other transactions: undone itself, their changes stand again.
    pub undoes: bool,
    /// Its files; empty if it had not begun.
    pub entries: Vec<Entry>,
    /// Where in the run it belongs.
    pub position: String,
    /// Files that somebody else changed after they had been replaced: left alone.
    pub foreign: Vec<RepoPath>,
}

/// Recovers one open transaction of a run. Its outcome is to be recorded, then [`super::settle`] is due.
///
/// `record_damaged` if the journal is not to be trusted or a pre-image is not what it was; then it stays open.
pub fn recover(workspace: &Workspace, run_folder: &Path, transaction: &str) -> Result<Recovered, Error> {
    let files = Files::new(run_folder, transaction);
    let Some(intent) = read_intent(&files)? else { return Ok(Recovered::default()) };
    check_intent(workspace, run_folder, transaction, &intent)?;
    let mut recovered = Recovered {
        committed: is_committed(run_folder, transaction),
        undoes: intent.undoes,
        entries: intent.entries.clone(),
        position: intent.position.clone(),
        foreign: Vec::new(),
    };
    if recovered.committed {
        return Ok(recovered);
    }
    let mut failure = None;
    for index in (0..intent.entries.len()).rev() {
        match restore(workspace, &files, &intent, index) {
            // A pre-image that is not needed any more must not stay linked to the user's file.
            Ok(true) => files.forget(index)?,
            Ok(false) => recovered.foreign.push(intent.entries[index].path.clone()),
            // One file that can't be put back must not keep the others from it.
            Err(error) => failure = Some(error),
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    recovered.foreign.sort();
    for folder in intent.folders.iter().rev() {
        tree::remove_empty_folder(workspace, folder)?;
    }
    tree::sync_around(workspace, intent.entries.iter().map(|entry| &entry.path))?;
    Ok(recovered)
}

/// Undoes a transaction that was just committed, as if it had crashed before its mark: its outcome could not be recorded.
///
/// Manifest and patch stay in the pack, since the record may name them already.
pub fn revoke(workspace: &Workspace, run_folder: &Path, transaction: &str) -> Result<Recovered, Error> {
    if read_intent(&Files::new(run_folder, transaction))?.is_none() {
        let message = format!("the transaction `{transaction}` can't be taken back: its intent is gone");
        return Err(Error::new(Code::RecordDamaged, message).hint("its files before the change are in its pack"));
    }
    Files::new(run_folder, transaction).remove_mark()?;
    let recovered = recover(workspace, run_folder, transaction)?;
    super::settle(run_folder, transaction)?;
    Ok(recovered)
}

/// Removes the pack of a transaction that was undone and that no record names. What could not be put back stays.
pub fn discard(run_folder: &Path, transaction: &str, recovered: &Recovered) -> Result<(), Error> {
    if recovered.committed || !recovered.foreign.is_empty() {
        return Ok(());
    }
    Files::new(run_folder, transaction).remove_pack()
}

/// A journal says which files to move where, so that one from elsewhere must not be believed.
fn check_intent(workspace: &Workspace, run_folder: &Path, transaction: &str, intent: &Intent) -> Result<(), Error> {
    let path = Files::new(run_folder, transaction).intent();
    if intent.place != place(workspace, run_folder)? {
        return Err(distrusted(&path, "was not written here: it belongs to another tree"));
    }
    if intent.transaction != transaction || intent.prefix != temporary_prefix(run_folder, transaction) {
        return Err(distrusted(&path, "was altered"));
    }
    let paths = intent.entries.iter().map(|entry| &entry.path).chain(&intent.folders);
    match paths.filter_map(|path| protected::write_refusal(path).map(|_| path)).next() {
        Some(protected) => Err(distrusted(&path, &format!("names `{protected}`, which no run writes"))),
        None => Ok(()),
    }
}

/// Brings one file back to what it was. False if somebody else changed it after it had been replaced.
fn restore(workspace: &Workspace, files: &Files, intent: &Intent, index: usize) -> Result<bool, Error> {
    let entry = &intent.entries[index];
    let temporary = intent.temporary(index);
    let aside = tree::stamp(workspace, &temporary)?;
    let now = tree::stamp(workspace, &entry.path)?;
    if now == entry.before {
        return tree::remove(workspace, &temporary).map(|()| true);
    }
    if now != entry.after {
        // Edited before it was replaced, or after? In the first case nothing of ours is in it.
        let waiting = aside.is_some() && aside == entry.after;
        let untouched =
            waiting || !files.is_staged() || tree::is_kept(workspace, &entry.path, &files.pre_image(index))?;
        tree::remove(workspace, &temporary)?;
        return Ok(untouched);
    }
    // What came out in the exchange lies aside: the pre-image, or what somebody saved in that very moment.
    if aside.is_some() && aside != entry.after && files.is_staged() {
        return match entry.after {
            Some(_) => tree::swap(workspace, &temporary, &entry.path)
                .and_then(|()| tree::remove(workspace, &temporary))
                .map(|()| true),
            None => tree::put_new(workspace, &temporary, &entry.path).map(|()| true),
        };
    }
    tree::remove(workspace, &temporary)?;
    let Some(before) = entry.before else { return tree::remove(workspace, &entry.path).map(|()| true) };
    if !files.holds(index, &before) {
        return Err(Error::new(
            Code::RecordDamaged,
            format!("the pre-image of `{}` is missing or was altered", entry.path),
        )
        .detail("path", entry.path.as_str())
        .detail("pack", files.pre_image(index).display().to_string())
        .hint("bring the file back from elsewhere, such as git, then run `nrv recover` again"));
    }
    let mut missing = Vec::new();
    let mut folder = entry.path.parent();
    while let Some(path) = folder.filter(|path| matches!(workspace.stat(path), Ok(None))) {
        folder = path.parent();
        missing.push(path);
    }
    missing.iter().rev().try_for_each(|path| tree::make_folder(workspace, path))?;
    tree::put_back(workspace, &files.pre_image(index), before.mode, &temporary, &entry.path)?;
    Ok(true)
}
