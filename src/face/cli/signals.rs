//! Ctrl-C, SIGTERM and SIGHUP: the first asks for a clean stop, the second ends the process, and recovery cleans up after it.
//!
//! A run may not stop soon after the first, since it waits in the kernel or works on something large. It is ended too then, but not
//! while a transaction is open.

use std::{
    io::{IsTerminal, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
    iterator::Signals,
    low_level::emulate_default_handler,
};

use super::{progress::Meter, trace};
use base::error::Error;
use host::Options;
use system::process::Critical;

/// The signals that end a run early. A terminal that goes away sends `SIGHUP`.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The signals that are heeded. A signal that is ignored at the start stays ignored, as `nohup` and a shell's `trap ''` need.
fn heeded() -> Vec<i32> {
    #[expect(clippy::disallowed_methods, reason = "nothing but the kernel says which signals are ignored")]
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let is_ignored = |signal: i32| ignored.is_some_and(|set| set >> (signal - 1) & 1 == 1);
    SIGNALS.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(*signal)).collect()
}

const CANCELLING: &str = "Cancelling. A second time stops at once; `nrv recover` then undoes what was begun.";

const ENDED: &str =
    "The run did not stop in time and is ended. `nrv recover`, or the next command that writes, closes its record.";

const STOPPING: &str = "Stopping. A second time ends the session at once.";

const STOPPING_SERVER: &str = "Stopping. Open runs are ended; a second time stops at once.";

const STOPPED: &str = "Stopped at once. `nrv recover`, or the next command that writes, undoes what was begun.";

/// The interval of checks that a run has stopped by itself.
const TICK: Duration = Duration::from_millis(20);

/// The most checks in a row outside a transaction: a second and a half, and longer if the machine is busy or this process was
/// stopped.
const PATIENCE: u32 = 75;

/// The time that a terminal has to show why a run is ended.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The sequence that ends bracketed paste, which a line editor has begun.
const PLAIN_PASTE: &str = "\x1b[?2004l";

/// A terminal that a line editor uses now and then. Meanwhile nothing runs that would have to stop cleanly.
#[derive(Clone, Default)]
pub(super) struct Editing(Arc<Mutex<Option<Termios>>>);

impl Editing {
    /// Reads a line while the terminal's present mode is remembered.
    pub(super) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        self.set(tcgetattr(std::io::stdin()).ok());
        let line = read();
        self.set(None);
        line
    }

    fn set(&self, mode: Option<Termios>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Restores the terminal's mode; false if no line is being read.
    fn give_back(&self) -> bool {
        let mode = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mode) = mode.as_ref() else { return false };
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, mode);
        let _ = std::io::stderr().write_all(format!("{PLAIN_PASTE}\n").as_bytes());
        true
    }
}

/// Starts a thread that waits for signals: the first one sets the `cancel` flag of the options, and the process ends soon after.
pub(super) fn listen(options: &Options, meter: &Arc<Meter>) -> Result<(), Error> {
    listen_with(&options.cancel, Some(&options.critical), meter, CANCELLING, Editing::default())
}

/// As [`listen`] for a session: a signal stops the present line, and while the next one is typed it ends the process.
pub(super) fn listen_in_session(cancel: &Arc<AtomicBool>, meter: &Arc<Meter>) -> Result<Editing, Error> {
    let editing = Editing::default();
    listen_with(cancel, None, meter, STOPPING, editing.clone()).map(|()| editing)
}

/// As [`listen`] for a server: a signal ends its runs and then the process.
pub(super) fn listen_in_server(cancel: &Arc<AtomicBool>, meter: &Arc<Meter>) -> Result<(), Error> {
    listen_with(cancel, None, meter, STOPPING_SERVER, Editing::default())
}

fn listen_with(
    cancel: &Arc<AtomicBool>,
    critical: Option<&Critical>,
    meter: &Arc<Meter>,
    told: &'static str,
    editing: Editing,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::io("signals can't be listened to", &error);
    // A terminal that stands still may block the thread's output; a signal must end the process even then.
    let busy = Arc::new(AtomicBool::new(false));
    let heeded = heeded();
    for signal in &heeded {
        flag::register_conditional_default(*signal, Arc::clone(&busy)).map_err(failed)?;
    }
    let mut signals = Signals::new(&heeded).map_err(failed)?;
    let (cancel, critical, meter) = (Arc::clone(cancel), critical.cloned(), Arc::clone(meter));
    // A second thread, since a terminal may block the listening one. It starts now, before threads run out.
    let (ender, wanted) = mpsc::channel();
    let end = move || {
        if let (Some(critical), Ok(signal)) = (critical, wanted.recv()) {
            end_in_time(signal, &critical);
        }
    };
    thread::Builder::new().spawn(end).map_err(failed)?;
    let listen = move || {
        for signal in signals.forever() {
            if editing.give_back() {
                end_process(signal);
            }
            let again = cancel.swap(true, Ordering::Relaxed);
            // A session has no receiver: a second signal ends the process.
            let _ = ender.send(signal);
            busy.store(true, Ordering::Relaxed);
            let text = if again { STOPPED } else { told };
            meter.aside(|line_is_free| say(signal, text, line_is_free));
            if again {
                meter.end();
                end_process(signal);
            }
            busy.store(false, Ordering::Relaxed);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop).map_err(failed)
}

/// Ends the process if it has not ended in time by itself.
fn end_in_time(signal: i32, critical: &Critical) {
    let mut looks = 0;
    loop {
        thread::sleep(TICK);
        looks = if critical.is_entered() { 0 } else { looks + 1 };
        if looks >= PATIENCE {
            critical.unless_entered(|| {
                let (told, heard) = mpsc::channel();
                let tell = move || {
                    say(signal, ENDED, false);
                    let _ = told.send(());
                };
                if thread::Builder::new().spawn(tell).is_ok() {
                    let _ = heard.recv_timeout(LAST_WORDS);
                }
                end_process(signal);
            });
        }
    }
}

/// Ends the process as the signal does.
fn end_process(signal: i32) {
    trace::keep();
    let _ = emulate_default_handler(signal);
}

fn say(signal: i32, text: &str, line_is_free: bool) {
    let mut stderr = std::io::stderr().lock();
    // The terminal has written `^C` where the cursor was.
    let start = if signal == SIGINT && !line_is_free && stderr.is_terminal() { "\n" } else { "" };
    let _ = writeln!(stderr, "{start}{text}");
}
