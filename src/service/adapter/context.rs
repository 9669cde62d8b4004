//! The surroundings of an adapter.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use base::error::{Code, Error};
use system::{
    git::Renames,
    language_server::{NoServers, Servers},
    policy::Hidden,
    workspace::View,
};

/// A phase of an adapter's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Files are read, and changes to them proposed.
    Discover,
    /// A language server starts.
    StartServer,
    /// A language server reads the project.
    LoadProject,
    /// A language server is asked for a rename.
    AskRename,
    /// A language server is asked about places.
    AskPlaces,
    /// A language server is asked for the errors of files.
    AskErrors,
    /// Files are written.
    Apply,
    /// The verifier reads what was written.
    Verify,
}

/// Reads contents by their names.
pub(crate) type Contents<'a> = dyn Fn(&[String]) -> Result<Vec<Option<Vec<u8>>>, Error> + Sync + 'a;

/// The surroundings of an adapter.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The tree, read only.
    pub view: View<'a>,
    /// The files that the policy lets nobody look at, beside those of a target; none if it is not known.
    pub hidden: Option<&'a Hidden>,
    /// True if other files may have changed since the run.
    pub is_later: bool,
    /// The run, if there is one. Its recovery removes private folders that are named after it.
    pub run: Option<&'a str>,
    /// The number of threads that it may use; the result does not depend on it.
    pub threads: usize,
    /// True as soon as it must stop.
    pub cancel: &'a AtomicBool,
    /// Reads the renames of the tree's history, which takes time; without a repository there are none.
    pub renames: &'a (dyn Fn() -> Result<Renames, Error> + Sync),
    /// Reads the contents of git's objects by their names; none for those that can't be read.
    pub contents: &'a Contents<'a>,
    /// Starts language servers.
    pub servers: &'a dyn Servers,
    /// Receives the phase with the numbers of finished and of all files or questions; 0 of 0 if they are not known.
    pub progress: &'a (dyn Fn(Work, u64, u64) + Sync),
}

impl<'a> Context<'a> {
    /// The surroundings of an adapter that has the tree alone: no run, no history and no language servers.
    pub fn of_tree(view: View<'a>, threads: usize, cancel: &'a AtomicBool) -> Self {
        let renames = &|| Ok(Renames::default());
        let contents = &|names: &[String]| Ok(vec![None; names.len()]);
        Context {
            view,
            hidden: None,
            is_later: false,
            run: None,
            threads,
            cancel,
            renames,
            contents,
            servers: &NoServers,
            progress: &|_, _, _| {},
        }
    }

    /// An error if the run was cancelled.
    pub fn check_cancelled(&self) -> Result<(), Error> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(Error::new(Code::Cancelled, "the run was cancelled")),
            false => Ok(()),
        }
    }
}
