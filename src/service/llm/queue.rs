//! A bounded queue of events between two threads, which loses none.
//!
//! A reader takes all available events, so that a slow reader gets batches and a fast one each event at once. A full queue
//! blocks the writer.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::event::LlmStreamEvent;

/// The largest number of waiting events.
const MAX_EVENTS: usize = 4096;

/// The largest number of bytes of their texts, without the last one.
const MAX_BYTES: usize = 1 << 20;

/// The events of one request.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<LlmStreamEvent>,
    bytes: usize,
    has_ended: bool,
}

impl Queue {
    /// Adds an event, and waits while there are too many; an end never waits. After an end all events are dropped.
    pub(crate) fn push(&self, event: LlmStreamEvent) {
        let size = match &event {
            LlmStreamEvent::Token { text } => text.len(),
            _ => 0,
        };
        let is_full = |state: &mut State| {
            !state.has_ended && !event.is_end() && (state.events.len() >= MAX_EVENTS || state.bytes >= MAX_BYTES)
        };
        let waited = self.changed.wait_while(self.lock(), is_full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.has_ended {
            return;
        }
        state.has_ended = event.is_end();
        state.bytes += size;
        state.events.push_back(event);
        drop(state);
        self.changed.notify_all();
    }

    /// Takes all available events, and waits for the first; the result is empty only after the end was taken.
    pub(crate) fn take(&self) -> VecDeque<LlmStreamEvent> {
        let waited = self.changed.wait_while(self.lock(), has_nothing);
        self.drain(waited.unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, with a limit of the wait: none if nothing has come yet.
    pub(super) fn take_within(&self, patience: Duration) -> Option<VecDeque<LlmStreamEvent>> {
        let waited = self.changed.wait_timeout_while(self.lock(), patience, has_nothing);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (!timeout.timed_out() || !has_nothing(&mut state)).then(|| self.drain(state))
    }

    fn drain(&self, mut state: MutexGuard<'_, State>) -> VecDeque<LlmStreamEvent> {
        state.bytes = 0;
        let events = std::mem::take(&mut state.events);
        drop(state);
        self.changed.notify_all();
        events
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_nothing(state: &mut State) -> bool {
    state.events.is_empty() && !state.has_ended
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{super::error::cancelled, *};

    fn token(number: usize) -> LlmStreamEvent {
        LlmStreamEvent::Token { text: number.to_string() }
    }

    fn end() -> LlmStreamEvent {
        LlmStreamEvent::Error { error: Box::new(cancelled()) }
    }

    #[test]
    fn a_slow_taker_loses_nothing_and_no_more_than_so_many_wait() {
        const ALL: usize = 3 * MAX_EVENTS;
        let queue = Arc::new(Queue::default());
        let giver = Arc::clone(&queue);
        let thread = std::thread::spawn(move || {
            (0..ALL).for_each(|number| giver.push(token(number)));
            giver.push(end());
        });
        let mut taken = Vec::new();
        loop {
            let batch = queue.take();
            if batch.is_empty() {
                break;
            }
            assert!(batch.len() <= MAX_EVENTS + 1);
            taken.extend(batch);
        }
        thread.join().unwrap();
        assert_eq!(taken, (0..ALL).map(token).chain([end()]).collect::<Vec<_>>());
    }

    #[test]
    fn an_end_never_waits_and_lets_go_of_who_does() {
        let queue = Arc::new(Queue::default());
        (0..MAX_EVENTS).for_each(|number| queue.push(token(number)));
        let giver = Arc::clone(&queue);
        let waiting = std::thread::spawn(move || giver.push(token(0)));
        queue.push(end());
        waiting.join().unwrap();
        queue.push(token(1));
        assert_eq!(queue.take().len(), MAX_EVENTS + 1);
        assert!(queue.take().is_empty());
    }

    #[test]
    fn what_waits_is_bounded_by_its_bytes_too() {
        let queue = Arc::new(Queue::default());
        let giver = Arc::clone(&queue);
        let thread = std::thread::spawn(move || {
            for _ in 0..16 {
                giver.push(LlmStreamEvent::Token { text: "x".repeat(MAX_BYTES / 2) });
            }
            giver.push(end());
        });
        let mut most = 0;
        while let batch @ 1.. = queue.take().len() {
            most = most.max(batch);
        }
        thread.join().unwrap();
        assert!(most <= 3, "{most}");
    }
}
