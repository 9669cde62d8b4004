//! The process that sandboxes itself and starts a program: the first of a process namespace. Without a namespace, it becomes
//! the program.

use std::{
    fs::File,
    io,
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
};

use rustix::process::{Pid, Signal};

use super::{
    Confine, Confinement, Launch, NotStarted, State, confine, mounts,
    order::{self, Order, Report},
    reaper::{self, Bell},
    termination::Tree,
    usage::Tally,
};
use base::error::{Code, Error};

/// The argument of the process that starts and supervises the program.
pub(super) const FIRST: &str = "first";

/// As [`FIRST`], if a network namespace could not be made.
pub(super) const FIRST_SHARING_NETWORK: &str = "first-sharing-network";

/// The argument of the process that becomes the program.
pub(super) const BECOME: &str = "become";

/// The bytes of a script's first line that name its interpreter, at most, as in Linux.
const FIRST_LINE: u64 = 256;

/// The umask of a program.
const UMASK: rustix::fs::RawMode = 0o022;

/// The entry point of the hidden subcommand [`super::INIT`].
pub fn main(argument: &str) -> ExitCode {
    let Ok(control) = control() else { return ExitCode::FAILURE };
    let prepared = match argument {
        FIRST => first(&control, true),
        FIRST_SHARING_NETWORK => first(&control, false),
        BECOME => become_program(&control).map(|never| match never {}),
        _ => return ExitCode::FAILURE,
    };
    prepared.unwrap_or_else(|refused| refuse(&control, refused))
}

/// The socket to the parent, which is stdin.
pub(super) fn control() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Reports that the program is not started.
pub(super) fn refuse(control: &UnixStream, refused: NotStarted) -> ExitCode {
    let _ = order::send(control, &Report::NotStarted(refused));
    ExitCode::FAILURE
}

/// Receives the order.
pub(super) fn take(control: &UnixStream) -> Result<Order, NotStarted> {
    order::receive(control).map_err(|error| Error::io("the order of a program can't be read", &error).into())
}

fn first(control: &UnixStream, own_network: bool) -> Result<ExitCode, NotStarted> {
    let _ = rustix::process::setsid();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Error::io("the end of a program can't be tied to that of nrv", &error.into()))?;
    let Order { launch, mut missing } = take(control)?;
    if !own_network && !launch.network {
        missing.push("a network namespace can't be made: what the network looks like can be seen".to_owned());
    }
    let stdin = stdin(&launch)?;
    let bell = bell()?;
    let mut confinement = Confinement { staged: launch.stage.is_some(), ..Confinement::default() };
    mounts::lay_all(&launch, &mut missing, &mut confinement)?;
    let mut program = command(&launch, stdin);
    program.env("TMPDIR", "/tmp");
    confine::limit(&launch, true, &mut confinement);
    confinement.filtered = confine::this_process(&launch, true, &mut missing);
    let tally = Tally::new(&launch.limits, Tree::Namespace, &mut confinement);
    agree(control, confined(&launch, confinement, missing))?;
    let child = start(&bell, &launch, program.process_group(0))?;
    drop(program);
    Ok(reaper::until_end(control, &bell, Pid::from_child(&child), Tree::Namespace, tally))
}

/// The type of a function that does not return.
enum Never {}

fn become_program(control: &UnixStream) -> Result<Never, NotStarted> {
    let _ = rustix::process::setsid();
    // The program keeps that. Its supervisor kills it in any case, unless killed itself.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let Order { launch, mut missing } = take(control)?;
    let stdin = stdin(&launch)?;
    let mut program = command(&launch, stdin);
    program.env("TMPDIR", &launch.temporary);
    let mut confinement = Confinement::default();
    confine::limit(&launch, false, &mut confinement);
    confinement.filtered = confine::this_process(&launch, false, &mut missing);
    agree(control, confined(&launch, confinement, missing))?;
    if !has_format(&launch) {
        return Err(not_run(&launch, &rustix::io::Errno::NOEXEC.into()));
    }
    Err(not_run(&launch, &program.exec()))
}

/// False for a file whose first bytes name neither a program nor an interpreter: the standard library would run it in a shell.
/// An unreadable file gets another error later.
#[expect(clippy::disallowed_methods, reason = "it is the program, which the host chose")]
fn has_format(launch: &Launch) -> bool {
    let mut start = [0; 4];
    let read = File::open(&launch.program).and_then(|mut file| io::Read::read(&mut file, &mut start));
    read.is_err() || start == *b"\x7fELF" || start.starts_with(b"#!")
}

/// Reports the confinement, and waits for the host's permission to start.
pub(super) fn agree(control: &UnixStream, confinement: Confinement) -> Result<(), NotStarted> {
    let gone = |error| NotStarted::Failed(Error::io("nrv is gone", &error));
    order::send(control, &Report::Ready(confinement)).map_err(gone)?;
    match order::byte(control) {
        Some(order::GO) => Ok(()),
        _ => Err(gone(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Starts the program.
pub(super) fn start(bell: &Bell, launch: &Launch, program: &mut Command) -> Result<Child, NotStarted> {
    let started = bell.start(|| program.spawn()).unwrap_or_else(|error| Err(error.into()));
    started.map_err(|error| not_run(launch, &error))
}

pub(super) fn bell() -> Result<Bell, NotStarted> {
    Bell::new().map_err(|error| Error::io("the ends of processes can't be watched", &error.into()).into())
}

/// The confinement that results from these gaps, beside those of bounds.
fn confined(launch: &Launch, bounded: Confinement, missing: Vec<String>) -> Confinement {
    let isolated = missing.is_empty();
    let missing = [missing, bounded.missing].concat();
    let state = match launch.confine {
        Confine::Off => State::Unavailable,
        Confine::Auto | Confine::Require if missing.is_empty() => State::Enforced,
        Confine::Auto | Confine::Require => State::Partial,
    };
    Confinement { state, isolated, missing, ..bounded }
}

/// The program's standard input, opened before the file goes out of sight.
#[expect(clippy::disallowed_methods, reason = "what a program reads is what the host chose")]
pub(super) fn stdin(launch: &Launch) -> Result<Stdio, NotStarted> {
    let Some(path) = &launch.stdin else { return Ok(Stdio::null()) };
    let failed =
        |error| Error::io(format_args!("`{}`, which the program reads, can't be opened", path.display()), &error);
    Ok(Stdio::from(File::open(path).map_err(failed)?))
}

/// The command of the program. It shares stdout and stderr with this process.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs that are confined")]
pub(super) fn command(launch: &Launch, stdin: Stdio) -> Command {
    rustix::process::umask(rustix::fs::Mode::from(UMASK));
    let mut command = Command::new(&launch.program);
    command.arg0(&launch.name).args(&launch.args).current_dir(&launch.cwd).env_clear().envs(&launch.env).stdin(stdin);
    command
}

/// The error of a program that does not run, with advice.
pub(super) fn not_run(launch: &Launch, error: &io::Error) -> NotStarted {
    let program = launch.program.display();
    let failed = Error::io(format_args!("`{program}` can't be run"), error);
    if let (io::ErrorKind::PermissionDenied, Some(hint)) = (error.kind(), closed_interpreter(&launch.program)) {
        return Error::new(Code::Io, failed.message().to_owned()).hint(hint).into();
    }
    let hint = match error.kind() {
        io::ErrorKind::NotFound if launch.program.exists() => {
            "its interpreter, or the loader that it needs, or the folder to run in does not exist there; look at its first line"
        }
        io::ErrorKind::NotFound => "it is not in the view of the command; name its folder in `[exec] read`",
        io::ErrorKind::PermissionDenied => {
            "make it executable for you, and name the folders of its interpreter and of itself in `[exec] read`"
        }
        io::ErrorKind::ArgumentListTooLong => "pass fewer or shorter arguments",
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            "it is no program of this machine; a script needs a first line such as `#!/bin/sh`"
        }
        _ => "look whether it runs outside of nrv",
    };
    Error::new(Code::Io, failed.message().to_owned()).hint(hint).into()
}

/// The advice for a program whose interpreter is out of reach, as that of a virtual environment of Python often is.
#[expect(clippy::disallowed_methods, reason = "it is the program, which the host chose")]
fn closed_interpreter(program: &Path) -> Option<String> {
    let is_executable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    let mut start = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(File::open(program).ok()?, FIRST_LINE), &mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let named = str::from_utf8(line).ok()?.split_whitespace().next()?;
    let real = std::fs::canonicalize(named).ok()?;
    if !is_executable(program) || !is_executable(&real) {
        return None;
    }
    let folder = real.parent()?;
    let home = folder.parent().filter(|above| folder.ends_with("bin") && above.parent().is_some()).unwrap_or(folder);
    Some(format!(
        "its interpreter is `{}`; name `{}` in `[exec] read`, and the folder of the program",
        real.display(),
        home.display()
    ))
}
