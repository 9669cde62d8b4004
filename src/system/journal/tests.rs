//! Transactions that fail, crash and race at every step.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]

mod edges;
#[path = "../../../tests/it/support/need.rs"]
mod need;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        ffi::OsStringExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::{Faults, Journal, NoFaults, Target, Transaction, is_committed, open_transactions, sweep};
use crate::workspace::Workspace;
use base::{
    change::{Change, ChangeSet, Content, LINK},
    error::{Code, Error},
    path::RepoPath,
};

/// Links before a transaction: it removes `gone`, makes `file` a regular file, and gives `turned` another target.
const LINKS: [(&str, &str); 3] = [("a/gone", "/etc/passwd"), ("a/file", "../c"), ("a/turned", "1")];

struct Bench {
    /// Holds the tree in `root` and the run in `run`.
    folder: tempfile::TempDir,
    workspace: Workspace,
    /// The place of the run instead.
    elsewhere: Option<tempfile::TempDir>,
}

/// Faults by a function that receives the step.
struct Told<F>(F);

impl<F: Fn(&'static str) -> Result<(), Error> + Sync> Faults for Told<F> {
    fn before(&self, step: &'static str) -> Result<(), Error> {
        self.0(step)
    }
}

/// The fault at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// It fails, and nothing else does.
    Once,
    /// It fails, and everything after it.
    Ever,
    /// The process dies.
    Crash,
}

/// Does something at the n-th step, counted from 0.
fn at(step: usize, how: How) -> Told<impl Fn(&'static str) -> Result<(), Error> + Sync> {
    let count = AtomicUsize::new(0);
    Told(move |_| {
        let now = count.fetch_add(1, Relaxed);
        match how {
            How::Crash => assert_ne!(now, step, "crash"),
            How::Once if now == step => return Err(Error::new(Code::Io, "injected")),
            How::Ever if now >= step => return Err(Error::new(Code::Io, "injected")),
            How::Once | How::Ever => {}
        }
        Ok(())
    })
}

/// A folder in memory if there is one: every test waits for the disk many times.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Calls a function that may crash; none if it did.
fn survive<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(work)).ok();
    let _ = std::panic::take_hook();
    result
}

type Tree = BTreeMap<String, (Vec<u8>, u32)>;

impl Bench {
    fn new() -> Self {
        Bench::inside(scratch())
    }

    fn inside(folder: tempfile::TempDir) -> Self {
        let root = folder.path().join("root");
        for name in ["a/1", "a/2", "b/only", "c", "d"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("old {name}")).unwrap();
        }
        fs::set_permissions(root.join("a/2"), fs::Permissions::from_mode(0o751)).unwrap();
        for (name, target) in LINKS {
            symlink(target, root.join(name)).unwrap();
        }
        fs::create_dir_all(folder.path().join("run/journal")).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        Bench { folder, workspace, elsewhere: None }
    }

    /// With the run on another file system; none if there is no other.
    fn apart() -> Option<Self> {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir_all(elsewhere.path().join("run/journal")).unwrap();
        let bench = Bench { elsewhere: Some(elsewhere), ..Bench::new() };
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        (device(&bench.run_folder()) != device(bench.workspace.root())).then_some(bench)
    }

    fn changes(&self) -> ChangeSet {
        let path = |text: &str| RepoPath::parse(text).unwrap();
        let old = |text: &str| self.workspace.read_entry(&path(text)).unwrap();
        let edit = |text: &str| {
            let before = old(text);
            let after = Content::new(format!("new {text}").into(), before.mode);
            Change { path: path(text), before: Some(before.stamp()), after: Some(after) }
        };
        let created = Content::new(b"made".to_vec(), 0o640);
        let become_ =
            |text: &str, after: Option<Content>| Change { path: path(text), before: Some(old(text).stamp()), after };
        let link = |target: &str| Some(Content::link(target.into()));
        ChangeSet::new(vec![
            become_("a/gone", None),
            become_("a/file", Some(Content::new(b"a file now".to_vec(), 0o600))),
            become_("a/turned", link("../b/nowhere")),
            become_("d", link("a/1")),
            Change { path: path("new/link"), before: None, after: link("../c") },
            edit("a/1"),
            edit("a/2"),
            Change { path: path("b/only"), before: Some(old("b/only").stamp()), after: None },
            Change { path: path("new/deep/x"), before: None, after: Some(created) },
            edit("c"),
        ])
        .unwrap()
    }

    fn apply_with(&self, changes: &ChangeSet, faults: &dyn Faults) -> Result<(), Error> {
        let run_folder = self.run_folder();
        let transaction = Transaction { name: "1", position: "3", patch: b"patch", undoes: false, threads: 1 };
        let journal = Journal::new(&self.workspace, &run_folder).with_faults(faults);
        journal.apply(&transaction, &Target::of(changes), &|| Ok(()))
    }

    fn apply(
        &self,
        changes: &ChangeSet,
        fault: impl Fn(&'static str) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        self.apply_with(changes, &Told(fault))
    }

    fn run_folder(&self) -> std::path::PathBuf {
        self.elsewhere.as_ref().unwrap_or(&self.folder).path().join("run")
    }

    /// The work of the next command after a crash.
    fn recover(&self, faults: &dyn Faults) -> Result<(), Error> {
        let run_folder = self.run_folder();
        let journal = Journal::new(&self.workspace, &run_folder).with_faults(faults);
        for transaction in open_transactions(&run_folder)? {
            let recovered = journal.recover(&transaction)?;
            assert_eq!(recovered.foreign, []);
            journal.discard(&transaction, &recovered)?;
            journal.settle(&transaction)?;
        }
        sweep(&run_folder)
    }

    /// Nothing remains of an undone or finished transaction: no temporary file, no second name, no open journal.
    #[track_caller]
    fn check(&self, expected: &Tree, what: &str) {
        assert!(self.tree() == *expected, "{what}: the tree");
        assert_eq!(fs::read_dir(self.run_folder().join("journal")).unwrap().count(), 0, "{what}: the journal");
        for item in walkdir::WalkDir::new(self.workspace.root()) {
            let item = item.unwrap();
            let links = item.metadata().unwrap().nlink();
            assert!(item.file_type().is_dir() || links == 1, "{what}: {} has {links} names", item.path().display());
        }
    }

    /// Every file and folder below the root.
    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        for item in walkdir::WalkDir::new(self.workspace.root()).min_depth(1) {
            let item = item.unwrap();
            let name = item.path().strip_prefix(self.workspace.root()).unwrap().display().to_string();
            let bytes = match item.file_type() {
                kind if kind.is_file() => fs::read(item.path()).unwrap(),
                kind if kind.is_symlink() => fs::read_link(item.path()).unwrap().into_os_string().into_vec(),
                _ => Vec::new(),
            };
            tree.insert(name, (bytes, item.metadata().unwrap().permissions().mode()));
        }
        tree
    }
}

/// The tree before and after, and the steps that lead from one to the other.
fn ends_of(bench: &Bench) -> (Tree, Tree, Vec<&'static str>) {
    let before = bench.tree();
    let steps = std::sync::Mutex::new(Vec::new());
    let note = |step: &'static str| {
        steps.lock().unwrap().push(step);
        Ok(())
    };
    bench.apply(&bench.changes(), note).unwrap();
    (before, bench.tree(), steps.into_inner().unwrap())
}

fn ends() -> (Tree, Tree, usize) {
    let (before, after, steps) = ends_of(&Bench::new());
    (before, after, steps.len())
}

#[test]
fn a_transaction_changes_everything_it_names() {
    let (before, after, _) = ends();
    assert_eq!(after["a/1"].0, b"new a/1");
    assert_eq!(after["a/2"].1, 0o100_751);
    assert_eq!(after["new/deep/x"], (b"made".to_vec(), 0o100_640));
    assert!(!after.contains_key("b") && before.contains_key("b/only"));
}

#[test]
fn links_are_made_turned_replaced_and_removed_and_nothing_is_written_through_them() {
    let (before, after, _) = ends();
    let link = |target: &str| (target.as_bytes().to_vec(), LINK);
    assert_eq!((&after["a/turned"], &after["d"]), (&link("../b/nowhere"), &link("a/1")));
    assert_eq!((&after["new/link"], after.get("a/gone")), (&link("../c"), None));
    assert_eq!(after["a/file"], (b"a file now".to_vec(), 0o100_600));
    assert_eq!((before["c"].0.as_slice(), after["c"].0.as_slice()), (&b"old c"[..], &b"new c"[..]));
}

#[test]
fn a_link_that_leads_out_is_not_made_but_brought_back() {
    let bench = Bench::new();
    let path = RepoPath::parse("l").unwrap();
    for (target, code) in [("/etc", Code::InvalidPath), ("..", Code::InvalidPath), (".git/x", Code::ProtectedPath)] {
        let change = Change { path: path.clone(), before: None, after: Some(Content::link(target.into())) };
        let error = bench.apply(&ChangeSet::new(vec![change]).unwrap(), |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), code, "{target}");
        assert!(fs::symlink_metadata(bench.workspace.root().join("l")).is_err());
    }
    // A link that stood there before the run is not new: see `a/gone` in every test that undoes.
    let gone = Content::link(b"/etc/passwd".to_vec());
    let target = Target { path: &path, before: None, after: Some(&gone) };
    let folder = bench.run_folder();
    let undo = Transaction { name: "2", position: "", patch: b"", undoes: true, threads: 1 };
    Journal::new(&bench.workspace, &folder).apply(&undo, &[target], &|| Ok(())).unwrap();
    assert_eq!(bench.tree()["l"], (b"/etc/passwd".to_vec(), LINK));
}

#[test]
fn a_folder_that_is_a_link_is_not_gone_through() {
    let bench = Bench::new();
    let root = bench.workspace.root();
    symlink("a", root.join("way")).unwrap();
    let before = bench.tree();
    for after in [Content::new(b"x".to_vec(), 0o644), Content::link(b"1".to_vec())] {
        let path = RepoPath::parse("way/x").unwrap();
        let changes = ChangeSet::new(vec![Change { path, before: None, after: Some(after) }]).unwrap();
        assert_eq!(bench.apply(&changes, |_| Ok(())).unwrap_err().code(), Code::InvalidPath);
        assert_eq!(bench.tree(), before);
    }
}

/// Fails and crashes at every step of a transaction, and checks the result.
fn walk(new: &dyn Fn() -> Bench) {
    let (before, after, steps) = ends_of(&new());
    for (step, name) in steps.iter().enumerate() {
        let what = |how: How| format!("{how:?} at step {step}, {name}");
        let bench = new();
        let error = bench.apply_with(&bench.changes(), &at(step, How::Once)).unwrap_err();
        assert_eq!((error.message(), error.details().len()), ("injected", 0), "{}", what(How::Once));
        bench.check(&before, &what(How::Once));
        assert!(!bench.run_folder().join("packs/1").exists(), "{}", what(How::Once));

        let bench = new();
        let changes = bench.changes();
        bench.apply_with(&changes, &at(step, How::Ever)).unwrap_err();
        bench.recover(&NoFaults).unwrap();
        bench.check(&before, &what(How::Ever));

        let bench = new();
        let changes = bench.changes();
        assert!(survive(|| bench.apply_with(&changes, &at(step, How::Crash))).is_none());
        let expected = if is_committed(&bench.run_folder(), "1") { &after } else { &before };
        bench.recover(&NoFaults).unwrap();
        bench.check(expected, &what(How::Crash));
        if expected == &before {
            // No leftover of the recovery may be in the way of the next try.
            bench.apply(&changes, |_| Ok(())).unwrap();
        }
    }
}

#[test]
fn a_failure_or_crash_at_any_step_leaves_everything_or_nothing() {
    walk(&Bench::new);
}

#[test]
fn a_failure_or_crash_with_the_run_on_another_file_system_leaves_everything_or_nothing() {
    if Bench::apart().is_some() {
        walk(&|| Bench::apart().unwrap());
    }
}

/// Crashes at every step of the recovery from a crash at every step.
fn walk_recovery(new: &dyn Fn() -> Bench, stride: usize) {
    let (before, after, steps) = ends_of(&new());
    for step in (0..steps.len()).step_by(stride) {
        for second in 0.. {
            let bench = new();
            let changes = bench.changes();
            assert!(survive(|| bench.apply_with(&changes, &at(step, How::Crash))).is_none());
            let expected = if is_committed(&bench.run_folder(), "1") { &after } else { &before };
            let ended = survive(|| bench.recover(&at(second, How::Crash)).unwrap());
            bench.recover(&NoFaults).unwrap();
            bench.check(expected, &format!("a crash at step {step}, {}, and one at {second} of recovery", steps[step]));
            if ended.is_some() {
                break;
            }
        }
    }
}

#[test]
fn recovery_may_crash_at_any_step() {
    walk_recovery(&Bench::new, 1);
}

#[test]
fn recovery_of_a_run_on_another_file_system_may_crash_at_any_step() {
    if Bench::apart().is_some() {
        walk_recovery(&|| Bench::apart().unwrap(), 9);
    }
}

#[test]
fn settling_and_revoking_may_fail_or_crash_at_any_step() {
    type Ending = fn(&Journal<'_>) -> Result<(), Error>;
    // The state of the ending lasts, whatever fails.
    let endings: [(Ending, bool); 2] =
        [(|journal| journal.settle("1"), true), (|journal| journal.revoke("1").map(drop), false)];
    for (ending, stands) in endings {
        for how in [How::Once, How::Crash] {
            for step in 0.. {
                let bench = Bench::new();
                let (before, after, _) = ends_of(&bench);
                let run_folder = bench.run_folder();
                let faults = at(step, how);
                let journal = Journal::new(&bench.workspace, &run_folder).with_faults(&faults);
                let ended = survive(|| ending(&journal)).is_some_and(|result| result.is_ok());
                assert!(
                    !stands
                        || ended
                        || is_committed(&run_folder, "1")
                        || open_transactions(&run_folder).unwrap().is_empty()
                );
                if bench.tree() != after || !is_committed(&run_folder, "1") && !ended {
                    bench.recover(&NoFaults).unwrap();
                    let now = bench.tree();
                    bench.check(if now == after { &after } else { &before }, &format!("{how:?} at {step}"));
                } else {
                    bench.recover(&NoFaults).unwrap();
                    bench.check(&after, &format!("{how:?} at {step}"));
                }
                if ended {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_crash_after_the_mark_is_finished() {
    let bench = Bench::new();
    bench.apply(&bench.changes(), |_| Ok(())).unwrap();
    let after = bench.tree();
    let run_folder = bench.run_folder();
    let recovered = Journal::new(&bench.workspace, &run_folder).recover("1").unwrap();
    assert!(recovered.committed);
    assert_eq!((recovered.entries.len(), recovered.position.as_str()), (10, "3"));
    bench.recover(&NoFaults).unwrap();
    bench.check(&after, "finished");
}

#[test]
fn what_somebody_else_wrote_is_left_alone_and_named() {
    let bench = Bench::new();
    let changes = bench.changes();
    let root = bench.workspace.root().to_owned();
    let stop = |step: &'static str| {
        if step == "write mark" {
            fs::write(root.join("a/1"), "theirs").unwrap();
            return Err(Error::new(Code::Io, "injected"));
        }
        Ok(())
    };
    let error = bench.apply(&changes, stop).unwrap_err();
    assert_eq!(error.details()["files"], serde_json::json!(["a/1"]));
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
        assert_eq!(bench.apply(&changes, |_| Ok(())).unwrap_err().code(), code, "{prepare}");
        assert_eq!(bench.tree(), before, "{prepare}");
    }
}

/// An editor that saves by renaming a new file over the old one.
fn save(root: &Path, name: &str, text: &str) {
    fs::write(root.join("editor"), text).unwrap();
    fs::rename(root.join("editor"), root.join(name)).unwrap();
}

#[test]
fn whoever_saves_at_any_step_loses_nothing() {
    let (_, _, steps) = ends();
    for step in 0..steps {
        let bench = Bench::new();
        let root = bench.workspace.root().to_owned();
        let count = AtomicUsize::new(0);
        let edit = |_: &'static str| {
            count.fetch_add(1, Relaxed);
            if count.load(Relaxed) == step + 1 {
                save(&root, "a/2", "mine a/2");
            }
            Ok(())
        };
        let result = bench.apply(&bench.changes(), edit);
        let now = bench.tree();
        assert_eq!(now["a/2"].0, b"mine a/2", "step {step}: {result:?}");
        // Either the edit came first and stopped everything, or it came after the file had been replaced.
        assert_eq!(now["c"].0, if result.is_ok() { b"new c" } else { b"old c" }, "step {step}");
    }
}

#[test]
fn whoever_saves_while_it_is_undone_loses_nothing() {
    // A modified file, a removed one, a new one, a link.
    for name in ["a/2", "b/only", "new/deep/x", "a/turned"] {
        for step in 0.. {
            let bench = Bench::new();
            let root = bench.workspace.root().to_owned();
            let (is_undoing, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let edit = |now: &'static str| {
                if now == "write mark" {
                    is_undoing.store(1, Relaxed);
                    return Err(Error::new(Code::Io, "injected"));
                }
                if is_undoing.load(Relaxed) == 1 && count.fetch_add(1, Relaxed) == step {
                    fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
                    save(&root, name, "mine");
                }
                Ok(())
            };
            bench.apply(&bench.changes(), edit).unwrap_err();
            if count.load(Relaxed) <= step {
                break;
            }
            let now = bench.tree();
            assert_eq!(now.get(name).map(|(bytes, _)| bytes.as_slice()), Some(&b"mine"[..]), "{name} at step {step}");
            assert_eq!(now["c"].0, b"old c", "{name} at step {step}");
            assert!(!now.keys().any(|name| name.contains(".nrv")), "{name} at step {step}: {:?}", now.keys());
        }
    }
}

#[test]
fn nothing_stays_linked_into_the_pack_after_a_failure() {
    let bench = Bench::new();
    let root = bench.workspace.root().to_owned();
    let edit = |step: &'static str| {
        if step == "write patch" {
            save(&root, "a/1", "mine");
        }
        Ok(())
    };
    bench.apply(&bench.changes(), edit).unwrap_err();
    for name in ["a/1", "a/2", "b/only", "c"] {
        assert_eq!(fs::metadata(root.join(name)).unwrap().nlink(), 1, "{name}");
    }
    assert!(!bench.run_folder().join("packs/1").exists());
}

#[test]
fn a_folder_that_somebody_moves_away_makes_the_change_stale() {
    for step in ["prepare", "write patch", "before commit"] {
        let bench = Bench::new();
        let (from, to) = (bench.workspace.root().join("a"), bench.workspace.root().join("moved"));
        let moving = |now: &'static str| {
            if now == step && !to.exists() {
                fs::rename(&from, &to).unwrap();
            }
            Ok(())
        };
        assert_eq!(bench.apply(&bench.changes(), moving).unwrap_err().code(), Code::StalePreimage, "{step}");
        assert_eq!(fs::read(to.join("1")).unwrap(), b"old a/1", "{step}");
        assert_eq!(fs::read(bench.workspace.root().join("c")).unwrap(), b"old c", "{step}");
    }
}

#[test]
fn a_journal_from_elsewhere_is_not_believed() {
    let bench = Bench::new();
    let stop = |step: &'static str| {
        assert_ne!(step, "write mark", "crash");
        Ok(())
    };
    assert!(survive(|| bench.apply(&bench.changes(), stop)).is_none());
    let torn = bench.tree();
    let intent = bench.run_folder().join("journal/1.json");
    let good = fs::read_to_string(&intent).unwrap();
    for bad in [
        good.replace("\"a/1\"", "\".git/hooks/x\""),
        good.replace(".nrv-run-1-", "../nrv-run-1-"),
        good.replace("\"place\":[", "\"place\":[1"),
        good.replace("\"undoes\"", "\"more\":1,\"undoes\""),
        String::new(),
    ] {
        fs::write(&intent, bad).unwrap();
        let error = Journal::new(&bench.workspace, &bench.run_folder()).recover("1").unwrap_err();
        assert_eq!(error.code(), Code::RecordDamaged);
        assert_eq!(bench.tree(), torn);
    }
    fs::write(&intent, good).unwrap();
    Journal::new(&bench.workspace, &bench.run_folder()).recover("1").unwrap();
    assert_eq!(bench.tree(), ends().0);
}

#[test]
fn a_committed_transaction_can_be_revoked() {
    let bench = Bench::new();
    let before = bench.tree();
    bench.apply(&bench.changes(), |_| Ok(())).unwrap();
    Journal::new(&bench.workspace, &bench.run_folder()).revoke("1").unwrap();
    assert_eq!(bench.tree(), before);
    assert!(open_transactions(&bench.run_folder()).unwrap().is_empty());
}

#[test]
fn owner_mode_and_extended_attributes_go_over_to_the_new_file() {
    use std::os::unix::fs::chown;
    let bench = Bench::new();
    let file = bench.workspace.root().join("a/2");
    // Only the superuser may change an owner; for others the owner is their own before and after.
    let _ = chown(&file, Some(1234), Some(4321));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4751)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    let has_attributes = rustix::fs::setxattr(&file, "user.note", b"kept", flags).is_ok();
    let owner =
        |file: &Path| fs::metadata(file).map(|found| (found.uid(), found.gid(), found.mode() & 0o7777)).unwrap();
    let before = owner(&file);
    bench.apply(&bench.changes(), |_| Ok(())).unwrap();
    assert_eq!((owner(&file), fs::read(&file).unwrap()), (before, b"new a/2".to_vec()));
    if has_attributes {
        let mut value = [0; 8];
        assert_eq!(rustix::fs::getxattr(&file, "user.note", &mut value[..]).unwrap(), 4);
    }
    Journal::new(&bench.workspace, &bench.run_folder()).revoke("1").unwrap();
    assert_eq!((owner(&file), fs::read(&file).unwrap()), (before, b"old a/2".to_vec()));
}
