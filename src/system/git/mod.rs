//! The state of a git repository: its commit, and the files that differ from it.
//!
//! It is read without git: no program is started. Of a repository's configuration only the settings for the comparison of files
//! count (`settings`), no object is fetched, and a nested repository is not opened.

mod changes;
mod commit_files;
mod committed;
mod elsewhere;
mod error;
mod filter;
mod index;
mod opened;
mod pairing;
mod patterns;
mod place;
mod renames;
mod revision;
mod settings;
mod similarity;
mod sparse;
mod status;
mod tree;
mod walk;

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

pub use self::commit_files::{CommitFile, commit_files};
pub use self::committed::{blob_name, commit_with_line, contents};
pub use self::elsewhere::{Elsewhere, special_below};
pub use self::renames::{Renamed, Renames, Trace};
pub use self::revision::{Bringing, brought};
use self::{
    error::unknown,
    opened::Opened,
    place::{Place, has_dot_git},
    settings::Settings,
};
use crate::threads;
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// The stack of the thread that reads a repository, in bytes.
const STACK: usize = 8 << 20;

/// Threads of a comparison with the tree beside one for each processor: they distribute the work, and look for new files.
const BESIDE: usize = 4;

/// The interval at which the waiting thread checks the signal.
const PAUSE: Duration = Duration::from_millis(20);

/// The files of a tree that differ from its commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The commit; none before the first one.
    pub head: Option<String>,
    /// Modified and untracked files, relative to the given folder, each with a reason if its content was not compared.
    pub changed: BTreeMap<RepoPath, Option<String>>,
    /// Folders with repositories of their own, as far as they were met.
    pub nested: BTreeSet<RepoPath>,
}

/// The facts about a repository that decide how well it can be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// The commit; none before the first one.
    pub head: Option<String>,
    /// Files that are tracked.
    pub tracked: usize,
    /// Filters with programs in the configuration; none of them is run.
    pub filters: BTreeSet<String>,
    /// Repositories within the repository, which are not opened.
    pub nested: BTreeSet<RepoPath>,
    /// True if only a part of the files is checked out.
    pub sparse: bool,
    /// True if objects may be missing; none is fetched.
    pub partial: bool,
}

/// The files below a folder that differ from the commit; none if it is in no repository.
///
/// Of the environment only `HOME` and `XDG_CONFIG_HOME` are used: they lead to the user's own settings.
///
/// A hostile repository can keep its reader busy, and the reader checks no signal. So it runs on a thread of its own, which is
/// abandoned once `stop` is set.
pub fn state(
    root: &Path,
    environment: &BTreeMap<String, String>,
    stop: &Arc<AtomicBool>,
) -> Result<Option<State>, Error> {
    on_its_own_thread(root, environment, stop, |root, environment, until| {
        let Some(mut opened) = Opened::at(root, environment)? else { return Ok(None) };
        check_threads()?;
        status::read(&mut opened, until).map(Some)
    })
}

/// The changed files below a folder that `git stash` takes away, with or without those that are not tracked; none if they can't be
/// told within a time, in milliseconds. Read as [`state`] is.
pub fn stashed(
    root: &Path,
    environment: &BTreeMap<String, String>,
    with_untracked: bool,
    limit_ms: u64,
) -> Option<BTreeSet<String>> {
    let stop = Arc::new(AtomicBool::new(false));
    let late = Arc::clone(&stop);
    thread::Builder::new()
        .spawn(move || {
            thread::sleep(Duration::from_millis(limit_ms));
            late.store(true, Ordering::Relaxed);
        })
        .ok()?;
    let changed = state(root, environment, &stop).ok()??.changed.into_keys().map(|path| path.as_str().to_owned());
    if with_untracked {
        return Some(changed.collect());
    }
    let tracked: BTreeSet<String> = tracked(root).ok()?.into_iter().map(|(path, _)| path).collect();
    Some(changed.filter(|path| tracked.contains(path)).collect())
}

/// The renames of the history of a folder's repository; none if it is in no repository. Read as [`state`] is.
///
/// A history that can't be read is no error: the remark says why. `cancelled` is one.
pub fn renames(root: &Path, environment: &BTreeMap<String, String>, stop: &Arc<AtomicBool>) -> Result<Renames, Error> {
    let read = on_its_own_thread(root, environment, stop, |root, environment, until| {
        let Some(mut opened) = Opened::at(root, environment)? else { return Ok(Renames::default()) };
        renames::read(&mut opened, until)
    });
    match read {
        Err(error) if error.code() != Code::Cancelled => {
            Ok(Renames { remark: Some(error.message().to_owned()), ..Renames::default() })
        }
        read => read,
    }
}

/// The files and folders that the reader of a repository reads, wherever they are; none if the folder is in no repository.
pub fn readable(root: &Path) -> Vec<PathBuf> {
    let Ok(Some(place)) = Place::find(root) else { return Vec::new() };
    let files = [settings::SYSTEM, settings::NONE].map(PathBuf::from);
    let alternates = place.alternates().unwrap_or_default();
    let mut folders = vec![place.dot_git, place.own, place.common];
    folders.extend(alternates);
    folders.extend(files);
    folders.sort();
    folders.dedup();
    folders
}

/// Reads on a thread that is abandoned once `stop` is set.
fn on_its_own_thread<T: Send + 'static>(
    root: &Path,
    environment: &BTreeMap<String, String>,
    stop: &Arc<AtomicBool>,
    read: impl FnOnce(&Path, &BTreeMap<String, String>, &AtomicBool) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (root, environment, until) = (root.to_owned(), environment.clone(), Arc::clone(stop));
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .name("git".to_owned())
        .stack_size(STACK)
        .spawn(move || sender.send(read(&root, &environment, &until)))
        .map_err(|error| Error::io("a thread that reads the repository can't be started", &error))?;
    loop {
        match receiver.recv_timeout(PAUSE) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err(Error::new(Code::Cancelled, "the run was cancelled"));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(unknown("the reader of the repository failed")),
        }
    }
}

/// An error if there are too few threads for a comparison with the tree, which would end in the middle.
fn check_threads() -> Result<(), Error> {
    let wanted = thread::available_parallelism().map_or(1, NonZeroUsize::get) + BESIDE;
    if threads::available(wanted)? < wanted { Err(threads::none_left()) } else { Ok(()) }
}

/// The commit alone; none without a repository, before the first commit, or if it can't be read.
pub fn head(root: &Path, environment: &BTreeMap<String, String>) -> Option<String> {
    Opened::at(root, environment).ok()??.head()
}

/// The facts about a folder's repository; none if it is in no repository.
pub fn outlook(root: &Path, environment: &BTreeMap<String, String>) -> Result<Option<Outlook>, Error> {
    let Some(mut opened) = Opened::at(root, environment)? else { return Ok(None) };
    let state = status::read(&mut opened, &AtomicBool::new(false))?;
    let Settings { filters, sparse, partial, .. } = opened.settings;
    let tracked = opened.tracked;
    Ok(Some(Outlook { head: state.head, tracked, filters, nested: state.nested, sparse, partial }))
}

/// The way in which a path of the index is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracked {
    /// It is a file of the tree.
    File,
    /// A sparse checkout left the file or link out.
    Absent,
    /// It is a repository of its own.
    Repository,
}

/// The tracked paths below a folder, relative to it, without links and files that were removed; none if it is in no repository.
pub fn tracked(root: &Path) -> Result<Vec<(String, Tracked)>, Error> {
    match Opened::at(root, &BTreeMap::new())? {
        Some(mut opened) => sparse::tracked(&mut opened),
        None => Ok(Vec::new()),
    }
}

/// An error if git would wait at a file of a folder's repository, or can't read it.
pub fn check_files(root: &Path) -> Result<(), Error> {
    let Some(place) = Place::find(root)? else { return Ok(()) };
    let special = [&place.common, &place.own].into_iter().find_map(|folder| special_below(folder));
    special.map_or(Ok(()), |path| Err(unknown(&format!("`{}` is neither file nor folder", path.display()))))
}

/// The places of a repository's hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPlace {
    /// The folder of the repository, shared by its work trees, that holds `hooks`.
    pub repository: PathBuf,
    /// The folder that a setting names instead; git uses no other then. It is reported and never used.
    pub elsewhere: Option<String>,
    /// The given folder, below the work tree.
    pub below: PathBuf,
}

/// The places of the hooks of a folder's repository; none if it is in no repository.
pub fn hooks(root: &Path, environment: &BTreeMap<String, String>) -> Result<Option<HookPlace>, Error> {
    let Some(place) = Place::find(root)? else { return Ok(None) };
    let elsewhere = settings::read(&place, environment)?.hooks;
    let repository = place.common.canonicalize().unwrap_or(place.common);
    let below = root.strip_prefix(&place.work).unwrap_or(Path::new("")).to_owned();
    Ok(Some(HookPlace { repository, elsewhere, below }))
}

/// The folder between a root and a file that has a repository of its own; none if there is none.
///
/// The root itself is not examined. The content of `.git` is not read.
pub fn nested_above(root: &Path, path: &RepoPath, seen: &mut BTreeMap<RepoPath, bool>) -> Option<RepoPath> {
    let folder = path.parent()?;
    if let Some(above) = nested_above(root, &folder, seen) {
        return Some(above);
    }
    let is_nested = *seen.entry(folder.clone()).or_insert_with(|| has_dot_git(&root.join(folder.as_str())));
    is_nested.then_some(folder)
}
