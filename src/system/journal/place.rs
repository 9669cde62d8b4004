//! Operations on one name in an open folder: look, read, write, move, remove. Links are never followed.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};

use super::{attributes, faults::Faults};
use crate::workspace::Metadata;
use base::{
    change::Content,
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};

/// A name in an open folder.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a str,
    /// The file that it belongs to; errors name it.
    pub(super) path: &'a RepoPath,
}

/// The metadata of a file; two equal looks mean that nobody touched it in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Kind, mode, length, times, identity.
    pub(super) metadata: Metadata,
    owner: (u32, u32),
}

impl Look {
    fn of(stat: &Stat) -> Self {
        Look { metadata: Metadata::of(stat), owner: (stat.st_uid, stat.st_gid) }
    }

    /// True if it is the same file with the same bytes, by the metadata; it may have been renamed.
    pub(super) fn is_same_file(&self, other: &Look) -> bool {
        let seen = |look: &Look| (look.metadata.identity, look.metadata.length, look.metadata.modified_ns);
        seen(self) == seen(other)
    }
}

/// A file at the time of its reading.
pub(super) struct Original {
    /// None for a symbolic link, which is never opened.
    file: Option<File>,
    /// Its metadata before it was read.
    pub(super) look: Look,
    /// The hash of its bytes, or of a link's target.
    pub(super) sha256: Sha256,
}

impl Place<'_> {
    /// The metadata of the file here; none if there is no file.
    pub(super) fn look(self) -> Result<Option<Look>, Error> {
        match rustix::fs::statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Look::of(&stat))),
            Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(None),
            Err(errno) => Err(self.refused("can't be looked at", errno)),
        }
    }

    /// Reads and hashes the file here; none if there is no file.
    pub(super) fn read(self, buffer: &mut Vec<u8>) -> Result<Option<Original>, Error> {
        // Without NONBLOCK, opening a pipe would wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::openat(self.folder, self.name, flags, Mode::empty()) {
            Ok(file) => {
                let stat = rustix::fs::fstat(&file).map_err(|errno| self.refused("can't be read", errno))?;
                let file = File::from(file);
                let sha256 = hash(&file, stat.st_size, buffer)
                    .map_err(|error| Error::io(format!("`{}` can't be read", self.path), &error))?;
                Ok(Some(Original { file: Some(file), look: Look::of(&stat), sha256 }))
            }
            Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(None),
            Err(Errno::LOOP) => self.read_link(),
            Err(errno) => Err(self.refused("can't be read", errno)),
        }
    }

    fn read_link(self) -> Result<Option<Original>, Error> {
        let Some(look) = self.look()? else { return Ok(None) };
        let Some(target) = self.target()? else { return Ok(None) };
        Ok(Some(Original { file: None, look, sha256: Sha256::of(&target) }))
    }

    /// The target of the symbolic link here; none for anything else.
    fn target(self) -> Result<Option<Vec<u8>>, Error> {
        match rustix::fs::readlinkat(self.folder, self.name, Vec::new()) {
            Ok(target) => Ok(Some(target.into_bytes())),
            Err(Errno::INVAL | Errno::NOENT | Errno::NAMETOOLONG) => Ok(None),
            Err(errno) => Err(self.refused("can't be read", errno)),
        }
    }

    /// Writes a file or link here, where nothing may exist, with the attributes of the one that it replaces.
    pub(super) fn stage(self, content: &Content, like: Option<&Original>, faults: &dyn Faults) -> Result<(), Error> {
        if content.is_link() {
            return self.make_link(&content.bytes, like.map(|like| like.look.owner), faults);
        }
        let mut file = self.create(faults)?;
        faults.before("write")?;
        file.write_all(&content.bytes).map_err(|error| unwritten(self.path, "can't be written", &error))?;
        faults.before("attributes")?;
        match like {
            Some(Original { file: from, look, .. }) => {
                attributes::imitate((from.as_ref(), look.owner), &file, content.mode, self.path)
            }
            None => attributes::set_mode(&file, content.mode, self.path),
        }
    }

    fn create(self, faults: &dyn Faults) -> Result<File, Error> {
        faults.before("create")?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.folder, self.name, flags, Mode::from_raw_mode(0o600))
            .map(File::from)
            .map_err(|errno| self.refused("can't be written", errno))
    }

    fn make_link(self, target: &[u8], owner: Option<(u32, u32)>, faults: &dyn Faults) -> Result<(), Error> {
        faults.before("make link")?;
        rustix::fs::symlinkat(target, self.folder, self.name)
            .map_err(|errno| self.refused("can't be written", errno))?;
        owner.map_or(Ok(()), |owner| attributes::give(self.folder, self.name, owner, self.path))
    }

    /// Copies a file or link to this place, with its attributes.
    pub(super) fn copy_from(self, from: Place<'_>, original: &Original, faults: &dyn Faults) -> Result<(), Error> {
        let Some(file) = &original.file else {
            let target = from.target()?.ok_or_else(|| stale(self.path, "changed while it was kept"))?;
            return self.make_link(&target, Some(original.look.owner), faults);
        };
        let copy = self.create(faults)?;
        faults.before("write")?;
        let copied = std::io::Seek::rewind(&mut &*file).and_then(|()| std::io::copy(&mut &*file, &mut &copy));
        copied.map_err(|error| unwritten(self.path, "can't be copied", &error))?;
        faults.before("attributes")?;
        attributes::imitate((Some(file), original.look.owner), &copy, original.look.metadata.mode, self.path)
    }

    /// Moves the file here to another name, where nothing may exist. False if that can't be done between these folders.
    pub(super) fn move_to_free(self, to: Place<'_>, faults: &dyn Faults) -> Result<bool, Error> {
        faults.before("move")?;
        match rustix::fs::renameat_with(self.folder, self.name, to.folder, to.name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::XDEV) => Ok(false),
            Err(Errno::EXIST) => Err(stale(to.path, "appeared")),
            Err(errno) => Err(self.refused("can't be moved", errno)),
        }
    }

    /// Moves the file here to another name, and replaces any file there.
    pub(super) fn move_over(self, to: Place<'_>, faults: &dyn Faults) -> Result<(), Error> {
        faults.before("move over")?;
        rustix::fs::renameat(self.folder, self.name, to.folder, to.name)
            .map_err(|errno| self.refused("can't be replaced", errno))
    }

    /// Exchanges the files at two names. False if that can't be done between these folders or on this file system.
    pub(super) fn exchange(self, other: Place<'_>, faults: &dyn Faults) -> Result<bool, Error> {
        faults.before("exchange")?;
        match rustix::fs::renameat_with(self.folder, self.name, other.folder, other.name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::XDEV) => Ok(false),
            Err(errno) => Err(self.refused("can't be replaced", errno)),
        }
    }

    /// Removes the file here; it may be gone already.
    pub(super) fn remove(self, faults: &dyn Faults) -> Result<(), Error> {
        faults.before("remove")?;
        match rustix::fs::unlinkat(self.folder, self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(()),
            Err(errno) => Err(self.refused("can't be removed", errno)),
        }
    }

    fn refused(self, what: &str, errno: Errno) -> Error {
        refused(self.path, what, errno)
    }
}

/// A name in a folder, which belongs to some file.
pub(super) fn place<'a>(folder: &'a impl AsFd, name: &'a str, path: &'a RepoPath) -> Place<'a> {
    Place { folder: folder.as_fd(), name, path }
}

/// The hash of a file, read through a reused buffer.
fn hash(mut file: &File, length: i64, buffer: &mut Vec<u8>) -> std::io::Result<Sha256> {
    buffer.resize(BUFFER, 0);
    let first = file.read(buffer)?;
    // A file that grows meanwhile is noticed before it is replaced.
    if first < BUFFER && i64::try_from(first) == Ok(length) {
        return Ok(Sha256::of(&buffer[..first]));
    }
    std::io::Seek::rewind(&mut file)?;
    Sha256::of_reader(file).map(|(sha256, _)| sha256)
}

/// Most files of a tree are smaller.
const BUFFER: usize = 1 << 17;

/// The error for a file that changed.
pub(super) fn stale(path: &RepoPath, what: &str) -> Error {
    Error::new(Code::StalePreimage, format!("`{path}` {what}")).detail("path", path.as_str()).hint("propose again")
}

fn unwritten(path: &RepoPath, what: &str, error: &std::io::Error) -> Error {
    match Errno::from_io_error(error) {
        Some(errno) => refused(path, what, errno),
        None => Error::io(format!("`{path}` {what}"), error),
    }
}

/// The error for an operation that the system refused.
pub(super) fn refused(path: &RepoPath, what: &str, errno: Errno) -> Error {
    let error = Error::new(Code::Io, format!("`{path}` {what}: {errno}")).detail("path", path.as_str());
    match errno {
        Errno::NOSPC | Errno::DQUOT => error.hint("make room on the disk, then try again"),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            error.hint("make the file and its folder writable, or exclude it with `!`")
        }
        _ => error,
    }
}
