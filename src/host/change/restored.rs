//! The files that transactions changed, as they were before: read from the packs and compared with the tree.

use std::collections::BTreeMap;

use super::{patch::Patch, transaction::Transacted};
use crate::Context;
use base::{
    change::{Content, Entry, Stamp},
    diff::{self, Side},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
    text::first_file,
};
use record::RunFolder;
use system::{journal::Target, workspace::parallel_map};

/// The changes of transactions, taken together: the first pre-image and the last post-image of each file.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    items: BTreeMap<RepoPath, Item>,
}

/// Files that are to be brought back, each of which is as the transactions left it. Nothing else is brought back.
#[derive(Debug)]
pub(crate) struct Current {
    restored: Restored,
}

/// The bits of a mode with which a program gets the rights of the file's owner or group.
const SET_ID: u32 = 0o6000;

/// The present state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// As the transactions left it.
    Current,
    /// As it was before them.
    Restored,
    /// Neither.
    Changed,
}

#[derive(Debug)]
struct Item {
    now: Option<Stamp>,
    then: Option<Content>,
}

/// Puts the transactions together, with the pre-images from the packs.
///
/// `record_damaged` if a pre-image is missing or altered; with `lenient` such files are left out.
pub(crate) fn restore_targets(
    folder: &RunFolder,
    transactions: &[Transacted],
    lenient: bool,
) -> Result<Restored, Error> {
    let mut restored = every_target(folder, transactions, lenient)?;
    restored.leave_out_equal();
    Ok(restored)
}

/// Puts the transactions together as [`restore_targets`] does, after a part of them has been taken back by `partial` ones of other runs.
///
/// A file that those left behind counts as left by the transactions, whichever of its states it has now.
pub(crate) fn remaining_targets(
    context: &Context,
    (folder, transactions): (&RunFolder, &[Transacted]),
    partial: &[Transacted],
    lenient: bool,
) -> Result<Restored, Error> {
    let mut restored = every_target(folder, transactions, lenient)?;
    let mut steps: BTreeMap<&RepoPath, Vec<Step>> = BTreeMap::new();
    for entry in partial.iter().flat_map(|transaction| &transaction.entries) {
        steps.entry(&entry.path).or_default().push((entry.before, entry.after));
    }
    for (path, item) in &mut restored.items {
        let Some(steps) = steps.get(path) else { continue };
        let now = match context.workspace.stamp_entry(path) {
            Ok(found) => Some(found),
            Err(error) if error.code() == Code::NotFound => None,
            // Whatever is there is no file that a run left, as the comparison with the tree finds.
            Err(_) => continue,
        };
        if is_reached(item.now, steps, now) {
            item.now = now;
        }
    }
    restored.leave_out_equal();
    Ok(restored)
}

/// The state of a file before a change of it, and after it.
type Step = (Option<Stamp>, Option<Stamp>);

/// True if steps from one state to another lead to a state, in any order.
fn is_reached(from: Option<Stamp>, steps: &[Step], to: Option<Stamp>) -> bool {
    let mut reached = vec![from];
    let mut at = 0;
    while let Some(state) = reached.get(at).copied() {
        for (_, after) in steps.iter().filter(|(before, _)| *before == state) {
            if !reached.contains(after) {
                reached.push(*after);
            }
        }
        at += 1;
    }
    reached.contains(&to)
}

fn every_target(folder: &RunFolder, transactions: &[Transacted], lenient: bool) -> Result<Restored, Error> {
    let mut latest: BTreeMap<&RepoPath, Option<Stamp>> = BTreeMap::new();
    let mut first: BTreeMap<&RepoPath, (&Transacted, usize, &Entry)> = BTreeMap::new();
    for transaction in transactions {
        for (index, entry) in transaction.entries.iter().enumerate() {
            latest.insert(&entry.path, entry.after);
            first.entry(&entry.path).or_insert((transaction, index, entry));
        }
    }
    let mut restored = Restored::default();
    for (path, (transaction, index, entry)) in first {
        let then = match entry.before {
            None => None,
            Some(stamp) => match pre_image(folder, &transaction.transaction, index, &stamp, path) {
                Ok(content) => Some(content),
                Err(_) if lenient => continue,
                Err(error) => return Err(error),
            },
        };
        let now = latest.get(path).copied().flatten();
        restored.items.insert(path.clone(), Item { now, then });
    }
    Ok(restored)
}

pub(crate) fn pre_image(
    folder: &RunFolder,
    name: &str,
    index: usize,
    stamp: &Stamp,
    path: &RepoPath,
) -> Result<Content, Error> {
    let file = format!("packs/{name}/pre/{index}");
    let damaged = |what: &str| {
        Error::new(Code::RecordDamaged, format!("the pre-image of `{path}` {what}"))
            .detail("file", file.as_str())
            .detail("run", folder.id())
    };
    let (bytes, mode) = folder.read_image(&file, stamp.length)?;
    if Sha256::of(&bytes) != stamp.sha256 {
        return Err(damaged("was altered"));
    }
    // The file itself lies in the pack, so that it has the bits. A record from elsewhere can only say so.
    if stamp.mode & SET_ID & !mode != 0 {
        return Err(damaged("has no set-id bits, and the record says that the file had"));
    }
    Ok(Content { bytes: bytes.into(), mode: stamp.mode, sha256: stamp.sha256 })
}

impl Restored {
    /// Files with their stamps on the disk, and the contents that they get. Those that stay as they are are left out.
    pub(crate) fn of(files: BTreeMap<RepoPath, (Option<Stamp>, Option<Content>)>) -> Self {
        let changed = files.into_iter().filter(|(_, (now, then))| *now != then.as_ref().map(Content::stamp));
        Restored { items: changed.map(|(path, (now, then))| (path, Item { now, then })).collect() }
    }

    /// Looks at every file; those that are neither as the transactions left them nor as they were before.
    ///
    /// Files that are what they were before are left out with `leave_out_restored`: nothing is to be done for them.
    pub(crate) fn changed_since(
        &mut self,
        context: &Context,
        leave_out_restored: bool,
    ) -> Result<Vec<RepoPath>, Error> {
        let items: Vec<_> = self.items.iter().collect();
        let states = parallel_map(context.options.threads, &items, |(path, item)| {
            let found = match context.workspace.stamp_entry(path) {
                Ok(found) => Some(found),
                Err(error) if error.code() == Code::NotFound => None,
                // A folder in its place, or a link on the way, is not what the run left either.
                Err(error) if matches!(error.code(), Code::Unreadable | Code::InvalidPath) => return Ok(Now::Changed),
                Err(error) => return Err(error),
            };
            Ok(match () {
                () if leave_out_restored && found == item.then.as_ref().map(Content::stamp) => Now::Restored,
                () if found == item.now => Now::Current,
                () => Now::Changed,
            })
        });
        let states = states.into_iter().collect::<Result<Vec<Now>, Error>>()?;
        let with = |wanted: Now| {
            let hits = items.iter().zip(&states).filter(move |(_, state)| **state == wanted);
            hits.map(|((path, _), _)| (*path).clone()).collect::<Vec<RepoPath>>()
        };
        let (restored, changed) = (with(Now::Restored), with(Now::Changed));
        self.leave_out(&restored);
        Ok(changed)
    }

    /// Leaves out the files that are what they were before.
    fn leave_out_equal(&mut self) {
        self.items.retain(|_, item| item.now != item.then.as_ref().map(Content::stamp));
    }

    fn leave_out(&mut self, paths: &[RepoPath]) {
        for path in paths {
            self.items.remove(path);
        }
    }

    pub(crate) fn paths(&self) -> Vec<RepoPath> {
        self.items.keys().cloned().collect()
    }

    /// The files with their contents before and their states after, sorted by path.
    pub(crate) fn into_changes(self) -> impl Iterator<Item = (RepoPath, Option<Content>, Option<Stamp>)> {
        self.items.into_iter().map(|(path, item)| (path, item.then, item.now))
    }

    /// The files, if all are as the transactions left them; else an error that names the others.
    pub(crate) fn current(mut self, context: &Context) -> Result<Current, Error> {
        undo_refused(&self.changed_since(context, false)?).map_or(Ok(Current { restored: self }), Err)
    }

    /// The files that are as the transactions left them, and those that changed since. Files that are what they were before are
    /// left out.
    pub(crate) fn without_changed(mut self, context: &Context) -> Result<(Current, Vec<RepoPath>), Error> {
        let changed = self.changed_since(context, true)?;
        self.leave_out(&changed);
        Ok((Current { restored: self }, changed))
    }

    /// Returns the changes as a patch from the old contents to the new ones. Files that changed since are left out.
    pub(crate) fn patch(&self, context: &Context) -> Result<Patch, Error> {
        let mut patch = Patch::default();
        for (path, item) in &self.items {
            let now = match item.now {
                Some(_) => Some(context.workspace.read_entry(path)?),
                None => None,
            };
            if now.as_ref().map(Content::stamp) == item.now {
                let (part, stat) =
                    diff::render(path, item.then.as_ref().map(Side::from), now.as_ref().map(Side::from))?;
                patch.push(&part, stat);
            }
        }
        Ok(patch)
    }
}

impl Current {
    pub(crate) fn paths(&self) -> Vec<RepoPath> {
        self.restored.paths()
    }

    /// The targets that bring everything back.
    pub(crate) fn targets(&self) -> Vec<Target<'_>> {
        self.restored
            .items
            .iter()
            .map(|(path, item)| Target { path, before: item.now, after: item.then.as_ref() })
            .collect()
    }
}

/// An error that names the files that are not as the transactions left them; none if all are.
pub(crate) fn undo_refused(changed: &[RepoPath]) -> Option<Error> {
    let named = first_file(changed)?;
    let names: Vec<&str> = changed.iter().map(RepoPath::as_str).collect();
    let message = format!("{named} changed since the run; undoing would lose that");
    Some(Error::new(Code::UndoRefused, message).detail("files", names))
}
