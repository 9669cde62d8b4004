//! Values that several events hold.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::named;
use base::hash::Sha256;

/// A value that stands in the event, or the name of its content in the pack.
///
/// [`Pack::value`](crate::Pack::value) gives the value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stored(Value);

impl Stored {
    /// The form that a value has in a record.
    pub fn of(form: Value) -> Self {
        Stored(form)
    }

    /// The value or its name, as it stands in the event.
    pub fn form(&self) -> &Value {
        &self.0
    }

    /// The value or its name.
    pub fn into_form(self) -> Value {
        self.0
    }

    /// The hash of the content in the pack; none if the value itself stands in the event.
    pub fn sha256(&self) -> Option<Sha256> {
        named(&self.0)
    }
}

/// JSON whose shape is not nrv's to say: arguments of a script, an adapter's input, a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Free(pub Value);

/// A value as the event shows it: a rule on secrets may have taken out of it what its type needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Shown<T> {
    /// The value.
    Exact(T),
    /// The rest of the value, after a secret was taken out.
    Redacted(Value),
}

impl<T> Shown<T> {
    /// The value, if nothing was taken out of it.
    pub fn exact(&self) -> Option<&T> {
        match self {
            Shown::Exact(value) => Some(value),
            Shown::Redacted(_) => None,
        }
    }
}

impl<T: ToString> Shown<T> {
    /// The value as text.
    pub fn text(&self) -> String {
        match self {
            Shown::Exact(value) => value.to_string(),
            Shown::Redacted(Value::String(text)) => text.clone(),
            Shown::Redacted(_) => String::new(),
        }
    }
}

impl<T> From<T> for Shown<T> {
    fn from(value: T) -> Self {
        Shown::Exact(value)
    }
}

/// A member that may be missing, and is not if it is null.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// True for a member that is left out since it is `false`.
pub(super) fn is_false(value: &bool) -> bool {
    !*value
}

/// True for a member that is left out since it is zero.
pub(super) fn is_zero(value: &u64) -> bool {
    *value == 0
}
