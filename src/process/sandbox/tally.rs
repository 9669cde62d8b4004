//! Counting what the processes of a program take, where no control group does: again and again, and rarely if it takes long.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use super::{Bound, Confinement, Hold, Limits, sweep::Tree};
use crate::clock::Stopwatch;

/// How often it is looked at most.
const PERIOD: Duration = Duration::from_millis(100);

/// How many times as long as it takes to look is waited until the next time.
const RARITY: u32 = 50;

/// What the processes of a program may take.
#[derive(Debug)]
pub(super) struct Tally {
    tree: Tree,
    memory: Option<u64>,
    processes: Option<u64>,
    pause: Duration,
    last: Stopwatch,
}

/// What they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    /// Bytes of memory, of which what several processes share is counted for each.
    memory: u64,
    /// Processes and threads.
    threads: u64,
}

impl Tally {
    /// One for what is to be bounded; none if nothing is, or processes can't be seen. Says what is bounded so.
    pub(super) fn new(limits: &Limits, tree: Tree, confinement: &mut Confinement) -> Option<Self> {
        let Limits { memory, processes, .. } = *limits;
        let own = format!("{}", rustix::process::getpid().as_raw_nonzero());
        // The list of processes may be that of another namespace.
        let is_own = fs::read_link("/proc/self").is_ok_and(|link| link == Path::new(&own));
        if memory.is_none() && processes.is_none() || !is_own {
            return None;
        }
        if memory.is_some() {
            confinement.bounds.insert(Bound::Memory, Hold::Watch);
        }
        if processes.is_some() {
            confinement.bounds.entry(Bound::Processes).or_insert(Hold::Watch);
        }
        Some(Tally { tree, memory, processes, pause: PERIOD, last: Stopwatch::start() })
    }

    /// How long until it is to be looked again.
    pub(super) fn next(&self) -> Duration {
        self.pause.saturating_sub(self.last.elapsed())
    }

    /// Looks if it is time; gives the bound that is exceeded.
    pub(super) fn exceeded(&mut self) -> Option<Bound> {
        if !self.next().is_zero() {
            return None;
        }
        let watch = Stopwatch::start();
        let found = self.look();
        self.pause = PERIOD.max(watch.elapsed().saturating_mul(RARITY));
        self.last = Stopwatch::start();
        found
    }

    fn look(&self) -> Option<Bound> {
        let pids = self.tree.members();
        let mut all = Taken::default();
        for status in pids.iter().filter_map(|pid| read(*pid, "status")) {
            let one = taken(&status);
            all = Taken { memory: all.memory.saturating_add(one.memory), threads: all.threads + one.threads };
        }
        // Processes that were forked share most of what they have: only then it is worth the time to see how much.
        let shared_once = || pids.iter().map(|pid| proportional(*pid)).fold(0, u64::saturating_add);
        if self.processes.is_some_and(|most| all.threads >= most) {
            return Some(Bound::Processes);
        }
        let is_beyond = |most: u64| all.memory > most && shared_once() > most;
        self.memory.is_some_and(is_beyond).then_some(Bound::Memory)
    }
}

/// What a process takes by its `status`: memory that is no file's.
fn taken(status: &str) -> Taken {
    let memory = kilobytes(status, "RssAnon:") + kilobytes(status, "RssShmem:") + kilobytes(status, "VmSwap:");
    Taken { memory: memory << 10, threads: kilobytes(status, "Threads:") }
}

/// Bytes of memory of a process, of which it has its share of what several have. What can't be seen is what it seems to be.
fn proportional(pid: i32) -> u64 {
    let seen = read(pid, "smaps_rollup")
        .map(|text| kilobytes(&text, "Pss_Anon:") + kilobytes(&text, "Pss_Shmem:") + kilobytes(&text, "SwapPss:"));
    seen.map(|seen| seen << 10).or_else(|| read(pid, "status").map(|status| taken(&status).memory)).unwrap_or_default()
}

/// The number of a line that begins so.
fn kilobytes(text: &str, word: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about a process")]
fn read(pid: i32, file: &str) -> Option<String> {
    fs::read(format!("/proc/{pid}/{file}")).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The numbers of all processes that can be seen.
pub(super) fn visible() -> BTreeSet<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_takes_what_is_no_files() {
        let status = "Name:\tx\nVmRSS:\t 99 kB\nRssAnon:\t  20 kB\nRssFile:\t 70 kB\nRssShmem:\t 9 kB\nThreads:\t3\n";
        assert_eq!(taken(status), Taken { memory: 29 << 10, threads: 3 });
        assert_eq!(taken(""), Taken::default());
    }

    #[test]
    fn this_process_takes_something() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(visible().contains(&own));
        assert!(proportional(own) > 100 << 10);
    }
}
