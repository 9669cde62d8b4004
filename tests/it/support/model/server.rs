//! A server of language models on the loopback interface. It sends exact bytes, right and wrong ones, and remembers its
//! requests.
#![expect(clippy::disallowed_methods, reason = "tests listen, and knock to stop listening")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use serde_json::Value;

use super::form;

/// A server; it stops listening when it is dropped.
pub(crate) struct ModelServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Its head in lower case, with all headers.
    pub(crate) head: String,
    /// Its path.
    pub(crate) path: String,
    /// Its body.
    pub(crate) body: String,
}

/// The bytes of an answer, write by write, and the fate of the connection after them.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    writes: Vec<Vec<u8>>,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Close,
    Reset,
    Hold,
    HalfClose,
}

/// The head of a stream in chunks.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Bytes as a chunk.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

impl Answer {
    /// These bytes, then the connection is closed.
    pub(crate) fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Answer { writes: vec![bytes.into()], end: End::Close }
    }

    /// A text with a status such as `429 Too Many Requests` and further headers, each with its line end.
    pub(crate) fn text(status: &str, headers: &str, body: &str) -> Self {
        Answer::bytes(format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()))
    }

    /// The same with JSON.
    pub(crate) fn json(status: &str, headers: &str, body: &Value) -> Self {
        Answer::text(status, &format!("content-type: application/json\r\n{headers}"), &body.to_string())
    }

    /// A stream of events, each in a chunk, with the end that HTTP wants.
    pub(crate) fn stream(events: &[impl AsRef<str>]) -> Self {
        let mut answer = Answer::begun(events);
        answer.writes.push(b"0\r\n\r\n".to_vec());
        answer
    }

    /// A stream of events that is cut off after the last of them.
    pub(crate) fn begun(events: &[impl AsRef<str>]) -> Self {
        let chunks = events.iter().map(|event| chunk(event.as_ref().as_bytes()));
        Answer { writes: [STREAM.as_bytes().to_vec()].into_iter().chain(chunks).collect(), end: End::Close }
    }

    /// A whole stream in which every byte is a chunk of its own.
    pub(crate) fn drop_by_drop(events: &[impl AsRef<str>]) -> Self {
        let bytes: Vec<u8> = events.iter().flat_map(|event| event.as_ref().bytes()).collect();
        let chunks = bytes.chunks(1).map(chunk);
        let writes = [STREAM.as_bytes().to_vec()].into_iter().chain(chunks).chain([b"0\r\n\r\n".to_vec()]);
        Answer { writes: writes.collect(), end: End::Close }
    }

    /// Further bytes.
    pub(crate) fn then(mut self, bytes: &[u8]) -> Self {
        self.writes.push(bytes.to_vec());
        self
    }

    /// Nothing more comes, and the connection stays open until the other side closes it.
    pub(crate) fn then_hold(self) -> Self {
        Answer { end: End::Hold, ..self }
    }

    /// The connection is dropped, which the other side sees as reset.
    pub(crate) fn then_reset(self) -> Self {
        Answer { end: End::Reset, ..self }
    }

    /// Nothing more comes, but the server goes on listening to this connection.
    pub(crate) fn then_half_close(self) -> Self {
        Answer { end: End::HalfClose, ..self }
    }

    fn send(&self, stream: &mut TcpStream) {
        match self.end {
            End::Reset => {}
            End::Close | End::Hold | End::HalfClose => take_last(stream),
        }
        // The client may be gone, as some tests intend.
        let sent = self.writes.iter().try_for_each(|bytes| stream.write_all(bytes).and_then(|()| stream.flush()));
        match (sent, self.end) {
            (Ok(()), End::Hold) => drop(stream.read(&mut [0; 1])),
            (Ok(()), End::HalfClose) => {
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read(&mut [0; 1]);
            }
            (Ok(()), End::Close | End::Reset) | (Err(_), _) => {}
        }
    }
}

impl ModelServer {
    /// Every connection goes to the script once its request was read.
    pub(crate) fn start(script: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        ModelServer::listen(move |_, stream| {
            take_last(stream);
            script(stream);
        })
    }

    /// Every connection goes to the script with its request, whose last byte is still to be read.
    fn listen(script: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, is_over): (Arc<Mutex<Vec<Asked>>>, Arc<AtomicBool>) = (Arc::default(), Arc::default());
        let (heard, over, script) = (Arc::clone(&asked), Arc::clone(&is_over), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let (heard, script) = (Arc::clone(&heard), Arc::clone(&script));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let _ = stream.set_nodelay(true);
                    let Some(asked) = read_request(&mut stream) else { return };
                    heard.lock().unwrap().push(asked.clone());
                    script(&asked, &mut stream);
                });
            }
        });
        ModelServer { address, asked, is_over }
    }

    /// Every request is answered with this.
    pub(crate) fn answering(answer: Answer) -> Self {
        ModelServer::listen(move |_, stream| answer.send(stream))
    }

    /// Requests are answered with these in turn, the last of them for ever.
    pub(crate) fn in_turn(answers: impl IntoIterator<Item = Answer>) -> Self {
        let turns = Turns::new(answers);
        ModelServer::listen(move |_, stream| turns.next().send(stream))
    }

    /// A server with one model, `m`. Requests to it are answered with these in turn, the last of them for ever; requests for its
    /// capabilities are answered as the dialect wants.
    pub(crate) fn serving(dialect: &'static str, answers: impl IntoIterator<Item = Answer>) -> Self {
        let turns = Turns::new(answers);
        ModelServer::listen(move |asked, stream| match form::is_request(&asked.path) {
            true => turns.next().send(stream),
            false => Answer::json("200 OK", "", &form::discovery(dialect, &asked.path)).send(stream),
        })
    }

    /// `HOST:PORT`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// The base URL for a dialect.
    pub(crate) fn base_url(&self, dialect: &str) -> String {
        let path = if dialect.starts_with("openai") { "/v1" } else { "" };
        format!("http://{}{path}", self.address)
    }

    /// All requests, in their order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The requests for a reply alone.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| form::is_request(&asked.path)).collect()
    }
}

/// Answers, one after the other.
struct Turns {
    answers: Vec<Answer>,
    taken: AtomicUsize,
}

impl Turns {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Turns { answers: answers.into_iter().collect(), taken: AtomicUsize::new(0) }
    }

    fn next(&self) -> &Answer {
        let at = self.taken.fetch_add(1, Ordering::SeqCst);
        &self.answers[at.min(self.answers.len() - 1)]
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // A connection wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

/// Reads a request up to its last byte, which stays in the socket: a connection that is closed before it was read is reset.
fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let written = String::from_utf8(head).unwrap();
    let path = written.split(' ').nth(1)?.to_owned();
    let head = written.to_lowercase();
    let length: usize =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or_default();
    let mut body = vec![0; length];
    if let Some((last, rest)) = body.split_last_mut() {
        stream.read_exact(rest).ok()?;
        stream.peek(std::slice::from_mut(last)).ok()?;
    }
    Some(Asked { head, path, body: String::from_utf8(body).unwrap() })
}

/// Takes the byte that [`read_request`] left.
fn take_last(stream: &mut TcpStream) {
    let _ = stream.set_nonblocking(true);
    let _ = stream.read(&mut [0; 1]);
    let _ = stream.set_nonblocking(false);
}
