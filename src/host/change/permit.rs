//! The third step: whatever has to be confirmed of a change is confirmed.

use super::{
    confirm::Leave,
    judge::Submitted,
    pipeline::{Pipeline, Proof},
    reserve::Reserved,
};
use base::{error::Error, span::span};

/// A change that may be made, with the confirmations under which it is made.
pub struct Permitted<'c> {
    reserved: Reserved<'c>,
    leave: Leave,
}

impl<'c> Reserved<'c> {
    /// Asks what gates want confirmed, then what the change itself has to ask, or whoever is there.
    pub fn permit(self, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) -> Result<Permitted<'c>, Error> {
        let _span = span!("permit").entered();
        let Submitted { changes, patch, .. } = self.submitted();
        let mut asking = pipeline.asking();
        let mut leave = Leave::default();
        asking.permit_gates(self.verdict(), changes, patch, &mut leave)?;
        match proof.question()? {
            Some(question) => asking.permit(question, &mut leave)?,
            // What gates ask shows the change, too.
            None if leave.is_empty() => asking.permit_write(changes, patch, &mut leave)?,
            None => {}
        }
        Ok(Permitted { reserved: self, leave })
    }
}

impl<'c> Permitted<'c> {
    /// The change and its confirmations, for the step that follows.
    pub(super) fn into_parts(self) -> (Submitted<'c>, Leave) {
        (self.reserved.submitted(), self.leave)
    }
}
