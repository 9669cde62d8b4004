//! Programs that calls run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A program to run, with its arguments, without a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its name, which is looked up in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The folder of the workspace to run it in; if none, the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables beside those that the policy passes on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The time limit in milliseconds; if none, the limit of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Standard input; empty if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Globs of the files that it may change; `!` excludes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// True if any exit status but 0 is a failure, after which none of its changes stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    /// True if it is a test: the run reports failed tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
    /// The label of the confirmation that its change needs before it is made; none if the script needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
}

impl Run {
    /// The program and its arguments.
    pub fn argv(&self) -> Vec<String> {
        std::iter::once(&self.program).chain(&self.args).cloned().collect()
    }
}
