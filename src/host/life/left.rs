//! The places and files that verified proposals left: places in doubt or of another meaning, and files that nobody read.

use serde::Serialize;

use adapter::contract::{BaselineRecord, Finding, Skipped};
use base::{output::Output, text::counted};
use record::{Record, event::Event};

/// The places and files that the proposals of a run left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Left {
    /// The places, sorted.
    #[serde(rename = "left", skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Finding>,
    /// The files that were not read, sorted by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// How many places and files there are of which a record does not hold more.
    #[serde(skip)]
    unknown: u64,
}

impl Left {
    /// The places and files that the verified proposals of records left; `read` reads an artefact of the run.
    pub fn of(records: &[Record], read: impl Fn(&str) -> Option<Vec<u8>>) -> Self {
        let proposed = records.iter().filter_map(|record| match &record.event {
            Event::DtaProposed(proposed) => Some(proposed.left),
            _ => None,
        });
        let proposed: u64 = proposed.sum();
        let mut left = Left::default();
        if proposed == 0 {
            return left;
        }
        for record in records {
            let Event::DtaVerified(verified) = &record.event else { continue };
            match Left::of_proposal(&verified.output, &read) {
                Some(one) => {
                    left.places.extend(one.places);
                    left.skipped.extend(one.skipped);
                }
                None => left.unknown = proposed,
            }
        }
        left.places.sort();
        left.places.dedup();
        left.skipped.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
        left.skipped.dedup();
        left
    }

    /// The places and files that one proposal left, by the output about it; none if its baseline can't be read.
    pub fn of_proposal(output: &Output, read: impl Fn(&str) -> Option<Vec<u8>>) -> Option<Self> {
        let path = output.artifacts.iter().find(|path| path.ends_with("-baseline.json"));
        let one = serde_json::from_slice::<BaselineRecord>(&read(path?)?).ok()?;
        Some(Left { places: one.findings, skipped: one.skipped, unknown: 0 })
    }

    /// A sentence for each place and each file.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let places = self.places.iter().map(|place| {
            let line = place.line.map_or_else(String::new, |line| format!(":{line}"));
            format!("left `{}`{line}: {}", place.path, place.reason)
        });
        places.chain(self.skipped.iter().map(|file| format!("not read: `{}`: {}", file.path, file.reason)))
    }

    /// The numbers in words: `3 places in 2 files, and 1 unread file`; none if nothing was.
    pub fn words(&self) -> Option<String> {
        let mut files: Vec<_> = self.places.iter().map(|place| &place.path).collect();
        files.dedup();
        let places = || format!("{} in {}", counted(self.places.len(), "place"), counted(files.len(), "file"));
        let skipped = || counted(self.skipped.len(), "unread file");
        match (self.places.is_empty(), self.skipped.is_empty()) {
            (true, true) if self.unknown > 0 => {
                Some(format!("{}, which the record lacks", counted(self.unknown, "place")))
            }
            (true, true) => None,
            (false, true) => Some(places()),
            (true, false) => Some(skipped()),
            (false, false) => Some(format!("{} and {}", places(), skipped())),
        }
    }
}
