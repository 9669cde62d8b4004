//! The files that a commit removes and adds, by the difference of two trees. Modified files count where another file gets their
//! old content.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use gix::{
    ObjectId, Repository,
    bstr::{BString, ByteVec},
    objs::tree::EntryKind,
};

use super::pairing::Side;
use base::error::{Code, Error};

/// The shortest content that tells a file from others.
pub(super) const TELLING: u64 = 32;

/// The limit of folders within folders.
const DEEPEST: usize = 512;

/// The work that remains; a walk ends when it is used up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Entries of trees.
    pub(super) entries: u64,
    /// Bytes of contents.
    pub(super) bytes: u64,
}

/// The files of the difference, sorted by path.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) removed: Vec<Side>,
    pub(super) added: Vec<Side>,
    /// Files that get another content, as they were and as they are.
    pub(super) modified: Vec<(Side, Side)>,
    /// Files that get another content, each with one that gets the old content.
    pub(super) replaced: Vec<(BString, BString)>,
}

/// An end of the walk before the last commit.
#[derive(Debug)]
pub(super) enum End {
    /// An object is missing or damaged.
    Missing,
    /// The work is used up.
    Exhausted,
    /// The run was cancelled.
    Stopped(Error),
}

/// An entry of a tree.
struct Entry {
    name: BString,
    kind: EntryKind,
    id: ObjectId,
}

/// A folder of both trees, as far as each has it.
struct Pair {
    above: BString,
    depth: usize,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
}

/// The difference of two trees.
pub(super) fn between(
    repository: &Repository,
    (before, after): (ObjectId, ObjectId),
    work: &mut Work,
    stop: &AtomicBool,
) -> Result<Changes, End> {
    let (mut changes, mut modified) = (Changes::default(), Vec::new());
    let mut open = vec![Pair { above: BString::default(), depth: 0, before: Some(before), after: Some(after) }];
    while let Some(pair) = open.pop() {
        if stop.load(Ordering::Relaxed) {
            return Err(End::Stopped(Error::new(Code::Cancelled, "the run was cancelled")));
        }
        if pair.depth > DEEPEST {
            return Err(End::Exhausted);
        }
        let before = entries(repository, pair.before, work)?;
        let after = entries(repository, pair.after, work)?;
        compare(&pair, &before, &after, (&mut changes, &mut modified, &mut open));
    }
    changes.removed.sort_by(|one, other| one.path.cmp(&other.path));
    changes.added.sort_by(|one, other| one.path.cmp(&other.path));
    changes.replaced = replaced(&changes.added, &modified);
    changes.replaced.retain(|(path, _)| {
        let old = modified.iter().find(|(old, _)| old.path == *path);
        old.and_then(|(old, _)| repository.find_header(old.id).ok()).is_some_and(|header| header.size() >= TELLING)
    });
    changes.modified = modified;
    Ok(changes)
}

/// The modified files whose old contents other files get, each with such a file.
fn replaced(added: &[Side], modified: &[(Side, Side)]) -> Vec<(BString, BString)> {
    let mut by_content: BTreeMap<ObjectId, Vec<&BString>> = BTreeMap::new();
    for new in added.iter().chain(modified.iter().map(|(_, new)| new)) {
        by_content.entry(new.id).or_default().push(&new.path);
    }
    let others = |(old, _): &(Side, Side)| {
        let path = old.path.clone();
        by_content.get(&old.id).into_iter().flatten().map(move |to| (path.clone(), (*to).clone())).collect::<Vec<_>>()
    };
    modified.iter().flat_map(others).collect()
}

fn entries(repository: &Repository, tree: Option<ObjectId>, work: &mut Work) -> Result<Vec<Entry>, End> {
    let Some(tree) = tree else { return Ok(Vec::new()) };
    let tree = repository.find_tree(tree).map_err(|_| End::Missing)?;
    let mut found = Vec::new();
    for entry in tree.iter() {
        let entry = entry.map_err(|_| End::Missing)?;
        work.entries = work.entries.checked_sub(1).ok_or(End::Exhausted)?;
        found.push(Entry { name: entry.filename().to_owned(), kind: entry.mode().kind(), id: entry.object_id() });
    }
    found.sort_by(|one, other| one.key().cmp(other.key()));
    Ok(found)
}

impl Entry {
    /// The order of entries: a folder and a file of the same name are two entries.
    fn key(&self) -> impl Iterator<Item = u8> + '_ {
        let end = if self.is_folder() { b'/' } else { 0 };
        self.name.iter().copied().chain(std::iter::once(end))
    }

    fn is_folder(&self) -> bool {
        self.kind == EntryKind::Tree
    }

    fn is_file(&self) -> bool {
        matches!(self.kind, EntryKind::Blob | EntryKind::BlobExecutable)
    }
}

fn compare(
    pair: &Pair,
    before: &[Entry],
    after: &[Entry],
    (changes, modified, open): (&mut Changes, &mut Vec<(Side, Side)>, &mut Vec<Pair>),
) {
    let (mut left, mut right) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(one), Some(other)) => one.key().cmp(other.key()),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return,
        };
        let one = left.next_if(|_| order.is_le());
        let other = right.next_if(|_| order.is_ge());
        let (Some(any), is_same) = (one.or(other), one.map(|e| e.id) == other.map(|e| e.id)) else { return };
        let path = || {
            let mut path = pair.above.clone();
            if !path.is_empty() {
                path.push_byte(b'/');
            }
            path.extend_from_slice(&any.name);
            path
        };
        if any.is_folder() && !is_same {
            let (before, after) = (one.map(|entry| entry.id), other.map(|entry| entry.id));
            open.push(Pair { above: path(), depth: pair.depth + 1, before, after });
            continue;
        }
        // A file that becomes a link or a submodule is neither removed nor added.
        match (one, other) {
            (Some(gone), None) if gone.is_file() => changes.removed.push(Side { path: path(), id: gone.id }),
            (None, Some(new)) if new.is_file() => changes.added.push(Side { path: path(), id: new.id }),
            (Some(old), Some(new)) if !is_same && old.is_file() && new.is_file() => {
                modified.push((Side { path: path(), id: old.id }, Side { path: path(), id: new.id }));
            }
            (_, _) => {}
        }
    }
}
