//! The host's side of the conversation with a script's process, over any pair of pipes.
//!
//! It knows frames and nothing else: neither the start and end of the process nor the meaning of a call. It returns a value
//! whatever the other side sends: an invalid frame ends the conversation.

mod queue;

use std::{
    io::{BufRead, BufReader, BufWriter, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crossbeam::channel::{Receiver, RecvTimeoutError, TryRecvError};

use serde_json::Value;

use self::queue::{Incoming, Queue};
use base::{
    batch::{Answer, Batch},
    call::Call,
    error::{Code, Error, Location},
    frame::{
        Completion, Evaluated, FromWorker, Input, Inspection, Isolation, LONG, Limits, Outcome, Parsed, RunRequest,
        ToWorker,
    },
};
use system::{clock::Stopwatch, threads};

/// The largest frame until limits are known.
const MAX_FRAME: u64 = 256 << 20;

/// The bytes that a frame may have beside a call.
const SLACK: u64 = 1 << 20;

/// The least bound of a frame's size: an inspection has no limit of its own.
const LEAST_FRAME: u64 = 16 << 20;

/// The interval of checks for a reason to stop while nothing arrives.
const TICK: Duration = Duration::from_millis(20);

/// The number of looks for a frame before the thread goes to sleep. A script that calls often sends the next frame at once,
/// and waking the thread would take longer.
const LOOKS: u32 = 1 << 10;

/// The time that a script has to end after it was asked to stop.
pub const GRACE: Duration = Duration::from_millis(300);

/// Returns the reason to stop, once there is one.
pub type Stop<'a> = &'a dyn Fn() -> Option<Error>;

/// A conversation with a script's process.
pub struct Session {
    frames: Receiver<Incoming>,
    writer: Box<dyn Write + Send>,
    /// The largest frame that is taken.
    most: Arc<AtomicU64>,
}

/// An event of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It makes a call, and waits for [`Session::reply`].
    Call {
        /// The call's id.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// The call.
        call: Call,
    },
    /// It asks for a stream, and waits for [`Session::reply`] with its number.
    Open {
        /// The call's id.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// The call.
        call: Call,
    },
    /// It waits for [`Session::reply`] with events of a stream.
    Next {
        /// The call's id.
        id: u64,
        /// The stream.
        stream: u64,
    },
    /// It has seen that many events of a stream and needs no more; it waits for [`Session::reply`].
    Close {
        /// The call's id.
        id: u64,
        /// The stream.
        stream: u64,
        /// How many events it has seen.
        taken: u64,
    },
    /// It printed a line.
    Print(String),
    /// A text of a session was evaluated.
    Evaluated(Evaluated),
    /// It ended well.
    Done(Value),
    /// It ended with an error.
    Failed(Error),
}

/// The end of the events.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The process closed its pipe: it is dead or dying, and its exit status says why.
    Closed,
    /// It sent no valid frame, or one that does not belong here; the text describes it.
    Malformed(String),
    /// It was asked to stop for this reason; it may still run.
    Stopped(Box<Error>),
    /// It was asked to stop for this reason and did so. It is a session, which waits for the next text.
    Paused(Box<Error>),
}

impl Session {
    /// Begins a conversation; a thread reads from `reader` until it ends.
    pub fn new(reader: impl Read + Send + 'static, writer: impl Write + Send + 'static) -> Result<Self, Error> {
        let (queue, frames) = Queue::new();
        let most = Arc::new(AtomicU64::new(MAX_FRAME));
        let bound = Arc::clone(&most);
        threads::start(move || receive(BufReader::new(reader), &queue, &bound))?;
        Ok(Session { frames, writer: Box::new(writer), most })
    }

    /// Sends the worker its limits and receives its isolation.
    pub fn hello(&mut self, limits: &Limits, stop: Stop<'_>) -> Result<Isolation, Ended> {
        let most = limits.reply_bytes.saturating_add(SLACK).clamp(LEAST_FRAME, u64::MAX - 1);
        self.most.store(most, Ordering::Relaxed);
        self.send(&ToWorker::Hello { limits: limits.clone() })?;
        match self.frame(stop)? {
            FromWorker::Ready { isolation } => Ok(isolation),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks for the parts of a source; nothing runs.
    pub fn inspect(&mut self, path: &str, source: &str, main: bool, stop: Stop<'_>) -> Result<Inspection, Ended> {
        self.send(&ToWorker::Inspect { path: path.to_owned(), source: source.to_owned(), main })?;
        match self.frame(stop)? {
            FromWorker::Inspected(inspection) => Ok(inspection),
            other => Err(unexpected(&other)),
        }
    }

    /// Starts a script; [`Session::event`] then returns its events.
    pub fn run(&mut self, request: RunRequest) -> Result<(), Ended> {
        self.send(&ToWorker::Run(request))
    }

    /// Begins a session.
    pub fn interact(&mut self, request: RunRequest) -> Result<(), Ended> {
        self.send(&ToWorker::Interact(request))
    }

    /// Asks for the parts of the session's next text; nothing runs.
    pub fn parse(&mut self, text: &str, stop: Stop<'_>) -> Result<Parsed, Ended> {
        self.send(&ToWorker::Parse { text: text.to_owned() })?;
        match self.frame(stop)? {
            FromWorker::Parsed(parsed) => Ok(parsed),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks for the candidates at a place of such a text.
    pub fn complete(&mut self, text: &str, cursor: usize, stop: Stop<'_>) -> Result<Completion, Ended> {
        self.send(&ToWorker::Complete { text: text.to_owned(), cursor })?;
        match self.frame(stop)? {
            FromWorker::Completed(completion) => Ok(completion),
            other => Err(unexpected(&other)),
        }
    }

    /// Evaluates the next text of the session; [`Session::event`] then returns its events, until it is evaluated.
    pub fn evaluate(&mut self, input: Input) -> Result<(), Ended> {
        self.send(&ToWorker::Evaluate(input))
    }

    /// Gives the worker the source of an adapter; it then answers batches and nothing else.
    pub fn adapt(&mut self, path: &str, source: &str) -> Result<(), Ended> {
        self.send(&ToWorker::Adapt { path: path.to_owned(), source: source.to_owned() })
    }

    /// Asks the adapter for its answer to a batch; the inner error is the adapter's own.
    pub fn work(&mut self, batch: Batch, stop: Stop<'_>) -> Result<Result<Answer, Error>, Ended> {
        self.send(&ToWorker::Work(batch))?;
        match self.frame(stop)? {
            FromWorker::Worked(answer) => Ok(Ok(answer)),
            FromWorker::Failed { error } => Ok(Err(error.bounded())),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits for the script's next event.
    ///
    /// When `stop` returns a reason, the script is asked to stop and has [`GRACE`] to do so. The end is [`Ended::Stopped`] then,
    /// whatever the script sent meanwhile, or [`Ended::Paused`] in a session.
    pub fn event(&mut self, stop: Stop<'_>) -> Result<Event, Ended> {
        match self.frame(stop)? {
            FromWorker::Call { id, at, call } => Ok(Event::Call { id, at, call }),
            FromWorker::Open { id, at, call } => Ok(Event::Open { id, at, call }),
            FromWorker::Next { id, stream } => Ok(Event::Next { id, stream }),
            FromWorker::Close { id, stream, taken } => Ok(Event::Close { id, stream, taken }),
            FromWorker::Print { text } => Ok(Event::Print(text)),
            FromWorker::Evaluated(evaluated) => Ok(Event::Evaluated(evaluated)),
            FromWorker::Done { result } => Ok(Event::Done(result)),
            FromWorker::Failed { error } => Ok(Event::Failed(error.bounded())),
            other @ (FromWorker::Ready { .. }
            | FromWorker::Inspected(_)
            | FromWorker::Parsed(_)
            | FromWorker::Worked(_)
            | FromWorker::Completed(_)) => Err(unexpected(&other)),
        }
    }

    /// Answers a call.
    pub fn reply(&mut self, id: u64, outcome: Outcome) -> Result<(), Ended> {
        match outcome {
            Outcome::Ok(Value::String(text)) if text.len() > LONG => {
                self.send(&ToWorker::Text { id, length: text.len() as u64 })?;
                let parts = [text.as_bytes(), b"\n"];
                parts.iter().try_for_each(|part| self.writer.write_all(part)).map_err(|_| Ended::Closed)
            }
            outcome => self.send(&ToWorker::Reply { id, outcome }),
        }
    }

    fn send(&mut self, frame: &ToWorker) -> Result<(), Ended> {
        let mut out = BufWriter::with_capacity(1 << 16, &mut self.writer);
        match serde_json::to_writer(&mut out, frame) {
            Err(error) if !error.is_io() => return Err(Ended::Malformed(error.to_string())),
            written => written.map_err(|_| Ended::Closed)?,
        }
        out.write_all(b"\n").and_then(|()| out.flush()).map_err(|_| Ended::Closed)
    }

    fn receive(&self) -> Result<Incoming, RecvTimeoutError> {
        for _ in 0..LOOKS {
            match self.frames.try_recv() {
                Ok(incoming) => return Ok(incoming),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            }
        }
        self.frames.recv_timeout(TICK)
    }

    fn frame(&mut self, stop: Stop<'_>) -> Result<FromWorker, Ended> {
        loop {
            match self.receive() {
                Ok(incoming) => match (incoming.frame(self.most.load(Ordering::Relaxed)), stop()) {
                    (Err(why), _) => return Err(Ended::Malformed(why)),
                    (Ok(FromWorker::Evaluated(_)), Some(reason)) => return Err(Ended::Paused(Box::new(reason))),
                    (Ok(_), Some(reason)) => return Err(self.stop(reason)),
                    (Ok(frame), None) => return Ok(frame),
                },
                Err(RecvTimeoutError::Disconnected) => return Err(Ended::Closed),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(reason) = stop() {
                        return Err(self.stop(reason));
                    }
                }
            }
        }
    }

    /// Asks the worker to stop, and waits until it has or the grace is over.
    fn stop(&mut self, reason: Error) -> Ended {
        let watch = Stopwatch::start();
        if self.send(&ToWorker::Cancel {}).is_ok() {
            // Later frames are dropped: the script is stopped, whatever it sends.
            while let Some(left) = GRACE.checked_sub(watch.elapsed()) {
                match self.frames.recv_timeout(left).map(|incoming| incoming.frame(MAX_FRAME)) {
                    Ok(Ok(FromWorker::Evaluated(_))) => return Ended::Paused(Box::new(reason)),
                    Ok(Ok(frame)) if !matches!(frame, FromWorker::Failed { .. }) => {}
                    _ => break,
                }
            }
        }
        Ended::Stopped(Box::new(reason))
    }
}

impl Ended {
    /// The end as an error, for a process of unknown status.
    pub fn into_error(self) -> Error {
        match self {
            Ended::Closed => Error::new(Code::ScriptCrashed, "the script's process ended without a result"),
            Ended::Malformed(why) => {
                Error::new(Code::ScriptCrashed, format!("the script's process sent something that is no frame: {why}"))
            }
            Ended::Stopped(reason) | Ended::Paused(reason) => *reason,
        }
    }
}

fn unexpected(frame: &FromWorker) -> Ended {
    let name = match frame {
        FromWorker::Ready { .. } => "ready",
        FromWorker::Inspected(_) => "inspected",
        FromWorker::Call { .. } => "call",
        FromWorker::Open { .. } => "open",
        FromWorker::Next { .. } => "next",
        FromWorker::Close { .. } => "close",
        FromWorker::Print { .. } => "print",
        FromWorker::Parsed(_) => "parsed",
        FromWorker::Evaluated(_) => "evaluated",
        FromWorker::Completed(_) => "completed",
        FromWorker::Worked(_) => "worked",
        FromWorker::Done { .. } => "done",
        FromWorker::Failed { error } => return Ended::Stopped(Box::new(error.clone().bounded())),
    };
    Ended::Malformed(format!("a `{name}` frame came where it has no meaning"))
}

/// Reads frames until the pipe ends, one is too large, or the receiver is gone.
fn receive(mut reader: impl BufRead, queue: &Queue, most: &AtomicU64) {
    loop {
        let mut line = Vec::new();
        // A frame may begin only once its limit is known: the worker waits for that.
        let Ok([_, ..]) = reader.fill_buf() else { return };
        let most = most.load(Ordering::Relaxed);
        match (&mut reader).take(most + 1).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        line.shrink_to_fit();
        if line.len() as u64 > most {
            queue.refuse(format!("a frame is larger than {most} bytes"));
            return;
        }
        // Without its end, the process died while it wrote.
        if line.last() != Some(&b'\n') || !queue.add(line) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::mpsc};

    use serde_json::json;

    use super::*;

    const GO_ON: Stop<'static> = &|| None;

    fn session(frames: &str) -> Session {
        Session::new(io::Cursor::new(frames.to_owned().into_bytes()), io::sink()).unwrap()
    }

    #[test]
    fn events_come_in_order_and_end_with_the_pipe() {
        let mut session = session(concat!(
            "{\"print\":{\"text\":\"hi\"}}\n",
            "{\"call\":{\"id\":1,\"at\":null,\"call\":{\"name\":\"dta.list\",\"args\":{}}}}\n",
            "{\"done\":{\"result\":[1]}}\n{\"done\":",
        ));
        assert_eq!(session.event(GO_ON), Ok(Event::Print("hi".to_owned())));
        assert_eq!(session.event(GO_ON), Ok(Event::Call { id: 1, at: None, call: Call::DtaList {} }));
        assert_eq!(session.event(GO_ON), Ok(Event::Done(json!([1]))));
        assert_eq!(session.event(GO_ON), Err(Ended::Closed));
    }

    #[test]
    fn what_is_no_frame_ends_the_conversation() {
        for text in ["hello\n", "{\"invoke\":{}}\n", "\u{1}\n", "{\"ready\":{\"isolation\":{\"landlock\":true}}}\n"] {
            assert!(matches!(session(text).event(GO_ON), Err(Ended::Malformed(_))), "{text}");
        }
        let ready = "{\"done\":{\"result\":1}}\n";
        assert!(matches!(session(ready).inspect("a", "", true, GO_ON), Err(Ended::Malformed(_))));
    }

    #[test]
    fn output_that_nobody_takes_holds_the_worker_up() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (told, written) = mpsc::channel();
        let frame = format!("{{\"print\":{{\"text\":\"{}\"}}}}\n", "x".repeat(16 << 20));
        std::thread::spawn(move || while writer.write_all(frame.as_bytes()).is_ok() && told.send(()).is_ok() {});
        let mut session = Session::new(reader, io::sink()).unwrap();
        let next = |patience| written.recv_timeout(Duration::from_millis(patience)).is_ok();
        // Three wait, one is in the reader's hands.
        assert!((0..4).all(|_| next(60_000)) && !next(200));
        assert!(matches!(session.event(GO_ON), Ok(Event::Print(_))));
        assert!(next(60_000) && !next(200));
    }

    /// A pipe that never gives anything, until its other end is dropped.
    struct Silent(mpsc::Receiver<()>);

    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(0)
        }
    }

    #[test]
    fn a_silent_script_is_stopped_after_its_grace() {
        let (keep, silent) = mpsc::channel();
        let mut session = Session::new(Silent(silent), io::sink()).unwrap();
        let watch = Stopwatch::start();
        let reason = Error::new(Code::Cancelled, "enough");
        let stop = || (watch.elapsed_ms() > 30).then(|| reason.clone());
        assert_eq!(session.event(&stop), Err(Ended::Stopped(Box::new(reason.clone()))));
        assert!(watch.elapsed() >= GRACE && watch.elapsed() < 4 * GRACE);
        drop(keep);
    }
}
