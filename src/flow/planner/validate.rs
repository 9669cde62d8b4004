//! Checks a plan, whoever made it: its form, its adapters, and each input against the schema of its adapter.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    input,
    nodes::{Inputs, nodes},
    orders,
    plan::{Plan, ToolRequest, read_plan},
    tools::Tools,
};
use crate::Door;
use base::{
    call::Node,
    error::{Code, Error},
    hash::Sha256,
};

/// A plan that holds: every request names an approved adapter and has an input that fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// The goal.
    pub goal: String,
    /// The requests with their inputs.
    pub tool_requests: Vec<CheckedRequest>,
    /// The orders to whoever carries the plan out.
    pub orders: String,
}

/// A request with its input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedRequest {
    /// The name of the request.
    pub id: String,
    /// The adapter.
    pub tool: String,
    /// The reason.
    pub reason: String,
    /// The reference to the input.
    pub inputs_ref: String,
    /// The invocation, in a dry run.
    pub input: Value,
    /// The hash of the file that the input comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_sha256: Option<Sha256>,
}

/// Checks a plan. Inputs in files are read through the door.
///
/// A plan that does not hold is `invalid_input`. `details.violations` has every reason, each with a JSON Pointer into the plan.
pub fn validate(door: &mut dyn Door, plan: &Value) -> Result<Checked, Error> {
    let plan = read_plan(plan)?;
    let mut tools = Tools::of(door)?;
    let mut violations = Vec::new();
    let mut checked = Vec::new();
    let mut ids = BTreeSet::new();
    for (at, request) in plan.tool_requests.iter().enumerate() {
        if !ids.insert(&request.id) {
            violations.push(violation(at, "id", &twice(&request.id)));
        }
        match check(door, &mut tools, &plan, request) {
            Ok(request) => checked.push(request),
            Err((_, error)) if error.is_final() => return Err(error),
            Err((field, error)) => violations.push(violation(at, field, &error)),
        }
    }
    let Some(first) = violations.first() else {
        let orders = orders(checked.iter().map(|request| request.tool.as_str()));
        let checked = Checked { goal: plan.goal.clone(), tool_requests: checked, orders };
        nodes(&plan, &checked.inputs())?;
        return Ok(checked);
    };
    let more = if violations.len() > 1 { format!(", and {} more", violations.len() - 1) } else { String::new() };
    let message = format!("the plan can't be used: {}{more}", first["message"].as_str().unwrap_or_default());
    let hint =
        first["hint"].as_str().unwrap_or("`nrv dta list` shows the adapters, `nrv dta describe NAME` their schemas");
    Err(Error::new(Code::InvalidInput, message).hint(hint.to_owned()).detail("violations", violations))
}

/// Checks a plan, and returns its nodes. Requests of a plan without steps become three nodes each: `ID-preview`, `ID-gate`, `ID-apply`.
///
/// A step is a node; it may have `request`, the id of a request, in place of `dta`, and `input` then only adds to the request's input.
pub fn to_dag(door: &mut dyn Door, plan: &Value) -> Result<Vec<Node>, Error> {
    let checked = validate(door, plan)?;
    nodes(&read_plan(plan)?, &checked.inputs())
}

impl Checked {
    /// The adapter and the input of each request.
    fn inputs(&self) -> Inputs {
        let row = |request: &CheckedRequest| (request.id.clone(), (request.tool.clone(), request.input.clone()));
        self.tool_requests.iter().map(row).collect()
    }
}

/// The request with its input, or the field that is wrong.
fn check(
    door: &mut dyn Door,
    tools: &mut Tools,
    plan: &Plan,
    request: &ToolRequest,
) -> Result<CheckedRequest, (&'static str, Error)> {
    let tool = tools.find(door, &request.tool).map_err(|error| ("tool", error))?;
    let found = input::resolve(door, plan, &request.inputs_ref).map_err(|error| ("inputs_ref", error))?;
    let input = input::invocation(&tool, &found.value).map_err(|error| ("inputs_ref", error))?;
    let ToolRequest { id, tool, reason, inputs_ref } = request.clone();
    Ok(CheckedRequest { id, tool, reason, inputs_ref, input, input_sha256: found.sha256 })
}

fn twice(id: &str) -> Error {
    Error::new(Code::InvalidInput, format!("two requests have the id `{id}`"))
}

fn violation(at: usize, field: &str, error: &Error) -> Value {
    let mut violation = json!({"pointer": format!("/tool_requests/{at}/{field}"), "message": error.message()});
    if let Some(hint) = error.hint_text() {
        violation["hint"] = json!(hint);
    }
    if let Some(inner) = error.details().get("violations") {
        violation["violations"] = inner.clone();
    }
    violation
}
