//! Writes a workspace's first files: all of them or none, outside any run.
//!
//! No run writes `nrv.toml`, and no transaction names it: a journal that did would come from a repository. So these few files
//! have a separate writer. Each is staged beside its place and appears there complete; if one can't be written, those before it
//! are removed. A crash in between leaves complete files and perhaps staged ones, which the next set-up removes.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
};

use super::{
    faults::{Faults, NoFaults},
    place::{Look, Place, place, stale},
    target::Target,
    transaction::{Exchange, check_place, take_out},
    tree::{self, Folders},
};
use crate::workspace::Workspace;
use base::{
    change::Stamp,
    error::{Code, Error},
    path::{RepoPath, protected},
};

/// The protected file that a set-up may create; it never replaces it.
const POLICY: &str = "nrv.toml";

/// The protected file that `nrv approve` creates and replaces.
const APPROVALS: &str = "nrv.lock";

/// Writes the targets, which are created or replaced, never removed. On an error everything is as before. `named` are the protected files
/// that the user named, as far as a policy could permit them.
///
/// `stale_preimage` if a file has changed, `unwritable`, `protected_path`, `io`.
pub fn set_up(workspace: &Workspace, targets: &[Target<'_>], named: &[String]) -> Result<(), Error> {
    set_up_with(workspace, targets, named, &NoFaults)
}

fn set_up_with(
    workspace: &Workspace,
    targets: &[Target<'_>],
    named: &[String],
    faults: &dyn Faults,
) -> Result<(), Error> {
    let _alone = alone(workspace)?;
    for target in targets {
        let is_own = match target.path.as_str() {
            POLICY => target.before.is_none(),
            path => path == APPROVALS || target.before.is_none() && is_policy_of_case(path),
        };
        if let Some(reason) = protected::write_refusal_unless(target.path, named).filter(|_| !is_own) {
            return Err(Error::new(Code::ProtectedPath, format!("`{}` is protected: {reason}", target.path)));
        }
        check_place(&mut Folders::of(workspace), target)?;
    }
    let mut work = Work { workspace, faults, folders: Vec::new(), staged: Vec::new(), placed: Vec::new() };
    let result = work.run(targets);
    if result.is_err() {
        work.undo();
    }
    work.clear();
    result
}

/// True for the policy of a script's case, such as `scripts/x.test/first/nrv.toml`, under which nothing but the case runs.
fn is_policy_of_case(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some(POLICY) && parts.nth(1).is_some_and(|folder| folder.ends_with(".test"))
}

/// Removes a file that a set-up created, if its bytes are unchanged.
///
/// `stale_preimage` if they are not, `io`.
pub fn take_back(workspace: &Workspace, path: &RepoPath, before: &Stamp) -> Result<(), Error> {
    let _alone = alone(workspace)?;
    let temporary = path.sibling(&format!("{}set-up-0", protected::TEMPORARY));
    let mut folders = Folders::of(workspace);
    let folder = folders.get(path)?;
    let at = place(folder, path.file_name(), path);
    let beside = place(folder, temporary.file_name(), path);
    let found = at.read(&mut Vec::new())?.filter(|found| found.sha256 == before.sha256);
    let found = found.ok_or_else(|| stale(path, "changed meanwhile"))?;
    beside.remove(&NoFaults)?;
    match take_out(at, beside, &found.look, &NoFaults, Place::move_to_free)? {
        Exchange::Done => beside.remove(&NoFaults)?,
        Exchange::Impossible => at.remove(&NoFaults)?,
    }
    tree::sync_around(workspace, None, [path].into_iter(), &NoFaults)
}

/// Waits until no other process sets the workspace up, and keeps others waiting: staged files have the same names in all of them.
fn alone(workspace: &Workspace) -> Result<OwnedFd, Error> {
    let failed = |errno: Errno| Error::io("the workspace's folder can't be locked", &errno.into());
    let (flags, mode) = (OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let folder = rustix::fs::openat(workspace.handle(), ".", flags, mode).map_err(failed)?;
    rustix::fs::flock(&folder, FlockOperation::LockExclusive).map_err(failed)?;
    Ok(folder)
}

/// A staged file and its place.
struct Staged<'a> {
    temporary: RepoPath,
    target: Target<'a>,
    /// The file that it replaces; none if it is new.
    old: Option<Look>,
}

struct Work<'a> {
    workspace: &'a Workspace,
    faults: &'a dyn Faults,
    /// The new folders, outermost first.
    folders: Vec<RepoPath>,
    staged: Vec<Staged<'a>>,
    /// The placed files, with their metadata at that time.
    placed: Vec<(usize, Option<Look>)>,
}

impl<'a> Work<'a> {
    fn run(&mut self, targets: &[Target<'a>]) -> Result<(), Error> {
        for (index, target) in targets.iter().enumerate() {
            self.make_folders(target.path)?;
            self.stage(index, *target)?;
        }
        let paths = || targets.iter().map(|target| target.path);
        tree::sync_around(self.workspace, None, paths(), self.faults)?;
        for (index, staged) in self.staged.iter().enumerate() {
            let look = staged.with_places(self.workspace, |at, beside| {
                match &staged.old {
                    None => drop(beside.move_to_free(at, self.faults)?),
                    Some(old) => {
                        if take_out(at, beside, old, self.faults, Place::exchange)? == Exchange::Impossible {
                            beside.move_over(at, self.faults)?;
                        }
                    }
                }
                at.look()
            })?;
            self.placed.push((index, look));
        }
        tree::sync_around(self.workspace, None, paths(), self.faults)
    }

    fn make_folders(&mut self, path: &RepoPath) -> Result<(), Error> {
        for folder in tree::missing_folders(self.workspace, path)? {
            tree::make_folder(self.workspace, &folder, self.faults)?;
            self.folders.push(folder);
        }
        Ok(())
    }

    fn stage(&mut self, index: usize, target: Target<'a>) -> Result<(), Error> {
        let Some(after) = target.after else {
            return Err(Error::new(Code::Internal, format!("a set-up does not remove `{}`", target.path)));
        };
        let mut folders = Folders::of(self.workspace);
        let folder = folders.get(target.path)?;
        let mut original = None;
        if let Some(before) = target.before {
            let found = place(folder, target.path.file_name(), target.path).read(&mut Vec::new())?;
            original = found.filter(|found| found.sha256 == before.sha256);
            if original.is_none() {
                return Err(stale(target.path, "changed meanwhile"));
            }
        }
        let temporary = target.path.sibling(&format!("{}set-up-{index}", protected::TEMPORARY));
        // The leftovers of an interrupted set-up.
        let beside = place(folder, temporary.file_name(), target.path);
        beside.remove(self.faults)?;
        let old = original.as_ref().map(|original| original.look);
        self.staged.push(Staged { temporary: temporary.clone(), target, old });
        beside.stage(after, original.as_ref(), self.faults)
    }

    /// Removes the placed files, the latest first; a file that somebody changed since is theirs.
    fn undo(&self) {
        for (index, seen) in self.placed.iter().rev() {
            let (staged, Some(seen)) = (&self.staged[*index], seen) else { continue };
            let undone = staged.with_places(self.workspace, |at, beside| match staged.old {
                None => take_out(at, beside, seen, self.faults, Place::move_to_free).map(drop),
                Some(_) => beside.exchange(at, self.faults).map(drop),
            });
            if let Err(error) = undone {
                tracing::warn!("{error}");
            }
        }
    }

    /// Removes leftovers of staging, and empty folders.
    fn clear(&self) {
        for staged in &self.staged {
            if let Err(error) = tree::remove(self.workspace, &staged.temporary, self.faults) {
                tracing::warn!("{error}");
            }
        }
        for folder in self.folders.iter().rev() {
            let _ = tree::remove_empty_folder(self.workspace, folder, self.faults);
        }
    }
}

impl Staged<'_> {
    /// Does something with the file's place and that of its staged version.
    fn with_places<T>(
        &self,
        workspace: &Workspace,
        work: impl FnOnce(Place<'_>, Place<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut folders = Folders::of(workspace);
        let folder = folders.get(self.target.path)?;
        let path = self.target.path;
        work(place(folder, path.file_name(), path), place(folder, self.temporary.file_name(), path))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::{
        fs,
        panic::{AssertUnwindSafe, catch_unwind},
        path::Path,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use super::*;
    use base::change::Content;

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
        set_up(&workspace, &paths.iter().zip(files).map(target).collect::<Vec<_>>(), &[])
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

    /// Fails or dies at the n-th step.
    struct At(usize, bool, AtomicUsize);

    impl Faults for At {
        fn before(&self, _step: &'static str) -> Result<(), Error> {
            let is_now = self.2.fetch_add(1, Relaxed) == self.0;
            assert!(!(is_now && self.1), "crash");
            if is_now { Err(Error::new(Code::Io, "injected")) } else { Ok(()) }
        }
    }

    #[test]
    fn a_failure_or_crash_at_any_step_leaves_whole_files_which_the_next_set_up_completes() {
        let paths = ["a", "nrv.toml", "s/x"].map(|path| RepoPath::parse(path).unwrap());
        let content = Content::new(b"new\n".to_vec(), 0o644);
        let set_up_at = |folder: &Path, faults: &dyn Faults| {
            let workspace = Workspace::open(folder).unwrap();
            let target = |path| Target { path, before: workspace.hash(path).ok(), after: Some(&content) };
            let targets: Vec<_> = paths.iter().map(target).collect();
            let targets: Vec<_> = targets.into_iter().filter(|target| target.before != Some(content.stamp())).collect();
            set_up_with(&workspace, &targets, &[], faults)
        };
        for crash in [false, true] {
            for step in 0.. {
                let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
                fs::write(folder.path().join("a"), "old\n").unwrap();
                let at = At(step, crash, AtomicUsize::new(0));
                let ended = catch_unwind(AssertUnwindSafe(|| set_up_at(folder.path(), &at)));
                let ended = ended.map_err(drop).and_then(|result| result.map_err(drop)).is_ok();
                if !crash && !ended {
                    let left: Vec<String> = names(folder.path());
                    // The cleanup may itself fail; the next set-up does it then.
                    assert!(left == ["a"] || left.iter().any(|name| name.contains(".nrv-set-up-")), "{step}: {left:?}");
                    assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"old\n", "{step}");
                }
                let old = fs::read(folder.path().join("a")).unwrap();
                assert!(old == b"old\n" || old == b"new\n", "{step}");
                set_up_at(folder.path(), &NoFaults).unwrap();
                for path in &paths {
                    assert_eq!(fs::read(folder.path().join(&**path)).unwrap(), b"new\n", "{step}");
                }
                if at.2.into_inner() <= step {
                    assert_eq!(names(folder.path()), ["a", "nrv.toml", "s", "s/x"], "{step}");
                    break;
                }
            }
        }
    }

    #[test]
    fn a_file_is_taken_back_only_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let path = RepoPath::parse("s/x").unwrap();
        let made = Content::new(b"new\n".to_vec(), 0o644).stamp();
        check(folder.path(), &[("s/x", None)]).unwrap();
        fs::write(folder.path().join("s/x"), "edited\n").unwrap();
        assert_eq!(take_back(&workspace, &path, &made).unwrap_err().code(), Code::StalePreimage);
        assert_eq!(names(folder.path()), ["s", "s/x"]);
        fs::write(folder.path().join("s/x"), "new\n").unwrap();
        take_back(&workspace, &path, &made).unwrap();
        assert_eq!(names(folder.path()), ["s"]);
        assert_eq!(take_back(&workspace, &path, &made).unwrap_err().code(), Code::StalePreimage);
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
