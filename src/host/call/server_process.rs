//! A program that is started like a command and answers until it is ended, in the background of a run.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Write,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread::JoinHandle,
    time::Duration,
};

use serde_json::json;

use crate::Context;
use base::{
    call::Run,
    error::{Code, Error},
    pulse::Pulse,
    text::shortened,
};
use service::exec::{self, Conversation, Done, Found};
use system::{
    clock::Stopwatch,
    policy,
    process::{Critical, Program, sandbox::Confinement},
    threads,
    workspace::{Overlay, View, Workspace},
};

/// The wait for a server to end by itself after good-bye.
pub(super) const GOODBYE: Duration = Duration::from_secs(2);

/// The interval between checks for a cancellation.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// The most time between the signal that ends a server and the one that kills it, in milliseconds: less than a run may take to stop.
const GRACE_MS: u64 = 500;

/// Bytes of its output that are kept.
pub(super) const KEPT: u64 = 64 << 10;

/// Characters of its stderr that an error shows.
const SHOWN: usize = 500;

/// The surroundings of a server, which it keeps as long as it runs.
pub(super) struct Surroundings {
    workspace: Workspace,
    overlay: Overlay,
    exec: policy::Exec,
    environment: BTreeMap<String, String>,
    supervisor: Program,
    threads: usize,
    /// The run, whose id is part of the names of private folders.
    run: String,
    /// Set as soon as everything has to stop.
    cancel: Arc<AtomicBool>,
}

/// The program that is about to be started, and its confinement.
pub(super) struct Starting {
    pub(super) program: Found,
    pub(super) confinement: Confinement,
}

/// The streams of a server.
pub(super) struct Streams<S, H> {
    /// Gives the pieces for its standard input, until it ends.
    pub(super) said: S,
    /// Takes its output; an error ends the server.
    pub(super) heard: H,
}

/// A server that runs. Dropping it ends it.
pub(super) struct Process {
    thread: Option<JoinHandle<Result<Done, Error>>>,
    stop: Arc<AtomicBool>,
    cancel: Arc<AtomicBool>,
    /// The time since good-bye.
    bidden: Option<Stopwatch>,
}

impl Surroundings {
    /// Those of commands whose changes are thrown away, with the tree as it is now.
    pub(super) fn new(context: &Context, exec: policy::Exec, overlay: &Overlay, run: &str) -> Result<Self, Error> {
        Ok(Surroundings {
            workspace: context.workspace.duplicate()?,
            overlay: overlay.clone(),
            exec: policy::Exec { output: KEPT, stored: 0, grace_ms: exec.grace_ms.min(GRACE_MS), ..exec },
            environment: context.options.environment.clone(),
            supervisor: context.options.program.clone(),
            threads: context.options.threads,
            run: run.to_owned(),
            cancel: Arc::clone(&context.options.cancel),
        })
    }

    /// Runs a program to its end.
    fn run<S, H>(
        &self,
        argv: &[String],
        streams: Streams<S, H>,
        stop: &AtomicBool,
        ready: &mut dyn FnMut(Starting) -> Result<(), Error>,
    ) -> Result<Done, Error>
    where
        S: Iterator<Item = Vec<u8>> + Send + 'static,
        H: FnMut(&[u8]) -> Result<(), Error>,
    {
        let (program, args) = argv.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        // The program ends with this process, whoever waits for what.
        let critical = Critical::default();
        let ctx = exec::Context {
            view: View::new(&self.workspace, &self.overlay),
            exec: &self.exec,
            environment: &self.environment,
            supervisor: &self.supervisor,
            run: &self.run,
            from_workspace: program.contains('/'),
            variables: &[],
            permitted: &[],
            discard: true,
            // What it writes to scratch is thrown away too.
            dry_run: true,
            timeout_ms: u64::from(u32::MAX),
            threads: self.threads,
            cancel: stop,
            critical: &critical,
            output: None,
        };
        let run = Run { program: program.to_owned(), args: args.to_vec(), ..Run::default() };
        let prepared = exec::prepare(ctx, &run)?;
        let program = prepared.program().clone();
        let Streams { said, mut heard } = streams;
        let mut said = Some(said);
        let mut begin = |_: &Path, mut stdin: File| {
            let Some(said) = said.take() else { return };
            // A server that reads nothing blocks this thread alone, until it is ended.
            let write = move || said.into_iter().try_for_each(|bytes| stdin.write_all(&bytes));
            // Without it the server gets no input, and ends.
            drop(threads::start(write));
        };
        let mut conversation = Conversation { begin: &mut begin, heard: &mut heard };
        let mut ready =
            |confinement: &Confinement| ready(Starting { program: program.clone(), confinement: confinement.clone() });
        prepared.converse(&mut ready, &mut conversation)
    }
}

impl Process {
    /// Starts a program; `note` records what is started just before it is.
    pub(super) fn start<S, H>(
        surroundings: Arc<Surroundings>,
        argv: &[String],
        streams: Streams<S, H>,
        pulse: Pulse<'_>,
        note: &mut dyn FnMut(&Starting) -> Result<(), Error>,
    ) -> Result<Process, Error>
    where
        S: Iterator<Item = Vec<u8>> + Send + 'static,
        H: FnMut(&[u8]) -> Result<(), Error> + Send + 'static,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let (starting, about) = mpsc::sync_channel::<Starting>(0);
        let (go, gone_on) = mpsc::sync_channel::<()>(0);
        let (argv, stopped, cancel) = (argv.to_vec(), Arc::clone(&stop), Arc::clone(&surroundings.cancel));
        let work =
            move || surroundings.run(&argv, streams, &stopped, &mut |start| permitted(&starting, &gone_on, start));
        let mut process = Process { thread: Some(threads::start(work)?), stop, cancel, bidden: None };
        match about_to_start(about, pulse)? {
            Some(start) => {
                if let Err(error) = note(&start) {
                    // It waits for this, and is not started then.
                    drop(go);
                    return Err(error);
                }
            }
            None => {
                let ended = process.end()?;
                let status = ended.ended.status.map_or_else(String::new, |status| format!(" with status {status}"));
                return Err(Error::new(Code::CommandFailed, format!("it ended{status} before it was started")));
            }
        }
        // If it is gone already, whoever asks it finds out.
        let _ = go.send(());
        Ok(process)
    }

    /// The error with how the program ended, as far as that is known.
    pub(super) fn explained(&mut self, error: Error) -> Error {
        match self.end() {
            Ok(done) => explained(error, &done),
            // The error of the server's end explains that it did not answer, unless it was ended from here.
            Err(of_server) if error.code() == Code::CommandFailed && of_server.code() != Code::Cancelled => of_server,
            Err(_) => error,
        }
    }

    /// Says good-bye: from now on it has a moment to end.
    pub(super) fn bid(&mut self) -> Stopwatch {
        *self.bidden.get_or_insert_with(Stopwatch::start)
    }

    /// Waits until the server has ended, for which it gets a moment after good-bye, but none if everything has to stop; how it ended.
    pub(super) fn end(&mut self) -> Result<Done, Error> {
        let patience = self.bid();
        let Some(thread) = self.thread.take() else {
            return Err(Error::new(Code::Internal, "a server was ended twice"));
        };
        while !thread.is_finished() && patience.elapsed() < GOODBYE && !self.cancel.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
        self.stop.store(true, Ordering::Relaxed);
        thread.join().map_err(|_| Error::new(Code::Internal, "the thread of a server panicked"))?
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Nobody asks any more how it ended.
            let _ = self.end();
        }
    }
}

/// The error with the reason for which a server ended, as far as that is known.
pub(super) fn explained(error: Error, done: &Done) -> Error {
    let ended = &done.ended;
    let stderr = ended.stderr.tail.as_ref().unwrap_or(&ended.stderr.head);
    let said = String::from_utf8_lossy(stderr);
    let error = match (error.code(), ended.exceeded, ended.status) {
        (Code::CommandFailed, Some(bound), _) => error.detail("exceeded", json!(bound)),
        (Code::CommandFailed, None, Some(status)) => error.detail("status", status),
        _ => error,
    };
    let said = said.trim();
    if said.is_empty() { error } else { error.detail("output", shortened(said, SHOWN)) }
}

/// Tells what is about to be started, and waits until that is recorded.
fn permitted(starting: &SyncSender<Starting>, gone_on: &Receiver<()>, start: Starting) -> Result<(), Error> {
    let given_up = || Error::new(Code::Cancelled, "the start of the server was given up");
    starting.send(start).map_err(|_| given_up())?;
    gone_on.recv().map_err(|_| given_up())
}

/// Waits for a program to be about to start; none if it can't be started.
fn about_to_start(about: Receiver<Starting>, pulse: Pulse<'_>) -> Result<Option<Starting>, Error> {
    loop {
        match about.recv_timeout(TICK) {
            Ok(start) => return Ok(Some(start)),
            Err(RecvTimeoutError::Timeout) => pulse()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}
