//! The workspace that a server serves, and how.

use std::sync::{Arc, atomic::AtomicBool};

use base::{
    error::{Code, Error},
    path::RepoPath,
};
use host::{Context, Flags};

/// The largest message that is read, in bytes.
pub(super) const MESSAGE: usize = 4 << 20;

/// Opens the workspace under the policy of now.
pub type Open = Arc<dyn Fn() -> Result<Context, Error> + Send + Sync>;

/// The workspace that a server serves, and how.
#[derive(Clone)]
pub struct Setup {
    /// Opens the workspace under the policy of now.
    pub open: Open,
    /// The flags of all runs.
    pub flags: Flags,
    /// The scripts that may be run; every approved one if none is named.
    pub scripts: Vec<RepoPath>,
    /// Becomes true when the user wants everything to stop.
    pub cancel: Arc<AtomicBool>,
}

/// The error of a server that can't go on.
pub(super) fn failed(what: &str, error: &impl std::fmt::Display) -> Error {
    Error::new(Code::Io, format!("{what}: {error}"))
}
