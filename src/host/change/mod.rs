//! The way from a proposal to a verified change: patch, confirmation, commit, plan.
//!
//! Nothing here starts, resumes or ends a run.

pub(super) mod approve;
pub(super) mod commit;
pub(super) mod confirm;
pub(super) mod confirmations;
pub(super) mod freshness;
pub(super) mod patch;
pub(super) mod plan;
pub(super) mod preview;
pub(super) mod proof;
pub(super) mod rebuild_proposal;
