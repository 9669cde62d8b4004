//! The check that long work makes again and again.

use super::error::Error;

/// An error if the run was cancelled or took too long.
pub type Pulse<'a> = &'a dyn Fn() -> Result<(), Error>;
