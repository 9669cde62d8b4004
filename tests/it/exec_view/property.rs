//! Random operations on random trees: the changes read back from a view turn the tree into the one that the same operations
//! make of a plain folder.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use nrv::{
    base::{change::Content, path::RepoPath},
    service::exec::Done,
    system::workspace::Overlay,
};
use proptest::prelude::*;

use super::command::{Setting, Snapshot, WAYS, snapshot};

/// A line of a shell's script. Impossible ones are skipped.
fn operation() -> impl Strategy<Value = String> {
    let words = (0..13_usize, path(), path(), "[xyz]{1,3}", prop::sample::select(vec!["600", "644", "755"]));
    words.prop_map(|(kind, a, b, text, mode)| match kind {
        0 | 1 => edit(&a, &text),
        2 => format!("echo {text} >> {a}"),
        3 => format!("rm -f {a}"),
        4 => format!("rm -rf {a}"),
        5 | 6 => format!("mv -T {a} {b}"),
        7 => format!("mv {a} {b}"),
        8 => format!("rm -rf {a}; mkdir -p {a}; echo {text} > {a}/{text}"),
        9 => format!("rm -rf {a}; echo {text} > {a}"),
        10 => format!("ln -sfn {text} {a}"),
        11 => format!("ln {a} {b}"),
        // The result of copying a folder into itself depends on the order in which its entries are read.
        _ if format!("{b}/").starts_with(&format!("{a}/")) => format!("touch {a}"),
        _ => format!("[ -f {a} ] && chmod {mode} {a} || cp -a {a} {b}"),
    })
}

fn edit(path: &str, text: &str) -> String {
    format!("mkdir -p $(dirname {path}) && echo {text} > {path}")
}

/// An operation that leaves folders where they are, as a run's own changes do.
fn proposal() -> impl Strategy<Value = String> {
    (any::<bool>(), path(), "[xyz]{1,3}").prop_map(|(is_edit, path, text)| match is_edit {
        true => edit(&path, &text),
        false => format!("rm -f {path}"),
    })
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4).prop_map(|parts| parts.join("/"))
}

fn script(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{{ {line}; }} 2>/dev/null\n")).collect::<String>() + "true\n"
}

/// The same operation without a hard link: a file with two names in the tree is two files in a copied view.
fn without_hard_link(line: &str) -> String {
    match line.strip_prefix("ln ").filter(|rest| !rest.starts_with('-')) {
        Some(names) => format!("cp {names}"),
        None => line.to_owned(),
    }
}

/// Runs a script on a plain folder.
fn plainly(folder: &Path, lines: &[String]) {
    let mut command = Command::new("/bin/sh");
    let status = command.arg("-c").arg(script(lines)).current_dir(folder).stdin(Stdio::null()).status().unwrap();
    assert!(status.success());
}

/// The overlay of a proposal on a tree.
fn overlay(before: &Snapshot, after: &Snapshot) -> Overlay {
    let mut overlay = Overlay::new();
    for path in before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)) {
        let content = after.get(path).map(|(mode, bytes)| Content::new(bytes.clone(), *mode));
        overlay.insert(RepoPath::parse(path).unwrap(), content);
    }
    overlay
}

/// Applies an overlay to a folder as a run does to the tree: folders that become empty are removed too.
fn lay(root: &Path, overlay: &Overlay) {
    for (path, _) in overlay.iter().filter(|(_, content)| content.is_none()) {
        fs::remove_file(root.join(path.as_str())).unwrap();
        let above = Path::new(path.as_str()).ancestors().skip(1).filter(|folder| *folder != Path::new(""));
        above.map(|folder| fs::remove_dir(root.join(folder))).take_while(Result::is_ok).for_each(drop);
    }
    for (path, content) in overlay.iter() {
        let Some(content) = content else { continue };
        let place = root.join(path.as_str());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&place);
        fs::write(&place, &*content.bytes).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(content.mode)).unwrap();
    }
}

/// A copy of a folder.
fn copied(root: &Path) -> Setting {
    let copy = Setting::empty();
    fs::remove_dir(copy.root()).unwrap();
    let status = Command::new("cp").arg("-a").arg(root).arg(copy.root()).status().unwrap();
    assert!(status.success());
    copy
}

fn applied(mut tree: Snapshot, done: &Done) -> Snapshot {
    for change in done.changes.changes() {
        let before = tree.remove(change.path.as_str());
        assert_eq!(before.map(|(mode, bytes)| Content::new(bytes, mode).stamp()), change.before, "{}", change.path);
        if let Some(after) = &change.after {
            tree.insert(change.path.to_string(), (after.mode, after.bytes.to_vec()));
        }
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::support::long::pick(4, 120), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_change_set_makes_of_the_tree_what_the_command_made_of_its_view(
        first in prop::collection::vec(operation(), 4..20),
        proposed in prop::collection::vec(proposal(), 0..5),
        operations in prop::collection::vec(operation(), 1..12),
    ) {
        let setting = Setting::empty();
        let first: Vec<String> = first.iter().map(|line| without_hard_link(line)).collect();
        plainly(setting.root(), &first);
        let tree = setting.snapshot();
        let plan = copied(setting.root());
        plainly(plan.root(), &proposed);
        let overlay = overlay(&tree, &plan.snapshot());
        let other = copied(setting.root());
        lay(other.root(), &overlay);
        let base = other.snapshot();
        plainly(other.root(), &operations);
        let expected = snapshot(other.root());
        for way in WAYS {
            let command = setting.shell(&script(&operations)).writes(&["**"]).over(&overlay).dry_run();
            let done = command.run(way).unwrap();
            prop_assert_eq!(&applied(base.clone(), &done), &expected, "{:?}", way);
            prop_assert_eq!(&setting.snapshot(), &tree, "{:?}: the tree was written", way);
        }
    }
}
