//! The first file of an export: the run that it holds, and its head.

use serde::{Deserialize, Serialize};

use crate::Head;

/// The form of exports that this version writes and reads.
pub(super) const FORMAT: u32 = 1;

/// The description of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    pub(super) format: u32,
    pub(super) run: String,
    /// False if what holds contents of files was left out.
    pub(super) contents: bool,
    pub(super) head: Head,
    /// Other files that were left out, since they show a secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) withheld: Vec<String>,
}

impl About {
    /// True for a record file that is not in the export.
    pub(super) fn lacks(&self, name: &str) -> bool {
        !self.contents && (holds_contents(name) || self.withheld.iter().any(|withheld| withheld == name))
    }
}

/// True for a record file that holds contents of the workspace's files.
pub(super) fn holds_contents(name: &str) -> bool {
    let is_manifest = name.starts_with("packs/") && name.ends_with("/manifest.json");
    (name.starts_with("packs/") && !is_manifest) || name.starts_with("artifacts/")
}
