//! The form of a plan, and its schema.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use base::error::{Code, Error};
use system::schema::Schema;

/// A plan: the adapters that a goal needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The goal, in words.
    pub goal: String,
    /// The requested adapters, in the order in which they run.
    pub tool_requests: Vec<ToolRequest>,
    /// Inputs that stand in the plan itself, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Value>,
    /// The nodes of the graph that carries the plan out; if there are none, each request is tried, confirmed and applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Value>,
    /// Adapters that were considered and are not requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// A request for an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRequest {
    /// The name of the request in the plan, such as `T1`.
    pub id: String,
    /// The adapter.
    pub tool: String,
    /// The reason, in words.
    pub reason: String,
    /// The input: `#/inputs/NAME`, or the path of a JSON file beneath the root.
    pub inputs_ref: String,
}

/// An adapter that is not requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The adapter.
    pub tool: String,
    /// The reason, in words.
    pub reason: String,
}

/// The JSON Schema of a plan.
pub fn plan_schema() -> Value {
    let text = |meaning: &str| json!({"type": "string", "description": meaning});
    let id =
        |meaning: &str| json!({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_.-]{0,63}$", "description": meaning});
    let request = json!({
        "type": "object", "additionalProperties": false, "required": ["id", "tool", "reason", "inputs_ref"],
        "properties": {
            "id": id("The name of the request, such as `T1`."),
            "tool": text("The adapter."),
            "reason": text("The reason."),
            "inputs_ref": text("The input: `#/inputs/NAME`, or the path of a JSON file."),
        },
    });
    let skipped = json!({
        "type": "object", "additionalProperties": false, "required": ["tool", "reason"],
        "properties": {"tool": text("The adapter."), "reason": text("The reason.")},
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of adapters",
        "description": "Requests of adapters, each with a reference to its input. `nrv planner validate` checks the inputs too.",
        "type": "object", "additionalProperties": false, "required": ["goal", "tool_requests"],
        "properties": {
            "goal": text("The goal."),
            "tool_requests": {"type": "array", "maxItems": MOST, "items": request},
            "inputs": {
                "type": "object", "maxProperties": MOST, "description": "Inputs: the invocation of an adapter, with its `target` and `params`.",
                "additionalProperties": {"type": "object"},
            },
            "steps": {
                "type": "array", "description": "The nodes of the graph that carries the plan out; without any, each request is tried, confirmed and applied.",
                "items": step_schema(),
            },
            "skipped": {"type": "array", "description": "Adapters that were considered.", "items": skipped},
        },
    })
}

/// The JSON Schema of a step.
fn step_schema() -> Value {
    let text = |meaning: &str| json!({"type": "string", "description": meaning});
    let texts = |meaning: &str| json!({"type": "array", "items": {"type": "string"}, "description": meaning});
    let kinds = ["request", "dta", "edit", "exec", "gate", "agent"];
    json!({
        "type": "object", "additionalProperties": false, "required": ["id"],
        "oneOf": kinds.map(|kind| json!({"required": [kind]})),
        "properties": {
            "id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$", "description": "The name of the step."},
            "request": text("The request that it carries out."),
            "dta": text("The adapter that it runs."),
            "edit": text("The tool of the micro-edit that it makes."),
            "exec": texts("The command that it runs: the program and its arguments."),
            "gate": text("The question that it asks."),
            "agent": {"type": "object", "description": "The agent that it summons; `input` has the `request`."},
            "input": {"type": "object", "description": "The input of that; `of` names the step whose proposal is applied or confirmed."},
            "after": texts("The steps that it waits for."),
            "needs": {"enum": ["verified", "done"], "description": "The state that those must have reached."},
            "parallelizable": {"type": "boolean", "description": "False if it waits until the steps in front of it have ended."},
        },
    })
}

/// Reads a plan, and checks its form.
pub(super) fn read_plan(plan: &Value) -> Result<Plan, Error> {
    Schema::compile(&plan_schema())?.check(plan).map_err(|error| {
        let wrong = Error::new(Code::InvalidInput, format!("the plan has another form: {error}"));
        error.details().iter().fold(wrong, |wrong, (key, value)| wrong.detail(key, value.clone()))
    })?;
    Plan::deserialize(plan)
        .map_err(|error| Error::new(Code::InvalidInput, format!("the plan has another form: {error}")))
}

/// The most requests that a plan may have.
const MOST: usize = 256;
