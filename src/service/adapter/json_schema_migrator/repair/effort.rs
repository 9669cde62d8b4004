//! The effort that a repair may take: alternatives within alternatives could take forever.

use std::cell::Cell;

use serde_json::Value;

/// The number of visits for each value in a file.
const PER_VALUE: u64 = 1_000;

/// The number of visits for every file.
const PER_FILE: u64 = 20_000;

/// The visits that are left.
pub(super) struct Effort<'a> {
    left: Cell<u64>,
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> Effort<'a> {
    /// The effort for a value. `is_over` ends it at once.
    pub(super) fn new(value: &Value, is_over: &'a dyn Fn() -> bool) -> Self {
        Effort { left: Cell::new(PER_FILE + PER_VALUE * size(value)), is_over }
    }

    /// Takes one visit; false if none is left.
    pub(super) fn spend(&self) -> bool {
        let left = if (self.is_over)() { 0 } else { self.left.get().saturating_sub(1) };
        self.left.set(left);
        left > 0
    }

    /// True if no visit is left.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

fn size(value: &Value) -> u64 {
    match value {
        Value::Object(map) => 1 + map.values().map(size).sum::<u64>(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        _ => 1,
    }
}
