//! Lists every entry of a folder, including ignored files, links and special files; sorted, with one system call for each.
//!
//! A listing finds files by name. This is for callers that must not miss any.

use std::{ffi::CStr, mem::MaybeUninit, os::fd::OwnedFd};

use rustix::{
    fs::{AtFlags, FileType, OFlags, RawDir},
    io::Errno,
};

use super::{Kind, Metadata, Workspace, open_beneath, parallel_map_with, refused};
use base::{error::Error, path::RepoPath};

/// Bytes of names in one read.
const NAMES: usize = 32 << 10;

/// The treatment of an entry in a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// It is skipped, and so are the contents of a folder.
    Skip,
    /// It is reported.
    Take,
    /// It is not reported, but its contents are visited.
    Enter,
    /// It is reported, and its contents are visited.
    TakeAndEnter,
}

/// An entry that a survey found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its path.
    pub path: RepoPath,
    /// Its metadata.
    pub metadata: Metadata,
}

/// The result of a survey. The order does not depend on the number of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The reported entries, sorted by path.
    pub seen: Vec<Seen>,
    /// Entries without a UTF-8 name that were not to be skipped, so that no path can name them; shown with replacements,
    /// sorted.
    pub unnameable: Vec<String>,
    /// Folders that were to be visited but are unreadable, sorted.
    pub unreadable: Vec<RepoPath>,
}

/// The entries of one folder.
#[derive(Default)]
struct Part {
    survey: Survey,
    folders: Vec<RepoPath>,
}

impl Workspace {
    /// Visits every entry of the tree by the answers of `visit`. Links are not followed.
    ///
    /// An entry that vanishes before it is read counts as missing.
    pub fn survey(&self, threads: usize, visit: impl Fn(&RepoPath, Kind) -> Visit + Sync) -> Result<Survey, Error> {
        let root = self.look_into(None, &mut Vec::new(), &visit)?;
        self.go_down(root, threads, &visit)
    }

    /// As [`Workspace::survey`] for the contents of some folders. None of them is inside another.
    pub fn survey_below(
        &self,
        folders: &[RepoPath],
        threads: usize,
        visit: impl Fn(&RepoPath, Kind) -> Visit + Sync,
    ) -> Result<Survey, Error> {
        self.go_down(Part { folders: folders.to_vec(), ..Part::default() }, threads, &visit)
    }

    fn go_down(
        &self,
        mut all: Part,
        threads: usize,
        visit: &(impl Fn(&RepoPath, Kind) -> Visit + Sync),
    ) -> Result<Survey, Error> {
        while !all.folders.is_empty() {
            let level = std::mem::take(&mut all.folders);
            let look = |names: &mut Vec<_>, folder: &RepoPath| self.look_into(Some(folder), names, visit);
            for part in parallel_map_with(threads, &level, Vec::new, look) {
                let mut part = part?;
                all.survey.seen.append(&mut part.survey.seen);
                all.survey.unnameable.append(&mut part.survey.unnameable);
                all.survey.unreadable.append(&mut part.survey.unreadable);
                all.folders.append(&mut part.folders);
            }
        }
        all.survey.seen.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        all.survey.unnameable.sort_unstable();
        all.survey.unreadable.sort_unstable();
        Ok(all.survey)
    }

    /// The entries of one folder; if none, of the root.
    fn look_into(
        &self,
        folder: Option<&RepoPath>,
        names: &mut Vec<MaybeUninit<u8>>,
        visit: &(impl Fn(&RepoPath, Kind) -> Visit + Sync),
    ) -> Result<Part, Error> {
        let mut part = Part::default();
        let name = folder.map_or(".", |folder| folder);
        let failed = |errno| match folder {
            Some(folder) => refused(folder, errno),
            None => Error::io("the tree can't be listed", &errno.into()),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let handle = match (open_beneath(self.handle(), name, flags), folder) {
            (Ok(handle), _) => handle,
            (Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP), Some(_)) => return Ok(part),
            (Err(Errno::ACCESS | Errno::PERM), Some(folder)) => {
                part.survey.unreadable.push(folder.clone());
                return Ok(part);
            }
            (Err(errno), _) => return Err(failed(errno)),
        };
        names.resize(NAMES, MaybeUninit::uninit());
        let mut entries = RawDir::new(&handle, names);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failed)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                part.add((&handle, folder), (entry.file_name(), entry.file_type()), visit)?;
            }
        }
        Ok(part)
    }
}

impl Part {
    /// Adds one entry of a folder by the answer of `visit`.
    fn add(
        &mut self,
        (handle, folder): (&OwnedFd, Option<&RepoPath>),
        (name, kind): (&CStr, FileType),
        visit: &impl Fn(&RepoPath, Kind) -> Visit,
    ) -> Result<(), Error> {
        let shown = name.to_string_lossy();
        let path = match folder {
            Some(folder) => folder.child(&shown),
            None => RepoPath::parse(&shown)?,
        };
        let look = || match rustix::fs::statat(handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Metadata::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(refused(&path, errno)),
        };
        // Some file systems don't report it with the name.
        let metadata = if kind == FileType::Unknown { look()? } else { None };
        let kind = match (&metadata, kind) {
            (Some(metadata), _) => metadata.kind,
            (None, FileType::Unknown) => return Ok(()),
            (None, kind) => Kind::of(kind),
        };
        let visit = visit(&path, kind);
        if visit == Visit::Skip {
            return Ok(());
        }
        if name.to_str().is_err() {
            self.survey.unnameable.push(path.to_string());
            return Ok(());
        }
        let taken = match visit {
            Visit::Take | Visit::TakeAndEnter => metadata.map_or_else(look, |known| Ok(Some(known)))?,
            Visit::Enter | Visit::Skip => None,
        };
        if kind == Kind::Folder && visit != Visit::Take {
            self.folders.push(path.clone());
        }
        self.survey.seen.extend(taken.map(|metadata| Seen { path, metadata }));
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b/empty")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        for file in [".gitignore", "a.txt", "a/b/c", ".git/config", "a/ignored"] {
            fs::write(root.join(file), "ignored\n").unwrap();
        }
        std::os::unix::fs::symlink("b", root.join("a/link")).unwrap();
        std::os::unix::net::UnixListener::bind(root.join("a/socket")).unwrap();
        fs::write(root.join(OsStr::from_bytes(b"a/\xff")), "x").unwrap();
        folder
    }

    fn survey(folder: &tempfile::TempDir, threads: usize, visit: impl Fn(&RepoPath, Kind) -> Visit + Sync) -> Survey {
        Workspace::open(folder.path()).unwrap().survey(threads, visit).unwrap()
    }

    fn paths(survey: &Survey) -> Vec<&str> {
        survey.seen.iter().map(|seen| seen.path.as_str()).collect()
    }

    #[test]
    fn nothing_is_missed_and_threads_change_nothing() {
        let folder = tree();
        let all = survey(&folder, 1, |_, _| Visit::TakeAndEnter);
        let expected = [
            ".git",
            ".git/config",
            ".gitignore",
            "a",
            "a.txt",
            "a/b",
            "a/b/c",
            "a/b/empty",
            "a/ignored",
            "a/link",
            "a/socket",
        ];
        assert_eq!(paths(&all), expected);
        assert_eq!(all.unnameable, ["a/\u{fffd}"]);
        let kind = |path: &str| all.seen.iter().find(|seen| seen.path.as_str() == path).unwrap().metadata.kind;
        assert_eq!((kind("a/link"), kind("a/socket"), kind("a/b")), (Kind::Link, Kind::Other, Kind::Folder));
        assert_eq!(all, survey(&folder, 4, |_, _| Visit::TakeAndEnter));
    }

    #[test]
    fn what_is_passed_by_is_not_entered() {
        let folder = tree();
        let found = survey(&folder, 2, |path, kind| match (path.as_str(), kind) {
            (".git", _) => Visit::Take,
            ("a/b", _) => Visit::Skip,
            (_, Kind::Folder) => Visit::Enter,
            (path, _) if path.starts_with("a/") => Visit::Skip,
            _ => Visit::Take,
        });
        assert_eq!(paths(&found), [".git", ".gitignore", "a.txt"]);
        assert!(found.unnameable.is_empty());
    }

    #[test]
    fn single_folders_are_looked_at() {
        let folder = tree();
        let workspace = Workspace::open(folder.path()).unwrap();
        let below: Vec<_> = ["a/b", "none", "a.txt", "a/link"].map(|path| RepoPath::parse(path).unwrap()).into();
        let found = workspace.survey_below(&below, 2, |_, _| Visit::TakeAndEnter).unwrap();
        assert_eq!(paths(&found), ["a/b/c", "a/b/empty"]);
    }
}
