//! A structural search in code.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A search for nodes of code. Exactly one of `pattern` and `rule` is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Globs of the files; `!` excludes.
    pub glob: Vec<String>,
    /// Code in which `$NAME` is any node and `$$$NAME` any number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The kind of the node within the pattern that is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The name of a strictness of ast-grep; `smart` if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strictness: Option<String>,
    /// A rule object of ast-grep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Value>,
    /// The language; if none, the ending of each file decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// True if files with syntax errors are searched too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_errors: bool,
}
