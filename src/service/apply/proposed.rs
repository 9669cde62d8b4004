//! The result of an application.

use std::collections::BTreeSet;

use super::{ApplyOutcome, ApplyStatus};
use base::{
    change::{ChangeSet, Content, Stamp},
    diff::Stat,
    path::RepoPath,
};

/// A file's part of a patch, with its size.
pub type Part = (Vec<u8>, Stat);

/// The result of an application before it is written.
#[derive(Debug)]
pub struct Proposed {
    /// The change of all steps together.
    pub changes: ChangeSet,
    /// The pre-images of the changes, in their order.
    pub before: Vec<Option<Content>>,
    /// The changes as parts of a patch, in their order, where these are known already.
    pub parts: Vec<Option<Part>>,
    /// Files that were read and stay as they are, but influence others.
    pub sources: Vec<(RepoPath, Option<Stamp>)>,
    /// The outcome of each step, in their order. Nothing counts as written yet.
    pub outcomes: Vec<ApplyOutcome>,
}

impl Proposed {
    /// Marks the outcomes of the steps that a written change carries out.
    pub fn mark_written(&mut self) {
        let written: BTreeSet<&RepoPath> = self.changes.changes().iter().map(|change| &change.path).collect();
        for outcome in &mut self.outcomes {
            let paths = [Some(&outcome.path), outcome.from.as_ref()];
            let touched = paths.into_iter().flatten().any(|path| written.contains(path));
            outcome.written = touched && outcome.status == ApplyStatus::Applied;
        }
    }
}
