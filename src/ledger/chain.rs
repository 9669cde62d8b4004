//! The chain of events: canonical JSON records, one a line, each holding the hash of the one before.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunFolder;
use crate::{
    error::{Code, Error},
    hash::Sha256,
    json,
};

/// The chain's file in a run's folder.
pub const EVENTS: &str = "events.jsonl";

/// What the first record has in `prev`.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Counts from 1 without a gap.
    pub seq: u64,
    /// Where in the run: `3`, `7.b.2`; empty for the run itself.
    pub position: String,
    /// When, RFC 3339. No decision and no comparison looks at it.
    pub at: String,
    /// What happened, such as `call` or `dta_applied`.
    pub kind: String,
    /// What is to be known of it.
    pub data: Value,
    /// Files of the record that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// Durations and process numbers, which differ from run to run.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub volatile: Value,
    /// The hash of the record before, [`GENESIS`] for the first.
    pub prev: String,
    /// The hash of this record without this field.
    pub hash: String,
}

/// A file of the record, by its path in the run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRef {
    /// The path in the run's folder.
    pub path: String,
    /// Its hash when it was written.
    pub sha256: Sha256,
}

/// An event that is to be recorded.
#[derive(Clone, Debug, Default)]
pub struct Note {
    /// Where in the run.
    pub position: String,
    /// What happened.
    pub kind: &'static str,
    /// What is to be known of it.
    pub data: Value,
    /// Files of the record that belong to it.
    pub files: Vec<FileRef>,
    /// Durations and process numbers.
    pub volatile: Value,
}

impl Record {
    /// The hash that the record should have.
    pub fn computed_hash(&self) -> Result<Sha256, Error> {
        let mut value = serde_json::to_value(self).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        if let Value::Object(map) = &mut value {
            map.remove("hash");
        }
        Ok(Sha256::of(json::canonical_value(&value)?.as_bytes()))
    }
}

/// The open chain of a run that is going on.
#[derive(Debug)]
pub struct Chain {
    file: File,
    /// Where the next record begins.
    length: u64,
    seq: u64,
    last: String,
}

impl Chain {
    /// Opens a run's chain at its end. A last line that a crash cut off is dropped.
    pub fn open(run: &RunFolder) -> Result<Self, Error> {
        let bytes = if let Some(file) = run.open_file(EVENTS)? { whole_lines(file)? } else { Vec::new() };
        let (seq, last) = match bytes.last() {
            Some(line) => {
                let record = parse(line)?;
                (record.seq, record.hash)
            }
            None => (0, GENESIS.to_owned()),
        };
        let file = run.append_to(EVENTS)?;
        let length: u64 = bytes.iter().map(|line| line.len() as u64 + 1).sum();
        file.set_len(length).map_err(|error| Error::io("the record can't be cut to its last whole line", &error))?;
        Ok(Chain { file, length, seq, last })
    }

    /// Appends an event. It survives a crash of the process; [`Chain::sync`] makes it survive a loss of power.
    ///
    /// If it can't be written whole, nothing of it stays, so that the next record follows the last whole one.
    pub fn append(&mut self, at: String, note: Note) -> Result<Record, Error> {
        let mut record = Record {
            seq: self.seq + 1,
            position: note.position,
            at,
            kind: note.kind.to_owned(),
            data: note.data,
            files: note.files,
            volatile: note.volatile,
            prev: self.last.clone(),
            hash: String::new(),
        };
        record.hash = record.computed_hash()?.to_string();
        let mut line = json::canonical(&record)?;
        line.push('\n');
        self.cut()?;
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // If this fails as well, the next record tries again.
            let _ = self.cut();
            return Err(unwritten(&error));
        }
        self.length += line.len() as u64;
        self.seq = record.seq;
        self.last.clone_from(&record.hash);
        Ok(record)
    }

    /// Waits until everything appended is on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|error| unwritten(&error))
    }

    /// Takes away what a failed write left behind the last whole record.
    fn cut(&self) -> Result<(), Error> {
        let length = self.file.metadata().map_err(|error| unwritten(&error))?.len();
        if length > self.length { self.file.set_len(self.length).map_err(|error| unwritten(&error)) } else { Ok(()) }
    }

    /// The number and hash of the last record.
    pub fn tip(&self) -> (u64, &str) {
        (self.seq, &self.last)
    }
}

impl RunFolder {
    /// A file of the record as it is now, for an event that it belongs to.
    pub fn file_ref(&self, path: &str) -> Result<FileRef, Error> {
        Ok(FileRef { sha256: Sha256::of(&self.read(path)?), path: path.to_owned() })
    }

    /// All records of the run, as far as whole lines go; a line that is no record is `record_damaged`.
    pub fn records(&self) -> Result<Vec<Record>, Error> {
        let Some(file) = self.open_file(EVENTS)? else { return Ok(Vec::new()) };
        whole_lines(file)?.iter().map(|line| parse(line)).collect()
    }
}

fn unwritten(error: &std::io::Error) -> Error {
    Error::io("the record can't be written", error)
}

/// The lines of a file that end with a line feed.
fn whole_lines(file: File) -> Result<Vec<Vec<u8>>, Error> {
    let mut reader = BufReader::new(file);
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).map_err(|error| Error::io("the record can't be read", &error))?;
        if line.pop() != Some(b'\n') {
            return Ok(lines);
        }
        lines.push(line);
    }
}

fn parse(line: &[u8]) -> Result<Record, Error> {
    serde_json::from_slice(line)
        .map_err(|error| Error::new(Code::RecordDamaged, format!("a line of `{EVENTS}` is no record: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ledger::Runs;

    fn note(kind: &'static str, data: Value) -> Note {
        Note { position: "1".to_owned(), kind, data, ..Note::default() }
    }

    #[test]
    fn records_are_chained_and_go_on_after_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let mut chain = Chain::open(&run).unwrap();
        let first = chain.append("t".to_owned(), note("a", json!({"n": 1}))).unwrap();
        assert_eq!(first.prev, GENESIS);
        drop(chain);
        // What a crash leaves of a line that was being written.
        run.append_to(EVENTS).unwrap().write_all(b"{\"seq\":2").unwrap();
        let mut chain = Chain::open(&run).unwrap();
        let second = chain.append("t".to_owned(), note("b", json!(null))).unwrap();
        assert_eq!((second.seq, &second.prev), (2, &first.hash));
        let records = run.records().unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!(records[1].computed_hash().unwrap().to_string(), records[1].hash);
    }

    #[test]
    fn what_a_failed_write_left_is_cut_away_before_the_next_record() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let mut chain = Chain::open(&run).unwrap();
        chain.append("t".to_owned(), note("a", json!(1))).unwrap();
        // As much of a record as a full disk took.
        chain.file.write_all(b"{\"at\":\"t\",\"da").unwrap();
        chain.append("t".to_owned(), note("b", json!(2))).unwrap();
        let kinds: Vec<String> = run.records().unwrap().into_iter().map(|record| record.kind).collect();
        assert_eq!(kinds, ["a", "b"]);
    }
}
