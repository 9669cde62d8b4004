//! The process that confines itself before it starts a program: the first one of a process namespace, or, where there is none,
//! the one that becomes the program.

use std::{
    fs::File,
    io,
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::CommandExt},
    },
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
use crate::base::error::{Code, Error};

/// The argument of the process that starts the program and looks after it.
pub(super) const FIRST: &str = "first";

/// As [`FIRST`], where a network namespace could not be made.
pub(super) const FIRST_SHARING_NETWORK: &str = "first-sharing-network";

/// The argument of the process that becomes the program.
pub(super) const BECOME: &str = "become";

/// The umask of a program.
const UMASK: rustix::fs::RawMode = 0o022;

/// What the hidden subcommand [`super::INIT`] does.
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

/// The socket to who started this process, which is its stdin.
pub(super) fn control() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Tells that the program is not started.
pub(super) fn refuse(control: &UnixStream, refused: NotStarted) -> ExitCode {
    let _ = order::send(control, &Report::NotStarted(refused));
    ExitCode::FAILURE
}

/// Takes the order.
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
    Ok(reaper::until_end(control, &bell, Pid::from_child(&child), (Tree::Namespace, tally)))
}

/// The type of what does not come back.
enum Never {}

fn become_program(control: &UnixStream) -> Result<Never, NotStarted> {
    let _ = rustix::process::setsid();
    // The program keeps that. Who supervises it ends it in any case, if nobody kills them.
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

/// False for a file whose first bytes say neither that it is a program nor who interprets it: the library that starts it would
/// take a shell for that. What can't be read says something else about it.
#[expect(clippy::disallowed_methods, reason = "it is the program, which the host chose")]
fn has_format(launch: &Launch) -> bool {
    let mut start = [0; 4];
    let read = File::open(&launch.program).and_then(|mut file| io::Read::read(&mut file, &mut start));
    read.is_err() || start == *b"\x7fELF" || start.starts_with(b"#!")
}

/// Tells what confines the program, and waits until the host lets it start.
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

/// How far it was confined, where this is missing beside bounds.
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

/// What the program reads. It is opened before anything is out of sight.
#[expect(clippy::disallowed_methods, reason = "what a program reads is what the host chose")]
pub(super) fn stdin(launch: &Launch) -> Result<Stdio, NotStarted> {
    let Some(path) = &launch.stdin else { return Ok(Stdio::null()) };
    let failed =
        |error| Error::io(format_args!("`{}`, which the program reads, can't be opened", path.display()), &error);
    Ok(Stdio::from(File::open(path).map_err(failed)?))
}

/// The program as it is started. What this process says on stdout and stderr the program says too.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs that are confined")]
pub(super) fn command(launch: &Launch, stdin: Stdio) -> Command {
    rustix::process::umask(rustix::fs::Mode::from(UMASK));
    let mut command = Command::new(&launch.program);
    command.arg0(&launch.name).args(&launch.args).current_dir(&launch.cwd).env_clear().envs(&launch.env).stdin(stdin);
    command
}

/// Why a program does not run, and what to do about it.
pub(super) fn not_run(launch: &Launch, error: &io::Error) -> NotStarted {
    let program = launch.program.display();
    let failed = Error::io(format_args!("`{program}` can't be run"), error);
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
