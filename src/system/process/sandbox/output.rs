//! Collects a stream of a program: counts, hashes, keeps a bounded part, and writes it to a file.

use std::{
    fs::File,
    io::{self, Write},
    path::PathBuf,
};

use sha2::Digest;

use super::Stream;
use base::hash::Sha256;

/// The collector of one stream.
#[derive(Debug)]
pub(super) struct Collector {
    hasher: sha2::Sha256,
    stream: Stream,
    whole: usize,
    ends: usize,
    file: Option<(PathBuf, Option<File>)>,
    most: u64,
}

impl Collector {
    pub(super) fn new(whole: usize, ends: usize, file: Option<PathBuf>, most: u64) -> Self {
        let file = file.map(|path| (path, None));
        Collector { hasher: sha2::Sha256::new(), stream: Stream::default(), whole, ends, file, most }
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.stream.length += bytes.len() as u64;
        self.keep(bytes);
        self.store(bytes)
    }

    /// The finished stream.
    pub(super) fn finish(mut self) -> Stream {
        self.stream.sha256 = Some(Sha256::from(<[u8; 32]>::from(self.hasher.finalize())));
        if let Some(tail) = &mut self.stream.tail {
            tail.drain(..tail.len().saturating_sub(self.ends));
        }
        self.stream
    }

    fn keep(&mut self, bytes: &[u8]) {
        let head = &mut self.stream.head;
        let Some(tail) = &mut self.stream.tail else {
            if head.len() + bytes.len() <= self.whole {
                head.extend_from_slice(bytes);
                return;
            }
            let mut tail = last(head, self.ends).to_vec();
            let room = self.ends.saturating_sub(head.len()).min(bytes.len());
            head.extend_from_slice(&bytes[..room]);
            head.truncate(self.ends);
            tail.extend_from_slice(last(bytes, self.ends));
            self.stream.tail = Some(tail);
            return;
        };
        tail.extend_from_slice(last(bytes, self.ends));
        if tail.len() > self.ends.saturating_mul(2).max(1 << 16) {
            tail.drain(..tail.len() - self.ends);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a program's output goes where the host says, outside of the tree")]
    fn store(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let room = usize::try_from(self.most - self.stream.stored).unwrap_or(usize::MAX).min(bytes.len());
        if room == 0 {
            return Ok(());
        }
        let file = match file {
            Some(file) => file,
            None => file.insert(File::create_new(path)?),
        };
        file.write_all(&bytes[..room])?;
        self.stream.stored += room as u64;
        Ok(())
    }
}

/// The last bytes, up to a limit.
fn last(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(most)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&[u8]], head: &[u8], tail: Option<&[u8]>) {
        let mut collector = Collector::new(8, 3, None, 0);
        pieces.iter().for_each(|piece| collector.take(piece).unwrap());
        let stream = collector.finish();
        let all = pieces.concat();
        assert_eq!((stream.head.as_slice(), stream.tail.as_deref()), (head, tail));
        assert_eq!((stream.length, stream.sha256), (all.len() as u64, Some(Sha256::of(&all))));
    }

    #[test]
    fn what_is_short_is_kept_whole_and_of_what_is_long_both_ends() {
        check(&[], b"", None);
        check(&[b"1234", b"5678"], b"12345678", None);
        check(&[b"1234", b"56789"], b"123", Some(b"789"));
        check(&[b"12", b"3456789"], b"123", Some(b"789"));
        check(&[b"12345678", b"9"], b"123", Some(b"789"));
        check(&[b"123456789", b"", b"a"], b"123", Some(b"89a"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
    fn a_file_takes_what_it_may_and_is_not_made_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut collector = Collector::new(0, 0, Some(path.clone()), 5);
        collector.take(b"").unwrap();
        assert!(!path.exists());
        collector.take(b"1234").unwrap();
        collector.take(b"5678").unwrap();
        assert_eq!((collector.finish().stored, std::fs::read(path).unwrap()), (5, b"12345".to_vec()));
    }
}
