//! The proposals of a dry run, laid over the tree. Later steps see them, and together they are the run's patch.

use super::{
    judge::{Judged, Submitted},
    permit::Permitted,
    pipeline::{Pipeline, Proof},
    verify::Verified,
};
use base::{error::Error, span::span};

impl Judged<'_> {
    /// Tries a change that nobody writes: its budgets are looked at, and nothing is reserved or asked.
    pub fn try_out(self, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) -> Result<Verified, Error> {
        let _span = span!("try").entered();
        let Submitted { changes, patch, .. } = self.submitted();
        pipeline.run.budget.check_change(changes, &patch.stats)?;
        proof.try_out(pipeline).map(Verified::preview)
    }
}

impl Permitted<'_> {
    /// Makes a change in a dry run: later steps see it, and nothing is written.
    pub fn preview(self, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) -> Result<Verified, Error> {
        let _span = span!("preview").entered();
        let (Submitted { changes, patch, .. }, _) = self.into_parts();
        pipeline.draft.check_targets(changes)?;
        let output = proof.preview(pipeline)?;
        pipeline.draft.preview(changes, patch);
        Ok(Verified::preview(output))
    }
}
