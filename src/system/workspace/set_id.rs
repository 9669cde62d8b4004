//! Set-id files: programs that give the rights of their owner or group to everybody who runs them.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RawDir},
    io::Errno,
};

use super::{Kind, Metadata, Workspace, open_beneath};
use base::path::RepoPath;

/// The mode bits of a set-id file.
pub const SET_ID: u32 = 0o6000;

/// Bytes of names in one read.
const NAMES: usize = 32 << 10;

/// The largest depth of nested folders, each of which is open meanwhile.
const DEPTH: usize = 200;

/// The flags for opening a folder.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK);

/// A set-id file that was found.
#[derive(Debug)]
pub struct SetId<'a> {
    /// Its path; a name that is not UTF-8 is shown with replacements.
    pub path: String,
    /// The open file itself, even if another one is at its path now. It can't be read.
    pub file: BorrowedFd<'a>,
    /// Its permission bits.
    pub mode: u32,
}

impl Workspace {
    /// Reports each set-id file below some folders, also those that no path can name. Links are not followed.
    ///
    /// Returns the unreadable folders.
    pub fn each_set_id(&self, folders: &[RepoPath], tell: &mut dyn FnMut(SetId<'_>)) -> Vec<String> {
        let mut search = Search { tell, closed: Vec::new() };
        for folder in folders {
            match open_beneath(self.handle(), folder, FOLDER) {
                Ok(handle) => search.look_into(&handle, folder, DEPTH),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => search.closed.push(folder.to_string()),
            }
        }
        search.closed
    }
}

struct Search<'a> {
    tell: &'a mut dyn FnMut(SetId<'_>),
    closed: Vec<String>,
}

impl Search<'_> {
    fn look_into(&mut self, folder: &OwnedFd, shown: &str, left: usize) {
        let mut below: Vec<CString> = Vec::new();
        let mut names = Vec::with_capacity(NAMES);
        let mut entries = RawDir::new(folder, names.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else {
                self.closed.push(shown.to_owned());
                break;
            };
            let name = entry.file_name();
            let kind = match entry.file_type() {
                // Some file systems don't report it with the name.
                FileType::Unknown => look(folder, name).map(|found| found.kind),
                kind => Some(Kind::of(kind)),
            };
            match kind {
                Some(Kind::File) => self.look_at(folder, name, shown),
                Some(Kind::Folder) if !matches!(name.to_bytes(), b"." | b"..") => below.push(name.to_owned()),
                Some(Kind::Folder | Kind::Link | Kind::Other) | None => {}
            }
        }
        for name in below {
            let shown = format!("{shown}/{}", name.to_string_lossy());
            let flags = FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(folder, &name, flags, Mode::empty()) {
                Ok(handle) if left > 0 => self.look_into(&handle, &shown, left - 1),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Ok(_) | Err(_) => self.closed.push(shown),
            }
        }
    }

    fn look_at(&mut self, folder: &OwnedFd, name: &CStr, shown: &str) {
        if look(folder, name).is_none_or(|found| found.mode & SET_ID == 0) {
            return;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { return };
        // Another file may be there by now: the open one is reported.
        let Ok(found) = rustix::fs::fstat(&file).map(|stat| Metadata::of(&stat)) else { return };
        if found.kind == Kind::File && found.mode & SET_ID != 0 {
            let path = format!("{shown}/{}", name.to_string_lossy());
            (self.tell)(SetId { path, file: file.as_fd(), mode: found.mode });
        }
    }
}

fn look(folder: &OwnedFd, name: &CStr) -> Option<Metadata> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Metadata::of(&stat))
}
