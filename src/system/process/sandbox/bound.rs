//! Bounds of a program's resources, and their means of enforcement.

use serde::{Deserialize, Serialize};

use super::{Confinement, Limits, State};

/// A bounded resource.
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

/// The means by which a bound is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A control group: the kernel counts everything, and permits no excess.
    Group,
    /// A limit of the user or of the process namespace: the kernel permits no excess.
    Limit,
    /// Regular measurements; the program is killed when it exceeds the bound.
    Watch,
}

/// Bounds that are defaults: if one of them is not fully enforced, that is reported, but does not prevent the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unasked {
    /// True if that of memory is.
    pub memory: bool,
    /// True if that of processes is.
    pub processes: bool,
}

impl Confinement {
    /// True if every requested bound is fully enforced.
    pub(super) fn bounds_what_was_asked(&self, limits: &Limits) -> bool {
        let by = |bound| self.bounds.get(&bound);
        let memory = limits.memory.is_none() || limits.unasked.memory || by(Bound::Memory) == Some(&Hold::Group);
        let processes = limits.processes.is_none()
            || limits.unasked.processes
            || matches!(by(Bound::Processes), Some(Hold::Group | Hold::Limit));
        memory && processes
    }

    /// Records a gap in the enforcement of a bound.
    pub(super) fn lacks(&mut self, what: String) {
        self.missing.push(what);
        if self.state == State::Enforced {
            self.state = State::Partial;
        }
    }
}
