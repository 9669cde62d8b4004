//! The comparison of a verifier's counts with those of the record.

use super::{
    contract::{Counts, Failure},
    evidence::Evidence,
    survey::{FILES_IGNORED, FILES_SCANNED, FILES_SKIPPED},
};

/// The check that the numbers of the record are those of the files.
pub const COUNTS_MATCH: &str = "counts_match";

/// Compares counts with the record, and collects the differences.
pub struct Compare<'e, 'a> {
    evidence: &'e Evidence<'a>,
    failures: Vec<Failure>,
}

impl<'e, 'a> Compare<'e, 'a> {
    /// Compares the numbers of files that every adapter has; `changed` is the measured number of changed files.
    pub fn files(evidence: &'e Evidence<'a>, changed: u64) -> Self {
        let mut compare = Compare { evidence, failures: Vec::new() };
        let (baseline, manifest) = (evidence.baseline, evidence.manifest);
        compare.manifest("files", changed);
        compare.manifest("files", manifest.entries.len() as u64);
        compare.baseline(FILES_SKIPPED, baseline.skipped.len() as u64);
        let read = |path: &str| baseline.files.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
        let read_and_skipped = baseline.skipped.iter().filter(|skipped| read(&skipped.path)).count();
        compare.baseline(FILES_SCANNED, (baseline.files.len() - read_and_skipped) as u64);
        compare
    }

    /// Compares a count of the baseline.
    pub fn baseline(&mut self, name: &str, measured: u64) {
        self.same("the baseline", &self.evidence.baseline.counts, name, measured);
    }

    /// Compares a count of the changes.
    pub fn manifest(&mut self, name: &str, measured: u64) {
        self.same("the manifest", &self.evidence.manifest.counts, name, measured);
    }

    /// Adds a failure for a count of the baseline that is less than the measured part of it.
    pub fn at_least(&mut self, name: &str, recorded: u64, measured: u64, part: &str) {
        if recorded < measured {
            let reason = format!("the baseline says {recorded} for `{name}`, {part} alone have {measured}");
            self.failures.push(Failure::new(COUNTS_MATCH, reason));
        }
    }

    fn same(&mut self, what: &str, counts: &Counts, name: &str, measured: u64) {
        let recorded = counts.get(name).copied();
        if recorded != Some(measured) {
            let recorded = recorded.map_or("nothing".to_owned(), |n| n.to_string());
            let reason = format!("{what} says {recorded} for `{name}`, measured are {measured}");
            self.failures.push(Failure::new(COUNTS_MATCH, reason));
        }
    }

    /// The differences.
    pub fn into_failures(self) -> Vec<Failure> {
        self.failures
    }
}

/// The numbers of files that a verifier found under the target, after [`Evidence::examine`].
pub fn found(evidence: &Evidence<'_>) -> Counts {
    let Some(found) = evidence.found() else { return Counts::new() };
    let numbers = [(FILES_SCANNED, found.read), (FILES_SKIPPED, found.skipped), (FILES_IGNORED, found.ignored)];
    numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}
