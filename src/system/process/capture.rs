//! Runs a child to its end, with bounded output and time: git, verifiers.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{Read, Write},
    path::PathBuf,
    process::{ChildStdin, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    time::Duration,
};

use crate::{clock::Stopwatch, process::Program, threads};
use base::error::Error;

/// The interval between checks for a cancellation.
const TICK: Duration = Duration::from_millis(25);

/// The wait for the pipes of an ended child: a process that left its group may hold them open.
const PIPE_PATIENCE: Duration = Duration::from_millis(300);

/// A command.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program.
    pub program: Program,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder to run in; if none, the host's.
    pub cwd: Option<PathBuf>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// The program's standard input.
    pub stdin: Vec<u8>,
    /// Milliseconds after which the program and its group are killed.
    pub timeout_ms: u64,
    /// The limit of bytes of stdout, and of stderr, that are kept.
    pub max_output: usize,
}

/// The result of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The exit code, if it exited.
    pub status: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// Its stdout, up to the limit.
    pub stdout: Vec<u8>,
    /// Its stderr, up to the limit.
    pub stderr: Vec<u8>,
    /// True if it exceeded its time limit.
    pub timed_out: bool,
    /// True if it was killed because the run was cancelled.
    pub cancelled: bool,
    /// True if its output exceeded the limit.
    pub truncated: bool,
}

impl Captured {
    /// True if it used up its processor time.
    pub fn is_out_of_time(&self) -> bool {
        self.signal == Some(rustix::process::Signal::XCPU.as_raw())
    }
}

/// Runs a command to its end, then kills the rest of its process group.
///
/// Only a program that can't be started is an error; `status` shows the failure of others.
pub fn capture(mut command: Command, cancel: Option<&AtomicBool>) -> Result<Captured, Error> {
    let stdin = std::mem::take(&mut command.stdin);
    capture_with(command, cancel, || Ok(stdin))
}

/// As [`capture`], with stdin made while the program starts; if that fails, the program is killed.
pub fn capture_with(
    command: Command,
    cancel: Option<&AtomicBool>,
    stdin: impl FnOnce() -> Result<Vec<u8>, Error>,
) -> Result<Captured, Error> {
    let fail = |error: &std::io::Error| Error::io(format_args!("`{}` can't be run", command.program.name()), error);
    let mut native = super::native(&command.program);
    native.args(&command.args).envs(&command.env);
    native.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(folder) = &command.cwd {
        native.current_dir(folder);
    }
    let mut child = native.spawn().map_err(|error| fail(&error))?;
    let connected = stdin().and_then(|stdin| {
        feed(child.stdin.take(), stdin)?;
        let stdout = drain(child.stdout.take(), command.max_output)?;
        Ok((stdout, drain(child.stderr.take(), command.max_output)?))
    });
    let (stdout, stderr) = match connected {
        Ok(pipes) => pipes,
        Err(error) => {
            super::kill_group(&child);
            let _ = child.wait();
            return Err(error);
        }
    };

    let mut captured = Captured::default();
    let watch = Stopwatch::start();
    let limit = Duration::from_millis(command.timeout_ms);
    loop {
        let left = limit.saturating_sub(watch.elapsed());
        match super::ends_within(&child, left.min(TICK)) {
            Ok(true) => break,
            Ok(false) if cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) => captured.cancelled = true,
            Ok(false) if left.is_zero() => captured.timed_out = true,
            Ok(false) => continue,
            Err(error) => {
                super::kill_group(&child);
                let _ = child.wait();
                return Err(Error::io("a program can't be waited for", &error));
            }
        }
        break;
    }
    super::kill_group(&child);
    let status = child.wait().map_err(|error| Error::io("a program can't be waited for", &error))?;
    (captured.status, captured.signal) = super::split(status);
    for (pipe, kept) in [(stdout, &mut captured.stdout), (stderr, &mut captured.stderr)] {
        let (bytes, truncated) = pipe.recv_timeout(PIPE_PATIENCE).unwrap_or((Vec::new(), true));
        *kept = bytes;
        captured.truncated |= truncated;
    }
    Ok(captured)
}

/// Writes a child's stdin on a thread of its own; a child that does not read it is not an error.
fn feed(pipe: Option<ChildStdin>, bytes: Vec<u8>) -> Result<(), Error> {
    match pipe {
        Some(mut pipe) => threads::start(move || pipe.write_all(&bytes)).map(drop),
        None => Ok(()),
    }
}

/// Reads a pipe to its end on a thread of its own; returns the kept bytes, and true if there were more.
fn drain(pipe: Option<impl Read + Send + 'static>, max: usize) -> Result<Receiver<(Vec<u8>, bool)>, Error> {
    let (sender, receiver) = mpsc::channel();
    threads::start(move || {
        let mut kept = Vec::new();
        let mut rest = 0;
        if let Some(mut pipe) = pipe {
            let _ = (&mut pipe).take(max as u64).read_to_end(&mut kept);
            rest = std::io::copy(&mut pipe, &mut std::io::sink()).unwrap_or(0);
        }
        let _ = sender.send((kept, rest > 0));
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        Command {
            program: Program::Path("/bin/sh".into()),
            args: vec!["-c".into(), script.into()],
            cwd: None,
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            stdin: Vec::new(),
            timeout_ms: 10_000,
            max_output: 1 << 20,
        }
    }

    #[test]
    fn output_larger_than_a_pipe_both_ways() {
        let stdin = vec![b'x'; 1 << 19];
        let done = capture(Command { stdin: stdin.clone(), ..shell("cat; cat /dev/null >&2; exit 2") }, None).unwrap();
        assert_eq!((done.status, done.stdout == stdin, done.truncated), (Some(2), true, false));
    }

    #[test]
    fn output_is_bounded() {
        let done = capture(Command { max_output: 10, ..shell("head -c 500000 /dev/zero") }, None).unwrap();
        assert_eq!((done.status, done.stdout.len(), done.truncated), (Some(0), 10, true));
    }

    #[test]
    fn a_group_is_killed_when_its_time_is_over() {
        let done = capture(Command { timeout_ms: 50, ..shell("sleep 600 & sleep 600") }, None).unwrap();
        assert_eq!((done.timed_out, done.status, done.signal), (true, None, Some(9)));
    }

    #[test]
    fn a_cancelled_program_is_killed() {
        let done = capture(shell("sleep 600"), Some(&AtomicBool::new(true))).unwrap();
        assert!(done.cancelled && !done.timed_out);
    }

    #[test]
    fn a_program_left_in_the_background_holds_nobody() {
        let done = capture(shell("sleep 600 & echo done"), None).unwrap();
        assert_eq!((done.status, done.stdout.as_slice()), (Some(0), &b"done\n"[..]));
    }

    #[test]
    fn a_program_whose_input_can_not_be_made_is_killed() {
        let failed = || Err(Error::new(base::error::Code::Io, "no input"));
        let error = capture_with(shell("cat; sleep 600"), None, failed).unwrap_err();
        assert_eq!(error.message(), "no input");
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        let command = Command { program: Program::Path("/does/not/exist".into()), ..shell("") };
        let error = capture(command, None).unwrap_err();
        assert!(error.message().contains("`/does/not/exist` can't be run"), "{error}");
    }
}
