//! Bounds of what a program may use of the machine, and by what they hold.

use serde::{Deserialize, Serialize};

use super::{Confinement, Limits, State};

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Memory of all processes together.
    Memory,
    /// Processes and threads at once.
    Processes,
    /// Space on the disk.
    Disk,
}

/// By what a bound holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A control group: the kernel counts everything, and lets nothing beyond.
    Group,
    /// A limit of the user or of the process namespace: the kernel lets nothing beyond.
    Limit,
    /// It is looked at again and again, and the program is ended when it is beyond.
    Watch,
}

/// Bounds that are defaults: that one of them is not held in full is told, and is no reason not to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unasked {
    /// That of memory.
    pub memory: bool,
    /// That of processes.
    pub processes: bool,
}

impl Confinement {
    /// True if every bound holds in full that was asked for.
    pub(super) fn bounds_what_was_asked(&self, limits: &Limits) -> bool {
        let by = |bound| self.bounds.get(&bound);
        let memory = limits.memory.is_none() || limits.unasked.memory || by(Bound::Memory) == Some(&Hold::Group);
        let processes = limits.processes.is_none()
            || limits.unasked.processes
            || matches!(by(Bound::Processes), Some(Hold::Group | Hold::Limit));
        memory && processes
    }

    /// Adds what is missing of a bound.
    pub(super) fn lacks(&mut self, what: String) {
        self.missing.push(what);
        if self.state == State::Enforced {
            self.state = State::Partial;
        }
    }
}
