//! Spans for a collector by OTLP over HTTP in JSON, as the standard variables say.
//!
//! A thread sends them in batches while the command works. What can't be sent is counted, and the command goes on.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};

use super::{seen::Seen, variables::Settings};
use base::{error::Error, text::counted};
use system::{
    clock::Clock,
    net::{Cancel, Exchange, Failure, Method, Sender, Way, random_bytes},
    threads,
};

/// The most spans that wait to be sent; later ones are lost.
const WAITING: usize = 4096;

/// The most spans of a request.
const BATCH: usize = 512;

/// The kind of a command's span.
const COMMAND: &str = "command";

/// The longest wait for another span before a request is sent.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends spans to a collector.
pub(super) struct Collector {
    sender: Mutex<Option<SyncSender<(Seen, Duration)>>>,
    /// True once there was a span beside that of the command, which alone is sent to nobody.
    is_used: AtomicBool,
    lost: Arc<Lost>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The spans that were not sent.
#[derive(Default)]
struct Lost {
    spans: AtomicU64,
    /// The first reason.
    reason: Mutex<Option<String>>,
    /// True once the command is over: nobody waits long for a collector that has failed.
    is_over: AtomicBool,
}

/// The writer of requests, with the ids of this process.
pub(super) struct Encoder {
    settings: Settings,
    /// The beginnings of ids.
    random: [u8; 16],
    /// Nanoseconds from 1970 to the start of the process.
    start_ns: u128,
}

impl Collector {
    /// A collector by these variables; none if they name none.
    pub(super) fn start(environment: &BTreeMap<String, String>) -> Result<Option<Self>, Error> {
        let Some(settings) = Settings::of(environment)? else { return Ok(None) };
        let start_ns = u128::from(Clock::System.now_ms()) * 1_000_000;
        let encoder = Encoder { settings, random: random_bytes()?, start_ns };
        let (sender, receiver) = sync_channel(WAITING);
        let lost = Arc::new(Lost::default());
        let (way, noted) = (Way::of(environment), Arc::clone(&lost));
        let thread = threads::start(move || work(&receiver, &encoder, &way, &noted))?;
        let (sender, thread) = (Mutex::new(Some(sender)), Mutex::new(Some(thread)));
        Ok(Some(Collector { sender, is_used: AtomicBool::new(false), lost, thread }))
    }

    /// Takes a span that has ended.
    pub(super) fn take(&self, seen: Seen, at: Duration) {
        let is_used = self.is_used.fetch_or(seen.kind != COMMAND, Ordering::Relaxed);
        if seen.kind == COMMAND && !is_used {
            return;
        }
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = sender.as_ref().is_some_and(|sender| sender.try_send((seen, at)).is_ok());
        if !taken {
            self.lost.add(1, || "they came too fast".to_owned());
        }
    }

    /// Sends what waits; a sentence about the spans that were not sent, if there are any.
    pub(super) fn finish(&self) -> Option<String> {
        self.lost.is_over.store(true, Ordering::Relaxed);
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A thread that has panicked has told so.
        let _ = thread.map(JoinHandle::join);
        let lost = self.lost.spans.load(Ordering::Relaxed);
        if lost == 0 {
            return None;
        }
        let reason = self.lost.reason.lock().unwrap_or_else(PoisonError::into_inner).take();
        let spans = counted(usize::try_from(lost).unwrap_or(usize::MAX), "span");
        let were = if lost == 1 { "was" } else { "were" };
        Some(format!("{spans} {were} not sent to the collector of traces: {}", reason.unwrap_or_default()))
    }
}

impl Lost {
    fn add(&self, spans: usize, reason: impl FnOnce() -> String) {
        self.spans.fetch_add(spans as u64, Ordering::Relaxed);
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(reason);
    }

    fn is_given_up(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) && self.spans.load(Ordering::Relaxed) > 0
    }
}

/// Sends spans until no more come.
fn work(receiver: &Receiver<(Seen, Duration)>, encoder: &Encoder, way: &Way, lost: &Lost) {
    let sender = way.sender(&encoder.settings.url);
    while let Ok(first) = receiver.recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = receiver.recv_timeout(PAUSE)
        {
            batch.push(next);
        }
        if lost.is_given_up() {
            lost.add(batch.len(), String::new);
            continue;
        }
        let sent = sender.as_ref().map_err(Failure::to_string).and_then(|sender| send(sender, encoder, &batch));
        if let Err(reason) = sent {
            lost.add(batch.len(), || reason);
        }
    }
}

fn send(sender: &Sender, encoder: &Encoder, batch: &[(Seen, Duration)]) -> Result<(), String> {
    let Settings { url, headers, timeout_ms, .. } = &encoder.settings;
    let body = encoder.request(batch).to_string();
    let own = ("content-type".to_owned(), "application/json".to_owned());
    let headers: Vec<(&str, String)> =
        [&own].into_iter().chain(headers).map(|(name, value)| (name.as_str(), value.clone())).collect();
    let exchange = Exchange {
        method: Method::POST,
        url,
        headers: &headers,
        secret: None,
        body: body.as_bytes(),
        read_ms: *timeout_ms,
        total_ms: *timeout_ms,
    };
    let answered = sender.send(&exchange, &Cancel::default()).map_err(|failure| failure.to_string())?;
    match answered.status {
        200..=299 => Ok(()),
        status => Err(format!("it answered with {status}")),
    }
}

impl Encoder {
    /// The request that sends these spans.
    fn request(&self, batch: &[(Seen, Duration)]) -> Value {
        let spans: Vec<Value> = batch.iter().map(|(seen, at)| self.span(seen, *at)).collect();
        let version = env!("CARGO_PKG_VERSION");
        let scope = json!({"name": "nrv", "version": version});
        let resource: Vec<Value> =
            self.settings.resource.iter().map(|(key, value)| attribute(key, &json!(value))).collect();
        json!({"resourceSpans": [{
            "resource": {"attributes": resource},
            "scopeSpans": [{"scope": scope, "spans": spans}],
        }]})
    }

    fn span(&self, seen: &Seen, at: Duration) -> Value {
        let (trace, above) = match &self.settings.parent {
            Some(parent) => (parent.trace.clone(), Some(parent.span.clone())),
            None => (hex(&self.trace_id(seen.root)), None),
        };
        let mut attributes = vec![attribute("nrv.kind", &json!(seen.kind))];
        let own = seen.attributes.all().filter(|(name, _)| *name != "name");
        attributes.extend(own.map(|(name, value)| attribute(&format!("nrv.{name}"), value)));
        let mut span = json!({
            "traceId": trace,
            "spanId": hex(&self.span_id(seen.serial)),
            "name": seen.title(),
            "kind": 1,
            "startTimeUnixNano": (self.start_ns + seen.begun.as_nanos()).to_string(),
            "endTimeUnixNano": (self.start_ns + at.as_nanos()).to_string(),
            "attributes": attributes,
            "status": if seen.attributes.text("error").is_some() { json!({"code": 2}) } else { json!({}) },
        });
        if let Some(parent) = seen.parent.map(|parent| hex(&self.span_id(parent))).or(above) {
            span["parentSpanId"] = json!(parent);
        }
        span
    }

    /// The id of the trace whose outermost span this is.
    fn trace_id(&self, root: u64) -> [u8; 16] {
        (u128::from_be_bytes(self.random) ^ u128::from(root)).to_be_bytes()
    }

    fn span_id(&self, serial: u64) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h, ..] = self.random;
        (u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ serial).to_be_bytes()
    }
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Bool(value) => json!({"boolValue": value}),
        // A number of 64 bits is a text in this form.
        Value::Number(value) => json!({"intValue": value.to_string()}),
        Value::String(value) => json!({"stringValue": value}),
        other => json!({"stringValue": other.to_string()}),
    };
    json!({"key": key, "value": value})
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests listen")]

    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::TcpListener,
    };

    use super::*;

    fn environment(url: &str, more: &[(&str, &str)]) -> BTreeMap<String, String> {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        [&[endpoint], more].concat().into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Answers one request with a status; returns its head and its body.
    fn answer(listener: &TcpListener, status: &str) -> (String, Value) {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap()];
        reader.read_exact(&mut body).unwrap();
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}").unwrap();
        (head, serde_json::from_slice(&body).unwrap())
    }

    /// Sends two spans, one inside the other; the request, and the sentence of the end.
    fn exchange(status: &str, more: &[(&str, &str)]) -> ((String, Value), Option<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let collector = Collector::start(&environment(&url, more)).unwrap().unwrap();
        let call = [("name", json!("files.read")), ("position", json!("1")), ("error", json!("not_found"))];
        collector.take(Seen::of(2, Some(1), "call", &call), Duration::from_millis(5));
        collector.take(
            Seen::of(1, None, "run", &[("files", json!(3)), ("resumed", json!(false))]),
            Duration::from_millis(9),
        );
        std::thread::scope(|scope| {
            let answered = scope.spawn(|| answer(&listener, status));
            let told = collector.finish();
            (answered.join().unwrap(), told)
        })
    }

    #[test]
    fn spans_reach_the_collector_as_a_tree() {
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b");
        let ((head, body), told) = exchange("200 OK", &[headers, ("OTEL_SERVICE_NAME", "docs")]);
        assert_eq!(told, None);
        assert!(head.starts_with("POST /v1/traces HTTP/1.1") && head.contains("x-key: a b"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let scope = &body["resourceSpans"][0];
        let service = json!({"key": "service.name", "value": {"stringValue": "docs"}});
        assert!(scope["resource"]["attributes"].as_array().unwrap().contains(&service), "{body}");
        let [call, run] = scope["scopeSpans"][0]["spans"].as_array().unwrap().as_slice() else { panic!("{body}") };
        assert_eq!((&call["name"], &run["name"]), (&json!("files.read"), &json!("run")));
        assert_eq!((&call["parentSpanId"], &call["traceId"]), (&run["spanId"], &run["traceId"]));
        assert!(run.get("parentSpanId").is_none() && call["spanId"] != run["spanId"], "{body}");
        assert_eq!((&call["status"]["code"], &run["status"]), (&json!(2), &json!({})));
        let attributes = json!([
            {"key": "nrv.kind", "value": {"stringValue": "run"}},
            {"key": "nrv.files", "value": {"intValue": "3"}},
            {"key": "nrv.resumed", "value": {"boolValue": false}},
        ]);
        assert_eq!(run["attributes"], attributes);
        let ns = |span: &Value, at: &str| span[at].as_str().unwrap().parse::<u128>().unwrap();
        assert_eq!(ns(run, "endTimeUnixNano") - ns(run, "startTimeUnixNano"), 8_000_000);
        assert_eq!(ns(call, "startTimeUnixNano") - ns(run, "startTimeUnixNano"), 1_000_000);
    }

    #[test]
    fn a_trace_of_another_program_goes_on() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let ((_, body), _) = exchange("200 OK", &[("TRACEPARENT", &format!("00-{trace}-{span}-01"))]);
        let run = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][1];
        assert_eq!((&run["traceId"], &run["parentSpanId"]), (&json!(trace), &json!(span)));
    }

    #[test]
    fn a_collector_that_refuses_is_told_of() {
        let (_, told) = exchange("401 Unauthorized", &[]);
        assert_eq!(told.unwrap(), "2 spans were not sent to the collector of traces: it answered with 401");
    }

    #[test]
    fn a_collector_that_is_not_there_is_told_of() {
        let collector = Collector::start(&environment("http://127.0.0.1:1", &[])).unwrap().unwrap();
        collector.take(Seen::of(1, None, "run", &[]), Duration::ZERO);
        let told = collector.finish().unwrap();
        assert_eq!(told, "1 span was not sent to the collector of traces: the connection was refused");
    }

    #[test]
    fn a_command_without_a_run_sends_nothing() {
        let collector = Collector::start(&environment("http://127.0.0.1:1", &[])).unwrap().unwrap();
        collector.take(Seen::of(1, None, COMMAND, &[]), Duration::ZERO);
        assert_eq!(collector.finish(), None);
    }
}
