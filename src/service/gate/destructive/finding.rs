//! The findings in a command.

use serde::{Deserialize, Serialize};

/// The severity of a rule, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It deserves a warning.
    Warn,
    /// A person must confirm it.
    #[default]
    Confirm,
    /// It must not run.
    Block,
}

/// The findings in a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// The broken rules, in the order of the commands, each rule once for each command.
    pub hits: Vec<Hit>,
    /// The reason that it, or a part of it, can't be parsed; then it may do more than `hits` say.
    pub unparsed: Option<String>,
}

/// A rule that a command breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The rule.
    pub rule: String,
    /// Its severity.
    pub severity: Severity,
    /// The reason, a sentence without final period.
    pub reason: String,
    /// An alternative.
    pub remediation: String,
    /// The command, without its wrappers; long ones are cut off.
    pub argv: Vec<String>,
    /// The place of the exception that allows it; none if it is not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<usize>,
    /// True if an exception for just these words would allow it.
    #[serde(skip)]
    pub is_permissible: bool,
}
