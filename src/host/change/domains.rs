//! The globs of the files that each adapter owns.

use crate::{
    base::micro::tool_of,
    service::{
        adapter::{Adapter, Adapters},
        gate::Domain,
    },
    system::policy::Policy,
};

pub(super) fn owned(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

/// The files of each adapter. Whose files they are matters only if nobody else may change them.
pub(in crate::host) fn domains(adapters: &Adapters, policy: &Policy, adapter: Option<&str>) -> Vec<Domain> {
    let settings = &policy.settings().adapters;
    let is_approved = |name: &str| settings.approved.as_ref().is_none_or(|list| list.iter().any(|one| one == name));
    if !settings.strict_tools || adapter.is_some_and(|name| !is_edit(name) || is_approved(name)) {
        return Vec::new();
    }
    let domain = |one: &&'_ dyn Adapter| Domain { adapter: one.name().to_owned(), globs: owned(&one.domain()) };
    adapters.all().iter().map(domain).filter(|domain| !domain.globs.is_empty()).collect()
}

/// True for the name of a micro-edit. It changes any file that it knows if it is approved, and counts as a free edit otherwise.
fn is_edit(name: &str) -> bool {
    tool_of(name).is_ok()
}
