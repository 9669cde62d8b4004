//! Agents as calls name them: how one is summoned, what it promises, and which calls are tools of one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Call;
use crate::json;

/// How an agent is summoned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summon {
    /// Its name, unique among the living; one is chosen if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its assignment; with one it works at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<String>,
    /// The conditions that have to hold before it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commitments: Vec<Promise>,
    /// The tools that it has beside the standard ones; those of its parent if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The model that it is.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::keyed")]
    pub model: Option<Model>,
    /// The agent that summons it; none for a script's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The most that it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::keyed")]
    pub budget: Option<Spending>,
}

/// The provider and model of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The provider's name in the policy; if none, the policy's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model; if none, the provider's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The budget of an agent, or what it has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spending {
    /// Calls, those to its model among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Tokens of its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The cost of its model by the policy's prices, in millionths of their unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_millionths: Option<u64>,
}

/// A condition that has to hold, and how that is seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The condition, in words.
    pub description: String,
    /// The assertion that proves it.
    pub assertion: Value,
    /// The time limit of the check, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The tools that every agent has.
pub const STANDARD_TOOLS: &[&str] =
    &["commit", "dismiss_servitor", "files_glob", "files_grep", "files_read", "report_done", "summon_servitor"];

impl Call {
    /// The tool of an agent that the call is; none for calls that belong to no tool, such as those to the agent's own model.
    pub fn agent_tool(&self) -> Option<String> {
        Some(match self {
            Call::FilesGlob { .. } => "files_glob".to_owned(),
            Call::FilesRead { .. } | Call::FilesExists { .. } | Call::FilesStat { .. } | Call::FilesSha256 { .. } => {
                "files_read".to_owned()
            }
            Call::FilesGrep { .. } => "files_grep".to_owned(),
            Call::CodeFind(_) => "code_find".to_owned(),
            Call::EditFind(_) => "edit_find".to_owned(),
            Call::EditMake(edit) => edit.tool.as_str().to_owned(),
            Call::ApplyCreate { .. } => "apply_create".to_owned(),
            Call::ApplyRemove { .. } | Call::ApplyRename { .. } | Call::ApplyWrite { .. } => "apply_write".to_owned(),
            Call::ApplyDiff { .. } | Call::ApplyPatch { .. } | Call::ApplyPlanned { .. } => "apply_diff".to_owned(),
            Call::ApplyPlan { .. } => "apply_plan".to_owned(),
            Call::ExecRun(_) => "exec_run".to_owned(),
            Call::DtaDescribe { tool } | Call::DtaPropose { tool, .. } => format!("dta_{tool}_propose"),
            Call::DtaApply { tool, .. } | Call::DtaRun { tool, .. } => format!("dta_{tool}_apply"),
            Call::Custom { name, .. } => name.clone(),
            Call::AgentSummon(_) => "summon_servitor".to_owned(),
            Call::AgentDismiss { .. } => "dismiss_servitor".to_owned(),
            Call::AgentCommit { .. } => "commit".to_owned(),
            Call::AgentReport { .. } => "report_done".to_owned(),
            _ => return None,
        })
    }
}
