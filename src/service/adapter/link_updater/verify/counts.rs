//! Adds up the measurements, and compares them with the record.

use std::collections::BTreeMap;

use super::{format::Format, left::Seen};
use crate::{
    contract::{Counts, Failure},
    counts::{self, Compare},
    evidence::Evidence,
};
use base::hash::Sha256;

/// The measurements of one file, or of all.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) changed: u64,
    /// In changed files.
    pub(super) links_after: u64,
    pub(super) left: u64,
    pub(super) failures: Vec<Failure>,
    pub(super) samples: Samples,
    /// The places in which an old host stands.
    pub(super) old_hosts: Seen,
    formats: BTreeMap<Format, Part>,
}

/// The measurements of the files of one format.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// All of them, changed or not.
    pub(super) files: u64,
    /// Links in changed files.
    pub(super) links_before: u64,
    pub(super) links_after: u64,
    /// Links that had to move.
    pub(super) moved: u64,
}

/// New URLs to try: those of the smallest hashes, so that neither order nor threads matter.
#[derive(Debug, Default)]
pub(super) struct Samples {
    most: usize,
    seed: u64,
    chosen: BTreeMap<Sha256, String>,
}

impl Samples {
    /// Keeps at most `most` URLs.
    pub(super) fn new(most: u64, seed: u64) -> Self {
        Samples { most: usize::try_from(most).unwrap_or(usize::MAX), seed, chosen: BTreeMap::new() }
    }

    /// True if no samples are requested.
    pub(super) fn is_off(&self) -> bool {
        self.most == 0
    }

    /// Takes a URL if its hash is among the smallest.
    pub(super) fn offer(&mut self, url: String) {
        let hash = Sha256::of(format!("{}\n{url}", self.seed).as_bytes());
        self.chosen.insert(hash, url);
        while self.chosen.len() > self.most {
            self.chosen.pop_last();
        }
    }

    /// The chosen URLs, sorted.
    pub(super) fn into_urls(self) -> Vec<String> {
        let mut urls: Vec<String> = self.chosen.into_values().collect();
        urls.sort();
        urls
    }
}

impl Tally {
    /// A tally for a file of a format.
    pub(super) fn of(format: Option<Format>, samples: Samples) -> Self {
        let formats = format.map(|format| (format, Part { files: 1, ..Part::default() })).into_iter().collect();
        Tally { formats, samples, ..Tally::default() }
    }

    /// The part of the file's format.
    pub(super) fn part(&mut self, format: Format) -> &mut Part {
        self.formats.entry(format).or_default()
    }

    /// Adds another.
    pub(super) fn add(&mut self, other: Tally) {
        self.changed += other.changed;
        self.links_after += other.links_after;
        self.left += other.left;
        self.failures.extend(other.failures);
        self.old_hosts.add(other.old_hosts);
        for url in other.samples.chosen.into_values() {
            self.samples.offer(url);
        }
        for (format, more) in other.formats {
            let part = self.part(format);
            part.files += more.files;
            part.links_before += more.links_before;
            part.links_after += more.links_after;
            part.moved += more.moved;
        }
    }

    fn sum(&self, what: impl Fn(&Part) -> u64) -> u64 {
        self.formats.values().map(what).sum()
    }

    /// The counts of the report.
    pub(super) fn counts(&self, evidence: &Evidence<'_>) -> Counts {
        let recorded = |name: &str| evidence.baseline.counts.get(name).copied();
        let mut counts = vec![
            ("files".to_owned(), self.changed),
            ("link_updates".to_owned(), self.sum(|part| part.moved)),
            ("links_to_update".to_owned(), self.left),
            ("links_in_changed_files".to_owned(), self.links_after),
        ];
        // The hashes of all other files are those of the baseline, so the number of their links is too.
        let mut elsewhere = |name: String, before: u64, after: u64| {
            let others = recorded(&name).and_then(|n| n.checked_sub(before));
            counts.extend(others.map(|n| (name, n + after)));
        };
        elsewhere("links_total".to_owned(), self.sum(|part| part.links_before), self.sum(|part| part.links_after));
        for (format, part) in &self.formats {
            elsewhere(format!("links_{}", format.name()), part.links_before, part.links_after);
        }
        for (format, part) in &self.formats {
            counts.push((format!("files_{}", format.name()), part.files));
            counts.push((format!("updates_{}", format.name()), part.moved));
        }
        counts.extend(counts::found(evidence));
        counts.into_iter().collect()
    }

    /// The differences from the record.
    pub(super) fn compare(&self, evidence: &Evidence<'_>) -> Vec<Failure> {
        let mut compare = Compare::files(evidence, self.changed);
        let recorded = &evidence.baseline.counts;
        let moved = self.sum(|part| part.moved);
        compare.baseline("links_to_update", moved);
        compare.manifest("link_updates", moved);
        for (format, part) in &self.formats {
            for (what, measured) in [("files", part.files), ("updates", part.moved)] {
                let name = format!("{what}_{}", format.name());
                if recorded.contains_key(&name) {
                    compare.baseline(&name, measured);
                }
            }
        }
        let mut at_least = |name: &str, before: u64| {
            let recorded = recorded.get(name).copied().or((name == "links_total").then_some(0));
            if let Some(recorded) = recorded {
                compare.at_least(name, recorded, before, "changed files");
            }
        };
        at_least("links_total", self.sum(|part| part.links_before));
        for (format, part) in &self.formats {
            at_least(&format!("links_{}", format.name()), part.links_before);
        }
        compare.into_failures()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(urls: &[String], seed: u64, parts: usize) -> Vec<String> {
        let mut total = Tally::of(None, Samples::new(5, seed));
        for part in urls.chunks(urls.len() / parts) {
            let mut samples = Samples::new(5, seed);
            part.iter().for_each(|url| samples.offer(url.clone()));
            total.add(Tally::of(None, samples));
        }
        total.samples.into_urls()
    }

    #[test]
    fn the_seed_alone_chooses_samples() {
        let mut urls: Vec<String> = (0..100).map(|n| format!("https://new.example.com/{n}")).collect();
        let some = chosen(&urls, 7, 1);
        assert!(some.len() == 5 && some.is_sorted());
        urls.reverse();
        urls.extend(urls.clone());
        assert_eq!(chosen(&urls, 7, 9), some);
        assert_ne!(chosen(&urls, 8, 1), some);
        assert_eq!(Tally::of(None, Samples::new(0, 7)).samples.into_urls(), [""; 0]);
    }
}
