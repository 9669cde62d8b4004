//! Writes the changes of an update below the folder of its case.

use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use base::{change::Content, error::Error, path::RepoPath};
use host::Context;
use script::cases::Update;

/// Removes and writes the files of an update. All are in a folder that was just listed.
#[expect(clippy::disallowed_methods, reason = "what the user tells to be updated is theirs to update")]
pub(super) fn write(context: &Context, update: &Update) -> Result<(), Error> {
    let root = context.workspace.root();
    for path in &update.removed {
        let place = root.join(path.as_str());
        gone(fs::remove_file(&place)).map_err(|error| failed(path, &error))?;
        // Folders that become empty are removed too: git would not keep them.
        let folders = place.ancestors().skip(1).take_while(|folder| *folder != root);
        folders.map(fs::remove_dir).take_while(Result::is_ok).for_each(drop);
    }
    for (path, content) in &update.written {
        let place = root.join(path.as_str());
        put(&place, content).map_err(|error| failed(path, &error))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "what the user tells to be updated is theirs to update")]
fn put(place: &Path, content: &Content) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    // The present file may be a link, which must not be followed.
    gone(fs::remove_file(place))?;
    if content.is_link() {
        return symlink(OsStr::from_bytes(&content.bytes), place);
    }
    fs::write(place, &*content.bytes)?;
    fs::set_permissions(place, Permissions::from_mode(content.mode))
}

/// Takes a missing file as removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn failed(path: &RepoPath, error: &io::Error) -> Error {
    Error::io(format!("`{path}` can't be updated"), error)
}
