//! Measures the resources of a program's processes at intervals, if no control group does.

use std::{fs, path::Path, time::Duration};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};

use super::{Bound, Confinement, Hold, Limits, termination::Tree};
use crate::clock::Stopwatch;

/// The shortest interval between measurements.
const PERIOD: Duration = Duration::from_millis(100);

/// The ratio of the pause to the processor time of a measurement. Where many processes take turns, a measurement takes much
/// longer than that.
const RARITY: u32 = 50;

/// The longest interval between measurements.
const LONGEST: Duration = Duration::from_secs(2);

/// The fraction of the machine's memory below which a program is killed if it caused an equal fall.
const SCARCE: u64 = 16;

/// The bounds of a program's processes, with their measurements.
#[derive(Debug)]
pub(super) struct Tally {
    tree: Tree,
    memory: Option<u64>,
    processes: Option<u64>,
    /// The memory of the machine at the start.
    machine: Machine,
    pause: Duration,
    last: Stopwatch,
}

/// Bytes of memory of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Machine {
    /// The total.
    total: u64,
    /// The memory that is available without swapping.
    available: u64,
}

/// The measured resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    /// Bytes of memory; shared memory counts for each process.
    memory: u64,
    /// Processes and threads.
    threads: u64,
}

impl Tally {
    /// The measurement of bounds; none if there are none, or processes are invisible. Records the means of these bounds.
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
        Some(Tally { tree, memory, processes, machine: Machine::now(), pause: PERIOD, last: Stopwatch::start() })
    }

    /// The time until the next measurement.
    pub(super) fn next(&self) -> Duration {
        self.pause.saturating_sub(self.last.elapsed())
    }

    /// Measures if it is time; returns the exceeded bound.
    pub(super) fn exceeded(&mut self) -> Option<Bound> {
        if !self.next().is_zero() {
            return None;
        }
        let before = processor_time();
        let found = self.look();
        let took = processor_time().saturating_sub(before);
        self.pause = took.saturating_mul(RARITY).clamp(PERIOD, LONGEST);
        self.last = Stopwatch::start();
        found
    }

    fn look(&self) -> Option<Bound> {
        let pids = self.tree.members();
        let are_many = |number: u64| self.processes.is_some_and(|most| number >= most);
        // Each has a thread at least, so too many need no individual measurement.
        if are_many(pids.len() as u64) {
            return Some(Bound::Processes);
        }
        let mut all = Taken::default();
        for status in pids.iter().filter_map(|pid| read(*pid, "status")) {
            let one = taken(&status);
            all = Taken { memory: all.memory.saturating_add(one.memory), threads: all.threads + one.threads };
        }
        // Forked processes share most of their memory: only then the exact measurement is worth its time.
        let shared_once = || pids.iter().map(|pid| proportional(*pid)).fold(0, u64::saturating_add);
        if are_many(all.threads) {
            return Some(Bound::Processes);
        }
        let is_beyond = |most: u64| all.memory > most && shared_once() > most;
        // Some of their memory is invisible: files in memory, pipes, page tables.
        let is_exceeded = |most: u64| is_beyond(most) || self.machine.has_become_scarce(Machine::now());
        self.memory.is_some_and(is_exceeded).then_some(Bound::Memory)
    }
}

impl Machine {
    #[expect(clippy::disallowed_methods, reason = "it is a file of the kernel")]
    fn now() -> Self {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let bytes = |word: &str| kilobytes(&text, word) << 10;
        Machine { total: bytes("MemTotal:"), available: bytes("MemAvailable:") }
    }

    /// True if hardly any of the former memory is left.
    fn has_become_scarce(self, now: Machine) -> bool {
        let few = now.total / SCARCE;
        now.available < few && self.available.saturating_sub(now.available) > few
    }
}

/// Processor time of this process, which has one thread.
fn processor_time() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_SELF).map(|usage| usage.user_time() + usage.system_time());
    used.ok().and_then(|used| u64::try_from(used.num_microseconds()).ok()).map_or(Duration::ZERO, Duration::from_micros)
}

/// The resources in a process's `status`: memory that is not a file's.
fn taken(status: &str) -> Taken {
    let memory = kilobytes(status, "RssAnon:") + kilobytes(status, "RssShmem:") + kilobytes(status, "VmSwap:");
    Taken { memory: memory << 10, threads: kilobytes(status, "Threads:") }
}

/// Bytes of memory of a process, with its share of shared memory. If that is unknown, the apparent size.
fn proportional(pid: i32) -> u64 {
    let seen = read(pid, "smaps_rollup")
        .map(|text| kilobytes(&text, "Pss_Anon:") + kilobytes(&text, "Pss_Shmem:") + kilobytes(&text, "SwapPss:"));
    seen.map(|seen| seen << 10).or_else(|| read(pid, "status").map(|status| taken(&status).memory)).unwrap_or_default()
}

/// The number in the line with this prefix.
fn kilobytes(text: &str, word: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about a process")]
fn read(pid: i32, file: &str) -> Option<String> {
    fs::read(format!("/proc/{pid}/{file}")).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
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
    fn memory_of_the_machine_is_scarce_if_hardly_any_is_left_of_much() {
        let machine = |available| Machine { total: 160, available };
        assert!(machine(100).has_become_scarce(machine(9)));
        // As much as before, and as little as before.
        assert!(!machine(100).has_become_scarce(machine(10)));
        assert!(!machine(15).has_become_scarce(machine(9)));
        let now = Machine::now();
        assert!(now.available > 0 && now.available < now.total, "{now:?}");
    }

    #[test]
    fn this_process_takes_something() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(proportional(own) > 100 << 10);
    }
}
