//! Cases of scripts: folders with a script's input and the expected result.
//!
//! A case runs in private copies of its input, outside of the workspace. Nothing of the workspace is written here: the changes of
//! an update are data, and the caller writes them.

mod broken;
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
    run::{Loadable, run, try_once},
    tree::Tree,
    update::Update,
};
use base::{error::Error, path::RepoPath};

/// The purpose of running cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Checks that they hold.
    Check,
    /// Updates the expectations from the results, if everything else holds.
    Update,
    /// The same, after the models were asked once and their replies recorded for the case.
    Record,
}

/// The report of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The script.
    pub script: RepoPath,
    /// The name of the case's folder.
    pub case: String,
    /// True if all checks hold, now or by the update.
    pub ok: bool,
    /// The checks in the order in which they ran.
    pub checks: Vec<Check>,
    /// The error that kept the case from running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// The output of the script in its first run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
    /// The changes of an update.
    #[serde(skip_serializing_if = "Update::is_empty")]
    pub updated: Update,
    /// The running time in milliseconds.
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
