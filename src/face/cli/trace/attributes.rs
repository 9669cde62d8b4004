//! The attributes of a span: those of the fixed list, without secrets.

use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};

use super::super::redact;
use base::span::ATTRIBUTES;

/// The attributes of a span, in the order in which they were recorded.
#[derive(Default)]
pub(super) struct Attributes(Vec<(&'static str, Value)>);

impl Attributes {
    /// The number of attributes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The text of an attribute.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.as_str())
    }

    /// The attributes from the given one on, but the name, which is a title.
    pub(super) fn since(&self, from: usize) -> Map<String, Value> {
        let later = self.0.iter().skip(from).filter(|(name, _)| *name != "name");
        later.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    /// These, for tests.
    #[cfg(test)]
    pub(super) fn of(attributes: &[(&'static str, Value)]) -> Self {
        Attributes(attributes.to_vec())
    }

    fn add(&mut self, field: &Field, value: Value) {
        let known = ATTRIBUTES.iter().find(|known| **known == field.name());
        debug_assert!(known.is_some(), "`{}` is not in the list of attributes", field.name());
        let Some(name) = known else { return };
        self.0.push((name, value));
    }
}

impl Visit for Attributes {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, redact::text(value).into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, redact::text(&format!("{value:?}")).into());
    }
}
