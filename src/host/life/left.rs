//! The places and files that verified proposals left: places in doubt or of another meaning, and files that nobody read.

use serde::{Deserialize, Serialize};

use adapter::contract::{BaselineRecord, Finding, SKIPPED, Skipped};
use base::{error::Error, output::Output, text::counted};
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

/// The end of the names of artefacts that hold a baseline.
const BASELINE: &str = "-baseline.json";

/// The artefact with the baseline of an output.
fn baseline(output: &Output) -> Option<&str> {
    output.artifacts.iter().map(String::as_str).find(|path| path.ends_with(BASELINE))
}

impl Left {
    /// The places that the verified proposals of records left, and the files that no proposal read. An adapter that refused to
    /// propose names such files in its error. `read` reads an artefact of the run.
    pub fn of(records: &[Record], error: Option<&Error>, read: impl Fn(&str) -> Option<Vec<u8>>) -> Self {
        let verified = records.iter().filter_map(|record| record.event.dta_verified());
        let verified: Vec<&str> = verified.filter_map(|verified| baseline(&verified.output)).collect();
        let mut left = Left::default();
        for record in records {
            let Event::DtaProposed(proposed) = &record.event else { continue };
            let path = record.files.iter().map(|file| file.path.as_str()).find(|path| path.ends_with(BASELINE));
            let (Some(path), 1..) = (path, proposed.left) else { continue };
            match Left::of_baseline(path, &read) {
                Some(one) => {
                    left.places.extend(one.places.into_iter().filter(|_| verified.contains(&path)));
                    left.skipped.extend(one.skipped);
                }
                None => left.unknown += proposed.left,
            }
        }
        let skipped = error.and_then(|error| error.details().get(SKIPPED));
        left.skipped.extend(skipped.and_then(|list| Vec::<Skipped>::deserialize(list).ok()).unwrap_or_default());
        left.places.sort();
        left.places.dedup();
        left.skipped.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
        left.skipped.dedup();
        left
    }

    /// The places and files that one proposal left, by the output about it; none if its baseline can't be read.
    pub fn of_proposal(output: &Output, read: impl Fn(&str) -> Option<Vec<u8>>) -> Option<Self> {
        Left::of_baseline(baseline(output)?, &read)
    }

    fn of_baseline(path: &str, read: &impl Fn(&str) -> Option<Vec<u8>>) -> Option<Self> {
        let one = serde_json::from_slice::<BaselineRecord>(&read(path)?).ok()?;
        Some(Left { places: one.findings, skipped: one.skipped, unknown: 0 })
    }

    /// A sentence for each place and each file.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.place_lines().chain(self.file_lines())
    }

    /// A sentence for each place.
    pub fn place_lines(&self) -> impl Iterator<Item = String> {
        self.places.iter().map(|place| {
            let line = place.line.map_or_else(String::new, |line| format!(":{line}"));
            format!("left `{}`{line}: {}", place.path, place.reason)
        })
    }

    /// A sentence for each of the first places, and one for the number of the others. Places of a file with one reason share theirs.
    pub fn first_places(&self, most: usize) -> (Vec<String>, Option<String>) {
        let is_same = |a: &Finding, b: &Finding| a.path == b.path && a.reason == b.reason;
        let groups: Vec<&[Finding]> = self.places.chunk_by(is_same).collect();
        let sentence = |group: &&[Finding]| {
            let lines = Left::lines_of(group.iter().map(|place| place.line));
            format!("left `{}`{lines}: {}", group[0].path, group[0].reason)
        };
        let more: usize = groups.iter().skip(most).map(|group| group.len()).sum();
        let more = (more > 0).then(|| format!("left {more} more, in the baseline artefact"));
        (groups.iter().take(most).map(sentence).collect(), more)
    }

    /// The lines of places in one file, as they follow its path: `:3, 7 and 2 more`.
    pub fn lines_of(lines: impl Iterator<Item = Option<u64>>) -> String {
        const SHOWN: usize = 5;
        let lines: Vec<String> = lines.flatten().map(|line| line.to_string()).collect();
        let shown = lines.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        match lines.len() {
            0 => String::new(),
            1..=SHOWN => format!(":{shown}"),
            all => format!(":{shown} and {} more", all - SHOWN),
        }
    }

    /// A sentence for each file that was not read.
    pub fn file_lines(&self) -> impl Iterator<Item = String> {
        self.skipped.iter().map(|file| format!("not read: `{}`: {}", file.path, file.reason))
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::path::RepoPath;

    #[test]
    fn places_of_a_file_with_one_reason_share_a_sentence() {
        let place = |path: &str, line: u64, reason: &str| Finding {
            path: RepoPath::parse(path).unwrap(),
            line: Some(line),
            place: String::new(),
            kind: String::new(),
            reason: reason.to_owned(),
            candidates: Vec::new(),
        };
        let mut places: Vec<Finding> = (1..=7).map(|line| place("a", line, "x")).collect();
        places.extend([place("b", 1, "x"), place("b", 2, "y"), place("c", 3, "y"), place("c", 4, "y")]);
        let left = Left { places, ..Left::default() };
        let (shown, more) = left.first_places(3);
        assert_eq!(shown, ["left `a`:1, 2, 3, 4, 5 and 2 more: x", "left `b`:1: x", "left `b`:2: y"]);
        assert_eq!(more.unwrap(), "left 2 more, in the baseline artefact");
        assert_eq!(left.first_places(4).1, None);
        assert_eq!(Left::lines_of([None].into_iter()), "");
    }
}
