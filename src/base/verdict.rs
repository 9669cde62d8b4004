//! The verdict of gates on a call or a change, as plain data.

use serde::{Deserialize, Serialize};

use super::{hash::Sha256, named::named};

named! {
    /// The decision of a gate, from the mildest to the strictest.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Decision {
        /// Go on.
        #[default]
        Allow = "allow",
        /// Go on, with a warning.
        Warn = "warn",
        /// Go on once a person or the policy has confirmed it.
        RequireConfirmation = "require-confirmation",
        /// Stop.
        Block = "block",
    }
}

/// The result of one gate on a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateResult {
    /// Its decision.
    pub decision: Decision,
    /// The gate.
    pub gate_name: String,
    /// The reason, a sentence without final period.
    pub reason: String,
    /// The rules that object, or would but for an exception, sorted.
    pub triggered_rules: Vec<String>,
    /// The next step; none if nothing objects.
    pub remediation: Option<String>,
    /// The hash of the policy.
    pub config_sha256: Sha256,
    /// The hash of the subject.
    pub input_sha256: Sha256,
}
