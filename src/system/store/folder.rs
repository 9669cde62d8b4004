//! A store in a folder, which may be on a file system that several machines share.
//!
//! An object is written beside its place and linked there, which fails if the name is taken. A reader sees all of it or nothing.
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
        let folder = target.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder)?;
        let unfinished = self.0.join(UNFINISHED);
        fs::create_dir_all(&unfinished)?;
        let mut file = tempfile::NamedTempFile::new_in(&unfinished)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        match fs::hard_link(file.path(), &target) {
            Ok(()) => {}
            // Over a network the answer to a request that succeeded can be lost: another name of the file tells.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return is_same(file.as_file(), &target),
            Err(error) => return Err(error),
        }
        File::open(folder)?.sync_all()?;
        Ok(true)
    }

    pub(super) fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        // A pipe or a device is no object, and neither is a link.
        match plain_file::read(&self.0.join(key)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.0.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string().ok());
        }
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
