//! Reads files of a run's record. The one place of this service that opens a file by itself.

use std::path::Path;

use crate::error::{Code, Error};

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
