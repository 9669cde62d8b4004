//! The kernel's support for sandboxes, as far as it can be found without giving up rights.

use std::path::Path;

use super::lockdown;

/// The kernel's support for sandboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its release, such as `6.18.5`; empty if unknown.
    pub release: String,
    /// The version of Landlock's interface; none if there is no Landlock.
    pub landlock: Option<i32>,
    /// True if system calls can be filtered.
    pub seccomp: bool,
    /// True if a user may make namespaces, by the kernel's settings.
    pub user_namespaces: bool,
}

/// Inspects the running kernel.
pub fn kernel() -> Kernel {
    let number = |path: &str| read(path).and_then(|text| text.parse::<u64>().ok());
    let is_zero = |path: &str| number(path) == Some(0);
    Kernel {
        release: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        landlock: lockdown::landlock_abi(),
        seccomp: Path::new("/proc/sys/kernel/seccomp/actions_avail").exists(),
        user_namespaces: number("/proc/sys/user/max_user_namespaces").is_some_and(|most| most > 0)
            && !is_zero("/proc/sys/kernel/unprivileged_userns_clone")
            && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") != Some(1),
    }
}

/// The running kernel's release, such as 6 and 18; none if unknown.
pub(super) fn release() -> Option<(u32, u32)> {
    let text = read("/proc/sys/kernel/osrelease")?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The text of a file of the kernel's; none if there is no such file.
#[expect(clippy::disallowed_methods, reason = "these are files of the kernel, not of the workspace")]
fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_does_not_confine_who_looks() {
        let kernel = kernel();
        assert!(kernel.release.starts_with(|c: char| c.is_ascii_digit()), "{kernel:?}");
        assert!(tempfile::tempfile().is_ok());
        let (major, minor) = release().unwrap();
        assert!(kernel.release.starts_with(&format!("{major}.{minor}")), "{kernel:?}");
    }
}
