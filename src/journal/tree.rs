//! The few operations on the user's tree, each beneath the root's handle with no link on the way.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};

use crate::{
    change::{Content, Stamp},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
    workspace::{Kind, Metadata, Workspace},
};

/// What stands at a path: enough to tell pre-image, post-image and neither apart.
pub(super) fn stamp(workspace: &Workspace, path: &RepoPath) -> Result<Option<Stamp>, Error> {
    match workspace.stat(path)? {
        None => Ok(None),
        Some(found) if found.kind == Kind::File => workspace.read(path).map(|content| Some(content.stamp())),
        // Something that can't be an image of ours: a hash that no content has stands for it.
        Some(found) => {
            Ok(Some(Stamp { sha256: Sha256::of(b"not a regular file"), mode: found.mode, length: u64::MAX }))
        }
    }
}

/// Links a file into the pack; copies it where a link can't be made. True if it is a link.
pub(super) fn keep(workspace: &Workspace, path: &RepoPath, pack: &OwnedFd, name: &str) -> Result<bool, Error> {
    let folder = workspace.open_parent(path)?;
    match rustix::fs::linkat(&folder, path.file_name(), pack, name, AtFlags::empty()) {
        Ok(()) => return Ok(true),
        Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::NOTSUP) => {}
        Err(errno) => return Err(refused(path, "can't be kept", errno)),
    }
    let content = workspace.read(path)?;
    write_new(pack, name, &content, path).map(|()| false)
}

/// The hash of a file in the pack.
pub(super) fn hash_kept(pack: &OwnedFd, name: &str, path: &RepoPath) -> Result<Sha256, Error> {
    let file = rustix::fs::openat(pack, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| refused(path, "can't be read from the pack", errno))?;
    let (hash, _) = Sha256::of_reader(File::from(file))
        .map_err(|error| Error::io(format!("`{path}` can't be read from the pack"), &error))?;
    Ok(hash)
}

/// Writes a temporary file beside its target; something of that name already is an error. Errors name the target.
pub(super) fn stage(
    workspace: &Workspace,
    temporary: &RepoPath,
    target: &RepoPath,
    content: &Content,
) -> Result<(), Error> {
    let folder = workspace.open_parent(temporary)?;
    write_new(&folder, temporary.file_name(), content, target)
}

fn write_new(folder: &OwnedFd, name: &str, content: &Content, path: &RepoPath) -> Result<(), Error> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(content.mode);
    let fd = rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600))
        .map_err(|errno| refused(path, "can't be written", errno))?;
    // The process's umask must not decide over the mode.
    rustix::fs::fchmod(&fd, mode).map_err(|errno| refused(path, "can't be given its mode", errno))?;
    File::from(fd).write_all(&content.bytes).map_err(|error| Error::io(format!("`{path}` can't be written"), &error))
}

/// Gives a staged file the owner of the file that it is to replace, as far as this user may.
pub(super) fn adopt_owner(workspace: &Workspace, from: &RepoPath, to: &RepoPath) -> Result<(), Error> {
    let folder = workspace.open_parent(from)?;
    let stat = |path: &RepoPath| rustix::fs::statat(&folder, path.file_name(), AtFlags::SYMLINK_NOFOLLOW);
    let (Ok(old), Ok(new)) = (stat(from), stat(to)) else { return Ok(()) };
    if (old.st_uid, old.st_gid) == (new.st_uid, new.st_gid) {
        return Ok(());
    }
    let uid = rustix::fs::Uid::from_raw(old.st_uid);
    let gid = rustix::fs::Gid::from_raw(old.st_gid);
    match rustix::fs::chownat(&folder, to.file_name(), Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW) {
        // A user who may write the folder may replace another's file, which then is theirs.
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(errno) => Err(refused(to, "can't be given its owner", errno)),
    }
}

/// Puts a staged file in the place of its target; `new` refuses to replace anything.
pub(super) fn put(workspace: &Workspace, from: &RepoPath, to: &RepoPath, new: bool) -> Result<(), Error> {
    let folder = workspace.open_parent(to)?;
    let flags = if new { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
    match rustix::fs::renameat_with(&folder, from.file_name(), &folder, to.file_name(), flags) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => {
            Err(Error::new(Code::StalePreimage, format!("`{to}` appeared since the change was proposed")))
        }
        Err(errno) => Err(refused(to, "can't be replaced", errno)),
    }
}

/// Moves a file from the pack back to its place. Falls back to a copy across file systems.
pub(super) fn put_back(
    workspace: &Workspace,
    kept: &Path,
    mode: u32,
    temporary: &RepoPath,
    to: &RepoPath,
) -> Result<(), Error> {
    let folder = workspace.open_parent(to)?;
    match rustix::fs::renameat(rustix::fs::CWD, kept, &folder, to.file_name()) {
        Ok(()) => return Ok(()),
        Err(Errno::XDEV) => {}
        Err(errno) => return Err(refused(to, "can't be put back", errno)),
    }
    let fd = rustix::fs::open(kept, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| refused(to, "can't be read from the pack", errno))?;
    let mut bytes = Vec::new();
    File::from(fd)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io(format!("`{to}` can't be read from the pack"), &error))?;
    remove(workspace, temporary)?;
    stage(workspace, temporary, to, &Content::new(bytes, mode))?;
    put(workspace, temporary, to, false)
}

/// Removes a file; it may be gone already.
pub(super) fn remove(workspace: &Workspace, path: &RepoPath) -> Result<(), Error> {
    let folder = match workspace.open_parent(path) {
        Ok(folder) => folder,
        Err(error) if error.code() == Code::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match rustix::fs::unlinkat(&folder, path.file_name(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(refused(path, "can't be removed", errno)),
    }
}

/// Makes one folder; it may be there already.
pub(super) fn make_folder(workspace: &Workspace, path: &RepoPath) -> Result<(), Error> {
    let parent = workspace.open_parent(path)?;
    match rustix::fs::mkdirat(&parent, path.file_name(), Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(refused(path, "can't be made", errno)),
    }
}

/// Removes a folder if it is empty; otherwise leaves it.
pub(super) fn remove_empty_folder(workspace: &Workspace, path: &RepoPath) -> Result<bool, Error> {
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

/// Waits until everything on a folder's file system is on the disk.
pub(super) fn sync(folder: impl AsFd) -> Result<(), Error> {
    let failed = |errno: Errno| Error::new(Code::Io, format!("the file system can't be synced: {errno}"));
    // A path-only handle can't be synced.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(folder, ".", flags, Mode::empty()).map_err(failed)?;
    rustix::fs::syncfs(&open).map_err(failed)
}

/// Checks that a target may be replaced without losing anything, and that it is what the change was proposed against
/// as far as can be told without reading it.
pub(super) fn check_target(path: &RepoPath, before: Option<&Stamp>, found: Option<&Metadata>) -> Result<(), Error> {
    let stale = |what: &str| {
        Err(Error::new(Code::StalePreimage, format!("`{path}` {what} since the change was proposed"))
            .detail("path", path.as_str())
            .hint("propose again"))
    };
    let unwritable = |what: &str, hint: &str| {
        Err(Error::new(Code::Unwritable, format!("`{path}` {what}")).detail("path", path.as_str()).hint(hint))
    };
    match (before, found) {
        (None, None) => Ok(()),
        (None, Some(_)) => stale("appeared"),
        (Some(_), None) => stale("vanished"),
        (Some(_), Some(found)) if found.kind != Kind::File => unwritable("is no regular file", "exclude it with `!`"),
        (Some(_), Some(found)) if found.links > 1 => {
            unwritable("has another name (a hard link), which would keep the old content", "exclude it with `!`")
        }
        (Some(_), Some(found)) if found.mode & 0o200 == 0 => {
            unwritable("is read-only", "make it writable for its owner, or exclude it with `!`")
        }
        (Some(before), Some(found)) if found.length != before.length || found.mode != before.mode => stale("changed"),
        (Some(_), Some(_)) => Ok(()),
    }
}

fn refused(path: &RepoPath, what: &str, errno: Errno) -> Error {
    Error::new(Code::Io, format!("`{path}` {what}: {errno}")).detail("path", path.as_str())
}
