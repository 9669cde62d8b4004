//! Adds up the measurements, and compares them with the record.

use std::collections::BTreeMap;

use super::{document::Found, repair::Kind, tree::Judged};
use crate::{
    contract::{Counts, Failure},
    counts::{self, Compare},
    evidence::Evidence,
};
use base::path::RepoPath;

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
    /// The links to anchors that are unknown.
    pub(super) unsure: u64,
    pub(super) before: Part,
    pub(super) after: Part,
}

/// The numbers of links at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Links into the tree.
    local: u64,
    /// Links without a target, allowed ones aside.
    targets: u64,
    /// Links with a target and without an anchor, allowed ones aside.
    anchors: u64,
    /// Broken links that may be.
    allowed: u64,
    /// Links whose target another copy of the tree may have.
    unknown: u64,
}

impl Part {
    fn take(&mut self, judged: &Judged, is_allowed: bool) {
        self.local += u64::from(*judged != Judged::External);
        match judged {
            Judged::External | Judged::Right(_) | Judged::Unsure(_) => {}
            Judged::Unknown => self.unknown += 1,
            Judged::NoTarget | Judged::NoAnchor(_) if is_allowed => self.allowed += 1,
            Judged::NoTarget => self.targets += 1,
            Judged::NoAnchor(_) => self.anchors += 1,
        }
    }

    fn add(&mut self, other: Part) {
        self.local += other.local;
        self.targets += other.targets;
        self.anchors += other.anchors;
        self.allowed += other.allowed;
        self.unknown += other.unknown;
    }

    fn counts(&self) -> [(&'static str, u64); 6] {
        [
            ("links_total", self.local),
            ("links_broken", self.targets + self.anchors),
            ("links_broken_target", self.targets),
            ("links_broken_anchor", self.anchors),
            ("links_allowed", self.allowed),
            ("links_unknown", self.unknown),
        ]
    }
}

impl Tally {
    /// Takes a link as it was.
    pub(super) fn before(&mut self, judged: &Judged, is_allowed: bool) {
        self.before.take(judged, is_allowed);
    }

    /// Takes a link as it is. One that `may_stay` broken is counted, and is not a failure.
    pub(super) fn after(
        &mut self,
        judged: &Judged,
        is_allowed: bool,
        may_stay: bool,
        (path, found): (&RepoPath, &Found),
    ) {
        self.after.take(judged, is_allowed);
        self.unsure += u64::from(matches!(judged, Judged::Unsure(_)));
        let place = if found.line == 0 { String::new() } else { format!("line {}: ", found.line) };
        let (check, missing) = match judged {
            Judged::External | Judged::Unknown | Judged::Right(_) | Judged::Unsure(_) => return,
            Judged::NoTarget | Judged::NoAnchor(_) if is_allowed || may_stay => return,
            Judged::NoTarget => (TARGETS_EXIST, "the target"),
            Judged::NoAnchor(_) => (ANCHORS_EXIST, "the anchor"),
        };
        let reason = format!("{place}{missing} of `{}` does not exist", found.shown());
        self.failures.push(Failure::at(check, path, reason));
    }

    /// Adds another.
    pub(super) fn add(&mut self, other: Tally) {
        self.changed += other.changed;
        self.failures.extend(other.failures);
        self.unsure += other.unsure;
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
        counts.extend(self.after.counts().map(|(name, count)| (name.to_owned(), count)));
        counts.extend(self.repairs());
        counts
    }

    fn repairs(&self) -> Vec<(String, u64)> {
        let all = ("repairs".to_owned(), self.repairs.values().sum());
        let kinds = self.repairs.iter().map(|(kind, count)| (format!("repairs_{}", kind.name()), *count));
        kinds.chain([all]).collect()
    }

    /// The differences from the record.
    pub(super) fn compare(&self, evidence: &Evidence<'_>) -> Vec<Failure> {
        let mut compare = Compare::files(evidence, self.changed);
        for (name, measured) in self.before.counts() {
            compare.baseline(name, measured);
        }
        for (name, measured) in self.repairs() {
            compare.manifest(&name, measured);
        }
        let (known, counts) = (self.repairs(), &evidence.manifest.counts);
        let unknown =
            counts.keys().filter(|name| name.starts_with("repairs") && !known.iter().any(|(own, _)| own == *name));
        for name in unknown {
            compare.manifest(name, 0);
        }
        compare.into_failures()
    }
}
