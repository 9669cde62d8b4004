//! The agents of a run: who lives, what each may do, and which of them acts.
//!
//! The registry follows from the calls and their answers alone. A run that goes on makes its calls again and gets the answers of the
//! record, so that its agents are restored with them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::{
    call::{Call, Model, STANDARD_TOOLS, Spending, tool_of_call},
    error::{Code, Error},
    named::named,
};

/// How many bytes of a prompt count as a token where nobody has counted.
const BYTES_OF_A_TOKEN: u64 = 4;

/// The detail of the error of a call about an agent that the program has dismissed meanwhile.
pub(super) const DISMISSED: &str = "dismissed";

named! {
    /// The state of an agent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum AgentState {
        /// It has no assignment yet.
        #[default]
        Idle = "idle",
        /// It has work.
        Working = "working",
        /// It says that it is done, and its commitments are looked at.
        Verifying = "verifying",
        /// All of its commitments hold.
        Done = "done",
        /// It says that it is done, and has promised nothing.
        Finished = "finished",
        /// The run has ended before it was done.
        Failed = "failed",
        /// It was dismissed.
        Dismissed = "dismissed",
    }
}

/// An agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its id, a UUID from the seed of the run.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: AgentState,
    /// Its assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<String>,
    /// The agent that summoned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its tools beside the standard ones; none if it has all but those of MCP servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// The ids of its commitments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commitments: Vec<String>,
    /// The most that it may spend.
    #[serde(default)]
    pub budget: Spending,
    /// The amount that it has spent.
    #[serde(default)]
    pub spent: Spending,
}

impl Agent {
    /// True if it has the tool. A tool of an MCP server, by the name of its call, it has only if that is among its `tools`.
    pub fn has(&self, tool: &str) -> bool {
        let has_unnamed = tool_of_call(tool).is_none();
        STANDARD_TOOLS.contains(&tool) || self.tools.as_ref().map_or(has_unnamed, |tools| tools.contains(tool))
    }

    /// True if it has to reach an end before the run does.
    fn is_unfinished(&self) -> bool {
        let has_work = self.assignment.is_some() || !self.commitments.is_empty();
        matches!(self.state, AgentState::Working | AgentState::Verifying) || self.state == AgentState::Idle && has_work
    }
}

/// The agents of a run.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// Those that were summoned, in that order. The dismissed ones are among them, and nobody finds those.
    all: Vec<Agent>,
    /// Those whose calls come now, the innermost last.
    acting: Vec<String>,
}

impl Registry {
    /// Those that were not dismissed, in the order in which they were summoned.
    pub(super) fn living(&self) -> impl Iterator<Item = &Agent> {
        self.all.iter().filter(|agent| agent.state != AgentState::Dismissed)
    }

    /// All that were summoned.
    pub(super) fn all(&self) -> &[Agent] {
        &self.all
    }

    /// The living agent of this id. `not_found` if there is none.
    pub(super) fn find(&self, id: &str) -> Result<&Agent, Error> {
        self.living().find(|agent| agent.id == id).ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no agent `{}`", id.escape_debug()))
                .hint("`nrv.agent.list()` has those that live; a dismissed one is gone")
        })
    }

    /// The agent whose calls come now; none if they are the script's own.
    pub(super) fn acting(&self) -> Option<&Agent> {
        let id = self.acting.last()?;
        self.living().find(|agent| agent.id == *id)
    }

    /// True if the calls that come now are those of an agent, be it dismissed meanwhile.
    pub(super) fn is_acted_for(&self) -> bool {
        !self.acting.is_empty()
    }

    /// Refuses a call of an agent that lacks the tool, or has spent its budget.
    pub(super) fn admit(&self, call: &Call) -> Result<(), Error> {
        let Some(id) = self.acting.last() else { return Ok(()) };
        if matches!(call, Call::AgentRest { .. }) {
            return Ok(());
        }
        let agent = self.find(id)?;
        let spent = |limit: Option<u64>, spent: Option<u64>| limit.is_some_and(|limit| spent.unwrap_or(0) >= limit);
        let Spending { calls, tokens, cost_millionths } = agent.budget;
        for (name, is_spent, limit) in [
            ("agent.calls", spent(calls, agent.spent.calls), calls),
            ("agent.tokens", spent(tokens, agent.spent.tokens), tokens),
            ("agent.cost_millionths", spent(cost_millionths, agent.spent.cost_millionths), cost_millionths),
        ] {
            if is_spent {
                let message =
                    format!("the agent `{}` has spent its budget `{name}`, {}", agent.name, limit.unwrap_or(0));
                return Err(Error::new(Code::BudgetExhausted, message)
                    .detail("agent", &*agent.id)
                    .detail("budget", name));
            }
        }
        let Some(tool) = call.agent_tool().filter(|tool| !agent.has(tool)) else { return Ok(()) };
        let has: Vec<&str> =
            agent.tools.iter().flatten().map(String::as_str).chain(STANDARD_TOOLS.iter().copied()).collect();
        Err(Error::new(Code::PermissionDenied, format!("the agent `{}` has no tool `{tool}`", agent.name))
            .detail("agent", &*agent.id)
            .hint(format!("it has {}", has.join(", "))))
    }

    /// Notes the answer to a call, be it given now or taken from the record.
    pub(super) fn note(&mut self, call: &Call, answer: &Result<Value, Error>) {
        self.spend(call, answer);
        let reply = match (answer, call) {
            (Ok(reply), _) => reply,
            // The program has dismissed it meanwhile.
            (Err(error), Call::AgentReport { id }) if error.details().contains_key(DISMISSED) => {
                return self.dismiss(id);
            }
            (Err(_), _) => return,
        };
        match call {
            Call::AgentSummon(_) => self.all.extend(serde_json::from_value::<Agent>(reply.clone())),
            Call::AgentCommit { id, .. } => {
                let commitment = reply.as_str().unwrap_or_default().to_owned();
                self.change(id, |agent| {
                    if !agent.commitments.contains(&commitment) {
                        agent.commitments.push(commitment);
                    }
                });
            }
            Call::AgentReport { id } => {
                let state = serde_json::from_value(reply["state"].clone()).unwrap_or_default();
                self.change(id, |agent| agent.state = state);
            }
            Call::AgentDismiss { id } => self.dismiss(id),
            Call::AgentAct { id } => {
                self.acting.push(id.clone());
                self.change(id, |agent| {
                    if agent.state == AgentState::Idle {
                        agent.state = AgentState::Working;
                    }
                });
            }
            Call::AgentRest { .. } => drop(self.acting.pop()),
            _ => {}
        }
    }

    /// Counts a call of the agent that acts.
    fn spend(&mut self, call: &Call, answer: &Result<Value, Error>) {
        let Some(id) = self.acting.last().cloned() else { return };
        let reply = answer.as_ref().unwrap_or(&Value::Null);
        let (usage, cost) = (&reply["usage"], reply["cost_millionths"].as_u64());
        let told: Vec<u64> = ["input_tokens", "output_tokens"].iter().filter_map(|key| usage[*key].as_u64()).collect();
        let tokens = match call {
            // A reply of which nobody says how many tokens it took counts as what was asked for.
            Call::LlmComplete(ask) if told.iter().sum::<u64>() == 0 => {
                let prompt = ask.prompt.as_ref().map_or(0, |prompt| prompt.len() as u64);
                (prompt / BYTES_OF_A_TOKEN).saturating_add(ask.max_tokens.unwrap_or(0))
            }
            _ => told.iter().sum(),
        };
        let is_counted = !matches!(call, Call::AgentRest { .. } | Call::AgentAct { .. });
        self.change(&id, |agent| {
            agent.spent.calls = Some(agent.spent.calls.unwrap_or(0) + u64::from(is_counted));
            agent.spent.tokens = Some(agent.spent.tokens.unwrap_or(0) + tokens);
            if let Some(cost) = cost {
                agent.spent.cost_millionths = Some(agent.spent.cost_millionths.unwrap_or(0).saturating_add(cost));
            }
        });
    }

    /// Dismisses an agent, with those that it has summoned.
    fn dismiss(&mut self, id: &str) {
        let mut gone = BTreeSet::from([id.to_owned()]);
        for agent in &mut self.all {
            if gone.contains(&agent.id) || agent.parent.as_ref().is_some_and(|parent| gone.contains(parent)) {
                gone.insert(agent.id.clone());
                agent.state = AgentState::Dismissed;
            }
        }
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut Agent)) {
        if let Some(agent) = self.all.iter_mut().find(|agent| agent.id == id && agent.state != AgentState::Dismissed) {
            change(agent);
        }
    }

    /// The end of a run that does not go on: agents that have not finished have failed, and so has the run.
    ///
    /// Returns the outcome, and those that failed.
    pub(super) fn end(&mut self, outcome: Result<Value, Error>) -> (Result<Value, Error>, Vec<Agent>) {
        let mut failed = Vec::new();
        for agent in self.all.iter_mut().filter(|agent| agent.is_unfinished()) {
            agent.state = AgentState::Failed;
            failed.push(agent.clone());
        }
        let outcome = match (failed.first(), outcome) {
            (Some(first), Ok(_)) => {
                let more = if failed.len() > 1 { format!(", and {} more", failed.len() - 1) } else { String::new() };
                let names: Vec<&str> = failed.iter().map(|agent| agent.name.as_str()).collect();
                let message = format!("the agent `{}`{more} has not finished its work", first.name);
                Err(Error::new(Code::VerificationFailed, message)
                    .detail("agents", names)
                    .hint("an agent is done when all of its commitments hold; dismiss one whose work is not needed"))
            }
            (_, outcome) => outcome,
        };
        (outcome, failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_a_server_has_to_be_given_by_its_name() {
        let named = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let agent = |tools: Option<BTreeSet<String>>| Agent { tools, ..Agent::default() };
        let all = agent(None);
        assert!(all.has("apply_create") && all.has("report_done") && !all.has("mcp.docs.search"));
        let one = agent(named(&["mcp.docs.search"]));
        assert!(one.has("mcp.docs.search") && !one.has("mcp.docs.other") && !one.has("apply_create"));
    }
}
