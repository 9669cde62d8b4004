//! The way of bindings to the host: a trait with one implementation over pipes, and one in tests.

use std::{
    io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    stdio,
};
use serde_json::Value;

use base::{
    call::Call,
    error::{Code, Error, Location},
    frame::{Evaluated, FromWorker, Outcome, ToWorker, is_modest},
};

/// The size of a frame in bytes that is always sent: an error has to reach the host.
const LEAST: u64 = 1 << 16;

/// The host, seen from a script.
pub(super) trait Link: Send {
    /// Makes a call and waits for its answer.
    fn call(&mut self, at: Option<Location>, call: Call) -> Result<Value, Error>;

    /// Begins a stream and returns its number.
    fn open(&mut self, at: Option<Location>, call: Call) -> Result<u64, Error>;

    /// All events of a stream that are there, at least one unless it has ended: they wait for it.
    fn next(&mut self, stream: u64) -> Result<Vec<Value>, Error>;

    /// Ends a stream of which that many events were seen.
    fn close(&mut self, stream: u64, taken: u64) -> Result<(), Error>;

    /// Hands over a printed line.
    fn print(&mut self, text: &str);

    /// The reason to stop, if the host has sent one since the last call; never waits.
    fn interrupted(&mut self) -> Option<Error>;
}

/// Frames over a pair of pipes.
pub(super) struct Wire {
    reader: BufReader<End>,
    writer: End,
    last_call: u64,
    /// The most bytes of a frame of this side.
    most: u64,
}

/// A wire that the serving loop and the bindings share.
#[derive(Clone)]
pub(super) struct SharedWire(Arc<Mutex<Wire>>);

/// An end of a pipe without the standard library's buffer: input can be polled, and a frame is one write.
enum End {
    Stdin,
    Stdout,
    Own(OwnedFd),
    Closed,
}

impl End {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            End::Stdin => Some(stdio::stdin()),
            End::Stdout => Some(stdio::stdout()),
            End::Own(descriptor) => Some(descriptor.as_fd()),
            End::Closed => None,
        }
    }
}

impl Read for End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.descriptor().map_or(Ok(0), |end| Ok(rustix::io::read(end, buffer)?))
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.descriptor().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(rustix::io::write(end, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire {
    /// The wire of this process.
    pub(super) fn stdio() -> Self {
        Wire { reader: BufReader::new(End::Stdin), writer: End::Stdout, last_call: 0, most: u64::MAX }
    }

    /// A wire over pipes of its own.
    pub(super) fn pipes(reader: PipeReader, writer: PipeWriter) -> Self {
        Wire {
            reader: BufReader::new(End::Own(reader.into())),
            writer: End::Own(writer.into()),
            last_call: 0,
            most: u64::MAX,
        }
    }

    /// Drops the pipes: other holders of the wire receive nothing any more.
    pub(super) fn close(&mut self) {
        (self.reader, self.writer) = (BufReader::new(End::Closed), End::Closed);
    }

    /// The next frame; none if the host is gone or its bytes are no frame.
    pub(super) fn receive(&mut self) -> Option<ToWorker> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).ok()?;
        let frame: ToWorker = serde_json::from_slice(&line).ok()?;
        match frame {
            ToWorker::Text { id, length } => {
                let length = usize::try_from(length).ok()?;
                let mut text = Vec::new();
                text.try_reserve_exact(length + 1).ok()?;
                (&mut self.reader).take(length as u64 + 1).read_to_end(&mut text).ok()?;
                text.pop().filter(|end| *end == b'\n' && text.len() == length)?;
                Some(ToWorker::Reply { id, outcome: Outcome::Ok(Value::String(String::from_utf8(text).ok()?)) })
            }
            ToWorker::Hello { ref limits } => {
                self.most = limits.reply_bytes;
                Some(frame)
            }
            frame => Some(frame),
        }
    }

    /// Sends a frame. A host that is gone is noticed when its next frame is read.
    ///
    /// An error replaces a frame that is larger than the host takes.
    pub(super) fn send(&mut self, frame: &FromWorker) {
        let instead = match self.try_send(frame) {
            Ok(()) => return,
            Err(error) if matches!(frame, FromWorker::Evaluated(_)) => FromWorker::Evaluated(Evaluated::Error(error)),
            Err(error) => FromWorker::Failed { error },
        };
        let _ = self.try_send(&instead);
    }

    /// Sends a frame if the host takes it.
    fn try_send(&mut self, frame: &FromWorker) -> Result<(), Error> {
        let Ok(mut line) = serde_json::to_vec(frame) else { return Ok(()) };
        line.push(b'\n');
        // The answers about a source have no limit of their own.
        let is_bounded = !matches!(frame, FromWorker::Inspected(_) | FromWorker::Parsed(_) | FromWorker::Completed(_));
        let size = line.len() as u64;
        if is_bounded && size > self.most.max(LEAST) || !is_modest(&line, self.most) {
            let message = format!("the script sends {size} bytes at once, and {} are allowed", self.most);
            return Err(Error::new(Code::InvalidInput, message)
                .detail("size", size)
                .detail("most", self.most)
                .detail("limit", "script.limits.reply_bytes")
                .hint("send less at once, or raise `script.limits.reply_bytes` in `nrv.toml`"));
        }
        let _ = self.writer.write_all(&line);
        Ok(())
    }

    /// Sends a frame with a number of its own and waits for the reply to it.
    fn ask(&mut self, frame: impl FnOnce(u64) -> FromWorker) -> Result<Value, Error> {
        let id = self.last_call + 1;
        self.try_send(&frame(id))?;
        self.last_call = id;
        match self.receive() {
            Some(ToWorker::Reply { id: answered, outcome }) if answered == id => match outcome {
                Outcome::Ok(value) => Ok(value),
                Outcome::Error(error) => Err(error),
            },
            other => Err(stop(other.as_ref())),
        }
    }

    /// The same wire for several holders.
    pub(super) fn share(self) -> SharedWire {
        SharedWire(Arc::new(Mutex::new(self)))
    }

    fn readable(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Some(end) = self.reader.get_ref().descriptor().filter(|_| self.reader.buffer().is_empty()) else {
            return true;
        };
        rustix::event::poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

impl SharedWire {
    /// The wire, alone.
    pub(super) fn lock(&self) -> MutexGuard<'_, Wire> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link for SharedWire {
    fn call(&mut self, at: Option<Location>, call: Call) -> Result<Value, Error> {
        self.lock().ask(|id| FromWorker::Call { id, at, call })
    }

    fn open(&mut self, at: Option<Location>, call: Call) -> Result<u64, Error> {
        let opened = self.lock().ask(|id| FromWorker::Open { id, at, call })?;
        opened.as_u64().ok_or_else(astray)
    }

    fn next(&mut self, stream: u64) -> Result<Vec<Value>, Error> {
        match self.lock().ask(|id| FromWorker::Next { id, stream })? {
            Value::Array(events) => Ok(events),
            _ => Err(astray()),
        }
    }

    fn close(&mut self, stream: u64, taken: u64) -> Result<(), Error> {
        self.lock().ask(|id| FromWorker::Close { id, stream, taken }).map(drop)
    }

    fn print(&mut self, text: &str) {
        self.lock().send(&FromWorker::Print { text: text.to_owned() });
    }

    fn interrupted(&mut self) -> Option<Error> {
        let mut wire = self.lock();
        wire.readable().then(|| stop(wire.receive().as_ref()))
    }
}

fn astray() -> Error {
    Error::new(Code::Internal, "the host sent a reply that does not belong here")
}

/// The error that stops a script when this frame comes in place of an answer.
fn stop(frame: Option<&ToWorker>) -> Error {
    match frame {
        Some(ToWorker::Cancel {}) => Error::new(Code::Cancelled, "the run was cancelled"),
        None => Error::new(Code::Cancelled, "the host is gone"),
        Some(
            ToWorker::Hello { .. }
            | ToWorker::Inspect { .. }
            | ToWorker::Run(_)
            | ToWorker::Interact(_)
            | ToWorker::Parse { .. }
            | ToWorker::Evaluate(_)
            | ToWorker::Complete { .. }
            | ToWorker::Adapt { .. }
            | ToWorker::Work(_)
            | ToWorker::Text { .. }
            | ToWorker::Reply { .. },
        ) => Error::new(Code::Internal, "the host sent a frame that does not belong here"),
    }
}
