//! A transaction of a run, by its name and files.

use serde::{Deserialize, Serialize};

use base::change::Entry;

/// The names of transactions.
pub(in crate::host) fn names(transactions: &[Transacted]) -> Vec<String> {
    transactions.iter().map(|one| one.transaction.clone()).collect()
}

/// A transaction of the run, as far as undoing it needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::host) struct Transacted {
    /// The transaction's name.
    pub(in crate::host) transaction: String,
    /// Its files.
    pub(in crate::host) entries: Vec<Entry>,
}

impl From<&record::event::Transaction> for Transacted {
    fn from(recorded: &record::event::Transaction) -> Self {
        Transacted { transaction: recorded.transaction.clone(), entries: recorded.entries.clone() }
    }
}
