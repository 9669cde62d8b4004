//! The renames of a repository's history: where a path that is gone went.
//!
//! The history is walked from `HEAD` to its beginning, children before parents, and stops at a bound of commits and work. A merge
//! is passed over, as `git log` does. Files that were moved and not committed yet count as one more commit.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    index::entry::Mode,
};

use super::{
    changes::{self, Changes, End, TELLING, Work},
    opened::Opened,
    pairing::{self, Contents, Side},
    similarity::{Pieces, may_be_similar},
    tree, walk,
};
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// The limit of commits.
const MOST_COMMITS: usize = 20_000;
/// The limit of entries of trees, and of bytes of compared contents.
const WORK: Work = Work { entries: 50_000_000, bytes: 2 << 30 };
/// The longest content that is compared.
const LONGEST: u64 = 8 << 20;
/// The limit of earlier contents of a file.
const MOST_VERSIONS: usize = 64;
/// The limit of files that are not committed.
const MOST_NEW: usize = 20_000;

/// A file or folder that is gone, and where it has moved, or has not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Renamed {
    /// The path that is gone, below the given folder. With `Replaced` another file has it.
    pub from: RepoPath,
    /// A file that exists, or that a sparse checkout left out; for a folder of which every file moved, the folder that they are in. A path with several is ambiguous.
    pub to: RepoPath,
    /// The evidence.
    pub trace: Trace,
}

/// The evidence of a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trace {
    /// A rename, or a chain of renames.
    Rename,
    /// The path was removed, and the file has the content that it had.
    Content,
    /// A rename, after which another file took the path.
    Replaced,
    /// None: the file, the only one of its name, existed beside the path before its end, or its file moved elsewhere.
    Apart,
}

/// The renames of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renames {
    /// Each path that is gone with each of its files, sorted.
    pub renamed: Vec<Renamed>,
    /// The names of the objects with each file's committed contents, the newest first, 64 at most.
    pub versions: BTreeMap<RepoPath, Vec<String>>,
    /// The files that the history begins with, by their present paths.
    pub originals: BTreeSet<RepoPath>,
    /// The reason that older renames are unknown, if any.
    pub remark: Option<String>,
}

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Its content is at this path now.
    At(BString),
    /// It was removed, with this content.
    Gone(ObjectId),
}

/// A commit as far as the walk needs it.
struct Commit {
    tree: ObjectId,
    parents: Vec<ObjectId>,
    time: i64,
}

/// The ends of a folder's files. Commits have greater numbers the older they are.
#[derive(Default)]
struct Moved<'a> {
    /// The folders that they are in, each at its old place below it; none for a file whose place there is another one.
    folders: BTreeSet<Option<&'a [u8]>>,
    /// The first commit that moved one.
    first: Option<usize>,
    /// The last commit that removed one.
    last_removal: Option<usize>,
}

struct History<'a> {
    opened: &'a Opened,
    stop: &'a AtomicBool,
    work: Work,
    /// The first thing that happened to each path after the present commit.
    next: BTreeMap<BString, Fate>,
    /// The fates of each path; the first one is the newest.
    fates: BTreeMap<BString, Vec<Fate>>,
    /// The ends of contents that left a file for another one.
    replaced: BTreeMap<BString, Vec<Fate>>,
    /// The files that the present commit or a later one added as new ones.
    born: BTreeSet<BString>,
    /// Committed files that a sparse checkout left out.
    left_out: BTreeSet<BString>,
    /// The only committed file below the given folder of each name in lower case; none where there are several.
    names: BTreeMap<Vec<u8>, Option<BString>>,
    /// For each path that came to its end by a removal, the file of its name that existed beside it.
    beside: BTreeMap<BString, BString>,
    /// The same for the newest end of each path.
    apart: Vec<(BString, BString)>,
    /// The number of commits that were taken.
    taken: usize,
    /// The commit of each path's newest end.
    ended: BTreeMap<BString, usize>,
    /// The earlier contents of files, by their present paths.
    versions: BTreeMap<BString, Vec<ObjectId>>,
    remark: Option<String>,
}

/// Reads the renames of everything below the given folder.
pub(super) fn read(opened: &mut Opened, stop: &AtomicBool) -> Result<Renames, Error> {
    opened.repository.object_cache_size_if_unset(32 << 20);
    let opened = &*opened;
    let Ok(head) = opened.repository.head_id() else { return Ok(Renames::default()) };
    let tree = opened.repository.head_tree_id_or_empty().map_err(|error| super::error::unknown(&error.to_string()))?;
    let committed = tree::files(&opened.repository, tree.detach(), stop)?;
    let mut history = History {
        opened,
        stop,
        work: WORK,
        next: BTreeMap::new(),
        fates: BTreeMap::new(),
        replaced: BTreeMap::new(),
        born: BTreeSet::new(),
        left_out: BTreeSet::new(),
        names: BTreeMap::new(),
        beside: BTreeMap::new(),
        apart: Vec::new(),
        taken: 0,
        ended: BTreeMap::new(),
        versions: BTreeMap::new(),
        // Contents that are not here can't tell that a file moved.
        remark: opened
            .settings
            .partial
            .then(|| "the clone is partial, so contents of older commits are missing".to_owned()),
    };
    history.look(&committed);
    history.uncommitted(&committed)?;
    history.walk(head.detach())?;
    Ok(history.result(&committed))
}

impl History<'_> {
    /// Notes the names of committed files, and those that are not here.
    fn look(&mut self, committed: &[tree::Listed]) {
        self.names = names(committed.iter().filter(|file| self.inside(file.path.as_bstr()).is_some()));
        if self.opened.settings.sparse || self.opened.index.is_sparse() {
            let absent = committed.iter().filter(|file| is_file(file) && !self.exists(file.path.as_bstr()));
            self.left_out = absent.map(|file| file.path.clone()).collect();
        }
    }

    /// Takes the files that were moved since the last commit.
    fn uncommitted(&mut self, committed: &[tree::Listed]) -> Result<(), Error> {
        let opened = self.opened;
        if opened.settings.sparse || opened.index.is_sparse() {
            return Ok(());
        }
        let known: BTreeSet<&BStr> = committed.iter().map(|file| file.path.as_bstr()).collect();
        let is_here = |file: &&tree::Listed| is_file(file) && self.inside(file.path.as_bstr()).is_some();
        let removed = committed.iter().filter(is_here).filter(|file| !self.exists(file.path.as_bstr()));
        let removed = removed.map(|file| Side { path: file.path.clone(), id: file.id });
        let mut removed: Vec<Side> = removed.collect();
        if removed.is_empty() {
            return Ok(());
        }
        removed.sort_by(|one, other| one.path.cmp(&other.path));
        let mut paths: BTreeSet<BString> = walk::untracked(opened, self.stop)?.files.into_iter().collect();
        let staged = opened.index.entries().iter().map(|entry| entry.path(&opened.index));
        paths.extend(staged.filter(|path| !known.contains(path)).map(ToOwned::to_owned));
        if paths.len() > MOST_NEW {
            self.remark = Some(format!("more than {MOST_NEW} files are not committed, so their old paths are unknown"));
            paths.clear();
        }
        let mut added = Vec::new();
        let mut files = BTreeMap::new();
        for path in paths {
            let Some(bytes) = self.file(path.as_bstr()) else { continue };
            let kind = opened.repository.object_hash();
            let Ok(id) = gix::objs::compute_hash(kind, gix::objs::Kind::Blob, &bytes) else { continue };
            files.insert(id, Rc::new(Pieces::of(&bytes)));
            added.push(Side { path, id });
        }
        match self.take(&Changes { removed, added, ..Changes::default() }, files) {
            Err(End::Stopped(error)) => Err(error),
            Ok(()) | Err(End::Missing | End::Exhausted) => Ok(()),
        }
    }

    /// Walks the commits, children before parents.
    fn walk(&mut self, head: ObjectId) -> Result<(), Error> {
        let mut commits: BTreeMap<ObjectId, Commit> = BTreeMap::new();
        let mut found: BTreeMap<ObjectId, Option<Commit>> = BTreeMap::from([(head, self.commit(head))]);
        let mut open = BinaryHeap::from([(0, head)]);
        let shallow = self.opened.repository.shallow_commits().ok().flatten();
        let is_shallow = |id: &ObjectId| shallow.as_ref().is_some_and(|commits| commits.contains(id));
        while let Some((_, id)) = open.pop() {
            self.check_stopped()?;
            let Some(mut commit) = found.get_mut(&id).and_then(Option::take) else {
                self.remark = Some("some commits of the history are missing".to_owned());
                continue;
            };
            if commits.len() == MOST_COMMITS {
                self.remark = Some(format!("only the last {MOST_COMMITS} commits were read"));
                break;
            }
            if is_shallow(&id) {
                self.remark = Some("the repository is shallow, so older commits are missing".to_owned());
                commit.parents.clear();
            }
            for parent in &commit.parents {
                if !found.contains_key(parent) {
                    let read = self.commit(*parent);
                    open.push((read.as_ref().map_or(0, |read| read.time), *parent));
                    found.insert(*parent, read);
                }
            }
            commits.insert(id, commit);
        }
        for (tree, before) in sorted(&commits) {
            self.check_stopped()?;
            let taken = changes::between(&self.opened.repository, (before, tree), &mut self.work, self.stop)
                .and_then(|changes| self.take(&changes, BTreeMap::new()));
            match taken {
                Ok(()) => {}
                Err(End::Stopped(error)) => return Err(error),
                Err(End::Missing) => self.remark = Some("some objects of the history are missing".to_owned()),
                Err(End::Exhausted) => {
                    self.remark = Some("the history is too large to be read to its beginning".to_owned());
                    break;
                }
            }
        }
        Ok(())
    }

    /// Notes the fates of the files that a commit removes.
    fn take(&mut self, changes: &Changes, files: BTreeMap<ObjectId, Rc<Pieces>>) -> Result<(), End> {
        let Changes { removed, added, replaced, .. } = changes;
        // Later edits of files that are not committed make them no other ones.
        let is_committed = files.is_empty();
        let (pairs, displaced) = {
            let mut read = Blobs { history: self, pieces: files, lengths: BTreeMap::new(), is_exhausted: false };
            let displaced = displaced(changes, &mut read);
            let mut pairs = pairing::pairs(removed, added, &mut read);
            pairs.retain(|(from, to)| !is_committed || pairing::is_sure(&removed[*from], &added[*to], &mut read));
            if read.is_exhausted {
                return Err(End::Exhausted);
            }
            (pairs, displaced)
        };
        let mut new: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (from, to) in pairs {
            let equals = pairing::equals(from, removed, added);
            new.insert(from, equals.unwrap_or_else(|| vec![to]));
        }
        self.note_versions(changes, &new);
        let known: BTreeSet<usize> = new.values().flatten().copied().collect();
        let born = added.iter().enumerate().filter(|(at, _)| !known.contains(at));
        let born: Vec<Fate> = born.map(|(_, side)| self.now(&side.path)).collect();
        self.born.extend(born.into_iter().filter_map(|fate| match fate {
            Fate::At(path) => Some(path),
            Fate::Gone(_) => None,
        }));
        // All fates are looked up before any is noted: a commit may exchange two files.
        let fates = |(at, side): (usize, &Side)| match new.get(&at) {
            Some(places) => places.iter().flat_map(|to| self.ends(&added[*to].path)).collect(),
            None => vec![Fate::Gone(side.id)],
        };
        let fates: Vec<Vec<Fate>> = removed.iter().enumerate().map(fates).collect();
        let beside = |(at, side): (usize, &Side)| match new.get(&at) {
            Some(places) => places.iter().find_map(|to| self.beside.get(&added[*to].path)).cloned(),
            None => self.namesake(&side.path),
        };
        let beside: Vec<Option<BString>> = removed.iter().enumerate().map(beside).collect();
        for ((side, fates), beside) in removed.iter().zip(fates).zip(beside) {
            let path = &side.path;
            if !self.ended.contains_key(path) {
                self.ended.insert(path.clone(), self.taken);
                self.apart.extend(beside.clone().map(|other| (path.clone(), other)));
            }
            match beside {
                Some(other) => self.beside.insert(path.clone(), other),
                None => self.beside.remove(path),
            };
            self.next.extend(fates.first().map(|fate| (path.clone(), fate.clone())));
            self.fates.entry(path.clone()).or_default().extend(fates);
        }
        for (path, ends) in
            replaced.iter().chain(&displaced).map(|(path, to)| (path, self.ends(to))).collect::<Vec<_>>()
        {
            self.replaced.entry(path.clone()).or_default().extend(ends);
        }
        self.taken += 1;
        Ok(())
    }

    /// Notes the contents that files had before a commit, which may have moved each removed one to some added ones.
    fn note_versions(&mut self, changes: &Changes, moved: &BTreeMap<usize, Vec<usize>>) {
        changes.modified.iter().for_each(|(side, _)| self.note_version(&side.path, side.id));
        for (from, places) in moved {
            places.iter().for_each(|to| self.note_version(&changes.added[*to].path, changes.removed[*from].id));
        }
    }

    /// Notes the content that a file had before a commit, by the path that the commit gives it.
    fn note_version(&mut self, path: &BString, id: ObjectId) {
        if let Fate::At(path) = self.now(path) {
            let versions = self.versions.entry(path).or_default();
            if versions.len() < MOST_VERSIONS {
                versions.push(id);
            }
        }
    }

    /// The only other file of a path's name, if it existed before the present commit.
    fn namesake(&self, path: &BString) -> Option<BString> {
        let other = self.names.get(&name(path))?.as_ref()?;
        (other != path && !self.born.contains(other)).then(|| other.clone())
    }

    /// The folders of which every file moved to one other folder, each with that.
    fn folders(&self) -> Vec<(BString, BString)> {
        let mut all: BTreeMap<&[u8], Moved> = BTreeMap::new();
        for (from, fates) in &self.fates {
            let ended = self.ended.get(from).copied().unwrap_or_default();
            let ends: BTreeSet<&Fate> = fates.iter().filter(|fate| matches!(fate, Fate::At(_))).collect();
            let to = match (fates.first(), ends.first(), ends.len()) {
                (Some(Fate::At(_)), Some(Fate::At(to)), 1) => Some(to),
                _ => None,
            };
            for (at, _) in from.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                let moved = all.entry(&from[..at]).or_default();
                match to.filter(|to| self.exists(to.as_bstr())).map(|to| to.strip_suffix(&from[at..])) {
                    Some(folder) => {
                        moved.folders.insert(folder);
                        moved.first = Some(ended.max(moved.first.unwrap_or_default()));
                    }
                    None => moved.last_removal = Some(ended.min(moved.last_removal.unwrap_or(usize::MAX))),
                }
            }
        }
        let whole = |(from, moved): (&[u8], Moved<'_>)| {
            let [Some(to)] = moved.folders.into_iter().collect::<Vec<_>>()[..] else { return None };
            let was_whole = moved.last_removal.is_none_or(|removal| Some(removal) > moved.first);
            let is_gone =
                self.at(from.as_bstr()).is_some_and(|path| fs::symlink_metadata(&path).is_err() || is_empty(&path));
            (was_whole && is_gone && to != from).then(|| (from.into(), to.into()))
        };
        all.into_iter().filter_map(whole).collect()
    }

    /// The ends of a path that a commit adds. Its content may have left it for another file.
    fn ends(&self, path: &BString) -> Vec<Fate> {
        let later = self.replaced.get(path).into_iter().flatten();
        std::iter::once(self.now(path)).chain(later.cloned()).collect()
    }

    /// The end of a path that a commit adds.
    fn now(&self, path: &BString) -> Fate {
        self.next.get(path).cloned().unwrap_or_else(|| Fate::At(path.clone()))
    }

    /// The contents of each file, from the present commit's on.
    fn versions(&mut self, committed: &[tree::Listed]) -> BTreeMap<RepoPath, Vec<String>> {
        let files = committed.iter().filter(|file| is_file(file));
        let versions = files.filter_map(|file| {
            let earlier = self.versions.remove(&file.path).unwrap_or_default();
            let all = std::iter::once(file.id).chain(earlier).map(|id| id.to_hex().to_string());
            Some((self.inside(file.path.as_bstr())?, all.collect()))
        });
        versions.collect()
    }

    fn result(mut self, committed: &[tree::Listed]) -> Renames {
        let versions = self.versions(committed);
        let originals = committed.iter().filter(|file| !self.born.contains(&file.path));
        let originals = originals.filter_map(|file| self.inside(file.path.as_bstr())).collect();
        let mut places: BTreeMap<ObjectId, Vec<&BString>> = BTreeMap::new();
        for file in committed.iter().filter(|file| is_file(file)) {
            places.entry(file.id).or_default().push(&file.path);
        }
        let mut renamed = BTreeSet::new();
        let replaced = self.replaced.iter().filter(|(from, _)| self.exists(from.as_bstr()));
        for (from, fates) in self.fates.iter().chain(replaced) {
            let Some(newest) = fates.first() else { continue };
            let found: Vec<(&BString, Trace)> = match newest {
                _ if self.exists(from.as_bstr()) => places_of(fates, Trace::Replaced),
                Fate::Gone(id) if !self.tells(*id) => Vec::new(),
                Fate::Gone(id) => places.get(id).into_iter().flatten().map(|path| (*path, Trace::Content)).collect(),
                Fate::At(_) => places_of(fates, Trace::Rename),
            };
            let found = found.into_iter().filter(|(to, _)| *to != from && self.exists(to.as_bstr()));
            let found = found.filter_map(|(to, trace)| Some((self.inside(to.as_bstr())?, trace)));
            let mut found: Vec<(RepoPath, Trace)> = found.collect();
            // It moved to a place out of sight, so that a file of its name is another one.
            if found.is_empty() && matches!(newest, Fate::At(_)) && !self.exists(from.as_bstr()) {
                let other = self.names.get(&name(from)).and_then(Option::as_ref);
                found.extend(other.and_then(|other| Some((self.inside(other.as_bstr())?, Trace::Apart))));
            }
            let Some(from) = self.inside(from.as_bstr()) else { continue };
            renamed.extend(found.into_iter().map(|(to, trace)| Renamed { from: from.clone(), to, trace }));
        }
        for (from, to) in
            self.apart.iter().filter(|(from, to)| !self.exists(from.as_bstr()) && self.exists(to.as_bstr()))
        {
            if let (Some(from), Some(to)) = (self.inside(from.as_bstr()), self.inside(to.as_bstr())) {
                renamed.insert(Renamed { from, to, trace: Trace::Apart });
            }
        }
        for (from, to) in self.folders() {
            if let (Some(from), Some(to)) = (self.inside(from.as_bstr()), self.inside(to.as_bstr())) {
                renamed.insert(Renamed { from, to, trace: Trace::Rename });
            }
        }
        Renames { renamed: renamed.into_iter().collect(), versions, originals, remark: self.remark }
    }

    /// True for a content that is long enough to be that of one file.
    fn tells(&self, id: ObjectId) -> bool {
        self.opened.repository.find_header(id).is_ok_and(|header| header.size() >= TELLING)
    }

    fn commit(&self, id: ObjectId) -> Option<Commit> {
        let commit = self.opened.repository.find_commit(id).ok()?;
        let (tree, time) = (commit.tree_id().ok()?.detach(), commit.time().ok()?.seconds);
        Some(Commit { tree, time, parents: commit.parent_ids().map(gix::Id::detach).collect() })
    }

    fn check_stopped(&self) -> Result<(), Error> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::new(Code::Cancelled, "the run was cancelled")),
            false => Ok(()),
        }
    }

    fn at(&self, path: &BStr) -> Option<PathBuf> {
        Some(self.opened.place.work.join(gix::path::from_bstr(path).ok()?))
    }

    fn exists(&self, path: &BStr) -> bool {
        self.left_out.contains(path)
            || self.at(path).is_some_and(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a file of the tree is compared with its commit, and nothing of it is kept"
    )]
    fn file(&self, path: &BStr) -> Option<Vec<u8>> {
        let path = self.at(path)?;
        let found = fs::symlink_metadata(&path).ok()?;
        if found.is_file() && found.len() <= LONGEST { fs::read(path).ok() } else { None }
    }

    fn inside(&self, path: &BStr) -> Option<RepoPath> {
        let path = gix::path::from_bstr(path).ok()?;
        RepoPath::parse(path.strip_prefix(&self.opened.prefix).ok()?.to_str()?).ok()
    }
}

/// The trees of the commits with one parent, each with its parent's; children before parents, then the newest first.
fn sorted(commits: &BTreeMap<ObjectId, Commit>) -> Vec<(ObjectId, ObjectId)> {
    let mut children: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for parent in commits.values().flat_map(|commit| &commit.parents) {
        *children.entry(*parent).or_default() += 1;
    }
    let free = commits.iter().filter(|(id, _)| !children.contains_key(*id));
    let mut open: BinaryHeap<(i64, ObjectId)> = free.map(|(id, commit)| (commit.time, *id)).collect();
    let mut trees = Vec::new();
    while let Some((_, id)) = open.pop() {
        let Some(commit) = commits.get(&id) else { continue };
        if let [parent] = commit.parents.as_slice()
            && let Some(before) = commits.get(parent)
        {
            trees.push((commit.tree, before.tree));
        }
        for parent in &commit.parents {
            let Some(left) = children.get_mut(parent) else { continue };
            *left -= 1;
            if *left == 0 {
                open.extend(commits.get(parent).map(|commit| (commit.time, *parent)));
            }
        }
    }
    trees
}

/// Files whose contents made room for that of another file, each with the modified or added file that got a similar one.
fn displaced(changes: &Changes, contents: &mut dyn Contents) -> Vec<(BString, BString)> {
    let taken: BTreeSet<&BString> = changes.replaced.iter().map(|(_, to)| to).collect();
    let left: BTreeSet<&BString> = changes.replaced.iter().map(|(from, _)| from).collect();
    let gone = changes.modified.iter().map(|(old, _)| old).filter(|old| taken.contains(&old.path));
    let mut gone: Vec<Side> = gone.cloned().collect();
    gone.sort_by(|one, other| one.path.cmp(&other.path));
    let new = changes.modified.iter().map(|(_, new)| new).filter(|new| left.contains(&new.path));
    let mut new: Vec<Side> = new.chain(&changes.added).cloned().collect();
    new.sort_by(|one, other| one.path.cmp(&other.path));
    let mut pairs = pairing::pairs(&gone, &new, contents);
    pairs.retain(|(from, to)| gone[*from].path != new[*to].path && pairing::is_sure(&gone[*from], &new[*to], contents));
    pairs.into_iter().map(|(from, to)| (gone[from].path.clone(), new[to].path.clone())).collect()
}

/// The places of the fates that are some, with the evidence.
fn places_of(fates: &[Fate], trace: Trace) -> Vec<(&BString, Trace)> {
    fates.iter().filter_map(|fate| if let Fate::At(path) = fate { Some((path, trace)) } else { None }).collect()
}

/// True for a folder without entries.
fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// The only file of each name; none where there are several.
fn names<'f>(committed: impl Iterator<Item = &'f tree::Listed>) -> BTreeMap<Vec<u8>, Option<BString>> {
    let mut names = BTreeMap::new();
    for file in committed {
        names.entry(name(&file.path)).and_modify(|only| *only = None).or_insert_with(|| Some(file.path.clone()));
    }
    names
}

/// The last part of a path in lower case.
fn name(path: &BString) -> Vec<u8> {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_lowercase()
}

fn is_file(file: &tree::Listed) -> bool {
    file.mode == Mode::FILE || file.mode == Mode::FILE_EXECUTABLE
}

/// Contents of a repository's objects, each read once in a commit.
struct Blobs<'h, 'a> {
    history: &'h mut History<'a>,
    pieces: BTreeMap<ObjectId, Rc<Pieces>>,
    lengths: BTreeMap<ObjectId, Option<u64>>,
    is_exhausted: bool,
}

impl Blobs<'_, '_> {
    fn length(&mut self, id: ObjectId) -> Option<u64> {
        if let Some(pieces) = self.pieces.get(&id) {
            return Some(pieces.length);
        }
        let header = || self.history.opened.repository.find_header(id).ok().map(|header| header.size());
        *self.lengths.entry(id).or_insert_with(header)
    }
}

impl Contents for Blobs<'_, '_> {
    fn pieces(&mut self, side: &Side) -> Option<Rc<Pieces>> {
        if let Some(pieces) = self.pieces.get(&side.id) {
            return Some(Rc::clone(pieces));
        }
        let length = self.length(side.id).filter(|length| *length <= LONGEST)?;
        let Some(left) = self.history.work.bytes.checked_sub(length) else {
            self.is_exhausted = true;
            return None;
        };
        self.history.work.bytes = left;
        let blob = self.history.opened.repository.find_blob(side.id).ok()?;
        let pieces = Rc::new(Pieces::of(&blob.data));
        self.pieces.insert(side.id, Rc::clone(&pieces));
        Some(pieces)
    }

    fn differ_in_length(&mut self, one: &Side, other: &Side) -> bool {
        match (self.length(one.id), self.length(other.id)) {
            (Some(one), Some(other)) => !may_be_similar(one, other),
            (_, _) => true,
        }
    }
}
