//! The files that scripts may not read, as a list that a process of nrv's own can be given.

use super::{Policy, glob::PathSet};
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// Files that are not looked at: those of `paths.read_deny`.
#[derive(Clone, Debug)]
pub struct Hidden(PathSet);

impl Hidden {
    /// Those that such globs cover; a glob without `/` means that name at any depth.
    pub fn new(globs: &[String]) -> Result<Self, Error> {
        PathSet::denied(globs)
            .map(Hidden)
            .map_err(|phrase| Error::new(Code::InvalidPolicy, format!("a glob of `paths.read_deny` {phrase}")))
    }

    /// True if a file is one of them, or lies in one of them.
    pub fn covers(&self, path: &RepoPath) -> bool {
        self.0.covering(path).is_some()
    }
}

impl Policy {
    /// The globs of what scripts may not read; of several policies, those of all.
    pub fn hidden(&self) -> Vec<String> {
        match self.parts.is_empty() {
            true => self.settings.paths.read_deny.clone(),
            false => self.parts.iter().flat_map(Policy::hidden).collect(),
        }
    }
}
