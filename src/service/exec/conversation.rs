//! A conversation with a command: its standard input stays open, and its output is heard as it comes.

use std::{fs::File, io, path::Path, sync::atomic::AtomicBool};

use rustix::fs::{Mode, OFlags};

use super::private_folder::{self, Desk};
use base::error::Error;
use system::process::{
    Program,
    sandbox::{self, Confinement, Ended, Launch, NotStarted},
};

/// The name of the pipe on the command's desk.
const PIPE: &str = "conversation";

/// Both directions of a command's standard streams.
pub struct Conversation<'c> {
    /// Receives the folder that it runs in and the writing end of its standard input, just before it starts. The input ends when
    /// that end is dropped.
    pub begin: &'c mut dyn FnMut(&Path, File),
    /// Receives its stdout, with an empty piece at its end; an error ends the command.
    pub heard: &'c mut dyn FnMut(&[u8]) -> Result<(), Error>,
}

impl Conversation<'_> {
    /// Starts a command whose standard input is a named pipe.
    pub(super) fn launch(
        &mut self,
        launch: &Launch,
        desk: &Desk,
        (supervisor, cancel): (&Program, &AtomicBool),
        ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
    ) -> Result<Ended, NotStarted> {
        let path = desk.pipe(PIPE)?;
        let failed = |error: io::Error| private_folder::failed(&path, &error);
        // The command opens its end without waiting, since this is open in both directions.
        let mut held = Some(open(&path, true).map_err(failed)?);
        let launch = Launch { stdin: Some(path.clone()), ..launch.clone() };
        let mut started = |confinement: &Confinement| {
            ready(confinement)?;
            (self.begin)(&launch.cwd, open(&path, false).map_err(failed)?);
            // From here on the command alone reads: after its end, a write is an error.
            drop(held.take());
            Ok(())
        };
        sandbox::launch_heard(&launch, supervisor, cancel, &mut started, self.heard)
    }
}

/// Opens a named pipe for writing; for reading too if it has no reader yet.
fn open(path: &Path, read: bool) -> io::Result<File> {
    let access = if read { OFlags::RDWR } else { OFlags::WRONLY };
    Ok(rustix::fs::open(path, access | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?.into())
}
