//! The changes of a run that stand, and the locks on their files.

use std::collections::BTreeSet;

use super::transaction::Transacted;
use crate::{Context, change::attempts::Attempts};
use system::lock::Lease;

/// The changes of a run.
pub(crate) struct Ledger<'a> {
    pub(crate) context: &'a Context,
    pub(crate) lease: Option<Lease>,
    /// Those that stand, in their order.
    pub(crate) transactions: Vec<Transacted>,
    /// Those of them that were not verified, and could not be undone.
    pub(crate) unproven: BTreeSet<String>,
    /// The greatest number that a transaction has had.
    pub(crate) transaction_count: u64,
    /// The attempts that are open, and what became of the others.
    pub(crate) attempts: Attempts,
    /// How many files were brought back.
    pub(crate) undone: usize,
    /// How many were, until the run goes on.
    pub(crate) set_aside: usize,
    /// True if the change of the call that is being answered has reached the tree, whatever became of it then.
    pub(crate) reached_tree: bool,
}

impl<'a> Ledger<'a> {
    /// The ledger of a run that begins.
    pub(crate) fn new(context: &'a Context, lease: Option<Lease>) -> Self {
        Ledger {
            context,
            lease,
            transactions: Vec::new(),
            unproven: BTreeSet::new(),
            transaction_count: 0,
            attempts: Attempts::default(),
            undone: 0,
            set_aside: 0,
            reached_tree: false,
        }
    }

    /// Files that the run's standing transactions changed, from this one on.
    pub(crate) fn changed_files(&self, from: usize) -> usize {
        let standing = self.transactions.get(from..).unwrap_or_default();
        let entries = standing.iter().flat_map(|transaction| &transaction.entries);
        entries.map(|entry| &entry.path).collect::<std::collections::BTreeSet<_>>().len()
    }
}
