//! Plans without a model: an adapter is requested if it finds work to do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    plan::{Plan, Skipped, ToolRequest},
    tools::{Tool, Tools},
};
use crate::Door;
use base::{
    call::Call,
    error::{Code, Error},
};

/// The basis of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The goal, in words. Only a model reads it.
    pub goal: String,
    /// Inputs of adapters by name, `{target, params}` each, or a list of them. If there are none, each adapter whose parameters may
    /// all be left out looks at `**`.
    #[serde(default)]
    pub findings: BTreeMap<String, Value>,
}

/// Requests each adapter that has work to do, in the order of their names. Nothing is changed.
///
/// An adapter says so by a count of its baseline; `nrv dta describe` names it. Without such a count its proposal tells. The reason of
/// a request is that count. Adapters without work are listed in `skipped`. A finding for an adapter that is not approved is
/// `invalid_input`, and a finding that the adapter can't take is its error.
pub fn plan(door: &mut dyn Door, request: &Request) -> Result<Plan, Error> {
    let mut tools = Tools::of(door)?;
    for name in request.findings.keys() {
        tools.find(door, name)?;
    }
    let mut plan = Plan { goal: request.goal.clone(), ..Plan::default() };
    for name in tools.names().map(str::to_owned).collect::<Vec<_>>() {
        let tool = tools.find(door, &name)?;
        let is_given = request.findings.contains_key(&name);
        let inputs = match request.findings.get(&name) {
            Some(Value::Array(inputs)) => inputs.clone(),
            Some(input) => vec![input.clone()],
            None if needs_params(&tool) || !request.findings.is_empty() => {
                plan.skipped.push(Skipped { tool: name, reason: "no finding has parameters for it".to_owned() });
                continue;
            }
            None => vec![json!({"target": {"glob": "**"}, "params": {}})],
        };
        for input in inputs {
            match work(door, &tool, &input) {
                Ok(Some(reason)) => add(&mut plan, &tool, reason, input),
                Ok(None) => {
                    plan.skipped.push(Skipped { tool: name.clone(), reason: "it has nothing to do".to_owned() })
                }
                Err(error) if error.is_final() => return Err(error),
                // An input that somebody gave has to be right. A change that is refused is none to request.
                Err(error) if is_given && error.code() != Code::VerificationFailed => return Err(error),
                Err(error) => plan.skipped.push(Skipped { tool: name.clone(), reason: error.message().to_owned() }),
            }
        }
    }
    Ok(plan)
}

fn add(plan: &mut Plan, tool: &Tool, reason: String, input: Value) {
    let id = format!("T{}", plan.tool_requests.len() + 1);
    let inputs_ref = format!("#/inputs/{id}");
    plan.tool_requests.push(ToolRequest { id: id.clone(), tool: tool.name.clone(), reason, inputs_ref });
    plan.inputs.insert(id, input);
}

/// True if the schema of the parameters demands some.
fn needs_params(tool: &Tool) -> bool {
    let schema = tool.params();
    let is_filled = |key: &str| schema[key].as_array().is_some_and(|list| !list.is_empty());
    ["required", "anyOf", "oneOf", "allOf"].into_iter().any(is_filled)
}

/// The work that the adapter finds, in words; none if there is none.
fn work(door: &mut dyn Door, tool: &Tool, input: &Value) -> Result<Option<String>, Error> {
    let mut input = input.clone();
    if let Some(map) = input.as_object_mut() {
        map.insert("mode".to_owned(), json!("dry-run"));
    }
    let proposal = match door.perform(Call::DtaPropose { tool: tool.name.clone(), input }) {
        Err(error) if error.code() == Code::NoMatch => return Ok(None),
        proposed => proposed?,
    };
    let files = proposal["files"].as_array().map_or(0, Vec::len);
    Ok(match &tool.work {
        Some(count) => {
            let found = proposal["baseline"][count.as_str()].as_u64().unwrap_or(0);
            (found > 0).then(|| format!("{count}: {found}"))
        }
        None => (files > 0).then(|| format!("files that change: {files}")),
    })
}
