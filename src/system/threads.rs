//! Starts threads, or reports that the machine has no more of them; `std::thread::spawn` would end the program then.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread::{Builder, JoinHandle, Scope, ScopedJoinHandle},
    time::Duration,
};

use base::error::Error;

/// The longest wait for the kernel to release a thread that has ended, in milliseconds.
const RELEASE_MS: u32 = 500;

/// Starts a thread; `io` if the user or the machine has no more of them.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, Error> {
    Builder::new().spawn(work).map_err(|error| refused(&error))
}

/// Starts a thread of a scope; `io` if the user or the machine has no more of them.
pub fn start_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    Builder::new().spawn_scoped(scope, work).map_err(|error| refused(&error))
}

/// Starts up to `most` helper threads, fewer if there are no more. The caller has to work too.
pub fn helpers<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    most: usize,
    work: impl Fn() -> T + Clone + Send + 'scope,
) -> Vec<ScopedJoinHandle<'scope, T>> {
    (0..most).map_while(|_| Builder::new().spawn_scoped(scope, work.clone()).ok()).collect()
}

/// The number of threads that could be started now, `most` at most; `io` if none could. For libraries that start threads
/// without checking the result.
pub fn available(most: usize) -> Result<usize, Error> {
    let tried = std::thread::scope(|scope| {
        let (held, end) = mpsc::channel::<()>();
        let end = Arc::new(Mutex::new(end));
        // All of them wait until the last start was tried.
        let wait = move || {
            drop(end.lock().map(|end| end.recv()));
            fs::read_link("/proc/thread-self").ok()
        };
        let started = helpers(scope, most.max(1), wait);
        drop(held);
        started.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
    });
    tried.iter().flatten().for_each(wait_until_gone);
    if tried.is_empty() { Err(none_left()) } else { Ok(tried.len()) }
}

/// A thread that was joined counts against the user's limit until the kernel has released it.
fn wait_until_gone(thread: &PathBuf) {
    let task = Path::new("/proc").join(thread);
    for _ in 0..RELEASE_MS {
        if !task.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The error if not one helper could be started.
pub fn none_left() -> Error {
    refused(&io::Error::from(io::ErrorKind::WouldBlock))
}

/// The error for a thread that could not be started.
fn refused(error: &io::Error) -> Error {
    Error::io("a thread can't be started", error)
        .hint("end other programs, or permit more processes (`ulimit -u`, `TasksMax`, `pids.max`)")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_is_started_runs() {
        assert_eq!(start(|| 7).unwrap().join().unwrap(), 7);
        let count = AtomicUsize::new(0);
        let counted = std::thread::scope(|scope| {
            let helpers = helpers(scope, 3, || count.fetch_add(1, Ordering::Relaxed));
            helpers.into_iter().map(|helper| helper.join().unwrap()).collect::<Vec<_>>().len()
        });
        assert_eq!((counted, count.into_inner()), (3, 3));
        assert_eq!(available(4).unwrap(), 4);
    }

    #[test]
    fn a_refusal_says_what_can_be_done() {
        let error = none_left();
        assert!(error.message().starts_with("a thread can't be started") && error.hint_text().is_some());
    }
}
