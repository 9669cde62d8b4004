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

/// The most bytes of a name or an extension of a header.
const HEADER: u64 = 64 << 10;

/// The names in an archive. None for links in it, since they may lead elsewhere, and for what can't be read within the bounds.
pub(super) fn members(mut file: &File, is_over: fn() -> bool) -> Option<Vec<String>> {
    let mut head = [0; 4];
    file.read_exact(&mut head).ok()?;
    file.seek(SeekFrom::Start(0)).ok()?;
    match head {
        [b'P', b'K', 3, 4] | [b'P', b'K', 5, 6] => of_zip(file),
        [0x1f, 0x8b, ..] => {
            let unpacked = Bounded { inner: MultiGzDecoder::new(io::BufReader::new(file)), left: UNPACKED };
            of_tar(Archive::new(unpacked).entries(), is_over)
        }
        _ => of_tar(Archive::new(file).entries_with_seek(), is_over),
    }
}

/// A stream that fails behind a number of bytes, instead of ending there.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other("the archive is too large"))?;
        Ok(count)
    }
}

fn of_tar<'a, R: Read + 'a>(entries: io::Result<tar::Entries<'a, R>>, is_over: fn() -> bool) -> Option<Vec<String>> {
    let (mut found, mut long) = (Vec::new(), None);
    // Raw entries, since the library reads long names without a bound.
    for entry in entries.ok()?.raw(true) {
        let mut entry = entry.ok()?;
        let kind = entry.header().entry_type();
        if found.len() >= NAMES || is_over() {
            return None;
        }
        match kind {
            EntryType::XGlobalHeader => {}
            EntryType::GNULongName | EntryType::XHeader => {
                let mut text = Vec::new();
                entry.by_ref().take(HEADER + 1).read_to_end(&mut text).ok()?;
                if text.len() as u64 > HEADER {
                    return None;
                }
                long = if kind == EntryType::XHeader { of_extension(&text)?.or(long) } else { Some(text) };
            }
            EntryType::Regular | EntryType::Directory => {
                let name = long.take().unwrap_or_else(|| entry.path_bytes().into_owned());
                found.push(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned());
            }
            _ => return None,
        }
    }
    // Anything that is no archive has no entries.
    (!found.is_empty()).then_some(found)
}

/// The name in the extension of a header, if it has one; none for an extension that may have it in another form.
fn of_extension(text: &[u8]) -> Option<Option<Vec<u8>>> {
    let mut name = None;
    for extension in tar::PaxExtensions::new(text) {
        let extension = extension.ok()?;
        match extension.key().ok()? {
            "path" => name = Some(extension.value_bytes().to_vec()),
            key if key.starts_with("GNU.") => return None,
            _ => {}
        }
    }
    Some(name)
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
        members(&file, || false)
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
        let long = format!("{}/nrv.toml", "folder/".repeat(40));
        builder.append_data(&mut header.clone(), &long, &b"a=1"[..]).unwrap();
        let whole = builder.into_inner().unwrap();
        assert_eq!(of(&whole), names(&["nrv.toml", &long]));
        let mut extended = tar::Builder::new(Vec::new());
        extended.append_pax_extensions([("path", &b".claude/x"[..])]).unwrap();
        extended.append_data(&mut header, "y", &b"a=1"[..]).unwrap();
        assert_eq!(of(&extended.into_inner().unwrap()), names(&[".claude/x"]));
        // A long name of 1 MiB, and an archive that goes on behind the bound.
        let mut hostile = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(1 << 20);
        hostile.append_data(&mut header, "x", io::repeat(b'a').take(1 << 20)).unwrap();
        assert_eq!(of(&hostile.into_inner().unwrap()), None);
        let mut bounded = Bounded { inner: io::repeat(0).take(5), left: 4 };
        assert!(bounded.read_to_end(&mut Vec::new()).is_err());
        assert_eq!(of(b"PKGBUILD is no zip file"), None);
    }
}
