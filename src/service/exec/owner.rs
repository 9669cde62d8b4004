//! The owners of files, as the kernel knows them in a view.

use std::path::Path;

use rustix::fs::Access;

use system::workspace::Metadata;

/// The user and the group that exist in a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own(u32, u32);

impl Own {
    pub(super) fn of_this_process() -> Self {
        Own(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    }

    /// True if the kernel can't copy the file up.
    pub(super) fn lacks(self, found: &Metadata) -> bool {
        found.owner != (self.0, self.1)
    }

    /// The rights of a command of this user to read, write and enter it, as the three bits of a mode. The system
    /// administrator's command has no privileges there, so the kernel's answer for nrv would be wrong.
    pub(super) fn rights(self, place: &Path, found: &Metadata) -> u32 {
        if self.0 != 0 {
            let bit = |access, bit| if rustix::fs::access(place, access).is_ok() { bit } else { 0 };
            return bit(Access::READ_OK, 4) | bit(Access::WRITE_OK, 2) | bit(Access::EXEC_OK, 1);
        }
        let (user, group) = found.owner;
        let is_member = || rustix::process::getgroups().is_ok_and(|all| all.iter().any(|id| id.as_raw() == group));
        let shift = if user == self.0 {
            6
        } else if group == self.1 || is_member() {
            3
        } else {
            0
        };
        found.mode >> shift & 7
    }
}
