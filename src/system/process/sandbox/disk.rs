//! Measures the disk space of a running program, less often the longer a measurement takes.
//!
//! It counts the content of the program's private folders, the changes in the others since the start, and open files without a
//! name. The free space of the file systems tells when an early measurement is worth its time; another program may be the cause
//! of its fall.

use std::{
    collections::BTreeSet,
    fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, TryRecvError},
    },
    time::Duration,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags},
    io::Errno,
    process::Pid,
};

use super::{
    Launch,
    termination::{self, Seen},
};
use crate::clock::{Clock, Stopwatch};

/// The shortest interval between measurements.
const PERIOD: Duration = Duration::from_millis(100);

/// The ratio of the pause to the duration of a measurement.
const RARITY: u32 = 100;

/// Bytes that a name takes beside the file's content.
const NAME: u64 = 512;

/// Bytes that a file takes at least: file systems have a limited number of files, of any size.
const FILE: u64 = 4096;

/// The free bytes of a file system below which a program is killed that reduced them.
const FLOOR: u64 = 256 << 20;

/// The reduction that is required for that.
const SHARE: u64 = 64 << 20;

/// The free file entries below which a program is killed that reduced them.
const FLOOR_FILES: u64 = 64 << 10;

/// The reduction that is required for that.
const SHARE_FILES: u64 = 16 << 10;

/// The lag of file times behind the clock, in milliseconds.
const LAG_MS: u64 = 20;

/// The magic number of the file system in memory.
const MEMORY: i128 = 0x0102_1994;

/// Prefixes of the paths of mapped files in memory.
const OF_MEMORY: &[&[u8]] = &[b"/memfd:", b"/dev/zero", b"/SYSV", b"/[", b"/anon_hugepage"];

/// The bytes of a block in the counts of files.
const BLOCK: u64 = 512;

/// The bound of a program's disk space, with its measurements.
#[derive(Debug)]
pub(super) struct Meter {
    most: u64,
    places: Arc<Vec<Place>>,
    disks: Vec<Disk>,
    /// The start in milliseconds since 1970.
    since: i64,
    /// The bytes that it may still take since the last measurement.
    left: u64,
    /// Bytes of files without a name, in the last such measurement.
    unnamed: u64,
    pause: Duration,
    last: Stopwatch,
    looking: Option<Receiver<Found>>,
    stop: Arc<AtomicBool>,
}

/// A folder that it writes.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    /// True if all of its content counts: it was empty.
    is_private: bool,
}

/// A file system, and its free space at the start.
#[derive(Debug)]
struct Disk {
    folder: PathBuf,
    at_start: Free,
    /// The free space at the last measurement of files without a name.
    at_last: Free,
}

/// The free space of a file system.
#[derive(Clone, Copy, Debug)]
struct Free {
    bytes: u64,
    files: u64,
}

impl Free {
    /// Unlimited: it never runs short.
    const ALL: Free = Free { bytes: u64::MAX, files: u64::MAX };

    /// The reduction since then.
    fn fell(self, now: Free) -> Free {
        Free { bytes: self.bytes.saturating_sub(now.bytes), files: self.files.saturating_sub(now.files) }
    }

    /// True if a program has used nearly all of it.
    fn is_used_up(self, now: Free) -> bool {
        let fell = self.fell(now);
        let bytes = self.bytes >= FLOOR && now.bytes < FLOOR && fell.bytes > SHARE;
        let files = self.files >= FLOOR_FILES && now.files < FLOOR_FILES && fell.files > SHARE_FILES;
        bytes || files
    }

    /// True if more than this number of bytes may have been taken.
    fn is_beyond(self, bytes: u64) -> bool {
        self.bytes > bytes || self.files > bytes / FILE
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Bytes of files with a name.
    bytes: u64,
    /// Bytes of files without one, if they were measured.
    unnamed: Option<u64>,
    /// True if some of it is unknown.
    is_partial: bool,
    took: Duration,
}

impl Meter {
    /// A meter for a program; none without a bound.
    pub(super) fn new(launch: &Launch) -> Option<Self> {
        let most = launch.limits.disk?;
        let private = launch.stage.iter().map(|stage| stage.upper.clone()).chain([launch.temporary.clone()]);
        let through = launch.stage.iter().flat_map(|stage| stage.through.iter().map(|folder| stage.root.join(folder)));
        let place = |is_private| move |folder| Place { folder, is_private };
        let shared = launch.write.iter().cloned().chain(through).map(place(false));
        let places: Vec<Place> = private.map(place(true)).chain(shared).collect();
        let mut devices = BTreeSet::new();
        let mut disks = Vec::new();
        for Place { folder, .. } in &places {
            if fs::metadata(folder).is_ok_and(|found| devices.insert(found.dev())) {
                let free = free(folder).unwrap_or(Free::ALL);
                disks.push(Disk { folder: folder.clone(), at_start: free, at_last: free });
            }
        }
        let since = Clock::System.now_ms().saturating_sub(LAG_MS);
        Some(Meter {
            most,
            places: Arc::new(places),
            disks,
            since: i64::try_from(since).unwrap_or(i64::MAX),
            left: most,
            unnamed: 0,
            pause: PERIOD,
            last: Stopwatch::start(),
            looking: None,
            stop: Arc::default(),
        })
    }

    /// True if the program exceeds its bound. Returns at once: a thread measures.
    pub(super) fn is_exceeded(&mut self, supervisor: Pid) -> bool {
        let now: Vec<Free> = self.disks.iter().map(|disk| free(&disk.folder).unwrap_or(disk.at_last)).collect();
        if self.disks.iter().zip(&now).any(|(disk, now)| disk.at_start.is_used_up(*now)) {
            return true;
        }
        match self.looking.as_ref().map(Receiver::try_recv) {
            Some(Ok(found)) => {
                self.looking = None;
                self.pause = PERIOD.max(found.took.saturating_mul(RARITY));
                self.unnamed = found.unnamed.unwrap_or(self.unnamed);
                self.left = self.most.saturating_sub(found.bytes.saturating_add(self.unnamed));
                let mut disks = self.disks.iter().zip(&now);
                let fell = disks.any(|(disk, now)| disk.at_start.fell(*now).is_beyond(self.most));
                let bytes = found.bytes.saturating_add(found.unnamed.unwrap_or(0));
                if bytes > self.most || found.is_partial && fell {
                    return true;
                }
            }
            Some(Err(TryRecvError::Empty)) => return false,
            Some(Err(TryRecvError::Disconnected)) => self.looking = None,
            None => {}
        }
        let fell_much = self.left == 0
            || self.disks.iter().zip(&now).any(|(disk, now)| disk.at_last.fell(*now).is_beyond(self.left));
        if fell_much {
            self.disks.iter_mut().zip(now).for_each(|(disk, now)| disk.at_last = now);
        }
        if fell_much || self.last.elapsed() >= self.pause {
            self.last = Stopwatch::start();
            self.look(fell_much.then_some(supervisor));
        }
        false
    }

    /// Starts a measurement on a thread, including files without a name if the supervisor of their processes is given.
    fn look(&mut self, supervisor: Option<Pid>) {
        let (sender, receiver) = mpsc::channel();
        let (places, stop, since) = (Arc::clone(&self.places), Arc::clone(&self.stop), self.since);
        let look = move || {
            let watch = Stopwatch::start();
            let mut eye = Eye { since, stop: &stop, seen: BTreeSet::new(), found: Found::default() };
            places.iter().for_each(|place| eye.walk(place));
            if let Some(supervisor) = supervisor {
                eye.unnamed(supervisor);
            }
            let _ = sender.send(Found { took: watch.elapsed(), ..eye.found });
        };
        // Without a thread the next measurement has to do.
        self.looking = std::thread::Builder::new().spawn(look).is_ok().then_some(receiver);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The free space of a folder's file system. One that counts no files has room for any number.
fn free(folder: &Path) -> Option<Free> {
    let found = rustix::fs::statvfs(folder).ok()?;
    let files = if found.f_files == 0 { u64::MAX } else { found.f_ffree };
    Some(Free { bytes: found.f_bfree.saturating_mul(found.f_frsize), files })
}

/// True if a file is in memory, which another bound covers.
fn is_memory(file: &Path) -> bool {
    rustix::fs::statfs(file).is_ok_and(|found| i128::from(found.f_type) == MEMORY)
}

/// True if a process maps a file without a name, whose size is unknown.
#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel about a process")]
fn maps_unnamed(pid: i32) -> bool {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.split(|byte| *byte == b'\n').any(is_unnamed)
}

/// A line of the kernel's list of mappings: addresses, rights, offset, device, number, and the path.
fn is_unnamed(line: &[u8]) -> bool {
    let starts_at = line.iter().position(|byte| *byte == b'/').unwrap_or(line.len());
    let path = &line[starts_at..];
    path.ends_with(b" (deleted)") && !OF_MEMORY.iter().any(|start| path.starts_with(start))
}

/// The state of a measurement.
struct Eye<'a> {
    since: i64,
    stop: &'a AtomicBool,
    /// The counted files among those with several names.
    seen: BTreeSet<(u64, u64)>,
    found: Found,
}

impl Eye<'_> {
    /// Counts the content of a folder. Each folder is opened from its parent, so that any depth works and no link is followed.
    fn walk(&mut self, place: &Place) {
        let open = |at: &OwnedFd, name: &std::ffi::CStr| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(at, name, flags, Mode::empty())
        };
        let Ok(above) = rustix::fs::openat(CWD, &place.folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
            return;
        };
        let mut pending = vec![(Arc::new(above), c".".to_owned())];
        while let Some((above, name)) = pending.pop() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let opened = open(&above, &name);
            drop(above);
            let folder = match opened {
                Ok(folder) => Arc::new(folder),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(_) => {
                    self.found.is_partial = true;
                    continue;
                }
            };
            let Ok(entries) = Dir::read_from(&folder) else {
                self.found.is_partial = true;
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let Ok(stat) = rustix::fs::statat(&*folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                if FileType::from_raw_mode(stat.st_mode).is_dir() {
                    pending.push((Arc::clone(&folder), name.to_owned()));
                }
                self.count(&stat, place.is_private);
            }
        }
    }

    fn count(&mut self, stat: &rustix::fs::Stat, is_private: bool) {
        let changed = stat.st_ctime.saturating_mul(1000).saturating_add(stat.st_ctime_nsec as i64 / 1_000_000);
        if !is_private && changed < self.since {
            return;
        }
        let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
        let is_new = is_folder || stat.st_nlink < 2 || self.seen.insert((stat.st_dev, stat.st_ino));
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
        let bytes = if is_new { blocks.saturating_mul(BLOCK).max(FILE) } else { 0 };
        self.found.bytes = self.found.bytes.saturating_add(bytes).saturating_add(NAME);
    }

    /// Counts open files without a name. Those of a view are on a file system of its own.
    fn unnamed(&mut self, supervisor: Pid) {
        let mut bytes = 0_u64;
        for Seen { pid, .. } in termination::descendants_of(supervisor.as_raw_nonzero().get()) {
            let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                // A process that has ended has none.
                self.found.is_partial |= Path::new(&format!("/proc/{pid}")).exists();
                continue;
            };
            for file in open.flatten() {
                let Ok(found) = fs::metadata(file.path()) else { continue };
                let is_unnamed = found.is_file() && found.nlink() == 0 && !is_memory(&file.path());
                if is_unnamed && self.seen.insert((found.dev(), found.ino())) {
                    bytes = bytes.saturating_add(found.blocks().saturating_mul(BLOCK));
                }
            }
            self.found.is_partial |= maps_unnamed(pid);
        }
        self.found.unnamed = Some(bytes);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build folders")]
mod tests {
    use super::*;

    fn count(folder: &Path, since: i64, is_private: bool) -> Found {
        let stop = AtomicBool::new(false);
        let mut eye = Eye { since, stop: &stop, seen: BTreeSet::new(), found: Found::default() };
        eye.walk(&Place { folder: folder.to_owned(), is_private });
        eye.found
    }

    #[test]
    fn a_file_counts_once_and_a_hole_not_at_all() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("a/b/f"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(path("a/b/f"), path("a/g")).unwrap();
        std::os::unix::fs::symlink("/usr", path("link")).unwrap();
        fs::File::create(path("hole")).unwrap().set_len(1 << 40).unwrap();
        let found = count(folder.path(), i64::MAX, true);
        assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&found.bytes) && !found.is_partial, "{found:?}");
        assert_eq!(count(folder.path(), i64::MAX, false).bytes, 0);
        assert_eq!(count(folder.path(), 0, false).bytes, found.bytes);
    }

    #[test]
    fn a_file_without_content_counts_as_one_with_a_block() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        (0..100).for_each(|n| drop(fs::File::create(folder.path().join(n.to_string())).unwrap()));
        assert_eq!(count(folder.path(), 0, true).bytes, 100 * (FILE + NAME));
    }

    #[test]
    fn a_file_system_without_room_for_files_is_used_up() {
        let with = |files| Free { bytes: u64::MAX, files };
        assert!(with(1 << 20).is_used_up(with(60_000)));
        assert!(!with(1 << 20).is_used_up(with(70_000)) && !with(50_000).is_used_up(with(0)));
        assert!(!with(70_000).is_used_up(with(60_000)), "somebody else may have made those few");
        assert!(with(1 << 20).fell(with(0)).is_beyond(1 << 30) && !with(1 << 20).fell(with(0)).is_beyond(1 << 32));
    }

    #[test]
    fn a_mapped_file_without_a_name_is_one_of_a_disk() {
        let line = "7f00-7f10 r--s 00000000 fe:00 123 ";
        assert!(is_unnamed(format!("{line}/srv/a b (deleted)").as_bytes()));
        for path in ["/srv/a", "/memfd:x (deleted)", "/dev/zero (deleted)", "/SYSV00000000 (deleted)", "[heap]", ""] {
            assert!(!is_unnamed(format!("{line}{path}").as_bytes()), "{path}");
        }
    }

    #[test]
    fn folders_as_deep_as_one_likes_are_counted() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let name = "d".repeat(200);
        let mut at = rustix::fs::open(folder.path(), OFlags::PATH, Mode::empty()).unwrap();
        for _ in 0..100 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, &name, OFlags::PATH, Mode::empty()).unwrap();
        }
        let file = rustix::fs::openat(&at, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
        rustix::io::write(&file, &vec![1; 1 << 20]).unwrap();
        let found = count(folder.path(), 0, true);
        assert!(found.bytes >= 1 << 20 && !found.is_partial, "{found:?}");
    }
}
