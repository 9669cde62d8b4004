//! How bindings reach the host: a trait with one implementation over pipes, and one in tests.

use std::{
    io::{BufRead, BufReader, Read, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    stdio,
};
use serde_json::Value;

use crate::{
    call::Call,
    error::{Code, Error, Location},
    frame::{FromWorker, Outcome, ToWorker},
};

/// The host, seen from a script.
pub(super) trait Link: Send {
    /// Makes a call and waits for its answer.
    fn call(&mut self, at: Option<Location>, call: Call) -> Result<Value, Error>;

    /// Hands over a printed line.
    fn print(&mut self, text: &str);

    /// Why the script is to stop, if the host said so since it was last asked; never waits.
    fn interrupted(&mut self) -> Option<Error>;
}

/// Frames over stdin and stdout.
pub(super) struct Wire {
    reader: BufReader<Stdin>,
    last_call: u64,
}

/// A wire that the serving loop and the bindings share.
#[derive(Clone)]
pub(super) struct SharedWire(Arc<Mutex<Wire>>);

/// Stdin without the standard library's buffer, so that it can be polled.
struct Stdin;

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(rustix::io::read(stdio::stdin(), buffer)?)
    }
}

/// Stdout without the standard library's buffer: a frame is one write.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(stdio::stdout(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Wire {
    /// The wire of this process.
    pub(super) fn stdio() -> Self {
        Wire { reader: BufReader::new(Stdin), last_call: 0 }
    }

    /// The next frame; none if the host is gone or sent something that is no frame.
    pub(super) fn receive(&mut self) -> Option<ToWorker> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice(&line).ok()
    }

    /// Sends a frame. A host that is gone is noticed when its next frame is read.
    pub(super) fn send(&mut self, frame: &FromWorker) {
        if let Ok(mut line) = serde_json::to_vec(frame) {
            line.push(b'\n');
            let _ = Stdout.write_all(&line);
        }
    }

    /// The same wire for several holders.
    pub(super) fn share(self) -> SharedWire {
        SharedWire(Arc::new(Mutex::new(self)))
    }

    fn readable(&self) -> bool {
        let stdin = stdio::stdin();
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        !self.reader.buffer().is_empty()
            || rustix::event::poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&at_once))
                .is_ok_and(|ready| ready > 0)
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
        let mut wire = self.lock();
        wire.last_call += 1;
        let id = wire.last_call;
        wire.send(&FromWorker::Call { id, at, call });
        match wire.receive() {
            Some(ToWorker::Reply { id: answered, outcome }) if answered == id => match outcome {
                Outcome::Ok(value) => Ok(value),
                Outcome::Error(error) => Err(error),
            },
            other => Err(stop(other.as_ref())),
        }
    }

    fn print(&mut self, text: &str) {
        self.lock().send(&FromWorker::Print { text: text.to_owned() });
    }

    fn interrupted(&mut self) -> Option<Error> {
        let mut wire = self.lock();
        wire.readable().then(|| stop(wire.receive().as_ref()))
    }
}

/// Why a script stops when this comes in place of an answer.
fn stop(frame: Option<&ToWorker>) -> Error {
    match frame {
        Some(ToWorker::Cancel {}) => Error::new(Code::Cancelled, "the run was cancelled"),
        None => Error::new(Code::Cancelled, "the host is gone"),
        Some(ToWorker::Hello { .. } | ToWorker::Inspect { .. } | ToWorker::Run(_) | ToWorker::Reply { .. }) => {
            Error::new(Code::Internal, "the host sent a frame that does not belong here")
        }
    }
}
