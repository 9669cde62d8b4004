//! The limits of commands.

use system::{
    policy::Exec,
    process::sandbox::{self, Limits, Unasked},
};

/// The limits of commands under a policy; an absent one is unlimited. The default for memory depends on the machine.
pub fn limits(exec: &Exec) -> Limits {
    Limits {
        memory: Some(exec.memory.unwrap_or_else(sandbox::most_memory)),
        file_size: exec.file_size,
        processes: exec.processes,
        disk: exec.disk,
        unasked: Unasked { memory: exec.memory.is_none(), processes: exec.processes == Exec::default().processes },
    }
}

/// The policy key of a limit, its value, and the limited resource.
pub fn bound(limits: &sandbox::Limits, bound: sandbox::Bound) -> (&'static str, u64, &'static str) {
    let (key, limit, what) = match bound {
        sandbox::Bound::Memory => ("exec.memory", limits.memory, "memory"),
        sandbox::Bound::Processes => ("exec.processes", limits.processes, "processes"),
        sandbox::Bound::Disk => ("exec.disk", limits.disk, "space on the disk, at least 4 KiB a file"),
    };
    (key, limit.unwrap_or(u64::MAX), what)
}
