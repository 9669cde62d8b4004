//! The system calls that no confined program may make: those that reach other processes, the kernel's keys and mounts, or the
//! network, and those whose effects no other means bounds.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

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
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// What would type on a terminal in the user's place.
const TYPING: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX];

/// The kinds of sockets that a program with the network may have.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The numbers of x86's form with short pointers, which filters see as the same machine.
#[cfg(target_arch = "x86_64")]
const SHORT: c_long = 0x4000_0000;

/// Calls that have other numbers there: `ioctl`, `ptrace`, `process_vm_readv`, `process_vm_writev`, `kexec_load`.
#[cfg(target_arch = "x86_64")]
const SHORT_ONLY: &[c_long] = &[SHORT | 521, SHORT | 528, SHORT | 539, SHORT | 540];

/// Refuses the calls to this process and all that it starts, for good. There may be no other thread.
pub(super) fn refuse(network: bool) -> Result<(), String> {
    for program in programs(network).map_err(|error| error.to_string())? {
        seccompiler::apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn programs(network: bool) -> Result<[BpfProgram; 2], BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let only_if =
        |at: u8, compare: SeccompCmpOp, value: u64| SeccompCondition::new(at, SeccompCmpArgLen::Dword, compare, value);
    let mut any_of = |call: c_long, at: u8, conditions: Vec<(SeccompCmpOp, u64)>| {
        let rule = |(compare, value)| SeccompRule::new(vec![only_if(at, compare, value)?]);
        rules.insert(call, conditions.into_iter().map(rule).collect::<Result<_, _>>()?);
        Ok::<_, BackendError>(())
    };
    let bits = NAMESPACES.iter().map(|flag| u64::from(flag.unsigned_abs()));
    any_of(libc::SYS_clone, 0, bits.map(|bit| (SeccompCmpOp::MaskedEq(bit), bit)).collect())?;
    any_of(libc::SYS_ioctl, 1, TYPING.iter().map(|request| (SeccompCmpOp::Eq, *request)).collect())?;
    let families = FAMILIES.iter().map(|family| only_if(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    let foreign = if network { vec![SeccompRule::new(families.collect::<Result<_, _>>()?)?] } else { Vec::new() };
    rules.insert(libc::SYS_socket, foreign);
    let mut absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    #[cfg(target_arch = "x86_64")]
    {
        for table in [&mut rules, &mut absent] {
            let short: Vec<_> = table.iter().map(|(call, rules)| (SHORT | call, rules.clone())).collect();
            table.extend(short);
        }
        rules.extend(SHORT_ONLY.iter().map(|call| (*call, Vec::new())));
        // Its `ioctl` has another number.
        rules.insert(SHORT | 514, rules[&libc::SYS_ioctl].clone());
    }
    let machine: seccompiler::TargetArch = std::env::consts::ARCH.try_into()?;
    let program = |rules, errno: i32| {
        let refused = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refused, machine).and_then(TryInto::try_into)
    };
    Ok([program(rules, libc::EPERM)?, program(absent, libc::ENOSYS)?])
}
