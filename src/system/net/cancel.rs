//! A one-time cancellation signal for all its listeners.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Cancels requests, from any thread; clones share one signal.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    given: Condvar,
}

#[derive(Default)]
struct State {
    is_given: bool,
    next: u64,
    listeners: BTreeMap<u64, Box<dyn FnOnce() + Send>>,
}

/// Listens until it is dropped.
#[must_use]
pub struct Listener {
    cancel: Cancel,
    number: Option<u64>,
}

impl Cancel {
    /// Stops all present and future listeners.
    pub fn cancel(&self) {
        let listeners = {
            let mut state = self.lock();
            state.is_given = true;
            std::mem::take(&mut state.listeners)
        };
        self.0.given.notify_all();
        // Called without the lock: a listener may ask for the state.
        listeners.into_values().for_each(|listener| listener());
    }

    /// True once it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.lock().is_given
    }

    /// Calls back when it is cancelled, at once if it was; never after the listener is dropped.
    pub fn listen(&self, listener: impl FnOnce() + Send + 'static) -> Listener {
        let mut state = self.lock();
        if state.is_given {
            drop(state);
            listener();
            return Listener { cancel: self.clone(), number: None };
        }
        let number = state.next;
        state.next += 1;
        state.listeners.insert(number, Box::new(listener));
        drop(state);
        Listener { cancel: self.clone(), number: Some(number) }
    }

    /// Waits; true if the time passed, false if it was cancelled before.
    pub fn sleep(&self, time: Duration) -> bool {
        let state = self.lock();
        let waited = self.0.given.wait_timeout_while(state, time, |state| !state.is_given);
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_given
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let listener = self.number.and_then(|number| self.cancel.lock().listeners.remove(&number));
        // Dropping its captures may need the lock.
        drop(listener);
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.number).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn every_living_listener_hears_it_once() {
        let (cancel, heard) = (Cancel::default(), Arc::new(AtomicU32::new(0)));
        let listen = |by: u32| {
            let heard = Arc::clone(&heard);
            cancel.listen(move || {
                heard.fetch_add(by, Ordering::SeqCst);
            })
        };
        let _kept = listen(1);
        drop(listen(10));
        cancel.clone().cancel();
        cancel.cancel();
        let _late = listen(100);
        assert_eq!(heard.load(Ordering::SeqCst), 101);
    }

    #[test]
    fn a_wait_ends_when_it_is_cancelled() {
        let cancel = Cancel::default();
        assert!(cancel.sleep(Duration::from_millis(1)));
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.sleep(Duration::from_secs(600)));
        cancel.cancel();
        assert!(!thread.join().unwrap());
    }
}
