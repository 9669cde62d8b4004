//! What a workflow can ask of the world: every host call with its arguments, as it travels and as it is recorded.
//!
//! Scripts, the command line and embedders make calls; `Host::perform` answers them. A new call is a variant here, a
//! service, a binding and a row of tests.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request to the host. The wire form is `{"name": "files.read", "args": {"path": "a.html"}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", content = "args", deny_unknown_fields)]
pub enum Call {
    /// Sorted paths of the files that match the globs; `!` excludes.
    #[serde(rename = "files.glob")]
    FilesGlob {
        /// Globs, at least one of them without `!`.
        patterns: Vec<String>,
    },
    /// A file's text.
    #[serde(rename = "files.read")]
    FilesRead {
        /// A path in the workspace.
        path: String,
    },
    /// True if there is a readable file or folder at the path.
    #[serde(rename = "files.exists")]
    FilesExists {
        /// A path in the workspace.
        path: String,
    },
    /// Size, kind, mode and hash.
    #[serde(rename = "files.stat")]
    FilesStat {
        /// A path in the workspace.
        path: String,
    },
    /// A file's hash.
    #[serde(rename = "files.sha256")]
    FilesSha256 {
        /// A path in the workspace.
        path: String,
    },
    /// Lines that match a regular expression.
    #[serde(rename = "files.grep")]
    FilesGrep {
        /// A regular expression without back-references.
        regex: String,
        /// Globs, at least one of them without `!`.
        patterns: Vec<String>,
    },
    /// The approved adapters.
    #[serde(rename = "dta.list")]
    DtaList {},
    /// An adapter's schemas and phases.
    #[serde(rename = "dta.describe")]
    DtaDescribe {
        /// The adapter's name.
        tool: String,
    },
    /// Discover and propose: a patch and a plan, no side effect.
    #[serde(rename = "dta.propose")]
    DtaPropose {
        /// The adapter's name.
        tool: String,
        /// The invocation; `tool`, `version`, `mode`, `target.repo_path` and `constraints` are filled in.
        input: Value,
    },
    /// Applies a proposal and verifies it.
    #[serde(rename = "dta.apply")]
    DtaApply {
        /// The adapter's name.
        tool: String,
        /// What `dta.propose` returned, unaltered.
        proposal: Value,
    },
    /// Discover to verify in one call, by the invocation's `mode`.
    #[serde(rename = "dta.run")]
    DtaRun {
        /// The adapter's name.
        tool: String,
        /// The full invocation.
        input: Value,
    },
    /// Approval of a subject by a person or by policy.
    #[serde(rename = "gate.confirm")]
    GateConfirm {
        /// What is asked.
        label: String,
        /// What it is about: a proposal, or any value.
        subject: Value,
    },
    /// A policy assertion: the run is blocked if the condition is false.
    #[serde(rename = "gate.require")]
    GateRequire {
        /// What must hold.
        condition: bool,
        /// What to say if it does not.
        message: String,
    },
    /// Says which step begins.
    #[serde(rename = "ui.step")]
    UiStep {
        /// The step's name.
        label: String,
    },
    /// Starts a progress bar of `total` steps under a label.
    #[serde(rename = "ui.progress")]
    UiProgress {
        /// What is counted.
        label: String,
        /// How many there will be.
        total: u64,
    },
    /// Shows rows as a table.
    #[serde(rename = "ui.table")]
    UiTable {
        /// Maps with the same keys.
        rows: Vec<Value>,
    },
    /// Shows a value, a proposal or an adapter's output.
    #[serde(rename = "ui.show")]
    UiShow {
        /// What to show.
        value: Value,
    },
    /// Budgets, used and left.
    #[serde(rename = "run.budget")]
    RunBudget {},
    /// Metrics of the run so far.
    #[serde(rename = "run.metrics")]
    RunMetrics {},
    /// Records a metric that the script measured.
    #[serde(rename = "run.metric")]
    RunMetric {
        /// The metric's name.
        name: String,
        /// Its value, a number.
        value: Value,
    },
    /// A call that the program adds to those above.
    #[serde(rename = "custom")]
    Custom {
        /// The name that the program gave it, such as `tickets.create`.
        name: String,
        /// What its schema asks for.
        params: Value,
    },
}

impl Call {
    /// The call's name, such as `files.read`.
    pub fn name(&self) -> &'static str {
        match self {
            Call::FilesGlob { .. } => "files.glob",
            Call::FilesRead { .. } => "files.read",
            Call::FilesExists { .. } => "files.exists",
            Call::FilesStat { .. } => "files.stat",
            Call::FilesSha256 { .. } => "files.sha256",
            Call::FilesGrep { .. } => "files.grep",
            Call::DtaList {} => "dta.list",
            Call::DtaDescribe { .. } => "dta.describe",
            Call::DtaPropose { .. } => "dta.propose",
            Call::DtaApply { .. } => "dta.apply",
            Call::DtaRun { .. } => "dta.run",
            Call::GateConfirm { .. } => "gate.confirm",
            Call::GateRequire { .. } => "gate.require",
            Call::UiStep { .. } => "ui.step",
            Call::UiProgress { .. } => "ui.progress",
            Call::UiTable { .. } => "ui.table",
            Call::UiShow { .. } => "ui.show",
            Call::RunBudget {} => "run.budget",
            Call::RunMetrics {} => "run.metrics",
            Call::RunMetric { .. } => "run.metric",
            Call::Custom { .. } => "custom",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_is_name_and_arguments() {
        let call = Call::FilesRead { path: "a".to_owned() };
        let wire = serde_json::json!({"name": "files.read", "args": {"path": "a"}});
        assert_eq!(serde_json::to_value(&call).unwrap(), wire);
        assert_eq!(serde_json::from_value::<Call>(wire).unwrap(), call);
        assert_eq!(call.name(), "files.read");
        assert!(serde_json::from_value::<Call>(serde_json::json!({"name": "dta.list", "args": {"x": 1}})).is_err());
    }
}
