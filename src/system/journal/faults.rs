//! Where a transaction may fail or be cut off: before every step that changes something on a disk.

use crate::base::error::Error;

/// Asked before every step; an error stops there, as a failing disk would.
pub trait Faults: Sync {
    /// Fails the step of that name, or lets it be taken.
    fn before(&self, step: &'static str) -> Result<(), Error>;
}

/// Nothing fails but what the system refuses.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _step: &'static str) -> Result<(), Error> {
        Ok(())
    }
}
