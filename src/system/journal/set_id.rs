//! Clears the bits of set-id files that a command left in a scratch folder: anyone who runs one gets this user's rights.

use std::os::fd::AsRawFd;

use rustix::fs::{AtFlags, CWD, Mode};

use crate::workspace::{SET_ID, SetId, Workspace};
use base::path::RepoPath;

/// The set-id files of some folders, by the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Files that were set-id files.
    pub cleared: Vec<String>,
    /// Files that still are, since they belong to another user, and folders that can't be read.
    pub left: Vec<String>,
}

impl Cleared {
    /// The names under which they are recorded, each with paths; none if there were none.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let all = [("set_id_cleared", self.cleared.as_slice()), ("set_id_left", self.left.as_slice())];
        all.into_iter().filter(|(_, paths)| !paths.is_empty())
    }
}

/// Clears the set-id bits of all files below folders outside of the tree's contents. No transaction sets them again.
pub fn clear_set_id(workspace: &Workspace, folders: &[RepoPath]) -> Cleared {
    let mut done = Cleared::default();
    let mut clear = |found: SetId<'_>| {
        // By the open file: the file at its path may be another one by now.
        let file = format!("/proc/self/fd/{}", found.file.as_raw_fd());
        let mode = Mode::from_raw_mode(found.mode & !SET_ID);
        match rustix::fs::chmodat(CWD, file, mode, AtFlags::empty()) {
            Ok(()) => done.cleared.push(found.path),
            Err(_) => done.left.push(found.path),
        }
    };
    let closed = workspace.each_set_id(folders, &mut clear);
    done.left.extend(closed);
    done.cleared.sort();
    done.left.sort();
    done
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::{
        ffi::OsStr,
        fs,
        os::unix::{
            ffi::OsStrExt,
            fs::{PermissionsExt, symlink},
        },
        path::Path,
    };

    use super::*;

    fn make(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn only_the_bits_of_files_below_the_folders_are_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let odd = root.join("target").join(OsStr::from_bytes(b"o\xff"));
        for (path, bits) in [("target/a", 0o4755), ("target/d/e/b", 0o6011), ("target/c", 0o1644), ("other", 0o4755)] {
            make(&root.join(path), bits);
        }
        make(&odd, 0o2755);
        symlink(root.join("other"), root.join("target/link")).unwrap();
        fs::set_permissions(root.join("target/d"), fs::Permissions::from_mode(0o2755)).unwrap();
        let workspace = Workspace::open(root).unwrap();
        let done = clear_set_id(&workspace, &["target", "none"].map(|path| RepoPath::parse(path).unwrap()));
        assert_eq!((done.cleared.len(), done.left.len()), (3, 0), "{done:?}");
        assert_eq!(done.cleared[..2], ["target/a", "target/d/e/b"]);
        let modes = ["target/a", "target/d/e/b", "target/c", "other", "target/d"].map(|path| mode(&root.join(path)));
        assert_eq!((modes, mode(&odd)), ([0o755, 0o11, 0o1644, 0o4755, 0o2755], 0o755));
    }
}
