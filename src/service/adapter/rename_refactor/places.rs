//! The places of one thing, as an engine chooses them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::contract::Finding;
use format::name::facts::Form;
use system::language_server::Asked;

/// The end of the way that an import leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A file of the workspace, or the folder of a package of Go.
    File(String),
    /// Something that is no file of the workspace.
    Elsewhere,
    /// One of several, or something that paths do not tell.
    Unknown,
}

/// The places of one thing.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The places in code, by file.
    pub(super) code: BTreeMap<String, BTreeMap<usize, (Range<usize>, Form)>>,
    /// The declarations, by file.
    pub(super) homes: BTreeSet<(String, usize)>,
    /// True if no other file can name it.
    pub(super) is_local: bool,
    /// Files that nobody parses and that mention the name.
    pub(super) mentions: Vec<Finding>,
    /// The engine that chose them.
    pub(super) engine: &'static str,
    /// The language server that was asked.
    pub(super) server: Option<Asked>,
}

impl Places {
    /// True if a place of a file is one of them.
    pub(super) fn has(&self, path: &str, at: usize) -> bool {
        self.code.get(path).is_some_and(|sites| sites.contains_key(&at))
    }

    /// Adds a place.
    pub(super) fn add(&mut self, path: &str, range: &Range<usize>, form: Form) {
        self.code.entry(path.to_owned()).or_default().insert(range.start, (range.clone(), form));
    }
}
