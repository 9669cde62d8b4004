//! The files that differ between the present commit and one that git would bring into the work tree.
//!
//! Only objects and references are read: no configuration of the repository, no hook, no filter, no index.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::atomic::AtomicBool,
};

use gix::{ObjectId, Repository, revision::walk::Sorting, traverse::commit::simple::CommitTimeOrder};

use super::{elsewhere::special_below, place::Place, tree};
use crate::plain_file;

/// The limit of commits that are searched for a common one.
const MOST_COMMITS: usize = 20_000;

/// The longest log of a reference that is read, in bytes.
const MOST_LOG: u64 = 8 << 20;

/// The way in which git brings a revision into the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bringing {
    /// As it is.
    Tree,
    /// Its changes since it parted from the present commit.
    Merge,
    /// The changes of this commit alone, or of a range `A..B`.
    Change,
    /// None: the files of the present commit leave the work tree.
    Nothing,
}

/// The wanted paths that a revision would change below a folder; none if the revision or the repository can't be read.
pub fn brought(
    root: &Path,
    revision: &str,
    bringing: Bringing,
    wanted: &dyn Fn(&str) -> bool,
) -> Option<BTreeSet<String>> {
    let place = Place::find(root).ok()??;
    // Git's reader would wait at a pipe.
    if special_below(&place.common.join("refs")).is_some() {
        return None;
    }
    let repository = gix::open::Options::isolated()
        .with(gix::sec::Trust::Reduced)
        .open_path_as_is(true)
        .open(&place.dot_git)
        .ok()?
        .to_thread_local();
    let reader =
        Reader { repository: &repository, place: &place, prefix: root.strip_prefix(&place.work).ok()?, wanted };
    let head = repository.head_id().ok()?.detach();
    if bringing == Bringing::Nothing {
        return Some(reader.files(head)?.into_keys().collect());
    }
    if let Some((from, to)) = revision.split_once("..") {
        let named = |name: &str| if name.is_empty() { Some(head) } else { reader.resolve(name) };
        return reader.differing(named(from)?, named(to.trim_start_matches('.'))?);
    }
    let id = reader.resolve(revision)?;
    let from = match bringing {
        Bringing::Tree | Bringing::Nothing => return reader.differing(head, id),
        Bringing::Merge => reader.parting(head, id)?,
        Bringing::Change => match reader.parent(id, 1) {
            Some(parent) => parent,
            // The first commit brings all that it has.
            None => return Some(reader.files(id)?.into_keys().collect()),
        },
    };
    let changed = reader.differing(from, id)?;
    match bringing {
        Bringing::Merge => Some(changed.intersection(&reader.differing(head, id)?).cloned().collect()),
        Bringing::Tree | Bringing::Change | Bringing::Nothing => Some(changed),
    }
}

struct Reader<'a> {
    repository: &'a Repository,
    place: &'a Place,
    /// The folder below the work tree.
    prefix: &'a Path,
    wanted: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    /// The commit that a name stands for, with `~2`, `^` and `@{1}` behind it.
    fn resolve(&self, revision: &str) -> Option<ObjectId> {
        // `^{commit}` is the commit itself.
        let revision = revision.split("^{").next().unwrap_or(revision);
        let at = revision.find(['~', '^']).unwrap_or(revision.len());
        let (name, mut steps) = revision.split_at(at);
        let mut id = self.named(name)?;
        let mut rest = steps.chars();
        while let Some(step) = rest.next() {
            steps = rest.as_str();
            let (digits, after) =
                steps.split_at(steps.len() - steps.trim_start_matches(|c: char| c.is_ascii_digit()).len());
            let count = if digits.is_empty() { 1 } else { digits.parse::<usize>().ok()? };
            rest = after.chars();
            match step {
                '~' => {
                    for _ in 0..count.min(MOST_COMMITS) {
                        id = self.parent(id, 1)?;
                    }
                }
                '^' => id = self.parent(id, count)?,
                _ => return None,
            }
        }
        Some(id)
    }

    fn named(&self, name: &str) -> Option<ObjectId> {
        match name {
            "" => return None,
            "@" | "HEAD" => return Some(self.repository.head_id().ok()?.detach()),
            "-" => return self.before("@{-1}"),
            // Its usual branch, since no configuration is read.
            "@{u}" | "@{upstream}" => {
                let branch = self.repository.head_name().ok()??;
                return self.named(&format!("origin/{}", branch.shorten()));
            }
            _ => {}
        }
        if let Some((name, place)) = name.split_once("@{") {
            return match name {
                "" if place.starts_with('-') => self.before(&format!("@{{{place}")),
                _ => self.logged(name, place.strip_suffix('}')?.parse().ok()?),
            };
        }
        let tried = [name.to_owned(), format!("origin/{name}")];
        for name in tried {
            if let Ok(Some(reference)) = self.repository.try_find_reference(name.as_str()) {
                return Some(reference.into_fully_peeled_id().ok()?.detach());
            }
        }
        if name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let prefix = gix::hash::Prefix::from_hex(name).ok()?;
            return self.repository.objects.lookup_prefix(prefix, None).ok()??.ok();
        }
        // `FETCH_HEAD` has the branch behind the hash.
        let plain = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let text = plain.then(|| self.read(name)).flatten()?;
        ObjectId::from_hex(text.split(|c: char| !c.is_ascii_hexdigit()).next()?.as_bytes()).ok()
    }

    /// A file of the repository.
    fn read(&self, name: &str) -> Option<String> {
        let open = |folder: &Path| plain_file::open(&folder.join(name)).ok();
        let file = open(&self.place.own).or_else(|| open(&self.place.common))?;
        Some(String::from_utf8_lossy(&plain_file::all(&file, MOST_LOG).ok()?).into_owned())
    }

    /// An earlier value of a reference, the newest first.
    fn logged(&self, name: &str, place: usize) -> Option<ObjectId> {
        let name = match name {
            "stash" => "refs/stash".to_owned(),
            "HEAD" => "HEAD".to_owned(),
            "" => self.repository.head_name().ok()??.as_bstr().to_string(),
            name if name.starts_with("refs/") => name.to_owned(),
            name => format!("refs/heads/{name}"),
        };
        let log = self.read(&format!("logs/{name}"))?;
        let line = log.lines().rev().nth(place)?;
        ObjectId::from_hex(line.split(' ').nth(1)?.as_bytes()).ok()
    }

    /// The branch or commit that was checked out before: `@{-1}`.
    fn before(&self, name: &str) -> Option<ObjectId> {
        let place: usize = name.strip_prefix("@{-")?.strip_suffix('}')?.parse().ok()?;
        let log = self.read("logs/HEAD")?;
        let moves = log.lines().rev().filter_map(|line| line.split_once("checkout: moving from ")?.1.split(' ').next());
        let name = moves.skip(place.checked_sub(1)?).map(str::to_owned).next()?;
        self.named(&name)
    }

    fn parent(&self, id: ObjectId, number: usize) -> Option<ObjectId> {
        let commit = self.repository.find_commit(id).ok()?;
        if number == 0 {
            return Some(id);
        }
        commit.parent_ids().nth(number - 1).map(gix::Id::detach)
    }

    /// A newest commit from which both come.
    fn parting(&self, one: ObjectId, other: ObjectId) -> Option<ObjectId> {
        let walk = |id: ObjectId| {
            let sorting = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
            let walk = self.repository.rev_walk([id]).sorting(sorting).all().ok()?;
            Some(walk.take(MOST_COMMITS).filter_map(|one| Some(one.ok()?.id)))
        };
        let known: BTreeSet<ObjectId> = walk(one)?.collect();
        walk(other)?.find(|id| known.contains(id))
    }

    /// The wanted paths that differ between two commits.
    fn differing(&self, one: ObjectId, other: ObjectId) -> Option<BTreeSet<String>> {
        let (one, other) = (self.files(one)?, self.files(other)?);
        let paths = one.keys().chain(other.keys());
        Some(paths.filter(|path| one.get(*path) != other.get(*path)).cloned().collect())
    }

    /// The wanted files of a commit, with the names of their contents. Only folders that are wanted themselves are entered.
    fn files(&self, commit: ObjectId) -> Option<BTreeMap<String, ObjectId>> {
        let mut folder = self.repository.find_commit(commit).ok()?.tree().ok()?;
        if !self.prefix.as_os_str().is_empty() {
            let Ok(Some(entry)) = folder.lookup_entry_by_path(self.prefix) else { return Some(BTreeMap::new()) };
            folder = entry.object().ok()?.try_into_tree().ok()?;
        }
        let mut found = BTreeMap::new();
        for entry in folder.iter() {
            let entry = entry.ok()?;
            let name = String::from_utf8_lossy(entry.filename()).into_owned();
            if !entry.mode().is_tree() {
                if (self.wanted)(&name) {
                    found.insert(name, entry.object_id());
                }
                continue;
            }
            if (self.wanted)(&name) || name == ".github" {
                let inner = tree::files(self.repository, entry.object_id(), &AtomicBool::new(false)).ok()?;
                let inner =
                    inner.into_iter().map(|file| (format!("{name}/{}", String::from_utf8_lossy(&file.path)), file.id));
                found.extend(inner.filter(|(path, _)| (self.wanted)(path)));
            }
        }
        Some(found)
    }
}
