//! Changes of files, as plain data: proposers return a [`ChangeSet`], the host performs it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    error::{Code, Error},
    hash::Sha256,
    json,
    path::RepoPath,
};

/// The mode of a symbolic link, whose bytes are its target. No other content has bits above `0o7777`.
pub const LINK: u32 = 0o120_777;

/// A file's bytes, permission bits and hash, or a symbolic link. Clones share the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    /// All bytes of the file, or the target of the link.
    pub bytes: Arc<Vec<u8>>,
    /// Permission bits, `0o7777` at most, or [`LINK`].
    pub mode: u32,
    /// The hash of `bytes`.
    pub sha256: Sha256,
}

impl Content {
    /// A file's content; the hash is computed.
    pub fn new(bytes: Vec<u8>, mode: u32) -> Self {
        Content { sha256: Sha256::of(&bytes), bytes: Arc::new(bytes), mode }
    }

    /// A symbolic link; where it may lead is checked when it is made.
    pub fn link(target: Vec<u8>) -> Self {
        Content::new(target, LINK)
    }

    /// True if this is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }

    /// The bytes by themselves.
    pub fn into_bytes(self) -> Vec<u8> {
        Arc::unwrap_or_clone(self.bytes)
    }

    /// Its hash, mode and length, which a record keeps.
    pub fn stamp(&self) -> Stamp {
        Stamp { sha256: self.sha256, mode: self.mode, length: self.bytes.len() as u64 }
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Content({} bytes, {:o}, {})", self.bytes.len(), self.mode, self.sha256.short())
    }
}

/// The identity of a file's content: hash, permission bits, length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// The hash of the bytes.
    pub sha256: Sha256,
    /// Permission bits, `0o7777` at most, or [`LINK`].
    pub mode: u32,
    /// Length in bytes.
    pub length: u64,
}

impl Stamp {
    /// True if this is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }
}

/// One file before and after. Both none is refused by [`ChangeSet::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: RepoPath,
    /// The content at the time of the proposal; none if the file did not exist. Its bytes are on the disk.
    pub before: Option<Stamp>,
    /// Its new content; none if it is to be removed.
    pub after: Option<Content>,
}

/// A change as records keep it, without contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The file.
    pub path: RepoPath,
    /// The content before; null if the file did not exist.
    pub before: Option<Stamp>,
    /// The content after; null if the file is removed.
    pub after: Option<Stamp>,
}

/// Changes of several files, sorted by path, one per file, none of them empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet(Vec<Change>);

impl ChangeSet {
    /// Sorts the changes and drops those that change nothing; two changes of one file are `invalid_input`.
    pub fn new(mut changes: Vec<Change>) -> Result<Self, Error> {
        changes.retain(|change| change.before != change.after.as_ref().map(Content::stamp));
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        if let Some(pair) = changes.windows(2).find(|pair| pair[0].path == pair[1].path) {
            return Err(Error::new(Code::InvalidInput, format!("`{}` is changed twice at once", pair[0].path)));
        }
        Ok(ChangeSet(changes))
    }

    /// The changes in the order of their paths.
    pub fn changes(&self) -> &[Change] {
        &self.0
    }

    /// True if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The changes as records keep them.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.iter().map(Change::entry).collect()
    }

    /// Identifies the change: the hash of paths, pre- and post-images.
    pub fn sha256(&self) -> Result<Sha256, Error> {
        json::sha256(&self.entries())
    }
}

impl Change {
    /// The change as records keep it.
    pub fn entry(&self) -> Entry {
        Entry { path: self.path.clone(), before: self.before, after: self.after.as_ref().map(Content::stamp) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Change {
        let content = |text: &str| Content::new(text.into(), 0o644);
        let before = before.map(|text| content(text).stamp());
        Change { path: RepoPath::parse(path).unwrap(), before, after: after.map(content) }
    }

    #[test]
    fn sets_are_sorted_and_free_of_empty_changes() {
        let set =
            ChangeSet::new(vec![change("b", Some("1"), None), change("c", None, None), change("a", None, Some("2"))]);
        let paths: Vec<_> = set.unwrap().entries().into_iter().map(|entry| entry.path.to_string()).collect();
        assert_eq!(paths, ["a", "b"]);
    }

    #[test]
    fn one_file_can_not_be_changed_twice() {
        assert!(ChangeSet::new(vec![change("a", Some("1"), None), change("a", None, Some("2"))]).is_err());
    }

    #[test]
    fn the_hash_covers_contents_and_modes() {
        let one = ChangeSet::new(vec![change("a", Some("1"), Some("2"))]).unwrap();
        let mut other = one.clone();
        other.0[0].after.as_mut().unwrap().mode = 0o755;
        assert_ne!(one.sha256().unwrap(), other.sha256().unwrap());
    }
}
