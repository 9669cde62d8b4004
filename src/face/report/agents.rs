//! The agents of a run.

use serde_json::json;

use super::model::Worker;
use gate::secrets;
use host::{Agent, Context};
use record::RunFolder;

/// The agents of a run; none if its calls can't be read, which its verification tells.
pub(super) fn of(context: &Context, folder: &RunFolder) -> Vec<Worker> {
    let agents = host::agents(context, folder.id()).unwrap_or_default();
    let shown = |text: &str| {
        let mut text = json!(text);
        secrets::redact_json(&mut text, context.rules.secrets());
        text.as_str().unwrap_or_default().to_owned()
    };
    let worker = |agent: &Agent| Worker {
        name: shown(&agent.name),
        state: agent.state.as_str().to_owned(),
        assignment: agent.assignment.as_deref().map(shown),
        parent: agents.iter().find(|one| agent.parent.as_ref() == Some(&one.id)).map(|parent| shown(&parent.name)),
        commitments: agent.commitments.len(),
        calls: agent.spent.calls.unwrap_or_default(),
    };
    agents.iter().map(worker).collect()
}
