//! Adds up the measurements, and compares them with the record.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    document::Found,
    repair::Kind,
    tree::{Judged, Missing},
};
use crate::{
    base::path::RepoPath,
    service::adapter::{
        contract::{Counts, Failure},
        counts::{self, Compare},
        evidence::Evidence,
    },
};

/// The target of every link exists.
pub(super) const TARGETS_EXIST: &str = "targets_exist";
/// The anchor of every link exists.
pub(super) const ANCHORS_EXIST: &str = "anchors_exist";
/// No link that was right, external or allowed has changed.
pub(super) const GOOD_LINKS_KEPT: &str = "good_links_kept";
/// Each changed link has a reason that leads to its new target and to no other.
pub(super) const REPAIRS_EXPLAINED: &str = "repairs_explained";

/// The measurements of one file, or of all.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) changed: u64,
    pub(super) failures: Vec<Failure>,
    /// The repairs of each kind.
    pub(super) repairs: BTreeMap<Kind, u64>,
    /// The repaired links; one may have several kinds.
    pub(super) repaired: u64,
    pub(super) before: Part,
    pub(super) after: Part,
}

/// The numbers of links at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// All links, external ones too.
    all: u64,
    /// Broken links by their missing part, allowed ones aside.
    broken: BTreeMap<Missing, u64>,
    /// Broken links that may be.
    allowed: u64,
}

impl Part {
    fn take(&mut self, judged: &Judged, is_allowed: bool) {
        self.all += 1;
        match judged {
            Judged::External | Judged::Right(_) => {}
            Judged::NoTarget(_) | Judged::NoAnchor(..) if is_allowed => self.allowed += 1,
            Judged::NoTarget(missing) | Judged::NoAnchor(_, missing) => *self.broken.entry(*missing).or_default() += 1,
        }
    }

    fn add(&mut self, other: Part) {
        self.all += other.all;
        self.allowed += other.allowed;
        for (missing, count) in other.broken {
            *self.broken.entry(missing).or_default() += count;
        }
    }

    fn counts(&self) -> Counts {
        let kinds = self.broken.iter().map(|(missing, count)| (format!("links_broken_{}", missing.name()), *count));
        let mut counts: Counts = kinds.collect();
        counts.insert("links_total".to_owned(), self.all);
        counts.insert("links_broken".to_owned(), self.broken.values().sum());
        counts.insert("links_allowed".to_owned(), self.allowed);
        counts
    }
}

impl Tally {
    /// Takes a link as it was.
    pub(super) fn before(&mut self, judged: &Judged, is_allowed: bool) {
        self.before.take(judged, is_allowed);
    }

    /// Takes a link as it is.
    pub(super) fn after(&mut self, judged: &Judged, is_allowed: bool, (path, found): (&RepoPath, &Found)) {
        self.after.take(judged, is_allowed);
        let place = if found.line == 0 { String::new() } else { format!("line {}: ", found.line) };
        let (check, missing) = match judged {
            Judged::External | Judged::Right(_) => return,
            Judged::NoTarget(_) | Judged::NoAnchor(..) if is_allowed => return,
            Judged::NoTarget(missing) => (TARGETS_EXIST, missing),
            Judged::NoAnchor(_, missing) => (ANCHORS_EXIST, missing),
        };
        let why = match missing {
            Missing::File => "has no target",
            Missing::Ignored => "has a target that git ignores",
            Missing::Outside => "leads above the workspace",
            Missing::Anchor => "has a target without that anchor",
            Missing::Line => "has a target without that line",
        };
        let reason = format!("{place}`{}` {why}", found.shown());
        self.failures.push(Failure::at(check, path, reason));
    }

    /// Adds another.
    pub(super) fn add(&mut self, other: Tally) {
        self.changed += other.changed;
        self.repaired += other.repaired;
        self.failures.extend(other.failures);
        self.before.add(other.before);
        self.after.add(other.after);
        for (kind, count) in other.repairs {
            *self.repairs.entry(kind).or_default() += count;
        }
    }

    /// The counts of the report.
    pub(super) fn counts(&self, evidence: &Evidence<'_>) -> Counts {
        let mut counts = counts::found(evidence);
        counts.insert("files".to_owned(), self.changed);
        counts.extend(self.after.counts());
        counts.extend(self.repairs());
        counts
    }

    fn repairs(&self) -> Counts {
        let kinds = self.repairs.iter().map(|(kind, count)| (format!("repairs_{}", kind.name()), *count));
        kinds.chain([("repairs".to_owned(), self.repaired)]).collect()
    }

    /// The differences from the record.
    pub(super) fn compare(&self, evidence: &Evidence<'_>) -> Vec<Failure> {
        let mut compare = Compare::files(evidence, self.changed);
        let (before, repairs) = (self.before.counts(), self.repairs());
        // A count of zero may be left out, and a count that is recorded is measured.
        for name in names(&before, &evidence.baseline.counts, "links_") {
            compare.baseline(name, before.get(name).copied().unwrap_or_default());
        }
        for name in names(&repairs, &evidence.manifest.counts, "repairs") {
            compare.manifest(name, repairs.get(name).copied().unwrap_or_default());
        }
        compare.into_failures()
    }
}

/// The names of counts that are measured and not zero, or recorded.
fn names<'c>(measured: &'c Counts, recorded: &'c Counts, begin: &str) -> BTreeSet<&'c String> {
    let some = measured.iter().filter(|(_, count)| **count > 0).map(|(name, _)| name);
    some.chain(recorded.keys().filter(|name| name.starts_with(begin))).collect()
}
