//! The attributes of a file: owner, extended attributes (access lists among them), permission bits.
//!
//! A file that replaces another takes these over, so that nobody gains or loses access to it.

use std::{fs::File, os::fd::BorrowedFd};

use rustix::{
    fs::{AtFlags, Gid, Mode, Uid, XattrFlags},
    io::Errno,
};

use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// Attributes that only the system may set; a file lacks them if the system refuses.
const PRIVILEGED: [&[u8]; 2] = [b"security.", b"trusted."];

/// Gives a new file the owner, extended attributes and mode of another one; a link has no attributes to copy.
///
/// `unwritable` if an attribute or the mode can't be kept. Owners are kept as far as this user may.
pub(super) fn imitate(
    (from, owner): (Option<&File>, (u32, u32)),
    to: &File,
    mode: u32,
    path: &RepoPath,
) -> Result<(), Error> {
    let failed = |what: &str, errno: Errno| {
        Error::new(Code::Unwritable, format!("the {what} of `{path}` can't be kept: {errno}"))
            .detail("path", path.as_str())
            .hint("exclude the file with `!`")
    };
    let new = rustix::fs::fstat(to).map_err(|errno| failed("owner", errno))?;
    if owner != (new.st_uid, new.st_gid) {
        let group = Some(Gid::from_raw(owner.1));
        let both = rustix::fs::fchown(to, Some(Uid::from_raw(owner.0)), group);
        // A user who may not change the owner may still set one of their own groups.
        match both.or_else(|_| rustix::fs::fchown(to, None, group)) {
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(failed("owner", errno)),
        }
    }
    if let Some(from) = from {
        copy_extended(from, to).map_err(|errno| failed("extended attributes", errno))?;
    }
    // Last, since writing and changing the owner clear bits.
    set_mode(to, mode, path)
}

/// Changes the owner of a link, as far as this user may.
pub(super) fn give(
    folder: BorrowedFd<'_>,
    name: &str,
    (user, group): (u32, u32),
    path: &RepoPath,
) -> Result<(), Error> {
    let (user, group) = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
    match rustix::fs::chownat(folder, name, user, group, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(errno) => Err(Error::new(Code::Unwritable, format!("the owner of `{path}` can't be kept: {errno}"))),
    }
}

/// Sets permission bits and checks that the file has them.
pub(super) fn set_mode(file: &File, mode: u32, path: &RepoPath) -> Result<(), Error> {
    let failed = |why: String| {
        Error::new(Code::Unwritable, format!("the mode {mode:04o} of `{path}` can't be kept{why}"))
            .detail("path", path.as_str())
            .hint("exclude the file with `!`")
    };
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode)).map_err(|errno| failed(format!(": {errno}")))?;
    let set = rustix::fs::fstat(file).map_err(|errno| failed(format!(": {errno}")))?.st_mode & 0o7777;
    if set == mode { Ok(()) } else { Err(failed(format!(": it became {set:04o}"))) }
}

/// The kernel's limit on the names of a file's attributes together.
const MOST_NAMES: usize = 1 << 16;

fn copy_extended(from: &File, to: &File) -> Result<(), Errno> {
    // Most files have few attributes or none.
    let mut names = vec![0; 256];
    let length = match rustix::fs::flistxattr(from, names.as_mut_slice()) {
        Err(Errno::RANGE) => {
            names.resize(MOST_NAMES, 0);
            rustix::fs::flistxattr(from, names.as_mut_slice())?
        }
        // Some file systems support none.
        Err(Errno::NOTSUP) => 0,
        length => length?,
    };
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; rustix::fs::fgetxattr_query(from, name)?];
        let size = rustix::fs::fgetxattr(from, name, value.as_mut_slice())?;
        match rustix::fs::fsetxattr(to, name, &value[..size], XattrFlags::empty()) {
            Ok(()) => {}
            Err(_) if PRIVILEGED.iter().any(|prefix| name.starts_with(prefix)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
