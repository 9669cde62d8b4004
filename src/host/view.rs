//! The tree as the run sees it.

use super::Context;
use base::{error::Error, path::RepoPath};
use system::workspace::Globs;

impl Context {
    /// The files that match globs and that git does not ignore, sorted by path.
    pub fn list(&self, patterns: &[&str]) -> Result<Vec<RepoPath>, Error> {
        self.workspace.list(&Globs::parse(patterns)?, self.options.threads).map(|listing| listing.paths)
    }
}

impl Context {
    /// The files of a folder, not of those beneath it, whose names end so and that git does not ignore, sorted by path.
    pub fn list_in(&self, folder: &RepoPath, extension: &str) -> Result<Vec<RepoPath>, Error> {
        let pattern = format!("{}/*.{extension}", Globs::literal(folder));
        self.list(&[&pattern])
    }
}
