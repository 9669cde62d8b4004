//! A call whose change is on its way, and the parts in which kinds of changes differ.

use serde_json::Value;

use crate::{
    Position, Sink,
    change::{confirmations::Confirmations, draft::Draft, ledger::Ledger, subject::Subject},
    recorder::Recorder,
    tally::Tally,
    terms::Terms,
    turn::Turn,
};
use base::error::Error;

/// A call whose change is on its way.
pub struct Pipeline<'p, 'a> {
    pub(crate) run: &'p Terms<'a>,
    pub(crate) recorder: &'p mut Recorder<'a>,
    pub(crate) ledger: &'p mut Ledger<'a>,
    pub(crate) draft: &'p mut Draft<'a>,
    pub(crate) confirmations: &'p mut Confirmations,
    pub(crate) turn: &'p mut Turn,
    pub(crate) tally: &'p mut Tally,
    pub(crate) position: &'p Position,
    pub(crate) sink: &'p mut dyn Sink,
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

    /// True if that reply holds texts of files, which never stand in the events.
    fn replies_with_contents(&self) -> bool {
        false
    }

    /// True if a change of no file is verified as well.
    fn verifies_empty(&self) -> bool;

    /// Verifies a change that is tried and written by nobody.
    fn try_out(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error>;

    /// Verifies a change that a dry run proposes.
    fn preview(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error>;

    /// Verifies a change that is in the tree. The transaction is none if nothing was to be written.
    fn verify(&self, pipeline: &mut Pipeline<'_, '_>, transaction: Option<&str>) -> Result<Value, Error>;
}
