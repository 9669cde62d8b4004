//! The nodes of a plan: its steps, or for each request a dry run, a gate and the change.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    input::{named, parsed},
    plan::{Plan, read_plan},
};
use base::{
    call::{Node, check_nodes},
    error::{Code, Error},
    path::prefix,
};

/// An adapter and its input, by the request.
pub(super) type Inputs = BTreeMap<String, (String, Value)>;

/// The nodes of a plan as it states them, without a look at the adapters. `read` gives the text of a file.
pub fn stated_nodes(plan: &Value, read: &dyn Fn(&str) -> Result<String, Error>) -> Result<Vec<Node>, Error> {
    let plan = read_plan(plan)?;
    let mut inputs = Inputs::new();
    for request in &plan.tool_requests {
        let input = match named(&plan, &request.inputs_ref)? {
            Some(input) => input.clone(),
            None => parsed(&request.inputs_ref, &read(&request.inputs_ref)?)?,
        };
        inputs.insert(request.id.clone(), (request.tool.clone(), input));
    }
    nodes(&plan, &inputs)
}

/// The nodes of a plan whose inputs are these.
pub(super) fn nodes(plan: &Plan, inputs: &Inputs) -> Result<Vec<Node>, Error> {
    let nodes = match plan.steps.is_empty() {
        true => chains(plan, inputs),
        false => plan.steps.iter().map(|step| step_node(step, inputs)).collect::<Result<_, _>>()?,
    };
    check_nodes(&nodes)?;
    Ok(nodes)
}

/// The node of a step.
fn step_node(step: &Value, inputs: &Inputs) -> Result<Node, Error> {
    let mut step = step.clone();
    let request = step.as_object_mut().and_then(|step| step.remove("request"));
    if let Some(request) = request {
        let id = request.as_str().unwrap_or_default();
        let Some((tool, input)) = inputs.get(id) else {
            return Err(Error::new(Code::InvalidInput, format!("the plan has no request `{}`", id.escape_debug()))
                .hint("`request` of a step is the id of one of `tool_requests`"));
        };
        if step.get("dta").is_some() {
            return Err(Error::new(Code::InvalidInput, "a step has `request` and `dta`").hint("leave one of them out"));
        }
        step["dta"] = json!(tool);
        // A step that applies the proposal of another has its input there.
        if step["input"].get("of").is_none() {
            let mut whole = input.clone();
            whole.as_object_mut().map(|whole| whole.remove("mode"));
            for (key, value) in step["input"].as_object().into_iter().flatten() {
                whole[key] = value.clone();
            }
            step["input"] = whole;
        }
    }
    Node::deserialize(&step).map_err(|error| {
        Error::new(Code::InvalidInput, format!("a step of the plan can't be used: {error}")).hint(
            "it is a node: `{\"id\", \"request\" | \"dta\" | \"edit\" | \"exec\" | \"gate\", \"input\", \"after\"}`",
        )
    })
}

/// A dry run, a gate and the change for each request. Requests that may change the same files come one after another.
fn chains(plan: &Plan, inputs: &Inputs) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut applied: Vec<(String, Vec<String>)> = Vec::new();
    for request in &plan.tool_requests {
        let Some((tool, input)) = inputs.get(&request.id) else { continue };
        let (name, prefixes) = (request.id.replace('.', "-"), prefixes(input));
        let [preview, gate, apply] = ["preview", "gate", "apply"].map(|part| format!("{name}-{part}"));
        let mut input = input.clone();
        input["mode"] = json!("dry-run");
        let after = applied.iter().filter(|(_, others)| prefix::overlap(others, &prefixes)).map(|(id, _)| id.clone());
        nodes.push(Node { after: after.collect(), dta: Some(tool.clone()), input: Some(input), ..Node::new(&preview) });
        let of = Some(json!({"of": preview}));
        let question = format!("apply {tool}: {}", request.reason);
        nodes.push(Node { after: vec![preview], gate: Some(question), input: of.clone(), ..Node::new(&gate) });
        nodes.push(Node { after: vec![gate], dta: Some(tool.clone()), input: of, ..Node::new(&apply) });
        applied.push((apply, prefixes));
    }
    nodes
}

/// The folders or files beneath which an invocation works; the whole tree if that can't be told.
fn prefixes(input: &Value) -> Vec<String> {
    let globs: Vec<&str> = match &input["target"]["glob"] {
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let is_root = matches!(input["target"]["repo_path"].as_str(), None | Some("." | "./"));
    let is_known = is_root && globs.iter().any(|glob| !glob.starts_with('!'));
    if is_known { prefix::prefixes(&globs) } else { vec![String::new()] }
}
