//! Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the process, and recovery cleans up after it.

use std::{
    io::{IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

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

const STOPPED: &str = "Stopped at once. `nrv recover`, or the next command that writes, undoes what was begun.";

/// Makes the flag true at the first signal. A thread waits for signals from now on.
pub(super) fn listen(cancel: &Arc<AtomicBool>, meter: &Arc<Meter>) -> Result<(), Error> {
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
            let again = cancel.swap(true, Ordering::Relaxed);
            busy.store(true, Ordering::Relaxed);
            let text = if again { STOPPED } else { CANCELLING };
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
