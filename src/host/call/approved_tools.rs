//! Approvals of the tools of MCP servers, as a run needs them.

use std::collections::BTreeMap;

use base::hash::Sha256;

/// The tools of MCP servers that a person has approved: the hashes of their definitions, by server and name. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovedTools(pub BTreeMap<String, BTreeMap<String, Sha256>>);

impl ApprovedTools {
    /// The hash of a tool's definition; none if nobody has approved it.
    pub fn of(&self, server: &str, tool: &str) -> Option<Sha256> {
        self.0.get(server)?.get(tool).copied()
    }
}
