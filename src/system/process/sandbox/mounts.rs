//! A program's view of the machine: its stage in place of the tree, private temporary folders, its own `/proc`, and everything
//! else read-only.

use std::{
    collections::BTreeSet,
    fs,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
        fsconfig_set_string, fsmount, fsopen, mount_remount, move_mount, open_tree,
    },
};

use super::{Bound, Confinement, Hold, Launch, NotStarted, stage};
use crate::process::kernel;
use base::error::{Code, Error};

/// The usual temporary folders, all of which become the program's private folder.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The folder of running services, with their sockets.
const SERVICES: &str = "/run";

/// The folder of processes.
const PROCESSES: &str = "/proc";

/// The first release of the kernel whose process namespaces have a limit of process numbers.
const OWN_NUMBERS: (u32, u32) = (6, 14);

/// Process numbers that are given out only once, and those of nrv's own process and of the limit itself.
const RESERVED_NUMBERS: u64 = 302;

/// The largest limit of process numbers.
const MOST_NUMBERS: u64 = 1 << 22;

/// A mount, and its target.
#[derive(Debug)]
struct Piece {
    target: PathBuf,
    tree: OwnedFd,
    /// Its other flags, if it is to be read-only.
    sealed: Option<MountFlags>,
}

/// Lays the stage over the tree and changes nothing else.
pub(super) fn lay_stage(launch: &Launch) -> Result<(), NotStarted> {
    let table = Table::read()?;
    let mut pieces = of_stage(launch)?;
    pieces.extend(of_stage_sealed(launch, &table)?);
    place(pieces)
}

/// Makes the whole view. A failed mount that the stage does not need goes into `missing`, and the limit of processes into
/// `bounded`.
pub(super) fn lay_all(launch: &Launch, missing: &mut Vec<String>, bounded: &mut Confinement) -> Result<(), NotStarted> {
    let table = Table::read()?;
    // Writable mounts are copied before everything is made read-only, and read-only ones after.
    let mut pieces = of_stage(launch)?;
    let covers = covers();
    for folder in temporary() {
        pieces.push(copy(&launch.temporary, folder)?);
    }
    for folder in &launch.write {
        pieces.push(copy(folder, folder.clone())?);
    }
    let processes = fresh("proc", MountAttrFlags::MOUNT_ATTR_NOEXEC);
    let read = || launch.read.iter().chain([&launch.program, &launch.cwd]);
    // Covered mounts are out of sight, except those that are shown in their old place.
    let is_seen = |mount: &&Mounted| {
        let is_covered = covers.iter().any(|cover| mount.path.starts_with(cover));
        !is_covered || read().any(|path| path.starts_with(&mount.path) || mount.path.starts_with(path))
    };
    for mount in table.0.iter().filter(is_seen) {
        if mount.path.starts_with(PROCESSES) && processes.is_ok() || mount.flags.contains(MountFlags::RDONLY) {
            continue;
        }
        if let Err(error) = seal(&mount.path, mount.flags) {
            missing.push(format!(
                "`{}` can't be made read-only ({error}): times and permissions of files there can be changed",
                mount.path.display()
            ));
        }
    }
    pieces.extend(of_stage_sealed(launch, &table)?);
    // These have mounts of their own.
    let shown: Vec<&PathBuf> = launch.write.iter().chain(launch.stage.as_ref().map(|stage| &stage.root)).collect();
    for path in read() {
        let covered = covers.iter().any(|cover| path.starts_with(cover));
        let is_shown = shown.iter().any(|above| path.starts_with(above))
            || (*path == launch.program && is_in_a_shown_folder(launch, &covers));
        if !covered || is_shown || !path.exists() {
            continue;
        }
        pieces.push(copy(path, path.clone())?);
    }
    if covers.contains(Path::new(SERVICES)) {
        let tree = fresh("tmpfs", MountAttrFlags::empty()).map_err(failed("/run"))?;
        pieces.push(Piece { target: SERVICES.into(), tree, sealed: None });
    }
    match processes {
        Ok(tree) => {
            bound_processes(launch, &tree, bounded);
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            pieces.push(Piece { target: PROCESSES.into(), tree, sealed: Some(flags) });
        }
        Err(error) => missing
            .push(format!("`/proc` can't be mounted ({error}): the program sees which processes run on this machine")),
    }
    place(pieces)?;
    if covers.contains(Path::new(SERVICES)) {
        seal(Path::new(SERVICES), MountFlags::NOSUID | MountFlags::NODEV).map_err(failed(SERVICES))?;
    }
    Ok(())
}

/// True if the program is seen with its folder, and so is its file, if it is a link. A mount in the place of a link would hide that it
/// is one, and such a program looks for its own files from there.
fn is_in_a_shown_folder(launch: &Launch, covers: &BTreeSet<PathBuf>) -> bool {
    let is_beneath = |path: &Path| launch.read.iter().any(|above| above != path && path.starts_with(above));
    let is_seen = |path: &Path| is_beneath(path) || !covers.iter().any(|cover| path.starts_with(cover));
    is_beneath(&launch.program) && fs::canonicalize(&launch.program).is_ok_and(|real| is_seen(&real))
}

/// The existing temporary folders.
pub(super) fn temporary() -> BTreeSet<PathBuf> {
    TEMPORARY.iter().filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// The existing folders that the program's own replace, each once, by their real paths.
fn covers() -> BTreeSet<PathBuf> {
    temporary().into_iter().chain(fs::canonicalize(SERVICES)).collect()
}

/// The view of the tree, and the folders in it that are written directly.
fn of_stage(launch: &Launch) -> Result<Vec<Piece>, NotStarted> {
    let Some(stage) = &launch.stage else { return Ok(Vec::new()) };
    let view = stage::make(stage).map_err(NotStarted::NoStage)?;
    let mut pieces = vec![Piece { target: stage.root.clone(), tree: view, sealed: None }];
    for folder in &stage.through {
        pieces.push(part(&stage.root, folder, None)?);
    }
    Ok(pieces)
}

/// The read-only and the hidden parts of the view of the tree.
fn of_stage_sealed(launch: &Launch, table: &Table) -> Result<Vec<Piece>, NotStarted> {
    let Some(stage) = &launch.stage else { return Ok(Vec::new()) };
    let mut pieces = Vec::new();
    for path in &stage.read_only {
        let flags = table.flags_at(&stage.root.join(path));
        pieces.push(part(&stage.root, path, Some(flags))?);
    }
    for folder in &stage.hidden {
        let tree = fresh("tmpfs", MountAttrFlags::MOUNT_ATTR_RDONLY).map_err(failed(folder))?;
        pieces.push(Piece { target: stage.root.join(folder), tree, sealed: None });
    }
    Ok(pieces)
}

/// A copy of the mounts at a path.
fn copy(from: &Path, target: PathBuf) -> Result<Piece, NotStarted> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, from, flags).map_err(failed(from))?;
    Ok(Piece { target, tree, sealed: None })
}

/// A copy of the mounts at a path beneath a folder, without following links: a link could lead anywhere.
fn part(root: &Path, path: &str, sealed: Option<MountFlags>) -> Result<Piece, NotStarted> {
    let target = root.join(path);
    let open = |at, path: &Path, resolve| {
        rustix::fs::openat2(at, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).map_err(failed(&target))
    };
    let folder = open(CWD, root, ResolveFlags::empty())?;
    let found = open(folder.as_fd(), Path::new(path), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(found, "", flags).map_err(failed(&target))?;
    Ok(Piece { target, tree, sealed })
}

/// A new file system of that kind.
fn fresh(kind: &str, attributes: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    if kind == "tmpfs" {
        fsconfig_set_string(context.as_fd(), "mode", "755")?;
    }
    fsconfig_create(context.as_fd())?;
    let common = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes | common)
}

/// Mounts the pieces, outer ones first.
fn place(mut pieces: Vec<Piece>) -> Result<(), NotStarted> {
    pieces.sort_by_key(|piece| piece.target.components().count());
    for piece in pieces {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        let placed = match move_mount(&piece.tree, "", CWD, &piece.target, flags) {
            // It is beneath a private folder, which is empty.
            Err(Errno::NOENT) => {
                make_place(&piece).and_then(|()| move_mount(&piece.tree, "", CWD, &piece.target, flags))
            }
            done => done,
        };
        placed.map_err(failed(&piece.target))?;
        if let Some(flags) = piece.sealed {
            seal(&piece.target, flags).map_err(failed(&piece.target))?;
        }
    }
    Ok(())
}

/// Bounds the number of processes of the system administrator, who has no other such limit, by the process numbers of the
/// namespace.
fn bound_processes(launch: &Launch, processes: &OwnedFd, confinement: &mut Confinement) {
    let Some(most) = launch.limits.processes.filter(|_| rustix::process::getuid().is_root()) else { return };
    // In an older kernel it is the limit of the whole machine.
    let bounded = if kernel::release() < Some(OWN_NUMBERS) {
        Err(Errno::NOSYS)
    } else {
        let path = "sys/kernel/pid_max";
        rustix::fs::openat(processes, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).and_then(|file| {
            rustix::io::write(file, most.saturating_add(RESERVED_NUMBERS).min(MOST_NUMBERS).to_string().as_bytes())
        })
    };
    match bounded {
        Ok(_) => drop(confinement.bounds.insert(Bound::Processes, Hold::Limit)),
        Err(error) => confinement.missing.push(format!(
            "processes: the number of the system administrator's is not bounded at once ({error}), only counted"
        )),
    }
}

/// Makes the file or folder on which a piece is mounted.
fn make_place(piece: &Piece) -> Result<(), Errno> {
    let is_folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&piece.tree)?.st_mode).is_dir();
    let above = piece.target.ancestors().skip(usize::from(!is_folder)).collect::<Vec<_>>();
    for folder in above.into_iter().rev() {
        match rustix::fs::mkdir(folder, Mode::from(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    if !is_folder {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::open(&piece.target, flags, Mode::from(0o600))?;
    }
    Ok(())
}

/// Makes the mount at a path read-only, keeping its flags.
fn seal(path: &Path, flags: MountFlags) -> Result<(), Errno> {
    mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | flags, "")
}

/// An unsupported operation is not an error of the request: there are other ways.
fn failed(what: impl AsRef<Path>) -> impl FnOnce(Errno) -> NotStarted {
    move |error| {
        let why = format!("the program's view of `{}` can't be made: {error}", what.as_ref().display());
        match error {
            Errno::NOSYS | Errno::PERM => NotStarted::NoStage(why),
            _ => Error::new(Code::Io, why).into(),
        }
    }
}

/// The mounts, from the kernel's list.
#[derive(Debug)]
struct Table(Vec<Mounted>);

#[derive(Debug, PartialEq)]
struct Mounted {
    path: PathBuf,
    flags: MountFlags,
}

impl Table {
    #[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about this process")]
    fn read() -> Result<Self, NotStarted> {
        let text = fs::read("/proc/self/mountinfo").map_err(|error| Error::io("the mounts can't be listed", &error))?;
        let mut mounts: Vec<Mounted> = Vec::new();
        for mount in text.split(|byte| *byte == b'\n').filter_map(Mounted::parse) {
            // A later one covers an earlier one at the same path.
            mounts.retain(|earlier| earlier.path != mount.path);
            mounts.push(mount);
        }
        Ok(Table(mounts))
    }

    /// The flags of the mount at a path or above it.
    fn flags_at(&self, path: &Path) -> MountFlags {
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.path));
        above.max_by_key(|mount| mount.path.components().count()).map_or(MountFlags::empty(), |mount| mount.flags)
    }
}

impl Mounted {
    /// Parses a line: id, parent, device, root, path, options, and more.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let path = unescape(fields.next()?);
        let mut flags = MountFlags::STRICTATIME;
        for option in fields.next()?.split(|byte| *byte == b',') {
            flags |= match option {
                b"ro" => MountFlags::RDONLY,
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"nodiratime" => MountFlags::NODIRATIME,
                b"nosymfollow" => MountFlags::NOSYMFOLLOW,
                b"noatime" => MountFlags::NOATIME,
                b"relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            };
        }
        if flags.intersects(MountFlags::NOATIME | MountFlags::RELATIME) {
            flags -= MountFlags::STRICTATIME;
        }
        Some(Mounted { path, flags })
    }
}

/// A path in which some bytes are written as three octal digits.
pub(super) fn unescape(field: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let octal = match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &tail[3..] } else { tail };
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernels_table() {
        let line = b"36 35 98:0 / /mnt/a\\040b\\134 ro,nosuid,noatime master:1 - ext3 /dev/root rw";
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOATIME;
        assert_eq!(Mounted::parse(line), Some(Mounted { path: "/mnt/a b\\".into(), flags }));
        assert_eq!(Mounted::parse(b""), None);
    }

    #[test]
    fn flags_are_those_of_the_nearest_mount_above() {
        let line = |line: &str| Mounted::parse(line.as_bytes()).unwrap();
        let table = Table(vec![line("1 0 8:1 / / rw,relatime"), line("2 1 8:2 / /srv rw,nodev,relatime")]);
        assert_eq!(table.flags_at(Path::new("/srv/a")), MountFlags::NODEV | MountFlags::RELATIME);
        assert_eq!(table.flags_at(Path::new("/srvs")), MountFlags::RELATIME);
    }
}
