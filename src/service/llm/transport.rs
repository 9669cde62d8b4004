//! Carries requests to a server and its answers back.

use std::{collections::BTreeMap, fmt, io::Read};

use super::{error::of_failure, request::Timeouts};
use crate::{
    base::error::Error,
    system::net::{Cancel, Exchange, Secret, Sender},
};

/// Carries requests.
pub trait Transport: Send + Sync {
    /// Sends a request and returns when the head of its answer is there. What can't be sent, and who can't be reached, is an
    /// error; an answer is none, whatever it says.
    fn send(&self, outgoing: &Outgoing<'_>, cancel: &Cancel) -> Result<Received, Error>;

    /// What must not be in anything that comes back.
    fn secret(&self) -> Option<&Secret> {
        None
    }
}

/// A request as it is sent, but for the key.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// Where to.
    pub url: &'a str,
    /// Names and values of headers.
    pub headers: &'a [(&'a str, String)],
    /// The header that the key goes into, and what stands before the key.
    pub auth: (&'a str, &'a str),
    /// What is posted; none asks with GET.
    pub body: Option<&'a str>,
    /// How long it may take.
    pub timeouts: Timeouts,
}

/// An answer whose body is still coming.
pub struct Received {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body. Its errors hold a [`crate::system::net::Failure`].
    pub body: Box<dyn Read + Send>,
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received").field("status", &self.status).finish_non_exhaustive()
    }
}

/// HTTP, with a key if the server wants one.
#[derive(Clone, Debug, Default)]
pub struct Http {
    sender: Sender,
    key: Option<Secret>,
}

impl Http {
    /// Sends this way, with this key.
    pub fn new(sender: Sender, key: Option<Secret>) -> Self {
        Http { sender, key }
    }
}

impl Transport for Http {
    fn send(&self, outgoing: &Outgoing<'_>, cancel: &Cancel) -> Result<Received, Error> {
        let (name, before) = outgoing.auth;
        let exchange = Exchange {
            url: outgoing.url,
            headers: outgoing.headers,
            secret: self.key.as_ref().map(|key| (name, before, key)),
            body: outgoing.body.map(str::as_bytes),
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
