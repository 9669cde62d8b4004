//! Listing files: sorted, in parallel, with gitignore semantics.

use std::{
    ffi::OsStr,
    fs::FileType,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use ignore::{WalkBuilder, WalkState};

use super::{
    Globs, Stop, Workspace,
    ignore_files::{IGNORE, exclude_file, ignore_files_above, is_link, repository_of, unfit, unfit_as},
    ignored::IgnoreFiles,
    is_stopped, stopped,
};
use crate::threads;
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
    text::shortened,
};

/// The files that a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The matches, sorted by the bytes of the paths: regular files, and links on request.
    pub paths: Vec<RepoPath>,
    /// Files that match but whose names are not UTF-8, so that no path can name them; shown with replacements, sorted.
    pub unnameable: Vec<String>,
}

/// The ignore files that a walk met.
#[derive(Default)]
struct Met {
    /// The unreadable ones, with the reasons.
    refused: Vec<(PathBuf, &'static str)>,
    /// True if one is a link.
    has_link: bool,
}

enum Found {
    Path(RepoPath),
    Unnameable(String),
    Failed(Error),
}

impl Workspace {
    /// Lists the regular files that match the globs and that `.gitignore` does not exclude.
    ///
    /// Links are not followed, `.git` and `.runs` are not entered. An unreadable folder is an error: an incomplete listing
    /// would pass for the whole.
    pub fn list(&self, globs: &Globs, threads: usize) -> Result<Listing, Error> {
        self.list_until(globs, threads, None)
    }

    /// As [`Workspace::list`], with the symbolic links that match.
    pub fn list_entries(&self, globs: &Globs, threads: usize) -> Result<Listing, Error> {
        self.list_entries_until(globs, threads, None)
    }

    /// Lists the matches that are neither regular files nor folders: links, pipes, sockets and devices.
    pub fn list_others(&self, globs: &Globs, threads: usize) -> Result<Listing, Error> {
        self.list_of(globs, threads, |kind| !kind.is_file() && !kind.is_dir(), None)
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
        let met = self.met_above()?;
        if !met.has_link {
            let walked = self.walk(globs, threads, (is_wanted, stop), None)?;
            if let Some(listing) = walked {
                return Ok(listing);
            }
        }
        // The walk itself would follow the link.
        let own = Arc::new(IgnoreFiles::of(self.root()));
        let walked = self.walk(globs, threads, (is_wanted, stop), Some(own))?;
        walked.ok_or_else(|| Error::new(Code::Internal, "a walk that reads no ignore file met a link"))
    }

    /// Walks the tree; none if an ignore file is a link and `own` is none.
    fn walk(
        &self,
        globs: &Globs,
        threads: usize,
        (is_wanted, stop): (fn(FileType) -> bool, Stop<'_>),
        own: Option<Arc<IgnoreFiles>>,
    ) -> Result<Option<Listing>, Error> {
        let (sender, receiver) = mpsc::channel();
        let met = Arc::default();
        // If a thread can't be started, the walk ends the program, or hangs.
        let threads = threads::available(threads)?;
        let walker = self.walker(globs, threads, &met, own);
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
        if is_stopped(stop) {
            return Err(stopped());
        }
        {
            let met = met.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((first, why)) = met.refused.iter().min() {
                return Err(refusal(first, why));
            }
            if met.has_link {
                return Ok(None);
            }
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
        Ok(Some(listing))
    }

    /// The ignore files of the workspace's root and above it; an error if one is unreadable.
    fn met_above(&self) -> Result<Met, Error> {
        let mut met = Met::default();
        let own = self.root().join(IGNORE);
        for file in std::iter::once(own).chain(ignore_files_above(self.root())) {
            if is_link(&file) && file.file_name() == Some(OsStr::new(IGNORE)) {
                met.has_link = true;
            } else if let Some(why) = unfit(&file) {
                return Err(refusal(&file, why));
            }
        }
        Ok(met)
    }

    /// The walk. It skips a folder whose ignore file is unreadable and, without `own`, one whose ignore file is a link; both go
    /// into `met`.
    fn walker(
        &self,
        globs: &Globs,
        threads: usize,
        met: &Arc<Mutex<Met>>,
        own: Option<Arc<IgnoreFiles>>,
    ) -> WalkBuilder {
        let met = Arc::clone(met);
        let reads_itself = own.is_none();
        let prefixes = globs.prefixes();
        let root = self.root().to_owned();
        // In a repository, ignore files apply as in git: up to the repository's root and no further.
        let repository = repository_of(&root);
        let in_repository = repository.is_some();
        let mut builder = WalkBuilder::new(self.root());
        builder
            .threads(threads.max(1))
            .follow_links(false)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            // The walk would look for it in every nested repository as well.
            .git_exclude(false)
            .git_ignore(reads_itself)
            .require_git(in_repository)
            .parents(in_repository && reads_itself)
            .filter_entry(move |entry| {
                let Some(relative) = beneath(entry.path(), &root) else { return false };
                let hidden = entry.file_name().to_str().is_some_and(protected::is_hidden_folder);
                if hidden || !prefixes.iter().any(|prefix| meet(relative, Path::new(prefix))) {
                    return false;
                }
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                if own.as_ref().is_some_and(|own| entry.depth() > 0 && own.exclude(relative, is_folder)) {
                    return false;
                }
                if !is_folder {
                    return true;
                }
                let ignore = entry.path().join(IGNORE);
                let Ok(found) = ignore.symlink_metadata() else { return true };
                match (found.is_symlink(), unfit_as(&found)) {
                    (true, _) if own.is_some() => return true,
                    (true, _) => met.lock().unwrap_or_else(PoisonError::into_inner).has_link = true,
                    (false, None) => return true,
                    (false, Some(why)) => {
                        met.lock().unwrap_or_else(PoisonError::into_inner).refused.push((ignore, why));
                    }
                }
                false
            });
        if let Some((real, repository)) = repository.filter(|_| reads_itself) {
            let depth = real.components().count() - repository.components().count();
            builder.current_dir(self.root().ancestors().nth(depth).unwrap_or(&repository));
            // A malformed line does not affect the others.
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

fn refusal(ignore: &Path, why: &str) -> Error {
    Error::new(Code::Unreadable, format!("`{}` {why}", ignore.display()))
        .hint("it would be read for the names of files to ignore; remove it")
}

/// The part of a path that a walk from `root` adds.
fn beneath<'a>(path: &'a Path, root: &Path) -> Option<&'a Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(root.as_os_str().as_bytes())?;
    Some(Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))))
}

/// True if one of the two is at or beneath the other.
fn meet(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// True if a file vanished after it was listed.
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
        // Above the repository, so that it does not apply.
        fs::write(folder.path().join(".gitignore"), "*.html\n").unwrap();
        fs::write(folder.path().join("r/.gitignore"), "out/\n/w/anchored.html\n*.tmp.html\n").unwrap();
        fs::write(folder.path().join("r/w/.gitignore"), "!keep.tmp.html\n").unwrap();
        let workspace = Workspace::open(&folder.path().join("r/w")).unwrap();
        let listing = workspace.list(&Globs::parse(&["**/*.html"]).unwrap(), 2).unwrap();
        assert_eq!(listing.paths.iter().map(RepoPath::as_str).collect::<Vec<_>>(), ["a.html", "keep.tmp.html"]);
    }

    #[test]
    fn an_ignore_file_that_is_a_link_says_nothing_and_is_not_followed() {
        let names = [
            "r/.git/info/x",
            "r/w/a.html",
            "r/w/b.tmp",
            "r/w/sub/c.html",
            "r/w/sub/d.tmp",
            "r/w/out/e.html",
            "r/w/x.log",
        ];
        let folder = tree(&names);
        let path = |name: &str| folder.path().join(name);
        fs::write(path("r/.git/info/exclude"), "*.log\n").unwrap();
        fs::write(path("r/.gitignore"), "*.tmp\n/w/out/\n").unwrap();
        fs::write(path("all"), "*\n").unwrap();
        let listed = || {
            let listing = Workspace::open(&path("r/w")).unwrap().list(&Globs::parse(&["**"]).unwrap(), 2).unwrap();
            listing.paths.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(listed(), ["a.html", "sub/c.html"]);
        std::os::unix::fs::symlink("../../../all", path("r/w/sub/.gitignore")).unwrap();
        assert_eq!(listed(), ["a.html", "sub/c.html"]);
        let pipe = path("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::from(0o600), 0)
            .unwrap();
        std::os::unix::fs::symlink(&pipe, path("r/w/.gitignore")).unwrap();
        assert_eq!(listed(), ["a.html", "sub/c.html"]);
        fs::remove_file(path("r/.gitignore")).unwrap();
        std::os::unix::fs::symlink("../all", path("r/.gitignore")).unwrap();
        assert_eq!(listed(), ["a.html", "b.tmp", "out/e.html", "sub/c.html", "sub/d.tmp"]);
        assert!(!Workspace::open(&path("r/w")).unwrap().ignores(&RepoPath::parse("sub").unwrap()));
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
