//! A record with the members of its line, before it is written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file_ref::FileRef;

/// A record as its line has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wire {
    pub seq: u64,
    pub position: String,
    pub at: String,
    pub kind: String,
    pub data: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub volatile: Value,
    pub prev: String,
    pub hash: String,
}
