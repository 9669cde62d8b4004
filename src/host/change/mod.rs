//! The one way from a proposal to a verified change, for diffs, commands and adapters: judge, reserve, permit, commit, verify.
//!
//! Each step is a value that only the step before it makes, so that no step can be left out. The way back is [`undo`]. Nothing here
//! starts, resumes or ends a run.

pub(crate) mod approve;
pub(crate) mod approver;
pub(crate) mod attempts;
pub(crate) mod commit;
pub(crate) mod confirm;
pub(crate) mod confirmations;
pub(crate) mod domains;
pub(crate) mod draft;
pub(super) mod freshness;
pub(super) mod judge;
pub(super) mod ledger;
pub(crate) mod patch;
pub(super) mod permit;
pub(crate) mod pipeline;
pub(crate) mod plan;
pub(super) mod preview;
pub(super) mod proof;
pub(super) mod read_back;
pub(super) mod rebuild_proposal;
pub(crate) mod render;
pub(super) mod reserve;
pub(super) mod restored;
pub(crate) mod stored_proposal;
pub(crate) mod subject;
pub(crate) mod transaction;
pub(super) mod undo;
pub(crate) mod verify;

use serde_json::Value;

use self::{
    confirm::Asking,
    judge::{Judged, Submitted},
};
use crate::change::pipeline::{Pipeline, Proof};
use base::error::Error;
use record::{FileRef, Note, event::Event};

/// The outcome of a change that was made, proposed or tried.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The output of its proof.
    pub(crate) output: Value,
    /// True if it is in the tree.
    pub(crate) written: bool,
}

impl<'a> Pipeline<'_, 'a> {
    /// The questions of the call.
    pub(crate) fn asking(&mut self) -> Asking<'_, 'a> {
        let Pipeline { run, recorder, ledger, confirmations, position, sink, .. } = self;
        Asking { run, recorder, ledger, confirmations, position, sink: *sink }
    }

    /// Appends an event of the call to the run's record, with the files of the record that belong to it.
    pub(crate) fn note(&mut self, event: Event, files: Vec<FileRef>) -> Result<(), Error> {
        self.recorder.note(Note::at(self.position.as_str(), event).with_files(files))
    }

    /// Takes a change from its proposal to the tree and verifies it. It stands when this returns, or it was undone; in a dry run it
    /// is proposed.
    pub(crate) fn change(&mut self, submitted: Submitted<'_>, proof: &dyn Proof) -> Result<Changed, Error> {
        let pipeline = self;
        let judged = Judged::of(pipeline, submitted)?;
        if submitted.is_trial {
            return Ok(Changed { output: judged.try_out(pipeline, proof)?.into_output(), written: false });
        }
        let permitted = judged.reserve(pipeline)?.permit(pipeline, proof)?;
        let written = !pipeline.run.flags.dry_run;
        let verified = match written {
            true => permitted.commit(pipeline, proof)?.verify(pipeline, proof)?,
            false => permitted.preview(pipeline, proof)?,
        };
        Ok(Changed { output: verified.into_output(), written })
    }
}
