//! Carries requests to a server and its answers back.

use std::{collections::BTreeMap, fmt, io::Read};

use super::{error::of_failure, request::Timeouts};
use base::error::Error;
use system::net::{Cancel, Exchange, Method, Secret, Sender};

/// Carries requests.
pub trait Transport: Send + Sync {
    /// Sends a request and returns when the head of its answer is there. An unsendable request and an unreachable server are
    /// errors; an answer is not, whatever its status.
    fn send(&self, outgoing: &Outgoing<'_>, cancel: &Cancel) -> Result<Received, Error>;

    /// The secret to remove from everything that comes back.
    fn secret(&self) -> Option<&Secret> {
        None
    }
}

/// An outgoing request, except the key.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The URL.
    pub url: &'a str,
    /// Names and values of headers.
    pub headers: &'a [(&'a str, String)],
    /// The header for the key, and the prefix of the key.
    pub auth: (&'a str, &'a str),
    /// The body of a POST; none makes it a GET.
    pub body: Option<&'a str>,
    /// The time limits.
    pub timeouts: Timeouts,
}

/// An answer whose body is still coming.
pub struct Received {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body. Its errors hold a [`system::net::Failure`].
    pub body: Box<dyn Read + Send>,
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received").field("status", &self.status).finish_non_exhaustive()
    }
}

/// HTTP, with a key if the server needs one.
#[derive(Clone, Debug, Default)]
pub struct Http {
    sender: Sender,
    key: Option<Secret>,
}

impl Http {
    /// HTTP by this sender, with this key.
    pub fn new(sender: Sender, key: Option<Secret>) -> Self {
        Http { sender, key }
    }
}

impl Transport for Http {
    fn send(&self, outgoing: &Outgoing<'_>, cancel: &Cancel) -> Result<Received, Error> {
        let (name, before) = outgoing.auth;
        let exchange = Exchange {
            method: if outgoing.body.is_some() { Method::POST } else { Method::GET },
            url: outgoing.url,
            headers: outgoing.headers,
            secret: self.key.as_ref().map(|key| (name, before, key)),
            body: outgoing.body.unwrap_or_default().as_bytes(),
            read_ms: outgoing.timeouts.read_ms,
            total_ms: outgoing.timeouts.total_ms,
        };
        let answered = self.sender.send(&exchange, cancel).map_err(|failure| of_failure(&failure))?;
        Ok(Received { status: answered.status, headers: answered.headers, body: Box::new(answered.body) })
    }

    fn secret(&self) -> Option<&Secret> {
        self.key.as_ref()
    }
}
