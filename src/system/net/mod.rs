//! HTTP: the only opener of sockets. [`Client`] probes URLs, [`Sender`] sends a request and reads its answer, [`listen`] waits for clients.
//!
//! No redirect is followed, no cookies are sent, and the environment is not read. A [`Client`] sends no credentials, reads no
//! body and uses no proxy. The caller of either decides which URLs are permitted.

mod cancel;
mod listen;
mod random;
mod secret;
mod send;
mod way;

use std::{io, time::Duration};

use serde::Serialize;
use ureq::{Agent, Body, http::Response};
use url::Url;

pub use self::{
    cancel::{Cancel, Listener},
    listen::listen,
    random::random_bytes,
    secret::{Secret, Sieve},
    send::{Answered, Exchange, Failure, Incoming, Sender},
    way::{Way, is_loopback},
};
use crate::clock::Stopwatch;
pub use ureq::http::Method;

/// The time limit of one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bytes of a response's head that are read.
const MAX_HEAD: usize = 64 << 10;

/// The number of characters of a redirect's target that are kept.
const MAX_LOCATION: usize = 2048;

/// The limits of the requests.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The reason that a URL must not be probed; none if it may.
    pub refusal: &'a (dyn Fn(&Url) -> Option<String> + Sync),
    /// The time limit of all requests together.
    pub timeout_ms: u64,
    /// No request is begun once this is true.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Probes URLs one after the other, from any thread.
pub struct Client<'a> {
    agent: Agent,
    options: Options<'a>,
    watch: Stopwatch,
}

/// The result for a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The probed URL: without user, password and fragment.
    pub url: String,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
}

/// The answer for a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A server answered.
    Answered {
        /// The status.
        status: u16,
        /// The target of a redirect, as the server wrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        location: Option<String>,
    },
    /// No answer came, for this reason.
    Unanswered(String),
    /// The URL was not probed, for this reason.
    NotTried(String),
}

impl<'a> Client<'a> {
    /// A client whose time begins now.
    pub fn new(options: Options<'a>) -> Self {
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .max_response_header_size(MAX_HEAD)
            // A connection that a server keeps open must not affect the next request.
            .max_idle_connections(0)
            .user_agent(concat!("nrv/", env!("CARGO_PKG_VERSION")));
        Client { agent: config.build().into(), options, watch: Stopwatch::start() }
    }

    /// Probes a URL with HEAD, and with GET if the server's answer to HEAD is inconclusive.
    pub fn ask(&self, url: &str) -> Outcome {
        let mut parsed = match Url::parse(url) {
            Ok(parsed) => parsed,
            Err(error) => {
                return Outcome { url: url.to_owned(), answer: Answer::NotTried(format!("it is no URL: {error}")) };
            }
        };
        // These fail for URLs that can't have them.
        let _ = parsed.set_username("");
        let _ = parsed.set_password(None);
        parsed.set_fragment(None);
        let answer = match self.refusal(&parsed) {
            Some(reason) => Answer::NotTried(reason),
            None => self.requested(parsed.as_str()),
        };
        Outcome { url: parsed.into(), answer }
    }

    fn refusal(&self, url: &Url) -> Option<String> {
        match url.scheme() {
            "http" | "https" => (self.options.refusal)(url),
            scheme => Some(format!("`{scheme}` is neither `http` nor `https`")),
        }
    }

    fn requested(&self, url: &str) -> Answer {
        let head = match self.time_left() {
            Ok(time) => self.agent.head(url).config().timeout_global(Some(time)).build().call(),
            Err(reason) => return Answer::NotTried(reason),
        };
        let answer = answer(head);
        // Some servers lack HEAD, and not all of them report that.
        let unsure = matches!(answer, Answer::Answered { status, .. } if status == 405 || is_missing(status));
        match self.time_left() {
            Ok(time) if unsure => self::answer(self.agent.get(url).config().timeout_global(Some(time)).build().call()),
            Ok(_) | Err(_) => answer,
        }
    }

    /// The time limit of the next request; the reason if none may begin.
    fn time_left(&self) -> Result<Duration, String> {
        let left = Duration::from_millis(self.options.timeout_ms).saturating_sub(self.watch.elapsed());
        match () {
            () if (self.options.cancelled)() => Err("the run was cancelled".to_owned()),
            () if left.is_zero() => Err("the time was up".to_owned()),
            () => Ok(left.min(PATIENCE)),
        }
    }
}

impl Outcome {
    /// True if a request was made.
    pub fn was_tried(&self) -> bool {
        !matches!(self.answer, Answer::NotTried(_))
    }

    /// The fault of the URL, as a phrase that continues a sentence about it; none if a resource is there.
    pub fn fault(&self) -> Option<String> {
        match &self.answer {
            Answer::Answered { status, .. } => is_missing(*status).then(|| format!("was answered with {status}")),
            Answer::Unanswered(reason) => Some(format!("was not answered: {reason}")),
            Answer::NotTried(reason) => Some(format!("was not tried: {reason}")),
        }
    }

    /// The target of the redirect; none if there is no redirect.
    pub fn redirect(&self) -> Option<&str> {
        match &self.answer {
            Answer::Answered { location, .. } => location.as_deref(),
            Answer::Unanswered(_) | Answer::NotTried(_) => None,
        }
    }
}

/// True if the status means that the resource is missing, or that the server could not tell.
fn is_missing(status: u16) -> bool {
    matches!(status, 404 | 410 | 500..)
}

fn answer(result: Result<Response<Body>, ureq::Error>) -> Answer {
    match result {
        Ok(response) => {
            let header = response.headers().get("location").filter(|_| response.status().is_redirection());
            let text = header.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            let location = text.map(|text| text.chars().take(MAX_LOCATION).collect());
            Answer::Answered { status: response.status().as_u16(), location }
        }
        Err(error) => Answer::Unanswered(reason(&error)),
    }
}

/// The reason for a missing answer, in stable words.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "it took too long".to_owned(),
        ureq::Error::HostNotFound => "the host has no address".to_owned(),
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => "the connection was refused".to_owned(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                "the connection was closed".to_owned()
            }
            _ => error.to_string(),
        },
        ureq::Error::Protocol(_) | ureq::Error::Http(_) | ureq::Error::LargeResponseHeader(..) => {
            "what came is no HTTP response".to_owned()
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn not_tried(url: &str, timeout_ms: u64, cancelled: bool, expected: Outcome) {
        let refusal = |url: &Url| url.path().ends_with("/no").then(|| "it says no".to_owned());
        let cancelled = || cancelled;
        let client = Client::new(Options { refusal: &refusal, timeout_ms, cancelled: &cancelled });
        let outcome = client.ask(url);
        assert!(!outcome.was_tried());
        assert_eq!(outcome, expected);
    }

    fn outcome(url: &str, reason: &str) -> Outcome {
        Outcome { url: url.to_owned(), answer: Answer::NotTried(reason.to_owned()) }
    }

    #[test]
    fn what_may_not_be_asked_for_is_not() {
        not_tried("http://u:p@[::1]:1/no#x", 9000, false, outcome("http://[::1]:1/no", "it says no"));
        not_tried("file:///a", 9000, false, outcome("file:///a", "`file` is neither `http` nor `https`"));
        not_tried("/a", 9000, false, outcome("/a", "it is no URL: relative URL without a base"));
        not_tried("http://[::1]:1/", 0, false, outcome("http://[::1]:1/", "the time was up"));
        not_tried("http://[::1]:1/", 9000, true, outcome("http://[::1]:1/", "the run was cancelled"));
    }

    #[test]
    fn only_what_is_missing_speaks_against_a_url() {
        let answered = |status| Outcome { url: String::new(), answer: Answer::Answered { status, location: None } };
        for status in [200, 204, 301, 308, 400, 401, 403, 405, 429, 451] {
            assert_eq!(answered(status).fault(), None, "{status}");
        }
        for status in [404, 410, 500, 501, 503] {
            assert_eq!(answered(status).fault(), Some(format!("was answered with {status}")));
        }
    }

    #[test]
    fn an_outcome_is_written_as_what_it_is() {
        let wire = |answer| serde_json::to_value(Outcome { url: "u".to_owned(), answer }).unwrap();
        let location = Some("v".to_owned());
        let redirect = json!({"url": "u", "answered": {"status": 301, "location": "v"}});
        assert_eq!(wire(Answer::Answered { status: 301, location }), redirect);
        assert_eq!(
            wire(Answer::Answered { status: 200, location: None }),
            json!({"url": "u", "answered": {"status": 200}})
        );
        assert_eq!(wire(Answer::Unanswered("x".to_owned())), json!({"url": "u", "unanswered": "x"}));
    }

    #[test]
    fn a_closed_port_is_a_refused_connection() {
        let client = Client::new(Options { refusal: &|_| None, timeout_ms: 9000, cancelled: &|| false });
        let outcome = client.ask("http://127.0.0.1:1/x");
        assert_eq!(outcome.fault().unwrap(), "was not answered: the connection was refused");
    }
}
