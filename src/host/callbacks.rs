//! Callbacks of a program for agents, and its word that one is to go.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::agents::Agent;

/// A function that a program is called by with an agent.
type Callback = Arc<dyn Fn(&Agent) + Send + Sync>;

/// The callbacks of a program for the agents of its runs.
#[derive(Clone, Default)]
pub struct Agents {
    on_summon: Option<Callback>,
    on_dismiss: Option<Callback>,
    gone: Arc<Mutex<BTreeSet<String>>>,
}

impl Agents {
    /// Calls a function when an agent was summoned.
    #[must_use]
    pub fn on_summon(mut self, told: impl Fn(&Agent) + Send + Sync + 'static) -> Self {
        self.on_summon = Some(Arc::new(told));
        self
    }

    /// Calls a function when an agent was dismissed.
    #[must_use]
    pub fn on_dismiss(mut self, told: impl Fn(&Agent) + Send + Sync + 'static) -> Self {
        self.on_dismiss = Some(Arc::new(told));
        self
    }

    /// Dismisses an agent by its id, from any thread. A verification of it that is going on ends with the commitment that is looked at,
    /// and the agent is not done.
    pub fn dismiss(&self, id: &str) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
    }

    pub(super) fn is_dismissed(&self, id: &str) -> bool {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    pub(super) fn summoned(&self, agent: &Agent) {
        self.on_summon.iter().for_each(|told| told(agent));
    }

    pub(super) fn dismissed(&self, agent: &Agent) {
        self.on_dismiss.iter().for_each(|told| told(agent));
    }
}

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Agents")
    }
}
