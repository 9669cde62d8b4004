//! After a crash: undo a transaction without a commit mark, finish one with it.
//!
//! Every step may be repeated, so that recovery may crash as well. Only a process that holds the lease of the transaction's run
//! may call it.

use super::{
    Journal,
    entry::{self, Files, Intent, distrusted, is_committed, read_intent, temporary_prefix},
    folder::open_folder,
    place::{Look, Place, place, stale},
    transaction::{Exchange, take_out},
    tree::{self, Folders},
};
use base::{
    change::{Entry, Stamp},
    error::{Code, Error},
    path::{RepoPath, protected},
};

/// The result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// True if it was committed; false if it was undone.
    pub committed: bool,
    /// True if it undid other transactions: undone itself, their changes stand again.
    pub undoes: bool,
    /// Its files; empty if it had not begun.
    pub entries: Vec<Entry>,
    /// The position in the run.
    pub position: String,
    /// Files that somebody else changed meanwhile: their content stays.
    pub foreign: Vec<RepoPath>,
}

/// The state of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// It was never replaced, or is restored already: only the staged file must be removed.
    Untouched,
    /// It was replaced, and its pre-image is in the pack or beside it.
    Replaced,
    /// It was created where no file was.
    Made,
    /// Somebody saved other content just as it was replaced; that content was taken out.
    Caught,
    /// Somebody changed it after it had been replaced.
    Foreign,
    /// It was replaced, and its pre-image is missing.
    Lost,
}

impl Journal<'_> {
    /// Recovers one open transaction of the run. The caller then records its outcome, and calls [`Journal::settle`].
    ///
    /// `record_damaged` if the journal is not to be trusted or a pre-image has changed; then it stays open.
    pub fn recover(&self, transaction: &str) -> Result<Recovered, Error> {
        let files = self.files(transaction);
        let Some(intent) = read_intent(&files)? else { return Ok(Recovered::default()) };
        self.check_intent(&files, transaction, &intent)?;
        let mut recovered = Recovered {
            committed: is_committed(self.run_folder, transaction),
            undoes: intent.undoes,
            entries: intent.entries.clone(),
            position: intent.position.clone(),
            foreign: Vec::new(),
        };
        if recovered.committed {
            return Ok(recovered);
        }
        let mut failure = None;
        for index in (0..intent.entries.len()).rev() {
            match self.restore(&files, &intent, index) {
                Ok(true) => {}
                Ok(false) => recovered.foreign.push(intent.entries[index].path.clone()),
                // A file that can't be restored must not keep the others from it.
                Err(error) => failure = Some(error),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        recovered.foreign.sort();
        for folder in intent.folders.iter().rev() {
            tree::remove_empty_folder(self.workspace, folder, self.faults)?;
        }
        let paths = intent.entries.iter().map(|entry| &entry.path);
        tree::sync_around(self.workspace, None, paths, self.faults)?;
        Ok(recovered)
    }

    /// Undoes a transaction that was just committed, as if it had crashed before its mark: its outcome could not be recorded.
    ///
    /// Manifest and patch stay in the pack, since the record may name them already.
    pub fn revoke(&self, transaction: &str) -> Result<Recovered, Error> {
        let files = self.files(transaction);
        if read_intent(&files)?.is_none() {
            let message = format!("the transaction `{transaction}` can't be taken back: its intent is gone");
            return Err(Error::new(Code::RecordDamaged, message).hint("its files before the change are in its pack"));
        }
        files.remove_mark()?;
        let recovered = self.recover(transaction)?;
        self.settle(transaction)?;
        Ok(recovered)
    }

    /// Removes the pack of an undone transaction that no record names. Files that could not be restored stay.
    pub fn discard(&self, transaction: &str, recovered: &Recovered) -> Result<(), Error> {
        if recovered.committed || !recovered.foreign.is_empty() {
            return Ok(());
        }
        self.files(transaction).remove_pack()
    }

    /// A journal names files to move, so that a foreign one must not be trusted.
    fn check_intent(&self, files: &Files<'_>, transaction: &str, intent: &Intent) -> Result<(), Error> {
        let path = files.intent();
        if intent.place != entry::place(self.workspace, self.run_folder)? {
            return Err(distrusted(&path, "was not written here: it belongs to another tree"));
        }
        if intent.transaction != transaction || intent.prefix != temporary_prefix(self.run_folder, transaction) {
            return Err(distrusted(&path, "was altered"));
        }
        let paths = intent.entries.iter().map(|entry| &entry.path).chain(&intent.folders);
        match paths.filter_map(|path| protected::lasting_refusal(path).map(|_| path)).next() {
            Some(protected) => Err(distrusted(&path, &format!("names `{protected}`, which no run writes"))),
            None => Ok(()),
        }
    }

    /// Restores one file. False if somebody else changed it after it had been replaced.
    fn restore(&self, files: &Files<'_>, intent: &Intent, index: usize) -> Result<bool, Error> {
        let entry = &intent.entries[index];
        // A later save is noticed when the file is restored.
        let seen = self.look(&entry.path)?;
        let found = self.find(files, intent, index)?;
        let brought_back = match found {
            Found::Untouched | Found::Foreign => Ok(()),
            Found::Made => self.take_back_made(intent, index, seen.as_ref()),
            Found::Replaced | Found::Caught => self.put_back(files, intent, index, seen.as_ref()),
            Found::Lost => {
                return Err(Error::new(
                    Code::RecordDamaged,
                    format!("the pre-image of `{}` is missing or was altered", entry.path),
                )
                .detail("path", entry.path.as_str())
                .detail("pack", files.pre_image(index).display().to_string())
                .hint("bring the file back from elsewhere, such as git, then run `nrv recover` again"));
            }
        };
        let is_foreign = match brought_back {
            Ok(()) => found == Found::Foreign,
            Err(error) if error.code() == Code::StalePreimage => true,
            Err(error) => return Err(error),
        };
        for temporary in [intent.temporary(index), again(intent, index)] {
            tree::remove(self.workspace, &temporary, self.faults)?;
        }
        if is_foreign {
            return Ok(false);
        }
        // The pack's copy of it is not needed any more.
        files.forget(index).map(|()| found != Found::Caught)
    }

    fn look(&self, path: &RepoPath) -> Result<Option<Look>, Error> {
        match Folders::of(self.workspace).find(path)? {
            Some(folder) => place(folder, path.file_name(), path).look(),
            None => Ok(None),
        }
    }

    /// Removes a new file; `stale_preimage` if it is not the one that was seen.
    fn take_back_made(&self, intent: &Intent, index: usize, seen: Option<&Look>) -> Result<(), Error> {
        let (path, temporary) = (&intent.entries[index].path, intent.temporary(index));
        let mut folders = Folders::of(self.workspace);
        let folder = folders.get(path)?;
        let at = place(folder, path.file_name(), path);
        let beside = place(folder, temporary.file_name(), path);
        let seen = seen.ok_or_else(|| stale(path, "vanished"))?;
        take_out(at, beside, seen, self.faults, Place::move_to_free).map(drop)
    }

    /// Determines the state of the entry from the files at the target, beside it and in the pack.
    fn find(&self, files: &Files<'_>, intent: &Intent, index: usize) -> Result<Found, Error> {
        let entry = &intent.entries[index];
        let now = tree::stamp(self.workspace, &entry.path)?;
        if now == entry.before || !files.is_staged() {
            return Ok(Found::Untouched);
        }
        let beside = tree::stamp(self.workspace, &intent.temporary(index))?;
        let Some(before) = entry.before else {
            let made = now == entry.after;
            let waiting = beside.is_some() && beside == entry.after;
            // Only this transaction made it: the staged file is gone from its place.
            return Ok(match (made, waiting) {
                (true, _) => Found::Made,
                (false, true) => Found::Untouched,
                (false, false) => Found::Foreign,
            });
        };
        let kept = files.stamp(index)?;
        let aside = if intent.apart { beside } else { kept };
        let waiting = aside.is_some() && aside == entry.after;
        let is_kept = kept.is_some_and(|kept| same_content(&kept, &before));
        Ok(if waiting {
            Found::Untouched
        } else if now == entry.after {
            match (aside, is_kept) {
                (Some(out), _) if !same_content(&out, &before) => Found::Caught,
                (Some(_), _) | (None, true) => Found::Replaced,
                (None, false) => Found::Lost,
            }
        } else if !intent.apart && aside.is_none() {
            // The file to remove is still there, with other content.
            Found::Untouched
        } else {
            Found::Foreign
        })
    }

    /// Restores a pre-image; `stale_preimage` if the present file is not the one that was seen.
    fn put_back(&self, files: &Files<'_>, intent: &Intent, index: usize, seen: Option<&Look>) -> Result<(), Error> {
        let entry = &intent.entries[index];
        for folder in tree::missing_folders(self.workspace, &entry.path)? {
            tree::make_folder(self.workspace, &folder, self.faults)?;
        }
        let mut folders = Folders::of(self.workspace);
        let folder = folders.get(&entry.path)?;
        let pack = open_folder(&files.pre_images())?;
        let (temporary, again, slot_name) = (intent.temporary(index), again(intent, index), index.to_string());
        let at = place(folder, entry.path.file_name(), &entry.path);
        let beside = place(folder, temporary.file_name(), &entry.path);
        let slot = place(&pack, &slot_name, &entry.path);
        let aside = match intent.apart {
            false => slot,
            true if beside.look()?.is_some() => beside,
            true => {
                let copy = place(folder, again.file_name(), &entry.path);
                let original = slot.read(&mut Vec::new())?;
                let original = original.ok_or_else(|| Error::new(Code::Internal, "a pre-image vanished"))?;
                copy.remove(self.faults)?;
                copy.copy_from(slot, &original, self.faults)?;
                copy
            }
        };
        match seen {
            Some(seen) if take_out(at, aside, seen, self.faults, Place::exchange)? == Exchange::Done => Ok(()),
            Some(_) => aside.move_over(at, self.faults),
            None => aside.move_to_free(at, self.faults).map(drop),
        }
    }
}

/// The temporary name of a pre-image's copy: never that of a complete file, since a crash may cut it short.
fn again(intent: &Intent, index: usize) -> RepoPath {
    let temporary = intent.temporary(index);
    temporary.sibling(&format!("{}-again", temporary.file_name()))
}

/// A copy on another file system may lack its mode.
fn same_content(a: &Stamp, b: &Stamp) -> bool {
    (a.sha256, a.is_link()) == (b.sha256, b.is_link())
}
