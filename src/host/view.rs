//! The tree as the run sees it.

use super::Host;
use crate::{
    error::{Code, Error},
    path::{RepoPath, protected},
    workspace::View,
};

impl Host<'_> {
    /// The tree, in a dry run with what it proposes laid over it.
    pub(super) fn view(&self) -> View<'_> {
        View::new(&self.context.workspace, &self.overlay)
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
