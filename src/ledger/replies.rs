//! The pack of large replies and of what scripts read: content by hash, compressed, appended to one file.
//!
//! A frame is the content's SHA-256 (32 bytes), the compressed length (4 bytes, little-endian) and a zlib stream.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use serde_json::{Value, json};

use super::RunFolder;
use crate::{
    error::{Code, Error},
    hash::Sha256,
};

/// Content beyond this is kept as it is: compressing it would take longer than most work that it is part of.
const LARGE: usize = 1 << 20;

/// What stands before each content.
const HEAD: usize = 36;

/// The pack's file in a run's folder.
pub const REPLIES: &str = "packs/replies";

/// A pack that is read: where each content stands.
#[derive(Debug, Default)]
pub struct Pack {
    file: Option<File>,
    places: BTreeMap<Sha256, (u64, usize)>,
    /// Where the last whole frame ends.
    length: u64,
}

impl RunFolder {
    /// Keeps some content under its hash. Keeping it twice costs space, nothing else.
    pub fn keep_reply(&self, content: &[u8]) -> Result<Sha256, Error> {
        let failed = |error: std::io::Error| Error::io("a reply can't be recorded", &error);
        let hash = Sha256::of(content);
        let level = if content.len() > LARGE { Compression::none() } else { Compression::fast() };
        let mut encoder = ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(content).map_err(failed)?;
        let packed = encoder.finish().map_err(failed)?;
        let length = u32::try_from(packed.len())
            .map_err(|_| Error::new(Code::InvalidInput, "a reply is too large to be recorded"))?;
        let frame = [hash.as_bytes().as_slice(), &length.to_le_bytes(), &packed].concat();
        self.append_to(REPLIES)?.write_all(&frame).map_err(failed)?;
        Ok(hash)
    }

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

    /// Cuts away what a crash left of a frame, so that the next one follows the last whole one.
    pub fn mend_pack(&self) -> Result<(), Error> {
        let pack = self.pack()?;
        if pack.file.is_none() {
            return Ok(());
        }
        let mut file = self.append_to(REPLIES)?;
        let failed = |error: std::io::Error| Error::io("the pack of replies can't be mended", &error);
        if file.seek(SeekFrom::End(0)).map_err(failed)? > pack.length {
            file.set_len(pack.length).map_err(failed)?;
        }
        Ok(())
    }
}

impl Pack {
    /// The content that was kept under a hash; `record_damaged` if it is not there or not what it was.
    pub fn get(&self, hash: &Sha256) -> Result<Vec<u8>, Error> {
        let damaged = |why: &str| Error::new(Code::RecordDamaged, format!("the reply {} {why}", hash.short()));
        let (Some(file), Some((start, length))) = (&self.file, self.places.get(hash)) else {
            return Err(damaged("is missing").hint("a record that was exported without contents holds no replies"));
        };
        let mut packed = vec![0; *length];
        file.read_exact_at(&mut packed, *start).map_err(|_| damaged("can't be read"))?;
        let mut content = Vec::new();
        ZlibDecoder::new(packed.as_slice()).read_to_end(&mut content).map_err(|_| damaged("can't be unpacked"))?;
        if Sha256::of(&content) == *hash { Ok(content) } else { Err(damaged("was altered")) }
    }

    /// The value that stands in a record, or that what stands there names.
    pub fn value(&self, recorded: &Value) -> Result<Value, Error> {
        let Some(hash) = named(recorded) else { return Ok(recorded.clone()) };
        serde_json::from_slice(&self.get(&hash)?)
            .map_err(|error| Error::new(Code::RecordDamaged, format!("a reply is no JSON: {error}")))
    }
}

/// What stands in a record in place of a value that is kept in the pack.
pub fn packed_form(hash: &Sha256, length: usize) -> Value {
    json!({"sha256": hash, "length": length})
}

/// The hash of the content that a recorded value names; none if it stands for itself.
///
/// A value that looks like such a name is kept in the pack itself, so that there is no doubt.
pub fn named(recorded: &Value) -> Option<Sha256> {
    let map = recorded.as_object().filter(|map| map.len() == 2)?;
    map.get("length")?.as_u64()?;
    map.get("sha256")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Runs;

    #[test]
    fn replies_come_back_by_hash() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        assert_eq!(run.pack().unwrap().get(&Sha256::of(b"one")).unwrap_err().code(), Code::RecordDamaged);
        let one = run.keep_reply(b"one").unwrap();
        let large = run.keep_reply(&vec![7; LARGE + 1]).unwrap();
        let two = run.keep_reply(&vec![7; 100_000]).unwrap();
        let pack = run.pack().unwrap();
        assert_eq!(pack.get(&large).unwrap(), vec![7; LARGE + 1]);
        assert_eq!(pack.get(&one).unwrap(), b"one");
        assert_eq!(pack.get(&two).unwrap(), vec![7; 100_000]);
        assert_eq!(pack.get(&Sha256::of(b"three")).unwrap_err().code(), Code::RecordDamaged);
    }

    #[test]
    fn a_frame_that_was_cut_off_hides_none_that_follow() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        run.mend_pack().unwrap();
        let one = run.keep_reply(b"one").unwrap();
        run.append_to(REPLIES).unwrap().write_all(&[9; HEAD + 3]).unwrap();
        assert_eq!(run.pack().unwrap().get(&one).unwrap(), b"one");
        run.mend_pack().unwrap();
        let two = run.keep_reply(b"two").unwrap();
        assert_eq!(run.pack().unwrap().get(&two).unwrap(), b"two");
    }

    #[test]
    fn a_recorded_value_stands_for_itself_or_names_a_content() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let value = json!({"a": [1, null]});
        let hash = run.keep_reply(value.to_string().as_bytes()).unwrap();
        let pack = run.pack().unwrap();
        assert_eq!(pack.value(&packed_form(&hash, 14)).unwrap(), value);
        for plain in [json!(1), json!({"sha256": hash}), json!({"sha256": "x", "length": 1})] {
            assert_eq!(pack.value(&plain).unwrap(), plain);
        }
    }
}
