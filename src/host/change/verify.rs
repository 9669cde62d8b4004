//! The last step: what was written is verified, or undone.

use serde_json::Value;
use tracing::field::Empty;

use super::{
    commit::Committed,
    pipeline::{Pipeline, Proof},
};
use base::{error::Error, span::span};

/// A change that stands and was verified; in a dry run, one that would.
pub struct Verified {
    output: Value,
}

impl Committed {
    /// Verifies the change. Whatever fails once it was made, it does not stay unverified: it is undone with all that came after it.
    pub fn verify(self, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) -> Result<Verified, Error> {
        let span = span!("verify", error = Empty).entered();
        match proof.verify(pipeline, self.transaction()) {
            Ok(output) => Ok(Verified { output }),
            Err(error) => Err({
                span.record("error", error.code().as_str());
                let Pipeline { ledger, recorder, .. } = pipeline;
                ledger.undo_unverified(recorder, self.first(), error)
            }),
        }
    }
}

impl Verified {
    /// Creates the result of a dry run whose proof has passed.
    pub(super) fn preview(output: Value) -> Self {
        Verified { output }
    }

    /// The output of the proof.
    pub fn into_output(self) -> Value {
        self.output
    }
}
