//! A child with pipes for a long conversation: a script's worker, a process or a thread in its place.

use std::{
    io::{PipeReader, PipeWriter, Read},
    os::fd::OwnedFd,
    process::{ChildStderr, Stdio},
    sync::mpsc::{self, Receiver},
    thread::JoinHandle,
    time::Duration,
};

use crate::{
    clock::Stopwatch,
    process::{Program, StartThread},
    threads,
};
use base::{error::Error, text};

/// The bytes of a child's stderr that are kept.
const STDERR_KEPT: usize = 64 << 10;

/// The wait for an ended child's stderr: another process may hold the pipe open.
const STDERR_PATIENCE: Duration = Duration::from_millis(200);

/// The interval between checks for the end of a thread.
const TICK: Duration = Duration::from_millis(1);

/// A running child. Dropping it kills its process group and reaps it; a thread ends by itself.
///
/// The thread that spawned it must outlive it: the kernel ends a child that asked for a parent-death signal
/// ([`crate::process::lockdown`]) when that thread ends.
#[derive(Debug)]
pub struct Child {
    native: Native,
    pipes: Option<Pipes>,
    exit: Option<Exit>,
}

#[derive(Debug)]
enum Native {
    /// A process, and its stderr.
    Process(std::process::Child, Receiver<Vec<u8>>),
    /// A thread; none after the wait for it.
    Thread(Option<JoinHandle<()>>),
}

/// The host's ends of a child's pipes.
#[derive(Debug)]
pub struct Pipes {
    /// The writing end of the child's stdin.
    pub stdin: PipeWriter,
    /// The child's stdout.
    pub stdout: PipeReader,
}

/// The end of a child; neither code nor signal if a thread panicked or did not end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// The beginning of its stderr.
    pub stderr: String,
}

/// Starts a program with pipes, an empty environment and its own process group.
pub fn spawn_piped(program: &Program, args: &[&str]) -> Result<Child, Error> {
    let fail = |error: &std::io::Error| Error::io(format_args!("`{}` can't be started", program.name()), error);
    let mut command = super::native(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut native = command.spawn().map_err(|error| fail(&error))?;
    let pipes = native.stdin.take().zip(native.stdout.take());
    let pipes = pipes.map(|(stdin, stdout)| Pipes {
        stdin: PipeWriter::from(OwnedFd::from(stdin)),
        stdout: PipeReader::from(OwnedFd::from(stdout)),
    });
    let stderr = match collect(native.stderr.take()) {
        Ok(stderr) => stderr,
        Err(error) => {
            super::kill_group(&native);
            let _ = native.wait();
            return Err(error);
        }
    };
    Ok(Child { native: Native::Process(native, stderr), pipes, exit: None })
}

/// Starts a thread with pipes in place of a process.
pub fn start_thread(start: StartThread) -> Result<Child, Error> {
    let fail = |error: std::io::Error| Error::io("a thread for a script can't be started", &error);
    let (reader, stdin) = std::io::pipe().map_err(fail)?;
    let (stdout, writer) = std::io::pipe().map_err(fail)?;
    let thread = start(reader, writer).map_err(fail)?;
    Ok(Child { native: Native::Thread(Some(thread)), pipes: Some(Pipes { stdin, stdout }), exit: None })
}

impl Child {
    /// The pipes; none if they were taken before.
    pub fn take_pipes(&mut self) -> Option<Pipes> {
        self.pipes.take()
    }

    /// Kills the child and everything in its process group. A thread ends when it finds its pipe closed.
    pub fn kill(&mut self) {
        if let (Native::Process(native, _), None) = (&self.native, &self.exit) {
            super::kill_group(native);
        }
    }

    /// Waits until the child ends; kills it after the given time.
    pub fn wait(&mut self, patience: Duration) -> Exit {
        if let Some(exit) = &self.exit {
            return exit.clone();
        }
        // A child that waits for its stdin to end must see that end.
        self.pipes = None;
        let exit = match &mut self.native {
            Native::Process(native, stderr) => wait_for_process(native, stderr, patience),
            Native::Thread(thread) => {
                thread.take().map_or_else(Exit::default, |thread| wait_for_thread(thread, patience))
            }
        };
        self.exit.insert(exit).clone()
    }
}

fn wait_for_process(native: &mut std::process::Child, stderr: &Receiver<Vec<u8>>, patience: Duration) -> Exit {
    let _ = super::ends_within(native, patience);
    super::kill_group(native);
    let (code, signal) = native.wait().map_or((None, None), super::split);
    let stderr = stderr.recv_timeout(STDERR_PATIENCE).unwrap_or_default();
    Exit { code, signal, stderr: String::from_utf8_lossy(&stderr).into_owned() }
}

fn wait_for_thread(thread: JoinHandle<()>, patience: Duration) -> Exit {
    let watch = Stopwatch::start();
    while !thread.is_finished() {
        if watch.elapsed() >= patience {
            return Exit { stderr: "its thread goes on".to_owned(), ..Exit::default() };
        }
        std::thread::sleep(TICK);
    }
    match thread.join() {
        Ok(()) => Exit { code: Some(0), ..Exit::default() },
        Err(panic) => Exit { stderr: text::of_panic(panic.as_ref()).to_owned(), ..Exit::default() },
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        self.wait(Duration::ZERO);
    }
}

/// Reads a pipe to its end on a thread of its own and keeps the beginning.
fn collect(pipe: Option<ChildStderr>) -> Result<Receiver<Vec<u8>>, Error> {
    let (sender, receiver) = mpsc::channel();
    threads::start(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = (&mut pipe).take(STDERR_KEPT as u64).read_to_end(&mut kept);
            // The rest is dropped, so that the child does not block on a full pipe.
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        let _ = sender.send(kept);
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn shell(script: &str) -> Child {
        spawn_piped(&Program::Path("/bin/sh".into()), &["-c", script]).unwrap()
    }

    #[test]
    fn a_conversation_ends_with_an_exit_code() {
        let mut child = shell("read line; echo \"got $line\"; echo oh >&2; exit 3");
        let Pipes { mut stdin, mut stdout } = child.take_pipes().unwrap();
        stdin.write_all(b"it\n").unwrap();
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!(text, "got it\n");
        let exit = child.wait(Duration::from_secs(5));
        assert_eq!(exit, Exit { code: Some(3), signal: None, stderr: "oh\n".to_owned() });
        assert_eq!(child.wait(Duration::ZERO), exit);
    }

    #[test]
    fn a_child_that_does_not_end_is_killed() {
        let mut child = shell("sleep 600");
        assert_eq!(child.wait(Duration::from_millis(20)).signal, Some(9));
    }

    #[test]
    fn the_environment_is_empty() {
        let mut child = spawn_piped(&Program::Path("/usr/bin/env".into()), &[]).unwrap();
        let mut text = String::new();
        child.take_pipes().unwrap().stdout.read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
    }
}
