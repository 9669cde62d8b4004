//! The pack of a run that is going on: each content is written once, and nothing of one that could not be written stays.
//!
//! A large content is made twice, once for its hash and once for the file. So its written form is never held in memory: as JSON a
//! text may be six times as long.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt,
    sync::{Mutex, PoisonError},
};

use flate2::{Compression, write::ZlibEncoder};
use serde_json::Value;

use super::{
    REPLIES, RunFolder,
    event::Stored,
    pack::{HEAD, packed_form},
};
use base::{
    error::{Code, Error},
    hash::{Hasher, Sha256},
    json,
};

/// Content up to this is held in memory and always compressed.
const LARGE: usize = 1 << 20;

/// So much of what is large is compressed to see what comes of it.
const SAMPLE: usize = 1 << 16;

/// How many times smaller a sample has to become. Compressing the rest would take longer than most work that it is part of.
const WORTH: usize = 8;

/// The length of a content whose end is not written yet; it reaches beyond the end of any pack.
const UNFINISHED: u32 = u32::MAX;

/// Checks that are made before and while contents are written.
#[derive(Clone, Copy)]
pub struct Permit<'a> {
    /// Asked before so many bytes are written; they are counted then.
    pub room: &'a dyn Fn(u64) -> Result<(), Error>,
    /// Asked now and then while a large content is made.
    pub go_on: &'a dyn Fn() -> Result<(), Error>,
}

impl Permit<'static> {
    /// All that there is.
    pub const ALL: Self = Permit { room: &|_| Ok(()), go_on: &|| Ok(()) };
}

/// Writes a run's pack. Whoever has it holds the run's lease.
#[derive(Debug)]
pub struct Keeper {
    run: RunFolder,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Where the next frame begins.
    end: u64,
    known: BTreeSet<Sha256>,
    /// True if a failed write may have left something behind the last whole frame.
    is_torn: bool,
}

/// Gives a content to a writer; it can be made again.
type Make<'m> = &'m dyn Fn(&mut dyn Write) -> Result<io::Result<()>, Error>;

impl Keeper {
    /// The pack of a run; nothing is opened yet. What a crash left of a frame is cut away before anything is written.
    pub fn new(run: &RunFolder) -> Self {
        Keeper { run: run.clone(), open: Mutex::new(None) }
    }

    /// Keeps some content under its hash.
    pub fn keep(&self, content: &[u8]) -> Result<Sha256, Error> {
        self.keep_within(content, Permit::ALL)
    }

    /// As [`Keeper::keep`], if it may be written.
    pub fn keep_within(&self, content: &[u8], permit: Permit<'_>) -> Result<Sha256, Error> {
        self.keep_made(&|out| Ok(out.write_all(content)), permit).map(|(hash, _)| hash)
    }

    /// Keeps a value as canonical JSON, if it may be written; what stands in the record in its place.
    pub fn keep_value(&self, value: &Value, permit: Permit<'_>) -> Result<Stored, Error> {
        let (hash, length) = self.keep_made(&|out| json::canonical_into(value, out), permit)?;
        Ok(packed_form(&hash, usize::try_from(length).unwrap_or(usize::MAX)))
    }

    fn keep_made(&self, make: Make<'_>, permit: Permit<'_>) -> Result<(Sha256, u64), Error> {
        let mut spool =
            Spool { buffer: Vec::new(), hasher: Hasher::default(), sample: Vec::new(), tell: Tell::new(permit) };
        let made = make(&mut spool)?;
        spool.tell.result(made)?;
        let (hash, length, whole, sample) = spool.finish();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match &mut *open {
            Some(open) => open,
            none => none.insert(self.open()?),
        };
        if open.known.contains(&hash) {
            return Ok((hash, length));
        }
        open.cut()?;
        // Until it is there whole, nobody knows how much of it is.
        open.is_torn = true;
        let end = match whole {
            Some(content) => open.write_whole(&hash, &content, permit),
            None => open.write_made(&hash, make, is_worth(&sample), permit),
        };
        match end {
            Ok(end) => {
                open.end = end;
                open.is_torn = false;
                open.known.insert(hash);
                Ok((hash, length))
            }
            Err(error) => {
                // If this fails, the next content tries again.
                let _ = open.cut();
                Err(error)
            }
        }
    }

    fn open(&self) -> Result<Open, Error> {
        let pack = self.run.pack()?;
        let known = pack.places.keys().copied().collect();
        let mut open = Open { file: self.run.open_to_write(REPLIES)?, end: pack.length, known, is_torn: true };
        open.cut()?;
        Ok(open)
    }
}

/// True if what begins so is to be compressed.
fn is_worth(sample: &[u8]) -> bool {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(sample).and_then(|()| encoder.finish());
    packed.is_ok_and(|packed| packed.len() * WORTH < sample.len())
}

impl Open {
    /// Takes away what a failed write, or a crash, left behind the last whole frame.
    fn cut(&mut self) -> Result<(), Error> {
        if self.is_torn {
            let length = self.file.metadata().map_err(|error| unkept(&error))?.len();
            if length > self.end {
                self.file.set_len(self.end).map_err(|error| unkept(&error))?;
            }
            self.is_torn = false;
        }
        Ok(())
    }

    fn write_whole(&self, hash: &Sha256, content: &[u8], permit: Permit<'_>) -> Result<u64, Error> {
        let packed = vec![0; HEAD];
        let mut encoder = ZlibEncoder::new(packed, Compression::fast());
        let packed = encoder.write_all(content).and_then(|()| encoder.finish());
        let mut frame = packed.map_err(|error| unkept(&error))?;
        let length = length_of((frame.len() - HEAD) as u64)?;
        frame[..HEAD].copy_from_slice(&head(hash, length));
        (permit.room)(frame.len() as u64)?;
        self.file.write_all_at(&frame, self.end).map_err(|error| unkept(&error))?;
        Ok(self.end + frame.len() as u64)
    }

    fn write_made(&self, hash: &Sha256, make: Make<'_>, compress: bool, permit: Permit<'_>) -> Result<u64, Error> {
        let failed = |error: io::Error| unkept(&error);
        (permit.room)(HEAD as u64)?;
        self.file.write_all_at(&head(hash, UNFINISHED), self.end).map_err(failed)?;
        let start = self.end + HEAD as u64;
        let mut place = Place { file: &self.file, at: start, tell: Tell::new(permit) };
        let made = {
            let level = if compress { Compression::fast() } else { Compression::none() };
            let out = BufWriter::with_capacity(LARGE, &mut place);
            let mut pieces = BufWriter::with_capacity(SAMPLE, ZlibEncoder::new(out, level));
            make(&mut pieces)?.and_then(|()| {
                let encoder = pieces.into_inner().map_err(io::IntoInnerError::into_error)?;
                encoder.finish()?.flush()
            })
        };
        place.tell.result(made)?;
        let end = place.at;
        let length = length_of(end - start)?;
        self.file.write_all_at(&length.to_le_bytes(), self.end + 32).map_err(failed)?;
        Ok(end)
    }
}

fn head(hash: &Sha256, length: u32) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..32].copy_from_slice(hash.as_bytes());
    head[32..].copy_from_slice(&length.to_le_bytes());
    head
}

fn length_of(length: u64) -> Result<u32, Error> {
    let length = u32::try_from(length).ok().filter(|length| *length < UNFINISHED);
    length.ok_or_else(|| Error::new(Code::InvalidInput, "a reply is too large to be recorded"))
}

fn unkept(error: &io::Error) -> Error {
    Error::io("a reply can't be recorded", error)
}

/// Keeps why a permit was refused: a writer can only say that something failed.
struct Tell<'a> {
    permit: Permit<'a>,
    refused: Option<Error>,
}

impl<'a> Tell<'a> {
    fn new(permit: Permit<'a>) -> Self {
        Tell { permit, refused: None }
    }

    fn go_on(&mut self) -> io::Result<()> {
        let answer = (self.permit.go_on)();
        self.heed(answer)
    }

    fn room(&mut self, bytes: u64) -> io::Result<()> {
        let answer = (self.permit.go_on)().and_then(|()| (self.permit.room)(bytes));
        self.heed(answer)
    }

    fn heed(&mut self, answer: Result<(), Error>) -> io::Result<()> {
        answer.map_err(|error| {
            self.refused = Some(error);
            io::Error::other("refused")
        })
    }

    fn result(&mut self, written: io::Result<()>) -> Result<(), Error> {
        match (self.refused.take(), written) {
            (Some(refused), _) => Err(refused),
            (None, written) => written.map_err(|error| unkept(&error)),
        }
    }
}

/// Hashes what is written, and holds all of it as long as it is not large.
struct Spool<'a> {
    buffer: Vec<u8>,
    hasher: Hasher,
    /// How it begins, if it is large.
    sample: Vec<u8>,
    tell: Tell<'a>,
}

impl Spool<'_> {
    /// The hash and the length, all of it if it is not large, and else its beginning.
    fn finish(mut self) -> (Sha256, u64, Option<Vec<u8>>, Vec<u8>) {
        let _ = self.hasher.write_all(&self.buffer);
        let (hash, length) = self.hasher.finish();
        let whole = self.sample.is_empty().then_some(self.buffer);
        (hash, length, whole, self.sample)
    }
}

impl Write for Spool<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(LARGE)];
        if self.buffer.len() + bytes.len() > LARGE {
            self.tell.go_on()?;
            if self.sample.is_empty() {
                let all = self.buffer.iter().chain(bytes);
                self.sample = all.take(SAMPLE).copied().collect();
            }
            self.hasher.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A place in the pack that moves on with what is written.
struct Place<'a> {
    file: &'a File,
    at: u64,
    tell: Tell<'a>,
}

impl Write for Place<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tell.room(bytes.len() as u64)?;
        self.file.write_all_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;
    use crate::Runs;

    fn run() -> (tempfile::TempDir, RunFolder) {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        (folder, run)
    }

    fn size(run: &RunFolder) -> u64 {
        run.open_file(REPLIES).unwrap().map_or(0, |file| file.metadata().unwrap().len())
    }

    /// Text that does not become smaller.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b' ' + (state >> 58) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn a_content_is_written_once_also_by_the_next_session() {
        let (_folder, run) = run();
        let keeper = Keeper::new(&run);
        for content in [b"one".to_vec(), noise(3 * LARGE)] {
            let hash = keeper.keep(&content).unwrap();
            let once = size(&run);
            assert_eq!(keeper.keep(&content).unwrap(), hash);
            assert_eq!(Keeper::new(&run).keep(&content).unwrap(), hash);
            assert_eq!(size(&run), once);
            assert_eq!(run.pack().unwrap().get(&hash).unwrap(), content);
        }
    }

    #[test]
    fn a_text_that_json_makes_six_times_as_long_takes_little_room() {
        let (_folder, run) = run();
        let value = json!("\0".repeat(8 << 20));
        let named = Keeper::new(&run).keep_value(&value, Permit::ALL).unwrap();
        assert_eq!(named.form()["length"], (8 << 20) * 6 + 2);
        assert_eq!(run.pack().unwrap().value(&named).unwrap(), value);
        assert!(size(&run) < 1 << 20, "{}", size(&run));
    }

    #[test]
    fn a_frame_that_was_cut_off_hides_none_that_follow() {
        let (_folder, run) = run();
        let one = Keeper::new(&run).keep(b"one").unwrap();
        for left in [vec![9; HEAD + 3], head(&Sha256::of(b"x"), UNFINISHED).to_vec(), vec![9; 3]] {
            run.append_to(REPLIES).unwrap().write_all(&left).unwrap();
            assert_eq!(run.pack().unwrap().get(&one).unwrap(), b"one");
            let two = Keeper::new(&run).keep(&left).unwrap();
            assert_eq!(run.pack().unwrap().get(&two).unwrap(), left);
        }
    }

    #[test]
    fn nothing_stays_of_a_content_that_may_not_be_written_to_its_end() {
        let (_folder, run) = run();
        let keeper = Keeper::new(&run);
        let one = keeper.keep(b"one").unwrap();
        let before = size(&run);
        let full = || Error::new(Code::BudgetExhausted, "full");
        let left = Cell::new(2 * LARGE as u64);
        let room = |n| left.get().checked_sub(n).map(|rest| left.set(rest)).ok_or_else(full);
        let permit = Permit { room: &room, ..Permit::ALL };
        let error = keeper.keep_within(&noise(4 * LARGE), permit).unwrap_err();
        assert_eq!((error.code(), size(&run)), (Code::BudgetExhausted, before));
        let stopped = Permit { go_on: &|| Err(Error::new(Code::Cancelled, "stop")), ..Permit::ALL };
        assert_eq!(keeper.keep_within(&noise(4 * LARGE), stopped).unwrap_err().code(), Code::Cancelled);
        let two = keeper.keep(b"two").unwrap();
        let pack = run.pack().unwrap();
        assert_eq!((pack.get(&one).unwrap(), pack.get(&two).unwrap()), (b"one".to_vec(), b"two".to_vec()));
    }
}
