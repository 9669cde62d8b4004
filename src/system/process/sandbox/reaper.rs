//! Supervises a running program: reaps ended processes, obeys the host, and kills all of them.

use std::{
    os::{fd::AsFd, unix::net::UnixStream},
    process::ExitCode,
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
    time::TimeValLike,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, WaitId, WaitIdOptions, WaitOptions, WaitStatus},
};

use super::{
    Bound,
    order::{self, End, Report},
    termination::Tree,
    usage::Tally,
};

/// Wakes up when a child ends. It must exist before the first start.
pub(super) struct Bell(SignalFd);

impl Bell {
    /// Asks the kernel for signals about ended children.
    pub(super) fn new() -> nix::Result<Self> {
        let set = children();
        set.thread_block()?;
        SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map(Bell)
    }

    /// Starts a child with the signal unblocked. It would inherit the block, and a shell would wait for the signal in vain.
    ///
    /// It does not ring for a child that ends meanwhile: look first, then wait.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> T) -> nix::Result<T> {
        children().thread_unblock()?;
        let started = start();
        children().thread_block()?;
        Ok(started)
    }
}

/// The signal about ended children.
fn children() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGCHLD);
    set
}

/// Waits until a program ends, kills its leftovers, and reports to the host.
pub(super) fn until_end(control: &UnixStream, bell: &Bell, program: Pid, tree: Tree, tally: Option<Tally>) -> ExitCode {
    let_go();
    let status = watch(control, bell, program, tree, tally);
    tree.end();
    let Some((status, exceeded)) = status else { return ExitCode::FAILURE };
    let (cpu_ms, peak_bytes) = used();
    let end = End { status: status.exit_status(), signal: status.terminating_signal(), cpu_ms, peak_bytes, exceeded };
    match order::send(control, &Report::Ended(end)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Leaves stdout to the program, so that whoever reads it hears of its end. Without this, only the program's own end is heard.
pub(super) fn let_go() {
    let _ = rustix::stdio::dup2_stdout(rustix::stdio::stderr());
}

/// The end of the program, and its bound if it hit one; none if the host is gone.
fn watch(
    control: &UnixStream,
    bell: &Bell,
    program: Pid,
    tree: Tree,
    mut tally: Option<Tally>,
) -> Option<(WaitStatus, Option<Bound>)> {
    loop {
        loop {
            // Orphans may end all the time, so that the program's end is looked for before each of them is reaped.
            if tree == Tree::Descendants && has_ended(program) {
                // Kills the rest of its group at once. The number is the group's as long as the program was not reaped.
                let _ = rustix::process::kill_process_group(program, rustix::process::Signal::KILL);
            }
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == program => return Some((status, None)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        if let Some(bound) = tally.as_mut().and_then(Tally::exceeded) {
            return end_and_find(program, tree).map(|status| (status, Some(bound)));
        }
        let patience = tally.as_ref().and_then(|tally| Timespec::try_from(tally.next()).ok());
        let mut ready = [PollFd::from_borrowed_fd(bell.0.as_fd(), PollFlags::IN), PollFd::new(control, PollFlags::IN)];
        match rustix::event::poll(&mut ready, patience.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        let (rings, speaks) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
        if rings {
            while let Ok(Some(_)) = bell.0.read_signal() {}
        }
        if speaks {
            match order::byte(control)? {
                order::TERM => tree.terminate(),
                order::KILL => return end_and_find(program, tree).map(|status| (status, None)),
                _ => {}
            }
        }
    }
}

/// True if an unreaped child has ended.
fn has_ended(child: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(rustix::process::waitid(WaitId::Pid(child), look), Ok(Some(_)))
}

/// Kills the program first, so that its status is found among all the others.
fn end_and_find(program: Pid, tree: Tree) -> Option<WaitStatus> {
    tree.stop();
    if tree == Tree::Descendants {
        let _ = rustix::process::kill_process_group(program, rustix::process::Signal::KILL);
    }
    let _ = rustix::process::kill_process(program, rustix::process::Signal::KILL);
    rustix::process::waitpid(Some(program), WaitOptions::empty()).ok().flatten().map(|(_, status)| status)
}

/// Milliseconds of processor time of all reaped children, and bytes of memory of the largest.
fn used() -> (u64, u64) {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return (0, 0) };
    let time = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    let peak = u64::try_from(usage.max_rss()).unwrap_or(0);
    (u64::try_from(time).unwrap_or(0).div_ceil(1000), peak << 10)
}
