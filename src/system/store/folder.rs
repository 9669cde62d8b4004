//! A store in a folder, which may be on a file system that several machines share.
//!
//! An object is written beside its place and linked there, which fails if the name is taken. A reader sees all of it or nothing. Within the
//! folder no link is followed: whoever may write there could lead to other files.
#![expect(
    clippy::disallowed_methods,
    reason = "a store is a folder outside of every workspace, which this file alone reads and writes"
)]

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use crate::plain_file;

/// The folder of objects that are being written. What killed writers left there is nobody's.
const UNFINISHED: &str = ".unfinished";

/// A folder with objects.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn at(path: PathBuf) -> Self {
        Folder(path)
    }

    pub(super) fn create(&self, key: &str, bytes: &[u8]) -> io::Result<bool> {
        let target = self.0.join(key);
        let (folder, _) = key.rsplit_once('/').unwrap_or_default();
        let (folder, unfinished) = (self.folder(folder)?, self.folder(UNFINISHED)?);
        let mut file = tempfile::NamedTempFile::new_in(&unfinished)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        match fs::hard_link(file.path(), &target) {
            Ok(()) => {}
            // Over a network the answer to a request that succeeded can be lost: another name of the file tells.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return is_same(file.as_file(), &target),
            Err(error) => return Err(error),
        }
        File::open(&folder)?.sync_all()?;
        Ok(true)
    }

    /// Makes a folder below the store, which no link leads to.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let mut folder = self.0.clone();
        fs::create_dir_all(&folder)?;
        for part in name.split('/').filter(|part| !part.is_empty()) {
            folder.push(part);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) if folder.symlink_metadata()?.is_dir() => {}
                Ok(()) | Err(_) => return Err(io::Error::other(format!("`{}` is no folder", folder.display()))),
            }
        }
        Ok(folder)
    }

    pub(super) fn get(&self, key: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        // A pipe or a device is no object, and neither is a link.
        match plain_file::open_beneath(&self.0, key).and_then(|file| plain_file::all(&file, most)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn list(&self, folder: &str, most: usize) -> io::Result<Vec<String>> {
        let mut names = match plain_file::names_beneath(&self.0, folder, most) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        names.sort();
        Ok(names)
    }
}

/// True if a file has that name already.
fn is_same(file: &File, name: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (own, other) = (file.metadata()?, fs::symlink_metadata(name)?);
    Ok((own.dev(), own.ino()) == (other.dev(), other.ino()))
}
