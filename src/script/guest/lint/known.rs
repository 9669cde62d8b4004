//! Knowledge of values before anything runs.

use crate::guest::bindings::Field;

/// The knowledge of a value before anything runs.
#[derive(Clone, Copy)]
pub(super) enum Known {
    /// A part of the host, by its receiver.
    Part(&'static str),
    /// A value of a type of the registry, with its fields.
    Value(&'static str, &'static [Field]),
    /// Nothing: it may be any value.
    Nothing,
}
