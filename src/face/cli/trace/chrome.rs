//! A trace as a JSON array of events, which Perfetto and chrome://tracing open. They also open one that breaks off.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, Write},
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    time::Duration,
};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    super::target::{Growing, Target},
    seen::Seen,
};
use base::error::Error;

/// The file of a trace.
pub(super) struct ChromeFile {
    growing: Growing,
    written: Mutex<Written>,
}

/// The part that is written.
struct Written {
    file: BufWriter<File>,
    /// The threads that have a name.
    threads: BTreeSet<u64>,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
    /// True once the array is closed. A thread that still works writes nothing more.
    is_over: bool,
}

/// An event of the format.
#[derive(Serialize)]
struct Event<'a> {
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Microseconds since the start of the process.
    ts: f64,
    pid: u32,
    tid: u64,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

impl ChromeFile {
    /// Begins the file.
    pub(super) fn begin(target: &Target) -> Result<Self, Error> {
        let (growing, file) = target.grow()?;
        let mut written =
            Written { file: BufWriter::new(file), threads: BTreeSet::new(), failure: None, is_over: false };
        written.write(b"[\n");
        written.event(&metadata("process_name", 1, "nrv"), "");
        written.flush();
        match written.failure.take() {
            Some(error) => Err(growing.failed(&error)),
            None => Ok(ChromeFile { growing, written: Mutex::new(written) }),
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes that a span begins. All before it reaches the file, so that a process that is killed leaves what it did.
    pub(super) fn begin_span(&self, seen: &Seen) {
        let mut written = self.written();
        if written.threads.insert(seen.thread) {
            let name = std::thread::current().name().map_or_else(|| format!("thread {}", seen.thread), str::to_owned);
            written.event(&metadata("thread_name", seen.thread, &name), ",\n");
        }
        let (name, cat) = (Some(seen.title()), Some(seen.kind));
        let args = seen.attributes.since(0);
        let ph = if seen.is_apart() { "b" } else { "B" };
        written.event(&Event { ph, name, cat, args, ..at(seen, seen.begun) }, ",\n");
        written.flush();
    }

    /// Writes that a span ends, with the attributes that it has got since.
    pub(super) fn end_span(&self, seen: &Seen, at_end: Duration) {
        let args = seen.attributes.since(seen.told);
        let event = match seen.is_apart() {
            true => Event { ph: "e", name: Some(seen.title()), cat: Some(seen.kind), args, ..at(seen, at_end) },
            false => Event { ph: "E", args, ..at(seen, at_end) },
        };
        self.written().event(&event, ",\n");
    }

    /// Ends the file, and gives it its name.
    pub(super) fn finish(&self) -> Result<(), Error> {
        let mut written = self.written();
        written.write(b"\n]\n");
        written.flush();
        written.is_over = true;
        if let Some(error) = written.failure.take() {
            self.growing.keep()?;
            return Err(self.growing.failed(&error));
        }
        self.growing.keep()
    }

    /// Gives the unfinished file its name.
    pub(super) fn keep(&self) {
        match self.written.try_lock() {
            Ok(mut written) => written.flush(),
            Err(TryLockError::Poisoned(written)) => written.into_inner().flush(),
            // The thread that writes may stand still.
            Err(TryLockError::WouldBlock) => {}
        }
        let _ = self.growing.keep();
    }
}

impl Written {
    fn event(&mut self, event: &impl Serialize, before: &str) {
        let text = serde_json::to_string(event).unwrap_or_default();
        self.write(before.as_bytes());
        self.write(text.as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() && !self.is_over {
            self.failure = self.file.write_all(bytes).err();
        }
    }

    fn flush(&mut self) {
        if self.failure.is_none() {
            self.failure = self.file.flush().err();
        }
    }
}

/// An event of a span's thread.
fn at(seen: &Seen, at: Duration) -> Event<'static> {
    let id = seen.is_apart().then_some(seen.serial);
    let ts = at.as_nanos() as f64 / 1000.0;
    Event { ph: "", name: None, cat: None, id, ts, pid: std::process::id(), tid: seen.thread, args: Map::new() }
}

fn metadata(what: &str, thread: u64, name: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": std::process::id(), "tid": thread, "args": {"name": name}})
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests read files")]

    use super::*;

    #[test]
    fn a_file_has_its_name_once_it_is_whole_and_a_stream_overlaps_calls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let file = ChromeFile::begin(&Target::of(&path, "a trace").unwrap()).unwrap();
        let stream = Seen::of(7, "stream", &[("name", json!("llm.stream")), ("position", json!("1"))]);
        let call = Seen::of(8, "call", &[("name", json!("files.read"))]);
        file.begin_span(&stream);
        file.begin_span(&call);
        assert!(!path.exists());
        file.end_span(&stream, Duration::from_nanos(8_000_500));
        file.end_span(&call, Duration::from_millis(9));
        file.finish().unwrap();
        file.begin_span(&Seen::of(9, "run", &[]));
        let events: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let told: Vec<Value> =
            events[2..].iter().map(|event| json!([event["ph"], event["name"], event["id"], event["ts"]])).collect();
        let (name, call) = ("llm.stream", "files.read");
        let expected = json!([
            ["b", name, 7, 7000.0],
            ["B", call, null, 8000.0],
            ["e", name, 7, 8000.5],
            ["E", null, null, 9000.0]
        ]);
        assert_eq!(json!(told), expected);
        assert_eq!(events[2]["args"], json!({"position": "1"}));
        assert!(events[4].get("args").is_none(), "what was told is not told again: {}", events[4]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
