//! The names by which a request may call the server, and the pages that it may come from: compared exactly, and given once.
//!
//! A browser sends a page's requests to any address. Another name than the server's shows that a foreign page asks.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

/// The names of a server.
pub(super) struct Names {
    /// The values of `Host`.
    hosts: Vec<String>,
    /// The beginnings of `Origin`; a port may follow.
    origins: Vec<String>,
}

impl Names {
    /// The names of a server at an address: those of this machine, and others as its user gave them.
    pub(super) fn new(address: SocketAddr, given: &[String]) -> Self {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let own = ["localhost", "127.0.0.1", "[::1]", &ip];
        let at = |name: &str| format!("{name}:{}", address.port());
        let mut hosts: Vec<String> = own.into_iter().map(at).collect();
        hosts.extend(given.iter().flat_map(|name| [name.clone(), at(name)]));
        if address.port() == 80 {
            hosts.extend(own.map(str::to_owned));
        }
        let local = own[..3].iter().map(|name| format!("http://{name}"));
        let origins = local.chain(given.iter().map(|name| format!("https://{name}"))).collect();
        Names { hosts, origins }
    }

    /// The reason for which a request is not meant for this server; none if it is.
    pub(super) fn refusal(&self, target: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        if target.scheme().is_some() || target.authority().is_some() || !target.path().starts_with('/') {
            return Some("the target of a request is a path");
        }
        let is_own = |host: &HeaderValue| self.hosts.iter().any(|own| host == own.as_str());
        if !only(headers, &header::HOST).is_some_and(is_own) {
            return Some("`Host` is not the name of this server");
        }
        let is_near = |origin: &HeaderValue| {
            let origin = origin.to_str().unwrap_or_default();
            self.origins.iter().any(|own| origin.strip_prefix(own.as_str()).is_some_and(is_port))
        };
        if headers.contains_key(header::ORIGIN) && !only(headers, &header::ORIGIN).is_some_and(is_near) {
            return Some("`Origin` is not a page of this machine");
        }
        None
    }
}

/// The value of a header that is given exactly once.
pub(super) fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// True for nothing, and for a colon with a port as browsers write it.
fn is_port(rest: &str) -> bool {
    let port = rest.strip_prefix(':').map(|port| (port, port.parse::<u16>()));
    rest.is_empty() || matches!(port, Some((text, Ok(number))) if number > 0 && number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, headers: &[(&str, &str)], passes: bool) {
        let names = Names::new("127.0.0.1:8123".parse().unwrap(), &["nrv.example.com".to_owned()]);
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (HeaderName::try_from(*name).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
            })
            .collect::<Vec<_>>()
            .into_iter()
            .fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            });
        let refusal = names.refusal(&target.parse().unwrap(), &headers);
        assert_eq!(refusal.is_none(), passes, "{target} {headers:?}: {refusal:?}");
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8123");

    #[test]
    fn a_host_is_one_and_exactly_one_of_the_server() {
        for host in ["127.0.0.1:8123", "localhost:8123", "[::1]:8123", "nrv.example.com", "nrv.example.com:8123"] {
            check("/mcp", &[("host", host)], true);
        }
        let foreign = [
            "",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:80",
            "127.0.0.1:08123",
            "127.0.0.1:8123:8123",
            "LOCALHOST:8123",
            "Localhost:8123",
            "localhost.:8123",
            "localhost.evil:8123",
            "localhost:8123.evil",
            "a@localhost:8123",
            "localhost:8123@evil",
            "127.1:8123",
            "2130706433:8123",
            "0x7f000001:8123",
            "::1:8123",
            "[::1]",
            "[::]:8123",
            "evil.com",
            "evil.com:8123",
            "nrv.example.com.",
            "NRV.example.com",
            "xnrv.example.com",
            "nrv.example.com:443",
            "localhost:8123, evil.com",
            "localhost:8123/",
            "localhost:8123#",
            "[::ffff:127.0.0.1]:8123",
            "localhost:+8123",
            "l\u{f6}calhost:8123",
        ];
        for host in foreign {
            check("/mcp", &[("host", host)], false);
        }
        check("/mcp", &[], false);
        check("/mcp", &[HOST, HOST], false);
        check("/mcp", &[HOST, ("host", "evil.com")], false);
    }

    #[test]
    fn an_origin_is_one_page_of_this_machine_or_none() {
        check("/mcp", &[HOST], true);
        let near = [
            "http://localhost",
            "http://localhost:6274",
            "http://127.0.0.1:80",
            "http://[::1]:1",
            "https://nrv.example.com",
        ];
        for origin in near {
            check("/mcp", &[HOST, ("origin", origin)], true);
        }
        let foreign = [
            "",
            "null",
            "file://",
            "http://evil.com",
            "http://localhost.evil.com",
            "http://localhost:1.evil.com",
            "http://localhost:80@evil.com",
            "http://a@localhost",
            "http://127.0.0.1:80#.evil.com",
            "http://localhost/",
            "http://localhost:80/",
            "http://localhost:",
            "http://localhost:0",
            "http://localhost:65536",
            "http://localhost:+1",
            "http://localhost:080",
            "http://localhost.",
            "http://LOCALHOST",
            "HTTP://localhost",
            "https://localhost",
            "http://nrv.example.com",
            "https://nrv.example.com.",
            "https://nrv.example.com.evil.com",
            "http://localhost?x",
            "http://localhost http://evil.com",
            "http://localhost,http://evil.com",
            "chrome-extension://abc",
            "http://127.0.0.1.:80",
        ];
        for origin in foreign {
            check("/mcp", &[HOST, ("origin", origin)], false);
        }
        check("/mcp", &[HOST, ("origin", "http://localhost"), ("origin", "http://evil.com")], false);
        check("/mcp", &[HOST, ("origin", "http://localhost"), ("origin", "http://localhost")], false);
    }

    #[test]
    fn a_target_is_a_path() {
        check("/mcp?x=1", &[HOST], true);
        for target in
            ["http://evil.com/mcp", "http://127.0.0.1:8123/mcp", "https://localhost:8123/mcp", "*", "127.0.0.1:8123"]
        {
            check(target, &[HOST], false);
        }
    }
}
