//! The loop of an agent: ask its model, do what it wants, tell it what came of that, until nothing is left to tell.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    handler::{Action, ActionHandler, Reply, Turn},
    tools::{call_of, tools_of},
};
use crate::{Door, planner::orders, tool::Tool};
use base::{
    call::{Ask, Call, Model, Parts},
    error::{Code, Error, model},
    named::named,
    text::counted,
};
use host::{Agent, AgentState};

/// The request to an agent, and the bounds of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// The request.
    pub request: String,
    /// The most times that its model is asked.
    #[serde(default = "most_turns")]
    pub max_turns: u64,
    /// The most actions that are done.
    #[serde(default = "most_actions")]
    pub max_actions: u64,
    /// The tokens of each reply at most.
    #[serde(default = "most_tokens")]
    pub max_tokens: u64,
    /// The JSON Schema of replies. One that does not fit is told to the agent, and no action follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Map<String, Value>>,
}

fn most_turns() -> u64 {
    20
}

fn most_actions() -> u64 {
    100
}

fn most_tokens() -> u64 {
    4096
}

named! {
    /// The reason for which a conversation ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Stopped {
        /// There was nothing to tell the agent any more.
        NoFeedback = "no_feedback",
        /// The agent is done, or has finished.
        Done = "done",
        /// Its model was asked as often as it may be.
        MaxTurns = "max_turns",
        /// As many actions were done as may be.
        MaxActions = "max_actions",
        /// The agent has spent its budget.
        Budget = "budget",
        /// The agent was dismissed.
        Dismissed = "dismissed",
    }
}

/// A conversation that has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conversed {
    /// The agent.
    pub agent: String,
    /// Its state.
    pub state: AgentState,
    /// The reason for the end.
    pub ended: Stopped,
    /// How often its model was asked.
    pub turns: u64,
    /// How many actions were done or refused.
    pub actions: u64,
    /// The messages of the agent, each as it came.
    pub messages: Vec<String>,
    /// The results of its actions: `{id, tool, params, result | error, …}`.
    pub results: Vec<Value>,
}

/// The members of a result that no agent is told.
const MEASURED: &[&str] = &["cpu_ms", "duration_ms", "peak_bytes"];

/// Converses with an agent until it has nothing to be told, is done, or reaches a bound.
///
/// Each action is a call at the door in the agent's name, with the tools that it has. The agent is told of a refusal, which ends nothing.
pub fn converse(
    door: &mut dyn Door,
    id: &str,
    handler: &mut dyn ActionHandler,
    conversation: &Conversation,
) -> Result<Conversed, Error> {
    let agent = get(door, id)?;
    let tools = tools_of(door, &agent)?;
    door.perform(Call::AgentAct { id: id.to_owned() })?;
    let mut talk = Talk {
        agent: &agent,
        tools: &tools,
        conversation,
        turns: Vec::new(),
        asked: 0,
        messages: Vec::new(),
        actions: 0,
        results: Vec::new(),
        patches: Vec::new(),
    };
    let stopped = match talk.go_on(door, handler) {
        Err(error) if is_own_budget(&error, id) => Ok(Stopped::Budget),
        Err(error) if ends(&error) => return Err(error),
        stopped => stopped,
    };
    let ended = stopped.as_ref().map_or_else(Error::message, |stopped| stopped.as_str());
    door.perform(Call::AgentRest { ended: ended.to_owned() })?;
    let Talk { asked, messages, actions, results, .. } = talk;
    let ended = stopped?;
    let state = if ended == Stopped::Dismissed { AgentState::Dismissed } else { get(door, id)?.state };
    Ok(Conversed { agent: id.to_owned(), state, ended, turns: asked, actions, messages, results })
}

fn get(door: &mut dyn Door, id: &str) -> Result<Agent, Error> {
    let agent = door.perform(Call::AgentGet { id: id.to_owned() })?;
    serde_json::from_value(agent).map_err(|error| Error::new(Code::Internal, format!("no agent can be read: {error}")))
}

/// True for an error that the run stops or waits for, which no agent is told.
fn ends(error: &Error) -> bool {
    error.code().stops() || error.code().waits()
}

/// True for the error of an agent that has spent what it may.
fn is_own_budget(error: &Error, id: &str) -> bool {
    error.code() == Code::BudgetExhausted && error.details().get("agent").is_some_and(|agent| *agent == id)
}

/// A conversation on its way.
struct Talk<'t> {
    agent: &'t Agent,
    tools: &'t [Tool],
    conversation: &'t Conversation,
    /// The turns so far, as the agent is told them.
    turns: Vec<Value>,
    /// How often its model has answered.
    asked: u64,
    messages: Vec<String>,
    actions: u64,
    /// The results of its actions, with their parameters.
    results: Vec<Value>,
    /// The patches that adapters have proposed to it.
    patches: Vec<String>,
}

impl Talk<'_> {
    fn go_on(&mut self, door: &mut dyn Door, handler: &mut dyn ActionHandler) -> Result<Stopped, Error> {
        while self.asked < self.conversation.max_turns {
            let reply = self.ask(door, handler);
            self.asked += 1;
            let reply = match reply {
                Err(error) if self.conversation.schema.is_some() && model::is_of_reply(&error) => {
                    self.turns.push(json!({"reply": null, "results": [], "feedback": error.message()}));
                    continue;
                }
                reply => reply?,
            };
            let Turn { message, actions, feedback } = handler.handle(&reply)?;
            self.messages.push(message);
            let is_over = actions.is_empty() && feedback.is_none();
            let mut results = Vec::new();
            let mut stopped = None;
            for action in &actions {
                if self.actions >= self.conversation.max_actions {
                    stopped = Some(Stopped::MaxActions);
                    break;
                }
                self.actions += 1;
                let (result, end) = self.act(door, action)?;
                let mut whole = result.clone();
                whole["params"] = action.params.clone();
                self.results.push(whole);
                results.push(result);
                if end.is_some() {
                    stopped = end;
                    break;
                }
            }
            self.turns.push(json!({"reply": reply.text, "results": results, "feedback": feedback}));
            if let Some(stopped) = stopped.or(is_over.then_some(Stopped::NoFeedback)) {
                return Ok(stopped);
            }
        }
        Ok(Stopped::MaxTurns)
    }

    /// Asks the model, with all that it has to know.
    fn ask(&self, door: &mut dyn Door, handler: &dyn ActionHandler) -> Result<Reply, Error> {
        let Model { provider, model } = self.agent.model.clone().unwrap_or_default();
        let definitions: Vec<Value> = self.tools.iter().map(Tool::definition).collect();
        let native = handler.is_native();
        let composed = door.perform(Call::PromptCompose(Box::new(self.parts(&definitions, handler))))?;
        let ask = Ask {
            provider,
            model,
            prompt: composed["text"].as_str().map(str::to_owned),
            tools: if native { definitions } else { Vec::new() },
            max_tokens: Some(self.conversation.max_tokens),
            temperature: Some(0.0),
            schema: self.conversation.schema.clone().map(Value::Object),
            ..Ask::default()
        };
        let reply = door.perform(Call::LlmComplete(Box::new(ask)))?;
        Reply::deserialize(&reply).map_err(|error| Error::new(Code::Internal, format!("no reply can be read: {error}")))
    }

    fn parts(&self, definitions: &[Value], handler: &dyn ActionHandler) -> Parts {
        let Agent { name, assignment, commitments, .. } = self.agent;
        let mut constraints: Vec<String> = orders(self.adapters()).lines().map(str::to_owned).collect();
        let instructions = handler.instructions();
        constraints.extend(Some(instructions).filter(|text| !text.is_empty()));
        let mut context = Vec::new();
        context.extend(assignment.iter().map(|text| json!({"name": "assignment", "text": text})));
        if !commitments.is_empty() {
            let count = counted(commitments.len(), "commitment");
            let count = format!(
                "You are done when {count} of yours {}.",
                if commitments.len() == 1 { "holds" } else { "hold" }
            );
            context.push(json!({"name": "commitments", "text": count}));
        }
        if !handler.is_native() {
            context.push(json!({"name": "tools", "value": definitions}));
        }
        if !self.turns.is_empty() {
            context.push(json!({"name": "turns", "value": self.turns}));
        }
        Parts {
            role: Some(format!("You are the agent {name}. You change nothing but by your tools.")),
            goal: self.conversation.request.clone(),
            constraints,
            context,
            ..Parts::default()
        }
    }

    /// The adapters that the agent has by name.
    fn adapters(&self) -> Vec<&str> {
        let named = self.agent.tools.iter().flatten().filter_map(|tool| tool.strip_prefix("dta_"));
        let mut adapters: Vec<&str> =
            named.filter_map(|tool| tool.strip_suffix("_propose").or_else(|| tool.strip_suffix("_apply"))).collect();
        adapters.dedup();
        adapters
    }

    /// Does one action; what the agent is told of it, and the reason if the conversation ends with it.
    fn act(&mut self, door: &mut dyn Door, action: &Action) -> Result<(Value, Option<Stopped>), Error> {
        let Action { id, tool, .. } = action;
        let answer = call_of(self.agent, self.tools, action).and_then(|call| door.perform(call));
        match answer {
            Ok(mut reply) => {
                // Measures of a command differ each time, and a request that tells of them is another one.
                if let Some(members) = reply.as_object_mut() {
                    members.retain(|name, _| !MEASURED.contains(&name.as_str()));
                }
                self.patches.extend(reply["patch"].as_str().map(str::to_owned));
                let is_done = tool == "report_done" && matches!(reply["state"].as_str(), Some("done" | "finished"));
                Ok((json!({"id": id, "tool": tool, "result": reply}), is_done.then_some(Stopped::Done)))
            }
            Err(error) if error.details().contains_key("dismissed") => {
                Ok((json!({"id": id, "tool": tool, "error": error.message()}), Some(Stopped::Dismissed)))
            }
            Err(error) if ends(&error) => Err(error),
            Err(error) => Ok((self.refusal(action, &error), None)),
        }
    }

    /// An error as the agent is told it; of a free write to an adapter's files with the orders, and the patch to attach.
    fn refusal(&self, action: &Action, error: &Error) -> Value {
        let Action { id, tool, .. } = action;
        let mut told = json!({"id": id, "tool": tool, "error": error.message()});
        if let Some(hint) = error.hint_text() {
            told["hint"] = json!(hint);
        }
        let rules = error.details().get("rules").and_then(Value::as_array);
        if rules.is_some_and(|rules| rules.iter().any(|rule| rule == "adapters.strict_tools")) {
            told["orders"] = json!(orders(self.adapters()));
            if let Some(patch) = self.patches.last() {
                told["patch"] = json!(patch);
            }
        }
        told
    }
}
