//! The only spawner of processes: script workers, verifiers, git, commands, and a person's pager.
//!
//! A child starts with an empty environment in a process group of its own, so that Ctrl-C on a terminal reaches the host alone.
//! [`page`] explains the exception of a pager. A sandboxed process sandboxes itself ([`lockdown`]) before it does anything
//! else. A thread that serves a script in place of a process has the same shape.

mod capture;
mod child;
mod critical;
pub mod guard;
mod kernel;
pub mod lockdown;
mod pager;
pub mod sandbox;
mod system_calls;

use std::{
    io::{self, PipeReader, PipeWriter},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command as Native, ExitStatus},
    thread::JoinHandle,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, PidfdFlags, Signal},
};

pub use self::{
    capture::{Captured, Command, capture, capture_with},
    child::{Child, Exit, Pipes, spawn_piped, start_thread},
    critical::{Critical, Section},
    kernel::{Kernel, kernel},
    pager::page,
};

/// The program of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Program {
    /// This binary, even after its file was replaced: for the hidden subcommands.
    #[default]
    ReExec,
    /// A program by path, or by name if the child's environment has a `PATH`.
    Path(PathBuf),
}

/// The isolation of a script from the rest of the program.
#[derive(Clone, Copy, Debug, Default)]
pub enum Isolation {
    /// A process of its own, which sandboxes itself before it reads the script.
    #[default]
    Process,
    /// The engine alone: the script runs on a thread that this function starts.
    Thread(StartThread),
}

/// Starts a thread that serves a script on its ends of two pipes.
pub type StartThread = fn(PipeReader, PipeWriter) -> io::Result<JoinHandle<()>>;

impl Program {
    fn path(&self) -> &Path {
        match self {
            Program::ReExec => Path::new("/proc/self/exe"),
            Program::Path(path) => path,
        }
    }

    /// The name in messages.
    fn name(&self) -> String {
        match self {
            Program::ReExec => "nrv".to_owned(),
            Program::Path(path) => path.display().to_string(),
        }
    }
}

/// A command with an empty environment in its own process group.
fn native(program: &Program) -> Native {
    let mut command = bare(program);
    command.process_group(0);
    command
}

/// A command with an empty environment in the process group of this process, which it leaves by itself.
#[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
fn bare(program: &Program) -> Native {
    let mut command = Native::new(program.path());
    command.env_clear();
    if *program == Program::ReExec {
        command.arg0("nrv");
    }
    command
}

/// Waits for the end of a child, up to the given time; the child is not reaped.
fn ends_within(child: &std::process::Child, patience: Duration) -> io::Result<bool> {
    let pidfd = rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let timeout = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
    match rustix::event::poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Kills an unreaped child, and everything in its group.
fn kill_group(child: &std::process::Child) {
    // A group that is gone already is fine.
    let _ = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// The exit code and the signal of an ended process; one of them is present.
fn split(status: ExitStatus) -> (Option<i32>, Option<i32>) {
    (status.code(), std::os::unix::process::ExitStatusExt::signal(&status))
}
