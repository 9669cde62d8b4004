//! Soft locks by path, across processes: the claims of runs, and their liveness.
//!
//! A run holds an OS lock on its own lease file for as long as it lives; a crash frees it. The lease lists the run's locked
//! paths and a fencing number. A short global lock makes the look at all leases and the change of one's own atomic.
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

use crate::clock::Stopwatch;
use base::{
    error::{Code, Error},
    path::prefix::overlap,
};

const PAUSE: Duration = Duration::from_millis(15);
const SUFFIX: &str = ".lease";

/// The limit of the wait for the global lock, in milliseconds. The lock is held only while a few small files are read, so a
/// holder that exceeds the limit hangs.
const GLOBAL_LIMIT_MS: u64 = 10_000;

/// The least wait for the global lock, even for callers that don't wait for a claim.
const GLOBAL_GRACE_MS: u64 = 1_000;

const GLOBAL_PAUSE: Duration = Duration::from_millis(1);

/// The content of a lease file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// Grows with every claim of any run.
    fence: u64,
    /// Literal path prefixes, sorted; `""` is the whole workspace.
    paths: Vec<String>,
    /// The process that holds it; 0 if it had no time to write that.
    #[serde(default)]
    process: u32,
}

/// The lease files of a workspace.
#[derive(Clone, Debug)]
pub struct Locks {
    runs: PathBuf,
    folder: PathBuf,
}

/// A live run, and its claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub process: u32,
    /// The fencing number of its latest claim; 0 if it has claimed nothing yet.
    pub fence: u64,
    /// The path prefixes that nobody else may change; `""` is the whole workspace.
    pub paths: Vec<String>,
}

/// A run's proof of life, and its claims. Dropping it frees them.
#[derive(Debug)]
pub struct Lease {
    locks: Locks,
    run: String,
    file: File,
    claim: Claim,
}

/// The conditions of the wait for a claim.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// The time limit, in milliseconds.
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
        Locks { runs: runs.to_owned(), folder: runs.join("locks") }
    }

    /// The lease of a run that no other process holds; none if another does, which means that the run is alive.
    ///
    /// A dead run's claim holds until the lease is retired: its files may be half restored until then.
    pub fn lease(&self, run: &str) -> Result<Option<Lease>, Error> {
        let _global = self.global()?;
        let path = self.path_of(run);
        let mut file = open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(&path, &error)),
        }
        let claim = read_claim(&mut file, &path)?;
        let mut lease = Lease { locks: self.clone(), run: run.to_owned(), file, claim: claim.clone() };
        lease.write(Claim { process: std::process::id(), ..claim })?;
        Ok(Some(lease))
    }

    /// True if a process holds the run's lease. Creates no file, so that read-only records can be listed.
    pub fn is_live(&self, run: &str) -> Result<bool, Error> {
        self.holder(run).map(|holder| holder.is_some())
    }

    /// The claim of a live run; none if no process holds its lease. Creates no file.
    pub fn holder(&self, run: &str) -> Result<Option<Holder>, Error> {
        let path = self.path_of(run);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, &error)),
        };
        // The check takes the lock for a moment; under the global lock nobody mistakes that for a live run.
        let global = self.folder.join("global");
        let _global = match File::open(&global) {
            Ok(file) => Some(wait_for(file, &global, OF_GLOBAL)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&global, &error)),
        };
        if !is_held(&file, &path)? {
            return Ok(None);
        }
        let Claim { fence, paths, process } = read_claim(&mut file, &path)?;
        Ok(Some(Holder { process, fence, paths }))
    }

    /// The runs with a lease file, sorted: live ones and dead ones.
    pub fn runs(&self) -> Result<Vec<String>, Error> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let mut runs = Vec::new();
        for entry in walkdir::WalkDir::new(&self.folder).min_depth(1).max_depth(1).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::new(Code::Io, format!("the locks can't be listed: {error}")))?;
            runs.extend(entry.file_name().to_string_lossy().strip_suffix(SUFFIX).map(str::to_owned));
        }
        Ok(runs)
    }

    /// True if the run has a lease file: it is alive, or it died.
    pub fn has_file(&self, run: &str) -> bool {
        self.path_of(run).exists()
    }

    fn path_of(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}{SUFFIX}"))
    }

    /// The global lock; it is held until the file is dropped.
    fn global(&self) -> Result<File, Error> {
        self.global_within(OF_GLOBAL)
    }

    fn global_within(&self, wait: Wait<'_>) -> Result<File, Error> {
        let path = self.folder.join("global");
        wait_for(open(&path)?, &path, wait)
    }

    /// The next fencing number. Call it under the global lock.
    fn next_fence(&self) -> Result<u64, Error> {
        let path = self.folder.join("fence");
        let mut file = open(&path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| failed(&path, &error))?;
        let next = text.trim().parse().unwrap_or(0) + 1;
        overwrite(&mut file, format!("{next}").as_bytes(), text.as_bytes()).map_err(|error| failed(&path, &error))?;
        Ok(next)
    }

    /// True if the run's folder is gone: nothing of it can be recovered, so that its lease no longer counts.
    fn is_deleted(&self, run: &str) -> bool {
        fs::symlink_metadata(self.runs.join(run)).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Searches every lease but `own` for an overlap with `paths`. Call it under the global lock.
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
            if !overlap(&claim.paths, paths) {
                continue;
            }
            if is_held(&file, entry.path())? {
                return Ok(Obstacle::Live(run.to_owned()));
            }
            if !self.is_deleted(run) {
                return Ok(Obstacle::Dead(run.to_owned()));
            }
            fs::remove_file(entry.path()).map_err(|error| failed(entry.path(), &error))?;
        }
        Ok(Obstacle::None)
    }
}

impl Lease {
    /// Adds path prefixes to the claim as soon as no other run's claim overlaps them.
    ///
    /// A dead run's claim is passed to `bury`, which recovers that run; `bury` must call [`Lease::retire`] on its lease.
    /// `lock_timeout` names the holder; `cancelled` if the wait was cancelled.
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
        let mut buried = None;
        loop {
            let holder = match self.try_claim(&paths, wait)? {
                Obstacle::None => return Ok(()),
                Obstacle::Live(run) => run,
                Obstacle::Dead(run) => {
                    bury(&run)?;
                    if buried.replace(run.clone()).as_ref() != Some(&run) {
                        continue;
                    }
                    // Another process tried to recover it and died too: the limit of the wait still holds.
                    run
                }
            };
            check_cancelled(wait)?;
            if watch.elapsed_ms() >= wait.limit_ms {
                let message = format!("run `{holder}` holds the lock on {}", shown(&paths));
                return Err(Error::new(Code::LockTimeout, message)
                    .detail("holder", holder)
                    .detail("waited_ms", watch.elapsed_ms())
                    .hint("try again when that run has ended, or raise `run.lock_wait_ms` in `nrv.toml`"));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Claims the paths, unless another claim overlaps.
    fn try_claim(&mut self, paths: &[String], wait: Wait<'_>) -> Result<Obstacle, Error> {
        let limit_ms = wait.limit_ms.clamp(GLOBAL_GRACE_MS, GLOBAL_LIMIT_MS);
        let _global = self.locks.global_within(Wait { limit_ms, ..wait })?;
        let obstacle = self.locks.obstacle(&self.run, paths)?;
        if matches!(obstacle, Obstacle::None) {
            let fence = self.locks.next_fence()?;
            let mut claim = Claim { fence, paths: [&self.claim.paths, paths].concat(), ..self.claim };
            claim.paths.sort();
            claim.paths.dedup();
            self.write(claim)?;
        }
        Ok(obstacle)
    }

    /// Releases every claim but these, which lie within the present ones. The lease itself stays.
    pub fn reduce(&mut self, paths: &[String]) -> Result<(), Error> {
        let _global = self.locks.global()?;
        let mut paths = paths.to_vec();
        paths.sort();
        paths.dedup();
        self.write(Claim { paths, ..self.claim })
    }

    /// The claimed paths.
    pub fn paths(&self) -> &[String] {
        &self.claim.paths
    }

    /// The fencing number of the latest claim.
    pub fn fence(&self) -> u64 {
        self.claim.fence
    }

    /// Checks that the lease file is unchanged: nobody took the claim over.
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

    /// Replaces the claim. If that fails, the old one stands, here and in the file.
    fn write(&mut self, claim: Claim) -> Result<(), Error> {
        let path = self.locks.path_of(&self.run);
        let text =
            |claim: &Claim| serde_json::to_vec(claim).map_err(|error| Error::new(Code::Internal, error.to_string()));
        overwrite(&mut self.file, &text(&claim)?, &text(&self.claim)?).map_err(|error| failed(&path, &error))?;
        self.claim = claim;
        Ok(())
    }
}

/// The wait for the global lock has no cancellation of its own.
const OF_GLOBAL: Wait<'static> = {
    static NEVER: AtomicBool = AtomicBool::new(false);
    Wait { limit_ms: GLOBAL_LIMIT_MS, cancel: &NEVER }
};

/// Locks a file as soon as it is free. Polls, because the system's own wait has neither a limit nor a cancellation.
fn wait_for(file: File, path: &Path, wait: Wait<'_>) -> Result<File, Error> {
    let watch = Stopwatch::start();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(failed(path, &error)),
            Err(TryLockError::WouldBlock) => {}
        }
        check_cancelled(wait)?;
        if watch.elapsed_ms() >= wait.limit_ms {
            return Err(Error::new(Code::LockTimeout, format!("another process holds `{}`", path.display()))
                .detail("waited_ms", watch.elapsed_ms())
                .hint("it is held for moments only: look for an `nrv` that was stopped or hangs"));
        }
        thread::sleep(GLOBAL_PAUSE);
    }
}

fn check_cancelled(wait: Wait<'_>) -> Result<(), Error> {
    if wait.cancel.load(Ordering::Relaxed) {
        return Err(Error::new(Code::Cancelled, "cancelled while waiting for a lock"));
    }
    Ok(())
}

/// Overwrites a file, without a moment when it is missing. If the disk is full, the old content is put back.
fn overwrite(file: &mut File, new: &[u8], old: &[u8]) -> std::io::Result<()> {
    let mut put = |text: &[u8]| {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text)?;
        file.set_len(text.len() as u64)
    };
    put(new).inspect_err(|_| {
        // The first error is the one to report; the old content needs no new space.
        let _ = put(old);
    })
}

/// The paths of a claim for people: all of a few, some of many.
fn shown(paths: &[String]) -> String {
    const MOST: usize = 5;
    match paths.len().checked_sub(MOST) {
        _ if paths.iter().any(String::is_empty) => "the workspace".to_owned(),
        None | Some(0) => format!("`{}`", paths.join("`, `")),
        Some(more) => format!("`{}` and {more} more", paths[..MOST].join("`, `")),
    }
}

fn is_held(file: &File, path: &Path) -> Result<bool, Error> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false).map_err(|error| failed(path, &error)),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(failed(path, &error)),
    }
}

/// A lease whose owner had no time to write it claims nothing. Bytes after the claim are the rest of a longer one.
fn read_claim(file: &mut File, path: &Path) -> Result<Claim, Error> {
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(|error| failed(path, &error))?;
    let first = serde_json::Deserializer::from_slice(&text).into_iter().next();
    Ok(first.and_then(Result::ok).unwrap_or_default())
}

fn open(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // The target of a link is not a lock.
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("the lock file `{}` can't be used", path.display()), error)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, SealFlags};

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

    /// A run with a folder and a claim.
    fn dying(locks: &Locks, path: &str) -> Lease {
        fs::create_dir(locks.runs.join("dead")).unwrap();
        let mut lease = locks.lease("dead").unwrap().unwrap();
        acquire(&mut lease, path).unwrap();
        lease
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
        let dead = dying(&locks, "x");
        let holder = Holder { process: std::process::id(), fence: 1, paths: vec!["x".to_owned()] };
        assert_eq!(locks.holder("dead").unwrap(), Some(holder));
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
    fn a_dead_runs_claim_stands_until_its_lease_is_retired() {
        let (_folder, locks) = locks();
        drop(dying(&locks, "x"));
        let taken = locks.lease("dead").unwrap().unwrap();
        taken.check().unwrap();
        let mut third = locks.lease("third").unwrap().unwrap();
        let error = acquire(&mut third, "x/y").unwrap_err();
        assert_eq!((error.code(), error.details()["holder"].as_str()), (Code::LockTimeout, Some("dead")));
        taken.retire().unwrap();
        acquire(&mut third, "x/y").unwrap();
    }

    #[test]
    fn a_recovery_that_never_succeeds_ends_with_the_wait() {
        let (_folder, locks) = locks();
        drop(dying(&locks, "x"));
        let mut next = locks.lease("next").unwrap().unwrap();
        let error = next.acquire(&["x".to_owned()], SHORT, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), Code::LockTimeout);
    }

    #[test]
    fn a_lease_without_its_runs_folder_holds_nobody_up() {
        let (_folder, locks) = locks();
        drop(dying(&locks, "x"));
        fs::remove_dir(locks.runs.join("dead")).unwrap();
        let mut next = locks.lease("next").unwrap().unwrap();
        acquire(&mut next, "x").unwrap();
        assert!(!locks.path_of("dead").exists());
    }

    #[test]
    fn asking_who_is_alive_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let locks = Locks::new(folder.path());
        assert!(!locks.is_live("a").unwrap());
        fs::create_dir(folder.path().join("locks")).unwrap();
        fs::write(locks.path_of("a"), "{}").unwrap();
        assert!(!locks.is_live("a").unwrap());
        assert_eq!(fs::read_dir(folder.path().join("locks")).unwrap().count(), 1);
    }

    #[test]
    fn the_wait_for_the_global_lock_has_an_end() {
        let (_folder, locks) = locks();
        let mut lease = locks.lease("a").unwrap().unwrap();
        let held = locks.global().unwrap();
        assert_eq!(locks.global_within(SHORT).unwrap_err().code(), Code::LockTimeout);
        let cancelled = AtomicBool::new(true);
        let wait = Wait { limit_ms: 60_000, cancel: &cancelled };
        let error = lease.acquire(&["x".to_owned()], wait, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), Code::Cancelled);
        drop(held);
        acquire(&mut lease, "x").unwrap();
    }

    #[test]
    fn a_claim_is_never_missing_while_it_is_replaced() {
        // A file that can't grow, as on a full disk.
        let handle = rustix::fs::memfd_create("lease", MemfdFlags::ALLOW_SEALING).unwrap();
        let mut full = File::from(handle);
        full.write_all(b"old").unwrap();
        rustix::fs::fcntl_add_seals(&full, SealFlags::GROW).unwrap();
        overwrite(&mut full, b"longer", b"old").unwrap_err();
        let mut left = String::new();
        full.rewind().unwrap();
        full.read_to_string(&mut left).unwrap();
        assert_eq!(left, "old");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lease");
        // The file after a crash between writing and truncating.
        fs::write(&path, "{\"fence\":2,\"paths\":[\"x\"]},\"b\"]}").unwrap();
        let claim = read_claim(&mut File::open(&path).unwrap(), &path).unwrap();
        assert_eq!((claim.fence, claim.paths), (2, vec!["x".to_owned()]));
    }

    #[test]
    fn the_time_for_a_claim_grows_with_the_number_of_its_paths_only() {
        let (_folder, locks) = locks();
        let paths = |name: &str| (0..20_000).map(|n| format!("site/{name}/p{n}.html")).collect::<Vec<_>>();
        let (mut a, mut b) = (locks.lease("a").unwrap().unwrap(), locks.lease("b").unwrap().unwrap());
        let watch = Stopwatch::start();
        a.acquire(&paths("a"), SHORT, &mut |_| Ok(())).unwrap();
        b.acquire(&paths("b"), SHORT, &mut |_| Ok(())).unwrap();
        let error = b.acquire(&paths("a"), SHORT, &mut |_| Ok(())).unwrap_err();
        assert!(error.message().ends_with("`site/a/p1000.html` and 19995 more"), "{}", &error.message()[..400]);
        // A comparison of all pairs takes most of a minute.
        assert!(watch.elapsed_ms() < 10_000, "{} ms", watch.elapsed_ms());
    }
}
