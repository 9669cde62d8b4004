//! A file of a run's folder, as a record names it.

use serde::{Deserialize, Serialize};

use base::hash::Sha256;

/// A file of the record, by its path in the run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRef {
    /// The path in the run's folder.
    pub path: String,
    /// Its hash when it was written.
    pub sha256: Sha256,
}
