//! The files of a transaction in the run's folder: intent and commit mark below `journal/`, the pack below `packs/`.
#![expect(clippy::disallowed_methods, reason = "this file owns the journal's own files, below the run's folder")]

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::{
        ffi::OsStringExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::faults::{Faults, NoFaults};
use crate::{plain_file, workspace::Workspace};
use base::{
    change::{Content, Entry, Stamp},
    error::{Code, Error},
    hash::Sha256,
    path::{RepoPath, protected::TEMPORARY},
};

/// The plan of a transaction, on disk before it does anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Intent {
    /// The inodes of the root and of the run's folder, which identify tree and run. A journal that came with a repository, or
    /// was copied from elsewhere, is ignored.
    pub(super) place: [u64; 2],
    /// True if the transaction undoes others.
    pub(super) undoes: bool,
    /// The transaction's name, unique in its run.
    pub(super) transaction: String,
    /// The position in the run.
    pub(super) position: String,
    /// The files, in the order of their paths.
    pub(super) entries: Vec<Entry>,
    /// New folders for new files, outermost first.
    pub(super) folders: Vec<RepoPath>,
    /// The prefix of temporary names; entry `n` has `{prefix}{n}` beside its target, if it has one.
    pub(super) prefix: String,
    /// True if post-images are staged beside their targets and pre-images are copies: the pack is on another file system.
    /// Otherwise a post-image is staged in the pack, and is exchanged with its target.
    pub(super) apart: bool,
}

impl Intent {
    /// The temporary file of an entry.
    pub(super) fn temporary(&self, index: usize) -> RepoPath {
        self.entries[index].path.sibling(&format!("{}{index}", self.prefix))
    }
}

/// The changes of a committed transaction; `packs/<transaction>/manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The transaction's name, unique in its run.
    pub transaction: String,
    /// The position in the run.
    pub position: String,
    /// The files; the pre-image of entry `n` is `packs/<transaction>/pre/<n>`.
    pub entries: Vec<Entry>,
}

/// A transaction's own files.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    folder: &'a Path,
    transaction: &'a str,
    faults: &'a dyn Faults,
}

impl<'a> Files<'a> {
    pub(super) fn new(folder: &'a Path, transaction: &'a str, faults: &'a dyn Faults) -> Self {
        Files { folder, transaction, faults }
    }

    pub(super) fn intent(&self) -> PathBuf {
        self.folder.join("journal").join(format!("{}.json", self.transaction))
    }

    pub(super) fn mark(&self) -> PathBuf {
        self.folder.join("journal").join(format!("{}.committed", self.transaction))
    }

    pub(super) fn pack(&self) -> PathBuf {
        self.folder.join("packs").join(self.transaction)
    }

    pub(super) fn pre_images(&self) -> PathBuf {
        self.pack().join("pre")
    }

    pub(super) fn pre_image(&self, index: usize) -> PathBuf {
        self.pre_images().join(index.to_string())
    }

    /// Writes the intent, all or nothing; `wait` syncs it before the tree is touched.
    pub(super) fn write_intent(&self, intent: &Intent, wait: bool) -> Result<(), Error> {
        let text = serde_json::to_vec(intent).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        let path = self.intent();
        let new = path.with_extension("new");
        let write = || {
            self.faults.before("write intent")?;
            let file = write_new(&new, &text)?;
            self.faults.before("sync intent")?;
            file.sync_all().map_err(|error| failed(&new, &error))?;
            self.faults.before("place intent")?;
            fs::rename(&new, &path).map_err(|error| failed(&path, &error))
        };
        write().inspect_err(|_| drop(fs::remove_file(&new)))?;
        if wait { self.sync_folder(&path) } else { Ok(()) }
    }

    fn sync_folder(&self, path: &Path) -> Result<(), Error> {
        self.faults.before("sync journal")?;
        sync_folder(path)
    }

    /// Adds the description of the transaction to the pack. It is synced together with the staged files.
    pub(super) fn write_pack(&self, intent: &Intent, patch: &[u8]) -> Result<(), Error> {
        let pack = self.pack();
        let manifest = Manifest {
            transaction: intent.transaction.clone(),
            position: intent.position.clone(),
            entries: intent.entries.clone(),
        };
        let text = serde_json::to_vec(&manifest).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        self.faults.before("write patch")?;
        write_new(&pack.join("patch"), patch)?;
        // The manifest means that everything is staged, so that it must not exist in part.
        let new = pack.join("manifest.new");
        self.faults.before("write manifest")?;
        write_new(&new, &text)?;
        self.faults.before("place manifest")?;
        fs::rename(&new, pack.join("manifest.json")).map_err(|error| failed(&new, &error))
    }

    /// Makes the folder of pre-images.
    pub(super) fn make_pack(&self) -> Result<(), Error> {
        let path = self.pre_images();
        self.faults.before("make pack")?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(|error| failed(&path, &error))
    }

    /// Writes the commit mark and waits until it is on the disk.
    pub(super) fn write_mark(&self) -> Result<(), Error> {
        let path = self.mark();
        let write = || {
            self.faults.before("write mark")?;
            let file = write_new(&path, b"committed\n")?;
            self.faults.before("sync mark")?;
            file.sync_all().map_err(|error| failed(&path, &error))?;
            self.sync_folder(&path)
        };
        write().inspect_err(|_| {
            // A mark that may not last must not turn the following undo into a finish.
            let _ = fs::remove_file(&path);
        })
    }

    /// True if everything was staged: from then on temporary files are complete.
    pub(super) fn is_staged(&self) -> bool {
        self.pack().join("manifest.json").exists()
    }

    /// Removes the pack's file for an entry; it may be gone already.
    pub(super) fn forget(&self, index: usize) -> Result<(), Error> {
        self.faults.before("forget")?;
        remove_if_there(&self.pre_image(index))
    }

    /// Removes the commit mark: the transaction is to be undone.
    pub(super) fn remove_mark(&self) -> Result<(), Error> {
        let path = self.mark();
        if !path.exists() {
            return Ok(());
        }
        self.faults.before("remove mark")?;
        remove_if_there(&path)?;
        self.sync_folder(&path)
    }

    /// Removes the pack of a transaction that was undone.
    pub(super) fn remove_pack(&self) -> Result<(), Error> {
        let pack = self.pack();
        self.faults.before("remove pack")?;
        match fs::remove_dir_all(&pack) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&pack, &error)),
            _ => Ok(()),
        }
    }

    /// Removes intent and mark: the transaction is over. The intent goes first, so that no mark lasts without an intent.
    pub(super) fn remove_entry(&self) -> Result<(), Error> {
        self.faults.before("remove intent")?;
        remove_if_there(&self.intent())?;
        self.faults.before("remove settled mark")?;
        remove_if_there(&self.mark())
    }

    /// The stamp of the pack's file for an entry; none if there is no file.
    pub(super) fn stamp(&self, index: usize) -> Result<Option<Stamp>, Error> {
        let path = self.pre_image(index);
        let read = || {
            let found = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                found => found?,
            };
            if found.is_symlink() {
                let target = fs::read_link(&path)?;
                return Ok(Some(Content::link(target.into_os_string().into_vec()).stamp()));
            }
            let (sha256, length) = Sha256::of_reader(plain_file::open(&path)?)?;
            Ok(Some(Stamp { sha256, mode: found.mode() & 0o7777, length }))
        };
        read().map_err(|error: std::io::Error| failed(&path, &error))
    }
}

/// The open transactions of a run, in the order of their names.
pub fn open_transactions(run_folder: &Path) -> Result<Vec<String>, Error> {
    let folder = run_folder.join("journal");
    let mut names = Vec::new();
    if !folder.exists() {
        return Ok(names);
    }
    for item in walkdir::WalkDir::new(&folder).min_depth(1).max_depth(1).sort_by_file_name() {
        let item = item.map_err(|error| Error::new(Code::Io, format!("the journal can't be listed: {error}")))?;
        if let Some(name) = item.file_name().to_str().and_then(|name| name.strip_suffix(".json")) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Removes meaningless leftovers of a crash: incomplete intents, and marks without an intent.
pub fn sweep(run_folder: &Path) -> Result<(), Error> {
    let folder = run_folder.join("journal");
    for item in walkdir::WalkDir::new(&folder).min_depth(1).max_depth(1) {
        let item = item.map_err(|error| Error::new(Code::Io, format!("the journal can't be listed: {error}")))?;
        let path = item.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension == Some("new") || extension == Some("committed") && !path.with_extension("json").exists() {
            fs::remove_file(path).map_err(|error| failed(path, &error))?;
        }
    }
    Ok(())
}

/// Reads an intent; none if there is none any more. An unreadable one is `record_damaged`: the state of the tree is unknown.
pub(super) fn read_intent(files: &Files<'_>) -> Result<Option<Intent>, Error> {
    let path = files.intent();
    let text = match plain_file::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error().is_none() => {
            return Err(distrusted(&path, &format!("can't be read: {error}")));
        }
        Err(error) => return Err(failed(&path, &error)),
    };
    let intent = serde_json::from_slice(&text);
    intent.map(Some).map_err(|error| distrusted(&path, &format!("can't be read: {error}")))
}

/// The error for an untrusted journal.
pub(super) fn distrusted(path: &Path, why: &str) -> Error {
    Error::new(Code::RecordDamaged, format!("the journal file `{}` {why}", path.display()))
        .hint("nothing was touched; the files before the change are in `packs` of that run, for you to compare")
}

/// The device that a folder is on.
pub(super) fn device(folder: &Path) -> Result<u64, Error> {
    fs::metadata(folder).map(|found| found.dev()).map_err(|error| failed(folder, &error))
}

/// The inodes of the tree's root and of the run's folder: a journal from elsewhere has others.
pub fn place(workspace: &Workspace, run_folder: &Path) -> Result<[u64; 2], Error> {
    let root = fs::metadata(workspace.root()).map_err(|error| failed(workspace.root(), &error))?;
    let run = fs::metadata(run_folder).map_err(|error| failed(run_folder, &error))?;
    Ok([root.ino(), run.ino()])
}

/// True if the transaction's commit mark exists: it is to be finished, not undone.
pub fn is_committed(run_folder: &Path, transaction: &str) -> bool {
    Files::new(run_folder, transaction, &NoFaults).mark().exists()
}

/// The prefix of a transaction's temporary names, which no other run's has.
pub(super) fn temporary_prefix(run_folder: &Path, transaction: &str) -> String {
    let run = run_folder.file_name().unwrap_or_default().to_string_lossy();
    format!("{TEMPORARY}{run}-{transaction}-")
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

/// Syncs the folder of a file to the disk.
fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(path, &error))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<File, Error> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        Ok(file)
    };
    write().map_err(|error: std::io::Error| failed(path, &error))
}

pub(super) fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("the journal file `{}` can't be used", path.display()), error)
}
