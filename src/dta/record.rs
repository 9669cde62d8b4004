//! Reads files of a run's record. The one place of this service that opens a file by itself.

use std::{os::unix::fs::FileExt, path::Path};

use crate::error::{Code, Error};

/// A part of a file of the record; `record_damaged` if the file ends before it.
#[expect(clippy::disallowed_methods, reason = "see `read`")]
pub(super) fn read_part(path: &Path, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
    let read = || {
        let file = std::fs::File::open(path)?;
        // The record may lie about the length; what is not in the file is not asked for.
        let rest = file.metadata()?.len().saturating_sub(offset);
        if length > rest {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(std::io::Error::other)?];
        file.read_exact_at(&mut bytes, offset).map(|()| bytes)
    };
    read().map_err(|error: std::io::Error| {
        Error::new(Code::RecordDamaged, format!("`{}` of the record can't be read: {error}", path.display()))
    })
}

/// All bytes of a file of the record.
#[expect(
    clippy::disallowed_methods,
    reason = "a verifier judges from the record and the disk alone, in its own process"
)]
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| {
        Error::new(Code::RecordDamaged, format!("`{}` of the record can't be read: {error}", path.display()))
    })
}
