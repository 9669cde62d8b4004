//! The new places of links.

use url::Url;

/// Scheme, host and port, as the URL standard compares them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    /// `http` or `https`.
    pub(super) scheme: String,
    pub(super) host: String,
    port: u16,
}

impl Origin {
    /// The origin of a URL, without the dot that may end a host: names of hosts mean the same with it.
    pub(super) fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let host = url.host_str()?;
        let host = host.strip_suffix('.').filter(|name| !name.is_empty()).unwrap_or(host).to_owned();
        Some(Origin { scheme: url.scheme().to_owned(), host, port: url.port_or_known_default()? })
    }

    /// Host, and port if it is not the scheme's own.
    pub(super) fn authority(&self) -> String {
        match (self.scheme.as_str(), self.port) {
            ("http", 80) | ("https", 443) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    /// Scheme and authority.
    pub(super) fn text(&self) -> String {
        format!("{}://{}", self.scheme, self.authority())
    }
}

/// The new place of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The new origin.
    pub(super) origin: Origin,
    /// The prefix of each link's path: a path without its last slash, or nothing.
    pub(super) prefix: String,
}
