//! Probes the file system for every operation that a transaction needs, in temporary folders.

use std::{ffi::OsString, fs::File, io::Write, os::fd::AsFd, path::Path};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags},
    io::Errno,
};
use tempfile::TempDir;

use base::{error::Error, path::protected::TEMPORARY};

/// The abilities of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type, such as `ext4`; a hexadecimal number if it has no name here.
    pub name: String,
    /// The reason that nrv's promises may not hold on it; none if they do.
    pub doubt: Option<&'static str>,
    /// The number of bytes that the user may still write.
    pub free: u64,
    /// Opening a file beneath a folder, without following links on the way.
    pub open_beneath: Result<(), String>,
    /// Exchanging two files.
    pub exchange: Result<(), String>,
    /// Creating a file only where none exists.
    pub no_replace: Result<(), String>,
    /// Moving a file of the tree into the records.
    pub into_records: Result<(), String>,
}

const OVER_NETWORK: &str = "other machines may change files unseen, and what is synced here may not be on their disk";
const LAYERED: &str = "what is below the upper layer changes its identity when it is first written";
const IN_USER_SPACE: &str = "what it promises depends on the program that serves it";

/// Types of file systems by their magic numbers, with doubts about them.
const TYPES: &[(i64, &str, Option<&str>)] = &[
    (0xEF53, "ext4", None),
    (0x5846_5342, "xfs", None),
    (0x9123_683E, "btrfs", None),
    (0xF2F5_2010, "f2fs", None),
    (0x2FC1_2FC1, "zfs", None),
    (0xCA45_1A4E, "bcachefs", None),
    (0x0102_1994, "tmpfs", None),
    (0x8584_58F6, "ramfs", None),
    (0x794C_7630, "overlay", Some(LAYERED)),
    (0x6969, "nfs", Some(OVER_NETWORK)),
    (0xFF53_4D42, "cifs", Some(OVER_NETWORK)),
    (0xFE53_4D42, "smb2", Some(OVER_NETWORK)),
    (0x517B, "smb", Some(OVER_NETWORK)),
    (0x0102_1997, "9p", Some(OVER_NETWORK)),
    (0x5346_414F, "afs", Some(OVER_NETWORK)),
    (0x00C3_6400, "ceph", Some(OVER_NETWORK)),
    (0x0BD0_0BD0, "lustre", Some(OVER_NETWORK)),
    (0x4750_4653, "gpfs", Some(OVER_NETWORK)),
    (0x6573_5546, "fuse", Some(IN_USER_SPACE)),
    (0x4D44, "vfat", Some("it keeps neither modes nor hard links")),
    (0x2011_BAB0, "exfat", Some("it keeps neither modes nor hard links")),
];

/// Tries everything in a temporary folder of the tree. Moves go from there into the folder of the records, if there is one. An
/// error means that no folder can be made.
pub fn probe(tree: &Path, records: Option<&Path>) -> Result<FileSystem, Error> {
    let made = tempfile::Builder::new().prefix(TEMPORARY).tempdir_in(tree);
    let inside = made.map_err(|error| Error::io(format!("no folder can be made in `{}`", tree.display()), &error))?;
    let stat = rustix::fs::statfs(inside.path()).map_err(|errno| failed(tree, errno))?;
    let space = rustix::fs::statvfs(inside.path()).map_err(|errno| failed(tree, errno))?;
    let magic = stat.f_type & 0xFFFF_FFFF;
    let known = TYPES.iter().find(|(number, ..)| *number == magic);
    let trials = Trials::new(&inside, records.unwrap_or(inside.path()))?;
    Ok(FileSystem {
        name: known.map_or_else(|| format!("{magic:#x}"), |(_, name, _)| (*name).to_owned()),
        doubt: known.and_then(|(.., doubt)| *doubt),
        free: space.f_bavail.saturating_mul(space.f_frsize),
        open_beneath: told(trials.open_beneath()),
        exchange: told(trials.rename(RenameFlags::EXCHANGE, "a", "b")),
        into_records: told(trials.move_to_records()),
        no_replace: told(trials.rename(RenameFlags::NOREPLACE, "a", "c")),
    })
}

/// Writes a nameless file into a folder.
pub fn try_writing(folder: &Path) -> Result<(), Error> {
    let written = tempfile::tempfile_in(folder).and_then(|mut file| file.write_all(b"x"));
    written.map_err(|error| Error::io(format!("`{}` can't be written", folder.display()), &error))
}

struct Trials {
    tree: File,
    records: File,
    /// A name that does not occur in the records.
    kept: OsString,
}

impl Trials {
    fn new(inside: &TempDir, records: &Path) -> Result<Self, Error> {
        let tree = inside.path();
        let kept = tree.file_name().unwrap_or_default().to_owned();
        let folder = |path: &Path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(|errno| failed(path, errno))
        };
        let trials = Trials { tree: folder(tree)?, records: folder(records)?, kept };
        for name in ["a", "b"] {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let made = rustix::fs::openat(&trials.tree, name, flags, Mode::from_raw_mode(0o600));
            made.map_err(|errno| failed(tree, errno))?;
        }
        Ok(trials)
    }

    fn open_beneath(&self) -> Result<(), Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat2(self.tree.as_fd(), "a", flags, Mode::empty(), resolve).map(drop)
    }

    fn rename(&self, flags: RenameFlags, from: &str, to: &str) -> Result<(), Errno> {
        rustix::fs::renameat_with(&self.tree, from, &self.tree, to, flags)
    }

    fn move_to_records(&self) -> Result<(), Errno> {
        rustix::fs::renameat(&self.tree, "b", &self.records, &self.kept)?;
        rustix::fs::unlinkat(&self.records, &self.kept, AtFlags::empty())
    }
}

fn told(tried: Result<(), Errno>) -> Result<(), String> {
    tried.map_err(|errno| errno.to_string())
}

fn failed(path: &Path, errno: Errno) -> Error {
    Error::io(format!("`{}` can't be tried", path.display()), &errno.into())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use super::*;

    #[test]
    fn everything_is_tried_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let records = folder.path().join("records");
        std::fs::create_dir(&records).unwrap();
        let found = probe(folder.path(), Some(&records)).unwrap();
        for (what, tried) in [
            ("open", &found.open_beneath),
            ("exchange", &found.exchange),
            ("no replace", &found.no_replace),
            ("into records", &found.into_records),
        ] {
            assert_eq!(tried, &Ok(()), "{what}");
        }
        assert!(found.free > 0 && !found.name.is_empty());
        try_writing(&records).unwrap();
        std::fs::remove_dir(&records).expect("it is empty again");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(try_writing(&records).is_err());
        assert!(probe(&folder.path().join("missing"), None).is_err());
    }
}
