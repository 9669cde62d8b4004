//! Locates a repository and the files of it that are read: each of them must be a regular file.
//!
//! A pipe would block the reader for ever, so each of the files is checked before git's own reader opens it.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{error::unknown, patterns::check_patterns};
use base::error::Error;

/// The longest file of settings, patterns or references that is read, in bytes.
pub(super) const LONGEST_FILE: u64 = 1 << 20;

/// The longest `.git` file that is read.
pub(super) const LONGEST_LINK: u64 = 64 << 10;

/// The longest list of references, in bytes.
const LONGEST_REFERENCES: u64 = 256 << 20;

/// The limit of a repository's alternate object folders.
const MOST_ALTERNATES: usize = 32;

/// The limit of a chain of symbolic references.
pub(super) const LONGEST_CHAIN: usize = 8;

/// A repository and its work tree.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The folder or file `.git` in the work tree.
    pub(super) dot_git: PathBuf,
    /// The folder that holds it.
    pub(super) work: PathBuf,
    /// The folder with `HEAD` and the index.
    pub(super) own: PathBuf,
    /// The folder with the configuration, references and objects; another one in a linked work tree.
    pub(super) common: PathBuf,
}

impl Place {
    /// The folders of other repositories from which it takes objects.
    pub(super) fn alternates(&self) -> Result<Vec<PathBuf>, Error> {
        alternates(&self.common.join("objects"))
    }

    /// The repository of a folder: the nearest one above, as git finds it. None if no folder above has a `.git`.
    pub(super) fn find(root: &Path) -> Result<Option<Place>, Error> {
        let mut odd = None;
        for work in root.ancestors() {
            let dot_git = work.join(".git");
            let Ok(metadata) = fs::metadata(&dot_git) else { continue };
            let own = if metadata.is_file() { linked(&dot_git, work)? } else { dot_git.clone() };
            if !is_repository(&own)? {
                odd.get_or_insert(dot_git);
                continue;
            }
            let common = match named(&own.join("commondir"))? {
                Some(name) => own.join(name),
                None => own.clone(),
            };
            let place = Place { dot_git, work: work.to_owned(), own, common };
            place.check_files()?;
            return Ok(Some(place));
        }
        match odd {
            Some(dot_git) => Err(unknown(&format!("`{}` is no repository", dot_git.display()))),
            None => Ok(None),
        }
    }

    fn check_files(&self) -> Result<(), Error> {
        check_file(&self.own.join("index"))?;
        check_short(&self.common.join("packed-refs"), LONGEST_REFERENCES)?;
        self.alternates()?;
        let own = ["config.worktree", "info/sparse-checkout"].map(|name| self.own.join(name));
        let common = ["config", "shallow", "info/exclude", "info/attributes", "objects/info/alternates"];
        for path in own.into_iter().chain(common.map(|name| self.common.join(name))) {
            check_short(&path, LONGEST_FILE)?;
        }
        for name in ["info/exclude", "info/attributes"] {
            check_patterns(&self.common.join(name))?;
        }
        self.check_head()
    }

    /// The references to which `HEAD` leads are read, too.
    fn check_head(&self) -> Result<(), Error> {
        let mut said = text(&self.own.join("HEAD"))?;
        for _ in 0..LONGEST_CHAIN {
            let name = said.as_deref().and_then(|said| said.strip_prefix("ref:")).map(str::trim);
            let Some(name) = name.filter(|name| !name.split('/').any(|part| part == "..")) else { return Ok(()) };
            let places = [self.own.join(name), self.common.join(name)];
            places.iter().try_for_each(|place| check_short(place, LONGEST_LINK))?;
            said = places.iter().find(|place| place.is_file()).map_or(Ok(None), |place| text(place))?;
        }
        Err(unknown("`HEAD` leads from reference to reference"))
    }
}

/// The folders of other repositories from which a folder of objects takes some; an error if one has an unreadable list of them.
fn alternates(objects: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut open = vec![objects.to_owned()];
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    while let Some(folder) = open.pop() {
        let path = folder.join("info/alternates");
        check_short(&path, LONGEST_FILE)?;
        // The reader reports a cycle.
        if !path.is_file() || !seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
            continue;
        }
        if seen.len() > MOST_ALTERNATES {
            return Err(unknown("the repository takes objects from too many others"));
        }
        let named = gix::odb::alternate::parse(&whole(&path)?);
        let named = named.map_err(|_| unknown(&format!("`{}` can't be read", path.display())))?;
        let others: Vec<PathBuf> = named.into_iter().map(|other| folder.join(other)).collect();
        all.extend(others.iter().cloned());
        open.extend(others);
    }
    Ok(all)
}

#[expect(clippy::disallowed_methods, reason = "these files are git's, not the user's")]
fn whole(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| unknown(&format!("`{}` can't be read: {error}", path.display())))
}

/// An error if the path has anything but a file of at most `most` bytes.
fn check_short(path: &Path, most: u64) -> Result<(), Error> {
    check_file(path)?;
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() > most => {
            Err(unknown(&format!("`{}` is too long to be read", path.display())))
        }
        _ => Ok(()),
    }
}

/// An error if the path has anything but a file, also at the end of links.
pub(super) fn check_file(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
            Err(unknown(&format!("`{}` is neither file nor folder", path.display())))
        }
        _ => Ok(()),
    }
}

fn is_repository(own: &Path) -> Result<bool, Error> {
    let head = own.join("HEAD");
    if fs::symlink_metadata(&head).is_err() {
        return Ok(false);
    }
    check_file(&head)?;
    check_file(&own.join("commondir"))?;
    check_file(&own.join("gitdir"))?;
    let is_linked = own.join("commondir").is_file();
    Ok(is_linked || own.join("objects").is_dir() && own.join("refs").is_dir())
}

/// The folder that a `.git` file names.
fn linked(dot_git: &Path, work: &Path) -> Result<PathBuf, Error> {
    let said = text(dot_git)?.unwrap_or_default();
    match said.strip_prefix("gitdir:").map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => Ok(work.join(name)),
        None => Err(unknown(&format!("`{}` names no repository", dot_git.display()))),
    }
}

/// The path that a file holds; none if there is no such file.
fn named(path: &Path) -> Result<Option<String>, Error> {
    Ok(text(path)?.map(|text| text.trim().to_owned()).filter(|name| !name.is_empty()))
}

#[expect(clippy::disallowed_methods, reason = "these files are git's, not the user's")]
fn text(path: &Path) -> Result<Option<String>, Error> {
    let unread = |error: io::Error| unknown(&format!("`{}` can't be read: {error}", path.display()));
    check_file(path)?;
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unread(error)),
    };
    let mut text = String::new();
    file.take(LONGEST_LINK).read_to_string(&mut text).map_err(unread)?;
    Ok(Some(text))
}

/// A path as git writes it in configuration.
pub(super) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// True if a folder has a repository of its own.
pub(super) fn has_dot_git(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(".git")).is_ok()
}
