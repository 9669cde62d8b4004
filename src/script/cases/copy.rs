//! Private copies of a case's input: folders outside the workspace, readable by their owner only, removed with the case.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use super::Tree;
use base::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
};
use system::workspace::Workspace;

/// The folders for private copies in order of preference, after memory and `TMPDIR`.
const PLACES: &[&str] = &["/tmp", "/var/tmp"];

/// Memory: syncing there costs nothing, and no file of a case has to survive a crash.
const MEMORY: &str = "/dev/shm";

/// Inputs of more bytes are not copied into memory.
const SMALL: usize = 4 << 20;

/// A private folder for the copies of one case, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Desk(tempfile::TempDir);

impl Desk {
    /// Makes a folder. `runs_commands` says that its files have to be executable; a file system in memory often forbids that.
    pub(super) fn make(
        environment: &BTreeMap<String, String>,
        input: &Tree,
        runs_commands: bool,
    ) -> Result<Self, Error> {
        let given = environment.get("TMPDIR").map(String::as_str).filter(|place| Path::new(place).is_absolute());
        let memory = (!runs_commands && input.bytes() <= SMALL).then_some(MEMORY);
        let mut refused = None;
        for place in memory.into_iter().chain(given).chain(PLACES.iter().copied()) {
            let permissions = Permissions::from_mode(0o700);
            match tempfile::Builder::new().prefix("nrv-test-").permissions(permissions).tempdir_in(place) {
                Ok(folder) => return Ok(Desk(folder)),
                Err(error) => refused = refused.or(Some(failed(Path::new(place), &error))),
            }
        }
        Err(refused.unwrap_or_else(|| Error::new(Code::Io, "there is no place for a private copy")))
    }

    /// Copies a tree into a new folder, which becomes a workspace.
    pub(super) fn copy(&self, name: &str, tree: &Tree) -> Result<Workspace, Error> {
        let root = self.0.path().join(name);
        make_folders(&root)?;
        for (path, content) in tree.files() {
            let place = root.join(path.as_str());
            place.parent().map_or(Ok(()), make_folders)?;
            let made = if content.is_link() {
                symlink(OsStr::from_bytes(&content.bytes), &place)
            } else {
                write(&place, &content.bytes, content.mode)
            };
            made.map_err(|error| failed(&place, &error))?;
        }
        Workspace::open(&root)
    }
}

/// Writes a file of a private copy.
pub(super) fn put(workspace: &Workspace, path: &RepoPath, content: &Content) -> Result<(), Error> {
    let place = workspace.root().join(path.as_str());
    write(&place, &content.bytes, content.mode).map_err(|error| failed(&place, &error))
}

#[expect(clippy::disallowed_methods, reason = "a private copy outside of the tree")]
fn make_folders(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

#[expect(clippy::disallowed_methods, reason = "a private copy outside of the tree")]
fn write(place: &PathBuf, bytes: &[u8], mode: u32) -> io::Result<()> {
    fs::write(place, bytes)?;
    fs::set_permissions(place, Permissions::from_mode(mode))
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::io(format!("the private copy `{}` can't be made", path.display()), error)
}
