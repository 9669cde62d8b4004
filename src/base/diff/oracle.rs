//! Git checks our patches: `git apply` takes each rendered patch, and makes exactly the post-images.
#![expect(clippy::disallowed_methods, reason = "the judge is a program and works on files")]

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
    process::{Command, Output},
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A file before and after.
#[derive(Clone, Debug)]
pub(super) struct Change {
    path: RepoPath,
    pub(super) before: Option<Content>,
    pub(super) after: Option<Content>,
}

/// The mode of a symbolic link.
const LINK_MODE: u32 = 0o120_777;

fn render_all(changes: &[Change]) -> Vec<u8> {
    changes
        .iter()
        .flat_map(|change| {
            let (before, after) = (change.before.as_ref().map(Side::from), change.after.as_ref().map(Side::from));
            render(&change.path, before, after).unwrap().0
        })
        .collect()
}

/// Paths that need care, each used with a number in front.
pub(super) const NAMES: &[&str] = &[
    "plain.txt",
    "two words.txt",
    " lead",
    "trail ",
    "tab\there",
    "new\nline",
    "quote\"d",
    "back\\slash",
    "ü/ñ.txt",
    "日本.txt",
    "\u{1}\u{7f}",
    "x b/x",
    "a/b/c",
    "b/b",
    "per%cent",
    "~",
    "-dash",
    "'single'",
    "\u{200b}",
    "cr\rx",
];

pub(super) fn git<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Output {
    let mut command = Command::new("git");
    command.args(["-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.fileMode=true"]).args(args);
    command.current_dir(folder).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    // Without this, a repository around the temporary folder would be taken for ours.
    command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap()).output().unwrap()
}

fn put(root: &Path, path: &RepoPath, content: &Content) {
    let file = root.join(path.as_str());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    if content.mode == LINK_MODE {
        return symlink(OsStr::from_bytes(&content.bytes), &file).unwrap();
    }
    fs::write(&file, &*content.bytes).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(content.mode)).unwrap();
}

/// Writes the pre-images, lets git apply our patch, and compares the tree with the post-images.
fn apply(mut changes: Vec<Change>) -> Result<(), String> {
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let patch = render_all(&changes);
    if patch.is_empty() {
        return Ok(());
    }
    let folder = TempDir::new().unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for change in &changes {
        if let Some(before) = &change.before {
            put(&tree, &change.path, before);
        }
    }
    let file = folder.path().join("patch");
    fs::write(&file, &patch).unwrap();
    for check in [&["apply", "--check", "--whitespace=nowarn"][..], &["apply", "--whitespace=nowarn"]] {
        let args = check.iter().map(OsStr::new).chain([file.as_os_str()]);
        let output = git(&tree, args);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{said}\n{}", patch.escape_ascii().to_string().replace("\\n", "\n")));
        }
    }
    changes.iter().try_for_each(|change| is_applied(&tree, change))
}

fn is_applied(tree: &Path, change: &Change) -> Result<(), String> {
    let file = tree.join(change.path.as_str());
    let target = fs::read_link(&file).ok().map(|target| target.into_os_string().into_encoded_bytes());
    let is_link = target.is_some();
    let found = target.or_else(|| fs::read(&file).ok());
    if found.as_deref() != change.after.as_ref().map(|after| &after.bytes[..]) {
        return Err(format!("{:?}: {:?} instead of {:?}", change.path, found, change.after.as_ref().map(|a| &a.bytes)));
    }
    let execute = |mode: u32| mode & 0o100 != 0;
    match &change.after {
        Some(after) if is_link != (after.mode == LINK_MODE) => Err(format!("{:?}: wrong type", change.path)),
        Some(_) if is_link => Ok(()),
        Some(after) if execute(fs::metadata(&file).unwrap().permissions().mode()) != execute(after.mode) => {
            Err(format!("{:?}: wrong mode", change.path))
        }
        Some(_) | None => Ok(()),
    }
}

/// Few different lines, so that contents share many of them.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        4 => prop::sample::select(vec!["", "a", "b", "c", "-- x", "++ y", "@@ -1 +1 @@", "\\ No newline at end of file"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec((1..=255u8).prop_filter("no line end", |byte| *byte != b'\n'), 0..6),
    ];
    let end = prop_oneof![6 => Just("\n"), 3 => Just("\r\n"), 1 => Just("\r"), 1 => Just("")];
    (text, end).prop_map(|(text, end)| [text, end.as_bytes().to_vec()].concat())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(line(), 0..24).prop_map(|lines| lines.concat())
}

/// A content and an edit of it: some lines removed, replaced or added.
pub(super) fn pair() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..3usize, text()), 0..4);
    let near = (text(), edits).prop_map(|(before, edits)| {
        let mut lines: Vec<Vec<u8>> = line::split(&before).into_iter().map(<[u8]>::to_vec).collect();
        for (at, removed, added) in edits {
            let start = at.index(lines.len() + 1);
            let end = (start + removed).min(lines.len());
            lines.splice(start..end, line::split(&added).into_iter().take(2).map(<[u8]>::to_vec));
        }
        (before, lines.concat())
    });
    prop_oneof![3 => near, 1 => (text(), text())]
}

pub(super) fn change() -> impl Strategy<Value = (usize, Change)> {
    let mode = || prop_oneof![6 => Just(0o644), 2 => Just(0o755), 2 => Just(0o600), 1 => Just(LINK_MODE)];
    let exists = prop_oneof![8 => Just((true, true)), 1 => Just((false, true)), 1 => Just((true, false))];
    (0..NAMES.len(), pair(), mode(), mode(), exists).prop_map(|(name, (before, after), old, new, exists)| {
        let content = |exists: bool, bytes: Vec<u8>, mode: u32| match mode {
            // A link has a target.
            LINK_MODE => exists.then(|| Content::new([&b"x"[..], &bytes[..bytes.len().min(9)]].concat(), mode)),
            _ => exists.then(|| Content::new(bytes, mode)),
        };
        let path = RepoPath::parse("placeholder").unwrap();
        (name, Change { path, before: content(exists.0, before, old), after: content(exists.1, after, new) })
    })
}

/// Many changes at once, because starting git costs more than applying a patch.
fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(change(), 1..30).prop_map(|list| {
        let path = |at: usize, name: usize| RepoPath::parse(&format!("{at}{}", NAMES[name])).unwrap();
        list.into_iter().enumerate().map(|(at, (name, change))| Change { path: path(at, name), ..change }).collect()
    })
}

/// The length of the longest common subsequence.
fn common(old: &[&[u8]], new: &[&[u8]]) -> usize {
    let mut row = vec![0; new.len() + 1];
    for a in old {
        let mut diagonal = 0;
        for (at, b) in new.iter().enumerate() {
            let best = if a == b { diagonal + 1 } else { row[at].max(row[at + 1]) };
            diagonal = std::mem::replace(&mut row[at + 1], best);
        }
    }
    row[new.len()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_makes_the_post_images_of_what_we_render(changes in changes()) {
        apply(changes).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn counts_and_runs_are_consistent((before, after) in pair()) {
        let (old, new) = (line::split(&before), line::split(&after));
        let runs = line::compare(&old, &new);
        let mut rebuilt: Vec<&[u8]> = Vec::new();
        let mut at = 0;
        for run in &runs {
            rebuilt.extend(&old[at..run.before.start]);
            prop_assert_eq!(rebuilt.len(), run.after.start);
            rebuilt.extend(&new[run.after.clone()]);
            at = run.before.end;
        }
        rebuilt.extend(&old[at..]);
        prop_assert_eq!(rebuilt.concat(), after.clone());
        let lines = count(&before, &after);
        prop_assert_eq!(lines.removed as usize, old.len() - common(&old, &new), "no line goes that could stay");
        prop_assert_eq!(new.len() as u64 + lines.removed, old.len() as u64 + lines.added);
    }
}

#[test]
fn every_awkward_name_is_created_edited_chmodded_and_removed() {
    let content = |text: &str, mode: u32| Some(Content::new(text.into(), mode));
    let kinds = [
        (None, content("x\n", 0o644)),
        (None, content("", 0o755)),
        (content("x\n", 0o644), content("y", 0o755)),
        (content("x\n", 0o644), content("x\n", 0o755)),
        (content("", 0o644), content("y\n", 0o644)),
        (content("y\n", 0o644), content("", 0o644)),
        (content("", 0o644), None),
        (content("x", 0o755), None),
    ];
    for (before, after) in kinds {
        let change =
            |name: &&str| Change { path: RepoPath::parse(name).unwrap(), before: before.clone(), after: after.clone() };
        let clash = |name: &&&str| !matches!(**name, "b/b" | "a/b/c");
        apply(NAMES.iter().filter(clash).map(change).collect()).unwrap();
    }
}

/// The names on the header lines are git's own, byte for byte.
#[test]
fn headers_are_those_of_git_diff() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    assert!(git(root, ["init", "-q"]).status.success());
    let mut changes: Vec<Change> = NAMES
        .iter()
        .map(|name| Change {
            path: RepoPath::parse(name).unwrap(),
            before: Some(Content::new(b"1\n2\n3\n4\nold\n".to_vec(), 0o644)),
            after: Some(Content::new(b"1\n2\n3\n4\nnew".to_vec(), 0o755)),
        })
        .collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes.iter().for_each(|change| put(root, &change.path, change.before.as_ref().unwrap()));
    assert!(git(root, ["add", "-A"]).status.success());
    changes.iter().for_each(|change| put(root, &change.path, change.after.as_ref().unwrap()));
    let theirs = git(root, ["diff", "--no-ext-diff", "--no-color"]).stdout;
    let theirs: Vec<&[u8]> = line::split(&theirs).into_iter().filter(|line| !line.starts_with(b"index ")).collect();
    assert_eq!(String::from_utf8_lossy(&render_all(&changes)), String::from_utf8_lossy(&theirs.concat()));
}
