//! Namespaces: a separate view of the machine, which also a user without privileges may make.

use std::{fs, io};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    mount::{MountPropagationFlags, mount_change},
    thread::{CapabilitySets, capabilities, configure_capability_in_ambient_set, set_capabilities},
};

/// The namespaces beside those of users and mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// No other: only the view of files is separate.
    Files,
    /// Processes and their communication.
    Processes,
    /// Those and the network.
    Network,
}

/// Moves this process into new namespaces, as the same user. Existing mounts stay.
///
/// A process namespace holds for the next child. There may be no other thread. On an error the process may be in some of the
/// namespaces, and is useless. True if it has its own network, if that was requested.
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

/// Lets the next program of this process keep the rights of the namespaces' owner: to the kernel its user is not their
/// administrator.
pub(super) fn pass_on_privileges() -> rustix::io::Result<()> {
    let now = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: now.permitted, ..now })?;
    now.permitted.iter().try_for_each(|capability| configure_capability_in_ambient_set(capability, true))
}

#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about this process")]
fn set(what: &str, line: &str) -> io::Result<()> {
    fs::write(format!("/proc/self/{what}"), line)
}
