//! Transactions over the user's tree: all or nothing, at any instant. The only writer of the tree.
//!
//! `intent` → `pre-images` (hard links into the pack, or copies; hashed) → `stage` (temporary files beside the targets) →
//! one sync → `commit` (re-checked, renamed, synced, commit mark). The caller appends the outcome to the run's record and
//! then calls [`settle`]. A crash before the commit mark is undone by [`recover`], one after it is finished.

mod attributes;
mod entry;
mod probe;
mod recovery;
mod set_up;
#[cfg(test)]
mod tests;
mod transaction;
mod tree;

pub use entry::{Manifest, is_committed, open_transactions, settle, sweep};
pub use probe::{FileSystem, probe, try_writing};
pub use recovery::{Recovered, discard, recover, revoke};
pub use set_up::set_up;
pub use transaction::{Guards, Target, Transaction, apply, preflight};
