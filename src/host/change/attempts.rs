//! The attempts of a run that are open.

use std::collections::BTreeMap;

use crate::{change::draft::Previewed, life::history::Past};
use base::path::RepoPath;
use record::event::AttemptCounts;
use system::workspace::Overlay;

/// The attempts of a run.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// Those that are open, outermost first.
    pub(crate) open: Vec<Attempt>,
    pub(crate) kept: u64,
    pub(crate) undone: u64,
}

/// An attempt that is open.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Where it was begun.
    pub(crate) position: String,
    /// How many changes of the run stood then.
    pub(crate) from: usize,
    /// In a dry run, what was proposed then.
    pub(crate) before: Option<Proposed>,
}

/// The changes that a dry run proposes.
#[derive(Debug)]
pub(crate) struct Proposed {
    pub(crate) overlay: Overlay,
    pub(crate) files: BTreeMap<RepoPath, Previewed>,
}

impl Attempts {
    /// True as long as one is open.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many were kept, and how many undone so far.
    pub(crate) fn tally(&self) -> AttemptCounts {
        AttemptCounts { kept: self.kept, undone: self.undone }
    }

    /// The same of a run that is over: what is open then counts as undone. None if there were no attempts.
    pub(crate) fn final_tally(&self) -> Option<AttemptCounts> {
        let undone = self.undone + self.open.len() as u64;
        (self.kept + undone > 0).then_some(AttemptCounts { kept: self.kept, undone })
    }

    /// Those of the former sessions of a run.
    pub(crate) fn restore(past: &Past) -> Self {
        let (kept, undone) = past.ended_attempts();
        let open = past.open_attempts().into_iter();
        Attempts { kept, undone, open: open.map(|(position, from)| Attempt { position, from, before: None }).collect() }
    }
}
