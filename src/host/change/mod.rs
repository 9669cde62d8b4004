//! The one way from a proposal to a verified change, for diffs, commands and adapters: judge, reserve, permit, commit, verify.
//!
//! Each step is a value that only the step before it makes, so that no step can be left out. The way back is [`undo`]. Nothing here
//! starts, resumes or ends a run.

pub(super) mod approve;
pub(super) mod commit;
pub(super) mod confirm;
pub(super) mod confirmations;
pub(super) mod freshness;
pub(super) mod judge;
pub(super) mod ledger;
pub(super) mod patch;
pub(super) mod permit;
pub(super) mod plan;
pub(super) mod preview;
pub(super) mod proof;
pub(super) mod read_back;
pub(super) mod rebuild_proposal;
pub(super) mod reserve;
pub(super) mod restored;
pub(super) mod undo;
pub(super) mod verify;

use serde_json::Value;

use self::{
    confirm::{Asking, Subject},
    confirmations::Confirmations,
    judge::{Judged, Submitted},
    ledger::Ledger,
    preview::Draft,
};
use super::{Position, Sink, recorder::Recorder, tally::Tally, terms::Terms, turn::Turn};
use crate::base::error::Error;

/// A call whose change is on its way.
pub struct Pipeline<'p, 'a> {
    pub(in crate::host) run: &'p Terms<'a>,
    pub(in crate::host) recorder: &'p mut Recorder<'a>,
    pub(in crate::host) ledger: &'p mut Ledger<'a>,
    pub(in crate::host) draft: &'p mut Draft<'a>,
    pub(in crate::host) confirmations: &'p mut Confirmations,
    pub(in crate::host) turn: &'p mut Turn,
    pub(in crate::host) tally: &'p mut Tally,
    pub(in crate::host) position: &'p Position,
    pub(in crate::host) sink: &'p mut dyn Sink,
}

/// The parts of the pipeline in which kinds of changes differ: the question, the lock and the verification.
pub trait Proof {
    /// The question that is asked beside those of the gates; none if the call itself is the decision.
    fn question(&self) -> Result<Option<Subject>, Error>;

    /// Locks the files, and checks that everything that the change was made from is as it was. `waited` is true if a person was
    /// asked, with no lock held meanwhile.
    fn prepare(&self, pipeline: &mut Pipeline<'_, '_>, waited: bool) -> Result<(), Error>;

    /// The reply of the call if the change stands, which is recorded before the change: a run that dies is answered with it.
    fn reply(&self) -> Option<&Value>;

    /// True if a change of no file is verified as well.
    fn verifies_empty(&self) -> bool;

    /// Verifies a change that is tried and written by nobody.
    fn try_out(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error>;

    /// Verifies a change that a dry run proposes.
    fn preview(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error>;

    /// Verifies a change that is in the tree. The transaction is none if nothing was to be written.
    fn verify(&self, pipeline: &mut Pipeline<'_, '_>, transaction: Option<&str>) -> Result<Value, Error>;
}

/// The outcome of a change that was made, proposed or tried.
#[derive(Debug)]
pub(in crate::host) struct Changed {
    /// The output of its proof.
    pub(in crate::host) output: Value,
    /// True if it is in the tree.
    pub(in crate::host) written: bool,
}

impl<'a> Pipeline<'_, 'a> {
    /// The questions of the call.
    pub(in crate::host) fn asking(&mut self) -> Asking<'_, 'a> {
        let Pipeline { run, recorder, ledger, confirmations, position, sink, .. } = self;
        Asking { run, recorder, ledger, confirmations, position, sink: *sink }
    }

    /// Takes a change from its proposal to the tree and verifies it. It stands when this returns, or it was undone; in a dry run it
    /// is proposed.
    pub(in crate::host) fn change(&mut self, submitted: Submitted<'_>, proof: &dyn Proof) -> Result<Changed, Error> {
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
