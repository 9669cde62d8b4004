//! The checks of a case and their results.

use serde::Serialize;
use serde_json::Value;

use super::tree::Differences;
use base::{
    change::Content,
    diff::{self, Side},
    error::Error,
    path::RepoPath,
};

/// One check and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The name of the check: `outcome`, `tree`, `measure`, `second_pass`, `rollback` or `determinism`.
    pub name: &'static str,
    /// True if it holds.
    pub ok: bool,
    /// An explanation in sentences or lines; mostly empty if the check holds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// A patch from the expected to the found state.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// The error with which the script ended and should not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

impl Check {
    pub(super) fn holds(name: &'static str) -> Self {
        Check { name, ok: true, detail: String::new(), diff: String::new(), error: None }
    }

    pub(super) fn fails(name: &'static str, detail: impl Into<String>) -> Self {
        Check { ok: false, detail: detail.into(), ..Check::holds(name) }
    }

    /// Fails with these differences, if there are any.
    pub(super) fn of_trees(name: &'static str, differences: Option<Differences>) -> Self {
        match differences {
            None => Check::holds(name),
            Some(differences) => Check { diff: differences.text(), ..Check::fails(name, differences.told()) },
        }
    }

    /// With two values as they are expected and found.
    pub(super) fn values(self, expected: &Value, found: &Value) -> Self {
        let text = |value: &Value| Content::new(format!("{value:#}\n").into_bytes(), 0o644);
        let (expected, found) = (text(expected), text(found));
        let sides = (Some(Side::from(&expected)), Some(Side::from(&found)));
        let shown = RepoPath::parse("value").and_then(|path| diff::render(&path, sides.0, sides.1));
        // Values hold no byte that a patch can't show, but a string of a value may.
        let patch = shown.map(|(patch, _)| String::from_utf8_lossy(&patch).into_owned()).unwrap_or_default();
        // A value is no file: without the names.
        let hunks = patch.find("@@").map_or("", |at| &patch[at..]);
        Check { diff: hunks.to_owned(), ..self }
    }

    /// With a sentence that goes before all others.
    pub(super) fn after(self, sentence: &str) -> Self {
        let detail = if self.detail.is_empty() { sentence.to_owned() } else { format!("{sentence}\n{}", self.detail) };
        Check { detail, ..self }
    }
}
