//! The globs of the files that each adapter owns.

use crate::agents::Agent;
use adapter::{Adapter, Adapters};
use base::micro::tool_of;
use gate::Domain;
use system::policy::Policy;

pub(super) fn owned(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

/// The files of each adapter. Whose files they are matters only if nobody else may change them, or an agent acts: it changes the files
/// of adapters that it has by these alone.
pub(crate) fn domains(
    adapters: &Adapters,
    policy: &Policy,
    adapter: Option<&str>,
    agent: Option<&Agent>,
) -> Vec<Domain> {
    let settings = &policy.settings().adapters;
    let is_approved = |name: &str| settings.approved.as_ref().is_none_or(|list| list.iter().any(|one| one == name));
    let is_strict = settings.strict_tools || agent.is_some();
    if !is_strict || adapter.is_some_and(|name| !is_edit(name) || is_approved(name)) {
        return Vec::new();
    }
    let domain = |one: &&'_ dyn Adapter| Domain { adapter: one.name().to_owned(), globs: owned(&one.domain()) };
    let has = |name: &str| {
        ["propose", "apply"].iter().any(|phase| agent.is_none_or(|agent| agent.has(&format!("dta_{name}_{phase}"))))
    };
    let counts = |domain: &Domain| !domain.globs.is_empty() && (settings.strict_tools || has(&domain.adapter));
    adapters.all().iter().map(domain).filter(counts).collect()
}

/// True for the name of a micro-edit. It changes any file that it knows if it is approved, and counts as a free edit otherwise.
fn is_edit(name: &str) -> bool {
    tool_of(name).is_ok()
}
