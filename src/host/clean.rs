//! A clean start: are there uncommitted changes under the globs that the run may write? And which commit is it?
//!
//! Without git nothing is dirty: there the hashes of pre-images alone decide whether a change may be applied.

use std::collections::{BTreeMap, BTreeSet};

use super::Context;
use crate::{
    error::{Code, Error},
    hash::Sha256,
    journal::Manifest,
    path::RepoPath,
    process::{Command, Program, capture},
    workspace::Globs,
};

/// What git says of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GitState {
    /// The commit; none without git or before the first commit.
    pub(super) head: Option<String>,
    /// Modified and untracked files, relative to the workspace.
    changed: BTreeSet<RepoPath>,
}

/// Asks git. A folder that belongs to no repository, or a machine without git, has nothing changed.
pub(super) fn git_state(context: &Context) -> Result<GitState, Error> {
    let in_repository = context.workspace.root().ancestors().any(|folder| folder.join(".git").exists());
    if !in_repository {
        return Ok(GitState::default());
    }
    let Some(prefix) = git(context, &["rev-parse", "--show-prefix"])? else { return Ok(GitState::default()) };
    let prefix = String::from_utf8_lossy(&prefix).trim_end_matches('\n').to_owned();
    let arguments = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--", "."];
    let Some(status) = git(context, &arguments)? else { return Ok(GitState::default()) };
    Ok(parse(&String::from_utf8_lossy(&status), &prefix))
}

/// Changed files under the globs whose content no run of this workspace left there.
pub(super) fn dirty(context: &Context, state: &GitState, globs: &Globs) -> Result<Vec<RepoPath>, Error> {
    let mut suspects = BTreeMap::new();
    for path in state.changed.iter().filter(|path| globs.matches(path)) {
        // A path that vanished or can't be read is dirty, whatever is recorded.
        suspects.insert(path.clone(), context.workspace.read(path).ok().map(|content| content.sha256));
    }
    if !suspects.is_empty() {
        forgive_recorded(context, &mut suspects)?;
    }
    Ok(suspects.into_keys().collect())
}

/// Takes out what is the post-image of a recorded transaction.
fn forgive_recorded(context: &Context, suspects: &mut BTreeMap<RepoPath, Option<Sha256>>) -> Result<(), Error> {
    for id in context.runs.list()?.iter().rev() {
        let folder = context.runs.open(id)?;
        for record in folder.records().unwrap_or_default() {
            let manifests = record.files.iter().filter(|file| file.path.ends_with("/manifest.json"));
            for file in manifests {
                let Ok(bytes) = folder.read(&file.path) else { continue };
                let Ok(manifest) = serde_json::from_slice::<Manifest>(&bytes) else { continue };
                for entry in manifest.entries {
                    let post = entry.after.map(|stamp| stamp.sha256);
                    if suspects.get(&entry.path).is_some_and(|found| *found == post) {
                        suspects.remove(&entry.path);
                    }
                }
            }
        }
        if suspects.is_empty() {
            break;
        }
    }
    Ok(())
}

/// The error for a tree with uncommitted changes.
pub(super) fn dirty_tree(paths: &[RepoPath]) -> Error {
    let names: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
    let shown = names.iter().take(5).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
    Error::new(Code::DirtyTree, format!("the tree has uncommitted changes: {shown}{more}"))
        .detail("files", names)
        .hint("commit or stash them, or start with `--allow-dirty`")
}

/// Runs git in the workspace; none if there is no git or no repository.
fn git(context: &Context, arguments: &[&str]) -> Result<Option<Vec<u8>>, Error> {
    let fixed = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-optional-locks"];
    let command = Command {
        program: Program::Path("git".into()),
        args: fixed.iter().chain(arguments).map(Into::into).collect(),
        cwd: Some(context.workspace.root().to_owned()),
        env: context.options.environment.clone(),
        stdin: Vec::new(),
        timeout_ms: 60_000,
        max_output: 256 << 20,
    };
    let Ok(captured) = capture(command, Some(context.options.cancel.as_ref())) else { return Ok(None) };
    context.check_cancelled()?;
    if captured.status == Some(0) && !captured.truncated {
        return Ok(Some(captured.stdout));
    }
    let said = String::from_utf8_lossy(&captured.stderr);
    let said = said.lines().next().unwrap_or("it gave no reason");
    Err(Error::new(Code::DirtyTree, format!("git can't say whether the tree is clean: {said}"))
        .hint("make `git status` work here, or start with `--allow-dirty`"))
}

/// Reads `git status --porcelain=v2 --branch -z`, whose paths are relative to the repository.
fn parse(status: &str, prefix: &str) -> GitState {
    let mut state = GitState::default();
    for entry in status.split('\0') {
        let path = match entry.split_once(' ') {
            Some(("#", rest)) => {
                if let Some(head) = rest.strip_prefix("branch.oid ").filter(|head| *head != "(initial)") {
                    state.head = Some(head.to_owned());
                }
                continue;
            }
            Some(("1", rest)) => rest.splitn(8, ' ').nth(7),
            Some(("u", rest)) => rest.splitn(10, ' ').nth(9),
            Some(("?", rest)) => Some(rest),
            _ => None,
        };
        let inside = path.and_then(|path| path.strip_prefix(prefix));
        state.changed.extend(inside.and_then(|path| RepoPath::parse(path).ok()));
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_git_is_read_below_the_workspace() {
        let status = "# branch.oid 0123\0# branch.head main\0\
            1 .M N... 100644 100644 100644 aa bb sub/a b.html\0\
            u UU N... 1 2 3 4 a b c sub/both.html\0? sub/new.html\0? other/x.html\0";
        let state = parse(status, "sub/");
        assert_eq!(state.head.as_deref(), Some("0123"));
        let paths: Vec<&str> = state.changed.iter().map(RepoPath::as_str).collect();
        assert_eq!(paths, ["a b.html", "both.html", "new.html"]);
        assert_eq!(parse("# branch.oid (initial)\0", "").head, None);
    }
}
