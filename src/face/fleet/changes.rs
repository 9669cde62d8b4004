//! The files that a run changed, as its record has them, and the patch that has to make the same change.

use std::collections::BTreeMap;

use base::{
    change::{Entry, Stamp},
    diff,
    error::{Code, Error},
    path::RepoPath,
};
use record::{
    RunFolder,
    event::{Event, Kind},
};

/// The files of a run's transactions together, each before the first and after the last one; sorted.
pub(super) fn of(folder: &RunFolder) -> Result<Vec<Entry>, Error> {
    let mut files: BTreeMap<RepoPath, (Option<Stamp>, Option<Stamp>)> = BTreeMap::new();
    let mut known: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for record in folder.records_of(&[Kind::Committed, Kind::Undone, Kind::UndoneAfterCrash, Kind::Revoked])? {
        match record.event {
            Event::Committed(moved) | Event::Undone(moved) | Event::UndoneAfterCrash(moved) => {
                for Entry { path, before, after } in moved.entries.clone() {
                    files.entry(path).or_insert((before, after)).1 = after;
                }
                known.insert(moved.transaction, moved.entries);
            }
            // It was recorded, and taken back.
            Event::Revoked(revoked) => {
                for Entry { path, before, .. } in known.remove(&revoked.transaction).unwrap_or_default() {
                    files.entry(path).or_insert((before, before)).1 = before;
                }
            }
            _ => {}
        }
    }
    let entries = files.into_iter().map(|(path, (before, after))| Entry { path, before, after });
    Ok(entries.filter(|entry| entry.before != entry.after).collect())
}

/// An error if a patch is not that of these files.
pub(super) fn check(patch: &[u8], entries: &[Entry]) -> Result<(), Error> {
    diff::objection(patch, entries).map_or(Ok(()), |why| Err(other(&why)))
}

/// The error of a patch that is not that of its record.
pub(super) fn other(why: &str) -> Error {
    Error::new(Code::RecordDamaged, format!("its patch is not that of its record: {why}"))
        .hint("somebody else writes to the store; work the task again with another store")
}
