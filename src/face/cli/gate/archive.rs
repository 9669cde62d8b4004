//! The names in an archive, read from its headers: plain and gzipped tar, and zip.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};

/// The most names of an archive.
const NAMES: usize = 65_536;

/// The most bytes of an archive that are unpacked to reach its headers.
const UNPACKED: u64 = 64 << 20;

/// The most bytes of the end of a zip file that are searched for its directory, and of the directory.
const TAIL: u64 = 1 << 20;

/// The names in an archive. None for links in it, since they may lead elsewhere, and for what can't be read within the bounds.
pub(super) fn members(mut file: &File) -> Option<Vec<String>> {
    let mut head = [0; 4];
    file.read_exact(&mut head).ok()?;
    file.seek(SeekFrom::Start(0)).ok()?;
    match head {
        [b'P', b'K', ..] => of_zip(file),
        [0x1f, 0x8b, ..] => {
            of_tar(Archive::new(MultiGzDecoder::new(io::BufReader::new(file)).take(UNPACKED)).entries())
        }
        _ => of_tar(Archive::new(file).entries_with_seek()),
    }
}

fn of_tar<'a, R: Read + 'a>(entries: io::Result<tar::Entries<'a, R>>) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for entry in entries.ok()? {
        let entry = entry.ok()?;
        let is_told =
            matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Directory | EntryType::XGlobalHeader);
        if !is_told || found.len() >= NAMES {
            return None;
        }
        found.push(String::from_utf8_lossy(&entry.path_bytes()).into_owned());
    }
    // Anything that is no archive has no entries.
    (!found.is_empty()).then_some(found)
}

fn of_zip(mut file: &File) -> Option<Vec<String>> {
    let length = file.metadata().ok()?.len();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let end = tail.windows(4).rposition(|four| four == b"PK\x05\x06")?;
    let number = |bytes: &[u8], at: usize, length: usize| {
        let bytes = bytes.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0_usize, |all, byte| all << 8 | usize::from(*byte)))
    };
    let start = (number(&tail, end + 16, 4)? as u64).checked_sub(from)?;
    let mut rest = tail.get(usize::try_from(start).ok()?..end)?;
    let mut found = Vec::new();
    for _ in 0..number(&tail, end + 10, 2)? {
        if rest.get(..4)? != b"PK\x01\x02" {
            return None;
        }
        let (name, extra, note) = (number(rest, 28, 2)?, number(rest, 30, 2)?, number(rest, 32, 2)?);
        // The mode of a Unix file is in the upper half.
        if number(rest, 40, 2)? & 0o170_000 == 0o120_000 {
            return None;
        }
        found.push(String::from_utf8_lossy(rest.get(46..46 + name)?).into_owned());
        rest = rest.get(46 + name + extra + note..)?;
    }
    (found.len() < NAMES).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A zip file with a directory alone.
    fn zip(names: &[(&str, u16)]) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        let start = u32::try_from(bytes.len()).unwrap();
        for (name, mode) in names {
            let mut entry = [0; 46];
            entry[..4].copy_from_slice(b"PK\x01\x02");
            entry[28..30].copy_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
            entry[40..42].copy_from_slice(&mode.to_le_bytes());
            bytes.extend(entry);
            bytes.extend(name.as_bytes());
        }
        let mut end = [0; 22];
        end[..4].copy_from_slice(b"PK\x05\x06");
        end[10..12].copy_from_slice(&u16::try_from(names.len()).unwrap().to_le_bytes());
        end[16..20].copy_from_slice(&start.to_le_bytes());
        bytes.extend(end);
        bytes
    }

    fn of(bytes: &[u8]) -> Option<Vec<String>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        members(&file)
    }

    #[test]
    fn names_in_an_archive_are_told_and_links_and_damage_are_not() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&zip(&[("a", 0o100_644), ("b/c", 0)])), names(&["a", "b/c"]));
        assert_eq!(of(&zip(&[("a", 0o120_777)])), None);
        assert_eq!(of(&zip(&[("a", 0)])[..40]), None);
        assert_eq!(of(b"no archive at all"), None);
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        builder.append_data(&mut header, "nrv.toml", &b"a=1"[..]).unwrap();
        assert_eq!(of(&builder.into_inner().unwrap()), names(&["nrv.toml"]));
    }
}
