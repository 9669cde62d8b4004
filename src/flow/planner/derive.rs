//! Agents for a need: one that lives and fits, or the description of a new one, which has approved adapters alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{orders, tools::Tools};
use crate::Door;
use base::{
    call::{Call, Summon},
    error::{Code, Error},
};
use host::{Agent, AgentState};

/// The need for an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// The adapters that it has to have.
    pub adapters: Vec<String>,
    /// Its assignment.
    #[serde(default)]
    pub assignment: Option<String>,
}

/// An agent for a need.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Derived {
    /// The agent that lives and fits; none if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The agent to summon; none if one lives that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summon: Option<Summon>,
    /// The orders to it.
    pub orders: String,
}

/// Finds an idle agent that has the adapters, or describes one to summon. It is summoned by nobody here.
///
/// `invalid_input` if no adapter is named, and the error of an adapter that does not exist or is not approved, by its name.
pub fn derive_agent(door: &mut dyn Door, need: &Need) -> Result<Derived, Error> {
    if need.adapters.is_empty() {
        return Err(Error::new(Code::InvalidInput, "the need names no adapter")
            .hint("`adapters` lists those that the agent has to have; `nrv dta list` shows them"));
    }
    let mut tools = Tools::of(door)?;
    for name in &need.adapters {
        tools.find(door, name)?;
    }
    let has: BTreeSet<String> =
        need.adapters.iter().flat_map(|name| ["propose", "apply"].map(|phase| format!("dta_{name}_{phase}"))).collect();
    let orders = orders(need.adapters.iter().map(String::as_str));
    let agents = door.perform(Call::AgentList {})?;
    let agents: Vec<Agent> = serde_json::from_value(agents)
        .map_err(|error| Error::new(Code::Internal, format!("no agents can be read: {error}")))?;
    // One that has more than it needs would be no agent for this alone.
    let fits = |agent: &Agent| agent.state == AgentState::Idle && agent.tools.as_ref() == Some(&has);
    if let Some(agent) = agents.into_iter().find(fits) {
        return Ok(Derived { agent: Some(agent), summon: None, orders });
    }
    let assignment = need.assignment.clone();
    let summon = Summon { assignment, tools: Some(has.into_iter().collect()), ..Summon::default() };
    Ok(Derived { agent: None, summon: Some(summon), orders })
}
