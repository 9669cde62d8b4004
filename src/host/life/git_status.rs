//! A clean start: are there uncommitted changes under the globs that the run may write? And which commit is it?
//!
//! Without a repository nothing is dirty: there the hashes of pre-images alone decide whether a change may be applied. A repository
//! within the repository is not opened. What lies in one can't be judged, so that a change there is refused when it is about to be made.

use std::collections::{BTreeMap, BTreeSet};

use super::request::Asked;
use crate::{Context, Event, Sink, terms::Terms};
use base::{
    change::{ChangeSet, Stamp},
    error::{Code, Error},
    hash::Sha256,
    path::{RepoPath, protected},
};
use system::{git, journal::Manifest, workspace::Globs};

/// The state of the repository that the workspace belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GitState {
    /// The commit; none without a repository or before the first commit.
    pub(crate) head: Option<String>,
    /// Modified and untracked files, each with the reason if its content was not compared.
    changed: BTreeMap<RepoPath, Option<String>>,
    /// Why it can't be told. Only those who have to know whether the tree is clean are stopped by it.
    failure: Option<Error>,
}

/// A file with an uncommitted change, and the reason if its content was not compared.
pub(crate) type Dirty = (RepoPath, Option<String>);

/// Reads the state. A folder that belongs to no repository has nothing changed.
///
/// That it can't be read is part of the state, and [`dirty`] tells it: most commands don't need a clean tree.
pub(crate) fn git_state(context: &Context) -> Result<GitState, Error> {
    let options = &context.options;
    match git::state(context.workspace.root(), &options.environment_of_git(), &options.cancel) {
        Ok(None) => Ok(GitState::default()),
        Ok(Some(git::State { head, changed, .. })) => Ok(GitState { head, changed, failure: None }),
        Err(error) if error.code() == Code::DirtyTree => Ok(GitState { failure: Some(error), ..GitState::default() }),
        Err(error) => Err(error),
    }
}

/// The commit alone, for those who write nothing: on a large tree that is much less to read.
pub(crate) fn head(context: &Context) -> GitState {
    let head = git::head(context.workspace.root(), &context.options.environment_of_git());
    GitState { head, ..GitState::default() }
}

impl Context {
    /// True if the workspace is part of a git repository, so that it can be told what has changed.
    pub(crate) fn is_in_repository(&self) -> bool {
        self.workspace.root().ancestors().any(|folder| folder.join(".git").exists())
    }
}

impl Terms<'_> {
    /// Refuses a change of a file in a repository within the repository, because nobody knows whether it is committed there.
    ///
    /// Outside of every repository nothing is asked at a start either, and nothing is refused here.
    pub(crate) fn check_nested(&self, changes: &ChangeSet, sink: &mut dyn Sink) -> Result<(), Error> {
        if self.flags.allow_dirty || self.policy.settings().run.allow_dirty || !self.context.is_in_repository() {
            return Ok(());
        }
        let root = self.context.workspace.root();
        let mut seen = BTreeMap::new();
        let found = changes.changes().iter().find_map(|change| {
            let folder = git::nested_above(root, &change.path, &mut seen)?;
            Some((folder, &change.path))
        });
        let Some((folder, path)) = found else { return Ok(()) };
        let why =
            format!("`{folder}` is a repository of its own, so that it is not known if `{path}` is committed there");
        let error = Error::new(Code::DirtyTree, why)
            .detail("files", [path.as_str()])
            .detail("repository", folder.as_str())
            .hint(format!("run nrv there with `--root {folder}`, or start with `--allow-dirty`"));
        if self.flags.dry_run {
            sink.event(Event::Notice { text: format!("Applying this would be refused: {}.", error.message()) });
            return Ok(());
        }
        Err(error)
    }
}

/// True if a file belongs to the script that is run: its sources, its cases and its recordings are what the run begins with.
pub(crate) fn belongs(asked: &Asked, file: &RepoPath) -> bool {
    let Asked::Script { path, sources, .. } = asked else { return false };
    let stem = path.strip_suffix(".rhai").unwrap_or(path);
    let beside = file.strip_prefix(stem);
    sources.contains_key(file.as_str())
        || beside.is_some_and(|rest| rest.starts_with(".test/") || rest.starts_with(".llm/"))
}

/// Files under the globs that differ from the commit, also those that a run of this workspace left so.
pub fn uncommitted(context: &Context, globs: &[String]) -> Result<Vec<RepoPath>, Error> {
    let state = git_state(context)?;
    if let Some(failure) = state.failure {
        return Err(failure);
    }
    let globs = Globs::of_any_size(globs)?;
    Ok(state.changed.into_keys().filter(|path| globs.matches(path)).collect())
}

/// Changed files under the globs whose content no run of this workspace left there.
pub(crate) fn dirty(context: &Context, state: &GitState, globs: &Globs) -> Result<Vec<Dirty>, Error> {
    if let Some(failure) = &state.failure {
        return Err(failure.clone());
    }
    // What nobody tracks may be of any length.
    let view = context.view().until(&context.options.cancel);
    let mut suspects = BTreeMap::new();
    let mut dirty = BTreeSet::new();
    // What no run writes need not be clean, such as a policy or an approval that is about to be committed.
    let permitted = &context.policy.settings().paths.allow_protected;
    let may_be_written =
        |path: &&RepoPath| globs.matches(path) && protected::write_refusal_unless(path, permitted).is_none();
    for path in state.changed.keys().filter(may_be_written) {
        match view.stamp_entry(path) {
            Ok(stamp) => {
                suspects.insert(path.clone(), Some(content_of(&stamp)));
            }
            Err(error) if error.code() == Code::NotFound => {
                suspects.insert(path.clone(), None);
            }
            Err(error) if error.code() == Code::Cancelled => return Err(error),
            // What can't be read is dirty, whatever is recorded.
            Err(_) => {
                dirty.insert(path.clone());
            }
        }
    }
    if !suspects.is_empty() {
        forgive_recorded(context, &mut suspects)?;
    }
    dirty.extend(suspects.into_keys());
    let with_reason = |path: RepoPath| {
        let reason = state.changed.get(&path).cloned().flatten();
        (path, reason)
    };
    Ok(dirty.into_iter().map(with_reason).collect())
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

/// Returns the identity of a content: a hash, and true if it is the hash of a link's target.
fn content_of(stamp: &Stamp) -> (Sha256, bool) {
    (stamp.sha256, stamp.is_link())
}

/// The error for a tree with uncommitted changes.
pub(crate) fn dirty_tree(dirty: &[Dirty]) -> Error {
    let names: Vec<&str> = dirty.iter().map(|(path, _)| path.as_str()).collect();
    let show = |(path, reason): &Dirty| match reason {
        Some(reason) => format!("`{path}` ({reason})"),
        None => format!("`{path}`"),
    };
    let shown = dirty.iter().take(5).map(show).collect::<Vec<_>>().join(", ");
    let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
    Error::new(Code::DirtyTree, format!("the tree has uncommitted changes: {shown}{more}"))
        .detail("files", names)
        .hint("commit or stash them, or start with `--allow-dirty`")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::Options;
    use base::change::{Content, Entry};
    use record::{
        Chain, Note,
        event::{Event, Transaction},
    };
    use system::workspace::Workspace;

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
        let committed = Event::Committed(Transaction::default().into());
        let note = Note::of_run(committed).with_files(vec![run.file_ref(name).unwrap()]);
        Chain::open(&run).unwrap().append("t".to_owned(), note.draft().unwrap()).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_removed() {
        let folder = tempfile::tempdir().unwrap();
        let context = context(folder.path());
        let path = RepoPath::parse("a.html").unwrap();
        let state = GitState { changed: BTreeMap::from([(path.clone(), None)]), ..GitState::default() };
        let globs = Globs::parse(&["*.html"]).unwrap();
        record(&context, &path, None);
        assert!(dirty(&context, &state, &globs).unwrap().is_empty(), "its removal is recorded");
        std::os::unix::fs::symlink("elsewhere", folder.path().join("a.html")).unwrap();
        assert_eq!(dirty(&context, &state, &globs).unwrap(), [(path, None)]);
    }

    #[test]
    fn a_link_that_a_run_left_is_not_dirty_and_no_file_stands_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let context = context(folder.path());
        let path = RepoPath::parse("l").unwrap();
        let state = GitState { changed: BTreeMap::from([(path.clone(), None)]), ..GitState::default() };
        let globs = Globs::parse(&["l"]).unwrap();
        record(&context, &path, Some(Content::link(b"there".to_vec())));
        let check = |target: Option<&str>, expected: &[Dirty]| {
            let _ = fs::remove_file(folder.path().join("l"));
            match target {
                Some(target) => std::os::unix::fs::symlink(target, folder.path().join("l")).unwrap(),
                None => fs::write(folder.path().join("l"), "there").unwrap(),
            }
            assert_eq!(dirty(&context, &state, &globs).unwrap(), expected, "{target:?}");
        };
        check(Some("there"), &[]);
        let changed = [(path, None)];
        check(Some("elsewhere"), &changed);
        check(None, &changed);
    }

    #[test]
    fn a_repository_that_cannot_be_read_stops_only_those_who_need_a_clean_tree() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        let context = context(folder.path());
        let state = git_state(&context).unwrap();
        let error = dirty(&context, &state, &Globs::parse(&["**"]).unwrap()).unwrap_err();
        assert_eq!((error.code(), state.head), (Code::DirtyTree, None));
    }
}
