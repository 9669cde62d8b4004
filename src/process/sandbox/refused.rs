//! The system calls that no confined program may make: those that reach other processes, the kernel's keys and mounts, or the
//! network, and those whose effects no other means bounds.

use libc::c_long;
use seccompiler::{BpfProgram, sock_filter};

const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // What is mounted, and what a process sees.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files past their folders.
    libc::SYS_open_by_handle_at,
    // Keys, which are shared with the user's other processes.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // System calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Namespaces that `clone` could make. Its newer form, `clone3`, hides what it makes from filters: it looks as if the kernel did
/// not have it, and programs fall back.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// What would type on a terminal in the user's place.
const TYPING: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX];

/// The kinds of sockets that a program with the network may have.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The number by which the kernel knows the machine; calls of another kind of machine end the program.
const MACHINE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// From here on there are the calls of x86's form with short pointers, which filters see as the same machine. Hardly a program has
/// them, and hardly a kernel: none is let through.
const SHORT: Option<u32> = if cfg!(target_arch = "x86_64") { Some(0x4000_0000) } else { None };

/// Where a filter finds the number of a call, that of the machine, and the lower half of the first argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// What a filter answers.
const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
const DENIED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
const ABSENT: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();

/// Refuses the calls to this process and all that it starts, for good. There may be no other thread.
pub(super) fn refuse(network: bool) -> Result<(), String> {
    let program = program(network).ok_or("filters for this machine are not known")?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())
}

/// The filter. The kernel runs it for each call that there is when it is set: what makes it long makes each start slow.
fn program(network: bool) -> Option<BpfProgram> {
    let mut program = vec![load(ARCHITECTURE)];
    // Over the next one, if it is this machine.
    program.push(jump(libc::BPF_JEQ, MACHINE?, 1, 0));
    program.extend([answer(libc::SECCOMP_RET_KILL_PROCESS), load(NUMBER)]);
    program.extend(SHORT.into_iter().flat_map(|from| [jump(libc::BPF_JGE, from, 0, 1), answer(ABSENT)]));
    program.extend(of_call(libc::SYS_clone3, &[answer(ABSENT)])?);
    for call in REFUSED {
        program.extend(of_call(*call, &[answer(DENIED)])?);
    }
    program.extend(of_call(
        libc::SYS_clone,
        &[load(ARGUMENTS), jump(libc::BPF_JSET, NAMESPACES.cast_unsigned(), 0, 1), answer(DENIED), answer(ALLOWED)],
    )?);
    let mut ioctl = vec![load(ARGUMENTS + 8)];
    for request in TYPING {
        ioctl.extend([jump(libc::BPF_JEQ, u32::try_from(*request).ok()?, 0, 1), answer(DENIED)]);
    }
    ioctl.push(answer(ALLOWED));
    program.extend(of_call(libc::SYS_ioctl, &ioctl)?);
    let mut socket = vec![load(ARGUMENTS)];
    for family in FAMILIES.iter().filter(|_| network) {
        socket.extend([jump(libc::BPF_JEQ, family.cast_unsigned(), 0, 1), answer(ALLOWED)]);
    }
    socket.push(answer(DENIED));
    program.extend(of_call(libc::SYS_socket, &socket)?);
    program.push(answer(ALLOWED));
    Some(program)
}

/// What is done for a call, of which something has to be answered.
fn of_call(call: c_long, what: &[sock_filter]) -> Option<Vec<sock_filter>> {
    let mut part = vec![jump(libc::BPF_JEQ, u32::try_from(call).ok()?, 0, u8::try_from(what.len()).ok()?)];
    part.extend_from_slice(what);
    Some(part)
}

fn load(at: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at)
}

fn answer(what: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, what)
}

/// Goes over so many instructions if what was loaded compares to a number in that way, and over so many if not.
fn jump(compare: u32, with: u32, over_if: u8, over_else: u8) -> sock_filter {
    sock_filter { jt: over_if, jf: over_else, ..statement(libc::BPF_JMP | compare | libc::BPF_K, with) }
}

fn statement(code: u32, k: u32) -> sock_filter {
    // All codes are below 256.
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt: 0, jf: 0, k }
}
