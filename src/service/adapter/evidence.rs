//! The evidence for a verifier: the record, and every file under the target, read once.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::{
    Context,
    contract::{BaselineRecord, Counts, Failure, FileHash, ManifestRecord},
    listing::{self, Listed},
    record_files,
};
use base::{
    change::{ChangeSet, Entry, Stamp},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};
use system::workspace::{self, Globs};

/// Every manifest entry is on disk as recorded.
pub const HASHES_MATCH: &str = "hashes_match";
/// Nothing under the target is different but for the manifest's entries.
pub const NOTHING_ELSE_CHANGED: &str = "nothing_else_changed";

/// The reason that a file is not compared.
const TOO_LARGE: &str = "it is too large to be read";

/// The places of the contents before and after a change.
#[derive(Clone, Debug)]
pub enum Images<'a> {
    /// The change was made: the tree holds the contents after. A folder of the record holds the contents before, as file `n`
    /// for entry `n`, from 0; new files have none.
    Applied(PathBuf),
    /// Nothing was written: the tree holds the contents before. A file of the record holds the contents after, concatenated in
    /// the order of the entries.
    Preview(PathBuf),
    /// Nothing was written: the tree holds the contents before, and this the contents after.
    Proposed(&'a ChangeSet),
}

/// The measurements of a verifier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its checks.
    pub checks: Vec<&'static str>,
    /// Its failures.
    pub failures: Vec<Failure>,
    /// Its counts.
    pub counts: Counts,
    /// The number of links probed over the network.
    pub sample_size: u64,
    /// New URLs that the host may probe, sorted.
    pub samples: Vec<String>,
    /// Further remarks, as sentences without final period.
    pub remarks: Vec<String>,
}

/// A file of the target, before and after.
#[derive(Clone, Copy, Debug)]
pub struct Examined<'a> {
    /// The file.
    pub path: &'a RepoPath,
    /// Its bytes before; none if it did not exist.
    pub before: Option<&'a [u8]>,
    /// Its bytes after; none if it is removed.
    pub after: Option<&'a [u8]>,
    /// True if the manifest names it.
    pub changed: bool,
}

/// The numbers of files in a listing of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Files that the adapter looks at and the record does not list as skipped.
    pub read: u64,
    /// Files that the record lists as skipped.
    pub skipped: u64,
    /// Files that the adapter ignores.
    pub ignored: u64,
}

/// The record, and the contents that it describes.
pub struct Evidence<'a> {
    /// Globs of the files that the adapter looks at.
    looks_at: Vec<&'a str>,
    /// The measurements before the change.
    pub baseline: &'a BaselineRecord,
    /// The manifest.
    pub manifest: &'a ManifestRecord,
    images: Images<'a>,
    /// The offset of each entry's new content in the file of a preview.
    offsets: Vec<u64>,
    failures: Mutex<Option<Vec<Failure>>>,
    found: Mutex<Option<Found>>,
}

enum Item<'a> {
    Kept(&'a FileHash),
    Changed(Changed<'a>),
}

/// A changed file.
struct Changed<'a> {
    /// The number of its entry.
    n: usize,
    entry: &'a Entry,
    /// Its hash in the baseline.
    file: Option<&'a FileHash>,
}

impl<'a> Evidence<'a> {
    /// Evidence from records whose hashes were checked. `looks_at` is the adapter's own for this input.
    pub fn new(
        looks_at: Vec<&'a str>,
        (baseline, manifest): (&'a BaselineRecord, &'a ManifestRecord),
        images: Images<'a>,
    ) -> Self {
        let mut offset = 0_u64;
        let offsets = manifest.entries.iter().map(|entry| {
            let begin = offset;
            offset = offset.saturating_add(entry.after.map_or(0, |after| after.length));
            begin
        });
        let offsets = offsets.collect();
        Evidence { looks_at, baseline, manifest, images, offsets, failures: Mutex::new(None), found: Mutex::new(None) }
    }

    /// Reads every file of the target once, compares its hash with the record, and passes it to `work`.
    ///
    /// A file that can't be read is a failure of the check, and `work` does not see it. The results are in the order of
    /// the paths.
    pub fn examine<R: Send>(&self, ctx: &Context<'_>, work: impl Fn(&Examined<'_>) -> R + Sync) -> Vec<R> {
        let items = self.items();
        let buffers = || (Vec::new(), Vec::new());
        let results = workspace::parallel_map_with(ctx.threads, &items, buffers, |buffers, item| match item {
            Item::Kept(file) => self.kept(ctx, file, &mut buffers.0, &work),
            Item::Changed(changed) => self.changed(ctx, changed, buffers, &work),
        });
        let mut failures = self.names(ctx).unwrap_or_else(|error| vec![unread(None, &error)]);
        let mut measured = Vec::new();
        for (result, found) in results {
            measured.extend(result);
            failures.extend(found);
        }
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = Some(failures);
        measured
    }

    /// The numbers of files that `examine` found under the target; none before it has succeeded.
    pub fn found(&self) -> Option<Found> {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The failures that `examine` found; runs it now if the adapter never did.
    pub(super) fn into_failures(self, ctx: &Context<'_>) -> Vec<Failure> {
        if self.failures.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            self.examine(ctx, |_| ());
        }
        self.failures.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
    }

    fn items(&self) -> Vec<Item<'_>> {
        let mut items: BTreeMap<&RepoPath, Item<'_>> =
            self.baseline.files.iter().map(|file| (&file.path, Item::Kept(file))).collect();
        for (n, entry) in self.manifest.entries.iter().enumerate() {
            let file = match items.get(&entry.path) {
                Some(Item::Kept(file)) => Some(*file),
                Some(Item::Changed(_)) | None => None,
            };
            items.insert(&entry.path, Item::Changed(Changed { n, entry, file }));
        }
        items.into_values().collect()
    }

    fn kept<R>(
        &self,
        ctx: &Context<'_>,
        file: &FileHash,
        buffer: &mut Vec<u8>,
        work: &(impl Fn(&Examined<'_>) -> R + Sync),
    ) -> (Option<R>, Vec<Failure>) {
        let found = match ctx.view.read_into(&file.path, u64::MAX, buffer) {
            Ok(Some(stamp)) => stamp.sha256,
            Ok(None) => {
                return (None, vec![Failure::at(NOTHING_ELSE_CHANGED, &file.path, TOO_LARGE)]);
            }
            Err(error) => return (None, vec![unread(Some(&file.path), &error)]),
        };
        let failures = match found == file.sha256 {
            true => Vec::new(),
            false => vec![differs(NOTHING_ELSE_CHANGED, &file.path, file.sha256, found)],
        };
        let bytes = Some(buffer.as_slice());
        (Some(work(&Examined { path: &file.path, before: bytes, after: bytes, changed: false })), failures)
    }

    fn changed<R>(
        &self,
        ctx: &Context<'_>,
        &Changed { n, entry, file }: &Changed<'_>,
        (old, new): &mut (Vec<u8>, Vec<u8>),
        work: &(impl Fn(&Examined<'_>) -> R + Sync),
    ) -> (Option<R>, Vec<Failure>) {
        let mut failures = Vec::new();
        let mut fail = |reason: String| failures.push(Failure::at(HASHES_MATCH, &entry.path, reason));
        let recorded = entry.before.map(|stamp| stamp.sha256);
        if recorded != file.map(|file| file.sha256) {
            fail("the manifest and the baseline disagree about what it was".to_owned());
        }
        let images = self.before(ctx, n, entry, old).and_then(|before| Ok((before, self.after(ctx, n, entry, new)?)));
        let (before, after) = match images {
            Ok(images) => images,
            Err(error) => {
                fail(error.message().to_owned());
                return (None, failures);
            }
        };
        if self.applied() {
            if before.map(|stamp| stamp.sha256) != recorded {
                fail("its recorded content before is not the one that the manifest names".to_owned());
            }
        } else if let Some(reason) = mismatch(entry.before, before) {
            fail(format!("nothing was to be written yet, but {reason}"));
        }
        if let Some(reason) = mismatch(entry.after, after) {
            fail(reason);
        }
        let (before, after) = (before.map(|_| old.as_slice()), after.map(|_| new.as_slice()));
        (Some(work(&Examined { path: &entry.path, before, after, changed: true })), failures)
    }

    fn applied(&self) -> bool {
        matches!(self.images, Images::Applied(_))
    }

    /// Reads the content before; none if the file did not exist.
    fn before(&self, ctx: &Context<'_>, n: usize, entry: &Entry, bytes: &mut Vec<u8>) -> Result<Option<Stamp>, Error> {
        match (&self.images, entry.before) {
            (Images::Applied(_), None) => Ok(None),
            (Images::Applied(pres), Some(stamp)) => {
                record_files::read_into(&pres.join(n.to_string()), bytes)?;
                Ok(Some(stamp_of(bytes, stamp.mode)))
            }
            (Images::Preview(_) | Images::Proposed(_), _) => in_tree(ctx, entry, bytes),
        }
    }

    /// Reads the content after; none if the file is removed.
    fn after(&self, ctx: &Context<'_>, n: usize, entry: &Entry, bytes: &mut Vec<u8>) -> Result<Option<Stamp>, Error> {
        match (&self.images, entry.after) {
            (Images::Applied(_), _) => in_tree(ctx, entry, bytes),
            (Images::Preview(_), None) => Ok(None),
            (Images::Preview(posts), Some(stamp)) => {
                record_files::read_part(posts, self.offsets[n], stamp.length, bytes)?;
                Ok(Some(stamp_of(bytes, stamp.mode)))
            }
            (Images::Proposed(changes), _) => Ok(changes.changes().get(n).and_then(|change| {
                let content = change.after.as_ref()?;
                bytes.clear();
                bytes.extend_from_slice(&content.bytes);
                Some(content.stamp())
            })),
        }
    }

    /// Files that appeared or vanished under the target.
    fn names(&self, ctx: &Context<'_>) -> Result<Vec<Failure>, Error> {
        let domain = Globs::parse(&self.looks_at)?;
        let target = self.baseline.input.target.globs(ctx.view)?;
        let Listed { walked, mut covered, ignored, skipped: unread } = listing::list(ctx, &target, &domain)?;
        let mut expected: BTreeSet<&str> = self.baseline.files.iter().map(|file| file.path.as_str()).collect();
        let skipped = || self.baseline.skipped.iter().map(|skipped| skipped.path.as_str());
        expected.extend(skipped());
        // Older records do not name them.
        covered.retain(|path| !ctx.is_later || expected.contains(path.as_str()));
        let mut found: BTreeSet<&str> = walked.iter().chain(&covered).map(RepoPath::as_str).collect();
        found.extend(unread.iter().map(|unread| unread.path.as_str()));
        if ctx.is_later {
            // The index of that time is not there any more.
            found.remove(listing::INDEX);
            found.extend(skipped().filter(|path| *path == listing::INDEX));
        }
        let left_alone = skipped().filter(|path| found.contains(path)).count() as u64;
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Found { read: (found.len() as u64).saturating_sub(left_alone), skipped: left_alone, ignored });
        if self.applied() {
            for entry in &self.manifest.entries {
                match entry.after {
                    Some(_) => expected.insert(entry.path.as_str()),
                    None => expected.remove(entry.path.as_str()),
                };
            }
        }
        let appeared = found.difference(&expected).map(|path| (path, "it appeared under the target"));
        let vanished = expected.difference(&found).map(|path| (path, "it is no longer under the target"));
        Ok(appeared.chain(vanished).map(|(path, why)| Failure::at(NOTHING_ELSE_CHANGED, path, why)).collect())
    }
}

fn stamp_of(bytes: &[u8], mode: u32) -> Stamp {
    Stamp { sha256: Sha256::of(bytes), mode, length: bytes.len() as u64 }
}

fn in_tree(ctx: &Context<'_>, entry: &Entry, bytes: &mut Vec<u8>) -> Result<Option<Stamp>, Error> {
    match ctx.view.read_into(&entry.path, u64::MAX, bytes) {
        Ok(Some(stamp)) => Ok(Some(stamp)),
        Ok(None) => Err(Error::new(Code::Unreadable, TOO_LARGE)),
        Err(error) if error.code() == Code::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn unread(path: Option<&RepoPath>, error: &Error) -> Failure {
    Failure {
        check: NOTHING_ELSE_CHANGED.to_owned(),
        path: path.map(ToString::to_string),
        reason: error.message().to_owned(),
    }
}

fn differs(check: &str, path: &RepoPath, expected: Sha256, found: Sha256) -> Failure {
    Failure::at(check, path, format!("its hash is {found}, not {expected}"))
}

fn mismatch(expected: Option<Stamp>, found: Option<Stamp>) -> Option<String> {
    match (expected, found) {
        (None, None) => None,
        (None, Some(_)) => Some("it exists".to_owned()),
        (Some(_), None) => Some("it does not exist".to_owned()),
        (Some(expected), Some(found)) if expected.sha256 != found.sha256 => {
            Some(format!("its hash is {}, not {}", found.sha256, expected.sha256))
        }
        (Some(expected), Some(found)) if expected.mode != found.mode => {
            Some(format!("its mode is {:o}, not {:o}", found.mode, expected.mode))
        }
        (Some(expected), Some(found)) if expected.length != found.length => {
            Some(format!("its length is {}, not {}", found.length, expected.length))
        }
        (Some(_), Some(_)) => None,
    }
}
