//! The set-up of a workspace: a policy, a working script, and an entry for `.runs` in the ignore file.
//!
//! The changes are proposed here as plain data, and the journal writes them. The set-up of a workspace changes no existing file
//! except the ignore file, to which it adds a line.

mod budget;
mod commands;
mod hook;

use std::path::Path;

use serde::Serialize;

use self::commands::Found;
pub use self::hook::{Hook, HookState, Installed, installed_hook, propose_hook, remove_hook};
use crate::change::render::render;
use base::{
    change::{Change, ChangeSet, Content},
    error::{Code, Error},
    path::{RepoPath, protected::RUNS},
};
use system::{
    journal::{self, Target},
    policy,
    workspace::{Kind, Overlay, View, Workspace},
};

/// The script that a new workspace has.
pub const FIRST_SCRIPT: &str = "scripts/migrate_links.rhai";

const POLICY: &str = include_str!("policy.toml");
const SCRIPT: &str = include_str!("migrate_links.rhai");
const APPROVALS: &str = "nrv.lock";
const IGNORE_FILE: &str = ".gitignore";
const MODE: u32 = 0o644;

/// The changes that a set-up makes, and the files that it leaves as they are.
#[derive(Debug)]
pub struct SetUp {
    /// Files to be made, and the ignore file with a line more.
    pub changes: ChangeSet,
    /// The files that are left as they are, in the order in which they would have been written.
    pub kept: Vec<Kept>,
    /// The changes as a patch.
    pub patch: Vec<u8>,
    /// The protected files that the user named to be written; none of those that no policy permits.
    pub named: Vec<String>,
}

/// A file that a set-up leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The file.
    pub path: RepoPath,
    /// Why.
    pub reason: String,
}

/// Looks at what is there, in the user's home for toolchains, and in the folders of `path` for programs, and proposes the rest.
pub fn propose_set_up(workspace: &Workspace, home: Option<&Path>, path: Option<&str>) -> Result<SetUp, Error> {
    let mut changes = Vec::new();
    let mut kept = Vec::new();
    let policy = policy_text(&Found::look(workspace, home, path), budget::files(workspace));
    for (name, text) in [(policy::FILE, policy.as_str()), (FIRST_SCRIPT, SCRIPT)] {
        let path = RepoPath::parse(name)?;
        match obstacle(workspace, &path)? {
            Some(reason) => kept.push(Kept { path, reason }),
            None => changes.push(made(path, text)),
        }
    }
    match ignore_file(workspace)? {
        Ok(change) => changes.push(change),
        Err(reason) => kept.push(Kept { path: RepoPath::parse(IGNORE_FILE)?, reason }),
    }
    Ok(SetUp { kept, ..propose_files(workspace, changes)? })
}

/// The text of a new policy for a repository with this number of files.
fn policy_text(found: &Found, files: u64) -> String {
    format!("{}\n{}", POLICY.replace("BUDGET\n", &budget::lines(files)), found.section())
}

/// Proposes changes of files.
pub fn propose_files(workspace: &Workspace, changes: Vec<Change>) -> Result<SetUp, Error> {
    let changes = ChangeSet::new(changes)?;
    let nothing = Overlay::new();
    let mut patch = Vec::new();
    for change in changes.changes() {
        patch.extend(render(View::new(workspace, &nothing), change)?.0);
    }
    Ok(SetUp { changes, kept: Vec::new(), patch, named: Vec::new() })
}

/// Proposes new files with these texts; none of them may be there.
pub fn propose_texts(workspace: &Workspace, files: &[(String, String)]) -> Result<SetUp, Error> {
    let (mut changes, mut kept) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let path = RepoPath::parse(name)?;
        match obstacle(workspace, &path)? {
            Some(reason) => kept.push(Kept { path, reason }),
            None => changes.push(made(path, text)),
        }
    }
    Ok(SetUp { changes: ChangeSet::new(changes)?, kept, patch: Vec::new(), named: Vec::new() })
}

/// Proposes the file of approvals with this text, made from the one that was seen, which it replaces.
///
/// `stale_preimage` if it is another one by now.
pub fn propose_approvals(workspace: &Workspace, seen: Option<&str>, text: &str) -> Result<SetUp, Error> {
    let path = RepoPath::parse(APPROVALS)?;
    let before = approvals(workspace, &path, seen)?;
    let mode = before.as_ref().map_or(MODE, |before| before.mode);
    let before = before.map(|before| before.stamp());
    propose_files(workspace, vec![Change { path, before, after: Some(Content::new(text.into(), mode)) }])
}

/// Takes a change of the file of approvals back: in place of the one that was seen it has this text again, or there is none.
///
/// `stale_preimage` if it is another one by now.
pub fn take_back_approvals(workspace: &Workspace, seen: &str, before: Option<&str>) -> Result<(), Error> {
    if let Some(text) = before {
        return set_up(workspace, &propose_approvals(workspace, Some(seen), text)?);
    }
    let path = RepoPath::parse(APPROVALS)?;
    match approvals(workspace, &path, Some(seen))? {
        Some(now) => journal::take_back(workspace, &path, &now.stamp()),
        None => Ok(()),
    }
}

/// The file of approvals, which must be the one that was seen.
fn approvals(workspace: &Workspace, path: &RepoPath, seen: Option<&str>) -> Result<Option<Content>, Error> {
    let found = match workspace.stat(path)? {
        Some(_) => Some(workspace.read(path)?),
        None => None,
    };
    if found.as_ref().map(|found| found.bytes.as_slice()) != seen.map(str::as_bytes) {
        return Err(Error::new(Code::StalePreimage, format!("`{APPROVALS}` changed meanwhile; nothing was written"))
            .hint("another command wrote it; run this one again"));
    }
    Ok(found)
}

/// Writes what was proposed, all of it or nothing.
pub fn set_up(workspace: &Workspace, proposed: &SetUp) -> Result<(), Error> {
    journal::set_up(workspace, &Target::of(&proposed.changes), &proposed.named).map_err(|error| match error.code() {
        Code::Io | Code::Unwritable => {
            error.hint("nothing was changed; make the folder writable, or choose another one with `--root`")
        }
        _ => error,
    })
}

fn made(path: RepoPath, text: &str) -> Change {
    Change { path, before: None, after: Some(Content::new(text.into(), MODE)) }
}

/// Why a file can't be made; none if nothing is in its way.
fn obstacle(workspace: &Workspace, path: &RepoPath) -> Result<Option<String>, Error> {
    let mut way = String::new();
    for part in path.components() {
        way.push_str(part);
        let step = RepoPath::parse(&way)?;
        match workspace.stat(&step)?.map(|found| found.kind) {
            None => return Ok(None),
            Some(Kind::Folder) if step != *path => {}
            Some(_) if step == *path => return Ok(Some("it is there already".to_owned())),
            Some(kind) => return Ok(Some(format!("`{step}` is a {}", kind.noun()))),
        }
        way.push('/');
    }
    Ok(None)
}

/// The ignore file with a line for `.runs`, or why it stays as it is.
fn ignore_file(workspace: &Workspace) -> Result<Result<Change, String>, Error> {
    let path = RepoPath::parse(IGNORE_FILE)?;
    if workspace.ignores(&RepoPath::parse(RUNS)?) {
        return Ok(Err(format!("git ignores `{RUNS}` already")));
    }
    let yourself = |why: &str| Ok(Err(format!("{why}; add the line `{RUNS}/` yourself")));
    match workspace.stat(&path)?.map(|found| found.kind) {
        None => return Ok(Ok(made(path, &format!("{RUNS}/\n")))),
        Some(Kind::File) => {}
        Some(kind) => return yourself(&format!("it is a {}", kind.noun())),
    }
    let before = workspace.read(&path)?;
    let after = Content::new(with_line(&before.bytes), before.mode);
    let target = Target { path: &path, before: Some(before.stamp()), after: Some(&after) };
    match journal::preflight(workspace, &target) {
        Err(error) if error.code() == Code::Unwritable => yourself(error.message()),
        Err(error) => Err(error),
        Ok(()) => Ok(Ok(Change { path, before: Some(before.stamp()), after: Some(after) })),
    }
}

/// The text with one line more, which ends as the line before it does.
fn with_line(text: &[u8]) -> Vec<u8> {
    let end: &[u8] = if text.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let mut new = text.to_vec();
    if !text.is_empty() && !text.ends_with(b"\n") {
        new.extend_from_slice(end);
    }
    new.extend_from_slice(format!("{RUNS}/").as_bytes());
    new.extend_from_slice(end);
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::policy::{FILE, Policy};

    #[test]
    fn the_policy_says_what_holds_anyway() {
        for files in [0, 1, 4000] {
            let written = Policy::parse(&policy_text(&Found::default(), files), FILE).unwrap();
            assert_eq!(written.settings(), Policy::default().settings());
        }
    }

    #[test]
    fn what_the_policy_only_shows_can_be_used() {
        let shown = POLICY.lines().filter_map(|line| line.strip_prefix("# "));
        let shown: Vec<&str> = shown.filter(|line| line.starts_with('[') || line.contains(" = ")).collect();
        let [table, keys @ ..] = shown.as_slice() else { panic!("{shown:?}") };
        let keys: Vec<&str> = keys.iter().copied().filter(|line| !line.contains('`')).collect();
        let policy = Policy::parse(&format!("{table}\n{}", keys.join("\n")), FILE).unwrap();
        assert!(policy.settings().llm.providers.contains_key("local"));
    }

    #[test]
    fn approvals_that_another_command_wrote_are_neither_replaced_nor_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let stale = |result: Result<(), Error>| assert_eq!(result.unwrap_err().code(), Code::StalePreimage);
        let write = |seen, text| set_up(&workspace, &propose_approvals(&workspace, seen, text)?);
        write(None, "one").unwrap();
        stale(write(None, "two"));
        write(Some("one"), "one and two").unwrap();
        stale(write(Some("one"), "one and three"));
        stale(take_back_approvals(&workspace, "one", None));
        take_back_approvals(&workspace, "one and two", Some("one")).unwrap();
        stale(take_back_approvals(&workspace, "one and two", Some("")));
        take_back_approvals(&workspace, "one", None).unwrap();
        stale(write(Some("one"), "two"));
        write(None, "two").unwrap();
    }

    #[test]
    fn a_line_is_added_and_nothing_else_changes() {
        for (before, after) in [
            ("", ".runs/\n"),
            ("a\n", "a\n.runs/\n"),
            ("a", "a\n.runs/\n"),
            ("a\r\nb", "a\r\nb\r\n.runs/\r\n"),
            ("a\r\n", "a\r\n.runs/\r\n"),
            ("\u{fc}\n\n", "\u{fc}\n\n.runs/\n"),
        ] {
            assert_eq!(with_line(before.as_bytes()), after.as_bytes(), "{before:?}");
        }
    }
}
