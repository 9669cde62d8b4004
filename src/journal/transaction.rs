//! One transaction, from intent to commit mark; undone on any error.

use std::{os::fd::OwnedFd, path::Path};

use rustix::fs::{Mode, OFlags};

use super::{
    entry::{self, Files, Intent},
    recovery, tree,
};
use crate::{
    change::{Change, ChangeSet, Content, Entry, Stamp},
    error::{Code, Error},
    path::{RepoPath, protected},
    workspace::{Metadata, Workspace},
};

/// One file of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The file.
    pub path: &'a RepoPath,
    /// What it must be now; none if it must not exist.
    pub before: Option<Stamp>,
    /// What it is to be; none if it is to be removed.
    pub after: Option<&'a Content>,
}

impl<'a> Target<'a> {
    /// The targets of a change set, in its order.
    pub fn of(changes: &'a ChangeSet) -> Vec<Target<'a>> {
        let target = |change: &'a Change| Target {
            path: &change.path,
            before: change.before.as_ref().map(Content::stamp),
            after: change.after.as_ref(),
        };
        changes.changes().iter().map(target).collect()
    }
}

/// Where a transaction belongs and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    /// The run's id.
    pub run: &'a str,
    /// The run's folder.
    pub run_folder: &'a Path,
    /// A name that is unique in the run.
    pub name: &'a str,
    /// Where in the run.
    pub position: &'a str,
    /// The change as a unified diff, kept in the pack.
    pub patch: &'a [u8],
}

/// What the caller checks and what tests break.
pub struct Guards<'a> {
    /// Asked just before the first rename; an error stops the transaction.
    pub before_commit: &'a dyn Fn() -> Result<(), Error>,
    /// Asked before every step with its name; an error stops the transaction there, as a failing disk would.
    pub fault: &'a dyn Fn(&'static str) -> Result<(), Error>,
}

/// A target's state while the transaction is open.
struct Kept {
    /// The file that was linked or copied into the pack, to be recognised just before it is replaced.
    found: Option<Metadata>,
}

/// Applies all targets or none. On success the commit mark is on the disk and [`super::settle`] is due.
///
/// `stale_preimage` if a file is not what it should be, `unwritable` for read-only and hard-linked files, `protected_path`,
/// `io`. On any error the tree is as before; if undoing failed as well, the message says so and the transaction stays open
/// for [`super::recover`].
pub fn apply(
    workspace: &Workspace,
    transaction: &Transaction<'_>,
    targets: &[Target<'_>],
    guards: &Guards<'_>,
) -> Result<(), Error> {
    for target in targets {
        if let Some(reason) = protected::write_refusal(target.path) {
            return Err(Error::new(Code::ProtectedPath, format!("`{}` is protected: {reason}", target.path)));
        }
        let found = workspace.stat(target.path)?;
        tree::check_target(target.path, target.before.as_ref(), found.as_ref())?;
    }
    let files = Files::new(transaction.run_folder, transaction.name);
    let intent = intend(workspace, transaction, targets)?;
    (guards.fault)("intent")?;
    let result = files.write_intent(&intent).and_then(|()| {
        let work = Work { workspace, transaction, targets, guards, files: &files, intent: &intent };
        work.run()
    });
    result.map_err(|error| undo(workspace, transaction, error))
}

fn undo(workspace: &Workspace, transaction: &Transaction<'_>, error: Error) -> Error {
    match recovery::recover(workspace, transaction.run_folder, transaction.name) {
        Ok(recovered) if recovered.foreign.is_empty() => error,
        Ok(recovered) => {
            let names: Vec<&str> = recovered.foreign.iter().map(RepoPath::as_str).collect();
            error.detail("not_restored", names).hint("the named files were changed by somebody else meanwhile")
        }
        Err(second) => error
            .detail("undo_error", second.message())
            .hint("undoing failed as well; run `nrv recover` when the cause is gone"),
    }
}

fn intend(workspace: &Workspace, transaction: &Transaction<'_>, targets: &[Target<'_>]) -> Result<Intent, Error> {
    let mut folders: Vec<RepoPath> = Vec::new();
    for target in targets.iter().filter(|target| target.before.is_none()) {
        let mut missing = Vec::new();
        let mut folder = target.path.parent();
        while let Some(path) = folder {
            if workspace.stat(&path)?.is_some() || folders.contains(&path) {
                break;
            }
            folder = path.parent();
            missing.push(path);
        }
        folders.extend(missing.into_iter().rev());
    }
    let entry = |target: &Target<'_>| Entry {
        path: target.path.clone(),
        before: target.before,
        after: target.after.map(Content::stamp),
    };
    Ok(Intent {
        transaction: transaction.name.to_owned(),
        position: transaction.position.to_owned(),
        entries: targets.iter().map(entry).collect(),
        folders,
        prefix: entry::temporary_prefix(transaction.run, transaction.name),
    })
}

struct Work<'a> {
    workspace: &'a Workspace,
    transaction: &'a Transaction<'a>,
    targets: &'a [Target<'a>],
    guards: &'a Guards<'a>,
    files: &'a Files,
    intent: &'a Intent,
}

impl Work<'_> {
    fn run(&self) -> Result<(), Error> {
        self.fault("pack")?;
        self.files.make_pack()?;
        let pack = open_folder(&self.files.pre_images())?;
        let kept = self.keep_all(&pack)?;
        self.stage_all()?;
        self.fault("journal")?;
        self.files.write_pack(self.intent, self.transaction.patch)?;
        tree::sync(self.workspace.handle())?;
        tree::sync(&pack)?;
        (self.guards.before_commit)()?;
        self.replace_all(&kept)?;
        self.fault("sync")?;
        tree::sync(self.workspace.handle())?;
        self.fault("mark")?;
        self.files.write_mark()
    }

    fn fault(&self, step: &'static str) -> Result<(), Error> {
        (self.guards.fault)(step)
    }

    fn keep_all(&self, pack: &OwnedFd) -> Result<Vec<Kept>, Error> {
        let mut all = Vec::with_capacity(self.targets.len());
        for (index, target) in self.targets.iter().enumerate() {
            self.fault("pre-image")?;
            let Some(before) = target.before else {
                all.push(Kept { found: None });
                continue;
            };
            let name = index.to_string();
            let linked = tree::keep(self.workspace, target.path, pack, &name)?;
            let found = self.workspace.stat(target.path)?;
            if tree::hash_kept(pack, &name, target.path)? != before.sha256 {
                return Err(Error::new(
                    Code::StalePreimage,
                    format!("`{}` changed since the change was proposed", target.path),
                )
                .detail("path", target.path.as_str())
                .detail("expected", before.sha256.to_string())
                .hint("propose again"));
            }
            let own_links = 1 + u64::from(linked);
            let as_before = found.map(|found| Metadata { links: found.links.saturating_sub(own_links - 1), ..found });
            tree::check_target(target.path, Some(&before), as_before.as_ref())?;
            all.push(Kept { found });
        }
        Ok(all)
    }

    fn stage_all(&self) -> Result<(), Error> {
        for folder in &self.intent.folders {
            self.fault("folder")?;
            tree::make_folder(self.workspace, folder)?;
        }
        for (index, target) in self.targets.iter().enumerate() {
            let Some(after) = target.after else { continue };
            self.fault("stage")?;
            let temporary = self.intent.temporary(index);
            tree::stage(self.workspace, &temporary, target.path, after)?;
            if target.before.is_some() {
                tree::adopt_owner(self.workspace, target.path, &temporary)?;
            }
        }
        Ok(())
    }

    fn replace_all(&self, kept: &[Kept]) -> Result<(), Error> {
        for (index, (target, kept)) in self.targets.iter().zip(kept).enumerate() {
            self.fault("replace")?;
            // Whoever replaced or wrote the file since it was hashed must not lose their work.
            if self.workspace.stat(target.path)? != kept.found {
                return Err(Error::new(
                    Code::StalePreimage,
                    format!("`{}` changed just before the commit", target.path),
                )
                .detail("path", target.path.as_str())
                .hint("propose again"));
            }
            match target.after {
                Some(_) => {
                    let temporary = self.intent.temporary(index);
                    tree::put(self.workspace, &temporary, target.path, target.before.is_none())?;
                }
                None => {
                    tree::remove(self.workspace, target.path)?;
                    remove_emptied(self.workspace, target.path)?;
                }
            }
        }
        Ok(())
    }
}

/// Removes the folders that the removal of a file left empty, as git does.
fn remove_emptied(workspace: &Workspace, path: &RepoPath) -> Result<(), Error> {
    let mut folder = path.parent();
    while let Some(path) = folder {
        if !tree::remove_empty_folder(workspace, &path)? {
            return Ok(());
        }
        folder = path.parent();
    }
    Ok(())
}

fn open_folder(path: &Path) -> Result<OwnedFd, Error> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Error::new(Code::Io, format!("the pack `{}` can't be opened: {errno}", path.display())))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::{
        cell::Cell,
        collections::BTreeMap,
        fs,
        os::unix::fs::PermissionsExt,
        panic::{AssertUnwindSafe, catch_unwind},
    };

    use super::*;
    use crate::journal::{open_transactions, recover, settle};

    struct Bench {
        folder: tempfile::TempDir,
        workspace: Workspace,
    }

    type Tree = BTreeMap<String, (Vec<u8>, u32)>;

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("root");
            for name in ["a/1", "a/2", "b/only", "c"] {
                let path = root.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, format!("old {name}")).unwrap();
            }
            fs::set_permissions(root.join("a/2"), fs::Permissions::from_mode(0o751)).unwrap();
            fs::create_dir_all(folder.path().join("run/journal")).unwrap();
            let workspace = Workspace::open(&root).unwrap();
            Bench { folder, workspace }
        }

        fn changes(&self) -> ChangeSet {
            let path = |text: &str| RepoPath::parse(text).unwrap();
            let old = |text: &str| self.workspace.read(&path(text)).unwrap();
            let edit = |text: &str| {
                let before = old(text);
                let after = Content::new(format!("new {text}").into(), before.mode);
                Change { path: path(text), before: Some(before), after: Some(after) }
            };
            let created = Content::new(b"made".to_vec(), 0o640);
            ChangeSet::new(vec![
                edit("a/1"),
                edit("a/2"),
                Change { path: path("b/only"), before: Some(old("b/only")), after: None },
                Change { path: path("new/deep/x"), before: None, after: Some(created) },
                edit("c"),
            ])
            .unwrap()
        }

        fn apply(&self, changes: &ChangeSet, fault: &dyn Fn(&'static str) -> Result<(), Error>) -> Result<(), Error> {
            let run_folder = self.run_folder();
            let transaction =
                Transaction { run: "r", run_folder: &run_folder, name: "1", position: "3", patch: b"patch" };
            apply(&self.workspace, &transaction, &Target::of(changes), &Guards { before_commit: &|| Ok(()), fault })
        }

        fn run_folder(&self) -> std::path::PathBuf {
            self.folder.path().join("run")
        }

        /// Every file and folder below the root.
        fn tree(&self) -> Tree {
            let mut tree = Tree::new();
            for item in walkdir::WalkDir::new(self.workspace.root()).min_depth(1) {
                let item = item.unwrap();
                let name = item.path().strip_prefix(self.workspace.root()).unwrap().display().to_string();
                let bytes = if item.file_type().is_file() { fs::read(item.path()).unwrap() } else { Vec::new() };
                tree.insert(name, (bytes, item.metadata().unwrap().permissions().mode() & 0o7777));
            }
            tree
        }
    }

    /// The tree before and after, and how many steps lead from one to the other.
    fn ends() -> (Tree, Tree, usize) {
        let bench = Bench::new();
        let before = bench.tree();
        let steps = Cell::new(0);
        let count = |_: &'static str| {
            steps.set(steps.get() + 1);
            Ok(())
        };
        bench.apply(&bench.changes(), &count).unwrap();
        (before, bench.tree(), steps.get())
    }

    #[test]
    fn a_transaction_changes_everything_it_names() {
        let (before, after, _) = ends();
        assert_eq!(after["a/1"].0, b"new a/1");
        assert_eq!(after["a/2"].1, 0o751);
        assert_eq!(after["new/deep/x"], (b"made".to_vec(), 0o640));
        assert!(!after.contains_key("b") && before.contains_key("b/only"));
    }

    #[test]
    fn a_failure_at_any_step_leaves_the_tree_as_it_was() {
        let (before, _, steps) = ends();
        for step in 0..steps {
            let bench = Bench::new();
            let count = Cell::new(0);
            let fail = |_: &'static str| {
                count.set(count.get() + 1);
                if count.get() > step { Err(Error::new(Code::Io, "injected")) } else { Ok(()) }
            };
            let error = bench.apply(&bench.changes(), &fail).unwrap_err();
            assert_eq!((error.message(), error.details().len()), ("injected", 0), "step {step}");
            assert_eq!(bench.tree(), before, "step {step}");
            assert!(open_transactions(&bench.run_folder()).unwrap().is_empty(), "step {step}");
            assert!(!bench.run_folder().join("packs/1").exists(), "step {step}");
        }
    }

    #[test]
    fn a_crash_at_any_step_is_recovered() {
        let (before, _, steps) = ends();
        std::panic::set_hook(Box::new(|_| {}));
        for step in 0..steps {
            let bench = Bench::new();
            let changes = bench.changes();
            let count = Cell::new(0);
            let crash = |_: &'static str| {
                count.set(count.get() + 1);
                assert!(count.get() <= step, "crash");
                Ok(())
            };
            catch_unwind(AssertUnwindSafe(|| bench.apply(&changes, &crash))).unwrap_err();
            for transaction in open_transactions(&bench.run_folder()).unwrap() {
                let recovered = recover(&bench.workspace, &bench.run_folder(), &transaction).unwrap();
                assert!(!recovered.committed && recovered.foreign.is_empty(), "step {step}");
            }
            assert_eq!(bench.tree(), before, "step {step}");
            // Nothing that recovery left may be in the way of the next try.
            bench.apply(&changes, &|_| Ok(())).unwrap();
        }
        let _ = std::panic::take_hook();
    }

    #[test]
    fn a_crash_after_the_mark_is_finished() {
        let bench = Bench::new();
        bench.apply(&bench.changes(), &|_| Ok(())).unwrap();
        let after = bench.tree();
        let recovered = recover(&bench.workspace, &bench.run_folder(), "1").unwrap();
        assert!(recovered.committed);
        assert_eq!((recovered.entries.len(), recovered.position.as_str()), (5, "3"));
        settle(&bench.run_folder(), "1").unwrap();
        assert_eq!(bench.tree(), after);
        assert!(open_transactions(&bench.run_folder()).unwrap().is_empty());
    }

    #[test]
    fn what_somebody_else_wrote_is_left_alone_and_named() {
        let bench = Bench::new();
        let changes = bench.changes();
        let root = bench.workspace.root().to_owned();
        let stop = |step: &'static str| {
            if step == "sync" {
                fs::write(root.join("a/1"), "theirs").unwrap();
                return Err(Error::new(Code::Io, "injected"));
            }
            Ok(())
        };
        let error = bench.apply(&changes, &stop).unwrap_err();
        assert_eq!(error.details()["not_restored"], serde_json::json!(["a/1"]));
        assert_eq!(bench.tree()["a/1"].0, b"theirs");
        assert_eq!(bench.tree()["c"].0, b"old c");
    }

    #[test]
    fn a_target_that_can_not_be_replaced_stops_everything() {
        for (prepare, code) in [
            ("readonly", Code::Unwritable),
            ("linked", Code::Unwritable),
            ("edited", Code::StalePreimage),
            ("gone", Code::StalePreimage),
            ("appeared", Code::StalePreimage),
        ] {
            let bench = Bench::new();
            let changes = bench.changes();
            let root = bench.workspace.root();
            match prepare {
                "readonly" => fs::set_permissions(root.join("c"), fs::Permissions::from_mode(0o444)).unwrap(),
                "linked" => fs::hard_link(root.join("c"), bench.folder.path().join("other")).unwrap(),
                "edited" => fs::write(root.join("c"), "OLD c").unwrap(),
                "gone" => fs::remove_file(root.join("c")).unwrap(),
                _ => {
                    fs::create_dir_all(root.join("new/deep")).unwrap();
                    fs::write(root.join("new/deep/x"), "x").unwrap();
                }
            }
            let before = bench.tree();
            assert_eq!(bench.apply(&changes, &|_| Ok(())).unwrap_err().code(), code, "{prepare}");
            assert_eq!(bench.tree(), before, "{prepare}");
        }
    }
}
