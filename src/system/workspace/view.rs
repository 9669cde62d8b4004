//! The tree as a run sees it: the files on disk, with the proposals of a dry run laid over them.

use std::{
    collections::BTreeMap,
    io::{Cursor, Read},
    sync::atomic::AtomicBool,
};

use super::{Globs, Listing, MAX_READ, Stop, Until, Workspace, is_link, too_large};
use base::{
    change::{ChangeSet, Content, Stamp},
    error::{Code, Error},
    path::RepoPath,
};

/// Proposed contents by path; none for a file that is to be removed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlay(BTreeMap<RepoPath, Option<Content>>);

impl Overlay {
    /// An overlay that covers nothing.
    pub const fn new() -> Self {
        Overlay(BTreeMap::new())
    }

    /// Lays a change set over the present overlay.
    pub fn add(&mut self, changes: &ChangeSet) {
        for change in changes.changes() {
            self.0.insert(change.path.clone(), change.after.clone());
        }
    }

    /// Lays one file's content over the present overlay.
    pub fn insert(&mut self, path: RepoPath, content: Option<Content>) {
        self.0.insert(path, content);
    }

    /// Removes the overlay of a path.
    pub fn remove(&mut self, path: &RepoPath) {
        self.0.remove(path);
    }

    /// The proposals, in the order of the paths.
    pub fn iter(&self) -> impl Iterator<Item = (&RepoPath, Option<&Content>)> {
        self.0.iter().map(|(path, content)| (path, content.as_ref()))
    }

    /// The proposed content of a path; the outer none if it has no proposal.
    pub fn get(&self, path: &RepoPath) -> Option<Option<&Content>> {
        self.0.get(path).map(Option::as_ref)
    }
}

/// A workspace under an overlay.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    workspace: &'a Workspace,
    overlay: &'a Overlay,
    stop: Stop<'a>,
}

impl<'a> View<'a> {
    /// The workspace as it would be with the overlay applied.
    pub fn new(workspace: &'a Workspace, overlay: &'a Overlay) -> Self {
        View { workspace, overlay, stop: None }
    }

    /// The same view, whose reads fail with `cancelled` once `stop` is true.
    #[must_use]
    pub fn until(self, stop: &'a AtomicBool) -> Self {
        View { stop: Some(stop), ..self }
    }

    /// As [`Workspace::list`], with proposed files and without those whose removal is proposed.
    pub fn list(&self, globs: &Globs, threads: usize) -> Result<Listing, Error> {
        let is_file = |content: Option<&Content>| content.is_some_and(|content| !content.is_link());
        Ok(self.overlaid(self.workspace.list_until(globs, threads, self.stop)?, globs, is_file))
    }

    /// As [`Workspace::list_entries`], with proposed entries and without those whose removal is proposed.
    pub fn list_entries(&self, globs: &Globs, threads: usize) -> Result<Listing, Error> {
        Ok(self.overlaid(self.workspace.list_entries_until(globs, threads, self.stop)?, globs, |content| {
            content.is_some()
        }))
    }

    /// A listing with the overlay's entries that are wanted.
    fn overlaid(&self, mut listing: Listing, globs: &Globs, is_wanted: fn(Option<&Content>) -> bool) -> Listing {
        if !self.overlay.0.is_empty() {
            listing.paths.retain(|path| self.overlay.get(path).is_none_or(is_wanted));
            let proposed =
                self.overlay.0.iter().filter(|(path, content)| is_wanted(content.as_ref()) && globs.matches(path));
            listing.paths.extend(proposed.map(|(path, _)| path.clone()));
            listing.paths.sort_unstable();
            listing.paths.dedup();
        }
        listing
    }

    /// As [`Workspace::read`], with proposed contents.
    pub fn read(&self, path: &RepoPath) -> Result<Content, Error> {
        match self.overlay.get(path) {
            Some(_) => self
                .read_entry(path)
                .and_then(|content| if content.is_link() { Err(is_link(path)) } else { Ok(content) }),
            None => self.read_within(path, MAX_READ)?.ok_or_else(|| too_large(path, MAX_READ)),
        }
    }

    /// As [`View::read`]; none if there are more than `most` bytes.
    pub fn read_within(&self, path: &RepoPath, most: u64) -> Result<Option<Content>, Error> {
        match self.overlay.get(path) {
            Some(Some(content)) if content.bytes.len() as u64 > most => Ok(None),
            Some(_) => self.read(path).map(Some),
            None => Ok(self.workspace.read_until(path, most, self.stop)?.map(|(content, _)| content)),
        }
    }

    /// A reader of a file's bytes, for files too large to be held.
    pub fn reader(&self, path: &RepoPath) -> Result<Box<dyn Read + 'a>, Error> {
        match self.overlay.get(path) {
            Some(_) => Ok(Box::new(Cursor::new(self.read(path)?.into_bytes()))),
            None => {
                let (file, _) = self.workspace.open_file(path)?;
                Ok(Box::new(Until { reader: file, stop: self.stop }))
            }
        }
    }

    /// As [`Workspace::read_entry`], with proposed contents.
    pub fn read_entry(&self, path: &RepoPath) -> Result<Content, Error> {
        match self.overlay.get(path) {
            Some(Some(content)) => Ok(content.clone()),
            Some(None) => Err(Error::new(Code::NotFound, format!("`{path}` does not exist"))),
            None => self.workspace.read_entry_until(path, self.stop),
        }
    }

    /// As [`Workspace::read_into`], with proposed contents.
    pub fn read_into(&self, path: &RepoPath, limit: u64, bytes: &mut Vec<u8>) -> Result<Option<Stamp>, Error> {
        match self.overlay.get(path) {
            Some(_) => {
                let content = self.read(path)?;
                bytes.clear();
                bytes.extend_from_slice(&content.bytes);
                Ok((bytes.len() as u64 <= limit).then(|| content.stamp()))
            }
            None => self.workspace.read_into_until(path, limit, bytes, self.stop),
        }
    }

    /// As [`Workspace::hash`], with proposed contents.
    pub fn hash(&self, path: &RepoPath) -> Result<Stamp, Error> {
        match self.overlay.get(path) {
            Some(_) => self.read(path).map(|content| content.stamp()),
            None => self.workspace.hash_until(path, self.stop),
        }
    }

    /// As [`Workspace::stamp_entry`], with proposed contents.
    pub fn stamp_entry(&self, path: &RepoPath) -> Result<Stamp, Error> {
        match self.overlay.get(path) {
            Some(_) => self.read_entry(path).map(|content| content.stamp()),
            None => self.workspace.stamp_entry_until(path, self.stop),
        }
    }

    /// The workspace beneath.
    pub fn workspace(&self) -> &'a Workspace {
        self.workspace
    }

    /// The overlay.
    pub fn overlay(&self) -> &'a Overlay {
        self.overlay
    }
}
