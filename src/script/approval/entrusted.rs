//! What policies may do where `CI` is set: pinned by hash, with the words that a reviewer reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    base::{error::Error, hash::Sha256},
    host::Context,
    system::policy::{Entrusted, Policy},
};

/// What to do where the lock file says nothing of what a policy does, or something else.
pub const PIN_TRUST: &str =
    "where `CI` is not set, `nrv approve` without a script pins what `nrv.toml` may do; review and commit `nrv.lock`";

/// Where the policies of cases stand.
const CASES: &str = "**/*.test/*/nrv.toml";

/// What one policy may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTrust {
    /// The hash of the tables that start programs or send requests.
    pub sha256: Sha256,
    /// What they permit, in words.
    pub permits: Vec<String>,
}

impl PinnedTrust {
    /// What there is to pin of a policy.
    pub fn of(entrusted: &Entrusted) -> Self {
        PinnedTrust { sha256: entrusted.sha256, permits: entrusted.told.clone() }
    }

    /// How this, which is there now, differs from what is pinned, in words; none if it does not.
    pub fn changes(&self, pinned: Option<&PinnedTrust>) -> Option<Vec<String>> {
        let Some(pinned) = pinned else { return Some(vec!["nothing of it is pinned".to_owned()]) };
        if self.sha256 == pinned.sha256 {
            return None;
        }
        let more =
            self.permits.iter().filter(|line| !pinned.permits.contains(line)).map(|line| format!("new is that {line}"));
        let less = pinned
            .permits
            .iter()
            .filter(|line| !self.permits.contains(line))
            .map(|line| format!("gone is that {line}"));
        let mut changes: Vec<String> = more.chain(less).collect();
        if changes.is_empty() {
            changes.push("a setting of these tables is another one".to_owned());
        }
        Some(changes)
    }
}

/// The policy of a workspace, and those of its cases that can be read.
pub fn policies(context: &Context) -> Result<Vec<Policy>, Error> {
    let mut all = vec![context.policy.clone()];
    for path in context.list(&[CASES])? {
        // What can't be read does nothing: its case says why.
        let text = context.workspace.read(&path).map(|content| String::from_utf8_lossy(&content.bytes).into_owned());
        all.extend(text.and_then(|text| Policy::parse(&text, &path)).ok());
    }
    Ok(all)
}

/// What the policy of a workspace may do, and what those of its cases may, by their paths.
pub fn entrusted(context: &Context) -> Result<BTreeMap<String, PinnedTrust>, Error> {
    let pinned = |policy: &Policy| Some((policy.file().to_owned(), PinnedTrust::of(policy.entrusted()?)));
    Ok(policies(context)?.iter().filter_map(pinned).collect())
}
