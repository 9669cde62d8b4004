//! The hosts that network permissions name, compiled.

use url::{Host, Url};

/// Compiled entries of one list.
#[derive(Clone, Debug, Default)]
pub(super) struct HostSet(Vec<Pattern>);

/// `example.com`, `example.com:8080`, `*.example.com` or `*.example.com:8080`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// As URLs have it: lower case, Punycode; with a dot in front if it stands for subdomains.
    host: String,
    /// None: the port that the URL's scheme has of itself.
    port: Option<u16>,
}

impl HostSet {
    pub(super) fn new(hosts: &[String]) -> Result<Self, String> {
        hosts.iter().map(|host| compile(host)).collect::<Result<_, _>>().map(HostSet)
    }

    pub(super) fn covers(&self, url: &Url) -> bool {
        self.0.iter().any(|pattern| pattern.covers(url))
    }
}

impl Pattern {
    fn covers(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let same_host = match self.host.starts_with('.') {
            true => host.len() > self.host.len() && host.ends_with(&self.host),
            false => host == self.host,
        };
        let same_port = match self.port {
            // A URL does not keep a port that its scheme has of itself.
            None => url.port().is_none(),
            Some(port) => url.port_or_known_default() == Some(port),
        };
        same_host && same_port
    }
}

/// Compiles one entry; an error is a phrase that goes on after "`ENTRY`, which".
pub(super) fn compile(entry: &str) -> Result<Pattern, String> {
    if entry.contains('/') {
        return Err("is more than a host: leave out the scheme and the path".to_owned());
    }
    // The colons of an IPv6 address stand in brackets.
    let (name, port) = match entry.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        None => (entry, None),
        Some((name, port)) => {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            let number = port.parse::<u16>().ok().filter(|number| digits && *number > 0);
            (name, Some(number.ok_or("has a port that is no number from 1 to 65535")?))
        }
    };
    let (dot, name) = name.strip_prefix("*.").map_or(("", name), |rest| (".", rest));
    if name.contains('*') {
        return Err("has a `*` elsewhere than in `*.` at its beginning".to_owned());
    }
    let host = Host::parse(name).map_err(|error| format!("is no host: {error}"))?;
    if let (".", Host::Ipv4(_) | Host::Ipv6(_)) = (dot, &host) {
        return Err("is an address, which has no subdomains".to_owned());
    }
    Ok(Pattern { host: format!("{dot}{host}"), port })
}

/// True for the place of a server, which holds no user, password, query or fragment.
pub(super) fn is_server(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, covered: &[&str], others: &[&str]) {
        let pattern = compile(entry).unwrap();
        let covers = |url: &&str| pattern.covers(&Url::parse(url).unwrap());
        assert_eq!(covered.iter().filter(|url| !covers(url)).collect::<Vec<_>>(), [&""; 0], "not covered");
        assert_eq!(others.iter().filter(|url| covers(url)).collect::<Vec<_>>(), [&""; 0], "covered");
    }

    #[test]
    fn a_host_means_the_port_that_the_scheme_has_of_itself() {
        let covered =
            ["http://example.com/a", "https://example.com", "https://EXAMPLE.com:443/", "http://u:p@example.com:80"];
        check(
            "Example.com",
            &covered,
            &["https://example.com:8443", "http://www.example.com", "http://example.com.evil.org"],
        );
        check("example.com:8080", &["http://example.com:8080"], &["http://example.com", "http://example.com:80"]);
        check("example.com:443", &["https://example.com", "http://example.com:443"], &["http://example.com"]);
        check("[::1]:80", &["http://[::1]/", "http://[0:0:0:0:0:0:0:1]"], &["http://[::2]/", "https://[::1]"]);
        check("127.0.0.1", &["http://127.1/"], &["http://127.0.0.2/"]);
    }

    #[test]
    fn a_star_means_subdomains_and_not_the_host_itself() {
        let others =
            ["https://example.com", "https://badexample.com", "https://a.example.com:8443", "https://.example.com"];
        check("*.example.com", &["https://a.example.com", "http://a.b.Example.com"], &others);
        check("*.example.com:8443", &["https://a.example.com:8443"], &["https://a.example.com"]);
    }

    #[test]
    fn hosts_are_compared_as_urls_have_them() {
        check(
            "bücher.example",
            &["https://xn--bcher-kva.example", "https://BÜCHER.example"],
            &["https://bucher.example"],
        );
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for bad in [
            "",
            "*",
            "*.",
            "a.*.com",
            "*a.com",
            "https://a.com",
            "a.com/x",
            "a.com:",
            "a.com:0",
            "a.com:99999",
            "a b",
            "*.127.0.0.1",
            "*.[::1]",
            "a@b",
            "::1",
        ] {
            assert!(compile(bad).is_err(), "{bad}");
        }
    }
}
