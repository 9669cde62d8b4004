//! Measures every file of a target again by a user's own functions, and compares with the record.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::propose::{BYTES, FILES, LARGEST, add, functions_input};
use crate::{
    base::{
        batch::{Answer, Batch, Body, File, Phase},
        error::{Code, Error},
    },
    service::adapter::{
        Context,
        contract::{Counts, Failure, Invocation},
        counts::{self, COUNTS_MATCH, Compare},
        deadline::Deadline,
        evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
    },
};

/// `expect` accepts the counts after the change.
const EXPECTATION_MET: &str = "expectation_met";

/// The verifying side of an adapter.
pub(super) trait Measurer: Sync {
    /// True if it takes files that are not UTF-8.
    fn takes_bytes(&self) -> bool;

    /// The counts of a batch.
    fn measure(&self, batch: Batch) -> Result<Answer, Error>;

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
    let sums = Sums { measurer, input: functions_input(input), heaps: Mutex::default(), counts: Mutex::default() };
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
    let [before, mut after] = sums.finish()?;
    failures.extend(compare(evidence, changed, &before));
    after.extend(counts::found(evidence));
    let reasons = measurer.expect(&evidence.baseline.counts, &after)?;
    failures.extend(reasons.into_iter().map(|reason| Failure::new(EXPECTATION_MET, reason)));
    Ok(Measured {
        checks: vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH, EXPECTATION_MET],
        failures,
        counts: after,
        ..Measured::default()
    })
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

/// Files that wait to be measured.
#[derive(Default)]
struct Heap {
    files: Vec<File>,
    /// The bytes of their contents in JSON.
    encoded: usize,
}

/// The sums of the counts before and after, over batches of files.
struct Sums<'a> {
    measurer: &'a dyn Measurer,
    input: Value,
    heaps: Mutex<[Heap; 3]>,
    counts: Mutex<[Counts; 2]>,
}

impl Sums<'_> {
    /// Takes a file; returns the failures that need no counting.
    fn take(&self, file: &Examined<'_>, left_alone: bool) -> Result<Vec<Failure>, Error> {
        let fail = |reason: &str| Ok(vec![Failure::at(NOTHING_ELSE_CHANGED, file.path, reason)]);
        let (Some(before), Some(after)) = (file.before, file.after) else {
            return fail("a file was made or removed, and only texts were to change");
        };
        let bytes = self.measurer.takes_bytes();
        let is_read = |content: &[u8]| bytes || std::str::from_utf8(content).is_ok();
        match (is_read(before), is_read(after), left_alone) {
            (_, _, true) if file.changed => fail("it was to be left alone"),
            (true, _, true) if before.len() as u64 <= LARGEST => {
                fail(if bytes { "it was not to be left alone" } else { "it is a text, so it was not to be left alone" })
            }
            (_, _, true) => Ok(Vec::new()),
            (true, true, false) => {
                if file.changed {
                    self.add(Image::Before, file, before)?;
                    self.add(Image::After, file, after)?;
                } else {
                    self.add(Image::Kept, file, after)?;
                }
                Ok(Vec::new())
            }
            (_, _, false) => fail("it is not UTF-8, so it was to be left alone"),
        }
    }

    fn add(&self, image: Image, file: &Examined<'_>, content: &[u8]) -> Result<(), Error> {
        let body = Body::of(content.to_vec());
        let encoded = body.encoded();
        let full = {
            let mut heaps = self.heaps.lock().unwrap_or_else(PoisonError::into_inner);
            let heap = &mut heaps[image as usize];
            let is_full = heap.encoded + encoded > BYTES || heap.files.len() == FILES;
            let full = if is_full { std::mem::take(heap) } else { Heap::default() };
            heap.encoded += encoded;
            heap.files.push(File { path: file.path.to_string(), body });
            full
        };
        self.count(image, full)
    }

    fn count(&self, image: Image, heap: Heap) -> Result<(), Error> {
        if heap.files.is_empty() {
            return Ok(());
        }
        let mut files = heap.files;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let answer = self.measurer.measure(Batch { phase: Phase::Measure, input: self.input.clone(), files })?;
        let Answer::Counts(counts) = answer else {
            return Err(Error::new(Code::Internal, "`measure` gave files in place of counts"));
        };
        let mut sums = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let [before, after] = &mut *sums;
        match image {
            Image::Kept => {
                add(before, &counts);
                add(after, &counts);
            }
            Image::Before => add(before, &counts),
            Image::After => add(after, &counts),
        }
        Ok(())
    }

    fn finish(self) -> Result<[Counts; 2], Error> {
        let [kept, before, after] = std::mem::take(&mut *self.heaps.lock().unwrap_or_else(PoisonError::into_inner));
        for (image, heap) in [(Image::Kept, kept), (Image::Before, before), (Image::After, after)] {
            self.count(image, heap)?;
        }
        Ok(self.counts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}
