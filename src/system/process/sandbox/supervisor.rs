//! The process between the host and a program: it makes namespaces, or adopts the program's orphans where there are none.

use std::{
    io::Write,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    process::{Child, ExitCode, Stdio},
};

use rustix::process::{Pid, Signal};

use super::{
    Confinement, INIT, NotStarted, State, cgroup, init, mounts,
    namespaces::{self, Extent},
    order::{self, Report},
    reaper,
    termination::Tree,
    usage::Tally,
};
use crate::process::{Program, bare, lockdown};
use base::error::Error;

/// The kind of supervision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Confined, in namespaces of its own.
    Namespaces,
    /// As [`Way::Namespaces`], with the network of the machine.
    WithNetwork,
    /// Confined, without namespaces.
    Plain,
    /// Not confined, on a stage.
    Staged,
    /// Not confined.
    Bare,
}

impl Way {
    const ALL: [Way; 5] = [Way::Namespaces, Way::WithNetwork, Way::Plain, Way::Staged, Way::Bare];

    /// The argument that names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Namespaces => "namespaces",
            Way::WithNetwork => "with-network",
            Way::Plain => "plain",
            Way::Staged => "staged",
            Way::Bare => "bare",
        }
    }
}

/// The entry point of the hidden subcommand [`super::SUPERVISOR`].
pub fn main(argument: &str) -> ExitCode {
    lockdown::close_inherited(&mut Vec::new());
    let Some(way) = Way::ALL.into_iter().find(|way| way.name() == argument) else { return ExitCode::FAILURE };
    let Ok(control) = init::control() else { return ExitCode::FAILURE };
    let _ = rustix::process::setsid();
    // Every process that starts from here on is in the groups, too.
    let Ok(groups) = order::receive::<Vec<PathBuf>>(&control) else { return ExitCode::FAILURE };
    if let Err(why) = cgroup::join(&groups) {
        let _ = order::send(&control, &Report::NoGroup(why));
        return ExitCode::FAILURE;
    }
    let done = match way {
        Way::Namespaces => return in_namespaces(&control, Extent::Network),
        Way::WithNetwork => return in_namespaces(&control, Extent::Processes),
        Way::Staged => match namespaces::enter(Extent::Files) {
            Ok(_) => unconfined(&control),
            Err(why) => return no_namespaces(&control, why),
        },
        Way::Bare => unconfined(&control),
        Way::Plain => plain(&control),
    };
    done.unwrap_or_else(|refused| init::refuse(&control, refused))
}

fn no_namespaces(control: &UnixStream, why: String) -> ExitCode {
    let _ = order::send(control, &Report::NoNamespaces(why));
    ExitCode::FAILURE
}

/// Makes the namespaces, and in them the first process, which then speaks with the host. This process only waits for it: at its
/// end, the kernel ends everything in the namespaces.
fn in_namespaces(control: &UnixStream, extent: Extent) -> ExitCode {
    let own_network = match namespaces::enter(extent) {
        Ok(own_network) => own_network,
        Err(why) => return no_namespaces(control, why),
    };
    if let Err(error) = namespaces::pass_on_privileges() {
        return no_namespaces(control, format!("privileges in namespaces can't be passed on ({error})"));
    }
    // Without this process the first one ends by itself, too; this is faster.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let argument = if own_network { init::FIRST } else { init::FIRST_SHARING_NETWORK };
    match spawn_init(argument, Stdio::inherit()) {
        Ok(mut first) => {
            reaper::let_go();
            match first.wait() {
                Ok(status) if status.success() => ExitCode::SUCCESS,
                Ok(_) | Err(_) => ExitCode::FAILURE,
            }
        }
        Err(error) => no_namespaces(control, error.message().to_owned()),
    }
}

/// Starts the program unconfined.
fn unconfined(control: &UnixStream) -> Result<ExitCode, NotStarted> {
    gather()?;
    let launch = init::take(control)?.launch;
    let stdin = init::stdin(&launch)?;
    if launch.stage.is_some() {
        mounts::lay_stage(&launch)?;
    }
    let bell = init::bell()?;
    let mut program = init::command(&launch, stdin);
    program.env("TMPDIR", &launch.temporary);
    let mut confinement =
        Confinement { state: State::Unavailable, staged: launch.stage.is_some(), ..Confinement::default() };
    super::confine::limit(&launch, false, &mut confinement);
    let tally = Tally::new(&launch.limits, Tree::Descendants, &mut confinement);
    init::agree(control, confinement)?;
    let child = init::start(&bell, &launch, std::os::unix::process::CommandExt::process_group(&mut program, 0))?;
    drop(program);
    Ok(reaper::until_end(control, &bell, Pid::from_child(&child), Tree::Descendants, tally))
}

/// Starts a process that sandboxes itself and becomes the program, and speaks with the host for it.
fn plain(control: &UnixStream) -> Result<ExitCode, NotStarted> {
    gather()?;
    let failed = |error| NotStarted::Failed(Error::io("a program can't be supervised", &error));
    let order = init::take(control)?;
    let bell = init::bell()?;
    let (own, other) = UnixStream::pair().map_err(failed)?;
    let started = bell.start(|| spawn_init(init::BECOME, Stdio::from(OwnedFd::from(other))));
    let child = started.map_err(|error| failed(error.into()))??;
    order::send(&own, &order).map_err(failed)?;
    let mut confinement = match order::receive(&own).map_err(failed)? {
        Report::Ready(confinement) => confinement,
        Report::NotStarted(refused) => return Err(refused),
        Report::NoNamespaces(_) | Report::NoGroup(_) | Report::Ended(_) => {
            return Err(failed(std::io::ErrorKind::InvalidData.into()));
        }
    };
    let tally = Tally::new(&order.launch.limits, Tree::Descendants, &mut confinement);
    if let Err(refused) = init::agree(control, confinement) {
        Tree::Descendants.end();
        return Err(refused);
    }
    (&own).write_all(&[order::GO]).map_err(failed)?;
    // It ends without a report once the process has become the program.
    if let Ok(Report::NotStarted(refused)) = order::receive(&own) {
        return Err(refused);
    }
    Ok(reaper::until_end(control, &bell, Pid::from_child(&child), Tree::Descendants, tally))
}

/// Makes this process the parent of all orphaned descendants.
fn gather() -> Result<(), NotStarted> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| Error::io("the processes of a program can't be gathered", &error.into()).into())
}

fn spawn_init(argument: &str, stdin: Stdio) -> Result<Child, Error> {
    let mut command = bare(&Program::ReExec);
    command.args([INIT, argument]).stdin(stdin);
    command.spawn().map_err(|error| Error::io("the first process of a program can't be started", &error))
}
