//! Transactions over the user's tree: all or nothing, at any instant. The only writer of the tree.
//!
//! The steps are `intent`, `prepare`, a sync, `commit`, a sync, and the commit mark. `prepare` hashes pre-images and stages
//! post-images in the pack. `commit` exchanges each target with its successor, which leaves the pre-image in the pack. The
//! caller appends the outcome to the run's record and then calls [`Journal::settle`]. [`Journal::recover`] undoes a transaction
//! that crashed before its commit mark, and finishes one that crashed after it.

mod attributes;
mod case;
mod entry;
mod faults;
mod folder;
mod place;
mod probe;
mod recovery;
mod set_id;
mod set_up;
mod space;
mod target;
#[cfg(test)]
mod tests;
mod transaction;
mod tree;

use std::{path::Path, sync::atomic::AtomicBool};

pub use case::check as check_case;
pub use entry::{Manifest, is_committed, open_transactions, place, sweep};
pub use faults::{Faults, NoFaults};
pub use probe::{FileSystem, probe, try_writing};
pub use recovery::Recovered;
pub use set_id::{Cleared, clear_set_id};
pub use set_up::{set_up, take_back};
pub use target::{Target, Transaction};
pub use transaction::{BeforeCommit, preflight};

use crate::workspace::Workspace;
use base::{error::Error, path::RepoPath};

/// Makes a folder outside of the tree's contents, with its parents. No transaction removes it.
pub fn make_scratch(workspace: &Workspace, path: &RepoPath) -> Result<(), Error> {
    let above: Vec<RepoPath> = std::iter::successors(Some(path.clone()), RepoPath::parent).collect();
    above.iter().rev().try_for_each(|folder| tree::make_folder(workspace, folder, &NoFaults))
}

/// The transactions of one run.
#[derive(Clone, Copy)]
pub struct Journal<'a> {
    workspace: &'a Workspace,
    run_folder: &'a Path,
    faults: &'a dyn Faults,
    /// True as soon as no more files are to be prepared.
    stop: Option<&'a AtomicBool>,
}

impl<'a> Journal<'a> {
    /// The journal of a run in a workspace; the name of the run's folder is the run's id.
    pub fn new(workspace: &'a Workspace, run_folder: &'a Path) -> Self {
        Journal { workspace, run_folder, faults: &NoFaults, stop: None }
    }

    /// The same journal, whose transactions stop with `cancelled` during preparation once the flag is true. Transactions that
    /// undo others continue.
    #[must_use]
    pub fn with_stop(self, stop: &'a AtomicBool) -> Self {
        Journal { stop: Some(stop), ..self }
    }

    /// The same journal, with injected faults.
    #[must_use]
    pub fn with_faults(self, faults: &'a dyn Faults) -> Self {
        Journal { faults, ..self }
    }

    /// Ends a committed transaction, after its outcome is in the run's record and synced.
    pub fn settle(&self, transaction: &str) -> Result<(), Error> {
        self.files(transaction).remove_entry()
    }

    fn files<'b>(&self, transaction: &'b str) -> entry::Files<'b>
    where
        'a: 'b,
    {
        entry::Files::new(self.run_folder, transaction, self.faults)
    }
}
