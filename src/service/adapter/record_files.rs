//! Reads files of a run's record. Nothing else in this service opens files.

use std::{io::Read, os::unix::fs::FileExt, path::Path};

use base::error::{Code, Error};
use system::plain_file;

/// Reads a part of a file of the record into a reused buffer; `record_damaged` if the file is too short.
pub(super) fn read_part(path: &Path, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), Error> {
    let mut read = || {
        let file = plain_file::open(path)?;
        // The record may state a false length; no more than the file's rest is read.
        let rest = file.metadata()?.len().saturating_sub(offset);
        if length > rest {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.resize(usize::try_from(length).map_err(std::io::Error::other)?, 0);
        file.read_exact_at(bytes, offset)
    };
    read().map_err(|error: std::io::Error| {
        Error::new(Code::RecordDamaged, format!("`{}` of the record can't be read: {error}", path.display()))
    })
}

/// All bytes of a file of the record.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    read_into(path, &mut bytes).map(|()| bytes)
}

/// All bytes of a file of the record, into a reused buffer.
pub(super) fn read_into(path: &Path, bytes: &mut Vec<u8>) -> Result<(), Error> {
    bytes.clear();
    let read = plain_file::open(path).and_then(|mut file| file.read_to_end(bytes));
    read.map(|_| ()).map_err(|error| {
        Error::new(Code::RecordDamaged, format!("`{}` of the record can't be read: {error}", path.display()))
    })
}
