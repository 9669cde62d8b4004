//! The call that is being answered: what it reserved, and what the run keeps of it.

use super::{ahead::Ahead, budget::Cost, call::mcp_session::Servers, reply};
use base::{
    call::Call,
    error::{Code, Error},
    json,
};
use system::policy::Policy;

/// The call that is being answered, and the last one that was.
#[derive(Default)]
pub(super) struct Turn {
    /// The amount that the call has reserved of the budgets.
    pub(super) reserved: Cost,
    /// Bytes of calls that are kept until the run ends.
    held: u64,
    /// The work of nodes that was done before their turn.
    pub(super) ahead: Ahead,
    /// True if the last call was not answered, since the run waits for something.
    pub(super) waits: bool,
    /// The servers of tools that calls have started.
    pub(super) servers: Servers,
}

impl Turn {
    /// Counts what a run keeps of a call until its end: all of it together is no more than what one call may send.
    pub(super) fn hold(&mut self, policy: &Policy, call: &Call) -> Result<(), Error> {
        if !matches!(
            call,
            Call::CommitAdd { .. } | Call::GateConfirm { .. } | Call::RunMetric { .. } | Call::DagBegin { .. }
        ) {
            return Ok(());
        }
        let most = policy.settings().script.limits.reply_bytes;
        let held = self.held.saturating_add(json::weight(&reply::as_value(call)?));
        if held > most {
            let message =
                format!("commitments, confirmations, metrics and graphs of the run have {held} bytes, not {most}");
            return Err(Error::new(Code::InvalidInput, message)
                .detail("limit", "script.limits.reply_bytes")
                .hint("make fewer of them, or shorter ones"));
        }
        self.held = held;
        Ok(())
    }
}
