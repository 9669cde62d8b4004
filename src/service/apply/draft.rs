//! The tree while a request is carried out: the files, with the changes of the steps so far.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use super::{ApplyOutcome, Part, Proposed};
use base::{
    change::{Change, ChangeSet, Content},
    error::{Code, Error},
    path::RepoPath,
};
use system::workspace::{Kind, View};

/// A file that a step has read: its content, or none if there is no file.
pub(super) type File = (RepoPath, Option<Content>);

/// The view of a request.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    view: View<'a>,
    slots: BTreeMap<RepoPath, Slot>,
}

/// A file before all steps and now.
#[derive(Debug)]
struct Slot {
    first: Option<Content>,
    now: Option<Content>,
    /// The change as a patch, if its only step knows it.
    part: Option<Part>,
    /// The patch that changed it last, and its content before that patch.
    opened: Option<(usize, Option<Content>)>,
}

impl Slot {
    fn changes(&self) -> bool {
        self.first.as_ref().map(Content::stamp) != self.now.as_ref().map(Content::stamp)
    }
}

impl<'a> Draft<'a> {
    pub(super) fn new(view: View<'a>) -> Self {
        Draft { view, slots: BTreeMap::new() }
    }

    /// A file or a symbolic link after the steps so far; none if there is none.
    pub(super) fn read(&self, path: &RepoPath) -> Result<Option<Content>, Error> {
        if let Some(slot) = self.slots.get(path) {
            return Ok(slot.now.clone());
        }
        match self.view.read_entry(path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error.detail("path", path.as_str())),
        }
    }

    /// A file before a patch; none if no step of that patch has changed it yet.
    pub(super) fn opened(&self, path: &RepoPath, patch: usize) -> Option<&Option<Content>> {
        let (by, content) = self.slots.get(path)?.opened.as_ref()?;
        (*by == patch).then_some(content)
    }

    /// Merges the files that a step has read and those that it has made; it has read every file that it makes. A step of a
    /// patch names the patch.
    pub(super) fn merge(&mut self, seen: Vec<File>, made: Vec<File>, mut part: Option<Part>, patch: Option<usize>) {
        for (path, content) in seen {
            match self.slots.entry(path) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Slot { first: content.clone(), now: content, part: None, opened: None });
                }
                Entry::Occupied(_) => part = None,
            }
        }
        for (path, content) in made {
            if let Some(slot) = self.slots.get_mut(&path) {
                let before = std::mem::replace(&mut slot.now, content);
                slot.part = part.take();
                if let Some(patch) = patch.filter(|patch| slot.opened.as_ref().is_none_or(|(by, _)| by != patch)) {
                    slot.opened = Some((patch, before));
                }
            }
        }
    }

    /// The original contents of the files that change or go.
    pub(super) fn replaced(&self) -> Vec<(RepoPath, Content)> {
        let changed = self.slots.iter().filter(|(_, slot)| slot.changes());
        changed.filter_map(|(path, slot)| Some((path.clone(), slot.first.clone()?))).collect()
    }

    /// True if anything stands at a path.
    pub(super) fn is_taken(&self, path: &RepoPath) -> Result<bool, Error> {
        Ok(self.kind(path)?.is_some())
    }

    fn kind(&self, path: &RepoPath) -> Result<Option<Kind>, Error> {
        let file = |content: Option<&Content>| content.map(|one| if one.is_link() { Kind::Link } else { Kind::File });
        match (self.slots.get(path), self.view.overlay().get(path)) {
            (Some(slot), _) => Ok(file(slot.now.as_ref())),
            (None, Some(content)) => Ok(file(content)),
            (None, None) => Ok(self.view.workspace().stat(path)?.map(|found| found.kind)),
        }
    }

    /// Checks that every new file has a folder: a file can't be a folder too, neither before nor after.
    pub(super) fn check_folders(&self) -> Result<(), Error> {
        let made = self.slots.iter().filter(|(_, slot)| slot.first.is_none() && slot.now.is_some());
        let mut folders = BTreeSet::new();
        for (path, _) in made {
            let mut folder = path.parent();
            while let Some(above) = folder {
                if self.kind(&above)? == Some(Kind::Link) {
                    // As on the disk, no path is followed through it.
                    return Err(Error::new(Code::InvalidPath, format!("`{path}` is or goes through a symbolic link"))
                        .detail("path", path.as_str())
                        .hint("links are not followed; name the file itself"));
                }
                let was_file = self.slots.get(&above).is_some_and(|slot| slot.first.is_some());
                if was_file || self.kind(&above)?.is_some_and(|kind| kind != Kind::Folder) {
                    let message = format!("`{above}` is a file, and `{path}` would be in it");
                    return Err(Error::new(Code::Unwritable, message)
                        .detail("path", above.as_str())
                        .hint("remove the file in a change of its own first, or choose another path"));
                }
                folder = above.parent();
                if !folders.insert(above) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The proposed change of the tree.
    pub(super) fn into_proposed(self, outcomes: Vec<ApplyOutcome>) -> Result<Proposed, Error> {
        let (mut changes, mut before, mut parts, mut sources) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (path, slot) in self.slots {
            let stamp = slot.first.as_ref().map(Content::stamp);
            if stamp == slot.now.as_ref().map(Content::stamp) {
                sources.push((path, stamp));
            } else {
                changes.push(Change { path, before: stamp, after: slot.now });
                before.push(slot.first);
                parts.push(slot.part);
            }
        }
        // They are sorted and unique, so that the change set keeps their order.
        Ok(Proposed { changes: ChangeSet::new(changes)?, before, parts, sources, outcomes })
    }
}
