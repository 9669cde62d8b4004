//! Is a record what was written? Reads it whole and names everything that is not.
//!
//! Without a signature this finds damage, not a rewrite by someone who owns `.runs`.

use std::fmt;

use serde::Serialize;

use super::{GENESIS, Head, Record, RunFolder, Runs, archive::holds_contents, chain::EVENTS};
use crate::{error::Error, hash::Sha256, json};

/// What a verification found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The run.
    pub run: String,
    /// How many records the chain has.
    pub records: usize,
    /// How many files of the record were hashed.
    pub files: usize,
    /// How many were left out when the run was exported, since they hold contents of files.
    pub left_out: usize,
    /// Whether the end is known to be the end.
    pub seal: Seal,
    /// What is wrong; empty if nothing is.
    pub findings: Vec<Finding>,
}

/// Whether a chain's end is known to be its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seal {
    /// The last record is the one that the head names.
    Sealed,
    /// There is no head: the run is going on, crashed, or was copied here.
    Unsealed,
    /// The head names another end.
    Broken,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file in the run's folder, with the line for the chain.
    pub place: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl Report {
    /// True if nothing is wrong and the end is known.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.seal == Seal::Sealed
    }
}

/// Verifies the chain, its end, and every file that it names.
pub fn verify(runs: &Runs, run: &RunFolder) -> Result<Report, Error> {
    verify_against(run, runs.head(run.id())?.as_ref(), run.lacks_contents()?)
}

/// As [`verify`], with a head from elsewhere. Files that hold contents may be missing if they were left out.
pub(super) fn verify_against(run: &RunFolder, head: Option<&Head>, lacks_contents: bool) -> Result<Report, Error> {
    let mut findings = Vec::new();
    let records = check_chain(head, run, &mut findings)?;
    let seal = check_seal(head, &records, &mut findings);
    let mut files = 0;
    let mut left_out = 0;
    for (record, file) in records.iter().flat_map(|record| record.files.iter().map(move |file| (record, file))) {
        files += 1;
        let found = match run.open_file(&file.path)? {
            None if lacks_contents && holds_contents(&file.path) => {
                files -= 1;
                left_out += 1;
                None
            }
            None => Some("is missing".to_owned()),
            Some(content) => match Sha256::of_reader(content) {
                Ok((hash, _)) if hash == file.sha256 => None,
                Ok((hash, _)) => {
                    Some(format!("was altered: its hash is {}, not {}", hash.short(), file.sha256.short()))
                }
                Err(error) => Some(format!("can't be read: {error}")),
            },
        };
        if let Some(what) = found {
            findings.push(Finding { place: file.path.clone(), reason: format!("{what} (record {})", record.seq) });
        }
    }
    Ok(Report { run: run.id().to_owned(), records: records.len(), files, left_out, seal, findings })
}

/// Checks every line of the chain; returns the records up to the first line that is none.
fn check_chain(head: Option<&Head>, run: &RunFolder, findings: &mut Vec<Finding>) -> Result<Vec<Record>, Error> {
    let text = match run.open_file(EVENTS)? {
        Some(_) => run.read(EVENTS)?,
        None => {
            // A run that died before its first record has neither a chain nor a head: it is unsealed, not damaged.
            if head.is_some() {
                findings.push(Finding { place: EVENTS.to_owned(), reason: "is missing".to_owned() });
            }
            return Ok(Vec::new());
        }
    };
    let mut records: Vec<Record> = Vec::new();
    let mut prev = GENESIS.to_owned();
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let mut note = |reason: String| {
            findings.push(Finding { place: format!("{EVENTS}:{}", index + 1), reason });
        };
        let Some(line) = line.strip_suffix(b"\n") else {
            note("is cut off in the middle of a line".to_owned());
            break;
        };
        let Ok(record) = serde_json::from_slice::<Record>(line) else {
            note("is no record".to_owned());
            break;
        };
        if record.seq != index as u64 + 1 {
            note(format!("record {} stands where record {} belongs", record.seq, index + 1));
        } else if record.prev != prev {
            note(format!("record {} does not follow the record before it", record.seq));
        }
        // The hash covers the values; that the bytes say nothing else is seen by writing the values once more.
        let rewritten = json::canonical(&record);
        match record.computed_hash() {
            Ok(hash) if hash.to_string() == record.hash && rewritten.is_ok_and(|text| text.as_bytes() == line) => {}
            _ => note(format!("record {} (`{}`) was altered", record.seq, record.kind)),
        }
        prev.clone_from(&record.hash);
        records.push(record);
    }
    Ok(records)
}

fn check_seal(head: Option<&Head>, records: &[Record], findings: &mut Vec<Finding>) -> Seal {
    let Some(head) = head else { return Seal::Unsealed };
    let last = records.last();
    if last.is_some_and(|last| last.seq == head.seq && last.hash == head.hash) {
        return Seal::Sealed;
    }
    let length = records.len() as u64;
    let reason = match length.cmp(&head.seq) {
        std::cmp::Ordering::Less => format!("ends at record {length}; the run ended at record {}", head.seq),
        std::cmp::Ordering::Greater => format!("goes on to record {length}; the run ended at record {}", head.seq),
        std::cmp::Ordering::Equal => "ends with another record than the run did".to_owned(),
    };
    findings.push(Finding { place: EVENTS.to_owned(), reason });
    Seal::Broken
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ledger::{Chain, FileRef, Head, Note};

    fn sealed() -> (tempfile::TempDir, Runs, RunFolder) {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(folder.path());
        let run = runs.create(0, 1).unwrap();
        run.write("artifacts/a", b"content").unwrap();
        let mut chain = Chain::open(&run).unwrap();
        for n in 1..=4 {
            let files = if n == 2 {
                vec![FileRef { path: "artifacts/a".to_owned(), sha256: Sha256::of(b"content") }]
            } else {
                Vec::new()
            };
            let note = Note { kind: "x", data: json!({"deep": {"n": n}}), files, ..Note::default() };
            chain.append("t".to_owned(), note).unwrap();
        }
        let (seq, hash) = chain.tip();
        runs.add_head(&Head { run: run.id().to_owned(), seq, hash: hash.to_owned(), state: "done".to_owned() })
            .unwrap();
        (folder, runs, run)
    }

    #[track_caller]
    fn check(tamper: impl Fn(&RunFolder, Vec<String>) -> Vec<String>, place: &str, reason: &str) {
        let (_folder, runs, run) = sealed();
        assert!(verify(&runs, &run).unwrap().is_sound());
        let text = String::from_utf8(run.read(EVENTS).unwrap()).unwrap();
        let lines = tamper(&run, text.lines().map(str::to_owned).collect());
        run.write(EVENTS, (lines.join("\n") + "\n").as_bytes()).unwrap();
        let report = verify(&runs, &run).unwrap();
        let hit = report.findings.iter().any(|finding| finding.place == place && finding.reason.contains(reason));
        assert!(hit, "{:?}", report.findings);
        assert!(!report.is_sound());
    }

    #[test]
    fn every_kind_of_tampering_is_named() {
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\":9")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(
            |_, lines| [&lines[..1], &lines[2..3], &lines[1..2], &lines[3..]].concat(),
            "events.jsonl:2",
            "record 3 stands",
        );
        check(|_, lines| lines[..3].to_vec(), "events.jsonl", "ends at record 3");
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\": 3")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\":9,\"n\":3")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\":3.0")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(|_, lines| [&lines[..1], &lines[2..]].concat(), "events.jsonl:2", "record 3 stands");
        let edit = |run: &RunFolder, lines: Vec<String>| {
            run.write("artifacts/a", b"other").unwrap();
            lines
        };
        check(edit, "artifacts/a", "was altered");
    }

    #[test]
    fn a_run_without_a_head_is_unsealed() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(folder.path());
        let run = runs.create(0, 1).unwrap();
        Chain::open(&run).unwrap().append("t".to_owned(), Note { kind: "x", ..Note::default() }).unwrap();
        let report = verify(&runs, &run).unwrap();
        assert_eq!((report.seal, report.findings.len(), report.is_sound()), (Seal::Unsealed, 0, false));
    }
}
