//! The tree as the run sees it.

use super::{Context, Host};
use crate::{
    error::{Code, Error},
    path::{RepoPath, protected},
    workspace::{Globs, View},
};

impl Context {
    /// The files that match globs and that git does not ignore, sorted by path.
    pub fn list(&self, patterns: &[&str]) -> Result<Vec<RepoPath>, Error> {
        self.workspace.list(&Globs::parse(patterns)?, self.options.threads).map(|listing| listing.paths)
    }
}

impl Host<'_> {
    /// The tree, in a dry run with what it proposes laid over it.
    pub(super) fn view(&self) -> View<'_> {
        View::new(&self.context.workspace, &self.overlay)
    }

    /// Globs that a script wrote. One that aims at a protected folder is refused: nothing found would look like nothing
    /// there.
    pub(super) fn globs(&self, globs: Globs) -> Result<Globs, Error> {
        for prefix in globs.prefixes().iter().filter(|prefix| !prefix.is_empty()) {
            let path = RepoPath::parse(prefix)?;
            if let Some(reason) = protected::read_refusal(&path) {
                return Err(Error::new(
                    Code::ProtectedPath,
                    format!("the glob aims at `{path}`, which is protected: {reason}"),
                )
                .detail("path", path.as_str()));
            }
        }
        Ok(globs)
    }

    /// Checks that a script may read a path.
    pub(super) fn readable(&self, text: &str) -> Result<RepoPath, Error> {
        let path = RepoPath::parse(text)?;
        if let Some(reason) = protected::read_refusal(&path) {
            return Err(Error::new(Code::ProtectedPath, format!("`{path}` can't be read by a script: {reason}"))
                .detail("path", path.as_str()));
        }
        self.policy.may_read(&path)?;
        Ok(path)
    }
}
