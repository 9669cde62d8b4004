//! The source of an adapter that a user wrote: what the verifier's process makes the same adapter of.

use serde::{Deserialize, Serialize};

use crate::base::{frame::Limits, hash::Sha256};

/// The source of an adapter of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The adapter's name.
    pub name: String,
    /// The file in the workspace.
    pub path: String,
    /// The hash of everything that the adapter is made of.
    pub sha256: Sha256,
    /// The rest.
    pub kind: Kind,
}

/// The kind of an adapter of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A file of functions in Rhai.
    Rhai {
        /// Its text.
        text: String,
        /// The limits of its processes.
        limits: Limits,
    },
}
