//! The changes of a case's folder that make it expect the present result.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::{Tree, outcome::Outcome, tree::kept_mode};
use base::{
    change::{Content, LINK},
    error::{Code, Error},
    path::RepoPath,
};

/// Changes below a case's folder, as paths of the workspace. They are listed in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Files that are to be removed, before any is written.
    pub removed: Vec<RepoPath>,
    /// Files that are to be written.
    pub written: Vec<(RepoPath, Content)>,
}

impl Update {
    /// True if nothing has to be changed.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.written.is_empty()
    }

    /// Makes the `expected` folder of a case the tree that was found.
    pub(super) fn tree(&mut self, folder: &RepoPath, expected: &Tree, found: &Tree) {
        let place = |path: &RepoPath| folder.child("expected").child(path);
        let gone = expected.files().filter(|(path, _)| found.get(path).is_none());
        self.removed.extend(gone.map(|(path, _)| place(path)));
        for (path, content) in found.files() {
            let mode = if content.is_link() { LINK } else { kept_mode(content.mode) };
            let new = Content { mode, ..content.clone() };
            let is_same = |old: &Content| {
                old.sha256 == new.sha256 && old.is_link() == new.is_link() && kept_mode(old.mode) == kept_mode(new.mode)
            };
            if !expected.get(path).is_some_and(is_same) {
                self.written.push((place(path), new));
            }
        }
    }

    /// Makes these the recorded replies of a folder.
    pub(super) fn replies(
        &mut self,
        folder: &RepoPath,
        old: &BTreeMap<String, String>,
        new: &BTreeMap<String, String>,
    ) {
        self.removed.extend(old.keys().filter(|name| !new.contains_key(*name)).map(|name| folder.child(name)));
        let changed = new.iter().filter(|(name, text)| old.get(*name) != Some(text));
        self.written
            .extend(changed.map(|(name, text)| (folder.child(name), Content::new(text.clone().into_bytes(), 0o644))));
    }

    /// Writes the outcome into a case's folder.
    pub(super) fn outcome(&mut self, folder: &RepoPath, outcome: &Outcome) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(outcome)
            .map_err(|error| Error::new(Code::Internal, format!("an outcome is no JSON: {error}")))?;
        self.written.push((folder.child("outcome.json"), Content::new((text + "\n").into_bytes(), 0o644)));
        Ok(())
    }
}

impl Serialize for Update {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written: Vec<&RepoPath> = self.written.iter().map(|(path, _)| path).collect();
        json!({"removed": self.removed, "written": written}).serialize(serializer)
    }
}
