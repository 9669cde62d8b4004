//! Cases of scripts: folders that say what a script gets and what has to come of it.
//!
//! A case runs in private copies of its input, outside of the workspace. Nothing of the workspace is written here: what an update
//! would change is data, and whoever asked for it writes it.

mod check;
mod copy;
mod definition;
mod find;
mod outcome;
mod run;
mod tree;
mod update;

use serde::Serialize;

pub use self::{
    check::Check,
    find::{Suite, find, strays, test_folder},
    run::{Loadable, run},
    tree::Tree,
    update::Update,
};
use crate::base::{error::Error, path::RepoPath};

/// What cases are run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To see whether they hold.
    Check,
    /// To take what came of them as what is expected, as far as everything else holds.
    Update,
    /// The same, after models were asked once and their replies recorded for the case.
    Record,
}

/// What came of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The script.
    pub script: RepoPath,
    /// The name of the case's folder.
    pub case: String,
    /// True if all checks hold, now or by the update.
    pub ok: bool,
    /// What was looked at, in its order.
    pub checks: Vec<Check>,
    /// Why the case could not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// What the script printed in its first run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
    /// What an update changes.
    #[serde(skip_serializing_if = "Update::is_empty")]
    pub updated: Update,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl Report {
    /// A case that could not be run.
    pub fn broken(script: &RepoPath, case: &str, error: Error) -> Self {
        Report {
            script: script.clone(),
            case: case.to_owned(),
            ok: false,
            checks: Vec::new(),
            error: Some(error),
            printed: Vec::new(),
            updated: Update::default(),
            duration_ms: 0,
        }
    }

    /// The case's folder.
    pub fn folder(&self) -> RepoPath {
        test_folder(&self.script).child(&self.case)
    }
}
