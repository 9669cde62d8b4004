//! The providers that a program brings along, and the names of all providers.

use std::{collections::BTreeMap, fmt, sync::Arc};

use base::error::Error;
use llm::{Capabilities, LlmRequest, Orchestrator, Reply};
use system::{
    net::Cancel,
    policy::{HEURISTIC, Policy},
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

/// The next step where nothing is configured that could answer a request.
pub(super) const ADD: &str = "`[llm.providers.NAME]` in `nrv.toml` adds a provider, and `nrv llm record SCRIPT --reply FILE` records a reply; for a case with `--case NAME`";

/// The next step for a request without a recorded reply.
pub(super) const RECORD: &str = "record it: `nrv llm record SCRIPT --from PROVIDER` asks a provider, and `--reply FILE` takes a text; for a case with `--case NAME`";

/// True if the policy or the program has a provider.
pub(super) fn is_any(policy: &Policy, added: &Orchestrators) -> bool {
    !policy.settings().llm.providers.is_empty() || !added.is_empty()
}

/// The table of patterns where nothing else could answer: it refuses most requests, and its refusal says that there is no provider.
pub(super) struct Lone(pub(super) Arc<dyn Orchestrator>);

impl Orchestrator for Lone {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        self.0.capabilities()
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        self.0.answer(request, cancel, on_token).map_err(no_provider)
    }
}

/// The same error, which also says that there is no provider.
pub(super) fn no_provider(error: Error) -> Error {
    error.within("there is no provider of language models, and no recorded reply").hint(ADD)
}

/// The names of all providers that there are: those of the policy and of the program, and the table of patterns.
pub(crate) fn names(policy: &Policy, added: &Orchestrators) -> Vec<String> {
    let mut names: Vec<String> = policy.settings().llm.providers.keys().chain(added.0.keys()).cloned().collect();
    names.push(HEURISTIC.to_owned());
    names.sort();
    names.dedup();
    names
}

/// The provider of a request that names this one, or none.
pub(crate) fn name(policy: &Policy, added: &Orchestrators, asked: Option<&str>) -> String {
    policy.llm_provider(asked, added.0.keys().map(String::as_str)).to_owned()
}

/// True if the table of patterns stands behind this name.
pub(crate) fn is_table(policy: &Policy, name: &str) -> bool {
    policy.settings().llm.providers.get(name).map_or(name == HEURISTIC, |settings| settings.dialect == HEURISTIC)
}
