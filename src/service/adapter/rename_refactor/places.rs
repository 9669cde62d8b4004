//! The places of one thing, as an engine chooses them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::format::name::facts::Form;

/// The places of one thing.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The places in code, by file.
    pub(super) code: BTreeMap<String, BTreeMap<usize, (Range<usize>, Form)>>,
    /// The declarations, by file.
    pub(super) homes: BTreeSet<(String, usize)>,
    /// True if no other file can name it.
    pub(super) is_local: bool,
    /// The engine that chose them.
    pub(super) engine: &'static str,
}

impl Places {
    /// Adds a place.
    pub(super) fn add(&mut self, path: &str, range: &Range<usize>, form: Form) {
        self.code.entry(path.to_owned()).or_default().insert(range.start, (range.clone(), form));
    }
}
