//! Kills everything that a program started: with a process namespace by one call, without one by a search.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    os::fd::OwnedFd,
    time::Duration,
};

use nix::{sys::signal, unistd};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, PidfdFlags, Signal, WaitOptions},
};

/// The pause after a search without new processes.
const PAUSE: Duration = Duration::from_millis(2);

/// The number of processes that end at the same time.
const AT_ONCE: usize = 8;

/// The wait for the end of one of them: it may wait for a device.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The place of a program's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// In the process namespace whose first process this is.
    Namespace,
    /// Among the descendants of this process, which adopts orphans.
    Descendants,
}

impl Tree {
    /// The numbers of all processes but this one.
    pub(super) fn members(self) -> BTreeSet<i32> {
        match self {
            Tree::Namespace => visible().into_iter().filter(|pid| *pid != own()).collect(),
            Tree::Descendants => descendants().into_keys().collect(),
        }
    }

    /// Asks all processes to end.
    pub(super) fn terminate(self) {
        match self {
            Tree::Namespace => everybody(signal::Signal::SIGTERM),
            Tree::Descendants => descendants().into_iter().for_each(|(pid, parent)| tell(pid, parent, Signal::TERM)),
        }
    }

    /// Stops all processes for good, where that takes one call: a stopped one starts no others and takes no time from those
    /// that end.
    pub(super) fn stop(self) {
        if self == Tree::Namespace {
            everybody(signal::Signal::SIGSTOP);
        }
    }

    /// Kills all processes, and returns when none is left.
    pub(super) fn end(self) {
        match self {
            Tree::Namespace => {
                let all = self.members();
                if all.len() > AT_ONCE {
                    self.stop();
                    kill_in_turn(all.into_iter().filter_map(open));
                }
                everybody(signal::Signal::SIGKILL);
                while rustix::process::wait(WaitOptions::empty()).is_ok() {}
            }
            Tree::Descendants => {
                while !reap() {
                    // A stopped process starts no others, so that a search without new ones has found all.
                    let mut stopped = BTreeMap::new();
                    loop {
                        let found = descendants();
                        let new: Vec<(i32, i32)> = found
                            .iter()
                            .map(|(pid, parent)| (*pid, *parent))
                            .filter(|(pid, _)| !stopped.contains_key(pid))
                            .collect();
                        if new.is_empty() {
                            break;
                        }
                        new.into_iter().for_each(|(pid, parent)| tell(pid, parent, Signal::STOP));
                        stopped = found;
                    }
                    kill_in_turn(stopped.into_iter().filter_map(|(pid, parent)| open_of(pid, parent)));
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
}

/// Reaps all ended children. True if there is no child any more, and so no descendant.
fn reap() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(error) => return error == rustix::io::Errno::CHILD,
        }
    }
}

/// Sends a signal to all processes of the namespace but the first.
fn everybody(signal: signal::Signal) {
    // An empty namespace is fine.
    let _ = signal::kill(unistd::Pid::from_raw(-1), signal);
}

/// The numbers of all visible processes.
fn visible() -> BTreeSet<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The numbers of all descendants of this process with those of their parents.
fn descendants() -> BTreeMap<i32, i32> {
    descendants_of(own())
}

/// The numbers of all descendants of a process with those of their parents.
pub(super) fn descendants_of(own: i32) -> BTreeMap<i32, i32> {
    let all: BTreeMap<i32, i32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((pid, parent(pid)?))
        })
        .collect();
    let is_below = |pid: i32| {
        // A chain is never longer than the number of processes.
        let mut above = std::iter::successors(Some(pid), |pid| all.get(pid).copied()).skip(1).take(all.len());
        above.any(|pid| pid == own)
    };
    all.iter().map(|(pid, parent)| (*pid, *parent)).filter(|(pid, _)| is_below(*pid)).collect()
}

fn own() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The parent of a process, even if its first thread has ended.
#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about a process")]
fn parent(pid: i32) -> Option<i32> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything; nothing behind it holds a parenthesis.
    let behind = text.rsplit(|byte| *byte == b')').next()?;
    let mut fields = str::from_utf8(behind).ok()?.split_ascii_whitespace();
    fields.nth(1)?.parse().ok()
}

/// Sends a signal to a descendant.
fn tell(pid: i32, of: i32, signal: Signal) {
    if let Some(process) = open_of(pid, of) {
        // A process that has ended is fine.
        let _ = rustix::process::pidfd_send_signal(process, signal);
    }
}

/// A descendant, if it still is one: its number may belong to another process now.
fn open_of(pid: i32, of: i32) -> Option<OwnedFd> {
    let process = open(pid)?;
    // An orphan has this process as its parent.
    parent(pid).is_some_and(|now| now == of || now == own()).then_some(process)
}

fn open(pid: i32) -> Option<OwnedFd> {
    rustix::process::pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// Kills processes, few at a time: hundreds that end in the same moment wait for each other's memory, and take many seconds.
fn kill_in_turn(processes: impl Iterator<Item = OwnedFd>) {
    let mut ending = VecDeque::new();
    let wait = |process: &OwnedFd| {
        let _ = rustix::event::poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&PATIENCE));
    };
    for process in processes {
        let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
        ending.push_back(process);
        if ending.len() > AT_ONCE
            && let Some(first) = ending.pop_front()
        {
            wait(&first);
        }
    }
    ending.iter().for_each(wait);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_visible() {
        assert!(visible().contains(&own()));
    }
}
