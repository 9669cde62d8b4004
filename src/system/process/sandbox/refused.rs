//! The system calls that no sandboxed program may make. Some reach other processes, the kernel's keys and mounts, or the
//! network. Some make set-id files, which give this user's rights to others. The effects of the others have no other bound.

use libc::c_long;
use seccompiler::{BpfProgram, sock_filter};

const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts, and a process's view.
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
    // System calls that filters can't see.
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

/// Newer forms of calls whose pointer arguments filters can't see: new namespaces, the mode of a file. They fail as if the
/// kernel lacked them, and programs fall back.
const ABSENT_CALLS: &[c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// System V IPC and POSIX message queues, which programs of a user share by number or by name. Without a namespace of their
/// own, they fail as if the kernel lacked them.
const SHARED_CALLS: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that change limits and scheduling of a process or thread, their first argument, where 0 means the caller.
const OF_PROCESS: &[c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Calls that change priorities of the process in their second argument; the first one marks it as a process, as `PRIO_PROCESS` and
/// `IOPRIO_WHO_PROCESS` do.
const OF_KIND: &[(c_long, u32)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// Namespaces that `clone` could make.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Requests that would type on a terminal in the user's place: TIOCSTI and TIOCLINUX, whose type in `libc` depends on the C library.
const TYPING: &[u64] = &[0x5412, 0x541c];

/// The kinds of sockets that a program with the network may have.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The kernel's number of the machine; calls of another kind of machine end the program.
const MACHINE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// The first number of calls newer than this filter, whose effects are unknown. They fail as if the kernel lacked them, and
/// programs fall back. So do calls of x86's form with short pointers, which filters see as the same machine.
const NEWER: u32 = 463;

/// The mode bits by which a program runs as its owner or its group: others who run it get this user's rights.
const SET_ID: u32 = 0o6000;

/// Calls whose second argument is the mode of a file.
const MODE_SECOND: &[c_long] = &[
    libc::SYS_fchmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
];

/// The call `fchmodat2`, which has this number on every machine, and no name in `libc` for some of them.
const FCHMODAT2: c_long = 452;

/// Calls whose third argument is the mode of a file.
const MODE_THIRD: &[c_long] = &[libc::SYS_fchmodat, FCHMODAT2, libc::SYS_mkdirat, libc::SYS_mknodat];

/// The flags by which `open` creates a file. Without them, its mode argument is arbitrary.
const MAKES: i32 = libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY);

/// The part of a socket's type that names the kind; the rest are flags.
const SOCKET_TYPE: u32 = 0xf;

/// Pairs of sockets that stay connected: an end of any other pair may send anywhere.
const PAIRS: &[i32] = &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET];

/// The offsets of the call's number, the machine's number, and the lower half of the first argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The answers of a filter.
const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
const DENIED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
const ABSENT: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();

/// Refuses the calls to this process and its descendants, for good. There may be no other thread. Without namespaces, it also
/// refuses calls that reach the user's other processes by number.
pub(super) fn refuse(network: bool, has_namespaces: bool) -> Result<(), String> {
    let program = program(network, has_namespaces).ok_or("filters for this machine are not known")?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())
}

/// The filter. The kernel runs it for each known call when it is set, so its length slows each start. Later it runs it only for
/// calls whose arguments matter, so those come first.
fn program(network: bool, has_namespaces: bool) -> Option<BpfProgram> {
    let mut program = vec![load(ARCHITECTURE)];
    // Over the next one, if it is this machine.
    program.push(jump(libc::BPF_JEQ, MACHINE?, 1, 0));
    program.extend([answer(libc::SECCOMP_RET_KILL_PROCESS), load(NUMBER)]);
    program.extend([jump(libc::BPF_JGE, NEWER, 0, 1), answer(ABSENT)]);
    program.extend(of_calls(&[libc::SYS_openat], &opening(2))?);
    #[cfg(target_arch = "x86_64")]
    program.extend(of_calls(&[libc::SYS_open], &opening(1))?);
    program.extend(of_calls(MODE_SECOND, &mode(1))?);
    program.extend(of_calls(MODE_THIRD, &mode(2))?);
    let namespaces = NAMESPACES.cast_unsigned();
    program.extend(of_calls(
        &[libc::SYS_clone],
        &[load(argument(0)), jump(libc::BPF_JSET, namespaces, 0, 1), answer(DENIED), answer(ALLOWED)],
    )?);
    let mut ioctl = vec![load(argument(1))];
    for request in TYPING {
        ioctl.extend([jump(libc::BPF_JEQ, u32::try_from(*request).ok()?, 0, 1), answer(DENIED)]);
    }
    ioctl.push(answer(ALLOWED));
    program.extend(of_calls(&[libc::SYS_ioctl], &ioctl)?);
    if network {
        program.extend(of_calls(&[libc::SYS_socket], &one_of(FAMILIES))?);
        program.extend(of_calls(&[libc::SYS_socketpair], &one_of(&[libc::AF_UNIX]))?);
    } else {
        program.extend(of_calls(&[libc::SYS_socket, libc::SYS_connect], &[answer(DENIED)])?);
        program.extend(of_calls(&[libc::SYS_socketpair], &pair())?);
    }
    if !has_namespaces {
        program.extend(of_calls(OF_PROCESS, &zero(0))?);
        for (call, kind) in OF_KIND {
            let mut what = vec![load(argument(0)), jump(libc::BPF_JEQ, *kind, 1, 0), answer(DENIED)];
            what.extend(zero(1));
            program.extend(of_calls(&[*call], &what)?);
        }
        program.extend(of_calls(SHARED_CALLS, &[answer(ABSENT)])?);
    }
    program.extend(of_calls(ABSENT_CALLS, &[answer(ABSENT)])?);
    program.extend(of_calls(REFUSED, &[answer(DENIED)])?);
    program.push(answer(ALLOWED));
    Some(program)
}

/// The instructions for some calls, for which the filter must decide.
fn of_calls(calls: &[c_long], what: &[sock_filter]) -> Option<Vec<sock_filter>> {
    let mut part = Vec::with_capacity(calls.len() + what.len());
    for (at, call) in calls.iter().enumerate() {
        // To the answer over the remaining calls; from the last one, over the answer.
        let following = calls.len() - 1 - at;
        let past = if following == 0 { what.len() } else { 0 };
        let call = u32::try_from(*call).ok()?;
        part.push(jump(libc::BPF_JEQ, call, u8::try_from(following).ok()?, u8::try_from(past).ok()?));
    }
    part.extend_from_slice(what);
    Some(part)
}

/// Opening a file, with the flags in that argument and the mode in the next: a file that it may create must not be set-id.
fn opening(flags: u32) -> Vec<sock_filter> {
    let mode = mode(flags + 1);
    // An array of a few instructions.
    let over = u8::try_from(mode.len() - 1).unwrap_or(u8::MAX);
    let mut what = vec![load(argument(flags)), jump(libc::BPF_JSET, MAKES.cast_unsigned(), 0, over)];
    what.extend(mode);
    what
}

/// A mode argument, which must not have set-id bits.
fn mode(at: u32) -> [sock_filter; 4] {
    [load(argument(at)), jump(libc::BPF_JSET, SET_ID, 0, 1), answer(DENIED), answer(ALLOWED)]
}

/// An argument that must be 0: the caller.
fn zero(at: u32) -> [sock_filter; 4] {
    [load(argument(at)), jump(libc::BPF_JEQ, 0, 1, 0), answer(DENIED), answer(ALLOWED)]
}

/// A first argument that must be one of these.
fn one_of(numbers: &[i32]) -> Vec<sock_filter> {
    let mut what = vec![load(argument(0))];
    what.extend(are(numbers));
    what
}

/// A pair of sockets of this machine that stay connected.
fn pair() -> Vec<sock_filter> {
    let family = libc::AF_UNIX.cast_unsigned();
    let mut what = vec![load(argument(0)), jump(libc::BPF_JEQ, family, 1, 0), answer(DENIED)];
    what.extend([load(argument(1)), statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, SOCKET_TYPE)]);
    what.extend(are(PAIRS));
    what
}

/// Passes if the loaded value is one of these.
fn are(numbers: &[i32]) -> Vec<sock_filter> {
    let mut what = Vec::new();
    for number in numbers {
        what.extend([jump(libc::BPF_JEQ, number.cast_unsigned(), 0, 1), answer(ALLOWED)]);
    }
    what.push(answer(DENIED));
    what
}

/// The offset of an argument's lower half. All examined arguments are numbers of 32 bits to the kernel.
fn argument(at: u32) -> u32 {
    ARGUMENTS + 8 * at
}

fn load(at: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at)
}

fn answer(what: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, what)
}

/// Skips `over_if` instructions if the loaded value compares to a number in that way, else `over_else`.
fn jump(compare: u32, with: u32, over_if: u8, over_else: u8) -> sock_filter {
    sock_filter { jt: over_if, jf: over_else, ..statement(libc::BPF_JMP | compare | libc::BPF_K, with) }
}

fn statement(code: u32, k: u32) -> sock_filter {
    // All codes are below 256.
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt: 0, jf: 0, k }
}
