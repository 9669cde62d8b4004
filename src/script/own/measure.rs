//! Measures every file of a target again by a user's own functions, and compares with the record.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    counts as rules,
    heap::Heap,
    propose::{FILES, LARGEST, functions_input},
};
use adapter::{
    Context,
    contract::{Counts, Failure, Invocation},
    counts::{self, COUNTS_MATCH, Compare},
    deadline::Deadline,
    evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
};
use base::{
    batch::{Batch, Body, File, Phase},
    error::{Code, Error},
    path::RepoPath,
};
use system::workspace;

/// `expect` accepts the counts after the change.
const EXPECTATION_MET: &str = "expectation_met";

/// The verifying side of an adapter.
pub(super) trait Measurer: Sync {
    /// True if it takes files that are not UTF-8.
    fn takes_bytes(&self) -> bool;

    /// The most files of a batch.
    fn batch_files(&self) -> usize {
        FILES
    }

    /// The count that is above zero where there is work.
    fn work(&self) -> Option<&str>;

    /// The counts of a batch: of each of its files, or of all together.
    fn measure(&self, batch: Batch) -> Result<Vec<Counts>, Error>;

    /// The reasons that counts are not the expected ones.
    fn expect(&self, baseline: &Counts, after: &Counts) -> Result<Vec<String>, Error>;
}

/// Measures again, and compares with the record.
pub(super) fn measure(
    ctx: &Context<'_>,
    input: &Invocation,
    evidence: &Evidence<'_>,
    measurer: &dyn Measurer,
) -> Result<Measured, Error> {
    let sums = Sums {
        measurer,
        input: functions_input(input),
        paths: paths(evidence),
        line: Mutex::default(),
        counts: Mutex::default(),
        idle: Mutex::default(),
    };
    let skipped = &evidence.baseline.skipped;
    let deadline = Deadline::begin(input, "measuring the files");
    let results = evidence.examine(ctx, |file| {
        deadline.check(ctx)?;
        let left_alone = skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(file.path)).is_ok();
        sums.take(file, left_alone).map(|failures| (failures, u64::from(file.changed)))
    });
    let (mut failures, mut changed) = (Vec::new(), 0);
    for result in results {
        let (found, one) = result?;
        failures.extend(found);
        changed += one;
    }
    let Finished { before, mut after, measured, idle } = sums.finish(ctx.threads)?;
    failures.extend(idle);
    failures.extend(compare(evidence, changed, &before));
    if measured == 0 {
        // Nobody has counted anything, so all counts are 0.
        after.extend(evidence.baseline.counts.keys().map(|name| (name.clone(), 0)));
    }
    after.extend(counts::found(evidence));
    let reasons = measurer.expect(&evidence.baseline.counts, &after)?;
    failures.extend(reasons.into_iter().map(|reason| Failure::new(EXPECTATION_MET, reason)));
    let mut checks = vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH];
    checks.extend(measurer.work().map(|_| rules::WORK_BEFORE_CHANGE));
    checks.push(EXPECTATION_MET);
    Ok(Measured { checks, failures, counts: after, ..Measured::default() })
}

/// The files that are examined, sorted.
fn paths<'a>(evidence: &Evidence<'a>) -> Vec<&'a RepoPath> {
    let changed = evidence.manifest.entries.iter().map(|entry| &entry.path);
    let mut paths: Vec<&RepoPath> = evidence.baseline.files.iter().map(|file| &file.path).chain(changed).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The differences between the record and the counts of this side.
fn compare(evidence: &Evidence<'_>, changed: u64, before: &Counts) -> Vec<Failure> {
    let recorded = &evidence.baseline.counts;
    let mut compare = Compare::files(evidence, changed);
    let common: Vec<(&String, &u64)> = before.iter().filter(|(name, _)| recorded.contains_key(*name)).collect();
    common.iter().for_each(|(name, count)| compare.baseline(name, **count));
    let mut failures = compare.into_failures();
    if common.is_empty() && !evidence.baseline.files.is_empty() {
        let reason = "`discover` and `measure` have no count in common, so that nothing holds one to the other";
        failures.push(Failure::new(COUNTS_MATCH, reason));
    }
    failures
}

/// The state of a file that a heap is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Image {
    Kept,
    Before,
    After,
}

/// Files on their way into heaps, in the order of their paths: threads bring them in another one.
#[derive(Default)]
struct Line {
    /// The number of files that have passed.
    next: usize,
    waiting: BTreeMap<usize, Vec<(Image, File)>>,
    /// The number of contents that went into heaps.
    measured: usize,
    heaps: [Heap; 3],
}

impl Line {
    /// Moves the files whose turn has come, or all; returns full batches.
    fn advance(&mut self, all: bool, most: usize) -> Vec<(Image, Heap)> {
        let mut full = Vec::new();
        while let Some(first) = self.waiting.first_entry().filter(|first| all || *first.key() == self.next) {
            for (image, file) in first.remove() {
                self.measured += 1;
                full.extend(self.heaps[image as usize].add(file, most).map(|heap| (image, heap)));
            }
            self.next += 1;
        }
        full
    }
}

/// The sums of the counts before and after, over batches of files.
///
/// The batches depend on the sorted list of files alone.
struct Sums<'a> {
    measurer: &'a dyn Measurer,
    input: Value,
    /// The files, sorted.
    paths: Vec<&'a RepoPath>,
    line: Mutex<Line>,
    counts: Mutex<[Counts; 2]>,
    /// The files that change without work in them.
    idle: Mutex<Vec<Failure>>,
}

impl Sums<'_> {
    /// Takes a file; returns the failures that need no counting.
    fn take(&self, file: &Examined<'_>, left_alone: bool) -> Result<Vec<Failure>, Error> {
        let (images, failures) = match self.images(file, left_alone) {
            Ok(images) => (images, Vec::new()),
            Err(reason) => (Vec::new(), vec![Failure::at(NOTHING_ELSE_CHANGED, file.path, reason)]),
        };
        let files = images
            .into_iter()
            .map(|(image, content)| (image, File { path: file.path.to_string(), body: Body::of(content.to_vec()) }));
        let files = files.collect();
        let full = {
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            let number = self.paths.binary_search(&file.path).unwrap_or_else(|number| number);
            line.waiting.insert(number, files);
            line.advance(false, self.measurer.batch_files())
        };
        full.into_iter().try_for_each(|(image, heap)| self.count(image, heap))?;
        Ok(failures)
    }

    /// The contents of a file that are measured; the error is the reason that it should not be as it is.
    fn images<'f>(&self, file: &Examined<'f>, left_alone: bool) -> Result<Vec<(Image, &'f [u8])>, &'static str> {
        let (Some(before), Some(after)) = (file.before, file.after) else {
            return Err("a file was made or removed, and only contents were to change");
        };
        let bytes = self.measurer.takes_bytes();
        let is_read = |content: &[u8]| bytes || std::str::from_utf8(content).is_ok();
        match (is_read(before), is_read(after), left_alone) {
            (_, _, true) if file.changed => Err("it was to be left alone"),
            (true, _, true) if before.len() as u64 <= LARGEST => Err("it was not to be left alone"),
            (_, _, true) => Ok(Vec::new()),
            (true, true, false) if file.changed => Ok(vec![(Image::Before, before), (Image::After, after)]),
            (true, true, false) => Ok(vec![(Image::Kept, after)]),
            (_, _, false) => Err("it is not UTF-8, so it was to be left alone"),
        }
    }

    fn count(&self, image: Image, heap: Heap) -> Result<(), Error> {
        if heap.files.is_empty() {
            return Ok(());
        }
        let paths: Vec<String> = heap.files.iter().map(|file| file.path.clone()).collect();
        let batch = Batch { phase: Phase::Measure, input: self.input.clone(), files: heap.files };
        let parts = self.measurer.measure(batch)?;
        if image == Image::Before {
            self.find_idle(&paths, &parts);
        }
        let mut sums = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let [before, after] = &mut *sums;
        let mut sums = match image {
            Image::Kept => vec![before, after],
            Image::Before => vec![before],
            Image::After => vec![after],
        };
        for part in &parts {
            let added = sums.iter_mut().try_for_each(|sum| rules::add(sum, part, Phase::Measure));
            added.map_err(|why| Error::new(Code::VerificationFailed, why))?;
        }
        Ok(())
    }

    /// Notes files that change although nothing was to be done in them.
    ///
    /// Counts of several files together show it if they are fewer than the files.
    fn find_idle(&self, paths: &[String], parts: &[Counts]) {
        let Some(work) = self.measurer.work() else { return };
        let each = if parts.len() == paths.len() { 1 } else { paths.len() };
        let few = paths.chunks(each).zip(parts).filter_map(|(paths, part)| {
            let n = *part.get(work)?;
            match paths {
                _ if n >= paths.len() as u64 => None,
                [path] => {
                    let reason = format!("it changes, and had no `{work}` before");
                    Some(Failure { path: Some(path.clone()), ..Failure::new(rules::WORK_BEFORE_CHANGE, reason) })
                }
                paths => {
                    let reason = format!("{} files change, and had only {n} `{work}` before", paths.len());
                    Some(Failure::new(rules::WORK_BEFORE_CHANGE, reason))
                }
            }
        });
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(few);
    }

    /// Measures the rest.
    fn finish(self, threads: usize) -> Result<Finished, Error> {
        let (mut full, heaps, measured) = {
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            (line.advance(true, self.measurer.batch_files()), std::mem::take(&mut line.heaps), line.measured)
        };
        full.extend([Image::Kept, Image::Before, Image::After].into_iter().zip(heaps));
        let full: Vec<(Image, Mutex<Heap>)> = full.into_iter().map(|(image, heap)| (image, Mutex::new(heap))).collect();
        let counted = workspace::parallel_map(threads, &full, |(image, heap)| {
            self.count(*image, std::mem::take(&mut *heap.lock().unwrap_or_else(PoisonError::into_inner)))
        });
        counted.into_iter().collect::<Result<(), Error>>()?;
        let [before, after] = self.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Finished { before, after, measured, idle: self.idle.into_inner().unwrap_or_else(PoisonError::into_inner) })
    }
}

/// The results over all files.
struct Finished {
    before: Counts,
    after: Counts,
    /// The number of measured contents.
    measured: usize,
    /// The files that change without work in them.
    idle: Vec<Failure>,
}
