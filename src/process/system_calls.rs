//! The system calls that a computation needs, and no other: reading and writing pipes that are open, memory, threads that
//! run already, signals of its own, ending.

use libc::c_long;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

const ALLOWED: &[c_long] = &[
    // The pipes to the host; `poll` looks for a cancellation.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_close,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    // Threads that run already, and their end.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Its own signals: a stack overflow is told from another fault, and an abort is a signal to itself.
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_restart_syscall,
    // Asked for by the standard library; neither clock nor chance reaches a script.
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
];

/// Lets all threads of this process make only these calls from now on; another one fails with `EPERM`.
pub(super) fn allow_computation_only() -> Result<(), String> {
    let filter = SeccompFilter::new(
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect(),
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into().map_err(|error| format!("{error}"))?,
    )
    .map_err(|error| error.to_string())?;
    let program: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}
