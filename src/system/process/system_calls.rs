//! The system calls that a computation needs, and no other: I/O on open pipes, memory, running threads, signals to itself,
//! exit. No memory becomes executable.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

const ALLOWED: &[c_long] = &[
    // The pipes to the host; `poll` checks for a cancellation.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_close,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Running threads, and their end.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Its own signals: they tell a stack overflow from another fault.
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // The standard library needs these; neither clock nor chance reaches a script.
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    // The engine waits some milliseconds for a value in use before it reports an error.
    libc::SYS_clock_nanosleep,
];

/// Calls that set the protection of memory, by their third argument; none may make memory executable.
const PROTECTING: &[c_long] = &[libc::SYS_mmap, libc::SYS_mprotect];

/// Restricts all threads of this process to these calls; any other fails with `EPERM`.
pub(super) fn allow_computation_only() -> Result<(), String> {
    seccompiler::apply_filter_all_threads(&program()?).map_err(|error| error.to_string())
}

fn program() -> Result<BpfProgram, String> {
    let failed = |error: BackendError| error.to_string();
    let protection = SeccompCmpOp::MaskedEq(u64::from(libc::PROT_EXEC.unsigned_abs()));
    let not_executable = SeccompCondition::new(2, SeccompCmpArgLen::Dword, protection, 0).map_err(failed)?;
    // An abort is a signal to its own thread.
    let own = u64::from(std::process::id());
    let to_itself = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, own).map_err(failed)?;
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    for call in PROTECTING {
        rules.insert(*call, vec![SeccompRule::new(vec![not_executable.clone()]).map_err(failed)?]);
    }
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![to_itself]).map_err(failed)?]);
    let (refused, allowed) = (SeccompAction::Errno(libc::EPERM.unsigned_abs()), SeccompAction::Allow);
    let machine = std::env::consts::ARCH.try_into().map_err(failed)?;
    SeccompFilter::new(rules, refused, allowed, machine).and_then(TryInto::try_into).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's verdict on a call: runs the program on it.
    fn verdict(program: &BpfProgram, call: c_long, arguments: [u64; 3]) -> u32 {
        // `struct seccomp_data`: number, machine, instruction pointer, arguments.
        let machine = if cfg!(target_arch = "x86_64") { 0xc000_003e_u32 } else { 0xc000_00b7 };
        let mut data = [0; 64];
        data[..4].copy_from_slice(&u32::try_from(call).unwrap().to_ne_bytes());
        data[4..8].copy_from_slice(&machine.to_ne_bytes());
        for (at, argument) in arguments.iter().enumerate() {
            data[16 + 8 * at..24 + 8 * at].copy_from_slice(&argument.to_ne_bytes());
        }
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                0x20 => value = u32::from_ne_bytes(data[step.k as usize..][..4].try_into().unwrap()),
                0x54 => value &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += jump(value == step.k),
                0x25 => at += jump(value > step.k),
                0x35 => at += jump(value >= step.k),
                0x06 => return step.k,
                other => panic!("an instruction {other:#x} that filters don't have"),
            }
        }
    }

    #[track_caller]
    fn check(call: c_long, arguments: [u64; 3], allowed: bool) {
        let verdict = verdict(&program().unwrap(), call, arguments);
        assert_eq!(verdict == 0x7fff_0000, allowed, "{verdict:#x}");
    }

    #[test]
    fn only_what_a_computation_needs_is_allowed() {
        check(libc::SYS_read, [0; 3], true);
        check(libc::SYS_openat, [0; 3], false);
        check(libc::SYS_kill, [u64::from(std::process::id()), 9, 0], false);
    }

    #[test]
    fn memory_is_never_executable() {
        for call in PROTECTING {
            check(*call, [0, 4096, 3], true);
            check(*call, [0, 4096, 4], false);
            check(*call, [0, 4096, 7], false);
        }
    }

    #[test]
    fn a_signal_goes_to_the_process_itself_only() {
        let own = u64::from(std::process::id());
        check(libc::SYS_tgkill, [own, own, 6], true);
        check(libc::SYS_tgkill, [own + 1, own + 1, 6], false);
    }
}
