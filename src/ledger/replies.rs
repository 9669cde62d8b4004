//! The pack of large replies and of what scripts read: content by hash, compressed, appended to one file.
//!
//! A frame is the content's SHA-256 (32 bytes), the compressed length (4 bytes, little-endian) and a zlib stream.

use std::io::{Read, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use super::RunFolder;
use crate::{
    error::{Code, Error},
    hash::Sha256,
};

/// Content beyond this is kept as it is: compressing it would take longer than most work that it is part of.
const LARGE: usize = 1 << 20;

/// The pack's file in a run's folder.
pub const REPLIES: &str = "packs/replies";

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

    /// The content that was kept under a hash; `record_damaged` if it is not there or not what it was.
    pub fn kept_reply(&self, hash: &Sha256) -> Result<Vec<u8>, Error> {
        let damaged = |why: &str| Error::new(Code::RecordDamaged, format!("the reply {} {why}", hash.short()));
        let pack = self.read(REPLIES)?;
        let mut rest = pack.as_slice();
        while let Some((head, tail)) = rest.split_at_checked(36) {
            let length = head[32..].iter().rev().fold(0, |acc, byte| acc << 8 | usize::from(*byte));
            let (packed, next) = tail.split_at_checked(length).ok_or_else(|| damaged("is cut off"))?;
            if head[..32] == hash.as_bytes()[..] {
                let mut content = Vec::new();
                ZlibDecoder::new(packed).read_to_end(&mut content).map_err(|_| damaged("can't be unpacked"))?;
                return if Sha256::of(&content) == *hash { Ok(content) } else { Err(damaged("was altered")) };
            }
            rest = next;
        }
        Err(damaged("is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Runs;

    #[test]
    fn replies_come_back_by_hash() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        let one = run.keep_reply(b"one").unwrap();
        let large = run.keep_reply(&vec![7; LARGE + 1]).unwrap();
        let two = run.keep_reply(&vec![7; 100_000]).unwrap();
        assert_eq!(run.kept_reply(&large).unwrap(), vec![7; LARGE + 1]);
        assert_eq!(run.kept_reply(&one).unwrap(), b"one");
        assert_eq!(run.kept_reply(&two).unwrap(), vec![7; 100_000]);
        assert_eq!(run.kept_reply(&Sha256::of(b"three")).unwrap_err().code(), Code::RecordDamaged);
    }
}
