//! `nrv test --watch`: waits for changes of files that cases depend on, and runs those cases again.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::Duration,
};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::AccessKind};

use super::{find, pass};
use crate::face::cli::{Here, output::Output};
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use script::{
    Loaded,
    cases::{Purpose, Suite, test_folder},
    tape_folder,
};
use system::policy;

/// The quiet time before cases are run: editors write in several steps.
const QUIET: Duration = Duration::from_millis(100);

/// The interval of checks for a wish to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The cases to run, and their purpose.
pub(super) struct Wanted<'a> {
    pub(super) scripts: &'a [RepoPath],
    pub(super) filter: Option<&'a str>,
    pub(super) purpose: Purpose,
}

/// Runs all cases, then again and again those that depend on what changed. Ctrl-C ends it.
pub(super) fn watch(here: &Here, wanted: &Wanted<'_>, out: &mut Output) -> Result<u8, Error> {
    let (sender, events) = mpsc::channel();
    let watcher = notify::recommended_watcher(move |event| drop(sender.send(event)));
    let mut eyes = Eyes { watcher: watcher.map_err(unwatched)?, watched: BTreeSet::new() };
    let mut loaded = BTreeMap::new();
    let mut changed = None;
    loop {
        let suites = find(&here.context, wanted.scripts, wanted.filter);
        let all = match suites {
            Ok(suites) => suites,
            // There were cases before, and there may be again.
            Err(error) if changed.is_some() && error.code() != Code::Cancelled => {
                out.explain(&error);
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let due = match &changed {
            None => all.clone(),
            Some(paths) => due(&all, &loaded, paths),
        };
        // The watch starts before the run, so that changes during it are seen.
        eyes.look_at(here.context.workspace.root(), &all, &loaded)?;
        if !due.is_empty() {
            match pass(&here.context, due, wanted.purpose, out) {
                Ok(passed) => loaded.extend(passed.loaded),
                Err(error) if error.code() == Code::Cancelled => return Ok(Code::Cancelled.exit_code()),
                Err(error) => return Err(error),
            }
            eyes.look_at(here.context.workspace.root(), &all, &loaded)?;
            out.say("Waiting for changes; Ctrl-C ends it.");
        }
        match next(here, &events) {
            Some(paths) => changed = Some(paths),
            None => return Ok(Code::Cancelled.exit_code()),
        }
    }
}

/// The watched folders: never a whole workspace, which may be large.
struct Eyes {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl Eyes {
    /// Watches the dependencies of cases: their folders, the sources, recorded replies, the policy.
    fn look_at(&mut self, root: &Path, suites: &[Suite], loaded: &BTreeMap<RepoPath, Loaded>) -> Result<(), Error> {
        self.add(root.to_owned(), RecursiveMode::NonRecursive)?;
        for suite in suites {
            let script = root.join(suite.script.as_str());
            self.add(script.parent().unwrap_or(root).to_owned(), RecursiveMode::NonRecursive)?;
            self.add(root.join(test_folder(&suite.script).as_str()), RecursiveMode::Recursive)?;
            self.add(root.join(tape_folder(&suite.script)), RecursiveMode::Recursive)?;
        }
        for source in loaded.values().flat_map(|loaded| loaded.sources.keys()) {
            let folder = root.join(source).parent().map(Path::to_owned);
            folder.map_or(Ok(()), |folder| self.add(folder, RecursiveMode::NonRecursive))?;
        }
        Ok(())
    }

    fn add(&mut self, folder: PathBuf, mode: RecursiveMode) -> Result<(), Error> {
        // A folder that was removed and made again is no longer watched.
        if !folder.is_dir() {
            self.watched.remove(&folder);
            return Ok(());
        }
        if !self.watched.contains(&folder) {
            self.watcher.watch(&folder, mode).map_err(unwatched)?;
            self.watched.insert(folder);
        }
        Ok(())
    }
}

/// The changed paths, once no more change; none if the user wants to stop.
fn next(here: &Here, events: &Receiver<notify::Result<Event>>) -> Option<BTreeSet<RepoPath>> {
    let root = here.context.workspace.root();
    let mut changed = BTreeSet::new();
    while here.context.cancelled().is_none() {
        let patience = if changed.is_empty() { LOOK } else { QUIET };
        match events.recv_timeout(patience) {
            Ok(Ok(event)) if is_change(event.kind) => {
                let beneath = |path: &PathBuf| RepoPath::parse(path.strip_prefix(root).ok()?.to_str()?).ok();
                changed.extend(event.paths.iter().filter_map(beneath));
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) if changed.is_empty() => {}
            Err(RecvTimeoutError::Timeout) => return Some(changed),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

/// True unless a file was only read, as cases themselves do.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => matches!(access, AccessKind::Close(notify::event::AccessMode::Write)),
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
    }
}

/// The cases that depend on the changed paths.
fn due(all: &[Suite], loaded: &BTreeMap<RepoPath, Loaded>, changed: &BTreeSet<RepoPath>) -> Vec<Suite> {
    if changed.iter().any(|path| path.as_str() == policy::FILE) {
        return all.to_vec();
    }
    let suite = |suite: &Suite| {
        let tape = tape_folder(&suite.script);
        let sources = loaded.get(&suite.script).map(|loaded| &loaded.sources);
        let depends = |path: &RepoPath| {
            sources.is_none_or(|sources| sources.contains_key(path.as_str()))
                || is_in(path, &tape)
                || *path == suite.script
        };
        let folder = test_folder(&suite.script);
        let is_due = |case: &&String| {
            changed.iter().any(|path| depends(path) || is_in(path, folder.child(case).as_str()) || *path == folder)
        };
        let cases: Vec<String> = suite.cases.iter().filter(is_due).cloned().collect();
        (!cases.is_empty()).then(|| Suite { script: suite.script.clone(), cases })
    };
    all.iter().filter_map(suite).collect()
}

fn is_in(path: &RepoPath, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn unwatched(error: notify::Error) -> Error {
    Error::new(Code::Io, format!("files can't be watched: {error}"))
        .hint("run `nrv test` without `--watch`; of files at once the system watches a limited number")
}
