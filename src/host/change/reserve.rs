//! The second step: the budgets of a change are reserved, all or none.

use super::{
    judge::{Judged, Submitted},
    pipeline::Pipeline,
};
use crate::budget::Cost;
use base::{error::Error, span::span};
use gate::Verdict;

/// A change whose files, lines and bytes are reserved. They are given back if it never reaches the tree.
pub struct Reserved<'c> {
    judged: Judged<'c>,
}

impl<'c> Judged<'c> {
    /// Reserves the budgets of the change.
    pub fn reserve(self, pipeline: &mut Pipeline<'_, '_>) -> Result<Reserved<'c>, Error> {
        let _span = span!("reserve").entered();
        let Submitted { changes, patch, .. } = self.submitted();
        let cost = pipeline.run.budget.reserve_change(changes, &patch.stats)?;
        pipeline.turn.reserved = Cost { demand: pipeline.turn.reserved.demand, ..cost };
        Ok(Reserved { judged: self })
    }
}

impl<'c> Reserved<'c> {
    pub(super) fn submitted(&self) -> Submitted<'c> {
        self.judged.submitted()
    }

    pub(super) fn verdict(&self) -> &Verdict {
        self.judged.verdict()
    }
}
