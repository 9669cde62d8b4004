//! One transaction, from intent to commit mark; undone on any error.

use std::{os::fd::OwnedFd, path::Path};

use rustix::fs::{Mode, OFlags};

use super::{
    entry::{self, Files, Intent},
    recovery,
    tree::{self, Kept, Look},
};
use crate::{
    change::{Change, ChangeSet, Content, Entry, Stamp},
    error::{Code, Error},
    path::{RepoPath, link, protected},
    workspace::{Metadata, Workspace, parallel_map},
};

/// One file of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The file.
    pub path: &'a RepoPath,
    /// What it must be now; none if it must not exist.
    pub before: Option<Stamp>,
    /// What it is to be; none if it is to be removed.
    pub after: Option<&'a Content>,
}

impl<'a> Target<'a> {
    /// The targets of a change set, in its order.
    pub fn of(changes: &'a ChangeSet) -> Vec<Target<'a>> {
        let target =
            |change: &'a Change| Target { path: &change.path, before: change.before, after: change.after.as_ref() };
        changes.changes().iter().map(target).collect()
    }
}

/// Where a transaction belongs and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    /// The run's folder; its name is the run's id.
    pub run_folder: &'a Path,
    /// A name that is unique in the run.
    pub name: &'a str,
    /// Where in the run.
    pub position: &'a str,
    /// The change as a unified diff, kept in the pack.
    pub patch: &'a [u8],
    /// True if it undoes other transactions; whoever recovers it has to know.
    pub undoes: bool,
    /// How many threads prepare its files.
    pub threads: usize,
}

/// What the caller checks and what tests break.
pub struct Guards<'a> {
    /// Asked just before the first rename; an error stops the transaction.
    pub before_commit: &'a (dyn Fn() -> Result<(), Error> + Sync),
    /// Asked before every step with its name; an error stops the transaction there, as a failing disk would.
    pub fault: &'a (dyn Fn(&'static str) -> Result<(), Error> + Sync),
}

/// Applies all targets or none. On success the commit mark is on the disk and [`super::settle`] is due.
///
/// `stale_preimage` if a file is not what it should be, `unwritable` for read-only and hard-linked files, `protected_path`,
/// `io`. On any error the tree is as before; if undoing failed as well, the message says so and the transaction stays open
/// for [`super::recover`].
pub fn apply(
    workspace: &Workspace,
    transaction: &Transaction<'_>,
    targets: &[Target<'_>],
    guards: &Guards<'_>,
) -> Result<(), Error> {
    // What is brought back was there before, wherever it leads.
    let check = if transaction.undoes { check_target } else { preflight };
    parallel_map(transaction.threads, targets, |target| check(workspace, target))
        .into_iter()
        .collect::<Result<(), _>>()?;
    let files = Files::new(transaction.run_folder, transaction.name);
    let intent = intend(workspace, transaction, targets)?;
    (guards.fault)("intent")?;
    let result = files.write_intent(&intent).and_then(|()| {
        let work = Work { workspace, transaction, targets, guards, files: &files, intent: &intent };
        work.run()
    });
    result.map_err(|error| undo(workspace, transaction, error))
}

/// Checks that a file may be replaced without losing anything; a preview asks it too, to promise nothing that fails.
pub fn preflight(workspace: &Workspace, target: &Target<'_>) -> Result<(), Error> {
    if let Some(made) = target.after.filter(|after| after.is_link()) {
        link::check_target(target.path, &made.bytes)?;
    }
    check_target(workspace, target)
}

fn check_target(workspace: &Workspace, target: &Target<'_>) -> Result<(), Error> {
    if let Some(reason) = protected::write_refusal(target.path) {
        return Err(Error::new(Code::ProtectedPath, format!("`{}` is protected: {reason}", target.path)));
    }
    check_place(workspace, target)
}

/// Checks what stands at a target's place, whoever may write there.
pub(super) fn check_place(workspace: &Workspace, target: &Target<'_>) -> Result<(), Error> {
    let found = workspace.stat(target.path)?;
    tree::check_target(target.path, target.before.as_ref(), found.as_ref())?;
    // A link has no permissions of its own, and asking for them would ask for those of its target.
    let has_permissions = target.before.is_some_and(|before| !before.is_link());
    if has_permissions { tree::check_access(workspace, target.path) } else { Ok(()) }
}

fn undo(workspace: &Workspace, transaction: &Transaction<'_>, error: Error) -> Error {
    let (folder, name) = (transaction.run_folder, transaction.name);
    // A mark that could not be synced must not turn undoing into finishing.
    let recovered = Files::new(folder, name).remove_mark().and_then(|()| {
        let recovered = recovery::recover(workspace, folder, name)?;
        recovery::discard(folder, name, &recovered)?;
        super::settle(folder, name).map(|()| recovered)
    });
    match recovered {
        Ok(recovered) if recovered.foreign.is_empty() => error,
        Ok(recovered) => {
            let names: Vec<&str> = recovered.foreign.iter().map(RepoPath::as_str).collect();
            error.detail("files", names).hint("somebody changed the named files meanwhile; they were left alone")
        }
        Err(second) => error
            .detail("undo_error", second.message())
            .hint("undoing failed as well; run `nrv recover` when the cause is gone"),
    }
}

fn intend(workspace: &Workspace, transaction: &Transaction<'_>, targets: &[Target<'_>]) -> Result<Intent, Error> {
    let mut folders: Vec<RepoPath> = Vec::new();
    for target in targets.iter().filter(|target| target.before.is_none()) {
        let mut missing = Vec::new();
        let mut folder = target.path.parent();
        while let Some(path) = folder {
            if workspace.stat(&path)?.is_some() || folders.contains(&path) {
                break;
            }
            folder = path.parent();
            missing.push(path);
        }
        folders.extend(missing.into_iter().rev());
    }
    let entry = |target: &Target<'_>| Entry {
        path: target.path.clone(),
        before: target.before,
        after: target.after.map(Content::stamp),
    };
    Ok(Intent {
        place: entry::place(workspace, transaction.run_folder)?,
        undoes: transaction.undoes,
        transaction: transaction.name.to_owned(),
        position: transaction.position.to_owned(),
        entries: targets.iter().map(entry).collect(),
        folders,
        prefix: entry::temporary_prefix(transaction.run_folder, transaction.name),
    })
}

struct Work<'a> {
    workspace: &'a Workspace,
    transaction: &'a Transaction<'a>,
    targets: &'a [Target<'a>],
    guards: &'a Guards<'a>,
    files: &'a Files,
    intent: &'a Intent,
}

impl Work<'_> {
    fn run(&self) -> Result<(), Error> {
        self.fault("pack")?;
        self.files.make_pack()?;
        let pack = open_folder(&self.files.pre_images())?;
        let looks = self.prepare_all(&pack)?;
        self.fault("journal")?;
        self.files.write_pack(self.intent, self.transaction.patch)?;
        self.sync()?;
        tree::sync(&pack)?;
        (self.guards.before_commit)()?;
        self.replace_all(&looks)?;
        self.fault("sync")?;
        self.sync()?;
        self.fault("mark")?;
        self.files.write_mark()
    }

    fn sync(&self) -> Result<(), Error> {
        tree::sync_around(self.workspace, self.targets.iter().map(|target| target.path))
    }

    fn fault(&self, step: &'static str) -> Result<(), Error> {
        (self.guards.fault)(step)
    }

    /// Keeps every pre-image and stages every post-image; what each target looked like then.
    fn prepare_all(&self, pack: &OwnedFd) -> Result<Vec<Option<Look>>, Error> {
        for folder in &self.intent.folders {
            self.fault("folder")?;
            tree::make_folder(self.workspace, folder)?;
        }
        let numbered: Vec<(usize, &Target<'_>)> = self.targets.iter().enumerate().collect();
        // What a file has open is closed before the next one's turn: there may be more files than a process can open.
        let prepare = |(index, target): &(usize, &Target<'_>)| {
            let kept = self.keep(*index, target, pack)?;
            if let Some(after) = target.after {
                self.fault("stage")?;
                let like = kept.as_ref().and_then(|kept| kept.file.as_ref());
                tree::stage(self.workspace, &self.intent.temporary(*index), target.path, (after, like))?;
            }
            Ok(kept.map(|kept| kept.look))
        };
        parallel_map(self.transaction.threads, &numbered, prepare).into_iter().collect()
    }

    fn keep(&self, index: usize, target: &Target<'_>, pack: &OwnedFd) -> Result<Option<Kept>, Error> {
        self.fault("pre-image")?;
        let Some(before) = target.before else { return Ok(None) };
        let kept = tree::keep(self.workspace, target.path, pack, &index.to_string())?;
        if kept.sha256 != before.sha256 || kept.file.is_none() != before.is_link() {
            return Err(tree::stale(target.path, "changed since the change was proposed")
                .detail("expected", before.sha256.to_string())
                .detail("found", kept.sha256.to_string()));
        }
        let found = self.workspace.stat(target.path)?;
        let unlinked = found.map(|found| Metadata { links: found.links.saturating_sub(kept.own_links), ..found });
        tree::check_target(target.path, Some(&before), unlinked.as_ref())?;
        Ok(Some(kept))
    }

    fn replace_all(&self, looks: &[Option<Look>]) -> Result<(), Error> {
        for (index, (target, look)) in self.targets.iter().zip(looks).enumerate() {
            self.fault("replace")?;
            let temporary = self.intent.temporary(index);
            match (look, target.after) {
                (None, Some(_)) => tree::put_new(self.workspace, &temporary, target.path)?,
                (Some(look), Some(_)) => {
                    tree::replace(self.workspace, &temporary, target.path, look)?;
                    self.fault("replaced")?;
                    tree::remove(self.workspace, &temporary)?;
                }
                (Some(look), None) => {
                    tree::take_away(self.workspace, target.path, &temporary, look)?;
                    self.fault("taken away")?;
                    tree::remove(self.workspace, &temporary)?;
                    remove_emptied(self.workspace, target.path)?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Removes the folders that the removal of a file left empty, as git does.
fn remove_emptied(workspace: &Workspace, path: &RepoPath) -> Result<(), Error> {
    let mut folder = path.parent();
    while let Some(path) = folder {
        if !tree::remove_empty_folder(workspace, &path)? {
            return Ok(());
        }
        folder = path.parent();
    }
    Ok(())
}

fn open_folder(path: &Path) -> Result<OwnedFd, Error> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Error::new(Code::Io, format!("the pack `{}` can't be opened: {errno}", path.display())))
}
