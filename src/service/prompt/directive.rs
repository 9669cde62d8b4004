//! Directives: texts that every prompt of a kind includes word for word.

use std::collections::BTreeMap;

use super::{
    part::wrong,
    template::{Template, directives},
};
use base::error::{Error, nearest};

/// A directive's text. `adapters` are the approved ones.
pub(super) fn text(name: &str, adapters: &[&str]) -> Result<String, Error> {
    let Some(known) = directives().find(|known| *known == name) else {
        let error = wrong("directives", format!("there is no directive `{}`", name.escape_debug()));
        return Err(error.hint(match nearest(name, directives()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", directives().collect::<Vec<_>>().join(", ")),
        }));
    };
    let adapters: Vec<minijinja::Value> = adapters.iter().map(|name| (*name).into()).collect();
    Template::Directive(known).render(BTreeMap::from([("adapters", adapters.into())]))
}
