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
    transport::streamable_http_client::{
        HttpStatusError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Error as SseError, Sse, SseStream};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::{Stream, StreamExt, wrappers::ReceiverStream};

use super::pipes::{ALLOWANCE, MESSAGE, Watch};
use crate::system::threads;

/// Pieces of an answer that wait to be taken.
const WAITING: usize = 16;

/// Bytes of a piece.
const PIECE: usize = 16 << 10;

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

    /// The text of an answer without what nobody may see, such as a token that the server repeats.
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
        let answer = apart(move || web.post(&post)).await?.map_err(|reason| Fault::Client(Unanswered(reason)))?;
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
        match status {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if has_session => Err(Fault::SessionExpired),
            200..300 if kind.eq_ignore_ascii_case("text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(self.events(body)?, session))
            }
            200..300 if kind.eq_ignore_ascii_case("application/json") => {
                let text = self.whole(body).await?;
                Ok(StreamableHttpPostResponse::Json(serde_json::from_str(&text)?, session))
            }
            200..300 if !matches!(message, ClientJsonRpcMessage::Request(_)) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            200..300 => Err(Fault::UnexpectedContentType(Some(kind.to_owned()))),
            // A server of before that question does not know it.
            400..500 if !matches!(status, 401 | 403 | 429) => match unknown_to_older(message) {
                Some(refusal) => Ok(StreamableHttpPostResponse::Json(refusal, session)),
                None => Err(HttpStatusError::new(status, None).into()),
            },
            _ => Err(HttpStatusError::new(status, headers.get("retry-after").cloned()).into()),
        }
    }

    /// All of a body.
    async fn whole(&self, body: Box<dyn Read + Send>) -> Result<String, Fault> {
        let most = MESSAGE as u64;
        let read = apart(move || {
            let mut bytes = Vec::new();
            body.take(most + 1).read_to_end(&mut bytes).map(|_| bytes)
        });
        let bytes = read.await??;
        if bytes.len() > MESSAGE {
            self.watch.blame(format!("wrote a message of more than {MESSAGE} bytes"));
            return Err(Fault::ResponseBodyTooLarge { max_size: MESSAGE });
        }
        Ok(self.web.clean(&String::from_utf8_lossy(&bytes)))
    }

    /// The events of a body, as they come.
    fn events(&self, mut body: Box<dyn Read + Send>) -> Result<Events, Fault> {
        let (pieces, incoming) = mpsc::channel::<Result<Bytes, std::io::Error>>(WAITING);
        let watch = Arc::clone(&self.watch);
        let read = move || {
            let mut piece = vec![0; PIECE];
            loop {
                let read = match body.read(&mut piece) {
                    Ok(0) => return,
                    Ok(read) => Ok(Bytes::copy_from_slice(&piece[..read])),
                    Err(error) => Err(error),
                };
                if watch.hears(read.as_ref().map_or(0, Bytes::len)) > ALLOWANCE {
                    watch.blame(format!("wrote more than {ALLOWANCE} bytes for one request"));
                    return;
                }
                let is_last = read.is_err();
                if pieces.blocking_send(read).is_err() || is_last {
                    return;
                }
            }
        };
        threads::start(read).map_err(|error| Fault::Client(Unanswered(error.message().to_owned())))?;
        let web = Arc::clone(&self.web);
        let events = SseStream::from_bytes_stream(ReceiverStream::new(incoming));
        Ok(Box::pin(
            events.map(move |event| event.map(|event| Sse { data: event.data.map(|data| web.clean(&data)), ..event })),
        ))
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
