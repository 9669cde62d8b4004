//! Control groups: the kernel counts and bounds the resources of all processes of a program together.
//!
//! A group is made beside this process, in the hierarchy of version 1 or 2 that counts the resource, where this user may make
//! one. A program can't leave it: its view of `/sys/fs/cgroup` is read-only, and Landlock denies it. The maker of a group holds
//! a lock on it. So the next maker recognises and removes the groups of dead ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags},
    process::{Pid, PidfdFlags, Signal},
};

use super::{Bound, Hold, Limits, mounts};
use crate::clock::Stopwatch;

/// The prefix of the name of every group.
const PREFIX: &str = "nrv-";

/// The supervising processes of nrv, which count as the program's.
const OWN_PROCESSES: u64 = 2;

/// The number of attempts to remove a group whose last process has just ended, and the pause between them.
const REMOVALS: (u32, Duration) = (20, Duration::from_millis(5));

/// The largest number of names that are tried for a group.
const NAMES: u32 = 100;

/// The groups of one program, which are removed when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Group {
    folders: Vec<Folder>,
    /// For each enforced bound, the file that counts its hits, and the word before that number.
    counters: BTreeMap<Bound, (PathBuf, &'static str)>,
    /// The reason that it does not bound memory.
    why: String,
}

/// One group, with its maker's lock.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    version: Version,
    _lock: OwnedFd,
}

/// The version of the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A place where effective groups can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Base {
    folder: PathBuf,
    version: Version,
    /// This process's own share of it. A group further up would not be bounded by that.
    own: u64,
}

/// The places for groups by resource; else the reason that there is none.
#[derive(Debug)]
struct Bases {
    memory: Result<Base, String>,
    processes: Result<Base, String>,
}

impl Group {
    /// Makes the groups for these limits, as far as possible here.
    pub(super) fn make(limits: &Limits) -> Self {
        let mut group = Group::default();
        if limits.memory.is_none() && limits.processes.is_none() {
            return group;
        }
        let bases = bases();
        if let Some(most) = limits.memory {
            let made = bases.memory.clone().and_then(|base| group.bound_memory(&base, most));
            group.why = made.err().unwrap_or_default();
        }
        if let (Some(most), Ok(base)) = (limits.processes, &bases.processes) {
            // On failure another means of enforcement reports it.
            let _ = group.bound_processes(base, most);
        }
        group
    }

    /// No group, for this reason.
    pub(super) fn none(why: String) -> Self {
        Group { why, ..Group::default() }
    }

    /// The files by which a process joins: it writes `0` to each.
    pub(super) fn joins(&self) -> Vec<PathBuf> {
        let file = |folder: &Folder| match folder.version {
            // A thread that moves itself waits for nobody; a process waits until no other process starts or ends.
            Version::One => folder.path.join("tasks"),
            Version::Two => folder.path.join("cgroup.procs"),
        };
        self.folders.iter().map(file).collect()
    }

    /// True if it enforces that bound.
    pub(super) fn bounds(&self, bound: Bound) -> bool {
        self.counters.contains_key(&bound)
    }

    /// The reason that it does not bound memory.
    pub(super) fn why(&self) -> &str {
        &self.why
    }

    /// Removes the limits that it enforces: no other means is needed.
    pub(super) fn relieve(&self, limits: &mut Limits) {
        limits.memory = limits.memory.filter(|_| !self.bounds(Bound::Memory));
        limits.processes = limits.processes.filter(|_| !self.bounds(Bound::Processes));
    }

    /// The means of each of its bounds.
    pub(super) fn holds(&self) -> impl Iterator<Item = (Bound, Hold)> {
        self.counters.keys().map(|bound| (*bound, Hold::Group))
    }

    /// The bound that was hit.
    pub(super) fn exceeded(&self) -> Option<Bound> {
        let is_hit = |(file, word): &(PathBuf, &str)| read(file).is_some_and(|text| number(&text, word) > Some(0));
        self.counters.iter().find(|(_, counter)| is_hit(counter)).map(|(bound, _)| *bound)
    }

    /// Forbids the start of further processes.
    pub(super) fn close(&self) {
        for folder in &self.folders {
            // In version 1 one of them does not count processes.
            let _ = write(&folder.path.join("pids.max"), "0");
        }
    }

    /// Kills all of its processes, where nobody else does, and returns when none is left or the time is over.
    pub(super) fn end(&self, patience: Duration) {
        let watch = Stopwatch::start();
        let members = || self.folders.iter().flat_map(Folder::members).collect::<BTreeSet<i32>>();
        let open = |pid: i32| rustix::process::pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok();
        while watch.elapsed() < patience {
            let opened: Vec<(i32, OwnedFd)> = members().into_iter().filter_map(|pid| Some((pid, open(pid)?))).collect();
            // The number of an ended one may belong to another process now.
            let still = members();
            if still.is_empty() {
                return;
            }
            for (_, process) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
                let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
            }
            std::thread::sleep(REMOVALS.1);
        }
    }

    fn bound_memory(&mut self, base: &Base, most: u64) -> Result<(), String> {
        let folder = self.folder_at(base)?;
        let most = most.min(base.own).to_string();
        let (limit, counter) = match base.version {
            Version::One => ("memory.limit_in_bytes", "memory.oom_control"),
            Version::Two => ("memory.max", "memory.events"),
        };
        set(&folder, limit, &most)?;
        match base.version {
            // Without swap there is nothing to bound.
            Version::One => drop(set(&folder, "memory.memsw.limit_in_bytes", &most)),
            Version::Two => {
                let _ = set(&folder, "memory.swap.max", "0");
                let _ = set(&folder, "memory.oom.group", "1");
            }
        }
        self.counters.insert(Bound::Memory, (folder.join(counter), "oom_kill"));
        Ok(())
    }

    fn bound_processes(&mut self, base: &Base, most: u64) -> Result<(), String> {
        let folder = self.folder_at(base)?;
        set(&folder, "pids.max", &most.min(base.own).saturating_add(OWN_PROCESSES).to_string())?;
        self.counters.insert(Bound::Processes, (folder.join("pids.events"), "max"));
        Ok(())
    }

    /// The group in that place, which is made at the first call.
    fn folder_at(&mut self, base: &Base) -> Result<PathBuf, String> {
        let known = self.folders.iter().find(|folder| folder.path.parent() == Some(&base.folder));
        if let Some(folder) = known {
            return Ok(folder.path.clone());
        }
        let folder = Folder::make(base).map_err(|error| cannot(&base.folder, &error))?;
        let path = folder.path.clone();
        self.folders.push(folder);
        Ok(path)
    }
}

impl Folder {
    /// The numbers of the processes in it.
    fn members(&self) -> Vec<i32> {
        let text = read(&self.path.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn make(base: &Base) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut failed = io::ErrorKind::AlreadyExists.into();
        for _ in 0..NAMES {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.folder.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match make_folder(&path).and_then(|()| lock(&path)) {
                Ok(lock) => return Ok(Folder { path, version: base.version, _lock: lock }),
                // Another maker has it, or a faster sweep removed it.
                Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                    failed = error;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => failed = error,
                Err(error) => return Err(error),
            }
        }
        Err(failed)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for _ in 0..REMOVALS.0 {
            match remove(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(REMOVALS.1),
                // The next maker removes a remaining one.
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// Makes this process join groups.
pub(super) fn join(files: &[PathBuf]) -> Result<(), String> {
    files.iter().try_for_each(|file| write(file, "0").map_err(|error| cannot(file, &error)))
}

/// Three quarters of the memory of this machine, or of this process's share of it.
pub fn most_memory() -> u64 {
    static MOST: OnceLock<u64> = OnceLock::new();
    *MOST.get_or_init(|| {
        let machine = read(Path::new("/proc/meminfo")).and_then(|text| number(&text, "MemTotal:"));
        let machine = machine.map_or(u64::MAX, |kilobytes| kilobytes.saturating_mul(1024));
        let own = bases().memory.as_ref().map_or(u64::MAX, |base| base.own);
        machine.min(own) / 4 * 3
    })
}

/// The limit of the groups beneath a group: of memory or of processes.
fn limit(group: &Path, version: Version, controller: &str) -> u64 {
    let found = match version {
        Version::One => {
            let text = read(&group.join("memory.stat")).filter(|_| controller == "memory").unwrap_or_default();
            number(&text, "hierarchical_memory_limit")
        }
        Version::Two => {
            let limit = |folder: &Path| read(&folder.join(format!("{controller}.max")))?.trim().parse().ok();
            group.ancestors().filter_map(limit).min()
        }
    };
    found.unwrap_or(u64::MAX)
}

/// The places where this process can make groups. Found once, by making some; leftovers of dead processes there are removed.
fn bases() -> &'static Bases {
    static BASES: OnceLock<Bases> = OnceLock::new();
    BASES.get_or_init(|| {
        let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
        let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
        let find = |controller: &str, file: &str| {
            let (version, places) = places(&groups, &mounts, controller)
                .ok_or_else(|| format!("no control group of this machine counts `{controller}`"))?;
            let mut why = format!("no control group for `{controller}` is in sight");
            let own = places.first().map_or(u64::MAX, |own| limit(own, version, controller));
            for folder in places {
                let base = Base { folder, version, own };
                match base.can_bound(controller, file) {
                    Ok(()) => return Ok(base),
                    Err(refused) => why = refused,
                }
            }
            Err(why)
        };
        let memory = find("memory", "memory.");
        let processes = find("pids", "pids.max");
        for base in [&memory, &processes].into_iter().flatten() {
            sweep(&base.folder);
        }
        Bases { memory, processes }
    })
}

impl Base {
    /// Makes a group there and checks that it counts the resource; in version 2 the owner of the folder may first have to
    /// enable that.
    fn can_bound(&self, controller: &str, file: &str) -> Result<(), String> {
        let folder = Folder::make(self).map_err(|error| cannot(&self.folder, &error))?;
        let counts = || {
            let mut names = fs::read_dir(&folder.path).into_iter().flatten().flatten();
            names.any(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(file)))
        };
        if counts() {
            return Ok(());
        }
        let controls = self.folder.join("cgroup.subtree_control");
        let enabled = write(&controls, &format!("+{controller}"));
        match enabled {
            Ok(()) if counts() => Ok(()),
            Ok(()) => Err(format!("control groups in `{}` do not count `{controller}`", self.folder.display())),
            Err(error) => Err(cannot(&controls, &error)),
        }
    }
}

/// The candidate folders for effective groups: in version 1 beneath the group of this process. In version 2 a group with
/// processes has no bounded ones beneath it, so also beside it and further up.
fn places(groups: &str, mounts: &str, controller: &str) -> Option<(Version, Vec<PathBuf>)> {
    let own = |is_it: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            is_it(controllers).then_some(path)
        })
    };
    let first = own(&|controllers| controllers.split(',').any(|name| name == controller));
    let (version, path) = match first {
        Some(path) => (Version::One, path),
        None => (Version::Two, own(&str::is_empty)?),
    };
    let (root, mounted) = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, mounted) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let is_it = match version {
            Version::One => kind.next() == Some("cgroup") && kind.nth(1)?.split(',').any(|name| name == controller),
            Version::Two => kind.next() == Some("cgroup2"),
        };
        is_it.then(|| (mounts::unescape(root.as_bytes()), mounts::unescape(mounted.as_bytes())))
    })?;
    let below = Path::new(path).strip_prefix(&root).ok()?;
    if below.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
        return None;
    }
    let folder = mounted.join(below);
    let most = match version {
        Version::One => 1,
        Version::Two => below.components().count() + 1,
    };
    let places = folder.ancestors().take(most).map(Path::to_owned).collect();
    Some((version, places))
}

/// Removes the groups whose makers have died, if they are empty.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let is_group = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_group && let Ok(_lock) = lock(&entry.path()) {
            let _ = remove(&entry.path());
        }
    }
}

/// Locks an unlocked group.
fn lock(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
    rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    // It may have been removed before it was locked.
    rustix::fs::stat(folder)?;
    Ok(opened)
}

fn set(folder: &Path, file: &str, value: &str) -> Result<(), String> {
    let path = folder.join(file);
    write(&path, value).map_err(|error| cannot(&path, &error))
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!("`{}` can't be written ({error})", path.display())
}

/// The number after a word at the beginning of a line.
fn number(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix([' ', '\t']))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[expect(clippy::disallowed_methods, reason = "it is a folder of the kernel")]
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

#[expect(clippy::disallowed_methods, reason = "it is a folder of the kernel")]
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)
}

/// Writes to a file of the kernel that exists.
#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel")]
fn write(path: &Path, value: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "it is a file of the kernel")]
fn read(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "23 1 259:0 / / rw - ext4 /dev/x rw\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw shared:9 - cgroup2 cgroup2 rw\n";

    #[track_caller]
    fn check(groups: &str, mounts: &str, controller: &str, expected: Option<(Version, &[&str])>) {
        let expected = expected.map(|(version, places)| (version, places.iter().map(PathBuf::from).collect()));
        assert_eq!(places(groups, mounts, controller), expected, "{controller}");
    }

    #[test]
    fn a_hierarchy_of_version_one_has_one_place() {
        let groups = "9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/\n0::/c\n";
        check(groups, MOUNTS, "memory", Some((Version::One, &["/sys/fs/cgroup/memory/a/b"])));
        check(groups, MOUNTS, "cpuacct", Some((Version::One, &["/sys/fs/cgroup/cpu,cpuacct/"])));
    }

    #[test]
    fn in_version_two_groups_are_also_made_further_up() {
        let fields = "/sys/fs/cgroup/uni fied";
        let at = |path: &str| format!("{fields}{path}");
        let places = [at("/user.slice/app.scope"), at("/user.slice"), at("/")];
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        check("0::/user.slice/app.scope\n", MOUNTS, "pids", Some((Version::Two, &places)));
    }

    #[test]
    fn a_group_that_is_not_in_sight_has_no_place() {
        check("0::/../other\n", MOUNTS, "pids", None);
        check("4:memory:/a\n", "35 31 0:32 /b /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "memory", None);
        check("", MOUNTS, "memory", None);
        check("0::/\n", "", "memory", None);
        // In a container, the names of its groups are relative to the mounted part.
        let mounts = "35 31 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        check("4:memory:/docker/x/y\n", mounts, "memory", Some((Version::One, &["/sys/fs/cgroup/memory/y"])));
    }

    #[test]
    fn numbers_are_found_by_the_word_before() {
        let text = "oom 3\noom_kill 2\noom_group_kill 1\nMemTotal:   12 kB\n";
        assert_eq!((number(text, "oom"), number(text, "oom_kill")), (Some(3), Some(2)));
        assert_eq!((number(text, "MemTotal:"), number(text, "max")), (Some(12), None));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test builds folders")]
    fn a_limit_is_the_least_of_a_group_and_those_above() {
        let base = tempfile::tempdir().unwrap();
        let own = base.path().join("slice/scope");
        fs::create_dir_all(&own).unwrap();
        for (file, text) in
            [("slice/memory.max", "4096\n"), ("slice/scope/memory.max", "max\n"), ("slice/scope/pids.max", "7\n")]
        {
            fs::write(base.path().join(file), text).unwrap();
        }
        let limits = |version| ["memory", "pids"].map(|controller| limit(&own, version, controller));
        assert_eq!(limits(Version::Two), [4096, 7]);
        assert_eq!(limits(Version::One), [u64::MAX; 2]);
        fs::write(own.join("memory.stat"), "cache 3\nhierarchical_memory_limit 2048\n").unwrap();
        assert_eq!(limits(Version::One), [2048, u64::MAX]);
    }

    #[test]
    fn groups_of_dead_makers_are_removed_and_those_of_living_ones_stay() {
        let base = tempfile::tempdir().unwrap();
        for name in ["nrv-1-0", "nrv-1-1", "other"] {
            make_folder(&base.path().join(name)).unwrap();
        }
        let held = lock(&base.path().join("nrv-1-1")).unwrap();
        sweep(base.path());
        let mut names: Vec<_> = fs::read_dir(base.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["nrv-1-1", "other"]);
        drop(held);
    }
}
