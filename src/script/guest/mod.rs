//! The inside of a script's process: the engine, its limits, the `nrv.*` bindings, and the other end of the pipes.
//!
//! Nothing here touches a file, the network or a clock: the process could not if it tried. A binding turns its arguments
//! into a [`base::call::Call`] and the reply into a value; pure functions run here.

pub mod adapter;
pub mod bindings;
mod engine;
mod fault;
mod inspect;
mod interactive;
mod language;
mod limit;
mod link;
mod lint;
mod place;
mod places;
mod run;
mod source;
mod syntax;
mod thrown;
mod value;

use std::{
    io::{self, PipeReader, PipeWriter},
    process::ExitCode,
    sync::mpsc::{self, Receiver, Sender},
    thread::{Builder, JoinHandle},
};

use rhai::Engine;

use crate::guest::link::{SharedWire, Wire};
use base::frame::{FromWorker, Inspection, Isolation, Limits, ToWorker};

/// The stack of the script's thread: 64 nested calls need a few MiB, nested closures more.
const STACK: usize = 64 << 20;

/// The protections of a script's process that a thread lacks.
const GIVEN_UP: &[&str] = &[
    "the script runs on a thread of the host's process: a memory limit does not hold, and a script that overflows its \
     stack or uses up all memory ends the program",
    "neither Landlock nor seccomp confines the thread: only the engine keeps the script from files and the network",
    "its processor time is not bounded, a stop waits for the engine to look, and memory of its values is not given back",
];

/// The exit code when the first frame is not `hello`, or no thread can be started.
const NOT_STARTED: u8 = 70;

/// Confines the process; calls the second argument once, when files are denied and before system calls are.
pub type Lockdown = fn(&Limits, &mut dyn FnMut()) -> Isolation;

/// Serves frames on stdin and stdout until the host is done: the whole life of a script's process.
pub fn main(lockdown: Lockdown) -> ExitCode {
    let mut wire = Wire::stdio();
    let Some(ToWorker::Hello { limits }) = wire.receive() else { return ExitCode::from(NOT_STARTED) };
    let (started, running) = mpsc::channel();
    let (go, signal) = mpsc::channel();
    let mut thread = Some((started, signal, limits.clone()));
    let mut script = None;
    let isolation = lockdown(&limits, &mut || {
        if let Some((started, signal, limits)) = thread.take() {
            let body = move || script_thread(&started, &signal, &limits);
            script = Builder::new().name("script".to_owned()).stack_size(STACK).spawn(body).ok();
            // Memory is measured next, so the thread must have made its first allocations.
            let _ = running.recv();
        }
    });
    let Some(script) = script else { return ExitCode::from(NOT_STARTED) };
    wire.send(&FromWorker::Ready { isolation });
    let _ = go.send(wire.share());
    match script.join() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(NOT_STARTED),
    }
}

/// Serves frames on a pair of pipes from a thread of this process.
///
/// The thread has the stack of a script's process and no other of its protections; its isolation tells the host which.
pub fn on_thread(reader: PipeReader, writer: PipeWriter) -> io::Result<JoinHandle<()>> {
    let body = move || {
        let mut wire = Wire::pipes(reader, writer);
        let Some(ToWorker::Hello { limits }) = wire.receive() else { return };
        let missing = GIVEN_UP.iter().map(ToString::to_string).collect();
        wire.send(&FromWorker::Ready { isolation: Isolation { landlock: false, seccomp: false, missing } });
        let wire = wire.share();
        drop(serve(&wire, &limits));
        // The script's values are never dropped, and may have a share of the wire.
        wire.lock().close();
    };
    Builder::new().name("script".to_owned()).stack_size(STACK).spawn(body)
}

/// Reads the parts of a source in this process: only for a process that is confined.
pub fn read(path: &str, text: &str) -> Inspection {
    inspect::inspect(path, text, true)
}

/// The language's own functions as a definition file for editors, without those that a script can't use.
pub fn definitions() -> String {
    // Some of the engine's texts come with the line ends of another system.
    let text = language::bare().definitions().single_file().replace('\r', "");
    let refused = |block: &&str| {
        let name = block.lines().last().and_then(|line| line.strip_prefix("fn ")).unwrap_or_default();
        language::REFUSED.iter().any(|refused| name.strip_prefix(refused).is_some_and(|rest| rest.starts_with('(')))
    };
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty() && !refused(block));
    blocks.collect::<Vec<_>>().join("\n\n") + "\n"
}

fn script_thread(started: &Sender<Vec<u8>>, signal: &Receiver<SharedWire>, limits: &Limits) {
    // The first allocation of a thread makes its arena.
    let _ = started.send(Vec::with_capacity(1));
    if let Ok(wire) = signal.recv() {
        // The process ends, and modules may hold deeply nested values.
        std::mem::forget(serve(&wire, limits));
    }
}

/// Answers frames until the host is done; gives the engine that ran a script.
fn serve(wire: &SharedWire, limits: &Limits) -> Option<Engine> {
    loop {
        let frame = wire.lock().receive();
        match frame {
            Some(ToWorker::Inspect { path, source, main }) => {
                let inspection = inspect::inspect(&path, &source, main);
                wire.lock().send(&FromWorker::Inspected(inspection));
            }
            Some(ToWorker::Run(request)) => {
                let (result, engine) = run::run(&request, limits, Box::new(wire.clone()));
                let frame = match result {
                    Ok(result) => FromWorker::Done { result },
                    Err(error) => FromWorker::Failed { error },
                };
                wire.lock().send(&frame);
                return Some(engine);
            }
            Some(ToWorker::Interact(request)) => return Some(interactive::serve(&request, limits, wire)),
            Some(ToWorker::Adapt { path, source }) => {
                adapter::serve(&path, &source, limits, wire);
                return None;
            }
            Some(
                ToWorker::Hello { .. }
                | ToWorker::Parse { .. }
                | ToWorker::Evaluate(_)
                | ToWorker::Complete { .. }
                | ToWorker::Work(_)
                | ToWorker::Reply { .. }
                | ToWorker::Text { .. }
                | ToWorker::Cancel {},
            )
            | None => return None,
        }
    }
}
