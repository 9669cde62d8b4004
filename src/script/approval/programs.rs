//! What policies may start where `CI` is set: pinned by hash, with the words that a reviewer reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    hash::Sha256,
    host::Context,
    policy::{Policy, Programs},
};

/// What to do where the lock file says nothing of a policy's programs, or something else.
pub const PIN_PROGRAMS: &str =
    "where `CI` is not set, `nrv approve` without a script pins what `nrv.toml` starts; review and commit `nrv.lock`";

/// Where the policies of cases stand.
const CASES: &str = "**/*.test/*/nrv.toml";

/// What one policy may start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedPrograms {
    /// The hash of the tables that start programs.
    pub sha256: Sha256,
    /// What they start, in words.
    pub starts: Vec<String>,
}

impl PinnedPrograms {
    /// What there is to pin of a policy.
    pub fn of(programs: &Programs) -> Self {
        PinnedPrograms { sha256: programs.sha256, starts: programs.told.clone() }
    }

    /// How this, which is there now, differs from what is pinned, in words; none if it does not.
    pub fn changes(&self, pinned: Option<&PinnedPrograms>) -> Option<Vec<String>> {
        let Some(pinned) = pinned else { return Some(vec!["nothing of it is pinned".to_owned()]) };
        if self.sha256 == pinned.sha256 {
            return None;
        }
        let more =
            self.starts.iter().filter(|line| !pinned.starts.contains(line)).map(|line| format!("new is that {line}"));
        let less =
            pinned.starts.iter().filter(|line| !self.starts.contains(line)).map(|line| format!("gone is that {line}"));
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
        // What can't be read starts nothing: its case says why.
        let text = context.workspace.read(&path).map(|content| String::from_utf8_lossy(&content.bytes).into_owned());
        all.extend(text.and_then(|text| Policy::parse(&text, &path)).ok());
    }
    Ok(all)
}

/// What the policy of a workspace starts, and what those of its cases do, by their paths.
pub fn programs(context: &Context) -> Result<BTreeMap<String, PinnedPrograms>, Error> {
    let pinned = |policy: &Policy| Some((policy.file().to_owned(), PinnedPrograms::of(policy.programs()?)));
    Ok(policies(context)?.iter().filter_map(pinned).collect())
}
