//! Files that are neither tracked nor ignored.
//!
//! A folder with an entry `.git` is a repository of its own: it is reported, and not entered. An ignore file that is not a
//! regular file is an error, because reading it could block for ever.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use gix::{
    bstr::{BStr, BString, ByteSlice, ByteVec},
    index::entry::Mode,
};

use super::{
    error::{said, unknown},
    opened::Opened,
    patterns::check_patterns,
    place::{LONGEST_FILE, has_dot_git},
};
use base::{
    error::{Code, Error},
    path::protected::RUNS,
};

/// Untracked files, and folders that are repositories, relative to the work tree.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<BString>,
    pub(super) nested: Vec<BString>,
}

struct Walk<'a> {
    opened: &'a Opened,
    ignored: gix::AttributeStack<'a>,
    folded: Option<gix::index::AccelerateLookup<'a>>,
    stop: &'a AtomicBool,
    found: Found,
}

/// Finds them below the given folder.
pub(super) fn untracked(opened: &Opened, stop: &AtomicBool) -> Result<Found, Error> {
    let source = gix::worktree::stack::state::ignore::Source::WorktreeThenIdMappingIfNotSkipped;
    let repository = &opened.repository;
    let ignored = repository.excludes(&opened.index, None, source).map_err(|error| unknown(&said(&error)))?;
    let folded = opened.settings.ignore_case.then(|| opened.index.prepare_icase_backing());
    let mut walk = Walk { opened, ignored, folded, stop, found: Found::default() };
    let mut above = BString::default();
    for part in opened.prefix.components() {
        check_ignore_file(&opened.place.work.join(gix::path::from_bstr(above.as_bstr()).unwrap_or_default()))?;
        if !above.is_empty() {
            above.push_byte(b'/');
        }
        above.extend_from_slice(part.as_os_str().as_bytes());
        if walk.is_ignored(above.as_bstr(), true)? {
            return Ok(walk.found);
        }
    }
    let root = opened.place.work.join(&opened.prefix);
    walk.enter(&root, &above)?;
    Ok(walk.found)
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, name: &BString) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(Code::Cancelled, "the run was cancelled"));
        }
        check_ignore_file(folder)?;
        let unread = |error: std::io::Error| unknown(&format!("`{}` can't be read: {error}", folder.display()));
        // Git omits unreadable folders with a warning.
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(()),
            entries => entries.map_err(unread)?,
        };
        for entry in entries {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "the run was cancelled"));
            }
            let entry = entry.map_err(unread)?;
            let file_name = entry.file_name();
            if file_name == ".git" || name.is_empty() && file_name == RUNS {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let mut path = name.clone();
            if !path.is_empty() {
                path.push_byte(b'/');
            }
            path.extend_from_slice(file_name.as_bytes());
            if kind.is_dir() {
                let inside = folder.join(&file_name);
                let is_nested = self.is_submodule(path.as_bstr()) || has_dot_git(&inside);
                if is_nested {
                    self.found.nested.push(path);
                } else if !self.is_ignored(path.as_bstr(), true)? {
                    self.enter(&inside, &path)?;
                }
            } else if (kind.is_file() || kind.is_symlink())
                && !self.is_tracked(path.as_bstr())
                && !self.is_ignored(path.as_bstr(), false)?
            {
                self.found.files.push(path);
            }
        }
        Ok(())
    }

    fn is_ignored(&mut self, path: &BStr, is_folder: bool) -> Result<bool, Error> {
        let mode = if is_folder { Mode::DIR } else { Mode::FILE };
        let found = self.ignored.at_entry(path, Some(mode)).map_err(|error| unknown(&said(&error)))?;
        Ok(found.is_excluded())
    }

    fn is_tracked(&self, path: &BStr) -> bool {
        let index = &self.opened.index;
        match &self.folded {
            Some(folded) => index.entry_by_path_icase(path, true, folded).is_some(),
            None => index.entry_range(path).is_some(),
        }
    }

    fn is_submodule(&self, path: &BStr) -> bool {
        self.opened.index.entry_by_path(path).is_some_and(|entry| entry.mode.is_submodule())
    }
}

/// An error if the ignore file of a folder is neither a file nor a link, which is not followed.
fn check_ignore_file(folder: &Path) -> Result<(), Error> {
    check_in_tree(&folder.join(".gitignore"))
}

/// An error if a file that git reads in a tree is a pipe, a device or a socket.
pub(super) fn check_in_tree(path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() && !found.is_symlink() && !found.is_dir() => {
            Err(unknown(&format!("`{}` is neither file nor folder", path.display())))
        }
        Ok(found) if found.is_file() && found.len() > LONGEST_FILE => {
            Err(unknown(&format!("`{}` is too long to be read", path.display())))
        }
        Ok(found) if found.is_file() => check_patterns(path),
        _ => Ok(()),
    }
}
