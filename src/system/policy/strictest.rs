//! The strictest of two policies: what either forbids is forbidden, and of each limit the smaller one counts.
//!
//! Both are kept: gates judge under each, and the stricter verdict counts. Merged settings are only for what the host itself
//! counts and asks for.

use serde_json::json;

use super::{Policy, Settings, table::Section};
use base::{error::Error, json};

impl Policy {
    /// The policy that permits what both permit, such as the one that a run began under and that of today.
    pub fn strictest(one: &Policy, other: &Policy) -> Result<Policy, Error> {
        if one.sha256 == other.sha256 && one.locked == other.locked {
            return Ok(one.clone());
        }
        let sha256 = json::sha256(&json!({"strictest": [one.sha256, other.sha256]}))?;
        Ok(Policy {
            settings: Settings::strictest(&one.settings, &other.settings),
            locked: one.locked || other.locked,
            ci: one.ci || other.ci,
            parts: vec![one.clone(), other.clone()],
            sha256,
            ..one.clone()
        })
    }

    /// The policies of which this one is the strictest; none if it is one by itself.
    pub fn parts(&self) -> &[Policy] {
        &self.parts
    }
}
