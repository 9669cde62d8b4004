//! The attempts of a run that are open.

use std::collections::BTreeMap;

use crate::host::{change::draft::Previewed, life::history::Past};
use base::path::RepoPath;
use record::event::AttemptCounts;
use system::workspace::Overlay;

/// The attempts of a run.
#[derive(Debug, Default)]
pub(in crate::host) struct Attempts {
    /// Those that are open, outermost first.
    pub(in crate::host) open: Vec<Attempt>,
    pub(in crate::host) kept: u64,
    pub(in crate::host) undone: u64,
}

/// An attempt that is open.
#[derive(Debug)]
pub(in crate::host) struct Attempt {
    /// Where it was begun.
    pub(in crate::host) position: String,
    /// How many changes of the run stood then.
    pub(in crate::host) from: usize,
    /// In a dry run, what was proposed then.
    pub(in crate::host) before: Option<Proposed>,
}

/// The changes that a dry run proposes.
#[derive(Debug)]
pub(in crate::host) struct Proposed {
    pub(in crate::host) overlay: Overlay,
    pub(in crate::host) files: BTreeMap<RepoPath, Previewed>,
}

impl Attempts {
    /// True as long as one is open.
    pub(in crate::host) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many were kept, and how many undone so far.
    pub(in crate::host) fn tally(&self) -> AttemptCounts {
        AttemptCounts { kept: self.kept, undone: self.undone }
    }

    /// The same of a run that is over: what is open then counts as undone. None if there were no attempts.
    pub(in crate::host) fn final_tally(&self) -> Option<AttemptCounts> {
        let undone = self.undone + self.open.len() as u64;
        (self.kept + undone > 0).then_some(AttemptCounts { kept: self.kept, undone })
    }

    /// Those of the former sessions of a run.
    pub(in crate::host) fn restore(past: &Past) -> Self {
        let (kept, undone) = past.ended_attempts();
        let open = past.open_attempts().into_iter();
        Attempts { kept, undone, open: open.map(|(position, from)| Attempt { position, from, before: None }).collect() }
    }
}
