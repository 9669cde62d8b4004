//! The files that all runs of a workspace share: appended to and read without following links.

use std::{
    fs::{File, OpenOptions},
    io::ErrorKind,
    path::Path,
};

use base::error::Error;
use system::plain_file;

/// Opens a file for writing that is a file of its own, mode 0600 if it is made.
pub(super) fn open_own(options: &mut OpenOptions, path: &Path) -> Result<File, Error> {
    plain_file::open_own(options, path).map_err(|error| failed(path, &error))
}

/// Opens a file for appending and for reading, mode 0600; it is made if it is missing.
pub(super) fn append_to(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    open_own(&mut options, path)
}

/// A file's bytes; none if there is no such file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match plain_file::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, &error)),
    }
}

pub(crate) fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("the record file `{}` can't be used", path.display()), error)
}

/// The file of the heads, in the folder of all runs.
pub(super) const HEADS: &str = "heads.jsonl";
