//! The points where a transaction may fail or be interrupted: before every step that changes a disk.

use base::error::Error;

/// Called before every step; an error stops there, like a failing disk.
pub trait Faults: Sync {
    /// Fails the step of that name, or permits it.
    fn before(&self, step: &'static str) -> Result<(), Error>;
}

/// No faults but the system's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _step: &'static str) -> Result<(), Error> {
        Ok(())
    }
}
