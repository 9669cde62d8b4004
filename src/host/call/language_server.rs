//! Language servers of the policy: a server is started for a conversation like a command, and ended in any case.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender},
    },
    thread::ScopedJoinHandle,
};

use super::server_process::{GOODBYE, KEPT, TICK, explained};
use crate::terms::Terms;
use base::{
    call::Run,
    error::{Code, Error},
};
use service::exec::{self, Conversation, Done, Prepared};
use system::{
    clock::Stopwatch,
    language_server::{Asked, Caller, Client, Ends, Servers, failed},
    policy::{self, LanguageServer},
    threads,
    workspace::View,
};

/// Pieces of output that wait to be read.
const PIECES: usize = 64;

/// The servers of a policy, and the surroundings of commands in which they start.
pub(super) struct PolicyServers<'a> {
    exec: exec::Context<'a>,
    servers: &'a BTreeMap<String, LanguageServer>,
}

impl Servers for PolicyServers<'_> {
    fn of_language(&self, language: &str) -> Option<&str> {
        let mut servers =
            self.servers.iter().filter(|(_, server)| server.languages.iter().any(|name| name == language));
        servers.next().map(|(name, _)| name.as_str())
    }

    fn converse(
        &self,
        server: &str,
        caller: &Caller<'_>,
        work: &mut dyn FnMut(&mut Client<'_>) -> Result<(), Error>,
    ) -> Result<Asked, Error> {
        let name = server;
        let Some(server) = self.servers.get(name) else {
            return Err(failed(name, "is not in the policy"));
        };
        let (program, args) =
            server.command.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let stop = AtomicBool::new(false);
        let exec = policy::Exec { network: false, output: KEPT, stored: 0, ..self.exec.exec.clone() };
        let ctx = exec::Context {
            exec: &exec,
            from_workspace: program.contains('/'),
            timeout_ms: caller.timeout_ms,
            cancel: &stop,
            ..self.exec
        };
        let run = Run { program: program.to_owned(), args: args.to_vec(), ..Run::default() };
        let within = |error: Error| error.within(format_args!("the language server `{name}`"));
        let prepared = exec::prepare(ctx, &run).map_err(within)?;
        let sha256 = prepared.program().sha256;
        let settings = server.options()?;
        let asked = talk(prepared, (name, &stop), caller, |ends| {
            let mut client = Client::new(name, ends, *caller, settings);
            let asked = client.begin()?;
            work(&mut client)?;
            client.end();
            Ok(asked)
        })?;
        Ok(Asked { sha256: Some(sha256), ..asked })
    }
}

impl<'a> PolicyServers<'a> {
    /// The servers of a run's policy. They start in the surroundings of commands whose changes are thrown away.
    pub(super) fn new(run: &'a Terms<'_>, view: View<'a>, id: &'a str) -> Self {
        let options = &run.context.options;
        let exec = exec::Context {
            view,
            exec: &run.policy.settings().exec,
            environment: &options.environment,
            supervisor: &options.program,
            run: id,
            from_workspace: false,
            variables: &[],
            permitted: &[],
            discard: true,
            // What it writes to scratch is thrown away too.
            dry_run: true,
            timeout_ms: 0,
            threads: options.threads,
            cancel: run.deadline.stop(),
            critical: &options.critical,
            output: None,
        };
        PolicyServers { exec, servers: &run.policy.settings().language_servers }
    }
}

/// Ends the server when the conversation is over, however it ends.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs the server on a thread and talks with it on this one.
fn talk<T>(
    prepared: Prepared<'_>,
    (name, stop): (&str, &AtomicBool),
    caller: &Caller<'_>,
    work: impl FnOnce(Ends) -> Result<T, Error>,
) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let _stop = Stop(stop);
        let (begun, start) = mpsc::channel();
        let (heard, incoming) = mpsc::sync_channel(PIECES);
        let server = threads::start_scoped(scope, move || run(prepared, &begun, &heard))?;
        let Some((root, mut stdin)) = started(&start, caller)? else {
            let ended = joined(server)?;
            return Err(explained(failed(name, "ended before it was started"), &ended));
        };
        let (outgoing, messages) = mpsc::channel::<Vec<u8>>();
        // A server that reads nothing blocks this thread alone, until it is ended.
        threads::start_scoped(scope, move || messages.iter().try_for_each(|bytes| stdin.write_all(&bytes)))?;
        let done = work(Ends { outgoing, incoming, root });
        let patience = Stopwatch::start();
        while done.is_ok() && !server.is_finished() && patience.elapsed() < GOODBYE {
            std::thread::sleep(TICK);
        }
        stop.store(true, Ordering::Relaxed);
        match (done, joined(server)) {
            (Ok(done), _) => Ok(done),
            (Err(error), Ok(ended)) => Err(explained(error, &ended)),
            // The error of the server's end explains that it did not answer.
            (Err(error), Err(of_server)) => Err(if error.code() == Code::CommandFailed { of_server } else { error }),
        }
    })
}

/// Runs the server to its end.
fn run(prepared: Prepared<'_>, begun: &Sender<(PathBuf, File)>, heard: &SyncSender<Vec<u8>>) -> Result<Done, Error> {
    let mut begin = |root: &Path, stdin: File| drop(begun.send((root.to_owned(), stdin)));
    let mut heard = |bytes: &[u8]| {
        // An empty piece says nothing, and whatever it says after good-bye is not heard.
        let _ = heard.send(bytes.to_vec());
        Ok(())
    };
    prepared.converse(&mut |_| Ok(()), &mut Conversation { begin: &mut begin, heard: &mut heard })
}

/// Waits for the start of the server; none if it failed.
fn started(start: &Receiver<(PathBuf, File)>, caller: &Caller<'_>) -> Result<Option<(PathBuf, File)>, Error> {
    loop {
        match start.recv_timeout(TICK) {
            Ok(ends) => return Ok(Some(ends)),
            Err(RecvTimeoutError::Timeout) => (caller.pulse)()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

fn joined(server: ScopedJoinHandle<'_, Result<Done, Error>>) -> Result<Done, Error> {
    server.join().map_err(|_| Error::new(Code::Internal, "the thread of a language server panicked"))?
}
