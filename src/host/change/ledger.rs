//! The changes of a run that stand, and the locks on their files.

use std::collections::BTreeSet;

use super::transaction::Transacted;
use crate::host::{Context, change::attempts::Attempts};
use system::lock::Lease;

/// The changes of a run.
pub(in crate::host) struct Ledger<'a> {
    pub(in crate::host) context: &'a Context,
    pub(in crate::host) lease: Option<Lease>,
    /// Those that stand, in their order.
    pub(in crate::host) transactions: Vec<Transacted>,
    /// Those of them that were not verified, and could not be undone.
    pub(in crate::host) unproven: BTreeSet<String>,
    /// The greatest number that a transaction has had.
    pub(in crate::host) transaction_count: u64,
    /// The attempts that are open, and what became of the others.
    pub(in crate::host) attempts: Attempts,
    /// How many files were brought back.
    pub(in crate::host) undone: usize,
    /// How many were, until the run goes on.
    pub(in crate::host) set_aside: usize,
    /// True if the change of the call that is being answered has reached the tree, whatever became of it then.
    pub(in crate::host) reached_tree: bool,
}

impl<'a> Ledger<'a> {
    /// The ledger of a run that begins.
    pub(in crate::host) fn new(context: &'a Context, lease: Option<Lease>) -> Self {
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
    pub(in crate::host) fn changed_files(&self, from: usize) -> usize {
        let standing = self.transactions.get(from..).unwrap_or_default();
        let entries = standing.iter().flat_map(|transaction| &transaction.entries);
        entries.map(|entry| &entry.path).collect::<std::collections::BTreeSet<_>>().len()
    }
}
