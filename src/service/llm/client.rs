//! Accepts requests, has an orchestrator answer them, and delivers their events to the reader.
//!
//! Every request has a thread of its own until it is answered; the caller limits their number. Under any orchestrator, the
//! events have one order with one end, and the reply is checked.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use super::{
    capabilities::Capabilities,
    check,
    error::{cancelled, is_retriable, kind, retry_after_ms},
    event::{LlmStreamEvent, Reply},
    queue::Queue,
    request::LlmRequest,
};
use base::{
    error::{Code, Error},
    text,
};
use system::{
    clock::Stopwatch,
    net::{Cancel, Listener},
};

/// Answers requests.
pub trait Orchestrator: Send + Sync {
    /// Its capabilities.
    fn capabilities(&self) -> Result<Capabilities, Error>;

    /// Answers a request. It passes the pieces of the text on as they arrive; together they are the reply's text. It must stop
    /// when cancelled.
    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error>;
}

/// The configuration of a client.
#[derive(Clone)]
pub struct LlmClientConfig {
    orchestrator: Arc<dyn Orchestrator>,
}

impl LlmClientConfig {
    /// A client of this orchestrator.
    pub fn new(orchestrator: impl Orchestrator + 'static) -> Self {
        LlmClientConfig { orchestrator: Arc::new(orchestrator) }
    }

    /// A client of a shared orchestrator.
    pub fn shared(orchestrator: Arc<dyn Orchestrator>) -> Self {
        LlmClientConfig { orchestrator }
    }
}

/// Makes a client.
pub fn client(config: LlmClientConfig) -> Result<LlmClient, Error> {
    Ok(LlmClient { orchestrator: config.orchestrator })
}

/// Accepts requests.
#[derive(Clone)]
pub struct LlmClient {
    orchestrator: Arc<dyn Orchestrator>,
}

/// An accepted request. Dropped together with its stream, the request is cancelled.
#[derive(Debug)]
pub struct LlmHandle(Arc<Job>);

/// The events of a request, as they arrive: `Ok` until the end, which is [`LlmStreamEvent::Completed`] or an `Err`.
#[derive(Debug)]
pub struct LlmStream {
    job: Arc<Job>,
    batch: VecDeque<LlmStreamEvent>,
}

/// The work of a thread, shared with the reader.
#[derive(Debug)]
struct Job {
    queue: Arc<Queue>,
    cancel: Cancel,
    is_read: AtomicBool,
    /// Ends the queue when the job is cancelled, whatever the orchestrator does then.
    _listener: Listener,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl LlmClient {
    /// The orchestrator's capabilities.
    pub fn capabilities(&self) -> Result<Capabilities, Error> {
        self.orchestrator.capabilities()
    }

    /// Accepts a request and starts it at once.
    pub fn enqueue(&self, request: LlmRequest) -> Result<LlmHandle, Error> {
        let (queue, cancel) = (Arc::new(Queue::default()), Cancel::default());
        let ended = Arc::clone(&queue);
        let listener = cancel.listen(move || ended.push(LlmStreamEvent::Error { error: Box::new(cancelled()) }));
        let work = Work {
            orchestrator: Arc::clone(&self.orchestrator),
            request,
            queue: Arc::clone(&queue),
            cancel: cancel.clone(),
        };
        let thread = thread::Builder::new().name("llm".to_owned());
        thread.spawn(move || work.run()).map_err(|error| Error::io("a thread can't be started", &error))?;
        Ok(LlmHandle(Arc::new(Job { queue, cancel, is_read: AtomicBool::new(false), _listener: listener })))
    }

    /// The events of a request; they can be read once.
    pub fn stream(&self, handle: &LlmHandle) -> Result<LlmStream, Error> {
        if handle.0.is_read.swap(true, Ordering::SeqCst) {
            return Err(Error::new(Code::InvalidInput, "the events of this request are being read already")
                .hint("keep the first stream"));
        }
        Ok(LlmStream { job: Arc::clone(&handle.0), batch: VecDeque::new() })
    }

    /// Cancels a request: its connection is closed, so that the server stops, and its events end.
    pub fn cancel(&self, handle: &LlmHandle) {
        handle.0.cancel.cancel();
    }

    /// Sends a request, and waits for the reply.
    pub fn complete(&self, request: LlmRequest) -> Result<Reply, Error> {
        let handle = self.enqueue(request)?;
        for event in self.stream(&handle)? {
            if let LlmStreamEvent::Completed { reply } = event? {
                return Ok(*reply);
            }
        }
        Err(Error::new(Code::Internal, "a request ended without an end"))
    }
}

impl LlmStream {
    /// All available events, at least one; none after the end. An error is the last of them.
    pub fn next_batch(&mut self) -> Option<Vec<LlmStreamEvent>> {
        if self.batch.is_empty() {
            self.batch = self.job.queue.take();
        }
        let batch: Vec<_> = std::mem::take(&mut self.batch).into();
        (!batch.is_empty()).then_some(batch)
    }
}

impl LlmStream {
    /// All available events, at least one; an empty list if none has come in time, none after the end.
    pub fn next_batch_within(&mut self, patience: Duration) -> Option<Vec<LlmStreamEvent>> {
        if self.batch.is_empty() {
            let Some(batch) = self.job.queue.take_within(patience) else { return Some(Vec::new()) };
            self.batch = batch;
        }
        let batch: Vec<_> = std::mem::take(&mut self.batch).into();
        (!batch.is_empty()).then_some(batch)
    }
}

impl Iterator for LlmStream {
    type Item = Result<LlmStreamEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.is_empty() {
            self.batch = self.job.queue.take();
        }
        match self.batch.pop_front()? {
            LlmStreamEvent::Error { error } => Some(Err(*error)),
            event => Some(Ok(event)),
        }
    }
}

impl Drop for LlmStream {
    /// A reader that stops reading stops the server.
    fn drop(&mut self) {
        self.job.cancel.cancel();
    }
}

impl fmt::Debug for LlmClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmClient").finish_non_exhaustive()
    }
}

impl fmt::Debug for LlmClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmClientConfig").finish_non_exhaustive()
    }
}

/// A request on its thread.
struct Work {
    orchestrator: Arc<dyn Orchestrator>,
    request: LlmRequest,
    queue: Arc<Queue>,
    cancel: Cancel,
}

/// The result of one try, and true if a part of it was passed on.
struct Tried {
    result: Result<Reply, Error>,
    is_seen: bool,
}

impl Work {
    fn run(self) {
        // The reader would wait for ever if an orchestrator's panic ended the thread.
        let result = catch_unwind(AssertUnwindSafe(|| self.tries())).unwrap_or_else(|panic| {
            let what = text::escape(text::of_panic(&*panic));
            Err(Error::new(Code::Internal, format!("the orchestrator broke: {what}")))
        });
        self.queue.push(match result {
            Ok(reply) => LlmStreamEvent::Completed { reply: Box::new(reply) },
            Err(error) => LlmStreamEvent::Error { error: Box::new(error) },
        });
    }

    fn tries(&self) -> Result<Reply, Error> {
        let mut after = None;
        let mut attempt = 1;
        loop {
            let tried = self.once(attempt, after.take());
            let error = match tried.result {
                Ok(reply) => return Ok(reply),
                Err(error) => error.detail("attempts", attempt),
            };
            // Delivered events can't be taken back.
            let Some(wait) = self.wait(&error, attempt).filter(|_| !tried.is_seen) else { return Err(error) };
            if !self.cancel.sleep(wait) {
                return Err(cancelled());
            }
            after = Some(Box::new(error));
            attempt += 1;
        }
    }

    /// The pause before the next try; none if the caller did not ask for it.
    fn wait(&self, error: &Error, attempt: u32) -> Option<Duration> {
        let retry = self.request.retry();
        let asked = kind(error).is_some_and(|kind| retry.on.contains(&kind)) && attempt <= retry.max;
        let ms = retry_after_ms(error).unwrap_or(retry.wait_ms);
        // A requested pause that is longer than a try may take is not worth waiting for.
        let is_short = ms <= self.request.timeouts().total_ms;
        (asked && is_short && is_retriable(error)).then(|| Duration::from_millis(ms))
    }

    fn once(&self, attempt: u32, after: Option<Box<Error>>) -> Tried {
        let model = self.request.model().to_owned();
        self.queue.push(LlmStreamEvent::Started { model, attempt, after });
        let watch = Stopwatch::start();
        let mut first_token_ms = None;
        let mut on_token = |text: &str| {
            first_token_ms.get_or_insert_with(|| watch.elapsed_ms());
            self.queue.push(LlmStreamEvent::Token { text: text.to_owned() });
        };
        let answered = self.orchestrator.answer(&self.request, &self.cancel, &mut on_token);
        let is_seen = first_token_ms.is_some();
        let result = answered.inspect(|reply| {
            if !is_seen && !reply.text.is_empty() {
                self.queue.push(LlmStreamEvent::Token { text: reply.text.clone() });
            }
            for call in &reply.tool_calls {
                self.queue.push(LlmStreamEvent::ToolCall { call: call.clone() });
            }
            self.queue.push(LlmStreamEvent::Metrics {
                usage: reply.usage,
                first_token_ms,
                total_ms: watch.elapsed_ms(),
            });
        });
        let is_seen = is_seen || result.is_ok();
        Tried { result: result.and_then(|reply| check::checked(&self.request, reply)), is_seen }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Mutex};

    use serde_json::json;

    use super::{
        super::{
            capabilities::Model,
            error::{Kind, lasting, passing},
            request::Retry,
        },
        *,
    };

    type Answer = dyn Fn(&Cancel, &mut dyn FnMut(&str), u32) -> Result<Reply, Error> + Send + Sync;

    /// Answers by the number of the try.
    struct Stub(Box<Answer>, Mutex<u32>);

    impl Orchestrator for Stub {
        fn capabilities(&self) -> Result<Capabilities, Error> {
            Ok(Capabilities::new([("m".to_owned(), Model::default())]))
        }

        fn answer(&self, _: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
            let attempt = {
                let mut attempt = self.1.lock().unwrap();
                *attempt += 1;
                *attempt
            };
            (self.0)(cancel, on_token, attempt)
        }
    }

    fn stub(
        answer: impl Fn(&Cancel, &mut dyn FnMut(&str), u32) -> Result<Reply, Error> + Send + Sync + 'static,
    ) -> LlmClient {
        client(LlmClientConfig::new(Stub(Box::new(answer), Mutex::new(0)))).unwrap()
    }

    fn request(client: &LlmClient, retry: Retry) -> LlmRequest {
        LlmRequest::builder(client.capabilities().unwrap()).model("m").prompt("hi").retry(retry).build().unwrap()
    }

    fn retries(on: Kind, max: u32) -> Retry {
        Retry { on: BTreeSet::from([on]), max, wait_ms: 1 }
    }

    fn events(client: &LlmClient, retry: Retry) -> Vec<Result<LlmStreamEvent, Error>> {
        let handle = client.enqueue(request(client, retry)).unwrap();
        client.stream(&handle).unwrap().collect()
    }

    fn names(events: &[Result<LlmStreamEvent, Error>]) -> Vec<String> {
        let name = |event: &LlmStreamEvent| json!(event)["type"].as_str().unwrap().to_owned();
        events.iter().map(|event| event.as_ref().map_or("error".to_owned(), name)).collect()
    }

    #[test]
    fn events_come_in_one_order_with_one_end() {
        let client = stub(|_, on_token, _| {
            on_token("a");
            on_token("b");
            Ok(Reply::of_text("m", "ab"))
        });
        let told = events(&client, Retry::default());
        assert_eq!(names(&told), ["started", "token", "token", "metrics", "completed"]);
        assert_eq!(client.complete(request(&client, Retry::default())).unwrap().text, "ab");
    }

    #[test]
    fn a_reply_that_came_whole_is_one_token() {
        let client = stub(|_, _, _| Ok(Reply::of_text("m", "ab")));
        assert_eq!(names(&events(&client, Retry::default())), ["started", "token", "metrics", "completed"]);
    }

    #[test]
    fn nothing_is_tried_again_unless_the_caller_asks_for_it() {
        let failing = || stub(|_, _, _| Err(passing(Kind::Overloaded, "busy")));
        for retry in [Retry::default(), retries(Kind::RateLimit, 3)] {
            let told = events(&failing(), retry);
            assert_eq!(names(&told), ["started", "error"]);
            assert_eq!(told[1].as_ref().unwrap_err().details()["attempts"], 1);
        }
        let told = events(&failing(), retries(Kind::Overloaded, 2));
        assert_eq!(names(&told), ["started", "started", "started", "error"]);
        assert_eq!(told[3].as_ref().unwrap_err().details()["attempts"], 3);
    }

    #[test]
    fn every_try_is_told_with_the_reason_for_it() {
        let client = stub(|_, _, attempt| match attempt {
            1 => Err(passing(Kind::RateLimit, "slow down").detail("retry_after_ms", 2)),
            _ => Ok(Reply::of_text("m", "ab")),
        });
        let told = events(&client, retries(Kind::RateLimit, 1));
        let Ok(LlmStreamEvent::Started { attempt: 2, after: Some(error), .. }) = &told[1] else { panic!("{told:?}") };
        assert_eq!(kind(error), Some(Kind::RateLimit));
        assert_eq!(names(&told).last().unwrap(), "completed");
    }

    #[test]
    fn what_lasts_or_was_seen_or_takes_too_long_is_not_tried_again() {
        let spent = stub(|_, _, _| Err(lasting(Kind::RateLimit, "spending limit")));
        assert_eq!(names(&events(&spent, retries(Kind::RateLimit, 3))), ["started", "error"]);
        let seen = stub(|_, on_token, _| {
            on_token("a");
            Err(passing(Kind::Truncated, "cut"))
        });
        assert_eq!(names(&events(&seen, retries(Kind::Truncated, 3))), ["started", "token", "error"]);
        let long = stub(|_, _, _| Err(passing(Kind::RateLimit, "later").detail("retry_after_ms", 86_400_000)));
        assert_eq!(names(&events(&long, retries(Kind::RateLimit, 3))), ["started", "error"]);
    }

    #[test]
    fn cancelling_ends_the_events_and_stops_the_orchestrator() {
        let (sender, stopped) = std::sync::mpsc::channel();
        let client = stub(move |cancel, on_token, _| {
            on_token("a");
            let in_time = !cancel.sleep(Duration::from_secs(600));
            sender.send(in_time).unwrap();
            Err(cancelled())
        });
        let handle = client.enqueue(request(&client, Retry::default())).unwrap();
        let mut stream = client.stream(&handle).unwrap();
        assert!(matches!(stream.nth(1), Some(Ok(LlmStreamEvent::Token { .. }))));
        client.cancel(&handle);
        assert_eq!(stream.next().unwrap().unwrap_err().code(), Code::Cancelled);
        assert!(stream.next().is_none() && stopped.recv().unwrap());
        assert!(client.stream(&handle).is_err(), "events are read once");
        // A reader that stops reading stops it too.
        let handle = client.enqueue(request(&client, Retry::default())).unwrap();
        for event in client.stream(&handle).unwrap() {
            if matches!(event, Ok(LlmStreamEvent::Token { .. })) {
                break;
            }
        }
        assert!(stopped.recv().unwrap());
    }

    #[test]
    fn a_slow_reader_gets_everything_in_batches() {
        const ALL: usize = 20_000;
        let client = stub(|_, on_token, _| {
            (0..ALL).for_each(|number| on_token(&format!("{number} ")));
            Ok(Reply::of_text("m", (0..ALL).map(|number| format!("{number} ")).collect::<String>()))
        });
        let handle = client.enqueue(request(&client, Retry::default())).unwrap();
        let mut stream = client.stream(&handle).unwrap();
        let (mut text, mut whole) = (String::new(), None);
        while let Some(batch) = stream.next_batch() {
            for event in batch {
                match event {
                    LlmStreamEvent::Token { text: piece } => text.push_str(&piece),
                    LlmStreamEvent::Completed { reply } => whole = Some(reply.text),
                    _ => {}
                }
            }
        }
        assert_eq!(whole, Some(text));
    }

    #[test]
    fn a_panic_of_an_orchestrator_is_an_error() {
        let client = stub(|_, _, _| panic!("oh"));
        let error = client.complete(request(&client, Retry::default())).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::Internal, "the orchestrator broke: oh"));
    }
}
