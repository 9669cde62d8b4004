//! A clean start: are there uncommitted changes under the globs that the run may write? And which commit is it?
//!
//! Without git nothing is dirty: there the hashes of pre-images alone decide whether a change may be applied.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::Context;
use crate::{
    change::Stamp,
    error::{Code, Error},
    hash::Sha256,
    journal::Manifest,
    path::{RepoPath, protected},
    process::{Command, Program, capture},
    workspace::Globs,
};

/// How deep repositories may lie in repositories.
const MAX_DEPTH: usize = 8;

const STATUS: [&str; 9] = [
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=none",
    "--no-renames",
    "--",
    ".",
];

/// What git says of the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GitState {
    /// The commit; none without git or before the first commit.
    pub(super) head: Option<String>,
    /// Modified and untracked files, relative to the workspace.
    changed: BTreeSet<RepoPath>,
    /// Folders that are repositories of their own; git says no more than that something in them may have changed.
    nested: BTreeSet<RepoPath>,
    /// Why git could not be asked. Only those who have to know whether the tree is clean are stopped by it.
    failure: Option<Error>,
}

/// Asks git. A folder that belongs to no repository, or a machine without git, has nothing changed.
///
/// That git fails is part of the state, and [`dirty`] tells it: most commands don't need a clean tree.
pub(super) fn git_state(context: &Context) -> Result<GitState, Error> {
    if !context.is_in_repository() {
        return Ok(GitState::default());
    }
    match ask(context) {
        Err(error) if error.code() == Code::DirtyTree => Ok(GitState { failure: Some(error), ..GitState::default() }),
        state => state,
    }
}

/// The commit alone, for those who write nothing: on a large tree that is much less to ask.
pub(super) fn head(context: &Context) -> Result<GitState, Error> {
    if !context.is_in_repository() {
        return Ok(GitState::default());
    }
    let head = match git(context, context.workspace.root(), &["rev-parse", "--verify", "--quiet", "HEAD"]) {
        Ok(head) => head.map(|head| String::from_utf8_lossy(&head).trim_end().to_owned()),
        // Before the first commit there is none.
        Err(error) if error.code() == Code::DirtyTree => None,
        Err(error) => return Err(error),
    };
    Ok(GitState { head, ..GitState::default() })
}

impl Context {
    /// True if the workspace is part of a git repository, so that it can be asked what has changed.
    pub(super) fn is_in_repository(&self) -> bool {
        self.workspace.root().ancestors().any(|folder| folder.join(".git").exists())
    }
}

fn ask(context: &Context) -> Result<GitState, Error> {
    let root = context.workspace.root();
    let Some(prefix) = git(context, root, &["rev-parse", "--show-prefix"])? else { return Ok(GitState::default()) };
    let prefix = String::from_utf8_lossy(&prefix).trim_end_matches('\n').to_owned();
    let Some(status) = git(context, root, &STATUS)? else { return Ok(GitState::default()) };
    Ok(parse(&String::from_utf8_lossy(&status), &prefix))
}

/// Changed files under the globs whose content no run of this workspace left there.
pub(super) fn dirty(context: &Context, state: &GitState, globs: &Globs) -> Result<Vec<RepoPath>, Error> {
    if let Some(failure) = &state.failure {
        return Err(failure.clone());
    }
    let mut changed = state.changed.clone();
    for folder in &state.nested {
        add_nested(context, folder, globs, (&mut changed, 1))?;
    }
    let mut suspects = BTreeMap::new();
    let mut dirty = BTreeSet::new();
    // What no run writes need not be clean, such as a policy or an approval that is about to be committed.
    let permitted = &context.policy.settings().paths.allow_protected;
    let may_be_written =
        |path: &RepoPath| globs.matches(path) && protected::write_refusal_unless(path, permitted).is_none();
    for path in changed.into_iter().filter(may_be_written) {
        match context.workspace.stamp_entry(&path) {
            Ok(stamp) => {
                suspects.insert(path, Some(content_of(&stamp)));
            }
            Err(error) if error.code() == Code::NotFound => {
                suspects.insert(path, None);
            }
            // What can't be read is dirty, whatever is recorded.
            Err(_) => {
                dirty.insert(path);
            }
        }
    }
    if !suspects.is_empty() {
        forgive_recorded(context, &mut suspects)?;
    }
    dirty.extend(suspects.into_keys());
    Ok(dirty.into_iter().collect())
}

/// Adds what has changed in a repository within the repository, as far as the globs reach into it.
fn add_nested(
    context: &Context,
    folder: &RepoPath,
    globs: &Globs,
    (changed, depth): (&mut BTreeSet<RepoPath>, usize),
) -> Result<(), Error> {
    let inside = Path::new(folder.as_str());
    let meets = |prefix: &Path| prefix.starts_with(inside) || inside.starts_with(prefix);
    if !globs.prefixes().iter().any(|prefix| meets(Path::new(prefix))) {
        return Ok(());
    }
    let root = context.workspace.root().join(folder.as_str());
    if !root.join(".git").exists() {
        // A submodule that was removed, or replaced by a file.
        changed.insert(folder.clone());
        return Ok(());
    }
    if depth > MAX_DEPTH {
        return Err(unknown(&format!("repositories lie more than {MAX_DEPTH} deep at `{folder}`")));
    }
    let Some(status) = git(context, &root, &STATUS)? else { return Ok(()) };
    let inner = parse(&String::from_utf8_lossy(&status), "");
    let outer = |path: &RepoPath| RepoPath::parse(&format!("{folder}/{path}"));
    for path in &inner.changed {
        changed.insert(outer(path)?);
    }
    for path in &inner.nested {
        add_nested(context, &outer(path)?, globs, (&mut *changed, depth + 1))?;
    }
    Ok(())
}

/// Takes out what is the post-image of a recorded transaction.
fn forgive_recorded(context: &Context, suspects: &mut BTreeMap<RepoPath, Option<(Sha256, bool)>>) -> Result<(), Error> {
    for id in context.runs.list()?.iter().rev() {
        let folder = context.runs.open(id)?;
        for record in folder.records().unwrap_or_default() {
            let manifests = record.files.iter().filter(|file| file.path.ends_with("/manifest.json"));
            for file in manifests {
                let Ok(bytes) = folder.read(&file.path) else { continue };
                let Ok(manifest) = serde_json::from_slice::<Manifest>(&bytes) else { continue };
                for entry in manifest.entries {
                    let post = entry.after.as_ref().map(content_of);
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

/// What tells contents apart: a hash, and whether it is that of a link's target.
fn content_of(stamp: &Stamp) -> (Sha256, bool) {
    (stamp.sha256, stamp.is_link())
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

/// Runs git in a folder; none if there is no git or no repository.
fn git(context: &Context, folder: &Path, arguments: &[&str]) -> Result<Option<Vec<u8>>, Error> {
    let fixed = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-optional-locks"];
    let command = Command {
        program: Program::Path("git".into()),
        args: fixed.iter().chain(arguments).map(Into::into).collect(),
        cwd: Some(folder.to_owned()),
        env: context.options.environment_of_git(),
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
    let silent = match (captured.timed_out, captured.status, captured.signal) {
        (true, ..) => "it took longer than a minute".to_owned(),
        (false, _, Some(signal)) => format!("signal {signal} ended it"),
        (false, Some(0), None) => "it says more than can be read".to_owned(),
        (false, Some(status), None) => format!("it ended with status {status} and gave no reason"),
        (false, None, None) => "it gave no reason".to_owned(),
    };
    Err(unknown(said.lines().next().unwrap_or(&silent)))
}

fn unknown(why: &str) -> Error {
    Error::new(Code::DirtyTree, format!("git can't say whether the tree is clean: {why}"))
        .hint("make `git status` work here, or start with `--allow-dirty`")
}

/// Reads `git status --porcelain=v2 --branch -z`, whose paths are relative to the repository.
fn parse(status: &str, prefix: &str) -> GitState {
    let mut state = GitState::default();
    for entry in status.split('\0') {
        let (submodule, path) = match entry.split_once(' ') {
            Some(("#", rest)) => {
                if let Some(head) = rest.strip_prefix("branch.oid ").filter(|head| *head != "(initial)") {
                    state.head = Some(head.to_owned());
                }
                continue;
            }
            Some(("1", rest)) => (is_submodule(rest), rest.splitn(8, ' ').nth(7)),
            Some(("u", rest)) => (is_submodule(rest), rest.splitn(10, ' ').nth(9)),
            Some(("?", rest)) => (false, Some(rest)),
            _ => continue,
        };
        let Some(inside) = path.and_then(|path| path.strip_prefix(prefix)) else { continue };
        // Of an untracked repository git gives the folder only, with a slash.
        let name = inside.trim_end_matches('/');
        let found = if submodule || name != inside { &mut state.nested } else { &mut state.changed };
        found.extend(RepoPath::parse(name).ok());
    }
    state
}

/// True if an entry's third field says that it is a submodule.
fn is_submodule(rest: &str) -> bool {
    rest.split(' ').nth(1).is_some_and(|field| field.starts_with('S'))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        change::{Content, Entry},
        host::Options,
        ledger::{Chain, Note},
        workspace::Workspace,
    };

    fn context(root: &Path) -> Context {
        Context::new(Workspace::open(root).unwrap(), Options::default()).unwrap()
    }

    /// A record of a transaction that left this content at a path; none: that removed it.
    fn record(context: &Context, path: &RepoPath, after: Option<Content>) {
        let run = context.runs.create(0, 1).unwrap();
        let before = Some(Content::new(b"x".to_vec(), 0o644).stamp());
        let entries = vec![Entry { path: path.clone(), before, after: after.map(|after| after.stamp()) }];
        let manifest = Manifest { transaction: "t1".to_owned(), position: "1".to_owned(), entries };
        let name = "packs/t1/manifest.json";
        run.write(name, &serde_json::to_vec(&manifest).unwrap()).unwrap();
        let note = Note { kind: "committed", files: vec![run.file_ref(name).unwrap()], ..Note::default() };
        Chain::open(&run).unwrap().append("t".to_owned(), note).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_removed() {
        let folder = tempfile::tempdir().unwrap();
        let context = context(folder.path());
        let path = RepoPath::parse("a.html").unwrap();
        let state = GitState { changed: BTreeSet::from([path.clone()]), ..GitState::default() };
        let globs = Globs::parse(&["*.html"]).unwrap();
        record(&context, &path, None);
        assert!(dirty(&context, &state, &globs).unwrap().is_empty(), "its removal is recorded");
        std::os::unix::fs::symlink("elsewhere", folder.path().join("a.html")).unwrap();
        assert_eq!(dirty(&context, &state, &globs).unwrap(), [path]);
    }

    #[test]
    fn a_link_that_a_run_left_is_not_dirty_and_no_file_stands_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let context = context(folder.path());
        let path = RepoPath::parse("l").unwrap();
        let state = GitState { changed: BTreeSet::from([path.clone()]), ..GitState::default() };
        let globs = Globs::parse(&["l"]).unwrap();
        record(&context, &path, Some(Content::link(b"there".to_vec())));
        let check = |target: Option<&str>, expected: &[RepoPath]| {
            let _ = fs::remove_file(folder.path().join("l"));
            match target {
                Some(target) => std::os::unix::fs::symlink(target, folder.path().join("l")).unwrap(),
                None => fs::write(folder.path().join("l"), "there").unwrap(),
            }
            assert_eq!(dirty(&context, &state, &globs).unwrap(), expected, "{target:?}");
        };
        check(Some("there"), &[]);
        check(Some("elsewhere"), std::slice::from_ref(&path));
        check(None, std::slice::from_ref(&path));
    }

    #[test]
    fn git_that_fails_stops_only_those_who_need_a_clean_tree() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        let context = context(folder.path());
        let state = git_state(&context).unwrap();
        let error = dirty(&context, &state, &Globs::parse(&["**"]).unwrap()).unwrap_err();
        assert_eq!((error.code(), state.head), (Code::DirtyTree, None));
    }

    #[test]
    fn the_status_of_git_is_read_below_the_workspace() {
        let status = "# branch.oid 0123\0# branch.head main\0\
            1 .M N... 100644 100644 100644 aa bb sub/a b.html\0\
            1 .M S.M. 160000 160000 160000 aa bb sub/module\0\
            u UU N... 1 2 3 4 a b c sub/both.html\0? sub/new.html\0? sub/own/\0? other/x.html\0";
        let state = parse(status, "sub/");
        assert_eq!(state.head.as_deref(), Some("0123"));
        let names = |paths: &BTreeSet<RepoPath>| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&state.changed), ["a b.html", "both.html", "new.html"]);
        assert_eq!(names(&state.nested), ["module", "own"]);
        assert_eq!(parse("# branch.oid (initial)\0", "").head, None);
    }
}
