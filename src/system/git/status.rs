//! Compares commit, index and files.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::AtomicBool,
};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    index::{
        Entry,
        entry::{Flags, Mode},
    },
    status::plumbing::index_as_worktree::{
        self, Change, EntryStatus, VisitEntry,
        traits::{CompareBlobs, FastEq, ReadData, SubmoduleStatus},
    },
    worktree::stack::state::attributes::Source,
};

use super::{
    State,
    error::{said, unknown},
    filter,
    opened::Opened,
    sparse, tree,
    walk::{self, check_in_tree},
};
use base::{error::Error, path::RepoPath};

/// Reads the state of everything below the given folder.
pub(super) fn read(opened: &mut Opened, stop: &AtomicBool) -> Result<State, Error> {
    let is_as_committed = is_as_committed(opened)?;
    if opened.settings.sparse || opened.index.is_sparse() {
        sparse::unfold(opened, !is_as_committed, stop)?;
    }
    let opened = &*opened;
    let mut changed: BTreeMap<BString, Option<String>> = BTreeMap::new();
    if !is_as_committed {
        changed.extend(staged(opened, stop)?.into_iter().map(|path| (path, None)));
    }
    for (path, reason) in edited(opened, stop)? {
        changed.entry(path).or_insert(reason);
    }
    let found = walk::untracked(opened, stop)?;
    changed.extend(found.files.into_iter().map(|path| (path, None)));
    let inside = |path: &BStr| {
        let path = gix::path::from_bstr(path).ok()?;
        RepoPath::parse(path.strip_prefix(&opened.prefix).ok()?.to_str()?).ok()
    };
    Ok(State {
        head: opened.head(),
        changed: changed.into_iter().filter_map(|(path, reason)| Some((inside(path.as_bstr())?, reason))).collect(),
        nested: found.nested.iter().filter_map(|path| inside(path.as_bstr())).collect(),
    })
}

/// True if the index claims to hold the commit's tree, as it does unless something is staged.
fn is_as_committed(opened: &Opened) -> Result<bool, Error> {
    let tree = opened.repository.head_tree_id_or_empty().map_err(|error| unknown(&said(&error)))?;
    Ok(opened.index.tree().is_some_and(|known| known.num_entries.is_some() && known.id == tree.detach()))
}

/// Paths that differ between commit and index.
fn staged(opened: &Opened, stop: &AtomicBool) -> Result<Vec<BString>, Error> {
    let told = |error: gix::Error| unknown(&said(&error));
    let tree = opened.repository.head_tree_id_or_empty().map_err(told)?;
    let committed = tree::files(&opened.repository, tree.detach(), stop)?;
    let index = &opened.index;
    // A new commit of a submodule is not a change of a file.
    let row = |id, mode: Mode| (!mode.is_submodule()).then_some((id, mode));
    let before: BTreeMap<&BStr, _> =
        committed.iter().map(|file| (file.path.as_bstr(), row(file.id, file.mode))).collect();
    let is_plain = |entry: &&Entry| entry.stage_raw() == 0 && !entry.flags.contains(Flags::INTENT_TO_ADD);
    let after: BTreeMap<&BStr, _> =
        index.entries().iter().filter(is_plain).map(|entry| (entry.path(index), row(entry.id, entry.mode))).collect();
    let added = after.iter().filter(|(path, row)| before.get(*path) != Some(row)).map(|(path, _)| *path);
    // The comparison of files reports conflicts, and files with the intent to add.
    let is_gone = |path: &&&BStr| index.entry_range(path).is_none();
    let removed = before.keys().filter(is_gone).copied();
    Ok(added
        .chain(removed)
        .filter(|path| before.get(path) != Some(&None) || !after.contains_key(path))
        .map(ToOwned::to_owned)
        .collect())
}

/// Tracked files that differ from the index, each with a reason if its content was not compared.
fn edited(opened: &Opened, stop: &AtomicBool) -> Result<Vec<(BString, Option<String>)>, Error> {
    let told = |error: gix::Error| unknown(&said(&error));
    check_attribute_files(opened)?;
    let (repository, index) = (&opened.repository, &opened.index);
    let stack = repository.attributes_only(index, Source::WorktreeThenIdMapping).map_err(told)?.detach();
    let mut attributes = stack.clone();
    let (filter, stack) = gix::filter::Pipeline::new(repository, stack).map_err(told)?.into_parts();
    let prefix = gix::path::into_bstr(opened.prefix.as_path()).map_err(told)?;
    let patterns = (!prefix.is_empty()).then(|| format!(":(top,literal){prefix}").into_bytes());
    let patterns = patterns.iter().map(|pattern| pattern.as_bstr());
    let (pathspec, _) =
        repository.pathspec(false, patterns, true, index, Source::WorktreeThenIdMapping).map_err(told)?.into_parts();
    let context = index_as_worktree::Context { pathspec, stack, filter, should_interrupt: stop };
    let options = index_as_worktree::Options {
        fs: repository.filesystem_options().map_err(told)?,
        stat: repository.stat_options().map_err(told)?,
        ..index_as_worktree::Options::default()
    };
    let mut differing = Differing::default();
    let objects = repository.objects.clone().into_arc().map_err(|error| unknown(&error.to_string()))?;
    gix::status::plumbing::index_as_worktree(
        index,
        &opened.place.work,
        &mut differing,
        Compare,
        Unopened,
        objects,
        &mut gix::progress::Discard,
        context,
        options,
    )
    .map_err(told)?;
    let mut found = Vec::new();
    for (path, seen) in differing.0 {
        let Seen { blob, reason } = seen;
        let Some(blob) = blob else {
            found.push((path, reason));
            continue;
        };
        let filter = filter::name(&mut attributes, opened, path.as_bstr());
        let Some(name) = filter else {
            found.push((path, reason));
            continue;
        };
        let file = opened.place.work.join(gix::path::from_bstr(path.as_bstr()).unwrap_or_default());
        if !filter::is_pointed_to(opened, blob, &file) {
            found.push((path, Some(format!("it has the filter `{name}`, which nrv doesn't run"))));
        }
    }
    Ok(found)
}

/// Attributes of tracked files are read in every folder that holds one.
fn check_attribute_files(opened: &Opened) -> Result<(), Error> {
    let mut folders = BTreeSet::from([BStr::new("")]);
    for entry in opened.index.entries() {
        let mut path = entry.path(&opened.index);
        while let Some(at) = path.rfind_byte(b'/') {
            path = path[..at].as_bstr();
            if !folders.insert(path) {
                break;
            }
        }
    }
    for folder in folders {
        let folder = gix::path::from_bstr(folder).unwrap_or_default();
        check_in_tree(&opened.place.work.join(folder).join(".gitattributes"))?;
    }
    Ok(())
}

/// A file that differs.
#[derive(Debug)]
struct Seen {
    /// The blob for the comparison of contents, if content is all that differs.
    blob: Option<gix::ObjectId>,
    reason: Option<String>,
}

#[derive(Debug, Default)]
struct Differing(Vec<(BString, Seen)>);

impl<'index> VisitEntry<'index> for Differing {
    type ContentChange = Option<String>;
    type SubmoduleStatus = ();

    fn visit_entry(
        &mut self,
        _: &'index [Entry],
        entry: &'index Entry,
        _: usize,
        path: &'index BStr,
        status: EntryStatus<Option<String>, ()>,
    ) {
        let seen = match status {
            EntryStatus::NeedsUpdate(_) | EntryStatus::Change(Change::SubmoduleModification(())) => return,
            EntryStatus::Change(Change::Modification { executable_bit_changed, content_change, .. }) => {
                let is_content = content_change.is_some() && !executable_bit_changed;
                Seen { blob: is_content.then_some(entry.id), reason: content_change.flatten() }
            }
            EntryStatus::Change(Change::Removed | Change::Type { .. })
            | EntryStatus::Conflict { .. }
            | EntryStatus::IntentToAdd => Seen { blob: None, reason: None },
        };
        self.0.push((path.to_owned(), seen));
    }
}

/// Compares contents. An incomparable one counts as changed, and does not stop the others.
#[derive(Clone)]
struct Compare;

impl CompareBlobs for Compare {
    type Output = Option<String>;

    fn compare_blobs<'a, 'b>(
        &mut self,
        entry: &Entry,
        size: u64,
        data: impl ReadData<'a>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Self::Output>, gix::Error> {
        Ok(match FastEq.compare_blobs(entry, size, data, buffer) {
            Ok(None) => None,
            Ok(Some(())) => Some(None),
            Err(error) => Some(Some(format!("it can't be compared: {}", said(&error)))),
        })
    }
}

/// A submodule is a repository of its own, which is not opened.
#[derive(Clone)]
struct Unopened;

impl SubmoduleStatus for Unopened {
    type Output = ();

    fn status(&mut self, _: &Entry, _: &BStr) -> Result<Option<()>, gix::Error> {
        Ok(None)
    }
}
