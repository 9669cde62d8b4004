//! Namespaces: a view of the machine of a process's own, which also a user without privileges may make.

use std::{fs, io};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    mount::{MountPropagationFlags, mount_change},
    thread::{CapabilitySets, capabilities, configure_capability_in_ambient_set, set_capabilities},
};

/// Which namespaces are made beside those of users and mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// No other: only the view of files is of its own.
    Files,
    /// Processes and their communication.
    Processes,
    /// Those and the network.
    Network,
}

/// Moves this process into namespaces of its own, in which it is the same user. What is mounted there stays there.
///
/// A process namespace holds for the next child. There may be no other thread. On an error the process may be in a part of the
/// namespaces, and is of no use any more. True if it has a network of its own, where that was wanted.
pub(super) fn enter(extent: Extent) -> Result<bool, String> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let files = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS;
    let processes = files | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    let mut network = true;
    let made = match extent {
        Extent::Files => unshare(files),
        Extent::Processes => unshare(processes),
        Extent::Network => unshare(processes | CloneFlags::CLONE_NEWNET).or_else(|_| {
            network = false;
            unshare(processes)
        }),
    };
    made.map_err(|error| format!("namespaces can't be made ({error})"))?;
    let map = |what: &str, line: String| {
        set(what, &line).map_err(|error| format!("users can't be mapped (`{what}`: {error})"))
    };
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("{0} {0} 1", user.as_raw()))?;
    map("gid_map", format!("{0} {0} 1", group.as_raw()))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| format!("mounts can't be made private ({error})"))?;
    Ok(network)
}

/// Lets the next program that this process starts keep what the owner of the namespaces may do: to the kernel its user is not
/// their administrator.
pub(super) fn pass_on_privileges() -> rustix::io::Result<()> {
    let now = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: now.permitted, ..now })?;
    now.permitted.iter().try_for_each(|capability| configure_capability_in_ambient_set(capability, true))
}

#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about this process")]
fn set(what: &str, line: &str) -> io::Result<()> {
    fs::write(format!("/proc/self/{what}"), line)
}
