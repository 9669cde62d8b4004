//! Checks the bounds of an index before git's own reader parses it.
//!
//! The index stores each path as its difference from the one before, so a small file can expand beyond all memory. Its tree is
//! read by recursion. An index that exceeds the bounds, or is not understood here, is refused.

#![expect(clippy::disallowed_methods, reason = "this file is git's, not the user's")]

use std::{fs, path::Path};

use super::error::unknown;
use base::error::Error;

/// The longest index that is read, in bytes.
const LONGEST: u64 = 1 << 30;

/// The limit of the bytes of all its paths.
const MOST_PATHS: usize = 512 << 20;

/// The limit of nested folders.
const DEEPEST: usize = 2048;

/// An error if the index exceeds the bounds; none if there is no index. `hash` is the length of an object's name in bytes.
pub(super) fn check(path: &Path, hash: usize) -> Result<(), Error> {
    let refused = |why: &str| unknown(&format!("`{}` {why}", path.display()));
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    if found.len() > LONGEST {
        return Err(refused("is too long to be read"));
    }
    let bytes = fs::read(path).map_err(|error| refused(&format!("can't be read: {error}")))?;
    let bounds = Index { bytes: &bytes, hash }.bounds().ok_or_else(|| refused("is not understood"))?;
    match () {
        () if bounds.paths > MOST_PATHS => Err(refused("stands for too many paths")),
        () if bounds.depth > DEEPEST => Err(refused("has folders too deep within each other")),
        () => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bounds {
    /// The bytes of all paths.
    paths: usize,
    /// The depth of the nested trees in its extension.
    depth: usize,
}

struct Index<'a> {
    bytes: &'a [u8],
    hash: usize,
}

impl Index<'_> {
    fn bounds(&self) -> Option<Bounds> {
        let (version, entries) = (self.number(4)?, self.number(8)?);
        if !self.bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
            return None;
        }
        let mut bounds = Bounds::default();
        let (mut at, mut length) = (12, 0);
        for _ in 0..entries {
            let flags_at = at + 40 + self.hash;
            let flags = self.bytes.get(flags_at..flags_at + 2)?;
            let is_extended = version >= 3 && flags[0] & 0x40 != 0;
            let mut name = flags_at + if is_extended { 4 } else { 2 };
            if version == 4 {
                let (strip, after) = self.variable(name)?;
                length = usize::checked_sub(length, strip)?;
                name = after;
            } else {
                length = 0;
            }
            let rest = self.bytes.get(name..)?;
            let end = memchr::memchr(0, rest)?;
            length += end;
            bounds.paths = bounds.paths.saturating_add(length);
            if bounds.paths > MOST_PATHS {
                return Some(bounds);
            }
            // Up to version 3, zeros fill an entry up to a multiple of eight.
            at = if version == 4 { name + end + 1 } else { at + (name + end - at + 8) / 8 * 8 };
        }
        let end = self.bytes.len().checked_sub(self.hash)?;
        while at < end {
            let length = usize::try_from(self.number(at + 4)?).ok()?;
            let body = self.bytes.get(at + 8..at.checked_add(8)?.checked_add(length)?)?;
            if self.bytes.get(at..at + 4)? == b"TREE" {
                bounds.depth = bounds.depth.max(depth(body, self.hash)?);
            }
            at += 8 + length;
        }
        (at == end).then_some(bounds)
    }

    fn number(&self, at: usize) -> Option<u32> {
        Some(u32::from_be_bytes(self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
    }

    /// A number of variable length, and its end.
    fn variable(&self, mut at: usize) -> Option<(usize, usize)> {
        let mut byte = *self.bytes.get(at)?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            at += 1;
            byte = *self.bytes.get(at)?;
            value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some((value, at + 1))
    }
}

/// The depth of the nested trees in the extension.
fn depth(mut body: &[u8], hash: usize) -> Option<usize> {
    let mut open: Vec<usize> = vec![1];
    let mut deepest = 0;
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        let name = memchr::memchr(0, body)?;
        let line = memchr::memchr(b'\n', &body[name + 1..])? + name + 1;
        let (entries, trees) = str::from_utf8(&body[name + 1..line]).ok()?.split_once(' ')?;
        let has_name = entries.parse::<i64>().ok()? >= 0;
        body = body.get(line + 1 + if has_name { hash } else { 0 }..)?;
        deepest = deepest.max(open.len());
        if deepest > DEEPEST {
            return Some(deepest);
        }
        open.push(trees.parse().ok()?);
    }
    Some(deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: usize = 20;

    fn entry(strip: &[u8], name: &[u8], version: u32) -> Vec<u8> {
        let mut entry = [&[0; 40 + HASH + 2], strip, name, &[0]].concat();
        while version < 4 && entry.len() % 8 != 0 {
            entry.push(0);
        }
        entry
    }

    fn index(version: u32, entries: &[Vec<u8>], extensions: &[u8]) -> Vec<u8> {
        let counts = [version.to_be_bytes(), u32::try_from(entries.len()).unwrap().to_be_bytes()].concat();
        [b"DIRC".to_vec(), counts, entries.concat(), extensions.to_vec(), vec![0; HASH]].concat()
    }

    fn bounds(bytes: &[u8]) -> Option<Bounds> {
        Index { bytes, hash: HASH }.bounds()
    }

    #[test]
    fn paths_are_counted_as_they_come_out() {
        for version in [2, 3] {
            let entries = [entry(b"", b"a", version), entry(b"", b"folder/name", version)];
            assert_eq!(bounds(&index(version, &entries, b"")).unwrap().paths, 12);
        }
        // The second strips one byte of the first, and the third nothing.
        let entries = [entry(b"\0", b"abc", 4), entry(b"\x01", b"d", 4), entry(b"\0", b"e", 4)];
        assert_eq!(bounds(&index(4, &entries, b"")).unwrap().paths, 3 + 3 + 4);
    }

    #[test]
    fn a_small_index_cannot_stand_for_more_than_there_is() {
        let mut entries = vec![entry(b"\0", &[b'a'; 1 << 20], 4)];
        entries.extend((0..1000).map(|_| entry(b"\0", b"b", 4)));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        std::fs::write(&path, index(4, &entries, b"")).unwrap();
        let error = check(&path, HASH).unwrap_err();
        assert!(error.message().contains("too many paths"), "{error}");
    }

    #[test]
    fn trees_within_trees_are_counted() {
        let extension = |depth: usize| {
            let level = [b"a\x001 1\n".as_slice(), &[1; HASH]].concat();
            let body = [level.repeat(depth - 1), b"a\0-1 0\n".to_vec()].concat();
            [b"TREE".to_vec(), u32::try_from(body.len()).unwrap().to_be_bytes().to_vec(), body].concat()
        };
        assert_eq!(bounds(&index(2, &[], &extension(3))).unwrap().depth, 3);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        std::fs::write(&path, index(2, &[], &extension(200_000))).unwrap();
        assert!(check(&path, HASH).unwrap_err().message().contains("too deep"));
    }

    #[test]
    fn what_is_not_an_index_is_not_understood() {
        let extension = b"ZZZZ\0\0\0\x01x";
        let whole = index(2, &[entry(b"", b"a", 2)], extension);
        assert!(bounds(&whole).is_some());
        // Without the extension it is complete, but for the hash, which is checked later.
        let without = whole.len() - extension.len();
        assert!((0..whole.len()).all(|length| bounds(&whole[..length]).is_none() || length == without));
        assert!(bounds(&index(5, &[], b"")).is_none());
    }
}
