//! The host's side: starts a program by its supervisor, watches it, and ends it in time.

use std::{
    io::{self, Write},
    net::Shutdown,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, ChildStderr, ChildStdout, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, WaitOptions},
};

use super::{
    Bound, Confine, Confinement, Ended, Hold, Launch, NotStarted, SUPERVISOR,
    cgroup::Group,
    disk::Meter,
    order::{self, End, Order, Report},
    output::Collector,
    supervisor::Way,
};
use crate::{
    clock::Stopwatch,
    process::{self, Program},
};
use base::error::{Code, Error};

/// The interval between checks for a cancellation.
const TICK: Duration = Duration::from_millis(25);

/// The interval between checks of bounds.
const LOOK: Duration = Duration::from_millis(50);

/// The signal that kills a process at its bound.
const KILLED: i32 = 9;

/// The time limit of the preparation: mounts of a network may hang.
const PREPARATION: Duration = Duration::from_secs(30);

/// The wait for killed processes to be gone.
const FUNERAL: Duration = Duration::from_secs(20);

/// Bytes of one read.
const CHUNK: usize = 256 << 10;

/// The pipe size for a program that writes more than usual pipes hold.
const LARGE_PIPE: usize = 1 << 20;

/// Runs a program to its end, after which none of its processes is left.
///
/// `ready` receives the confinement when everything is prepared and nothing started yet. Its error is returned, and the program
/// is not started.
pub fn launch(
    launch: &Launch,
    supervisor: &Program,
    cancel: &AtomicBool,
    ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
) -> Result<Ended, NotStarted> {
    Start { launch, supervisor, cancel, ready, heard: &mut |_| Ok(()) }.run()
}

/// As [`launch`], for a caller that reads stdout as it comes, with an empty piece at its end; an error of `heard` is returned, and the
/// program is killed.
pub fn launch_heard(
    launch: &Launch,
    supervisor: &Program,
    cancel: &AtomicBool,
    ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
    heard: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<Ended, NotStarted> {
    Start { launch, supervisor, cancel, ready, heard }.run()
}

/// The start of a program.
struct Start<'a> {
    launch: &'a Launch,
    supervisor: &'a Program,
    cancel: &'a AtomicBool,
    /// Called just before the start.
    ready: &'a mut dyn FnMut(&Confinement) -> Result<(), Error>,
    /// Receives its stdout.
    heard: &'a mut dyn FnMut(&[u8]) -> Result<(), Error>,
}

impl Start<'_> {
    fn run(mut self) -> Result<Ended, NotStarted> {
        let launch = self.launch;
        let way = match launch.confine {
            Confine::Off if launch.stage.is_some() => Way::Staged,
            Confine::Off => Way::Bare,
            Confine::Auto | Confine::Require if launch.network => Way::WithNetwork,
            Confine::Auto | Confine::Require => Way::Namespaces,
        };
        let why = if launch.without_namespaces && way != Way::Bare {
            "no namespaces are wanted".to_owned()
        } else {
            match self.try_way(way, Vec::new()) {
                Ok(ended) => return Ok(ended),
                Err(Failure::NoNamespaces(why) | Failure::NoGroup(why)) => why,
                Err(Failure::NotStarted(NotStarted::NoStage(why))) if launch.stage.is_none() => why,
                Err(Failure::NotStarted(refused)) => return Err(refused),
            }
        };
        if launch.stage.is_some() {
            return Err(NotStarted::NoStage(why));
        }
        let means = "processes of this machine can be seen, times and permissions of files can be changed, and what the program \
                 starts is sought and ended one by one";
        match self.try_way(Way::Plain, vec![format!("{why}: {means}")]) {
            Ok(ended) => Ok(ended),
            Err(Failure::NotStarted(refused)) => Err(refused),
            Err(Failure::NoNamespaces(why) | Failure::NoGroup(why)) => {
                Err(NotStarted::Failed(Error::new(Code::Internal, why)))
            }
        }
    }

    fn try_way(&mut self, way: Way, missing: Vec<String>) -> Result<Ended, Failure> {
        match self.attempt(way, missing.clone(), None) {
            Err(Failure::NoGroup(why)) => self.attempt(way, missing, Some(Group::none(why))),
            done => done,
        }
    }

    fn attempt(&mut self, way: Way, missing: Vec<String>, group: Option<Group>) -> Result<Ended, Failure> {
        let (launch, cancel) = (self.launch, self.cancel);
        let mut supervised = Supervised::start(self.supervisor, way)?;
        // It is made while the other process starts.
        supervised.group = group.unwrap_or_else(|| Group::make(&launch.limits));
        let mut order = Order { launch: launch.clone(), missing };
        supervised.group.relieve(&mut order.launch.limits);
        // If it is gone already, it has reported the reason.
        let _ = order::send(&supervised.control, &supervised.group.joins());
        let _ = order::send(&supervised.control, &order);
        let mut confinement = supervised.wait_until_ready(launch, cancel)?;
        supervised.tell_of_bounds(launch, &mut confinement);
        let is_held = confinement.isolated && confinement.bounds_what_was_asked(&launch.limits);
        if launch.confine == Confine::Require && !is_held {
            return Err(NotStarted::Unconfined(confinement.missing).into());
        }
        (self.ready)(&confinement)?;
        let mut watch = Watch::new(launch, cancel, self.heard);
        supervised.say(order::GO);
        let mut ended = watch.follow(&mut supervised)?;
        ended.confinement = confinement;
        Ok(ended)
    }
}

/// The reason that the launch failed before the end of a program.
enum Failure {
    NoNamespaces(String),
    NoGroup(String),
    NotStarted(NotStarted),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::NotStarted(NotStarted::Failed(error))
    }
}

impl From<NotStarted> for Failure {
    fn from(refused: NotStarted) -> Self {
        Failure::NotStarted(refused)
    }
}

/// The supervising process, with its channels. Dropping it kills it and everything that it started.
struct Supervised {
    way: Way,
    child: Child,
    control: UnixStream,
    pipes: [Option<OwnedFd>; 2],
    /// The control group of the program and this process.
    group: Group,
    /// True if it has reported that the program and all of its processes are gone.
    has_ended: bool,
}

impl Supervised {
    fn start(supervisor: &Program, way: Way) -> Result<Self, Error> {
        let failed = |error: &io::Error| Error::io(format_args!("`{}` can't be started", supervisor.name()), error);
        let (control, other) = UnixStream::pair().map_err(|error| failed(&error))?;
        let mut command = process::bare(supervisor);
        command.args([SUPERVISOR, way.name()]);
        command.stdin(Stdio::from(OwnedFd::from(other))).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let pipes = [
            child.stdout.take().map(|pipe: ChildStdout| pipe.into()),
            child.stderr.take().map(|pipe: ChildStderr| pipe.into()),
        ];
        Ok(Supervised { way, child, control, pipes, group: Group::default(), has_ended: false })
    }

    /// A missing reader is detected elsewhere.
    fn say(&self, byte: u8) {
        let _ = (&self.control).write_all(&[byte]);
    }

    fn wait_until_ready(&mut self, launch: &Launch, cancel: &AtomicBool) -> Result<Confinement, Failure> {
        let watch = Stopwatch::start();
        while !self.wait_for_a_word()? {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "the run was cancelled before the program started").into());
            }
            if watch.elapsed() > PREPARATION {
                let message = format!("`{}` was not ready to be started in time", launch.program.display());
                return Err(Error::new(Code::Io, message)
                    .hint("look whether file systems of this machine hang")
                    .into());
            }
        }
        match order::receive(&self.control) {
            Ok(Report::Ready(confinement)) => Ok(confinement),
            Ok(Report::NotStarted(refused)) => Err(refused.into()),
            Ok(Report::NoNamespaces(why)) => Err(Failure::NoNamespaces(why)),
            Ok(Report::NoGroup(why)) => Err(Failure::NoGroup(why)),
            Ok(Report::Ended(_)) | Err(_) => Err(self.died().into()),
        }
    }

    /// Adds this side's knowledge about bounds.
    fn tell_of_bounds(&self, launch: &Launch, confinement: &mut Confinement) {
        confinement.bounds.extend(self.group.holds());
        if launch.limits.disk.is_some() {
            confinement.bounds.insert(Bound::Disk, Hold::Watch);
        }
        if launch.limits.memory.is_some() && !self.group.bounds(Bound::Memory) {
            let means = "what the processes of the program hold is only looked at, and files in memory are not counted";
            confinement.lacks(format!("memory: {means}: {}", self.group.why()));
        }
    }

    /// Waits a while; true if there is a report to read.
    fn wait_for_a_word(&self) -> Result<bool, Error> {
        let mut ready = [PollFd::new(&self.control, PollFlags::IN)];
        poll(&mut ready, TICK).map(|()| !ready[0].revents().is_empty())
    }

    /// Starts a thread that waits for the end of a finished supervisor: the kernel needs a while to remove namespaces. False if
    /// there is no thread to be had.
    fn leave(&mut self) -> bool {
        let process = Pid::from_child(&self.child);
        let group = std::mem::take(&mut self.group);
        let wait = move || {
            let _ = rustix::process::waitpid(Some(process), WaitOptions::empty());
            drop(group);
        };
        std::thread::Builder::new().spawn(wait).is_ok()
    }

    /// The error of a supervisor that ended without a report.
    fn died(&mut self) -> Error {
        let _ = self.control.shutdown(Shutdown::Both);
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let mut said = [0; 4096];
        // Only the available bytes: another process may hold the pipe open.
        let length = self.pipes[1].take().filter(|pipe| {
            let mut ready = [PollFd::new(pipe, PollFlags::IN)];
            poll(&mut ready, Duration::ZERO).is_ok() && !ready[0].revents().is_empty()
        });
        let length = length.and_then(|pipe| rustix::io::read(pipe, &mut said).ok()).unwrap_or(0);
        let said = String::from_utf8_lossy(&said[..length]).trim().to_owned();
        Error::new(Code::Io, format!("the process that supervises a program ended ({status}) {said}").trim_end())
            .hint("a program that embeds nrv calls `entry::main_if_requested` first in its `main`; else start it again")
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // The end of the socket ends the supervisor, which ends everything else first.
        let _ = self.control.shutdown(Shutdown::Both);
        self.pipes = [None, None];
        if self.has_ended && self.leave() {
            return;
        }
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            // After a kill, the group knows the processes, even without a namespace that ends them.
            self.group.end(FUNERAL);
            return;
        }
        if !matches!(process::ends_within(&self.child, FUNERAL), Ok(true)) {
            if !matches!(self.way, Way::Namespaces | Way::WithNetwork) {
                // Nobody else ends the program's processes, so it continues with that.
                return;
            }
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The sources with news.
struct Heard {
    supervisor: bool,
    output: bool,
}

/// The watch of a running program.
struct Watch<'a> {
    cancel: &'a AtomicBool,
    heard: &'a mut dyn FnMut(&[u8]) -> Result<(), Error>,
    limit: Duration,
    /// The longest permitted silence.
    silence: Duration,
    grace: Duration,
    started: Stopwatch,
    /// The time since its last output.
    spoke: Stopwatch,
    told: Option<Stopwatch>,
    killed: Option<Stopwatch>,
    collectors: [Collector; 2],
    /// The time since the last check of bounds.
    looked: Stopwatch,
    meter: Option<Meter>,
    ended: Ended,
}

impl<'a> Watch<'a> {
    fn new(launch: &Launch, cancel: &'a AtomicBool, heard: &'a mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Self {
        let output = &launch.output;
        let files = output.files.clone().map_or((None, None), |(out, err)| (Some(out), Some(err)));
        let collector = |file| Collector::new(output.whole, output.ends, file, output.stored);
        Watch {
            cancel,
            heard,
            limit: Duration::from_millis(launch.timeout_ms),
            silence: launch.silence_ms.map_or(Duration::MAX, Duration::from_millis),
            grace: Duration::from_millis(launch.grace_ms),
            started: Stopwatch::start(),
            spoke: Stopwatch::start(),
            told: None,
            killed: None,
            collectors: [collector(files.0), collector(files.1)],
            looked: Stopwatch::start(),
            meter: Meter::new(launch),
            ended: Ended::default(),
        }
    }

    fn follow(&mut self, supervised: &mut Supervised) -> Result<Ended, Failure> {
        let mut buffer = vec![0; CHUNK];
        let end = loop {
            let heard = self.wait(supervised, TICK.min(self.next()), &mut buffer)?;
            if heard.supervisor {
                match order::receive(&supervised.control) {
                    Ok(Report::Ended(end)) => break end,
                    Ok(Report::NotStarted(refused)) => return Err(refused.into()),
                    // The supervisor is in the group as well.
                    Err(_) if self.find_exceeded(supervised, None) => {
                        supervised.group.end(FUNERAL);
                        break End { signal: Some(KILLED), ..End::default() };
                    }
                    Ok(Report::Ready(_) | Report::NoNamespaces(_) | Report::NoGroup(_)) | Err(_) => {
                        return Err(supervised.died().into());
                    }
                }
            }
            self.keep_bounds(supervised);
            self.keep_time(supervised)?;
        };
        self.find_exceeded(supervised, end.exceeded);
        // No writer is left, so the pipes hold the rest; the supervisor may still hold their ends.
        let emptying = Stopwatch::start();
        while self.wait(supervised, Duration::ZERO, &mut buffer)?.output && emptying.elapsed() < FUNERAL {}
        supervised.has_ended = true;
        let End { status, signal, cpu_ms, peak_bytes, .. } = end;
        let mut ended = std::mem::take(&mut self.ended);
        (ended.status, ended.signal, ended.cpu_ms, ended.peak_bytes) = (status, signal, cpu_ms, peak_bytes);
        ended.duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let none = || Collector::new(0, 0, None, 0);
        [ended.stdout, ended.stderr] = std::mem::replace(&mut self.collectors, [none(), none()]).map(Collector::finish);
        Ok(ended)
    }

    /// Waits for output, and reads it.
    fn wait(&mut self, supervised: &mut Supervised, patience: Duration, buffer: &mut [u8]) -> Result<Heard, Error> {
        let mut ready = vec![PollFd::new(&supervised.control, PollFlags::IN)];
        ready.extend(supervised.pipes.iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        poll(&mut ready, patience)?;
        let ready: Vec<bool> = ready.iter().map(|end| !end.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        let mut heard = Heard { supervisor: ready.next().unwrap_or(false), output: false };
        for (stream, (pipe, collector)) in supervised.pipes.iter_mut().zip(&mut self.collectors).enumerate() {
            let Some(open) = pipe else { continue };
            if !ready.next().unwrap_or(false) {
                continue;
            }
            heard.output = true;
            let failed = |error: &io::Error| Error::io("the output of a program can't be stored", error);
            match rustix::io::read(open.as_fd(), &mut *buffer) {
                Ok(0) => {
                    *pipe = None;
                    if stream == 0 {
                        (self.heard)(&[])?;
                    }
                }
                Ok(length) => {
                    if length == 64 << 10 {
                        // The pipe was full; a failure to enlarge it only costs time.
                        let _ = rustix::pipe::fcntl_setpipe_size(open.as_fd(), LARGE_PIPE);
                    }
                    collector.take(&buffer[..length]).map_err(|error| failed(&error))?;
                    if stream == 0 {
                        (self.heard)(&buffer[..length])?;
                    }
                    // The listener may have taken its time.
                    self.spoke = Stopwatch::start();
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(&error.into())),
            }
        }
        Ok(heard)
    }

    /// The time until the next check is due.
    fn next(&self) -> Duration {
        match (self.told, self.killed) {
            (_, Some(killed)) => FUNERAL.saturating_sub(killed.elapsed()),
            (Some(told), None) => self.grace.saturating_sub(told.elapsed()),
            (None, None) => {
                let left = self.limit.saturating_sub(self.started.elapsed());
                left.min(self.silence.saturating_sub(self.spoke.elapsed()))
            }
        }
    }

    /// Kills the program once it has hit a bound.
    fn keep_bounds(&mut self, supervised: &Supervised) {
        if self.killed.is_some() || self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Stopwatch::start();
        let supervisor = Pid::from_child(&supervised.child);
        let is_full = self.meter.as_mut().is_some_and(|meter| meter.is_exceeded(supervisor));
        if self.find_exceeded(supervised, is_full.then_some(Bound::Disk)) {
            self.told = Some(Stopwatch::start());
            self.killed = self.told;
            supervised.group.close();
            supervised.say(order::KILL);
        }
    }

    /// True if the program has hit a bound, which may be known already.
    fn find_exceeded(&mut self, supervised: &Supervised, known: Option<Bound>) -> bool {
        let exceeded = &mut self.ended.exceeded;
        *exceeded = exceeded.or(known).or_else(|| supervised.group.exceeded());
        exceeded.is_some()
    }

    /// Asks the program to end when its time is over or the run is cancelled, and kills it if it does not.
    fn keep_time(&mut self, supervised: &Supervised) -> Result<(), Error> {
        let cancelled = self.cancel.load(Ordering::Relaxed);
        match (self.told, self.killed) {
            (None, _) if cancelled || self.next().is_zero() => {
                (self.ended.cancelled, self.ended.timed_out) = (cancelled, !cancelled);
                self.told = Some(Stopwatch::start());
                supervised.say(order::TERM);
            }
            (Some(_), None) if self.next().is_zero() => {
                self.killed = Some(Stopwatch::start());
                supervised.say(order::KILL);
            }
            (Some(_), Some(_)) if self.next().is_zero() => {
                return Err(Error::new(Code::Io, "the processes of a program can't be ended")
                    .hint("one of them waits for a device that does not answer"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Waits until a descriptor is ready, up to the given time.
fn poll(ends: &mut [PollFd<'_>], patience: Duration) -> Result<(), Error> {
    let patience = Timespec::try_from(patience).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    match rustix::event::poll(ends, Some(&patience)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(Error::io("a program can't be watched", &error.into())),
    }
}
