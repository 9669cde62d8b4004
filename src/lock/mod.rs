//! Soft locks by path, across processes: who may change what, and who is alive.
//!
//! A run holds an OS lock on its own lease file for as long as it lives; a crash frees it. The lease lists the paths that
//! the run has locked and a fencing number. One short global lock makes looking at all leases and changing one's own a
//! single step.
#![expect(clippy::disallowed_methods, reason = "this room owns the lease files below `.runs/locks`")]

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    clock::Stopwatch,
    error::{Code, Error},
};

const PAUSE: Duration = Duration::from_millis(15);
const SUFFIX: &str = ".lease";

/// What a lease file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// Grows with every claim of any run.
    fence: u64,
    /// Literal path prefixes, sorted; `""` is the whole workspace.
    paths: Vec<String>,
}

/// The lease files of a workspace.
#[derive(Clone, Debug)]
pub struct Locks {
    folder: PathBuf,
}

/// A run's sign of life, and its claims. Dropping it frees them.
#[derive(Debug)]
pub struct Lease {
    locks: Locks,
    run: String,
    file: File,
    claim: Claim,
}

/// How to wait for a claim.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// How long at most, in milliseconds.
    pub limit_ms: u64,
    /// Stops the wait when it becomes true.
    pub cancel: &'a AtomicBool,
}

enum Obstacle {
    None,
    /// A live run holds an overlapping path.
    Live(String),
    /// A dead run held one; its transaction may be open.
    Dead(String),
}

impl Locks {
    /// The locks below `.runs`; the folder `locks` must exist.
    pub fn new(runs: &Path) -> Self {
        Locks { folder: runs.join("locks") }
    }

    /// The lease of a run that no other process holds; none if one does, that is, if the run is alive.
    pub fn lease(&self, run: &str) -> Result<Option<Lease>, Error> {
        let _global = self.global()?;
        let path = self.path_of(run);
        let file = open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(&path, &error)),
        }
        let mut lease = Lease { locks: self.clone(), run: run.to_owned(), file, claim: Claim::default() };
        lease.write()?;
        Ok(Some(lease))
    }

    /// True if a process holds the run's lease.
    pub fn is_live(&self, run: &str) -> Result<bool, Error> {
        let _global = self.global()?;
        match File::open(self.path_of(run)) {
            Ok(file) => is_held(&file, &self.path_of(run)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(&self.path_of(run), &error)),
        }
    }

    /// True if the run has a lease file: it is going on, or it died.
    pub fn has_file(&self, run: &str) -> bool {
        self.path_of(run).exists()
    }

    fn path_of(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}{SUFFIX}"))
    }

    /// The global lock; it is held until the file is dropped.
    fn global(&self) -> Result<File, Error> {
        let path = self.folder.join("global");
        let file = open(&path)?;
        file.lock().map_err(|error| failed(&path, &error))?;
        Ok(file)
    }

    /// The next fencing number. Call it under the global lock.
    fn next_fence(&self) -> Result<u64, Error> {
        let path = self.folder.join("fence");
        let last = match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().unwrap_or(0),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(failed(&path, &error)),
        };
        let next: u64 = last + 1;
        fs::write(&path, next.to_string()).map_err(|error| failed(&path, &error))?;
        Ok(next)
    }

    /// Looks at every lease but `own` for an overlap with `paths`. Call it under the global lock.
    fn obstacle(&self, own: &str, paths: &[String]) -> Result<Obstacle, Error> {
        let walk = walkdir::WalkDir::new(&self.folder).min_depth(1).max_depth(1).sort_by_file_name();
        for entry in walk {
            let entry = entry.map_err(|error| Error::new(Code::Io, format!("the locks can't be listed: {error}")))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(run) = name.strip_suffix(SUFFIX).filter(|run| *run != own) else { continue };
            let mut file = match File::open(entry.path()) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(entry.path(), &error)),
            };
            let claim = read_claim(&mut file, entry.path())?;
            let overlaps = claim.paths.iter().any(|theirs| paths.iter().any(|ours| overlap(ours, theirs)));
            if !overlaps {
                continue;
            }
            return Ok(match is_held(&file, entry.path())? {
                true => Obstacle::Live(run.to_owned()),
                false => Obstacle::Dead(run.to_owned()),
            });
        }
        Ok(Obstacle::None)
    }
}

impl Lease {
    /// Adds path prefixes to the claim as soon as no other run's claim overlaps them.
    ///
    /// A claim that a crash left behind is handed to `bury`, which recovers that run; `bury` must call [`Lease::retire`]
    /// on its lease. `lock_timeout` names the holder; `cancelled` if the wait was cancelled.
    pub fn acquire(
        &mut self,
        paths: &[String],
        wait: Wait<'_>,
        bury: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut paths: Vec<String> = paths.to_vec();
        paths.sort();
        paths.dedup();
        let watch = Stopwatch::start();
        loop {
            let holder = {
                let _global = self.locks.global()?;
                match self.locks.obstacle(&self.run, &paths)? {
                    Obstacle::None => {
                        self.claim.fence = self.locks.next_fence()?;
                        self.claim.paths.extend(paths);
                        self.claim.paths.sort();
                        self.claim.paths.dedup();
                        return self.write();
                    }
                    Obstacle::Live(run) => run,
                    Obstacle::Dead(run) => {
                        drop(_global);
                        bury(&run)?;
                        continue;
                    }
                }
            };
            if wait.cancel.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "cancelled while waiting for a lock"));
            }
            if watch.elapsed_ms() >= wait.limit_ms {
                let shown =
                    if paths.iter().any(String::is_empty) { "the workspace".to_owned() } else { paths.join("`, `") };
                return Err(Error::new(Code::LockTimeout, format!("run `{holder}` holds the lock on `{shown}`"))
                    .detail("holder", holder)
                    .detail("waited_ms", watch.elapsed_ms())
                    .hint("try again when that run has ended, or raise `run.lock_wait_ms` in `nrv.toml`"));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Gives up every claim but these, which lie within what is claimed. The lease itself stays.
    pub fn reduce(&mut self, paths: &[String]) -> Result<(), Error> {
        let _global = self.locks.global()?;
        self.claim.paths = paths.to_vec();
        self.claim.paths.sort();
        self.write()
    }

    /// The paths that are claimed.
    pub fn paths(&self) -> &[String] {
        &self.claim.paths
    }

    /// The fencing number of the latest claim.
    pub fn fence(&self) -> u64 {
        self.claim.fence
    }

    /// Checks that the lease file still says what this process wrote: nobody took the claim over.
    pub fn check(&self) -> Result<(), Error> {
        let _global = self.locks.global()?;
        let path = self.locks.path_of(&self.run);
        let mut file = File::open(&path).map_err(|error| failed(&path, &error))?;
        if read_claim(&mut file, &path)? == self.claim {
            return Ok(());
        }
        Err(Error::new(Code::StalePreimage, format!("the lock of run `{}` was taken over", self.run))
            .hint("start the run again"))
    }

    /// Ends the lease and removes its file.
    pub fn retire(self) -> Result<(), Error> {
        let _global = self.locks.global()?;
        let path = self.locks.path_of(&self.run);
        fs::remove_file(&path).map_err(|error| failed(&path, &error))
    }

    fn write(&mut self) -> Result<(), Error> {
        let path = self.locks.path_of(&self.run);
        let text = serde_json::to_vec(&self.claim).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .and_then(|_| self.file.write_all(&text))
            .map_err(|error| failed(&path, &error))
    }
}

/// True if one of two prefixes lies at or beneath the other.
fn overlap(a: &str, b: &str) -> bool {
    let beneath = |outer: &str, inner: &str| {
        outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    beneath(a, b) || beneath(b, a)
}

fn is_held(file: &File, path: &Path) -> Result<bool, Error> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false).map_err(|error| failed(path, &error)),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(failed(path, &error)),
    }
}

/// A lease that its owner had no time to write claims nothing.
fn read_claim(file: &mut File, path: &Path) -> Result<Claim, Error> {
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(|error| failed(path, &error))?;
    Ok(serde_json::from_slice(&text).unwrap_or_default())
}

fn open(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("the lock file `{}` can't be used", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);
    const SHORT: Wait<'static> = Wait { limit_ms: 40, cancel: &NEVER };

    fn locks() -> (tempfile::TempDir, Locks) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("locks")).unwrap();
        let locks = Locks::new(folder.path());
        (folder, locks)
    }

    fn acquire(lease: &mut Lease, path: &str) -> Result<(), Error> {
        lease.acquire(&[path.to_owned()], SHORT, &mut |run| panic!("`{run}` is not dead"))
    }

    #[test]
    fn overlapping_claims_wait_and_disjoint_ones_do_not() {
        let (_folder, locks) = locks();
        let mut a = locks.lease("a").unwrap().unwrap();
        let mut b = locks.lease("b").unwrap().unwrap();
        acquire(&mut a, "site").unwrap();
        acquire(&mut b, "docs").unwrap();
        acquire(&mut b, "site2").unwrap();
        let error = acquire(&mut b, "site/sub").unwrap_err();
        assert_eq!((error.code(), error.details()["holder"].as_str()), (Code::LockTimeout, Some("a")));
        acquire(&mut a, "site/own").unwrap();
        a.reduce(&[]).unwrap();
        acquire(&mut b, "").unwrap();
        assert!(b.fence() > a.fence());
        a.check().unwrap();
    }

    #[test]
    fn a_live_run_has_one_lease_and_a_dead_one_is_buried_first() {
        let (_folder, locks) = locks();
        let mut dead = locks.lease("dead").unwrap().unwrap();
        acquire(&mut dead, "x").unwrap();
        assert!(locks.is_live("dead").unwrap());
        assert!(locks.lease("dead").unwrap().is_none());
        drop(dead);
        assert!(!locks.is_live("dead").unwrap());
        let mut next = locks.lease("next").unwrap().unwrap();
        let mut buried = Vec::new();
        let mut bury = |run: &str| {
            buried.push(run.to_owned());
            locks.lease(run)?.expect("it is dead").retire()
        };
        next.acquire(&["x/y".to_owned()], SHORT, &mut bury).unwrap();
        assert_eq!(buried, ["dead"]);
    }

    #[test]
    fn overlap_is_by_component() {
        assert!(overlap("a", "a/b") && overlap("a/b", "a") && overlap("", "x") && overlap("a", "a"));
        assert!(!overlap("a", "ab") && !overlap("a/b", "a/c"));
    }
}
