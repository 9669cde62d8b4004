//! Checks paths against git's ignore files, without git.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::{
    Workspace,
    ignore_files::{IGNORE, exclude_file, is_link, repository_of, unfit},
};
use base::path::RepoPath;

impl Workspace {
    /// True if the ignore files of the workspace, and those of the repository that it lies in, exclude a folder.
    ///
    /// A user's own ignore file does not count: others don't have it.
    pub fn ignores(&self, folder: &RepoPath) -> bool {
        let files = self.ignore_files();
        files.exclude_part(&files.root.join(folder.as_str()), &files.repository)
    }

    /// The ignore files of the workspace, and those of the repository that it lies in.
    pub fn ignore_files(&self) -> IgnoreFiles {
        IgnoreFiles::of(self.root())
    }
}

/// The ignore files of a tree, each read once. A walk needs this if one of them is a link, which the walk would follow and git
/// does not.
#[derive(Debug)]
pub struct IgnoreFiles {
    root: PathBuf,
    repository: PathBuf,
    exclude: Gitignore,
    known: Mutex<BTreeMap<PathBuf, Arc<Gitignore>>>,
}

impl IgnoreFiles {
    /// The ignore files of the tree at `root`, and of its repository.
    pub(super) fn of(root: &Path) -> Self {
        let (root, repository) = repository_of(root).unwrap_or_else(|| (root.to_owned(), root.to_owned()));
        let exclude = rules(&repository, &exclude_file(&repository));
        IgnoreFiles { root, repository, exclude, known: Mutex::default() }
    }

    /// True if git ignores the path in the tree. The folders above it must have been checked before.
    pub(super) fn exclude(&self, relative: &Path, is_folder: bool) -> bool {
        let path = self.root.join(relative);
        let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.repository));
        for folder in folders {
            match self.of_folder(folder).matched(&path, is_folder) {
                Match::None => {}
                found => return found.is_ignore(),
            }
            // Files above a nested repository do not apply to it.
            if folder.join(".git").symlink_metadata().is_ok() {
                break;
            }
        }
        self.exclude.matched(&path, is_folder).is_ignore()
    }

    /// True if git ignores a path in the tree or a folder on the way to it, existing or not. A missing one without an extension may
    /// be a folder.
    pub fn cover(&self, path: &RepoPath) -> bool {
        let path = self.root.join(path.as_str());
        let above = path.parent().is_some_and(|above| self.exclude_part(above, &self.root));
        above || self.exclude(&path, false) || (path.extension().is_none() && self.exclude(&path, true))
    }

    /// True if git ignores a path, or a folder on the way to it from another.
    fn exclude_part(&self, path: &Path, from: &Path) -> bool {
        path.ancestors().take_while(|part| *part != from).any(|part| self.exclude(part, true))
    }

    fn of_folder(&self, folder: &Path) -> Arc<Gitignore> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(folder.to_owned()).or_insert_with(|| Arc::new(of_folder(folder))))
    }
}

/// The rules of a folder's ignore file; none for a link, as in git.
fn of_folder(folder: &Path) -> Gitignore {
    let file = folder.join(IGNORE);
    if is_link(&file) { Gitignore::empty() } else { rules(folder, &file) }
}

/// The rules of a file; none if it is missing or unreadable.
fn rules(base: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(base);
    if unfit(file).is_none() {
        let _ = builder.add(file);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(above: &str, own: &str, expected: bool) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("sub");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join(".gitignore"), above).unwrap();
        fs::write(root.join(".gitignore"), own).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        assert_eq!(workspace.ignores(&RepoPath::parse(".runs").unwrap()), expected, "{above:?} {own:?}");
    }

    #[test]
    fn any_pattern_that_excludes_the_folder_counts() {
        for own in [".runs", ".runs/", "/.runs/\r\n", "x\n.r*/", ".*", "*", "**/.runs"] {
            check("", own, true);
            assert!(
                own.starts_with('/') || {
                    check(own, "", true);
                    true
                }
            );
        }
        for own in ["", "# .runs", "runs/", "sub/.runs", ".runs/*.json", ".runs\n!.runs/"] {
            check("", own, false);
        }
        check("sub/.runs", "", true);
        check(".runs", "!.runs", false);
    }
}
