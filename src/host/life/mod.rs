//! The life of a run: start, finish, suspension, resumption, recovery, rollback, retention.
//!
//! Nothing here answers a call of a script.

pub(super) mod agents;
pub(crate) mod ask_trust;
pub(crate) mod attempts;
pub(super) mod client;
pub(super) mod finish;
pub(crate) mod finished;
pub(super) mod git_status;
pub(super) mod history;
pub(super) mod in_flight;
pub(super) mod init;
pub(super) mod outcome;
pub(crate) mod pre_images;
pub(super) mod probe;
pub(super) mod recover;
pub(crate) mod recovery;
pub(crate) mod request;
pub(super) mod resume;
pub(super) mod retention;
pub(super) mod rollback;
pub(super) mod rollback_position;
pub(super) mod run_json;
pub(super) mod session;
pub(super) mod stale_reads;
pub(super) mod standing;
pub(super) mod start;
pub(super) mod statistics;
pub(super) mod suggest;
pub(super) mod trust;
pub(super) mod waiting;
