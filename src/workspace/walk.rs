//! Listing files: sorted, in parallel, with gitignore semantics.

use std::{
    ffi::OsStr,
    fs::FileType,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use ignore::{WalkBuilder, WalkState};

use super::{Globs, Stop, Workspace, is_stopped, stopped};
use crate::{
    error::{Code, Error},
    path::{RepoPath, protected},
};

/// The files that a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// What matches, sorted by the bytes of the paths: regular files, and links where they were asked for.
    pub paths: Vec<RepoPath>,
    /// Files that match but whose names are not UTF-8, so that no path can name them; shown with replacements, sorted.
    pub unnameable: Vec<String>,
}

enum Found {
    Path(RepoPath),
    Unnameable(String),
    Failed(Error),
}

impl Workspace {
    /// Lists the regular files that match the globs and that `.gitignore` does not exclude.
    ///
    /// Links are not followed, `.git` and `.runs` are not entered. A folder that can't be read is an error: a listing
    /// that leaves something out would be taken for the whole.
    pub fn list(&self, globs: &Globs, threads: usize) -> Result<Listing, Error> {
        self.list_until(globs, threads, None)
    }

    /// As [`Workspace::list`], with the symbolic links that match.
    pub fn list_entries(&self, globs: &Globs, threads: usize) -> Result<Listing, Error> {
        self.list_entries_until(globs, threads, None)
    }

    pub(super) fn list_until(&self, globs: &Globs, threads: usize, stop: Stop<'_>) -> Result<Listing, Error> {
        self.list_of(globs, threads, |kind| kind.is_file(), stop)
    }

    pub(super) fn list_entries_until(&self, globs: &Globs, threads: usize, stop: Stop<'_>) -> Result<Listing, Error> {
        self.list_of(globs, threads, |kind| kind.is_file() || kind.is_symlink(), stop)
    }

    fn list_of(
        &self,
        globs: &Globs,
        threads: usize,
        is_wanted: fn(FileType) -> bool,
        stop: Stop<'_>,
    ) -> Result<Listing, Error> {
        let (sender, receiver) = mpsc::channel();
        if let Some(file) = self.endless_above() {
            return Err(no_file(&file));
        }
        let endless = Arc::default();
        let walker = self.walker(globs, threads, &endless);
        walker.build_parallel().run(|| {
            let sender = sender.clone();
            Box::new(move |entry| match self.judge(globs, entry, is_wanted) {
                _ if is_stopped(stop) => WalkState::Quit,
                // The receiver outlives the walk, so that sending can't fail.
                Some(found) => sender.send(found).map_or(WalkState::Quit, |()| WalkState::Continue),
                None => WalkState::Continue,
            })
        });
        drop(sender);
        if let Some(first) = endless.lock().unwrap_or_else(PoisonError::into_inner).iter().min() {
            return Err(no_file(first));
        }
        if is_stopped(stop) {
            return Err(stopped());
        }
        let mut listing = Listing::default();
        let mut failures = Vec::new();
        for found in receiver {
            match found {
                Found::Path(path) => listing.paths.push(path),
                Found::Unnameable(name) => listing.unnameable.push(name),
                Found::Failed(error) => failures.push(error),
            }
        }
        failures.sort_by(|a, b| a.message().cmp(b.message()));
        if let Some(error) = failures.into_iter().next() {
            return Err(error);
        }
        listing.paths.sort_unstable();
        listing.unnameable.sort_unstable();
        Ok(listing)
    }

    /// An ignore file of the workspace's root or above it that is a pipe or a device.
    fn endless_above(&self) -> Option<PathBuf> {
        let (real, repository) = repository_of(self.root()).unwrap_or_else(|| (self.root().into(), self.root().into()));
        let folders = real.ancestors().take_while(|folder| folder.starts_with(&repository));
        let mut files = folders.map(|folder| folder.join(IGNORE)).chain([repository.join(".git/info/exclude")]);
        files.find(|file| is_endless(file))
    }

    /// The walk. A folder whose ignore file is a pipe or a device is not entered, and the file is added to `endless`.
    fn walker(&self, globs: &Globs, threads: usize, endless: &Arc<Mutex<Vec<PathBuf>>>) -> WalkBuilder {
        let endless = Arc::clone(endless);
        let prefixes = globs.prefixes();
        let root = self.root().to_owned();
        // In a repository, ignore files count as git reads them: up to the repository's root and no further.
        let in_repository = repository_of(&root).is_some();
        let mut builder = WalkBuilder::new(self.root());
        builder
            .threads(threads.max(1))
            .follow_links(false)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            .git_exclude(true)
            .require_git(in_repository)
            .parents(in_repository)
            .filter_entry(move |entry| {
                let Some(relative) = beneath(entry.path(), &root) else { return false };
                let hidden = entry.file_name().to_str().is_some_and(protected::is_hidden_folder);
                if hidden || !prefixes.iter().any(|prefix| meet(relative, Path::new(prefix))) {
                    return false;
                }
                let ignore = entry.path().join(IGNORE);
                let is_open = !entry.file_type().is_some_and(|kind| kind.is_dir()) || !is_endless(&ignore);
                if !is_open {
                    endless.lock().unwrap_or_else(PoisonError::into_inner).push(ignore);
                }
                is_open
            });
        builder
    }

    fn judge(
        &self,
        globs: &Globs,
        entry: Result<ignore::DirEntry, ignore::Error>,
        is_wanted: fn(FileType) -> bool,
    ) -> Option<Found> {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if is_gone(&error) => return None,
            Err(error) => {
                return Some(Found::Failed(Error::new(Code::Io, format!("the tree can't be listed: {error}"))));
            }
        };
        if !entry.file_type().is_some_and(is_wanted) {
            return None;
        }
        let relative = beneath(entry.path(), self.root())?;
        let Some(text) = relative.to_str() else {
            let name = String::from_utf8_lossy(relative.as_os_str().as_bytes()).into_owned();
            let matches = RepoPath::parse(&name).is_ok_and(|path| globs.matches(&path));
            return matches.then_some(Found::Unnameable(name));
        };
        let path = RepoPath::parse(text).ok()?;
        let wanted = globs.matches(&path) && !protected::is_temporary(path.file_name());
        wanted.then_some(Found::Path(path))
    }
}

/// The files above a workspace's root that say what is ignored, whether they exist or not: who confines itself to the root
/// has to be able to read them, or lists other files than everybody else.
pub fn ignore_files_above(root: &Path) -> Vec<PathBuf> {
    let Some((real, repository)) = repository_of(root) else { return Vec::new() };
    let above = real.ancestors().skip(1).take_while(|folder| folder.starts_with(&repository));
    let mut files: Vec<PathBuf> = above.map(|folder| folder.join(".gitignore")).collect();
    if repository != real {
        files.push(repository.join(".git/info/exclude"));
    }
    files
}

/// A folder without links on the way, and the repository that it is or lies in.
pub(super) fn repository_of(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let repository = real.ancestors().find(|folder| folder.join(".git").exists())?.to_owned();
    Some((real, repository))
}

/// The name of the files that say what git ignores.
const IGNORE: &str = ".gitignore";

/// True for what would be read without an end, or waited for: a pipe, a socket or a device, also at the end of a link.
pub(super) fn is_endless(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn no_file(ignore: &Path) -> Error {
    Error::new(Code::Unreadable, format!("`{}` is no regular file", ignore.display()))
        .hint("it would be read for the names of files to ignore; remove it")
}

/// What a walk that began at `root` adds to it.
fn beneath<'a>(path: &'a Path, root: &Path) -> Option<&'a Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(root.as_os_str().as_bytes())?;
    Some(Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))))
}

/// True if one of the two lies at or beneath the other.
fn meet(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// True if a file vanished between being listed and being looked at.
fn is_gone(error: &ignore::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::fs;

    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        folder
    }

    fn list(folder: &tempfile::TempDir, globs: &[&str], threads: usize) -> Vec<String> {
        let workspace = Workspace::open(folder.path()).unwrap();
        let listing = workspace.list(&Globs::parse(globs).unwrap(), threads).unwrap();
        listing.paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn listings_are_sorted_and_the_same_at_any_thread_count() {
        let folder = tree(&["b/1.html", "a/2.html", "a.html", "a/.x/3.html", "a/n.txt", ".git/x.html", ".runs/y.html"]);
        let expected = ["a.html", "a/.x/3.html", "a/2.html", "b/1.html"];
        for threads in [1, 2, 8] {
            assert_eq!(list(&folder, &["**/*.html"], threads), expected);
        }
        assert_eq!(list(&folder, &["a/**", "!**/*.txt"], 1), ["a/.x/3.html", "a/2.html"]);
        assert_eq!(list(&folder, &["a.html"], 1), ["a.html"]);
    }

    #[test]
    fn gitignore_holds_without_git() {
        let folder = tree(&["keep.html", "out/x.html", "sub/y.html"]);
        fs::write(folder.path().join(".gitignore"), "out/\n").unwrap();
        fs::write(folder.path().join("sub/.gitignore"), "*.html\n").unwrap();
        assert_eq!(list(&folder, &["**/*.html"], 2), ["keep.html"]);
    }

    #[test]
    fn an_ignore_file_that_is_a_pipe_is_named_and_not_waited_for() {
        for place in [".gitignore", "sub/.gitignore", ".git/info/exclude"] {
            let folder = tree(&["keep.html", "sub/y.html", ".git/info/x"]);
            let pipe = folder.path().join(place);
            let mode = rustix::fs::Mode::from(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
            let workspace = Workspace::open(folder.path()).unwrap();
            let error = workspace.list(&Globs::parse(&["**"]).unwrap(), 2).unwrap_err();
            assert_eq!((error.code(), error.message().contains(place)), (Code::Unreadable, true), "{error}");
            assert!(!workspace.ignores(&RepoPath::parse("sub").unwrap()));
        }
    }

    #[test]
    fn ignore_files_count_up_to_the_root_of_the_repository() {
        let folder = tree(&[
            "r/.git/x",
            "r/w/a.html",
            "r/w/out/b.html",
            "r/w/anchored.html",
            "r/w/c.tmp.html",
            "r/w/keep.tmp.html",
        ]);
        // Above the repository, so that it says nothing.
        fs::write(folder.path().join(".gitignore"), "*.html\n").unwrap();
        fs::write(folder.path().join("r/.gitignore"), "out/\n/w/anchored.html\n*.tmp.html\n").unwrap();
        fs::write(folder.path().join("r/w/.gitignore"), "!keep.tmp.html\n").unwrap();
        let workspace = Workspace::open(&folder.path().join("r/w")).unwrap();
        let listing = workspace.list(&Globs::parse(&["**/*.html"]).unwrap(), 2).unwrap();
        assert_eq!(listing.paths.iter().map(RepoPath::as_str).collect::<Vec<_>>(), ["a.html", "keep.tmp.html"]);
    }

    #[test]
    fn ignore_files_above_a_folder_without_a_repository_say_nothing() {
        let folder = tree(&["w/a.html"]);
        fs::write(folder.path().join(".gitignore"), "*.html\n").unwrap();
        let workspace = Workspace::open(&folder.path().join("w")).unwrap();
        assert_eq!(workspace.list(&Globs::parse(&["*.html"]).unwrap(), 1).unwrap().paths.len(), 1);
    }

    #[test]
    fn links_are_left_out_and_odd_names_are_told() {
        let folder = tree(&["a.html"]);
        std::os::unix::fs::symlink("a.html", folder.path().join("b.html")).unwrap();
        fs::write(folder.path().join(OsStr::from_bytes(b"\xff.html")), "x").unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let listing = workspace.list(&Globs::parse(&["*.html"]).unwrap(), 1).unwrap();
        assert_eq!(listing.paths.len(), 1);
        assert_eq!(listing.unnameable, ["\u{fffd}.html"]);
    }
}
