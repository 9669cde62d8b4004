//! The tools of agents, and the calls that they are.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::handler::Action;
use crate::{
    Door,
    planner::Tools,
    tool::{self, Tool, find, text_of, texts, texts_of},
};
use base::{
    call::{Call, Promise, Summon, tool_of_call},
    error::{Code, Error},
};
use host::Agent;

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
    tools.extend(served(door, agent)?);
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tools)
}

/// The tools of MCP servers that the agent was given by name.
fn served(door: &mut dyn Door, agent: &Agent) -> Result<Vec<Tool>, Error> {
    let names: BTreeSet<&String> = agent.tools.iter().flatten().collect();
    let servers: BTreeSet<&str> = names.iter().filter_map(|name| Some(tool_of_call(name)?.0)).collect();
    let mut tools = Vec::new();
    for server in servers {
        let rows = door.perform(Call::McpTools { server: server.to_owned() })?;
        tools.extend(rows.as_array().into_iter().flatten().map(|row| tool::of_server(server, row)));
    }
    tools.retain(|tool| tool.served.as_ref().is_some_and(|call| names.contains(call)));
    let mut known = BTreeSet::new();
    if let Some(twice) = tools.iter().find(|tool| !known.insert(&tool.name)) {
        let message = format!("several tools of `{}` are `{}` for its model", agent.name, twice.name);
        return Err(Error::new(Code::InvalidInput, message).hint("give it only one of them"));
    }
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
    if let Some(name) = &tool.served {
        // Its server checks the parameters.
        return Ok(Call::Custom { name: name.clone(), params });
    }
    tool.check(&params)?;
    let called =
        |name: String| tools.iter().find(|tool| tool.name == name).and_then(|tool| tool.served.clone()).unwrap_or(name);
    Ok(match name.as_str() {
        "summon_servitor" => Call::AgentSummon(Box::new(Summon {
            name: text_of(&params, "name"),
            assignment: text_of(&params, "assignment"),
            tools: params.get("tools").map(|_| texts_of(&params, "tools").into_iter().map(called).collect()),
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
