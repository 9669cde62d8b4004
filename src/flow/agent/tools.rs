//! The tools of agents, and the calls that they are.

use serde_json::{Value, json};

use super::handler::Action;
use crate::{
    base::{
        call::{Call, Promise, Summon},
        error::{Code, Error},
    },
    flow::{
        Door,
        planner::Tools,
        tool::{self, Tool, find, text_of, texts, texts_of},
    },
    host::Agent,
};

/// The tools that an agent has, sorted by name: the standard ones, and of the others those that it was given.
pub fn tools_of(door: &mut dyn Door, agent: &Agent) -> Result<Vec<Tool>, Error> {
    let mut tools = tool::standard();
    tools.extend(own());
    let mut adapters = Tools::of(door)?;
    for name in adapters.names().map(str::to_owned).collect::<Vec<_>>() {
        if ["propose", "apply"].iter().any(|phase| agent.has(&format!("dta_{name}_{phase}"))) {
            let adapter = adapters.find(door, &name)?;
            tools.extend(tool::of_adapter(&adapter.name, &adapter.summary, &adapter.input_schema));
        }
    }
    tools.retain(|tool| agent.has(&tool.name));
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tools)
}

/// The tools that are about the agent itself.
fn own() -> [Tool; 4] {
    let text = || json!({"type": "string"});
    [
        Tool::new(
            "summon_servitor",
            "Summons an agent of your own. It has no more tools than you.",
            &[],
            json!({"assignment": text(), "name": text(), "tools": texts()}),
        ),
        Tool::new("dismiss_servitor", "Dismisses an agent that you have summoned.", &["id"], json!({"id": text()})),
        Tool::new(
            "commit",
            "Promises a condition: you are done only if it holds. The assertion is one of file_exists, count, json_valid, tree_unchanged, command.",
            &["description", "assertion"],
            json!({"description": text(), "assertion": {"type": "object"}}),
        ),
        Tool::new(
            "report_done",
            "Says that your work is done. All of your commitments are looked at then.",
            &[],
            json!({}),
        ),
    ]
}

/// The call that an action is, of the agent whose tools these are. `invalid_input` if it has no such tool, or the parameters don't fit.
pub(super) fn call_of(agent: &Agent, tools: &[Tool], action: &Action) -> Result<Call, Error> {
    let Action { tool: name, params, .. } = action;
    let tool = find(tools, name)?;
    let params = if params.is_null() { json!({}) } else { params.clone() };
    tool.check(&params)?;
    Ok(match name.as_str() {
        "summon_servitor" => Call::AgentSummon(Box::new(Summon {
            name: text_of(&params, "name"),
            assignment: text_of(&params, "assignment"),
            tools: params.get("tools").map(|_| texts_of(&params, "tools")),
            model: agent.model.clone(),
            ..Summon::default()
        })),
        "commit" => Call::AgentCommit { id: agent.id.clone(), commitment: promise(&params) },
        "report_done" => Call::AgentReport { id: agent.id.clone() },
        _ => tool::call_of(name, &params)?.ok_or_else(|| Error::new(Code::Internal, format!("`{name}` is no call")))?,
    })
}

fn promise(params: &Value) -> Promise {
    let description = text_of(params, "description").unwrap_or_default();
    Promise { description, assertion: params["assertion"].clone(), timeout_ms: None }
}
