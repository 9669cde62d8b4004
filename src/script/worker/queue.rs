//! The queue of arrived frames, bounded by bytes, so that a script's output can't fill the host's memory.
//!
//! It holds frames as they came, and parses them when they are taken, since a parsed frame is larger.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam::channel::{Receiver, Sender};

use base::frame::{FromWorker, is_modest};

/// The most bytes that wait; beyond, the worker blocks on its pipe. A larger frame waits alone.
const MAX_WAITING: usize = 64 << 20;

/// The end where frames arrive.
pub(super) struct Queue {
    sender: Sender<Incoming>,
    waiting: Arc<Waiting>,
}

/// A frame that arrived.
pub(super) struct Incoming {
    line: Result<Vec<u8>, String>,
    /// Returns the bytes to the queue, also if the frame is dropped unseen.
    _share: Share,
}

#[derive(Default)]
struct Waiting {
    bytes: Mutex<usize>,
    fewer: Condvar,
}

struct Share {
    waiting: Arc<Waiting>,
    bytes: usize,
}

impl Queue {
    /// An empty queue and the end where frames are taken.
    pub(super) fn new() -> (Self, Receiver<Incoming>) {
        let (sender, receiver) = crossbeam::channel::unbounded();
        (Queue { sender, waiting: Arc::default() }, receiver)
    }

    /// Adds a line once there is room for it. False if the receiver is gone.
    pub(super) fn add(&self, line: Vec<u8>) -> bool {
        // The overhead of a line counts too, or a flood of empty ones would be free.
        let bytes = line.capacity() + size_of::<Incoming>();
        let is_full = |waiting: &mut usize| *waiting > 0 && *waiting + bytes > MAX_WAITING;
        let held = self.waiting.fewer.wait_while(self.waiting.bytes(), is_full);
        *held.unwrap_or_else(PoisonError::into_inner) += bytes;
        self.send(Ok(line), bytes)
    }

    /// Tells the receiver why there will be no further frame.
    pub(super) fn refuse(&self, why: String) {
        self.send(Err(why), 0);
    }

    fn send(&self, line: Result<Vec<u8>, String>, bytes: usize) -> bool {
        let share = Share { waiting: Arc::clone(&self.waiting), bytes };
        self.sender.send(Incoming { line, _share: share }).is_ok()
    }
}

impl Incoming {
    /// Parses the frame if it needs no more memory than one of `most` bytes; an error says why it is no frame.
    pub(super) fn frame(self, most: u64) -> Result<FromWorker, String> {
        let line = self.line?;
        if !is_modest(&line, most) {
            return Err("it holds more values than a frame may".to_owned());
        }
        serde_json::from_slice(&line).map_err(|error| error.to_string())
    }
}

impl Waiting {
    fn bytes(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.waiting.bytes() -= self.bytes;
        self.waiting.fewer.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_larger_than_the_queue_waits_alone() {
        let (queue, frames) = Queue::new();
        assert!(queue.add(vec![b' '; MAX_WAITING + 1]));
        let adding = std::thread::spawn(move || queue.add(vec![b' ']));
        assert!(frames.recv().unwrap().frame(1 << 30).is_err());
        assert!(adding.join().unwrap() && frames.recv().is_ok());
    }

    #[test]
    fn a_queue_that_nobody_reads_lets_its_writer_go() {
        let (queue, frames) = Queue::new();
        assert!(queue.add(vec![b' '; MAX_WAITING]));
        let adding = std::thread::spawn(move || queue.add(vec![b' ']));
        drop(frames);
        assert!(!adding.join().unwrap());
    }
}
