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

/// The most searches for new children in a row.
const ROUNDS: usize = 1000;

/// A process as a search saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seen {
    pub(super) pid: i32,
    parent: i32,
    /// The kernel's time of its start: the number alone may be given again.
    started: u64,
    /// True if it only waits to be reaped.
    has_ended: bool,
}

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
            Tree::Descendants => descendants().into_iter().map(|seen| seen.pid).collect(),
        }
    }

    /// Asks all processes to end.
    pub(super) fn terminate(self) {
        match self {
            Tree::Namespace => everybody(signal::Signal::SIGTERM),
            Tree::Descendants => descendants().into_iter().for_each(|seen| tell(seen, Signal::TERM)),
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
                    kill_in_turn(stop_descendants().into_iter().filter_map(open_seen));
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

/// Stops all descendants of this process, and returns those that live: a stopped process starts no others, so that a search
/// without new ones has found all.
fn stop_descendants() -> BTreeSet<Seen> {
    let mut stopped = BTreeSet::new();
    loop {
        stop_children();
        let found: BTreeSet<Seen> = descendants().into_iter().filter(|seen| !seen.has_ended).collect();
        let new: Vec<Seen> = found.difference(&stopped).copied().collect();
        if new.is_empty() {
            return found;
        }
        new.into_iter().for_each(|seen| tell(seen, Signal::STOP));
        stopped = found;
    }
}

/// Stops the children of this process, and reaps ended ones: of processes that take turns at living, each becomes a child of
/// this one, and a search through all processes of the machine comes too late for it.
fn stop_children() {
    let mut stopped = BTreeSet::new();
    for _ in 0..ROUNDS {
        // A number that was free for a moment may be that of a new process.
        while let Ok(Some((pid, _))) = rustix::process::wait(WaitOptions::NOHANG) {
            stopped.remove(&pid.as_raw_nonzero().get());
        }
        let new: Vec<i32> = children().into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            return;
        }
        // The number is the child's until it is reaped.
        for pid in new.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::STOP);
        }
    }
}

/// The numbers of the children of this process; none where the kernel does not list them.
#[expect(clippy::disallowed_methods, reason = "they are files of the kernel about this process")]
fn children() -> Vec<i32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// All descendants of this process.
fn descendants() -> BTreeSet<Seen> {
    descendants_of(own())
}

/// All descendants of a process.
pub(super) fn descendants_of(own: i32) -> BTreeSet<Seen> {
    let all: BTreeMap<i32, Seen> = visible().into_iter().filter_map(|pid| Some((pid, look(pid)?))).collect();
    let is_below = |seen: &Seen| {
        // A chain is never longer than the number of processes.
        let next = |pid: &i32| all.get(pid).map(|seen| seen.parent);
        std::iter::successors(Some(seen.parent), next).take(all.len()).any(|pid| pid == own)
    };
    all.values().copied().filter(is_below).collect()
}

fn own() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Looks at a process, even if its first thread has ended.
#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about a process")]
fn look(pid: i32) -> Option<Seen> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything; nothing behind it holds a parenthesis.
    let behind = text.rsplit(|byte| *byte == b')').next()?;
    let mut fields = str::from_utf8(behind).ok()?.split_ascii_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    Some(Seen { pid, parent: fields.next()?.parse().ok()?, started: fields.nth(17)?.parse().ok()?, has_ended })
}

/// Sends a signal to a descendant.
fn tell(seen: Seen, signal: Signal) {
    if let Some(process) = open_seen(seen) {
        // A process that has ended is fine.
        let _ = rustix::process::pidfd_send_signal(process, signal);
    }
}

/// A descendant, if it still is one: its number may belong to another process now.
fn open_seen(seen: Seen) -> Option<OwnedFd> {
    let process = open(seen.pid)?;
    // An orphan has this process as its parent.
    let is_it = |now: Seen| now.started == seen.started && (now.parent == seen.parent || now.parent == own());
    look(seen.pid).is_some_and(is_it).then_some(process)
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
        let seen = look(own()).unwrap();
        assert!(!seen.has_ended && seen.started > 0 && seen.parent > 0, "{seen:?}");
    }
}
