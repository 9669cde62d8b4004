//! Sandboxes of nrv's own processes, set up before they read untrusted input.
//!
//! Nothing here fails: where the kernel lacks a feature, the process continues, and reports the gap with its consequence.

use std::{fs::File, io::Read, path::PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};

use crate::{process::system_calls, threads};
use base::frame::{Isolation, Limits};

/// The version of a complete Landlock, which denies files, TCP ports, abstract sockets and signals.
pub(super) const COMPLETE: ABI = ABI::V6;

/// The first version that also denies sockets in folders, except those that the sandboxed process made itself.
pub(super) const PATH_SOCKETS: ABI = ABI::V9;

/// Folders of the libraries that a program loads.
const SYSTEM_LIBRARIES: &[&str] = &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"];

/// The descriptor of stderr.
const LAST_STANDARD: i32 = 2;

/// The limit of a worker's open files; it has stdin, stdout and stderr.
const OPEN_FILES: u64 = 8;

/// The limit of the open files of a process that also reads a tree.
const OPEN_BY_READERS: u64 = 1024;

/// Paths, and the rights beneath them.
pub(super) type Rule = (Vec<PathBuf>, BitFlags<AccessFs>);

/// Sandboxes the process of a script: no file, no network, no other process, bounded memory and processor time.
///
/// Closes inherited files beside stdin, stdout and stderr: they belong to the user's shell, not to the script. `start_threads`
/// is called once, after files are denied and before system calls are; the filter then holds for all threads. Call it on the
/// first thread, while there is no other, and before anything is opened.
pub fn script(limits: &Limits, start_threads: &mut dyn FnMut()) -> Isolation {
    let mut missing = Vec::new();
    close_inherited(&mut missing);
    tie_to_parent(&mut missing);
    note(
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable),
        &mut missing,
        || "other processes of this user may read its memory",
    );
    let status = status();
    let landlock = confine(&[], &mut missing);
    start_threads();
    limit_resources(limits, status, OPEN_FILES, &mut missing);
    let seccomp = match system_calls::allow_computation_only() {
        Ok(()) => true,
        Err(why) => {
            missing.push(format!("seccomp is not available ({why}): the script's process may make any system call"));
            false
        }
    };
    Isolation { landlock, seccomp, missing }
}

/// Sandboxes the process of a verifier: it reads and lists beneath the roots, writes nothing and has no network.
///
/// Inherited files are closed, as for a script. Call it on the first thread, while there is no other, and before anything is
/// opened.
pub fn read_only(roots: &[PathBuf]) -> Isolation {
    let mut missing = Vec::new();
    close_inherited(&mut missing);
    tie_to_parent(&mut missing);
    let landlock = confine(roots, &mut missing);
    Isolation { landlock, seccomp: false, missing }
}

/// Prepares the process of a verifier that starts a confined program: it ends with its parent and inherits no file.
pub fn alone() -> Isolation {
    let mut missing = Vec::new();
    close_inherited(&mut missing);
    tie_to_parent(&mut missing);
    Isolation { landlock: false, seccomp: false, missing }
}

/// As [`read_only`], with bounded memory and processor time, for a verifier that runs functions of a user's adapter on this many
/// threads.
pub fn read_only_bounded(roots: &[PathBuf], limits: &Limits, threads: usize) -> Isolation {
    /// The address space of a thread: its stack, and an arena.
    const THREAD: u64 = 192 << 20;
    let mut missing = Vec::new();
    close_inherited(&mut missing);
    tie_to_parent(&mut missing);
    // No file of the kernel can be opened afterwards.
    let status = status();
    let landlock = confine(roots, &mut missing);
    let room = limits.memory.saturating_add(THREAD.saturating_mul(threads as u64 + 1));
    limit_resources(&Limits { memory: room, ..limits.clone() }, status, OPEN_BY_READERS, &mut missing);
    Isolation { landlock, seccomp: false, missing }
}

/// The version of the kernel's Landlock; none if there is no Landlock.
///
/// The kernel reveals it to a thread that restricts itself, so a short-lived thread does that.
pub(super) fn landlock_abi() -> Option<i32> {
    let status = threads::start(|| restrict(&[], false)).ok()?.join().ok()?.ok()?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => Some(kernel_abi.unwrap_or(effective_abi as i32)),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    }
}

/// Closes every file above stderr.
///
/// A file without `O_CLOEXEC` reaches each child of the program that opened it, and Landlock does not restrict open files. No
/// file of this process is open yet, so none is closed while in use. In the host, other threads have open files, so it can't be
/// done there.
pub(super) fn close_inherited(missing: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        missing.push("`/proc` is not readable: files that the caller had open stay open".to_owned());
        return;
    };
    // Collected first: the listing has a descriptor of its own, which is closed at its end.
    let open: Vec<i32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > LAST_STANDARD) {
        // A closed one, such as the listing's, is fine.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Asks the kernel to end this process with its parent, and to deny it new rights by `exec`.
fn tie_to_parent(missing: &mut Vec<String>) {
    note(
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)),
        missing,
        || "the process goes on when the host is killed",
    );
    note(rustix::thread::set_no_new_privs(true), missing, || "a set-user-id program could gain privileges");
}

/// Denies all files but those beneath the roots, which may be read; all TCP ports; signals to others.
fn confine(roots: &[PathBuf], missing: &mut Vec<String>) -> bool {
    if roots.is_empty() {
        return enforce(&[], false, missing).is_some();
    }
    let readable = AccessFs::ReadFile | AccessFs::ReadDir;
    let libraries = SYSTEM_LIBRARIES.iter().map(PathBuf::from).collect();
    enforce(&[(roots.to_vec(), readable), (libraries, readable | AccessFs::Execute)], false, missing).is_some()
}

/// Denies all accesses to files but these beneath these paths; all TCP ports, unless the network is permitted; signals to
/// others. A missing path permits nothing. Returns the version in force; none if nothing is denied.
pub(super) fn enforce(rules: &[Rule], network: bool, missing: &mut Vec<String>) -> Option<ABI> {
    let (enforced, abi) = match restrict(rules, network) {
        Ok(RestrictionStatus { ruleset, landlock: LandlockStatus::Available { effective_abi, .. }, .. }) => {
            (ruleset != RulesetStatus::NotEnforced, effective_abi)
        }
        Ok(_) | Err(_) => (false, ABI::Unsupported),
    };
    if !enforced {
        missing.push("Landlock is not available: the kernel does not deny files to the process".to_owned());
        return None;
    }
    if abi < ABI::V4 && !network {
        missing.push("this kernel's Landlock is too old to deny TCP connections".to_owned());
    }
    if abi < COMPLETE {
        missing.push("this kernel's Landlock is too old to deny signals to other processes".to_owned());
    }
    Some(abi)
}

fn restrict(rules: &[Rule], network: bool) -> Result<RestrictionStatus, RulesetError> {
    // A kernel ignores rights that it does not know.
    let mut ruleset =
        Ruleset::default().handle_access(AccessFs::from_all(PATH_SOCKETS))?.scope(Scope::from_all(COMPLETE))?;
    if !network {
        ruleset = ruleset.handle_access(AccessNet::from_all(COMPLETE))?;
    }
    let mut ruleset: RulesetCreated = ruleset.create()?;
    for (paths, access) in rules {
        ruleset = ruleset.add_rules(path_beneath_rules(paths, *access))?;
    }
    ruleset.restrict_self()
}

/// The file with the size of the process, for reading when no file can be opened any more.
#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about this process, not of the workspace")]
fn status() -> Option<File> {
    File::open("/proc/self/status").ok()
}

fn limit_resources(limits: &Limits, status: Option<File>, open_files: u64, missing: &mut Vec<String>) {
    let set = |resource, soft: u64, hard: u64| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) })
    };
    match status.and_then(address_space) {
        Some(now) => {
            let most = now.saturating_add(limits.memory);
            note(set(Resource::As, most, most), missing, || "its memory is not bounded");
        }
        None => missing.push("`/proc` is not readable: its memory is not bounded".to_owned()),
    }
    // The first limit ends it by a signal that tells the reason, the second one for good.
    note(
        set(Resource::Cpu, limits.cpu_s, limits.cpu_s.saturating_add(1)),
        missing,
        || "its processor time is not bounded",
    );
    note(set(Resource::Nofile, open_files, open_files), missing, || "it may open many files");
    note(set(Resource::Core, 0, 0), missing, || "a crash may write a core file");
    note(set(Resource::Fsize, 0, 0), missing, || "it may write to files that it was given");
}

/// Bytes of address space in use.
fn address_space(mut status: File) -> Option<u64> {
    let mut text = String::new();
    status.read_to_string(&mut text).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn note(result: rustix::io::Result<()>, missing: &mut Vec<String>, meaning: impl Fn() -> &'static str) {
    if let Err(error) = result {
        missing.push(format!("the kernel refuses a limit ({error}): {}", meaning()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sandbox holds for the calling thread and its children, so a thread stands for a process here.
    #[test]
    fn a_verifier_reads_beneath_its_roots_only() {
        let inside = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let (root, other) = (inside.path().to_owned(), outside.path().to_owned());
        let tried = std::thread::spawn(move || {
            let mut missing = Vec::new();
            let confined = confine(std::slice::from_ref(&root), &mut missing);
            let list = |path: &std::path::Path| std::fs::read_dir(path).is_ok();
            let write = tempfile::tempfile_in(&root).is_ok();
            (confined, missing, list(&root), list(&other), write)
        });
        assert_eq!(tried.join().unwrap(), (true, Vec::new(), true, false, false));
    }
}
