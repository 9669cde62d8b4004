//! The files that a workspace begins with: all of them or none, outside any run.
//!
//! No run writes `nrv.toml`, and no transaction names it: a journal that did would be one that came with a repository. So
//! these few files have a way of their own. Each is staged beside its place and appears there whole; if one can't be
//! written, those before it go again. A crash in between leaves whole files and perhaps staged ones, which the next
//! set-up removes.

use std::fs::File;

use rustix::fs::{Mode, OFlags};

use super::{
    transaction::{Target, check_place},
    tree::{self, Look},
};
use crate::{
    error::{Code, Error},
    path::{RepoPath, protected},
    workspace::Workspace,
};

/// The protected file that a set-up may make; it never replaces it.
const POLICY: &str = "nrv.toml";

/// Writes the targets, which are made or replaced, never removed. On an error everything is as before.
///
/// `stale_preimage` if a file is not what it should be, `unwritable`, `protected_path`, `io`.
pub fn set_up(workspace: &Workspace, targets: &[Target<'_>]) -> Result<(), Error> {
    for target in targets {
        let is_new_policy = target.path.as_str() == POLICY && target.before.is_none();
        if let Some(reason) = protected::write_refusal(target.path).filter(|_| !is_new_policy) {
            return Err(Error::new(Code::ProtectedPath, format!("`{}` is protected: {reason}", target.path)));
        }
        check_place(workspace, target)?;
    }
    let mut work = Work { workspace, folders: Vec::new(), staged: Vec::new(), placed: Vec::new() };
    let result = work.run(targets);
    if result.is_err() {
        work.undo();
    }
    work.clear();
    result
}

/// A staged file and its place.
struct Staged<'a> {
    temporary: RepoPath,
    target: Target<'a>,
    /// What it replaces; none if it is new.
    old: Option<Look>,
}

struct Work<'a> {
    workspace: &'a Workspace,
    /// Folders that were made, outermost first.
    folders: Vec<RepoPath>,
    staged: Vec<Staged<'a>>,
    /// What was put in place, with what was seen of it then.
    placed: Vec<(usize, Option<Look>)>,
}

impl<'a> Work<'a> {
    fn run(&mut self, targets: &[Target<'a>]) -> Result<(), Error> {
        for (index, target) in targets.iter().enumerate() {
            self.make_folders(target.path)?;
            self.stage(index, *target)?;
        }
        let paths = || targets.iter().map(|target| target.path);
        tree::sync_around(self.workspace, paths())?;
        for (index, Staged { temporary, target, old }) in self.staged.iter().enumerate() {
            match old {
                None => tree::put_new(self.workspace, temporary, target.path)?,
                Some(old) => tree::replace(self.workspace, temporary, target.path, old)?,
            }
            self.placed.push((index, tree::look(self.workspace, target.path)?));
        }
        tree::sync_around(self.workspace, paths())
    }

    fn make_folders(&mut self, path: &RepoPath) -> Result<(), Error> {
        let mut missing = Vec::new();
        let mut folder = path.parent();
        while let Some(path) = folder {
            if self.workspace.stat(&path)?.is_some() {
                break;
            }
            folder = path.parent();
            missing.push(path);
        }
        for folder in missing.into_iter().rev() {
            tree::make_folder(self.workspace, &folder)?;
            self.folders.push(folder);
        }
        Ok(())
    }

    fn stage(&mut self, index: usize, target: Target<'a>) -> Result<(), Error> {
        let Some(after) = target.after else {
            return Err(Error::new(Code::Internal, format!("a set-up does not remove `{}`", target.path)));
        };
        let mut like = None;
        let mut old = None;
        if let Some(before) = target.before {
            like = Some(open(self.workspace, target.path)?);
            old = tree::look(self.workspace, target.path)?;
            if self.workspace.hash(target.path)? != before {
                return Err(tree::stale(target.path, "changed meanwhile"));
            }
        }
        let temporary = target.path.sibling(&format!("{}set-up-{index}", protected::TEMPORARY));
        // What an earlier set-up left that was stopped.
        tree::remove(self.workspace, &temporary)?;
        self.staged.push(Staged { temporary: temporary.clone(), target, old });
        tree::stage(self.workspace, &temporary, target.path, (after, like.as_ref()))
    }

    /// Takes back what was put in place, the latest first; a file that somebody changed since is theirs.
    fn undo(&self) {
        for (index, seen) in self.placed.iter().rev() {
            let (Staged { temporary, target, old }, Some(seen)) = (&self.staged[*index], seen) else { continue };
            let undone = match old {
                None => tree::take_away(self.workspace, target.path, temporary, seen),
                Some(_) => tree::swap(self.workspace, temporary, target.path),
            };
            if let Err(error) = undone {
                tracing::warn!("{error}");
            }
        }
    }

    /// Removes what is left of staging, and folders that are empty.
    fn clear(&self) {
        for staged in &self.staged {
            if let Err(error) = tree::remove(self.workspace, &staged.temporary) {
                tracing::warn!("{error}");
            }
        }
        for folder in self.folders.iter().rev() {
            let _ = tree::remove_empty_folder(self.workspace, folder);
        }
    }
}

/// A file whose owner and attributes its successor takes over.
fn open(workspace: &Workspace, path: &RepoPath) -> Result<File, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = workspace.open_parent(path)?;
    rustix::fs::openat(&folder, path.file_name(), flags, Mode::empty())
        .map(File::from)
        .map_err(|errno| Error::new(Code::Io, format!("`{path}` can't be read: {errno}")))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::change::{Content, Stamp};

    fn names(folder: &Path) -> Vec<String> {
        let files = walkdir::WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter().filter_map(Result::ok);
        files.map(|entry| entry.path().strip_prefix(folder).unwrap().display().to_string()).collect()
    }

    fn check(folder: &Path, files: &[(&str, Option<Stamp>)]) -> Result<(), Error> {
        let workspace = Workspace::open(folder).unwrap();
        let content = Content::new(b"new\n".to_vec(), 0o644);
        let paths: Vec<RepoPath> = files.iter().map(|(path, _)| RepoPath::parse(path).unwrap()).collect();
        let target =
            |(path, (_, before)): (_, &(_, Option<Stamp>))| Target { path, before: *before, after: Some(&content) };
        set_up(&workspace, &paths.iter().zip(files).map(target).collect::<Vec<_>>())
    }

    #[test]
    fn files_are_made_and_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "old\n").unwrap();
        fs::write(folder.path().join(".nrv-set-up-0"), "from a crash").unwrap();
        let before = Workspace::open(folder.path()).unwrap().hash(&RepoPath::parse("a").unwrap()).unwrap();
        check(folder.path(), &[("nrv.toml", None), ("s/t/x", None), ("a", Some(before))]).unwrap();
        assert_eq!(names(folder.path()), ["a", "nrv.toml", "s", "s/t", "s/t/x"]);
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"new\n");
    }

    #[test]
    fn what_was_written_goes_again_if_something_else_can_not_be() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "old\n").unwrap();
        let stamp = Content::new(b"not this\n".to_vec(), 0o644).stamp();
        let same_length = Stamp { length: 4, ..stamp };
        let error = check(folder.path(), &[("nrv.toml", None), ("s/x", None), ("a", Some(same_length))]).unwrap_err();
        assert_eq!(error.code(), Code::StalePreimage);
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn only_the_policy_is_excepted_and_it_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("nrv.toml"), "old\n").unwrap();
        let stamp = Content::new(b"old\n".to_vec(), 0o644).stamp();
        for (path, before) in [("nrv.toml", Some(stamp)), ("sub/nrv.toml", None), (".git/hooks/x", None)] {
            assert_eq!(check(folder.path(), &[(path, before)]).unwrap_err().code(), Code::ProtectedPath, "{path}");
        }
        assert_eq!(check(folder.path(), &[("nrv.toml", None)]).unwrap_err().code(), Code::StalePreimage);
        assert_eq!(names(folder.path()), ["nrv.toml"]);
    }
}
