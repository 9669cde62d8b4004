//! A transaction of a run, by its name and files.

use serde::{Deserialize, Serialize};

use base::change::Entry;

/// The names of transactions.
pub(crate) fn names(transactions: &[Transacted]) -> Vec<String> {
    transactions.iter().map(|one| one.transaction.clone()).collect()
}

/// A transaction of the run, as far as undoing it needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transacted {
    /// The transaction's name.
    pub(crate) transaction: String,
    /// Its files.
    pub(crate) entries: Vec<Entry>,
}

impl From<&record::event::Transaction> for Transacted {
    fn from(recorded: &record::event::Transaction) -> Self {
        Transacted { transaction: recorded.transaction.clone(), entries: recorded.entries.clone() }
    }
}
