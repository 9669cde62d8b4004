//! Obstacles in a tree or on a disk: each gives a clear error, and everything stays as before.

use std::process::Command;

use super::*;

/// A file system that is mounted for a test. Where that is not permitted, the test needs `mounts` and is skipped.
struct Mount(std::path::PathBuf);

impl Mount {
    fn new(place: &Path, options: &[&str]) -> Option<Self> {
        fs::create_dir_all(place).unwrap();
        let mounted = Command::new("mount").args(options).arg(place).output();
        let mount = mounted.is_ok_and(|done| done.status.success()).then(|| Mount(place.to_owned()));
        if mount.is_none() {
            need::skip(if options.iter().any(|option| option.contains("casefold")) { "casefold" } else { "mounts" });
        }
        mount
    }

    fn in_memory(place: &Path, options: &str) -> Option<Self> {
        Mount::new(place, &["-t", "tmpfs", "-o", options, "tmpfs"])
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn edit(bench: &Bench, name: &str, text: &[u8]) -> Change {
    let before = bench.workspace.read(&path(name)).unwrap();
    Change { path: path(name), before: Some(before.stamp()), after: Some(Content::new(text.to_vec(), before.mode)) }
}

fn make(name: &str, text: &[u8]) -> Change {
    Change { path: path(name), before: None, after: Some(Content::new(text.to_vec(), 0o644)) }
}

/// Applies the changes, which must fail and leave everything as it was.
#[track_caller]
fn fails(bench: &Bench, changes: Vec<Change>, code: Code, words: &str) {
    let before = bench.tree();
    let error = bench.apply(&ChangeSet::new(changes).unwrap(), |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.message().contains(words) && error.hint_text().is_some(), "{error}: {:?}", error.hint_text());
    bench.check(&before, words);
}

#[test]
fn a_file_and_a_folder_do_not_take_each_others_place() {
    let bench = Bench::new();
    let changed = edit(&bench, "a/1", b"new");
    fails(&bench, vec![changed.clone(), make("b", b"x")], Code::Unwritable, "`b` is a folder");
    fails(&bench, vec![changed.clone(), make("c/deep/x", b"x")], Code::Unwritable, "`c` is a file where a folder");
    let became = edit(&bench, "c", b"new");
    fs::remove_file(bench.workspace.root().join("c")).unwrap();
    fs::create_dir(bench.workspace.root().join("c")).unwrap();
    fails(&bench, vec![changed, became], Code::Unwritable, "`c` is no regular file but a folder");
}

#[test]
fn a_name_that_is_too_long_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let changed = edit(&bench, "a/1", b"new");
    let name = "n".repeat(256);
    fails(&bench, vec![changed, make(&format!("new/{name}"), b"x")], Code::Unwritable, "a name of 256 bytes");
    assert_eq!(bench.workspace.stat(&path(&name)).unwrap(), None);
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let folder = scratch();
    let Some(_mount) = Mount::in_memory(folder.path(), "size=256k") else { return };
    let bench = Bench::inside(folder);
    let large = vec![b'x'; 1 << 20];
    let changes = || vec![edit(&bench, "a/1", b"small"), edit(&bench, "c", &large), make("new/x", b"small")];
    fails(&bench, changes(), Code::Io, "bytes free, and the change needs");
    fs::remove_file(bench.workspace.root().join("d")).unwrap();
    fails(&bench, vec![make("large", &large)], Code::Io, "bytes free, and the change needs");
}

#[test]
fn a_full_disk_of_the_records_leaves_everything_as_it_was() {
    let (bench, records) = (Bench::new(), scratch());
    let Some(_mount) = Mount::in_memory(records.path(), "size=64k") else { return };
    fs::create_dir_all(records.path().join("run/journal")).unwrap();
    fs::write(bench.workspace.root().join("c"), vec![b'x'; 1 << 20]).unwrap();
    let bench = Bench { elsewhere: Some(records), ..bench };
    fails(
        &bench,
        vec![edit(&bench, "a/1", b"x"), edit(&bench, "c", b"x")],
        Code::Io,
        "bytes free, and the change needs",
    );
}

#[test]
fn what_may_not_be_written_to_is_refused_before_anything_is() {
    let bench = Bench::new();
    let Some(_mount) = Mount::in_memory(&bench.workspace.root().join("m"), "size=256k") else { return };
    fs::write(bench.workspace.root().join("m/x"), "old").unwrap();
    let place = bench.workspace.root().join("m");
    let remount = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(&place).output().unwrap();
    assert!(remount.status.success());
    let changes = || vec![edit(&bench, "a/1", b"new"), edit(&bench, "m/x", b"new")];
    fails(&bench, changes(), Code::Unwritable, "`m/x` can't be written: its folder is read-only");
    fails(&bench, vec![make("m/new", b"x")], Code::Unwritable, "its folder is read-only");
}

/// Changes files on both sides of a mount, and fails and crashes at every step.
#[track_caller]
fn crosses(bench: &Bench, root: &Path) {
    fs::write(root.join("m/x"), "old").unwrap();
    let before = bench.tree();
    let removed = Change { after: None, ..edit(bench, "m/1", b"") };
    let changes = vec![edit(bench, "a/2", b"new"), make("m/new", b"x"), edit(bench, "m/x", b"new"), removed];
    let changes = ChangeSet::new(changes).unwrap();
    for step in 0.. {
        let ended = survive(|| bench.apply_with(&changes, &at(step, How::Crash)).unwrap());
        if ended.is_some() {
            break;
        }
        if is_committed(&bench.run_folder(), "1") {
            return;
        }
        bench.recover(&NoFaults).unwrap();
        bench.check(&before, "across a mount");
    }
}

#[test]
fn files_on_another_file_system_inside_the_tree_are_changed_with_the_others() {
    let bench = Bench::new();
    let root = bench.workspace.root();
    let Some(_mount) = Mount::in_memory(&root.join("m"), "size=256k") else { return };
    fs::write(root.join("m/1"), "old").unwrap();
    crosses(&bench, root);
    assert_eq!(fs::read(root.join("m/x")).unwrap(), b"new");
    assert!(!root.join("m/1").exists() && root.join("m/new").exists());
}

#[test]
fn files_behind_a_mount_of_the_same_file_system_are_changed_with_the_others() {
    let bench = Bench::new();
    let (root, behind) = (bench.workspace.root(), bench.folder.path().join("behind"));
    fs::create_dir(&behind).unwrap();
    fs::write(behind.join("1"), "old").unwrap();
    let Some(_mount) = Mount::new(&root.join("m"), &["--bind", behind.to_str().unwrap()]) else { return };
    crosses(&bench, root);
    assert_eq!(fs::read(root.join("m/x")).unwrap(), b"new");
    assert!(!root.join("m/1").exists() && root.join("m/new").exists());
}

#[test]
fn two_names_that_differ_by_case_alone_are_not_one_file_by_accident() {
    let folder = scratch();
    let Some(_mount) = Mount::in_memory(folder.path(), "size=256k,casefold") else { return };
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    if !Command::new("chattr").arg("+F").arg(&root).output().is_ok_and(|done| done.status.success()) {
        return need::skip("casefold");
    }
    let bench = Bench::inside(folder);
    let same = Change { path: path("C"), ..edit(&bench, "c", b"two") };
    fails(&bench, vec![edit(&bench, "c", b"one"), same], Code::Unwritable, "are one file here");
    fails(&bench, vec![make("N", b"1"), make("n", b"2")], Code::StalePreimage, "`n` appeared");
    fails(&bench, vec![make("A/1", b"1")], Code::StalePreimage, "`A/1` appeared");
}

#[test]
fn what_a_step_relies_on_is_on_the_disk_before_it() {
    let (_, _, steps) = ends_of(&Bench::new());
    let first = |names: &[&str]| steps.iter().position(|step| names.contains(step)).unwrap();
    let last = |names: &[&str]| steps.iter().rposition(|step| names.contains(step)).unwrap();
    let replacing = ["exchange", "move", "remove folder"];
    let between = |name: &str, from: usize, to: usize| steps[from..to].contains(&name);
    assert!(between("sync journal", first(&["place intent"]), first(&["make folder", "create", "make link"])));
    assert!(between("sync", first(&["place manifest"]), first(&replacing)), "{steps:?}");
    assert!(between("sync", last(&replacing), first(&["write mark"])), "{steps:?}");
    assert!(between("sync journal", first(&["sync mark"]), steps.len()), "{steps:?}");
}
