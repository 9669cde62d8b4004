//! The user's tree in a transaction: its folders, opened beneath the root's handle without following links, and the conditions
//! for replacing a file without loss.

use std::{
    collections::BTreeSet,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{Access, AtFlags, Mode, OFlags},
    io::Errno,
};

use super::{
    faults::Faults,
    place::{Place, place, refused, stale},
};
use crate::workspace::{Kind, Metadata, Workspace};
use base::{
    change::Stamp,
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};

/// The last opened folder: targets come in the order of their paths, so that the next one is mostly in it, too.
pub(super) struct Folders<'a> {
    workspace: &'a Workspace,
    last: Option<(Option<RepoPath>, OwnedFd)>,
    /// True if files may be made and removed there.
    is_writable: bool,
}

impl<'a> Folders<'a> {
    pub(super) fn of(workspace: &'a Workspace) -> Self {
        Folders { workspace, last: None, is_writable: false }
    }

    /// The folder that holds a path; none if there is none.
    pub(super) fn find(&mut self, path: &RepoPath) -> Result<Option<&OwnedFd>, Error> {
        let parent = path.parent();
        if self.last.as_ref().is_none_or(|(known, _)| *known != parent) {
            (self.last, self.is_writable) = (None, false);
            match self.workspace.open_parent(path) {
                Ok(folder) => self.last = Some((parent, folder)),
                Err(error) if error.code() == Code::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.last.as_ref().map(|(_, folder)| folder))
    }

    /// An error unless this user may make and remove files in the folder that holds a path, if there is one.
    pub(super) fn check_writable(&mut self, path: &RepoPath) -> Result<(), Error> {
        // Another folder than the last one has not been checked yet.
        self.find(path)?;
        if !self.is_writable {
            self.find(path)?.map_or(Ok(()), |folder| check_folder(folder, path))?;
            self.is_writable = true;
        }
        Ok(())
    }

    /// The folder that holds a target; `stale_preimage` if somebody moved or removed it.
    pub(super) fn get(&mut self, path: &RepoPath) -> Result<&OwnedFd, Error> {
        self.find(path)?.ok_or_else(|| stale(path, "vanished with its folder"))
    }
}

/// The stamp of the file at a path: enough to tell pre-image, post-image and other files apart.
pub(super) fn stamp(workspace: &Workspace, path: &RepoPath) -> Result<Option<Stamp>, Error> {
    match workspace.stat(path)? {
        None => Ok(None),
        Some(found) if matches!(found.kind, Kind::File | Kind::Link) => workspace.stamp_entry(path).map(Some),
        // It can't be an image of ours: a hash that no content has stands for it.
        Some(found) => {
            Ok(Some(Stamp { sha256: Sha256::of(b"not a regular file"), mode: found.mode, length: u64::MAX }))
        }
    }
}

/// Removes a file; it may be gone already.
pub(super) fn remove(workspace: &Workspace, path: &RepoPath, faults: &dyn Faults) -> Result<(), Error> {
    match Folders::of(workspace).find(path)? {
        Some(folder) => place(folder, path.file_name(), path).remove(faults),
        None => Ok(()),
    }
}

/// The missing folders on the way to a path, outermost first.
pub(super) fn missing_folders(workspace: &Workspace, path: &RepoPath) -> Result<Vec<RepoPath>, Error> {
    let mut missing = Vec::new();
    let mut folder = path.parent();
    while let Some(path) = folder {
        match workspace.stat(&path)? {
            Some(found) if found.kind == Kind::Folder => break,
            Some(found) => {
                return Err(unwritable(&path, &format!("is a {} where a folder is needed", found.kind.noun()))
                    .hint("remove or rename it in a run of its own first"));
            }
            None => {}
        }
        folder = path.parent();
        missing.push(path);
    }
    missing.reverse();
    Ok(missing)
}

/// Makes one folder; it may exist already.
pub(super) fn make_folder(workspace: &Workspace, path: &RepoPath, faults: &dyn Faults) -> Result<(), Error> {
    faults.before("make folder")?;
    let parent = workspace.open_parent(path)?;
    match rustix::fs::mkdirat(&parent, path.file_name(), Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(refused(path, "can't be made", errno)),
    }
}

/// Removes a folder if it is empty; otherwise leaves it.
pub(super) fn remove_empty_folder(workspace: &Workspace, path: &RepoPath, faults: &dyn Faults) -> Result<bool, Error> {
    faults.before("remove folder")?;
    let parent = match workspace.open_parent(path) {
        Ok(parent) => parent,
        Err(error) if error.code() == Code::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match rustix::fs::unlinkat(&parent, path.file_name(), AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(false),
        Err(errno) => Err(refused(path, "can't be removed", errno)),
    }
}

/// Syncs the file systems that hold some paths, and a further one if given.
pub(super) fn sync_around<'p>(
    workspace: &Workspace,
    also: Option<&OwnedFd>,
    paths: impl Iterator<Item = &'p RepoPath>,
    faults: &dyn Faults,
) -> Result<(), Error> {
    let mut synced = BTreeSet::new();
    let mut sync_once = |folder: &OwnedFd| {
        let stat = rustix::fs::fstat(folder).map_err(unsynced)?;
        if synced.insert(stat.st_dev) {
            faults.before("sync")?;
            sync(folder)?;
        }
        Ok::<(), Error>(())
    };
    also.map_or(Ok(()), &mut sync_once)?;
    let mut last = None;
    for path in paths {
        let parent = path.parent();
        if last.as_ref() == Some(&parent) {
            continue;
        }
        match workspace.open_parent(path) {
            Ok(folder) => sync_once(&folder)?,
            // Removed with its last file; its parent's file system is the root's or another path's.
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => return Err(error),
        }
        last = Some(parent);
    }
    if synced.is_empty() { sync(workspace.handle()) } else { Ok(()) }
}

/// Syncs a folder's file system to the disk.
fn sync(folder: impl AsFd) -> Result<(), Error> {
    // A path-only handle can't be synced.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(folder, ".", flags, Mode::empty()).map_err(unsynced)?;
    rustix::fs::syncfs(&open).map_err(unsynced)
}

fn unsynced(errno: Errno) -> Error {
    Error::new(Code::Io, format!("the file system can't be synced: {errno}"))
}

/// Checks that a target may be replaced without loss, and that its metadata are those of the proposal's pre-image.
pub(super) fn check_target(path: &RepoPath, before: Option<&Stamp>, found: Option<&Metadata>) -> Result<(), Error> {
    let stale = |what: &str| Err(stale(path, &format!("{what} since the change was proposed")));
    let refuse = |what: &str, hint: &str| Err(unwritable(path, what).hint(hint));
    match (before, found) {
        (None, None) => Ok(()),
        (None, Some(found)) if found.kind == Kind::Folder => {
            refuse("is a folder, where a file was to be made", "remove or rename the folder in a run of its own first")
        }
        (None, Some(_)) => stale("appeared"),
        (Some(_), None) => stale("vanished"),
        (Some(before), Some(found)) if before.is_link() && found.kind == Kind::File => stale("changed"),
        (Some(before), Some(found)) if found.kind != if before.is_link() { Kind::Link } else { Kind::File } => {
            refuse(&format!("is no regular file but a {}", found.kind.as_str()), "exclude it with `!`")
        }
        (Some(_), Some(found)) if found.links > 1 => {
            refuse("has another name (a hard link), which would keep the old content", "exclude it with `!`")
        }
        (Some(before), Some(_)) if before.is_link() => Ok(()),
        (Some(_), Some(found)) if found.mode & 0o200 == 0 => {
            refuse("is read-only", "make it writable for its owner, or exclude it with `!`")
        }
        (Some(before), Some(found)) if found.length != before.length || found.mode != before.mode => stale("changed"),
        (Some(_), Some(_)) => Ok(()),
    }
}

/// An error unless this user may write the file: the right to replace it is not enough.
pub(super) fn check_access(at: Place<'_>) -> Result<(), Error> {
    may_write(at).map_err(|errno| match errno {
        Errno::ACCESS | Errno::ROFS | Errno::PERM => {
            unwritable(at.path, "belongs to somebody else, and you may not write it")
                .hint("ask its owner for permission, or exclude it with `!`")
        }
        errno => refused(at.path, "can't be written", errno),
    })
}

/// An error unless this user may make and remove files in the folder of a path.
fn check_folder(folder: &OwnedFd, path: &RepoPath) -> Result<(), Error> {
    may_write(place(folder, ".", path)).map_err(|errno| match errno {
        Errno::ACCESS | Errno::ROFS | Errno::PERM => unwritable(path, "can't be written: its folder is read-only")
            .hint("make the folder writable, or exclude it with `!`"),
        errno => refused(path, "can't be replaced", errno),
    })
}

fn may_write(at: Place<'_>) -> Result<(), Errno> {
    let folder = if at.name == "." { Access::EXEC_OK } else { Access::empty() };
    rustix::fs::accessat(at.folder, at.name, Access::WRITE_OK | folder, AtFlags::EACCESS)
}

fn unwritable(path: &RepoPath, what: &str) -> Error {
    Error::new(Code::Unwritable, format!("`{path}` {what}")).detail("path", path.as_str())
}
