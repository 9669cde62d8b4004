//! Messages as requests to a URL. Whoever asks opens the connection; what comes back is bounded here.
#![expect(
    clippy::disallowed_types,
    reason = "the trait of the SDK has headers in such a map; they are sorted before they are sent"
)]

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    io::Read,
    sync::Arc,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcRequest, ServerJsonRpcMessage},
    transport::streamable_http_client::{StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse},
};
use sse_stream::{Error as SseError, Sse, SseStream};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::{Stream, StreamExt, wrappers::ReceiverStream};

use super::watch::{Clean, MESSAGE, Watch, read};
use crate::threads;
use base::text::{escape, shortened};

/// Pieces of an answer that wait to be taken.
const WAITING: usize = 16;

/// Bytes of a piece.
const PIECE: usize = 16 << 10;

/// The remedy of a URL at which there is no server.
const WRONG_URL: &str = "correct `url`";

/// The end of a conversation.
const ENDED: &str = "the conversation with the server is over";

/// Characters of a header that an error shows.
const SHOWN: usize = 100;

/// The header with the session of a server.
const SESSION: &str = "mcp-session-id";

/// A request: a POST with headers and a body.
#[derive(Debug)]
pub struct Post {
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The answer to a request.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, as it arrives.
    pub body: Box<dyn Read + Send>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Sends requests to a server, from any thread.
pub trait Web: Send + Sync {
    /// Sends a request, and returns as soon as the head of its answer is there; the reason why it can't, as a phrase.
    fn post(&self, post: &Post) -> Result<Answer, String>;

    /// The text without what nobody may see, such as a token that the server repeats.
    fn clean(&self, text: &str) -> String;
}

/// The reason why a request was not answered.
#[derive(Debug)]
pub(super) struct Unanswered(String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

type Fault = StreamableHttpError<Unanswered>;
type Events = std::pin::Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

/// The client of the SDK's transport.
#[derive(Clone)]
pub(super) struct Posts {
    pub(super) web: Arc<dyn Web>,
    pub(super) watch: Arc<Watch>,
}

impl StreamableHttpClient for Posts {
    type Error = Unanswered;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let mut headers = vec![
            ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        let text =
            |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
        headers.extend(custom_headers.iter().filter_map(text).collect::<BTreeMap<_, _>>());
        headers.extend(session_id.iter().map(|id| (SESSION.to_owned(), id.to_string())));
        let post = Post { headers, body: serde_json::to_vec(&message)? };
        let web = Arc::clone(&self.web);
        let answer = apart(move || web.post(&post)).await?;
        let answer = answer.map_err(|reason| self.blamed(format!("can't be reached: {reason}"), None))?;
        self.understood(&message, session_id.is_some(), answer).await
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        _session_id: Arc<str>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        // Servers end sessions that nobody uses.
        Err(Fault::ServerDoesNotSupportDeleteSession)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Fault> {
        // Whoever asks looks at the tools before each call, and declines all questions.
        Err(Fault::ServerDoesNotSupportSse)
    }
}

impl Posts {
    async fn understood(
        &self,
        message: &ClientJsonRpcMessage,
        has_session: bool,
        answer: Answer,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let Answer { status, headers, body } = answer;
        let session = headers.get(SESSION).cloned();
        let kind = headers.get("content-type").map_or("", |kind| kind.split(';').next().unwrap_or_default().trim());
        let is_json = kind.eq_ignore_ascii_case("application/json");
        match status {
            202 | 204 if matches!(message, ClientJsonRpcMessage::Request(_)) => {
                Err(self.blamed(format!("answers a request with status {status}, which is no answer"), None))
            }
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            200..300 if kind.eq_ignore_ascii_case("text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(self.events(body)?, session))
            }
            200..300 if is_json => {
                let text = self.whole(body).await?;
                let message = self.watch.message(&text, Some(&|text| self.web.clean(text))).ok_or_else(ended)?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            200..300 if !matches!(message, ClientJsonRpcMessage::Request(_)) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            200..300 => {
                let phrase = match kind {
                    "" => "answers with something that has no type".to_owned(),
                    // What is cut off could be a part of the secret.
                    kind => format!("answers with `{}`", escape(&shortened(&self.web.clean(kind), SHOWN))),
                };
                Err(self.blamed(format!("{phrase}, which is not of the protocol"), Some(WRONG_URL)))
            }
            400..500 if !matches!(status, 401 | 403 | 429) => {
                let refusal = match unknown_to_older(message) {
                    // A server of before that question does not know it.
                    Some(refusal) => Some(refusal),
                    None if is_json => {
                        let text = self.whole(body).await?;
                        let is_admitted = self.watch.admits(&text);
                        is_admitted.then(|| refusal(message, &text, &|text| self.web.clean(text))).flatten()
                    }
                    None => None,
                };
                match refusal {
                    // The SDK would begin another session and call again.
                    Some(refusal) if !(status == 404 && has_session) => {
                        Ok(StreamableHttpPostResponse::Json(refusal, session))
                    }
                    _ => Err(self.status(status, has_session, &headers)),
                }
            }
            _ => Err(self.status(status, has_session, &headers)),
        }
    }

    /// The fault of an answer with a status that is no success.
    fn status(&self, status: u16, has_session: bool, headers: &BTreeMap<String, String>) -> Fault {
        let (phrase, hint) = match status {
            300..=399 => (format!("answers with a redirect, status {status}, which is not followed"), Some(WRONG_URL)),
            401 | 403 => (
                format!("refuses the request with status {status}"),
                Some("check the token that `token_env` or `token_file` names"),
            ),
            404 if has_session => ("has ended the session".to_owned(), None),
            404 | 405 | 410 => (format!("answers with status {status}"), Some(WRONG_URL)),
            _ => match headers.get("retry-after").and_then(|wait| wait.parse::<u32>().ok()) {
                Some(wait) => (format!("answers with status {status}, and asks to wait for {wait} s"), None),
                None => (format!("answers with status {status}"), None),
            },
        };
        self.blamed(phrase, hint)
    }

    /// Ends the conversation for a reason, which is shown without the secret.
    fn blamed(&self, phrase: String, hint: Option<&'static str>) -> Fault {
        self.watch.blame(self.web.clean(&phrase), hint);
        ended()
    }

    /// All of a body.
    async fn whole(&self, body: Box<dyn Read + Send>) -> Result<Vec<u8>, Fault> {
        let most = MESSAGE as u64;
        let read = apart(move || {
            let mut bytes = Vec::new();
            body.take(most + 1).read_to_end(&mut bytes).map(|_| bytes)
        });
        let bytes = read.await?.map_err(|error| self.blamed(broken_off(&error), None))?;
        if self.watch.fits(bytes.len()) && self.watch.hears(bytes.len()) { Ok(bytes) } else { Err(ended()) }
    }

    /// The events of a body, as they come.
    fn events(&self, mut body: Box<dyn Read + Send>) -> Result<Events, Fault> {
        let (pieces, incoming) = mpsc::channel::<Result<Bytes, std::io::Error>>(WAITING);
        let posts = self.clone();
        let read = move || {
            let (mut piece, mut event) = (vec![0; PIECE], EventSize::default());
            loop {
                let read = match body.read(&mut piece) {
                    Ok(0) => return,
                    Ok(read) => &piece[..read],
                    Err(error) => {
                        posts.blamed(broken_off(&error), None);
                        return;
                    }
                };
                if !posts.watch.hears(read.len()) || !posts.watch.fits(event.with(read)) {
                    return;
                }
                if pieces.blocking_send(Ok(Bytes::copy_from_slice(read))).is_err() {
                    return;
                }
            }
        };
        threads::start(read).map_err(|error| Fault::Client(Unanswered(error.message().to_owned())))?;
        let events = SseStream::from_bytes_stream(ReceiverStream::new(incoming));
        let posts = self.clone();
        Ok(Box::pin(events.map(move |event| event.and_then(|event| posts.checked(event)))))
    }

    /// The event with a message of the server in bounds, and without the secret.
    fn checked(&self, event: Sse) -> Result<Sse, SseError> {
        let is_message = event.event.as_ref().is_none_or(|kind| kind.is_empty() || kind == "message");
        let data = event.data.filter(|data| is_message && !data.trim().is_empty());
        let unusable = || SseError::Body(Box::new(Unanswered(ENDED.to_owned())));
        let data = data.map(|data| {
            let message =
                self.watch.message(data.as_bytes(), Some(&|text| self.web.clean(text))).ok_or_else(unusable)?;
            serde_json::to_string(&message).map_err(|error| SseError::Body(Box::new(error)))
        });
        Ok(Sse { data: data.transpose()?, ..event })
    }
}

/// The bytes since the end of the last event of a stream.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    /// Bytes of its last line.
    line: usize,
}

impl EventSize {
    /// The largest size that an event has with the piece that follows.
    fn with(&mut self, piece: &[u8]) -> usize {
        let mut largest = self.bytes;
        for byte in piece {
            self.bytes += 1;
            largest = largest.max(self.bytes);
            match byte {
                b'\n' if self.line == 0 => self.bytes = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
        }
        largest
    }
}

/// The error for the SDK, of a conversation whose fault is known.
fn ended() -> Fault {
    Fault::Client(Unanswered(ENDED.to_owned()))
}

fn broken_off(error: &std::io::Error) -> String {
    format!("broke off its answer: {error}")
}

/// The refusal of a request that the body of an answer is, as an answer to it; none if it is none.
fn refusal(message: &ClientJsonRpcMessage, body: &[u8], clean: Clean<'_>) -> Option<ServerJsonRpcMessage> {
    let ClientJsonRpcMessage::Request(JsonRpcRequest { id, .. }) = message else { return None };
    match read(body, Some(clean)) {
        Ok(ServerJsonRpcMessage::Error(refusal)) => Some(ServerJsonRpcMessage::error(refusal.error, Some(id.clone()))),
        _ => None,
    }
}

/// Does work that blocks, on a thread of its own.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    let unanswered = |reason: &str| Fault::Client(Unanswered(reason.to_owned()));
    let (tell, told) = oneshot::channel();
    // If nobody waits any more, nobody is told.
    let work = move || drop(tell.send(work()));
    threads::start(work).map_err(|error| unanswered(error.message()))?;
    told.await.map_err(|_| unanswered("its thread broke"))
}

/// The refusal of a question that only newer servers know; none for another message.
fn unknown_to_older(message: &ClientJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
    let ClientJsonRpcMessage::Request(JsonRpcRequest { id, request: ClientRequest::DiscoverRequest(_), .. }) = message
    else {
        return None;
    };
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "the server does not know the question", None);
    Some(ServerJsonRpcMessage::error(error, Some(id.clone())))
}
