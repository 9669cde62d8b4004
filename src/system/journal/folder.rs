//! Folders of the journal.

use std::{os::fd::OwnedFd, path::Path};

use rustix::fs::{Mode, OFlags};

use base::error::{Code, Error};

/// Opens a folder of packs.
pub(super) fn open_folder(path: &Path) -> Result<OwnedFd, Error> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Error::new(Code::Io, format!("the pack `{}` can't be opened: {errno}", path.display())))
}
