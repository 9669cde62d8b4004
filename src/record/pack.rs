//! The pack of large replies and of what scripts read: content by hash, compressed, appended to one file.
//!
//! A frame is the content's SHA-256 (32 bytes), the compressed length (4 bytes, little-endian) and a zlib stream.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read},
    os::unix::fs::FileExt,
};

use flate2::read::ZlibDecoder;
use serde_json::{Value, json};

use super::{
    RunFolder,
    event::{FileRow, Stored},
};
use crate::event::named;
use base::{
    error::{Code, Error},
    hash::{Hasher, Sha256},
};

/// Content beyond this is read piece by piece.
const LARGE: usize = 1 << 20;

/// The longest content that is read, in bytes: what was packed may stand for a thousand times as much.
const LONGEST: u64 = 1 << 29;

/// The length of the header of a frame, in bytes.
pub(super) const HEAD: usize = 36;

/// The pack's file in a run's folder.
pub const REPLIES: &str = "packs/replies";

/// A pack that is read: where each content stands.
#[derive(Debug, Default)]
pub struct Pack {
    file: Option<File>,
    pub(super) places: BTreeMap<Sha256, (u64, usize)>,
    /// Where the last whole frame ends.
    pub(super) length: u64,
}

impl RunFolder {
    /// The pack as it is now; an empty one if there is none. A frame that a crash cut off is passed over.
    pub fn pack(&self) -> Result<Pack, Error> {
        let Some(file) = self.open_file(REPLIES)? else { return Ok(Pack::default()) };
        let failed = |error: std::io::Error| Error::io("the pack of replies can't be read", &error);
        let end = file.metadata().map_err(failed)?.len();
        let mut pack = Pack { file: None, places: BTreeMap::new(), length: 0 };
        let mut reader = BufReader::new(&file);
        let mut head = [0; HEAD];
        while end - pack.length >= HEAD as u64 {
            reader.read_exact(&mut head).map_err(failed)?;
            let length = head[32..].iter().rev().fold(0, |acc, byte| acc << 8 | usize::from(*byte));
            let start = pack.length + HEAD as u64;
            // One that is longer than the file was cut off, or was not finished.
            if end - start < length as u64 {
                break;
            }
            let mut hash = [0; 32];
            hash.copy_from_slice(&head[..32]);
            pack.places.insert(Sha256::from(hash), (start, length));
            pack.length = start + length as u64;
            reader.seek_relative(i64::try_from(length).unwrap_or(i64::MAX)).map_err(failed)?;
        }
        drop(reader);
        pack.file = Some(file);
        Ok(pack)
    }
}

impl Pack {
    /// The content that was kept under a hash; `record_damaged` if it is not there or not what it was.
    pub fn get(&self, hash: &Sha256) -> Result<Vec<u8>, Error> {
        let mut reader = self.reader(hash)?;
        let mut content = Vec::new();
        let read = reader.by_ref().take(LONGEST + 1).read_to_end(&mut content);
        read.map_err(|_| damaged(hash, "can't be unpacked"))?;
        if content.len() as u64 > LONGEST {
            return Err(damaged(hash, "is too long"));
        }
        if reader.seen() == *hash { Ok(content) } else { Err(damaged(hash, "was altered")) }
    }

    /// The value that stands in a record, or that what stands there names.
    pub fn value(&self, recorded: &Stored) -> Result<Value, Error> {
        self.value_of(recorded.form())
    }

    /// The files of a change, as a record has them.
    pub fn rows(&self, recorded: &Stored) -> Result<Vec<FileRow>, Error> {
        let wrong = |error| Error::new(Code::RecordDamaged, format!("the files of a change can't be read: {error}"));
        serde_json::from_value(self.value(recorded)?).map_err(wrong)
    }

    fn value_of(&self, recorded: &Value) -> Result<Value, Error> {
        let Some(hash) = named(recorded) else { return Ok(recorded.clone()) };
        let no_json = |error| Error::new(Code::RecordDamaged, format!("a reply is no JSON: {error}"));
        if self.places.get(&hash).is_none_or(|(_, length)| *length <= LARGE / 8) {
            return serde_json::from_slice(&self.get(&hash)?).map_err(no_json);
        }
        // As JSON it may be several times as large as the value.
        let mut reader = self.reader(&hash)?;
        let bounded = reader.by_ref().take(LONGEST + 1);
        let value = serde_json::from_reader(BufReader::with_capacity(1 << 16, bounded));
        io::copy(&mut reader.by_ref().take(LONGEST + 1), &mut io::sink())
            .map_err(|_| damaged(&hash, "can't be unpacked"))?;
        if reader.seen() == hash { value.map_err(no_json) } else { Err(damaged(&hash, "was altered")) }
    }

    /// As `value_of`; none if the pack does not hold it.
    pub(super) fn known(&self, recorded: &Value) -> Result<Option<Value>, Error> {
        let is_missing = named(recorded).is_some_and(|hash| !self.places.contains_key(&hash));
        if is_missing { Ok(None) } else { self.value_of(recorded).map(Some) }
    }

    /// Gives a content piece by piece. It is not what it was until its hash has been compared.
    fn reader(&self, hash: &Sha256) -> Result<Hashed<ZlibDecoder<BufReader<Part<'_>>>>, Error> {
        let (Some(file), Some((start, length))) = (&self.file, self.places.get(hash)) else {
            return Err(
                damaged(hash, "is missing").hint("a record that was exported without contents holds no replies")
            );
        };
        let part = Part { file, at: *start, left: *length };
        let buffer = BufReader::with_capacity((*length).clamp(1, 1 << 16), part);
        Ok(Hashed { reader: ZlibDecoder::new(buffer), hasher: Hasher::default() })
    }
}

fn damaged(hash: &Sha256, why: &str) -> Error {
    Error::new(Code::RecordDamaged, format!("the reply {} {why}", hash.short()))
}

/// A part of a file.
struct Part<'a> {
    file: &'a File,
    at: u64,
    left: usize,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.left);
        let n = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += n as u64;
        self.left -= n;
        Ok(n)
    }
}

/// A reader that hashes what it gives.
struct Hashed<R> {
    reader: R,
    hasher: Hasher,
}

impl<R> Hashed<R> {
    /// The hash of all that was read.
    fn seen(self) -> Sha256 {
        self.hasher.finish().0
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        io::Write::write_all(&mut self.hasher, &buffer[..n])?;
        Ok(n)
    }
}

/// Returns the form that a record holds in place of a value that is kept in the pack.
pub fn packed_form(hash: &Sha256, length: usize) -> Stored {
    Stored::of(json!({"sha256": hash, "length": length}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Keeper, Runs};

    #[test]
    fn replies_come_back_by_hash() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        assert_eq!(run.pack().unwrap().get(&Sha256::of(b"one")).unwrap_err().code(), Code::RecordDamaged);
        let keeper = Keeper::new(&run);
        let one = keeper.keep(b"one").unwrap();
        let large = keeper.keep(&vec![7; LARGE + 1]).unwrap();
        let two = keeper.keep(&vec![7; 100_000]).unwrap();
        let pack = run.pack().unwrap();
        assert_eq!(pack.get(&large).unwrap(), vec![7; LARGE + 1]);
        assert_eq!(pack.get(&one).unwrap(), b"one");
        assert_eq!(pack.get(&two).unwrap(), vec![7; 100_000]);
        assert_eq!(pack.get(&Sha256::of(b"three")).unwrap_err().code(), Code::RecordDamaged);
    }

    #[test]
    fn a_recorded_value_stands_for_itself_or_names_a_content() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let value = json!({"a": [1, null]});
        let hash = Keeper::new(&run).keep(value.to_string().as_bytes()).unwrap();
        let pack = run.pack().unwrap();
        assert_eq!(pack.value(&packed_form(&hash, 14)).unwrap(), value);
        for plain in [json!(1), json!({"sha256": hash}), json!({"sha256": "x", "length": 1})] {
            assert_eq!(pack.value(&Stored::of(plain.clone())).unwrap(), plain);
        }
    }
}
