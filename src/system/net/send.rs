//! Sends one request and passes the answer on as it arrives.
//!
//! Every request has a connection of its own. A server may close a kept one just when it is reused, and a POST can't be sent
//! twice. No redirect is followed. Proxy and certificates come from the caller; the environment is not read.

use std::{
    collections::BTreeMap,
    error, fmt,
    io::{self, Read},
    time::Duration,
};

use ureq::{
    Agent, Body, BodyReader, Proxy,
    http::{Method, Request, Response},
    tls::{self, PemItem, RootCerts, TlsConfig},
};
use url::Url;

use super::{
    MAX_HEAD,
    cancel::{Cancel, Listener},
    reason,
    secret::Secret,
};

/// The time limit of a connection attempt.
const CONNECT: Duration = Duration::from_secs(10);

/// The route of requests.
#[derive(Clone, Default)]
pub struct Sender {
    proxy: Option<Proxy>,
    tls: TlsConfig,
}

/// A request.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// The method.
    pub method: Method,
    /// The URL; `http` or `https`, without user and password.
    pub url: &'a str,
    /// Names and values of headers.
    pub headers: &'a [(&'a str, String)],
    /// A header that ends with a secret: its name, the prefix, the secret.
    pub secret: Option<(&'a str, &'a str, &'a Secret)>,
    /// The body; empty for none.
    pub body: &'a [u8],
    /// The longest silence.
    pub read_ms: u64,
    /// The time limit of the whole exchange.
    pub total_ms: u64,
}

/// The answer of a server.
#[derive(Debug)]
pub struct Answered {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case; of several with one name, the first.
    pub headers: BTreeMap<String, String>,
    /// The body as it arrives. Its errors hold a [`Failure`].
    pub body: Incoming,
}

/// A body that is still coming.
pub struct Incoming {
    body: BodyReader<'static>,
    cancel: Cancel,
    _listener: Listener,
}

/// The reason for a missing or incomplete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It was cancelled.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// The server can't be reached, for this reason.
    Unreachable(String),
    /// The connection can't be made secure, for this reason: the server's certificate is not trusted, or it speaks plain HTTP.
    Untrusted(String),
    /// The server closed the connection before the end.
    Closed,
    /// The answer is not HTTP.
    Garbled,
    /// The request can't be sent, for this reason.
    Unsendable(String),
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A proxy's URL may have a password.
        f.debug_struct("Sender").field("has_proxy", &self.proxy.is_some()).finish_non_exhaustive()
    }
}

impl Sender {
    /// Uses a proxy, given as `http://HOST:PORT`, or `http://USER:PASSWORD@HOST:PORT`.
    pub fn with_proxy(mut self, url: &str) -> Result<Self, Failure> {
        let unusable = || Failure::Unsendable("the proxy is no `http` or `https` URL".to_owned());
        let scheme = Url::parse(url).map_err(|_| unusable())?;
        if !matches!(scheme.scheme(), "http" | "https") {
            return Err(unusable());
        }
        self.proxy = Some(Proxy::new(url).map_err(|_| unusable())?);
        Ok(self)
    }

    /// Trusts the certificates of a PEM text, and no others.
    pub fn with_roots(mut self, pem: &str) -> Result<Self, Failure> {
        let unusable = || Failure::Unsendable("the certificates are no PEM text".to_owned());
        let mut roots = Vec::new();
        for item in tls::parse_pem(pem.as_bytes()) {
            if let PemItem::Certificate(root) = item.map_err(|_| unusable())? {
                roots.push(root);
            }
        }
        if roots.is_empty() {
            return Err(unusable());
        }
        self.tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&roots)).build();
        Ok(self)
    }

    /// Sends a request and returns as soon as the head of its answer is there.
    pub fn send(&self, exchange: &Exchange<'_>, cancel: &Cancel) -> Result<Answered, Failure> {
        check(exchange.url)?;
        let agent = self.agent(exchange);
        let held = agent.clone();
        let listener = cancel.listen(move || held.shutdown());
        let response = perform(&agent, exchange).map_err(|error| failure(&error, cancel))?;
        let headers = headers(&response);
        let status = response.status().as_u16();
        let body = Incoming { body: response.into_body().into_reader(), cancel: cancel.clone(), _listener: listener };
        Ok(Answered { status, headers, body })
    }

    fn agent(&self, exchange: &Exchange<'_>) -> Agent {
        let total = Duration::from_millis(exchange.total_ms);
        let config = Agent::config_builder()
            .proxy(self.proxy.clone())
            .tls_config(self.tls.clone())
            .max_redirects(0)
            .http_status_as_error(false)
            .max_response_header_size(MAX_HEAD)
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT.min(total)))
            .timeout_per_read(Some(Duration::from_millis(exchange.read_ms)))
            .timeout_global(Some(total))
            .user_agent(concat!("nrv/", env!("CARGO_PKG_VERSION")));
        config.build().into()
    }
}

fn check(url: &str) -> Result<(), Failure> {
    let refuse = |reason: &str| Err(Failure::Unsendable(reason.to_owned()));
    let Ok(url) = Url::parse(url) else { return refuse("the URL is none") };
    match url.scheme() {
        "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
            refuse("the URL has a user or a password")
        }
        "http" | "https" => Ok(()),
        _ => refuse("the URL is neither `http` nor `https`"),
    }
}

fn perform(agent: &Agent, exchange: &Exchange<'_>) -> Result<Response<Body>, ureq::Error> {
    let secret = exchange.secret.map(|(name, before, secret)| (name, format!("{before}{}", secret.text())));
    let headers = exchange.headers.iter().map(|(name, value)| (*name, value.as_str()));
    let headers = headers.chain(secret.as_ref().map(|(name, value)| (*name, value.as_str())));
    let request = Request::builder().method(exchange.method.clone()).uri(exchange.url);
    let request = headers.fold(request, |request, (name, value)| request.header(name, value));
    match exchange.body {
        [] if matches!(exchange.method, Method::GET | Method::HEAD | Method::DELETE) => agent.run(request.body(())?),
        body => agent.run(request.body(body)?),
    }
}

fn headers(response: &Response<Body>) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for (name, value) in response.headers() {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        headers.entry(name.as_str().to_owned()).or_insert(value);
    }
    headers
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.body.read(buffer) {
            // A connection that was shut down may seem to have ended normally.
            Ok(0) if self.cancel.is_cancelled() => Err(io::Error::other(Failure::Cancelled)),
            Ok(length) => Ok(length),
            Err(error) => {
                let error = error.downcast::<ureq::Error>().unwrap_or_else(ureq::Error::Io);
                Err(io::Error::other(failure(&error, &self.cancel)))
            }
        }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

fn failure(error: &ureq::Error, cancel: &Cancel) -> Failure {
    if cancel.is_cancelled() {
        return Failure::Cancelled;
    }
    match error {
        ureq::Error::Timeout(_) => Failure::TimedOut,
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Failure::Closed,
            io::ErrorKind::TimedOut => Failure::TimedOut,
            // TLS reports refused certificates so.
            io::ErrorKind::InvalidData => Failure::Untrusted(error.to_string()),
            _ => Failure::Unreachable(reason(&ureq::Error::Io(io::Error::new(error.kind(), error.to_string())))),
        },
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => Failure::Untrusted(error.to_string()),
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => Failure::Garbled,
        // Its text could quote a header, and with it the secret.
        ureq::Error::Http(_) => Failure::Unsendable("a header has characters that headers can't have".to_owned()),
        error => Failure::Unreachable(reason(error)),
    }
}

impl Failure {
    /// The failure in the error of an [`Incoming`]; errors of other readers are a closed connection.
    pub fn of(error: &io::Error) -> Failure {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Failure>()).cloned().unwrap_or(Failure::Closed)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Cancelled => f.write_str("it was cancelled"),
            Failure::TimedOut => f.write_str("it took too long"),
            Failure::Closed => f.write_str("the connection was closed"),
            Failure::Garbled => f.write_str("what came is no HTTP response"),
            Failure::Unreachable(reason) | Failure::Untrusted(reason) | Failure::Unsendable(reason) => {
                f.write_str(reason)
            }
        }
    }
}

impl error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(url: &str) -> Exchange<'_> {
        Exchange { method: Method::POST, url, headers: &[], secret: None, body: b"{}", read_ms: 5000, total_ms: 5000 }
    }

    #[track_caller]
    fn unsendable(url: &str, reason: &str) {
        let error = Sender::default().send(&exchange(url), &Cancel::default()).unwrap_err();
        assert_eq!(error, Failure::Unsendable(reason.to_owned()));
    }

    #[test]
    fn only_plain_urls_of_http_are_sent_to() {
        unsendable("file:///etc/hostname", "the URL is neither `http` nor `https`");
        unsendable("http://user:word@127.0.0.1:1/", "the URL has a user or a password");
        unsendable("/v1/models", "the URL is none");
    }

    #[test]
    fn a_secret_shows_nowhere() {
        let secret = Secret::new(" sk-canary-1234\n");
        let exchange = Exchange { secret: Some(("x-api-key", "", &secret)), ..exchange("http://127.0.0.1:1/") };
        let error = Sender::default().send(&exchange, &Cancel::default()).unwrap_err();
        let shown = format!("{exchange:?} {error:?} {error} {secret:?}");
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(secret.taken_out_of("bad key sk-canary-1234!"), "bad key [key]!");
    }

    #[test]
    fn a_secret_that_can_not_be_a_header_is_not_quoted() {
        let secret = Secret::new("sk-canary\n1234");
        let exchange = Exchange { secret: Some(("x-api-key", "", &secret)), ..exchange("http://127.0.0.1:1/") };
        let error = Sender::default().send(&exchange, &Cancel::default()).unwrap_err();
        assert!(matches!(error, Failure::Unsendable(_)), "{error:?}");
        assert!(!format!("{error:?}").contains("canary"));
    }

    #[test]
    fn a_closed_port_can_not_be_reached() {
        let error = Sender::default().send(&exchange("http://127.0.0.1:1/"), &Cancel::default()).unwrap_err();
        assert_eq!(error, Failure::Unreachable("the connection was refused".to_owned()));
    }

    #[test]
    fn a_way_that_is_none_is_refused_without_being_quoted() {
        for proxy in ["socks5://user:canary@127.0.0.1:1", "canary"] {
            let error = Sender::default().with_proxy(proxy).unwrap_err();
            assert!(!error.to_string().contains("canary"));
        }
        assert!(Sender::default().with_proxy("http://user:canary@127.0.0.1:3128").is_ok());
        Sender::default().with_roots("no certificate").unwrap_err();
    }

    #[test]
    fn what_was_cancelled_is_not_sent() {
        let cancel = Cancel::default();
        cancel.cancel();
        let error = Sender::default().send(&exchange("http://127.0.0.1:1/"), &cancel).unwrap_err();
        assert_eq!(error, Failure::Cancelled);
    }
}
