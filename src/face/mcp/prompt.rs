//! Prompts: the approved workflows, and the orders to whoever makes changes here.

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value, json};

use super::{
    script::Runnable,
    tool::{Offer, RUN_SCRIPT},
};
use base::error::{Code, Error};
use flow::{planner, tool};

/// The prompt with the orders.
const ORDERS: &str = "orders";

/// The prompts, those of scripts by their paths.
pub(super) fn list(scripts: &[Runnable]) -> Vec<Prompt> {
    let orders = Prompt::new(ORDERS, Some("The orders to whoever makes changes here."), None);
    let of = |script: &Runnable| {
        let argument = |(name, doc, required): (String, Option<String>, bool)| {
            let argument = PromptArgument::new(name).with_required(required);
            match doc {
                Some(doc) => argument.with_description(doc),
                None => argument,
            }
        };
        let arguments = script.arguments().into_iter().map(argument).collect();
        Prompt::new(script.path.clone(), Some(script.summary.clone()), Some(arguments))
    };
    [orders].into_iter().chain(scripts.iter().map(of)).collect()
}

/// A prompt with its arguments. `not_found` if there is none of that name.
pub(super) fn get(
    name: &str,
    arguments: &Map<String, Value>,
    scripts: &[Runnable],
    tools: &[Offer],
) -> Result<GetPromptResult, Error> {
    let text = match scripts.iter().find(|script| script.path == name) {
        Some(script) => request(script, arguments)?,
        None if name == ORDERS => {
            let adapters = tools.iter().filter_map(|offer| tool::adapter(&offer.tool.name)).map(|(name, _)| name);
            planner::orders(adapters)
        }
        None => return Err(Error::new(Code::NotFound, format!("there is no prompt `{}`", name.escape_debug()))),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

/// The request to run a script.
fn request(script: &Runnable, arguments: &Map<String, Value>) -> Result<String, Error> {
    let known = script.arguments();
    let missing = known.iter().find(|(name, _, required)| *required && !arguments.contains_key(name));
    if let Some((name, ..)) = missing {
        return Err(Error::new(Code::InvalidInput, format!("the prompt needs the argument `{name}`")));
    }
    let call = json!({"script": script.path, "args": arguments, "dry_run": true});
    let call = serde_json::to_string(&call).unwrap_or_default();
    Ok(format!(
        "{}\n\nCall the tool `{RUN_SCRIPT}` with {call}. Show me the change. When I agree, call it again without `dry_run`.",
        script.summary
    ))
}
