//! The requests of object stores, which `system::net` sends: it alone opens sockets.

use std::io::Read;

use async_trait::async_trait;
use http_body_util::BodyExt;
use object_store::{
    ClientConfigKey, ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    },
};

use crate::net::{Cancel, Exchange, Failure, Way};

/// The longest silence of a server, in milliseconds.
const SILENCE_MS: u64 = 60_000;

/// The time limit of one request, in milliseconds.
const TOTAL_MS: u64 = 600_000;

/// The most bytes of an answer.
const MOST: u64 = 1 << 30;

/// Makes connections by a route.
#[derive(Clone, Debug)]
pub(super) struct Connector(pub(super) Way);

/// A connection: each of its requests is a connection by itself.
#[derive(Debug)]
struct Connection {
    way: Way,
    /// True if requests may go without encryption.
    allow_http: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allow_http = options
            .get_config_value(&ClientConfigKey::AllowHttp)
            .is_some_and(|value| ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str()));
        Ok(HttpClient::new(Connection { way: self.0.clone(), allow_http }))
    }
}

#[async_trait]
impl HttpService for Connection {
    /// Sends a request. It blocks: a store has one request at a time.
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let url = head.uri.to_string();
        if !self.allow_http && url.starts_with("http:") {
            let reason =
                "it would go without encryption, which `AWS_ALLOW_HTTP=true`, or the same of another provider, permits";
            return Err(failed(Failure::Unsendable(reason.to_owned())));
        }
        let headers: Vec<(&str, String)> = head
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let exchange = Exchange {
            method: head.method,
            url: &url,
            headers: &headers,
            secret: None,
            body: &body,
            read_ms: SILENCE_MS,
            total_ms: TOTAL_MS,
        };
        let sender = self.way.sender(&url).map_err(failed)?;
        let answered = sender.send(&exchange, &Cancel::default()).map_err(failed)?;
        let mut bytes = Vec::new();
        answered.body.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| failed(Failure::of(&error)))?;
        if bytes.len() as u64 > MOST {
            return Err(failed(Failure::Unsendable("the answer is larger than 1 GiB".to_owned())));
        }
        let response = http::Response::builder().status(answered.status);
        let response = answered.headers.iter().fold(response, |response, (name, value)| response.header(name, value));
        response.body(HttpResponseBody::from(bytes)).map_err(|error| HttpError::new(HttpErrorKind::Decode, error))
    }
}

fn failed(failure: Failure) -> HttpError {
    let kind = match failure {
        Failure::Unreachable(_) => HttpErrorKind::Connect,
        Failure::TimedOut => HttpErrorKind::Timeout,
        Failure::Closed => HttpErrorKind::Interrupted,
        Failure::Garbled => HttpErrorKind::Decode,
        Failure::Cancelled | Failure::Untrusted(_) | Failure::Unsendable(_) => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, failure)
}
