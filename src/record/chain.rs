//! The chain of events: canonical JSON records, one a line, each holding the hash of the one before.

use std::{
    fs::{File, TryLockError},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    time::Duration,
};

use super::{
    RunFolder,
    entry::{Draft, Record},
    event::Kind,
    file_ref::FileRef,
    line,
    wire::Wire,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
};

/// The chain's file in a run's folder.
pub const EVENTS: &str = "events.jsonl";

/// How often a chain is tried to be held, and how long lies between: whoever only looks holds it for a moment.
const LOOKS: u32 = 20;
const LOOK: Duration = Duration::from_millis(10);

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 256 << 20;

/// The value of `prev` in the first record.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The open chain of a run that is going on.
#[derive(Debug)]
pub struct Chain {
    file: File,
    /// Where the next record begins.
    length: u64,
    seq: u64,
    last: String,
    /// True if a failed write may have left something behind the last whole record.
    is_torn: bool,
    /// The last line; its memory is used again.
    line: String,
}

impl Chain {
    /// Opens a run's chain at its end and holds it until it is dropped. A last line that a crash cut off is dropped.
    ///
    /// `lock_timeout` if another process has it open.
    pub fn open(run: &RunFolder) -> Result<Self, Error> {
        let file = run.append_to(EVENTS)?;
        hold(&file, run)?;
        let (mut length, mut end) = (0, Vec::new());
        run.each_line(&mut |line| {
            length += line.len() as u64 + 1;
            end.clear();
            end.extend_from_slice(line);
            Ok(())
        })?;
        let (seq, last) = match length {
            0 => (0, GENESIS.to_owned()),
            _ => parse(&end).map(|record| (record.seq, record.hash))?,
        };
        let mut chain = Chain { file, length, seq, last, is_torn: true, line: String::new() };
        chain.cut()?;
        Ok(chain)
    }

    /// Appends an event. It survives a crash of the process; [`Chain::sync`] makes it survive a loss of power.
    ///
    /// Numbers that canonical JSON can't write exactly stand as texts: no value keeps a run from its record.
    /// If it can't be written whole, nothing of it stays, so that the next record follows the last whole one.
    pub fn append(&mut self, at: String, draft: Draft) -> Result<(), Error> {
        let wire = Wire {
            seq: self.seq + 1,
            position: draft.position,
            at,
            kind: draft.kind.as_str().to_owned(),
            data: json::as_recorded(draft.data),
            files: draft.files,
            volatile: json::as_recorded(draft.volatile),
            prev: self.last.clone(),
            hash: String::new(),
        };
        let hash = line::write(&wire, &mut self.line)?.to_string();
        self.line.push('\n');
        self.cut()?;
        // Until the line is there whole, nobody knows how much of it is.
        self.is_torn = true;
        if let Err(error) = self.file.write_all(self.line.as_bytes()) {
            // If this fails as well, the next record tries again.
            let _ = self.cut();
            return Err(unwritten(&error));
        }
        self.is_torn = false;
        self.length += self.line.len() as u64;
        self.seq = wire.seq;
        self.last = hash;
        Ok(())
    }

    /// Waits until everything appended is on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|error| unwritten(&error))
    }

    /// Takes away what a failed write left behind the last whole record.
    fn cut(&mut self) -> Result<(), Error> {
        if self.is_torn {
            self.file
                .set_len(self.length)
                .map_err(|error| Error::io("the record can't be cut to its last whole line", &error))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// The bytes of all records.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The number and hash of the last record.
    pub fn tip(&self) -> (u64, &str) {
        (self.seq, &self.last)
    }
}

impl RunFolder {
    /// A file of the record as it is now, for an event that it belongs to.
    pub fn file_ref(&self, path: &str) -> Result<FileRef, Error> {
        // It may be large: the whole output of a command.
        let hashed = self.open_file(path)?.map(Sha256::of_reader).transpose();
        let hashed = hashed.map_err(|error| Error::io(format_args!("`{path}` of the run can't be read"), &error))?;
        match hashed {
            Some((sha256, _)) => Ok(FileRef { path: path.to_owned(), sha256 }),
            None => Err(Error::new(Code::RecordDamaged, format!("`{path}` is missing in run `{}`", self.id()))),
        }
    }

    /// All records of the run, as far as whole lines go, with the exact data of those that name it; a line that is no record is
    /// `record_damaged`.
    pub fn records(&self) -> Result<Vec<Record>, Error> {
        self.records_with(&[""])
    }

    /// All records of the run; `record_damaged` if there is an event that this release knows and can't read.
    pub fn readable_records(&self) -> Result<Vec<Record>, Error> {
        let records = self.records()?;
        records.iter().try_for_each(Record::check)?;
        Ok(records)
    }

    /// Those records of the run that are of some kinds: a large record is not read whole for the sake of a few.
    pub fn records_of(&self, kinds: &[Kind]) -> Result<Vec<Record>, Error> {
        self.records_of_calls(kinds, &[])
    }

    /// The same, and the records of the calls of some names.
    pub fn records_of_calls(&self, kinds: &[Kind], calls: &[&str]) -> Result<Vec<Record>, Error> {
        let kinds = kinds.iter().map(|kind| format!("\"kind\":\"{}\"", kind.as_str()));
        let texts: Vec<String> = kinds.chain(calls.iter().map(|call| format!("\"call\":\"{call}\""))).collect();
        self.records_with(&texts)
    }

    /// Those records of the run that say that a gate blocked something.
    pub fn blocked(&self) -> Result<Vec<Record>, Error> {
        self.records_with(&[r#""decision":"block""#])
    }

    /// Those records of the run whose lines hold one of some texts.
    fn records_with(&self, texts: &[impl AsRef<[u8]>]) -> Result<Vec<Record>, Error> {
        let finders: Vec<_> = texts.iter().map(|text| memchr::memmem::Finder::new(text.as_ref())).collect();
        let mut records = Vec::new();
        self.each_line(&mut |line| {
            if finders.iter().any(|finder| finder.find(line).is_some()) {
                records.push(parse(line)?);
            }
            Ok(())
        })?;
        self.make_exact(&mut records)?;
        Ok(records)
    }

    /// Gives records the data that they name. Where the pack was left out, they stay without their secrets.
    fn make_exact(&self, records: &mut [Record]) -> Result<(), Error> {
        let mut pack = None;
        for record in records {
            let Some(exact) = record.exact() else { continue };
            let pack = match &mut pack {
                Some(pack) => pack,
                none => none.insert(self.pack()?),
            };
            if let Some(data) = pack.known(&exact)? {
                *record = record.with_data(&data);
            }
        }
        Ok(())
    }

    /// True while a process has the chain open to write it, whatever became of its lease.
    pub fn is_written(&self) -> Result<bool, Error> {
        let file = self.open_file(EVENTS)?;
        Ok(file.is_some_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))))
    }

    /// The record with which the chain ends; none if it has none.
    pub fn last_record(&self) -> Result<Option<Record>, Error> {
        let failed = |error: std::io::Error| Error::io("the record can't be read", &error);
        let Some(mut file) = self.open_file(EVENTS)? else { return Ok(None) };
        let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut window = 1 << 14;
        loop {
            let from = length.saturating_sub(window);
            file.seek(SeekFrom::Start(from)).map_err(failed)?;
            let mut end = Vec::new();
            Read::by_ref(&mut file).take(window).read_to_end(&mut end).map_err(failed)?;
            let whole = memchr::memrchr(b'\n', &end).map_or(&[][..], |at| &end[..at]);
            match memchr::memrchr(b'\n', whole) {
                Some(at) => return parse(&whole[at + 1..]).map(Some),
                None if from == 0 && whole.is_empty() => return Ok(None),
                None if from == 0 => return parse(whole).map(Some),
                None => window *= 4,
            }
        }
    }

    /// Gives every line of the chain that ends with a line feed, without it, to a function; true if nothing is left behind the last.
    pub(super) fn each_line(&self, take: &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<bool, Error> {
        let Some(file) = self.open_file(EVENTS)? else { return Ok(true) };
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = Read::by_ref(&mut reader).take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
            read.map_err(|error| Error::io("the record can't be read", &error))?;
            if line.len() as u64 > LONGEST_LINE {
                let message = format!("a line of `{EVENTS}` is longer than {LONGEST_LINE} bytes");
                return Err(Error::new(Code::RecordDamaged, message).hint("look where the record comes from"));
            }
            match line.split_last() {
                Some((b'\n', whole)) => take(whole)?,
                rest => return Ok(rest.is_none()),
            }
        }
    }
}

/// Holds a chain for as long as its file is open. A file system without such locks leaves that to the leases.
fn hold(file: &File, run: &RunFolder) -> Result<(), Error> {
    for _ in 0..LOOKS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
    Err(Error::new(Code::LockTimeout, format!("another process works on run `{}`", run.id()))
        .hint("wait until it has ended; `nrv runs list` shows what is going on"))
}

fn unwritten(error: &std::io::Error) -> Error {
    Error::io("the record can't be written", error)
}

fn parse(line: &[u8]) -> Result<Record, Error> {
    Record::parse(line)
        .map_err(|error| Error::new(Code::RecordDamaged, format!("a line of `{EVENTS}` is no record: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Runs;

    fn draft(kind: Kind, data: Value) -> Draft {
        Draft { position: "1".to_owned(), kind, data, volatile: Value::Null, files: Vec::new() }
    }

    #[test]
    fn a_number_that_canonical_json_would_round_stands_as_a_text() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let mut chain = Chain::open(&run).unwrap();
        for number in [json!(9_007_199_254_740_993_u64), json!(1.5e19), json!(2.0)] {
            let draft = Draft { volatile: number.clone(), ..draft(Kind::Checked, json!({"n": [number]})) };
            let expected = json!({"n": [json::as_recorded(number)]});
            chain.append("t".to_owned(), draft).unwrap();
            assert_eq!(run.records().unwrap().pop().unwrap().data().unwrap().0, expected);
        }
        chain.append("t".to_owned(), draft(Kind::Checked, json!({"files": 1}))).unwrap();
        let report = crate::verify(&Runs::of(folder.path()), &run, 1, &false.into()).unwrap();
        assert_eq!((report.records, report.findings.len()), (4, 0));
    }

    #[test]
    fn records_are_chained_and_go_on_after_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let mut chain = Chain::open(&run).unwrap();
        chain.append("t".to_owned(), draft(Kind::Call, json!({"n": 1}))).unwrap();
        drop(chain);
        // What a crash leaves of a line that was being written.
        run.append_to(EVENTS).unwrap().write_all(b"{\"seq\":2").unwrap();
        let mut chain = Chain::open(&run).unwrap();
        chain.append("t".to_owned(), draft(Kind::Intent, json!(null))).unwrap();
        let records = run.records().unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].prev.as_str(), records[1].seq, &records[1].prev), (GENESIS, 2, &records[0].hash));
        assert_eq!(records[1].computed_hash().unwrap().to_string(), records[1].hash);
    }

    #[test]
    fn what_a_failed_write_left_is_cut_away_before_the_next_record() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let mut chain = Chain::open(&run).unwrap();
        chain.append("t".to_owned(), draft(Kind::Call, json!({}))).unwrap();
        // As much of a record as a full disk took.
        chain.file.write_all(b"{\"at\":\"t\",\"da").unwrap();
        chain.is_torn = true;
        chain.append("t".to_owned(), draft(Kind::Intent, json!({}))).unwrap();
        let records = run.records().unwrap();
        assert_eq!(records.iter().map(Record::kind).collect::<Vec<_>>(), ["call", "intent"]);
        assert_eq!(run.last_record().unwrap().unwrap().kind(), "intent");
    }

    #[test]
    fn the_last_record_is_found_however_long_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        assert_eq!(run.last_record().unwrap(), None);
        let mut chain = Chain::open(&run).unwrap();
        for length in [3, 100_000, 16_000, 1] {
            chain.append("t".to_owned(), draft(Kind::Intent, json!({"call": "x".repeat(length)}))).unwrap();
            assert_eq!(run.last_record().unwrap(), run.records().unwrap().pop());
        }
        run.append_to(EVENTS).unwrap().write_all(b"{\"seq\":2").unwrap();
        assert_eq!(run.last_record().unwrap().unwrap().seq, 4);
    }

    #[test]
    fn only_records_of_some_kinds_and_calls_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let mut chain = Chain::open(&run).unwrap();
        for (kind, call) in [(Kind::Call, "a.b"), (Kind::Checked, ""), (Kind::Call, "c.d"), (Kind::Settled, "")] {
            chain.append("t".to_owned(), draft(kind, json!({"call": call}))).unwrap();
        }
        let seqs = |kinds: &[Kind], calls: &[&str]| -> Vec<u64> {
            run.records_of_calls(kinds, calls).unwrap().iter().map(|record| record.seq).collect()
        };
        assert_eq!(seqs(&[Kind::Checked, Kind::Settled], &["c.d"]), [2, 3, 4]);
        assert!(seqs(&[Kind::Judged], &["d"]).is_empty());
    }
}
