//! One transaction, from intent to commit mark; undone on any error.

use std::{os::fd::OwnedFd, sync::atomic::Ordering};

use tracing::Span;

use super::{
    Journal,
    entry::{self, Files, Intent},
    faults::Faults,
    folder::open_folder,
    place::{Look, Place, place, stale},
    target::{Target, Transaction},
    tree::{self, Folders},
};
use crate::workspace::{Workspace, parallel_map_with};
use base::{
    change::{Content, Entry},
    error::{Code, Error},
    path::{RepoPath, link, protected},
    span::span,
};

/// Called just before the first file is replaced; an error stops the transaction.
pub type BeforeCommit<'a> = &'a (dyn Fn() -> Result<(), Error> + Sync);

/// The longest name of a file or folder, in bytes (`NAME_MAX` of Linux).
const LONGEST_NAME: usize = 255;

impl Journal<'_> {
    /// Applies all targets or none. On success the commit mark is on the disk and [`Journal::settle`] is due.
    ///
    /// `stale_preimage` if a file has changed, `unwritable` for read-only and hard-linked files, `protected_path`, `io`. On any
    /// error the tree is as before. If the undo failed as well, the message says so and the transaction stays open for
    /// [`Journal::recover`].
    pub fn apply(
        &self,
        transaction: &Transaction<'_>,
        targets: &[Target<'_>],
        before_commit: BeforeCommit<'_>,
    ) -> Result<(), Error> {
        let _span = transaction_span(transaction, targets).entered();
        let devices = self.check_all(transaction, targets)?;
        let own = entry::device(self.run_folder)?;
        let mut apart = devices.into_iter().flatten().any(|device| device != own);
        // The space for restored files was checked when they were replaced, and the attempt is due in any case.
        if !transaction.undoes {
            super::space::check(self, transaction, targets, apart)?;
        }
        loop {
            let intent = self.intend(transaction, targets, apart)?;
            let files = self.files(transaction.name);
            let work = Work { journal: self, transaction, targets, before_commit, files, intent: &intent };
            match work.run() {
                Ok(Exchange::Done) => return Ok(()),
                // Only a trial tells: two folders of one device may lie in different mounts.
                Ok(Exchange::Impossible) if !apart => self.take_back(transaction.name).map(drop)?,
                Ok(Exchange::Impossible) => {
                    return Err(Error::new(Code::Internal, "files on one file system can't be exchanged"));
                }
                Err(error) => return Err(self.undo(transaction.name, error)),
            }
            apart = true;
        }
    }

    /// Checks every target before anything is written; returns the devices of the existing ones.
    fn check_all(&self, transaction: &Transaction<'_>, targets: &[Target<'_>]) -> Result<Vec<Option<u64>>, Error> {
        let check = |folders: &mut Folders<'_>, target: &Target<'_>| {
            // Restored links were there before, wherever they lead.
            check_name(target, !transaction.undoes)?;
            check_place(folders, target)
        };
        let folders = || Folders::of(self.workspace);
        let devices: Vec<Option<u64>> =
            parallel_map_with(transaction.threads, targets, folders, check).into_iter().collect::<Result<_, _>>()?;
        super::case::check(self.workspace, targets)?;
        Ok(devices)
    }

    fn undo(&self, name: &str, error: Error) -> Error {
        match self.take_back(name) {
            Ok(foreign) if foreign.is_empty() => error,
            Ok(foreign) => {
                let names: Vec<&str> = foreign.iter().map(RepoPath::as_str).collect();
                error.detail("files", names).hint("somebody changed the named files meanwhile; they were left alone")
            }
            Err(second) => error
                .detail("undo_error", second.message())
                .hint("undoing failed as well; run `nrv recover` when the cause is gone"),
        }
    }

    /// Undoes a transaction, with a commit mark or without; returns the files that somebody else changed meanwhile.
    fn take_back(&self, name: &str) -> Result<Vec<RepoPath>, Error> {
        // A mark that could not be synced must not turn the undo into a finish.
        self.files(name).remove_mark()?;
        let recovered = self.recover(name)?;
        self.discard(name, &recovered)?;
        self.settle(name).map(|()| recovered.foreign)
    }

    fn intend(&self, transaction: &Transaction<'_>, targets: &[Target<'_>], apart: bool) -> Result<Intent, Error> {
        let mut folders: Vec<RepoPath> = Vec::new();
        let mut last = None;
        for target in targets.iter().filter(|target| target.before.is_none()) {
            let parent = target.path.parent();
            if last.as_ref() == Some(&parent) {
                continue;
            }
            for missing in tree::missing_folders(self.workspace, target.path)? {
                if !folders.contains(&missing) {
                    folders.push(missing);
                }
            }
            last = Some(parent);
        }
        let entry = |target: &Target<'_>| Entry {
            path: target.path.clone(),
            before: target.before,
            after: target.after.map(Content::stamp),
        };
        Ok(Intent {
            place: entry::place(self.workspace, self.run_folder)?,
            undoes: transaction.undoes,
            transaction: transaction.name.to_owned(),
            position: transaction.position.to_owned(),
            entries: targets.iter().map(entry).collect(),
            folders,
            prefix: entry::temporary_prefix(self.run_folder, transaction.name),
            apart,
        })
    }
}

/// Checks that a file may be replaced without loss; a preview checks it too, so that it promises nothing that fails.
pub fn preflight(workspace: &Workspace, target: &Target<'_>) -> Result<(), Error> {
    check_name(target, true)?;
    check_place(&mut Folders::of(workspace), target).map(drop)
}

fn check_name(target: &Target<'_>, makes: bool) -> Result<(), Error> {
    if let Some(reason) = protected::lasting_refusal(target.path) {
        return Err(Error::new(Code::ProtectedPath, format!("`{}` is protected: {reason}", target.path)));
    }
    if target.before.is_none() {
        check_length(target.path)?;
    }
    match target.after {
        Some(made) if makes && made.is_link() => link::check_target(target.path, &made.bytes),
        _ => Ok(()),
    }
}

fn check_length(path: &RepoPath) -> Result<(), Error> {
    let refuse = |what: String| Error::new(Code::Unwritable, format!("`{path}` {what}")).detail("path", path.as_str());
    if let Some(name) = path.components().find(|name| name.len() > LONGEST_NAME) {
        let what = format!("has a name of {} bytes, and the longest has {LONGEST_NAME}", name.len());
        return Err(refuse(what).hint("choose a shorter name"));
    }
    Ok(())
}

/// Checks the file at a target's place, without regard to write permission; returns its device.
pub(super) fn check_place(folders: &mut Folders<'_>, target: &Target<'_>) -> Result<Option<u64>, Error> {
    folders.check_writable(target.path)?;
    let Some(folder) = folders.find(target.path)? else {
        // Obstacles to its folders are reported when they are made: a preview may have removed them.
        return tree::check_target(target.path, target.before.as_ref(), None).map(|()| None);
    };
    let at = place(folder, target.path.file_name(), target.path);
    let found = at.look()?;
    tree::check_target(target.path, target.before.as_ref(), found.as_ref().map(|found| &found.metadata))?;
    // A link has no permissions of its own, and a check would test those of its target.
    if target.before.is_some_and(|before| !before.is_link()) {
        tree::check_access(at)?;
    }
    Ok(found.map(|found| found.metadata.identity.0))
}

/// The span of a transaction.
fn transaction_span(transaction: &Transaction<'_>, targets: &[Target<'_>]) -> Span {
    let bytes: usize = targets.iter().filter_map(|target| target.after).map(|after| after.bytes.len()).sum();
    let Transaction { name, undoes, .. } = *transaction;
    span!("transaction", transaction = name, files = targets.len(), bytes, undoes)
}

/// The result of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    Done,
    /// Not between these folders, or not on this file system; nothing happened.
    Impossible,
}

struct Work<'a> {
    journal: &'a Journal<'a>,
    transaction: &'a Transaction<'a>,
    targets: &'a [Target<'a>],
    before_commit: BeforeCommit<'a>,
    files: Files<'a>,
    intent: &'a Intent,
}

/// The reused objects of a thread.
struct Scratch<'a> {
    folders: Folders<'a>,
    buffer: Vec<u8>,
}

impl Work<'_> {
    fn run(&self) -> Result<Exchange, Error> {
        // A file staged beside its target must be in the tree before the sync.
        let touches = self.intent.apart || self.targets.iter().any(|target| target.before.is_none());
        self.files.write_intent(self.intent, touches)?;
        self.files.make_pack()?;
        let pack = open_folder(&self.files.pre_images())?;
        let looks = span!("prepare").in_scope(|| self.prepare_all(&pack))?;
        self.files.write_pack(self.intent, self.transaction.patch)?;
        self.sync(Some(&pack))?;
        self.faults().before("before commit")?;
        self.check_stop()?;
        (self.before_commit)()?;
        if span!("replace").in_scope(|| self.replace_all(&looks, &pack))? == Exchange::Impossible {
            return Ok(Exchange::Impossible);
        }
        self.sync(None)?;
        self.files.write_mark().map(|()| Exchange::Done)
    }

    fn faults(&self) -> &dyn Faults {
        self.journal.faults
    }

    /// An error if the transaction is to stop before its first replacement.
    fn check_stop(&self) -> Result<(), Error> {
        match self.journal.stop.filter(|_| !self.transaction.undoes) {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::new(Code::Cancelled, "the run was cancelled")),
            Some(_) | None => Ok(()),
        }
    }

    fn sync(&self, pack: Option<&OwnedFd>) -> Result<(), Error> {
        let _span = span!("sync").entered();
        let paths = self.targets.iter().map(|target| target.path);
        tree::sync_around(self.journal.workspace, pack, paths, self.faults())
    }

    /// Reads every pre-image and stages every post-image; returns the metadata of each target at that time.
    fn prepare_all(&self, pack: &OwnedFd) -> Result<Vec<Option<Look>>, Error> {
        for folder in &self.intent.folders {
            tree::make_folder(self.journal.workspace, folder, self.faults())?;
        }
        let numbered: Vec<(usize, &Target<'_>)> = self.targets.iter().enumerate().collect();
        let scratch = || Scratch { folders: Folders::of(self.journal.workspace), buffer: Vec::new() };
        // The handles of a file are closed before the next one's turn: there may be more files than a process can open.
        let prepare = |scratch: &mut Scratch<'_>, (index, target): &(usize, &Target<'_>)| {
            self.prepare(*index, target, pack, scratch)
        };
        parallel_map_with(self.transaction.threads, &numbered, scratch, prepare).into_iter().collect()
    }

    fn prepare(
        &self,
        index: usize,
        target: &Target<'_>,
        pack: &OwnedFd,
        scratch: &mut Scratch<'_>,
    ) -> Result<Option<Look>, Error> {
        self.faults().before("prepare")?;
        self.check_stop()?;
        let folder = scratch.folders.get(target.path)?;
        let temporary = self.intent.temporary(index);
        let beside = place(folder, temporary.file_name(), target.path);
        let Some(before) = target.before else {
            let made = target.after.map(|after| beside.stage(after, None, self.faults()));
            return made.transpose().map(|_| None);
        };
        let at = place(folder, target.path.file_name(), target.path);
        let original = at.read(&mut scratch.buffer)?.ok_or_else(|| stale(target.path, "vanished"))?;
        tree::check_target(target.path, Some(&before), Some(&original.look.metadata))?;
        if original.sha256 != before.sha256 {
            return Err(stale(target.path, "changed since the change was proposed")
                .detail("expected", before.sha256.to_string())
                .detail("found", original.sha256.to_string()));
        }
        let slot_name = index.to_string();
        let slot = place(pack, &slot_name, target.path);
        if self.intent.apart {
            slot.copy_from(at, &original, self.faults())?;
        }
        if let Some(after) = target.after {
            let staged = if self.intent.apart { beside } else { slot };
            staged.stage(after, Some(&original), self.faults())?;
        }
        // A concurrent write or replacement is noticed when the file is to be replaced.
        Ok(Some(original.look))
    }

    fn replace_all(&self, looks: &[Option<Look>], pack: &OwnedFd) -> Result<Exchange, Error> {
        let mut folders = Folders::of(self.journal.workspace);
        for (index, (target, look)) in self.targets.iter().zip(looks).enumerate() {
            let folder = folders.get(target.path)?;
            let (temporary, slot_name) = (self.intent.temporary(index), index.to_string());
            let at = place(folder, target.path.file_name(), target.path);
            let beside = place(folder, temporary.file_name(), target.path);
            let aside = if self.intent.apart { beside } else { place(pack, &slot_name, target.path) };
            match (look, target.after) {
                (None, Some(_)) => drop(beside.move_to_free(at, self.faults())?),
                (Some(look), Some(_)) => {
                    if take_out(at, aside, look, self.faults(), Place::exchange)? == Exchange::Impossible {
                        if !self.intent.apart {
                            return Ok(Exchange::Impossible);
                        }
                        // Some file systems can't; there the comparison of metadata has to do.
                        aside.move_over(at, self.faults())?;
                    }
                }
                (Some(look), None) => {
                    if take_out(at, aside, look, self.faults(), Place::move_to_free)? == Exchange::Impossible {
                        return Ok(Exchange::Impossible);
                    }
                }
                (None, None) => {}
            }
            if self.intent.apart && look.is_some() {
                aside.remove(self.faults())?;
            }
        }
        let removed = self.targets.iter().filter(|target| target.after.is_none());
        removed.map(|target| target.path).try_for_each(|path| self.remove_emptied(path)).map(|()| Exchange::Done)
    }

    /// Removes the folders that the removal of a file left empty, like git.
    fn remove_emptied(&self, path: &RepoPath) -> Result<(), Error> {
        let mut folder = path.parent();
        while let Some(path) = folder {
            if !tree::remove_empty_folder(self.journal.workspace, &path, self.faults())? {
                return Ok(());
            }
            folder = path.parent();
        }
        Ok(())
    }
}

/// Takes a file out of its place by a step: an exchange with its successor, or a move. If an unexpected file came out, the same
/// step puts it back.
///
/// So a save at the last moment is noticed and not lost. The file taken out then stands aside.
pub(super) fn take_out<'p>(
    at: Place<'p>,
    aside: Place<'p>,
    expected: &Look,
    faults: &dyn Faults,
    step: impl Fn(Place<'p>, Place<'p>, &dyn Faults) -> Result<bool, Error>,
) -> Result<Exchange, Error> {
    let changed = || stale(at.path, "changed just before the commit");
    if at.look()?.as_ref() != Some(expected) {
        return Err(changed());
    }
    if !step(at, aside, faults)? {
        return Ok(Exchange::Impossible);
    }
    if aside.look()?.is_some_and(|out| out.is_same_file(expected)) {
        return Ok(Exchange::Done);
    }
    step(aside, at, faults)?;
    Err(changed())
}
