//! The key by which nrv recognises the entries of trust that it made itself: a file beside them that their owner alone may read.
//!
//! It is made once. A code also covers the folder as its user names it, and the inode of the key: a copy of the folder is another one, and so is
//! a link to it.

use std::{
    io::{ErrorKind, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use base::{
    error::{Code, Error},
    hash::Sha256,
};
use system::{
    net::random_bytes,
    plain_file,
    signature::{self, KEY_BYTES},
};

/// The name of its file.
const NAME: &str = "key";

/// Bits that let others read or write.
const OTHERS: u32 = 0o077;

/// The key of a folder.
pub(super) struct Key {
    bytes: [u8; KEY_BYTES],
    /// The name of the folder, and the inode of the key.
    place: String,
}

impl Key {
    /// The key of a folder, which its user gives a name that may hold links; none if there is none.
    ///
    /// `permission_denied` for one that others may know, or that is none.
    pub(super) fn of(folder: &Path, named: &Path) -> Result<Option<Self>, Error> {
        let path = path(folder);
        let file = match plain_file::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error.to_string())),
        };
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", path.display()), error);
        let found = file.metadata().map_err(|error| failed(&error))?;
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(unusable(&path, "it belongs to another user"));
        }
        if found.mode() & OTHERS != 0 {
            return Err(unusable(&path, "others may read or write it"));
        }
        let bytes = plain_file::all(&file, KEY_BYTES as u64).ok().and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| unusable(&path, &format!("it does not have {KEY_BYTES} bytes")))?;
        Ok(Some(Key { bytes, place: format!("{}\0{}\0", named.display(), found.ino()) }))
    }

    /// The key of a folder, which is made if there is none. Of several that make one at once, one wins, and all take that one.
    pub(super) fn made(folder: &Path, named: &Path) -> Result<Self, Error> {
        if let Some(key) = Key::of(folder, named)? {
            return Ok(key);
        }
        let path = path(folder);
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", path.display()), error);
        let mut file = new_file(folder).map_err(|error| failed(&error))?;
        file.write_all(&random_bytes::<KEY_BYTES>()?).map_err(|error| failed(&error))?;
        file.as_file().sync_all().map_err(|error| failed(&error))?;
        match file.persist_noclobber(&path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&error.error)),
        }
        Key::of(folder, named)?.ok_or_else(|| unusable(&path, "it is gone"))
    }

    /// The code of an entry.
    pub(super) fn code(&self, entry: &str) -> Sha256 {
        signature::code(&self.bytes, format!("{}{entry}", self.place).as_bytes())
    }

    /// True if the code of an entry was made with this key, in this place.
    pub(super) fn made_code(&self, entry: &str, code: &Sha256) -> bool {
        signature::is_code_of(&self.bytes, format!("{}{entry}", self.place).as_bytes(), code)
    }
}

/// A file without a name yet, for its owner alone.
pub(super) fn new_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let permissions = std::fs::Permissions::from_mode(0o600);
    tempfile::Builder::new().prefix(".new-").permissions(permissions).tempfile_in(folder)
}

/// The file of a folder's key.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

fn unusable(path: &Path, why: &str) -> Error {
    Error::new(Code::PermissionDenied, format!("the key `{}` can't be used: {why}", path.display()))
        .hint("remove it: `nrv trust` makes another one, under which each policy has to be trusted again")
}
