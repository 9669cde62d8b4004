//! The few operations on the user's tree, each beneath the root's handle with no link on the way.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::File,
    io::Write,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{Access, AtFlags, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};

use super::attributes;
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
        Some(found) if matches!(found.kind, Kind::File | Kind::Link) => {
            workspace.read_entry(path).map(|content| Some(content.stamp()))
        }
        // Something that can't be an image of ours: a hash that no content has stands for it.
        Some(found) => {
            Ok(Some(Stamp { sha256: Sha256::of(b"not a regular file"), mode: found.mode, length: u64::MAX }))
        }
    }
}

/// What is seen of a file from outside; two looks that are equal mean that nobody touched it in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    identity: (u64, u64),
    length: i64,
    modified: (i64, u64),
    /// When the file or its attributes changed; linking and renaming change it too.
    changed: (i64, u64),
}

impl Look {
    fn of(stat: &Stat) -> Self {
        Look {
            identity: (stat.st_dev, stat.st_ino),
            length: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// True if it is the same file with the same bytes, as far as can be seen; it may have been renamed.
    fn is_same_file(&self, other: &Look) -> bool {
        (self.identity, self.length, self.modified) == (other.identity, other.length, other.modified)
    }
}

/// Looks at a path beneath the root.
pub(super) fn look(workspace: &Workspace, path: &RepoPath) -> Result<Option<Look>, Error> {
    let folder = match workspace.open_parent(path) {
        Ok(folder) => folder,
        Err(error) if error.code() == Code::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    look_in(&folder, path)
}

/// The folder that holds a target; `stale_preimage` if somebody moved or removed it.
fn folder_of(workspace: &Workspace, path: &RepoPath) -> Result<OwnedFd, Error> {
    workspace.open_parent(path).map_err(|error| match error.code() {
        Code::NotFound => stale(path, "vanished with its folder"),
        _ => error,
    })
}

/// As [`look`], in the folder that holds the path.
fn look_in(folder: &OwnedFd, path: &RepoPath) -> Result<Option<Look>, Error> {
    match rustix::fs::statat(folder, path.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Look::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(refused(path, "can't be looked at", errno)),
    }
}

/// A pre-image in the pack.
pub(super) struct Kept {
    /// The file in the pack; none for a symbolic link, which is never opened.
    pub(super) file: Option<File>,
    /// The hash of its bytes.
    pub(super) sha256: Sha256,
    /// The target when it was hashed, to be recognised just before it is replaced.
    pub(super) look: Look,
    /// How many names the pack gave it.
    pub(super) own_links: u64,
}

/// Links a file into the pack, or copies it where a link can't be made, and hashes what is there now.
///
/// `stale_preimage` if somebody replaced or wrote the file meanwhile.
pub(super) fn keep(workspace: &Workspace, path: &RepoPath, pack: &OwnedFd, name: &str) -> Result<Kept, Error> {
    let stale = || stale(path, "changed while it was kept");
    let folder = folder_of(workspace, path)?;
    let before = look_in(&folder, path)?.ok_or_else(stale)?;
    let (look, own_links) = match rustix::fs::linkat(&folder, path.file_name(), pack, name, AtFlags::empty()) {
        Ok(()) => {
            let look = look_in(&folder, path)?.ok_or_else(stale)?;
            // An editor may have put another file in place since.
            let kept = rustix::fs::statat(pack, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|errno| refused(path, "can't be kept", errno))?;
            if Look::of(&kept) != look {
                return Err(stale());
            }
            (look, 1)
        }
        Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::NOTSUP) => {
            copy((&folder, path.file_name()), (pack, name), None, path)?;
            (before, 0)
        }
        Err(errno) => return Err(refused(path, "can't be kept", errno)),
    };
    let (file, sha256) = match link_at(pack, name, path)? {
        Some(target) => (None, Sha256::of(&target)),
        None => {
            let file = open_kept(pack, name, path)?;
            let (sha256, _) = Sha256::of_reader(&file)
                .map_err(|error| Error::io(format!("`{path}` can't be read from the pack"), &error))?;
            (Some(file), sha256)
        }
    };
    if look_in(&folder, path)? != Some(look) {
        return Err(stale());
    }
    Ok(Kept { file, sha256, look, own_links })
}

/// The target of a symbolic link; none if the file is none.
fn link_at(folder: &OwnedFd, name: &str, path: &RepoPath) -> Result<Option<Vec<u8>>, Error> {
    match rustix::fs::readlinkat(folder, name, Vec::new()) {
        Ok(target) => Ok(Some(target.into_bytes())),
        Err(Errno::INVAL) => Ok(None),
        Err(errno) => Err(refused(path, "can't be read", errno)),
    }
}

/// Copies a file or symbolic link with what belongs to it; the mode is the original's unless it is given.
fn copy(from: (&OwnedFd, &str), to: (&OwnedFd, &str), mode: Option<u32>, path: &RepoPath) -> Result<(), Error> {
    if let Some(target) = link_at(from.0, from.1, path)? {
        return make_link(to.0, to.1, &target, path);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let original = rustix::fs::openat(from.0, from.1, flags, Mode::empty())
        .map(File::from)
        .map_err(|errno| refused(path, "can't be read", errno))?;
    let copy = create(to.0, to.1, path)?;
    std::io::copy(&mut &original, &mut &copy)
        .map_err(|error| Error::io(format!("`{path}` can't be copied"), &error))?;
    let stat = rustix::fs::fstat(&original).map_err(|errno| refused(path, "can't be kept", errno))?;
    attributes::imitate(&original, &copy, mode.unwrap_or(stat.st_mode & 0o7777), path)
}

fn make_link(folder: &OwnedFd, name: &str, target: &[u8], path: &RepoPath) -> Result<(), Error> {
    rustix::fs::symlinkat(target, folder, name).map_err(|errno| refused(path, "can't be written", errno))
}

fn open_kept(pack: &OwnedFd, name: &str, path: &RepoPath) -> Result<File, Error> {
    rustix::fs::openat(pack, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        .map(File::from)
        .map_err(|errno| refused(path, "can't be read from the pack", errno))
}

/// Writes a temporary file or link beside its target, a file like the one that it is to replace if there is one. Something of that name
/// already is an error. Errors name the target.
pub(super) fn stage(
    workspace: &Workspace,
    temporary: &RepoPath,
    target: &RepoPath,
    (content, like): (&Content, Option<&File>),
) -> Result<(), Error> {
    let folder = folder_of(workspace, target)?;
    if content.is_link() {
        return make_link(&folder, temporary.file_name(), &content.bytes, target);
    }
    let mut file = create(&folder, temporary.file_name(), target)?;
    file.write_all(&content.bytes).map_err(|error| Error::io(format!("`{target}` can't be written"), &error))?;
    match like {
        Some(like) => attributes::imitate(like, &file, content.mode, target),
        None => attributes::set_mode(&file, content.mode, target),
    }
}

fn create(folder: &OwnedFd, name: &str, path: &RepoPath) -> Result<File, Error> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600))
        .map(File::from)
        .map_err(|errno| refused(path, "can't be written", errno))
}

/// Puts a staged file where nothing is.
pub(super) fn put_new(workspace: &Workspace, from: &RepoPath, to: &RepoPath) -> Result<(), Error> {
    let folder = folder_of(workspace, to)?;
    match rustix::fs::renameat_with(&folder, from.file_name(), &folder, to.file_name(), RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(stale(to, "appeared")),
        Err(errno) => Err(refused(to, "can't be written", errno)),
    }
}

/// Puts a staged file in the place of its target, and takes it back if it was not the target that came out.
///
/// The two files change places, so that whoever saved in the last moment is noticed and loses nothing. What came out has
/// the temporary name then and is the caller's to remove.
pub(super) fn replace(workspace: &Workspace, from: &RepoPath, to: &RepoPath, expected: &Look) -> Result<(), Error> {
    let folder = folder_of(workspace, to)?;
    if look_in(&folder, to)?.as_ref() != Some(expected) {
        return Err(stale(to, "changed just before the commit"));
    }
    let exchange =
        || rustix::fs::renameat_with(&folder, from.file_name(), &folder, to.file_name(), RenameFlags::EXCHANGE);
    match exchange() {
        Ok(()) => {}
        // Some file systems can't; there the look has to do.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            return rustix::fs::renameat(&folder, from.file_name(), &folder, to.file_name())
                .map_err(|errno| refused(to, "can't be replaced", errno));
        }
        Err(errno) => return Err(refused(to, "can't be replaced", errno)),
    }
    if look_in(&folder, from)?.is_some_and(|out| out.is_same_file(expected)) {
        return Ok(());
    }
    exchange().map_err(|errno| refused(to, "can't be given back to whoever changed it", errno))?;
    Err(stale(to, "changed just before the commit"))
}

/// Puts a file aside, where it is the caller's to remove, and brings it back if it was not the expected one.
pub(super) fn take_away(
    workspace: &Workspace,
    path: &RepoPath,
    aside: &RepoPath,
    expected: &Look,
) -> Result<(), Error> {
    let folder = folder_of(workspace, path)?;
    let rename = |from: &RepoPath, to: &RepoPath| {
        rustix::fs::renameat_with(&folder, from.file_name(), &folder, to.file_name(), RenameFlags::NOREPLACE)
            .map_err(|errno| refused(path, "can't be removed", errno))
    };
    if look(workspace, path)?.as_ref() != Some(expected) {
        return Err(stale(path, "changed just before the commit"));
    }
    rename(path, aside)?;
    if look(workspace, aside)?.is_some_and(|out| out.is_same_file(expected)) {
        return Ok(());
    }
    rename(aside, path)?;
    Err(stale(path, "changed just before the commit"))
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
    remove(workspace, temporary)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (pack, name) = (kept.parent().unwrap_or(kept), kept.file_name().and_then(OsStr::to_str).unwrap_or_default());
    let pack = rustix::fs::open(pack, flags, Mode::empty())
        .map_err(|errno| refused(to, "can't be read from the pack", errno))?;
    copy((&pack, name), (&folder, temporary.file_name()), Some(mode), to)?;
    rustix::fs::renameat(&folder, temporary.file_name(), &folder, to.file_name())
        .map_err(|errno| refused(to, "can't be put back", errno))
}

/// True if a file is still the one that was linked into the pack.
pub(super) fn is_kept(workspace: &Workspace, path: &RepoPath, kept: &Path) -> Result<bool, Error> {
    let Ok(kept) = rustix::fs::lstat(kept) else { return Ok(false) };
    Ok(look(workspace, path)?.is_some_and(|found| found.identity == Look::of(&kept).identity))
}

/// Makes two files change places; both must be there.
pub(super) fn swap(workspace: &Workspace, a: &RepoPath, b: &RepoPath) -> Result<(), Error> {
    let folder = workspace.open_parent(a)?;
    rustix::fs::renameat_with(&folder, a.file_name(), &folder, b.file_name(), RenameFlags::EXCHANGE)
        .map_err(|errno| refused(a, "can't be put back", errno))
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

/// Waits until everything on the file systems that hold some paths is on the disk: once for each of them.
pub(super) fn sync_around<'p>(workspace: &Workspace, paths: impl Iterator<Item = &'p RepoPath>) -> Result<(), Error> {
    let mut synced = BTreeSet::new();
    for path in paths {
        let folder = match workspace.open_parent(path) {
            Ok(folder) => folder,
            // Removed with its last file; its parent's file system is the root's or another path's.
            Err(error) if error.code() == Code::NotFound => continue,
            Err(error) => return Err(error),
        };
        let stat = rustix::fs::fstat(&folder).map_err(|errno| refused(path, "can't be synced", errno))?;
        if synced.insert(stat.st_dev) {
            sync(&folder)?;
        }
    }
    if synced.is_empty() { sync(workspace.handle()) } else { Ok(()) }
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
    let stale = |what: &str| Err(stale(path, &format!("{what} since the change was proposed")));
    let unwritable = |what: &str, hint: &str| {
        Err(Error::new(Code::Unwritable, format!("`{path}` {what}")).detail("path", path.as_str()).hint(hint))
    };
    match (before, found) {
        (None, None) => Ok(()),
        (None, Some(_)) => stale("appeared"),
        (Some(_), None) => stale("vanished"),
        (Some(before), Some(found)) if before.is_link() && found.kind == Kind::File => stale("changed"),
        (Some(before), Some(found)) if found.kind != if before.is_link() { Kind::Link } else { Kind::File } => {
            unwritable("is no regular file", "exclude it with `!`")
        }
        (Some(_), Some(found)) if found.links > 1 => {
            unwritable("has another name (a hard link), which would keep the old content", "exclude it with `!`")
        }
        (Some(before), Some(_)) if before.is_link() => Ok(()),
        (Some(_), Some(found)) if found.mode & 0o200 == 0 => {
            unwritable("is read-only", "make it writable for its owner, or exclude it with `!`")
        }
        (Some(before), Some(found)) if found.length != before.length || found.mode != before.mode => stale("changed"),
        (Some(_), Some(_)) => Ok(()),
    }
}

/// An error unless this user may write the file: who may only replace it must not.
pub(super) fn check_access(workspace: &Workspace, path: &RepoPath) -> Result<(), Error> {
    let folder = workspace.open_parent(path)?;
    match rustix::fs::accessat(&folder, path.file_name(), Access::WRITE_OK, AtFlags::EACCESS) {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => {
            Err(Error::new(Code::Unwritable, format!("`{path}` belongs to somebody else, and you may not write it"))
                .detail("path", path.as_str())
                .hint("ask its owner for permission, or exclude it with `!`"))
        }
        Err(errno) => Err(refused(path, "can't be written", errno)),
    }
}

/// The error for a file that is not what it should be.
pub(super) fn stale(path: &RepoPath, what: &str) -> Error {
    Error::new(Code::StalePreimage, format!("`{path}` {what}")).detail("path", path.as_str()).hint("propose again")
}

fn refused(path: &RepoPath, what: &str, errno: Errno) -> Error {
    Error::new(Code::Io, format!("`{path}` {what}: {errno}")).detail("path", path.as_str())
}
