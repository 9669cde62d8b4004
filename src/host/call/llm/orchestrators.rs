//! The providers that a program brings along, and the names of all providers.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    service::llm::Orchestrator,
    system::policy::{HEURISTIC, Policy},
};

/// Providers that a program adds to those of the policy, by name. The default has none.
#[derive(Clone, Default)]
pub struct Orchestrators(BTreeMap<String, Arc<dyn Orchestrator>>);

impl Orchestrators {
    /// Adds a provider. A name that the policy uses too stands for this one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, orchestrator: impl Orchestrator + 'static) -> Self {
        self.0.insert(name.into(), Arc::new(orchestrator));
        self
    }

    /// Returns a provider by its name.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<dyn Orchestrator>> {
        self.0.get(name)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Orchestrators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The dialect of a provider that the program adds.
pub(super) const EMBEDDED: &str = "embedded";

/// The names of all providers that there are: those of the policy and of the program, and the table of patterns.
pub(in crate::host) fn names(policy: &Policy, added: &Orchestrators) -> Vec<String> {
    let mut names: Vec<String> = policy.settings().llm.providers.keys().chain(added.0.keys()).cloned().collect();
    names.push(HEURISTIC.to_owned());
    names.sort();
    names.dedup();
    names
}

/// The provider of a request that names this one, or none.
pub(in crate::host) fn name(policy: &Policy, added: &Orchestrators, asked: Option<&str>) -> String {
    policy.llm_provider(asked, added.0.keys().map(String::as_str)).to_owned()
}

/// True if the table of patterns stands behind this name.
pub(in crate::host) fn is_table(policy: &Policy, name: &str) -> bool {
    policy.settings().llm.providers.get(name).map_or(name == HEURISTIC, |settings| settings.dialect == HEURISTIC)
}
