//! The patch of a change: pre-images from the tree, post-images from the change, rendered by several threads.

use std::ops::Range;

use super::Host;
use crate::{
    change::{Change, Content},
    diff::{self, Side, Stat},
    error::{Code, Error},
    workspace::{View, parallel_map},
};

/// A patch, and what each file has in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Patch {
    /// All of it.
    pub(super) bytes: Vec<u8>,
    /// The size of every file's change, in the order of paths.
    pub(super) stats: Vec<Stat>,
    parts: Vec<Range<usize>>,
}

impl Patch {
    /// Appends one file's part.
    pub(super) fn push(&mut self, part: &[u8], stat: Stat) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(part);
        self.parts.push(start..self.bytes.len());
        self.stats.push(stat);
    }

    /// The parts with their sizes, in the order of paths.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&[u8], &Stat)> {
        self.parts.iter().map(|range| &self.bytes[range.clone()]).zip(&self.stats)
    }
}

impl Host<'_> {
    /// Renders changes against a tree; `stale_preimage` if a file there is no longer what it was.
    pub(super) fn render(&self, view: View<'_>, changes: &[Change]) -> Result<Patch, Error> {
        let parts = parallel_map(self.context.options.threads, changes, |change| {
            self.context.check_cancelled()?;
            render(view, change)
        });
        let mut patch = Patch::default();
        for part in parts {
            let (part, stat) = part?;
            patch.push(&part, stat);
        }
        Ok(patch)
    }
}

/// One file's part of a patch, with its size.
pub(super) fn render(view: View<'_>, change: &Change) -> Result<(Vec<u8>, Stat), Error> {
    let path = &change.path;
    let before = change.before.map(|_| view.read_entry(path)).transpose()?;
    if before.as_ref().map(Content::stamp) != change.before {
        let message = format!("`{path}` changed while the change was proposed");
        return Err(Error::new(Code::StalePreimage, message).detail("path", path.as_str()).hint("run it again"));
    }
    diff::render(path, before.as_ref().map(Side::from), change.after.as_ref().map(Side::from))
}
