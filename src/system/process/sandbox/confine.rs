//! Sandboxes a process just before it becomes or starts a program: files, system calls, privileges, limits.

use std::{fs, os::unix::fs::FileTypeExt, path::PathBuf};

use landlock::{Access, AccessFs, BitFlags};
use rustix::{
    process::{DumpableBehavior, Resource, Rlimit},
    thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets},
};

use super::{Bound, Confine, Confinement, Hold, Launch, refused};
use crate::process::{kernel, lockdown};

/// Paths that every program may read and run.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/proc",
    "/sys/devices/system",
];

/// The folder with the settings of the system, which has accounts and keys too.
const SETTINGS: &str = "/etc";

/// The settings that runtimes of languages read; folders such as `/etc/python3.11` beside them.
const RUNTIME_SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/perl",
    "/etc/ssl/openssl.cnf",
];

/// Devices that every program may read and write.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The file with the addresses of name servers.
const RESOLVER: &str = "/etc/resolv.conf";

/// The supervising processes of nrv, which count as the program's.
const OWN_PROCESSES: u64 = 2;

/// The first release of the kernel whose user namespaces count their processes separately.
const OWN_COUNT: (u32, u32) = (5, 14);

/// Sandboxes this process, which has no other thread. Gaps of the kernel go into `missing`. True if system calls are filtered.
pub(super) fn this_process(launch: &Launch, namespaces: bool, missing: &mut Vec<String>) -> bool {
    let mut note = |result: rustix::io::Result<()>, what: &str| {
        if let Err(error) = result {
            missing.push(format!("the kernel refuses a limit ({error}): {what}"));
        }
    };
    if launch.confine == Confine::Off {
        return false;
    }
    note(rustix::thread::set_no_new_privs(true), "a set-user-id program can gain privileges");
    note(drop_capabilities(), "the program has privileges");
    if namespaces {
        // It is the parent of the program, which must not read its memory.
        note(
            rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable),
            "the program can read the memory of who supervises it",
        );
    }
    let landlock = lockdown::enforce(&rules(launch, namespaces), launch.network, missing);
    if launch.network && landlock.is_none_or(|version| version < lockdown::PATH_SOCKETS) {
        missing.push(
            "the network is permitted: services of this machine can be reached by sockets that lie in folders"
                .to_owned(),
        );
    }
    let filtered = refused::refuse(launch.network, namespaces);
    if let Err(why) = &filtered {
        missing.push(format!("seccomp is not available ({why}): the program may make any system call"));
    }
    filtered.is_ok()
}

/// Sets the limits that the program inherits; records the means of each bound, and the gaps.
pub(super) fn limit(launch: &Launch, namespaces: bool, confinement: &mut Confinement) {
    let Confinement { missing, bounds, .. } = confinement;
    let mut set = |resource, most: u64, what: &str| {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        let done = rustix::process::setrlimit(resource, limit);
        if let Err(error) = &done {
            missing.push(format!("the kernel refuses a limit ({error}): {what}"));
        }
        done.is_ok()
    };
    set(Resource::Core, 0, "a crash may write a core file");
    if let Some(most) = launch.limits.file_size {
        set(Resource::Fsize, most, "the size of files is not bounded");
    }
    if let Some(most) = launch.limits.memory.filter(|_| !launch.limits.unasked.memory) {
        // Only written memory counts: runtimes of JavaScript, Java or WebAssembly reserve terabytes of address space.
        set(Resource::Data, most, "the memory of each process is not bounded at once");
    }
    if let Some(most) = launch.limits.processes {
        // In an older kernel it is the number of all the user's processes, which a default can't know.
        let counts_others = kernel::release() < Some(OWN_COUNT);
        if namespaces && !rustix::process::getuid().is_root() {
            if launch.limits.unasked.processes && counts_others {
                missing.push(
                    "processes: this kernel counts those of the user elsewhere too: their number is only looked at"
                        .to_owned(),
                );
            } else if set(Resource::Nproc, most.saturating_add(OWN_PROCESSES), "processes: their number is not bounded")
            {
                bounds.insert(Bound::Processes, Hold::Limit);
            }
        } else if !namespaces {
            // The administrator has no limit. The user's other processes count as well, at most all of the machine.
            let hard = rustix::process::getrlimit(Resource::Nproc).maximum.unwrap_or(u64::MAX);
            let most = threads_of_the_machine().saturating_add(most).min(hard);
            set(Resource::Nproc, most, "processes: many may be there before they are counted");
            missing.push("processes: without namespaces and control groups their number is only counted".to_owned());
        }
    }
}

/// All processes and threads of this machine; the largest number if unknown.
#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel")]
fn threads_of_the_machine() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all = text.split(' ').nth(3).and_then(|running| running.split('/').nth(1));
    all.and_then(|all| all.parse().ok()).unwrap_or(u64::MAX)
}

/// Drops all capabilities of the administrator, or of a namespace's owner, also for started programs.
fn drop_capabilities() -> rustix::io::Result<()> {
    let now = rustix::thread::capabilities(None)?;
    if now.permitted.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().iter() {
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                // The kernel does not know this one.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
        rustix::thread::set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
        )?;
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Folders with settings of each installed version of Python; its start reads them.
fn settings_of_python() -> Vec<PathBuf> {
    let entries = fs::read_dir(SETTINGS).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().starts_with("/etc/python")).collect()
}

/// The rights of the program to files.
fn rules(launch: &Launch, namespaces: bool) -> Vec<(Vec<PathBuf>, BitFlags<AccessFs>)> {
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let read = AccessFs::from_read(lockdown::COMPLETE);
    let write = AccessFs::from_all(lockdown::COMPLETE) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let mut readable = paths(SYSTEM);
    if launch.private {
        readable.extend(paths(RUNTIME_SETTINGS).into_iter().chain(settings_of_python()));
    } else {
        readable.push(SETTINGS.into());
    }
    readable.extend(launch.read.iter().chain([&launch.program]).cloned());
    if launch.network {
        readable.push(RESOLVER.into());
    }
    let mut writable = launch.write.clone();
    writable.extend(launch.stage.as_ref().map(|stage| stage.root.clone()));
    if namespaces {
        writable.extend(super::mounts::temporary());
    } else {
        writable.push(launch.temporary.clone());
    }
    // It reaches only those sockets in folders that the launch names.
    let is_socket = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let sockets: Vec<PathBuf> = launch.read.iter().filter(is_socket).cloned().collect();
    vec![
        (readable, read),
        (writable, write),
        (paths(DEVICES), AccessFs::ReadFile | AccessFs::WriteFile),
        (sockets, AccessFs::ResolveUnix.into()),
    ]
}
