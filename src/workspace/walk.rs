//! Listing files: sorted, in parallel, with gitignore semantics.

use std::{
    ffi::OsStr,
    fs::{File, FileType},
    io::{BufRead, BufReader, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use ignore::{WalkBuilder, WalkState};
use rustix::fs::{Mode, OFlags};

use super::{Globs, Stop, Workspace, is_stopped, stopped};
use crate::{
    error::{Code, Error},
    path::{RepoPath, protected},
    text::shortened,
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
        if let Some(error) = self.unfit_above() {
            return Err(error);
        }
        let refused = Arc::default();
        let walker = self.walker(globs, threads, &refused);
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
        if let Some((first, why)) = refused.lock().unwrap_or_else(PoisonError::into_inner).iter().min() {
            return Err(refusal(first, why));
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

    /// An ignore file of the workspace's root or above it that can't be read, and why.
    fn unfit_above(&self) -> Option<Error> {
        let own = self.root().join(IGNORE);
        let mut files = std::iter::once(own).chain(ignore_files_above(self.root()));
        files.find_map(|file| unfit(&file).map(|why| refusal(&file, why)))
    }

    /// The walk. A folder whose ignore file can't be read is not entered, and the file is added to `refused`.
    fn walker(&self, globs: &Globs, threads: usize, refused: &Arc<Mutex<Vec<(PathBuf, &'static str)>>>) -> WalkBuilder {
        let refused = Arc::clone(refused);
        let prefixes = globs.prefixes();
        let root = self.root().to_owned();
        // In a repository, ignore files count as git reads them: up to the repository's root and no further.
        let repository = repository_of(&root);
        let in_repository = repository.is_some();
        let mut builder = WalkBuilder::new(self.root());
        builder
            .threads(threads.max(1))
            .follow_links(false)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            // It would be looked for in every repository within this one as well.
            .git_exclude(false)
            .require_git(in_repository)
            .parents(in_repository)
            .filter_entry(move |entry| {
                let Some(relative) = beneath(entry.path(), &root) else { return false };
                let hidden = entry.file_name().to_str().is_some_and(protected::is_hidden_folder);
                if hidden || !prefixes.iter().any(|prefix| meet(relative, Path::new(prefix))) {
                    return false;
                }
                if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    return true;
                }
                let ignore = entry.path().join(IGNORE);
                let Some(why) = unfit(&ignore) else { return true };
                refused.lock().unwrap_or_else(PoisonError::into_inner).push((ignore, why));
                false
            });
        if let Some((real, repository)) = repository {
            let depth = real.components().count() - repository.components().count();
            builder.current_dir(self.root().ancestors().nth(depth).unwrap_or(&repository));
            // A line that can't be read leaves the others as they are.
            let _ = builder.add_ignore(exclude_file(&repository));
        }
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
                let why = shortened(&error.to_string(), 400);
                return Some(Found::Failed(Error::new(Code::Io, format!("the tree can't be listed: {why}"))));
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
    let mut files: Vec<PathBuf> = above.map(|folder| folder.join(IGNORE)).collect();
    files.push(exclude_file(&repository));
    files
}

/// The ignore file of a repository that is not part of its tree. A linked work tree has that of the repository that it belongs to.
pub(super) fn exclude_file(repository: &Path) -> PathBuf {
    let dot_git = repository.join(".git");
    let named = |file: &Path, before: &str| {
        let text = unfit(file).is_none().then(|| first_line(file)).flatten()?;
        Some(text.strip_prefix(before)?.trim().to_owned())
    };
    let own = named(&dot_git, "gitdir:").map_or(dot_git, |name| repository.join(name));
    let common = named(&own.join("commondir"), "").map_or_else(|| own.clone(), |name| own.join(name));
    common.join("info/exclude")
}

/// The first line of a file that names a folder of git's.
fn first_line(file: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
    let mut line = String::new();
    BufReader::new(file.take(LONGEST)).read_line(&mut line).ok()?;
    Some(line)
}

/// A folder without links on the way, and the repository that it is or lies in.
pub(super) fn repository_of(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let repository = real.ancestors().find(|folder| folder.join(".git").exists())?.to_owned();
    Some((real, repository))
}

/// The name of the files that say what git ignores.
const IGNORE: &str = ".gitignore";

/// The longest ignore file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Why an ignore file can't be read, also at the end of a link: it would be waited for, or take all memory.
pub(super) fn unfit(file: &Path) -> Option<&'static str> {
    match std::fs::metadata(file) {
        Ok(found) if found.is_dir() => None,
        Ok(found) if !found.is_file() => Some("is no regular file"),
        Ok(found) if found.len() > LONGEST => Some("is too long to be read"),
        Ok(_) | Err(_) => None,
    }
}

fn refusal(ignore: &Path, why: &str) -> Error {
    Error::new(Code::Unreadable, format!("`{}` {why}", ignore.display()))
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
            let check = |words: &str| {
                let error = workspace.list(&Globs::parse(&["**"]).unwrap(), 2).unwrap_err();
                assert_eq!((error.code(), error.message().contains(place)), (Code::Unreadable, true), "{error}");
                assert!(error.message().contains(words), "{error}");
                assert!(!workspace.ignores(&RepoPath::parse("sub").unwrap()));
            };
            check("is no regular file");
            fs::remove_file(&pipe).unwrap();
            fs::File::create(&pipe).unwrap().set_len(1 << 40).unwrap();
            check("is too long");
        }
    }

    #[test]
    fn the_exclude_file_counts_in_a_linked_work_tree_and_below_the_root_and_in_no_repository_within() {
        let folder = tree(&["r/.git/info/x", "r/w/keep.html", "r/w/out/b.html", "r/w/sub/c.html", "r/w/in/d.html"]);
        let path = |name: &str| folder.path().join(name);
        fs::write(path("r/.git/info/exclude"), "out/\n/w/sub/\n").unwrap();
        fs::create_dir_all(path("r/w/in/.git/info")).unwrap();
        let mode = rustix::fs::Mode::from(0o600);
        let pipe = path("r/w/in/.git/info/exclude");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let names = |root: &str| {
            let listing = Workspace::open(&path(root)).unwrap().list(&Globs::parse(&["**"]).unwrap(), 2).unwrap();
            listing.paths.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names("r/w"), ["in/d.html", "keep.html"]);
        fs::create_dir_all(path("r/.git/worktrees/l")).unwrap();
        fs::write(path("r/.git/worktrees/l/commondir"), "../..\n").unwrap();
        fs::create_dir_all(path("l/out")).unwrap();
        fs::write(path("l/.git"), format!("gitdir: {}\n", path("r/.git/worktrees/l").display())).unwrap();
        fs::write(path("l/a.html"), "x").unwrap();
        fs::write(path("l/out/b.html"), "x").unwrap();
        assert_eq!(names("l"), ["a.html"]);
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
