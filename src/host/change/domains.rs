//! The globs of the files that each adapter owns.

use crate::{
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
    if !policy.settings().adapters.strict_tools || adapter.is_some() {
        return Vec::new();
    }
    let domain = |one: &&'_ dyn Adapter| Domain { adapter: one.name().to_owned(), globs: owned(&one.domain()) };
    adapters.all().iter().map(domain).filter(|domain| !domain.globs.is_empty()).collect()
}
