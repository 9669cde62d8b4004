//! A record with the members of its line, before it is written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file_ref::FileRef;

/// A record as its line has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wire {
    pub(super) seq: u64,
    pub(super) position: String,
    pub(super) at: String,
    pub(super) kind: String,
    pub(super) data: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<FileRef>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) volatile: Value,
    pub(super) prev: String,
    pub(super) hash: String,
}
