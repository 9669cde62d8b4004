//! A violation that a workflow reports itself, as it is recorded. Plain data.

use serde::{Deserialize, Serialize};

/// A violation that a workflow reports itself. It stops nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// The rule that was broken, the key of statistics: letters, digits, `.`, `_`, `-`, `/` and `:`.
    pub rule: String,
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// A sentence that describes the violation.
    pub message: String,
    /// The file that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// How bad a violation is, in the words of gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A person should know of it.
    #[default]
    Warn,
    /// A person should have decided.
    RequireConfirmation,
    /// It should not have happened.
    Block,
}
