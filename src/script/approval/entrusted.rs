//! Permissions of policies where `CI` is set: pinned by hash, with the text that a reviewer reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use base::{error::Error, hash::Sha256};
use host::Context;
use system::policy::{self, Entrusted, Policy};

/// The hint of a run whose lock file does not pin the policy, or pins another one.
pub const PIN_TRUST: &str =
    "where `CI` is not set, `nrv approve` without a script pins what `nrv.toml` may do; review and commit `nrv.lock`";

/// The paths of the policies of cases.
const CASES: &str = "**/*.test/*/nrv.toml";

/// The permissions of one policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTrust {
    /// The hash of the tables that start programs or send requests.
    pub sha256: Sha256,
    /// The permissions of these tables, as text.
    pub permits: Vec<String>,
}

impl PinnedTrust {
    /// The pin of a policy as it is now.
    pub fn of(entrusted: &Entrusted) -> Self {
        PinnedTrust { sha256: entrusted.sha256, permits: entrusted.told.clone() }
    }

    /// The differences of this policy from its pin, as text; none if they agree.
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
        // A policy that can't be read permits nothing; its case reports the error.
        let text = context.workspace.read_own(&path, policy::BOUNDS);
        all.extend(text.and_then(|text| Policy::parse(&text, &path)).ok());
    }
    Ok(all)
}

/// The permissions of a workspace's policy and of those of its cases, by path.
pub fn entrusted(context: &Context) -> Result<BTreeMap<String, PinnedTrust>, Error> {
    let pinned = |policy: &Policy| Some((policy.file().to_owned(), PinnedTrust::of(policy.entrusted()?)));
    Ok(policies(context)?.iter().filter_map(pinned).collect())
}
