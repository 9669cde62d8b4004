//! The name of a value that stands in a pack.

use serde_json::Value;

use base::hash::Sha256;

/// The hash of the content that a recorded value names; none if it stands for itself.
///
/// A value that looks like such a name is kept in the pack itself, so that there is no doubt.
pub fn named(recorded: &Value) -> Option<Sha256> {
    let map = recorded.as_object().filter(|map| map.len() == 2)?;
    map.get("length")?.as_u64()?;
    map.get("sha256")?.as_str()?.parse().ok()
}
