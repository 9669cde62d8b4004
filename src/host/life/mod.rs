//! The life of a run: start, finish, suspension, resumption, recovery, rollback, retention.
//!
//! Nothing here answers a call of a script.

pub(crate) mod agents;
pub(crate) mod ask_trust;
pub(crate) mod attempts;
pub(crate) mod client;
pub(crate) mod finish;
pub(crate) mod finished;
pub(super) mod git_status;
pub(super) mod history;
pub(super) mod in_flight;
pub(super) mod init;
pub(crate) mod left;
pub(crate) mod outcome;
pub(crate) mod pre_images;
pub(crate) mod probe;
pub(crate) mod recover;
pub(crate) mod recovery;
pub(crate) mod request;
pub(crate) mod resume;
pub(super) mod retention;
pub(crate) mod rollback;
pub(crate) mod rollback_position;
pub(super) mod run_json;
pub(crate) mod session;
pub(super) mod stale_reads;
pub(super) mod standing;
pub(crate) mod start;
pub(super) mod statistics;
pub(crate) mod suggest;
pub(crate) mod trust;
pub(crate) mod waiting;
