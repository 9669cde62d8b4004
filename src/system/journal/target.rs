//! The files of a transaction, and its name and attachments.

use base::{
    change::{Change, ChangeSet, Content, Stamp},
    path::RepoPath,
};

/// One file of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The file.
    pub path: &'a RepoPath,
    /// The content that it must have now; none if it must not exist.
    pub before: Option<Stamp>,
    /// The new content; none if it is to be removed.
    pub after: Option<&'a Content>,
}

impl<'a> Target<'a> {
    /// The targets of a change set, in its order.
    pub fn of(changes: &'a ChangeSet) -> Vec<Target<'a>> {
        let target =
            |change: &'a Change| Target { path: &change.path, before: change.before, after: change.after.as_ref() };
        changes.changes().iter().map(target).collect()
    }
}

/// The name of a transaction, and its attachments.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    /// A name that is unique in the run.
    pub name: &'a str,
    /// The position in the run.
    pub position: &'a str,
    /// The change as a unified diff, kept in the pack.
    pub patch: &'a [u8],
    /// True if it undoes other transactions, which recovery needs to know.
    pub undoes: bool,
    /// The number of threads that prepare its files.
    pub threads: usize,
}
