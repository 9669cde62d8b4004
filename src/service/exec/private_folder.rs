//! The private folder of one command: outside of the tree, unreadable for others, removed when the command is done.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, Permissions},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags};

use base::error::{Code, Error};

/// The places for private folders, in the order of preference, after `TMPDIR`. The last one is memory.
const PLACES: &[&str] = &["/var/tmp", "/tmp", "/dev/shm"];

/// The number of times that a folder is made, should others remove it.
const ATTEMPTS: usize = 8;

/// A private folder, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Desk {
    folder: PathBuf,
}

impl Desk {
    /// Makes a folder for a command of a run in a place.
    pub(super) fn make(place: &Path, run: &str) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("nrv-{run}-"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)
            .map_err(|error| Error::io(format!("no private folder can be made in `{}`", place.display()), &error))?;
        Ok(Desk { folder: folder.keep() })
    }

    /// Makes a folder for a command of a run in the first place where that is possible.
    pub(super) fn make_in_first(places: &[PathBuf], run: &str) -> Result<Self, Error> {
        let mut refused = None;
        for place in places {
            match Desk::make(place, run) {
                Ok(desk) => return Ok(desk),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(no_place))
    }

    /// Makes an empty folder on it.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| failed(&path, &error))?;
        Ok(path)
    }

    /// Makes a named pipe on it.
    pub(super) fn pipe(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|error| failed(&path, &error.into()))?;
        Ok(path)
    }

    /// Writes a file on it.
    #[expect(clippy::disallowed_methods, reason = "a private file outside of the tree")]
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
        Ok(path)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // The clearing of the run removes the rest.
        let _ = remove(&self.folder);
    }
}

/// A private folder for a program that is no command of a run, removed when this is dropped, whatever the program left in it.
#[derive(Debug)]
pub struct PrivateFolder {
    // Dropped first: nobody else may have the lock while the folder is removed.
    desk: Desk,
    /// The lock of a folder of no run. The system gives it up when the process dies.
    _lock: Option<OwnedFd>,
}

impl PrivateFolder {
    /// Makes a folder of a run, where temporary files are. [`clear`] of the run removes what a killed process left.
    pub fn of_run(run: &str) -> Result<Self, Error> {
        Ok(PrivateFolder { desk: Desk::make(&tempfile::env::temp_dir(), run)?, _lock: None })
    }

    /// Makes a folder of no run, whose name holds this word. Folders of the word that killed processes left are removed before.
    pub fn make(word: &str) -> Result<Self, Error> {
        Self::make_in(&tempfile::env::temp_dir(), word)
    }

    fn make_in(place: &Path, word: &str) -> Result<Self, Error> {
        for folder in folders(place, word) {
            // A living process has the lock of its own.
            if let Ok(_lock) = lock(&folder) {
                // What can't be removed is no matter of this folder.
                let _ = remove(&folder);
            }
        }
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let desk = Desk::make(place, word)?;
            match lock(&desk.folder) {
                Ok(lock) => return Ok(PrivateFolder { desk, _lock: Some(lock) }),
                // Another process took it for one that was left.
                Err(error) => failure = Some(failed(&desk.folder, &error)),
            }
        }
        Err(failure.unwrap_or_else(no_place))
    }

    /// True if no living process of this machine has this private folder of no run.
    pub fn is_left(folder: &Path) -> bool {
        lock(folder).is_ok() || !folder.exists()
    }

    /// Writes a file of this name in it; its path.
    #[expect(clippy::disallowed_methods, reason = "the file is in the private folder")]
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path().join(name);
        fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
        Ok(path)
    }

    /// Makes a link of this name in it.
    pub fn link(&self, name: &str, target: &Path) -> Result<(), Error> {
        let path = self.path().join(name);
        std::os::unix::fs::symlink(target, &path).map_err(|error| failed(&path, &error))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.desk.folder
    }

    /// Makes an empty folder in it.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        self.desk.folder(name)
    }
}

/// Locks a folder that exists. A process that dies gives it up.
fn lock(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    // It may have been removed before it was locked.
    rustix::fs::stat(folder)?;
    Ok(opened)
}

/// The private folders of a word in a place that belong to this user.
fn folders(place: &Path, word: &str) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let prefix = format!("nrv-{word}-");
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let is_its = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().and_then(|name| name.strip_prefix(&prefix)).is_some_and(|end| !end.contains('-'))
    };
    // Where everybody may write, anybody may make a folder of that name.
    let is_own = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
    entries.flatten().filter(is_its).filter(is_own).map(|entry| entry.path()).collect()
}

/// An error on a private file or folder.
pub(super) fn failed(path: &Path, error: &io::Error) -> Error {
    Error::io(format!("the private file `{}` can't be made", path.display()), error)
}

/// The existing folders that may hold private ones: none of them is in the workspace.
pub(super) fn places(root: &Path, environment: &BTreeMap<String, String>) -> Result<Vec<PathBuf>, Error> {
    let places: Vec<PathBuf> = existing(environment).into_iter().filter(|place| !place.starts_with(root)).collect();
    if places.is_empty() {
        return Err(no_place());
    }
    Ok(places)
}

fn no_place() -> Error {
    Error::new(Code::Io, "there is no place outside of the workspace for a command's private files")
        .hint("set `TMPDIR` to a folder that does not lie in the workspace")
}

/// One place of each file system, the first.
pub(super) fn one_of_each_file_system(places: &[PathBuf]) -> Vec<&PathBuf> {
    let mut devices = Vec::new();
    let is_new = |place: &&PathBuf| {
        let device = fs::metadata(place).map(|found| found.dev()).ok();
        let is_new = device.is_some() && !devices.contains(&device);
        devices.push(device);
        is_new
    };
    places.iter().filter(is_new).collect()
}

/// The places that exist, without links on the way, each once.
fn existing(environment: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let own = environment.get("TMPDIR").map(String::as_str).filter(|path| path.starts_with('/'));
    let mut places: Vec<PathBuf> = Vec::new();
    for place in own.into_iter().chain(PLACES.iter().copied()) {
        if let Ok(real) = fs::canonicalize(place)
            && real.is_dir()
            && !places.contains(&real)
        {
            places.push(real);
        }
    }
    places
}

/// Removes the private folders of a run's commands and adapters.
pub fn clear(run: &str, environment: &BTreeMap<String, String>) -> Result<(), Error> {
    // Adapters have theirs where this process keeps temporary files.
    let of_adapters = fs::canonicalize(tempfile::env::temp_dir()).ok();
    let places: BTreeSet<PathBuf> = existing(environment).into_iter().chain(of_adapters).collect();
    for path in places.iter().flat_map(|place| folders(place, run)) {
        remove(&path).map_err(|error| Error::io(format!("`{}` can't be removed", path.display()), &error))?;
    }
    Ok(())
}

/// Removes a folder with everything in it, also entries that its owner may not write.
///
/// A command may nest folders arbitrarily deep. So each is first moved up into the outermost one: no path gets long, and
/// nothing recurses.
#[expect(clippy::disallowed_methods, reason = "private folders outside of the tree")]
fn remove(folder: &Path) -> io::Result<()> {
    let mut pending = vec![folder.to_owned()];
    let mut n_moved = 0_u64;
    while let Some(next) = pending.pop() {
        let _ = fs::set_permissions(&next, Permissions::from_mode(0o700));
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
                continue;
            }
            // A folder without write permission can't be moved to another one either.
            let _ = fs::set_permissions(entry.path(), Permissions::from_mode(0o700));
            let up = folder.join(format!("removed-{n_moved}"));
            n_moved += 1;
            fs::rename(entry.path(), &up)?;
            pending.push(up);
        }
        if next != folder {
            fs::remove_dir(&next)?;
        }
    }
    fs::remove_dir(folder)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build folders")]
mod tests {
    use super::*;

    fn environment(folder: &tempfile::TempDir) -> BTreeMap<String, String> {
        BTreeMap::from([("TMPDIR".to_owned(), folder.path().to_str().unwrap().to_owned())])
    }

    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_desk_is_private_and_gone_afterwards() {
        let place = tempfile::tempdir().unwrap();
        let desk = Desk::make(place.path(), "r1").unwrap();
        let inner = desk.folder("upper").unwrap();
        fs::create_dir_all(inner.join("a/closed/b")).unwrap();
        fs::write(inner.join("a/closed/f"), "x").unwrap();
        fs::set_permissions(inner.join("a/closed"), Permissions::from_mode(0o000)).unwrap();
        std::os::unix::fs::symlink("/", inner.join("link")).unwrap();
        assert_eq!(fs::metadata(&desk.folder).unwrap().mode() & 0o777, 0o700);
        drop(desk);
        assert!(names(&place).is_empty());
    }

    #[test]
    fn folders_as_deep_as_one_likes_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let desk = Desk::make(place.path(), "r1").unwrap();
        let name = "d".repeat(200);
        let mut folder = rustix::fs::open(&desk.folder, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        for _ in 0..300 {
            rustix::fs::mkdirat(&folder, &name, rustix::fs::Mode::RWXU).unwrap();
            folder = rustix::fs::openat(&folder, &name, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        }
        drop(desk);
        assert!(names(&place).is_empty());
    }

    #[test]
    fn a_run_is_cleared_and_no_other() {
        let place = tempfile::tempdir().unwrap();
        for name in ["nrv-r1-abc", "nrv-r1-x", "nrv-r1-2-abc", "nrv-r2-abc", "other"] {
            fs::create_dir_all(place.path().join(name).join("upper")).unwrap();
        }
        fs::write(place.path().join("nrv-r1-file"), "x").unwrap();
        clear("r1", &environment(&place)).unwrap();
        assert_eq!(names(&place), ["nrv-r1-2-abc", "nrv-r1-file", "nrv-r2-abc", "other"]);
    }

    #[test]
    fn a_folder_that_a_dead_process_left_is_removed_and_one_in_use_is_not() {
        let place = tempfile::tempdir().unwrap();
        for name in ["nrv-pack-abc", "nrv-pack-x-y", "nrv-r1-abc"] {
            fs::create_dir_all(place.path().join(name).join("inner")).unwrap();
        }
        let one = PrivateFolder::make_in(place.path(), "pack").unwrap();
        let two = PrivateFolder::make_in(place.path(), "pack").unwrap();
        assert!(one.path().exists() && two.path().exists() && one.path() != two.path());
        assert_eq!(names(&place).len(), 4);
        // As the system does at the death of a process.
        let PrivateFolder { desk, _lock: lock } = one;
        drop(lock);
        let left = desk.folder.clone();
        std::mem::forget(desk);
        let three = PrivateFolder::make_in(place.path(), "pack").unwrap();
        assert!(!left.exists() && two.path().exists());
        drop((two, three));
        assert_eq!(names(&place), ["nrv-pack-x-y", "nrv-r1-abc"]);
    }

    #[test]
    fn no_place_lies_in_the_workspace() {
        let place = tempfile::tempdir().unwrap();
        let found = places(place.path(), &environment(&place)).unwrap();
        assert!(!found.iter().any(|found| found.starts_with(place.path())), "{found:?}");
        assert!(places(Path::new("/"), &environment(&place)).is_err());
    }
}
