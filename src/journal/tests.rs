//! Transactions that fail, crash and race at every step.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        ffi::OsStringExt,
        fs::{PermissionsExt, symlink},
    },
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::{Guards, Target, Transaction, apply, discard, open_transactions, recover, settle};
use crate::{
    change::{Change, ChangeSet, Content, LINK},
    error::{Code, Error},
    path::RepoPath,
    workspace::Workspace,
};

/// Links that a transaction meets: `gone` is removed, `file` becomes one, `turned` leads elsewhere afterwards.
const LINKS: [(&str, &str); 3] = [("a/gone", "/etc/passwd"), ("a/file", "../c"), ("a/turned", "1")];

struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

type Tree = BTreeMap<String, (Vec<u8>, u32)>;

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
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
        Bench { folder, workspace }
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

    fn apply(
        &self,
        changes: &ChangeSet,
        fault: &(dyn Fn(&'static str) -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let run_folder = self.run_folder();
        let transaction = Transaction {
            run_folder: &run_folder,
            name: "1",
            position: "3",
            patch: b"patch",
            undoes: false,
            threads: 1,
        };
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

/// The tree before and after, and how many steps lead from one to the other.
fn ends() -> (Tree, Tree, usize) {
    let bench = Bench::new();
    let before = bench.tree();
    let steps = AtomicUsize::new(0);
    let count = |_: &'static str| {
        steps.fetch_add(1, Relaxed);
        Ok(())
    };
    bench.apply(&bench.changes(), &count).unwrap();
    (before, bench.tree(), steps.into_inner())
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
        let error = bench.apply(&ChangeSet::new(vec![change]).unwrap(), &|_| Ok(())).unwrap_err();
        assert_eq!(error.code(), code, "{target}");
        assert!(fs::symlink_metadata(bench.workspace.root().join("l")).is_err());
    }
    // What stood there before the run is no new link: see `a/gone` in every test that undoes.
    let gone = Content::link(b"/etc/passwd".to_vec());
    let target = Target { path: &path, before: None, after: Some(&gone) };
    let folder = bench.run_folder();
    let undo = Transaction { run_folder: &folder, name: "2", position: "", patch: b"", undoes: true, threads: 1 };
    apply(&bench.workspace, &undo, &[target], &Guards { before_commit: &|| Ok(()), fault: &|_| Ok(()) }).unwrap();
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
        assert_eq!(bench.apply(&changes, &|_| Ok(())).unwrap_err().code(), Code::InvalidPath);
        assert_eq!(bench.tree(), before);
    }
}

#[test]
fn a_failure_at_any_step_leaves_the_tree_as_it_was() {
    let (before, _, steps) = ends();
    for step in 0..steps {
        let bench = Bench::new();
        let count = AtomicUsize::new(0);
        let fail = |_: &'static str| {
            count.fetch_add(1, Relaxed);
            if count.load(Relaxed) > step { Err(Error::new(Code::Io, "injected")) } else { Ok(()) }
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
        let count = AtomicUsize::new(0);
        let crash = |_: &'static str| {
            count.fetch_add(1, Relaxed);
            assert!(count.load(Relaxed) <= step, "crash");
            Ok(())
        };
        catch_unwind(AssertUnwindSafe(|| bench.apply(&changes, &crash))).unwrap_err();
        for transaction in open_transactions(&bench.run_folder()).unwrap() {
            let recovered = recover(&bench.workspace, &bench.run_folder(), &transaction).unwrap();
            assert!(!recovered.committed && recovered.foreign.is_empty(), "step {step}");
            discard(&bench.run_folder(), &transaction, &recovered).unwrap();
            settle(&bench.run_folder(), &transaction).unwrap();
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
    assert_eq!((recovered.entries.len(), recovered.position.as_str()), (10, "3"));
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
        assert_eq!(bench.apply(&changes, &|_| Ok(())).unwrap_err().code(), code, "{prepare}");
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
        let result = bench.apply(&bench.changes(), &edit);
        let now = bench.tree();
        assert_eq!(now["a/2"].0, b"mine a/2", "step {step}: {result:?}");
        // Either the edit came first and stopped everything, or it came after the file had been replaced.
        assert_eq!(now["c"].0, if result.is_ok() { b"new c" } else { b"old c" }, "step {step}");
    }
}

#[test]
fn nothing_stays_linked_into_the_pack_after_a_failure() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new();
    let root = bench.workspace.root().to_owned();
    let edit = |step: &'static str| {
        if step == "journal" {
            save(&root, "a/1", "mine");
        }
        Ok(())
    };
    bench.apply(&bench.changes(), &edit).unwrap_err();
    for name in ["a/1", "a/2", "b/only", "c"] {
        assert_eq!(fs::metadata(root.join(name)).unwrap().nlink(), 1, "{name}");
    }
    assert!(!bench.run_folder().join("packs/1").exists());
}

#[test]
fn a_folder_that_somebody_moves_away_makes_the_change_stale() {
    for step in ["pre-image", "stage", "replace"] {
        let bench = Bench::new();
        let (from, to) = (bench.workspace.root().join("a"), bench.workspace.root().join("moved"));
        let moving = |now: &'static str| {
            if now == step && !to.exists() {
                fs::rename(&from, &to).unwrap();
            }
            Ok(())
        };
        assert_eq!(bench.apply(&bench.changes(), &moving).unwrap_err().code(), Code::StalePreimage, "{step}");
        assert_eq!(fs::read(to.join("1")).unwrap(), b"old a/1", "{step}");
        assert_eq!(fs::read(bench.workspace.root().join("c")).unwrap(), b"old c", "{step}");
    }
}

#[test]
fn a_journal_from_elsewhere_is_not_believed() {
    let bench = Bench::new();
    let stop = |step: &'static str| {
        assert_ne!(step, "sync", "crash");
        Ok(())
    };
    std::panic::set_hook(Box::new(|_| {}));
    catch_unwind(AssertUnwindSafe(|| bench.apply(&bench.changes(), &stop))).unwrap_err();
    let _ = std::panic::take_hook();
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
        let error = recover(&bench.workspace, &bench.run_folder(), "1").unwrap_err();
        assert_eq!(error.code(), Code::RecordDamaged);
        assert_eq!(bench.tree(), torn);
    }
    fs::write(&intent, good).unwrap();
    recover(&bench.workspace, &bench.run_folder(), "1").unwrap();
    assert_eq!(bench.tree(), ends().0);
}

#[test]
fn a_committed_transaction_can_be_revoked() {
    let bench = Bench::new();
    let before = bench.tree();
    bench.apply(&bench.changes(), &|_| Ok(())).unwrap();
    crate::journal::revoke(&bench.workspace, &bench.run_folder(), "1").unwrap();
    assert_eq!(bench.tree(), before);
    assert!(open_transactions(&bench.run_folder()).unwrap().is_empty());
}

#[test]
fn owner_mode_and_extended_attributes_go_over_to_the_new_file() {
    use std::os::unix::fs::{MetadataExt, chown};
    let bench = Bench::new();
    let file = bench.workspace.root().join("a/2");
    // Only the superuser may give a file away; for others the owner is their own before and after.
    let _ = chown(&file, Some(1234), Some(4321));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4751)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    let has_attributes = rustix::fs::setxattr(&file, "user.note", b"kept", flags).is_ok();
    let owner =
        |file: &Path| fs::metadata(file).map(|found| (found.uid(), found.gid(), found.mode() & 0o7777)).unwrap();
    let before = owner(&file);
    bench.apply(&bench.changes(), &|_| Ok(())).unwrap();
    assert_eq!((owner(&file), fs::read(&file).unwrap()), (before, b"new a/2".to_vec()));
    if has_attributes {
        let mut value = [0; 8];
        assert_eq!(rustix::fs::getxattr(&file, "user.note", &mut value[..]).unwrap(), 4);
    }
    crate::journal::revoke(&bench.workspace, &bench.run_folder(), "1").unwrap();
    assert_eq!((owner(&file), fs::read(&file).unwrap()), (before, b"old a/2".to_vec()));
}
