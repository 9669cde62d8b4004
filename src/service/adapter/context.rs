//! The surroundings of an adapter.

use std::sync::atomic::{AtomicBool, Ordering};

use base::error::{Code, Error};
use system::{
    git::Renames,
    language_server::{NoServers, Servers},
    workspace::View,
};

/// The surroundings of an adapter.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The tree, read only.
    pub view: View<'a>,
    /// The run, if there is one. Its recovery removes private folders that are named after it.
    pub run: Option<&'a str>,
    /// The number of threads that it may use; the result does not depend on it.
    pub threads: usize,
    /// True as soon as it must stop.
    pub cancel: &'a AtomicBool,
    /// Reads the renames of the tree's history, which takes time; without a repository there are none.
    pub renames: &'a (dyn Fn() -> Result<Renames, Error> + Sync),
    /// Starts language servers.
    pub servers: &'a dyn Servers,
    /// Receives the numbers of finished files and of all files.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

impl<'a> Context<'a> {
    /// The surroundings of an adapter that has the tree alone: no run, no history and no language servers.
    pub fn of_tree(view: View<'a>, threads: usize, cancel: &'a AtomicBool) -> Self {
        let renames = &|| Ok(Renames::default());
        Context { view, run: None, threads, cancel, renames, servers: &NoServers, progress: &|_, _| {} }
    }

    /// An error if the run was cancelled.
    pub fn check_cancelled(&self) -> Result<(), Error> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(Error::new(Code::Cancelled, "the run was cancelled")),
            false => Ok(()),
        }
    }
}
