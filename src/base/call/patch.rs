//! Patches and contents as calls carry them.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use crate::{
    change::Stamp,
    error::{Code, Error},
};

/// The mode of an application. On the wire `"dry-run"`, `"write"` or `{"write_backup": ".bak"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// Writes nothing; reports the refusals that a write would meet.
    #[default]
    #[serde(rename = "dry-run")]
    DryRun,
    /// The files are written.
    #[serde(rename = "write")]
    Write,
    /// The files are written, and their former contents are kept beside them, under their names with this suffix.
    #[serde(rename = "write_backup")]
    WriteBackup(String),
}

/// The line ends that the lines of a diff get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnds {
    /// Those that they have in the diff.
    #[default]
    Diff,
    /// Those of their file. A file that mixes line ends is refused.
    File,
}

impl LineEnds {
    /// True for the line ends of the diff, which the wire form leaves out.
    pub fn is_diff(&self) -> bool {
        *self == LineEnds::Diff
    }
}

/// A patch and its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPatch {
    /// Its name in messages, such as the name of its file.
    pub name: String,
    /// Its bytes.
    pub diff: Blob,
}

/// A file of a planned change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFile {
    /// The file.
    pub path: String,
    /// The content that it must have; null if it must not exist.
    pub before: Option<Stamp>,
    /// Its new content; null if it is removed.
    pub after: Option<Stamp>,
    /// The change as a git diff of this file alone; empty if it changes only mode bits that git does not keep.
    pub diff: Blob,
}

/// Bytes: `{"text": …}` if they are UTF-8, else `{"base64": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blob {
    /// UTF-8.
    #[serde(rename = "text")]
    Text(String),
    /// Base64 with padding.
    #[serde(rename = "base64")]
    Base64(String),
}

impl Blob {
    /// Wraps bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Blob::Text(text),
            Err(error) => Blob::Base64(STANDARD.encode(error.as_bytes())),
        }
    }

    /// The bytes; `invalid_input` if they are no base64.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, Error> {
        match self {
            Blob::Text(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Blob::Base64(text) => STANDARD.decode(text).map(Cow::Owned).map_err(|error| {
                Error::new(Code::InvalidInput, format!("a diff is not base64: {error}"))
                    .hint("encode its bytes in base64 with padding, or give it as text if it is UTF-8")
            }),
        }
    }
}
