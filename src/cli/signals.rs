//! Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the process, and recovery cleans up after it.

use std::{
    io::{IsTerminal, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
    low_level::emulate_default_handler,
};

use super::meter::Meter;
use crate::error::Error;

/// What ends a run early.
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

const CANCELLING: &str = "Cancelling. A second time stops at once; `nrv recover` then undoes what was begun.";

const STOPPING: &str = "Stopping. A second time ends the session at once.";

const STOPPED: &str = "Stopped at once. `nrv recover`, or the next command that writes, undoes what was begun.";

/// What ends text that is pasted in brackets, which a line editor has begun.
const PLAIN_PASTE: &str = "\x1b[?2004l";

/// A terminal that a line editor uses now and then. While it does, nothing runs that would have to stop cleanly.
#[derive(Clone, Default)]
pub(super) struct Editing(Arc<Mutex<Option<Termios>>>);

impl Editing {
    /// Lets somebody read a line.
    pub(super) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        self.set(tcgetattr(std::io::stdin()).ok());
        let line = read();
        self.set(None);
        line
    }

    fn set(&self, mode: Option<Termios>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Makes the terminal what it was before a line was read; false if none is.
    fn give_back(&self) -> bool {
        let mode = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mode) = mode.as_ref() else { return false };
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, mode);
        let _ = std::io::stderr().write_all(format!("{PLAIN_PASTE}\n").as_bytes());
        true
    }
}

/// Makes the flag true at the first signal. A thread waits for signals from now on.
pub(super) fn listen(cancel: &Arc<AtomicBool>, meter: &Arc<Meter>) -> Result<(), Error> {
    listen_with(cancel, meter, CANCELLING, Editing::default())
}

/// As [`listen`] for a session: what is stopped is a line of it, and while the next one is typed a signal ends the process.
pub(super) fn listen_in_session(cancel: &Arc<AtomicBool>, meter: &Arc<Meter>) -> Result<Editing, Error> {
    let editing = Editing::default();
    listen_with(cancel, meter, STOPPING, editing.clone()).map(|()| editing)
}

fn listen_with(
    cancel: &Arc<AtomicBool>,
    meter: &Arc<Meter>,
    told: &'static str,
    editing: Editing,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::io("signals can't be listened to", &error);
    // While the thread talks it may be held up, by a terminal that stands still; a signal must end the process even then.
    let busy = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register_conditional_default(signal, Arc::clone(&busy)).map_err(failed)?;
    }
    let mut signals = Signals::new(SIGNALS).map_err(failed)?;
    let (cancel, meter) = (Arc::clone(cancel), Arc::clone(meter));
    let listen = move || {
        for signal in signals.forever() {
            if editing.give_back() {
                let _ = emulate_default_handler(signal);
            }
            let again = cancel.swap(true, Ordering::Relaxed);
            busy.store(true, Ordering::Relaxed);
            let text = if again { STOPPED } else { told };
            meter.aside(|line_is_free| say(signal, text, line_is_free));
            if again {
                meter.end();
                let _ = emulate_default_handler(signal);
            }
            busy.store(false, Ordering::Relaxed);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop).map_err(failed)
}

fn say(signal: i32, text: &str, line_is_free: bool) {
    let mut stderr = std::io::stderr().lock();
    // The terminal has written `^C` where the cursor was.
    let start = if signal == SIGINT && !line_is_free && stderr.is_terminal() { "\n" } else { "" };
    let _ = writeln!(stderr, "{start}{text}");
}
