//! Plans of a model. Its reply is checked by the validator of all plans.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    heuristic::Request,
    plan::{Plan, plan_schema},
    tools::Tools,
    validate::validate,
};
use crate::Door;
use base::{
    call::{Ask, Call, Parts},
    error::{Code, Error},
};
use system::schema::reply::{Fence, parse};

/// The model that plans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planner {
    /// The provider's name in the policy; if none, the policy's default.
    #[serde(default)]
    pub provider: Option<String>,
    /// The model; if none, the provider's own choice.
    #[serde(default)]
    pub model: Option<String>,
    /// Tokens of the reply at most; 4096 if none.
    #[serde(default)]
    pub max_tokens: Option<u64>,
}

/// The tokens of a plan at most, unless the request says otherwise.
const MOST_TOKENS: u64 = 4096;

const ROLE: &str =
    "You plan changes of a repository. You only request tools and choose their parameters; you change nothing.";
const CONSTRAINTS: &[&str] = &[
    "Request only tools of the list `tools`.",
    "Put each input into `inputs` under the id of its request, and refer to it as `#/inputs/ID`.",
    "An input is {\"target\": {\"glob\": GLOB}, \"params\": PARAMS}; PARAMS fit the tool's schema.",
    "Request no tool that the goal does not need.",
];

/// Asks a model for a plan, once, and checks the reply. Nothing is changed.
///
/// A reply that is no plan, or whose plan does not hold, is `model_failed` with `details.violations`.
pub fn plan_with_model(door: &mut dyn Door, request: &Request, planner: &Planner) -> Result<Plan, Error> {
    let mut tools = Tools::of(door)?;
    let mut described = Vec::new();
    for name in tools.names().map(str::to_owned).collect::<Vec<_>>() {
        let tool = tools.find(door, &name)?;
        described.push(json!({"tool": tool.name, "summary": tool.summary, "params": tool.params()}));
    }
    let parts = Parts {
        role: Some(ROLE.to_owned()),
        goal: request.goal.clone(),
        constraints: CONSTRAINTS.iter().map(|line| (*line).to_owned()).collect(),
        context: vec![
            json!({"name": "tools", "value": described}),
            json!({"name": "findings", "value": request.findings}),
        ],
        schema: Some(plan_schema()),
        ..Parts::default()
    };
    let prompt = door.perform(Call::PromptCompose(Box::new(parts)))?;
    let ask = Ask {
        provider: planner.provider.clone(),
        model: planner.model.clone(),
        prompt: prompt["text"].as_str().map(str::to_owned),
        max_tokens: Some(planner.max_tokens.unwrap_or(MOST_TOKENS)),
        temperature: Some(0.0),
        ..Ask::default()
    };
    let reply = door.perform(Call::LlmComplete(Box::new(ask)))?;
    let text = reply["text"].as_str().unwrap_or_default();
    let value = parse(text, None, Fence::Allowed).map_err(|error| refused(&error))?;
    match validate(door, &value) {
        Ok(_) => Plan::deserialize(&value).map_err(|error| refused(&Error::new(Code::InvalidInput, error.to_string()))),
        Err(error) if error.is_final() || error.code() != Code::InvalidInput => Err(error),
        Err(error) => Err(refused(&error)),
    }
}

/// The error of a reply that is no plan.
fn refused(error: &Error) -> Error {
    let violations = error.details().get("violations").cloned().unwrap_or(Value::Null);
    Error::new(Code::ModelFailed, format!("the model's plan is refused: {}", error.message()))
        .detail("violations", violations)
        .hint("the reply is in the record; plan without a model, or state the goal more exactly")
}
