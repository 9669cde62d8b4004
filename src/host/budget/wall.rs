//! The time that a run may take: told to whatever works for it, also in the middle of a call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use base::error::Error;
use system::{clock::Stopwatch, threads};

/// How often the wish of the user to stop is passed on, and the time looked at.
const TICK: Duration = Duration::from_millis(20);

/// How long a run has taken, without what it waited for people.
#[derive(Debug)]
pub(crate) struct Wall {
    limit_s: u64,
    watch: Stopwatch,
    /// The waiting time, which does not count, in milliseconds. `before_ms` is the time of former sessions, which does.
    waited_ms: AtomicU64,
    before_ms: AtomicU64,
    /// True while a person thinks.
    paused: AtomicBool,
}

impl Wall {
    pub(super) fn new(limit_s: u64) -> Self {
        Wall {
            limit_s,
            watch: Stopwatch::start(),
            waited_ms: AtomicU64::new(0),
            before_ms: AtomicU64::new(0),
            paused: AtomicBool::new(false),
        }
    }

    /// Milliseconds that count.
    pub(super) fn used_ms(&self) -> u64 {
        let waited = self.waited_ms.load(Ordering::Relaxed);
        self.watch.elapsed_ms().saturating_sub(waited) + self.before_ms.load(Ordering::Relaxed)
    }

    pub(super) fn is_spent(&self) -> bool {
        !self.paused.load(Ordering::Relaxed) && self.used_ms() / 1000 >= self.limit_s
    }

    pub(super) fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }

    pub(super) fn forgive(&self, waited: Stopwatch) {
        self.waited_ms.fetch_add(waited.elapsed_ms(), Ordering::Relaxed);
        self.paused.store(false, Ordering::Relaxed);
    }

    pub(super) fn add(&self, ms: u64) {
        self.before_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

/// A thread that says when everything of a run has to stop: the user wants it, or its time is spent. It ends with this value.
#[derive(Debug)]
pub(crate) struct Deadline {
    stop: Arc<AtomicBool>,
    /// Closed by dropping it.
    _alive: mpsc::Sender<()>,
}

impl Deadline {
    pub(crate) fn start(wall: Arc<Wall>, cancel: Arc<AtomicBool>) -> Result<Self, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let (alive, ended) = mpsc::channel::<()>();
        let told = Arc::clone(&stop);
        threads::start(move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if cancel.load(Ordering::Relaxed) || wall.is_spent() {
                    told.store(true, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Deadline { stop, _alive: alive })
    }

    /// Becomes true when everything has to stop.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The same, for what works while the run is changed.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(deadline: &Deadline) -> bool {
        let watch = Stopwatch::start();
        while watch.elapsed_ms() < 30_000 {
            if deadline.stop().load(Ordering::Relaxed) {
                return true;
            }
            std::thread::sleep(TICK);
        }
        false
    }

    #[test]
    fn work_is_told_when_time_is_spent_or_the_user_wants_it() {
        let never = || Arc::new(AtomicBool::new(false));
        assert!(told(&Deadline::start(Arc::new(Wall::new(0)), never()).unwrap()));
        let cancel = never();
        let deadline = Deadline::start(Arc::new(Wall::new(7200)), Arc::clone(&cancel)).unwrap();
        std::thread::sleep(TICK * 3);
        assert!(!deadline.stop().load(Ordering::Relaxed));
        cancel.store(true, Ordering::Relaxed);
        assert!(told(&deadline));
    }

    #[test]
    fn time_that_a_person_takes_is_not_counted() {
        let wall = Wall::new(1);
        let waited = Stopwatch::start();
        wall.pause();
        wall.add(1000);
        assert!(!wall.is_spent());
        wall.forgive(waited);
        assert!(wall.is_spent());
        assert!(wall.used_ms() >= 1000);
    }
}
