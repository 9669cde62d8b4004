//! The route to servers by the standard variables: proxies, exceptions from them, and trusted certificates. The caller passes
//! the variables; the environment is not read.

use std::{
    collections::BTreeMap,
    fmt, fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use url::{Host, Url};

use super::send::{Failure, Sender};

/// The route to servers. By default direct, with the certificates that come with nrv.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Way {
    http: Option<String>,
    https: Option<String>,
    all: Option<String>,
    direct: Vec<String>,
    roots: Option<PathBuf>,
}

/// Proxies may have passwords.
impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_proxy = self.http.is_some() || self.https.is_some() || self.all.is_some();
        f.debug_struct("Way").field("has_proxy", &has_proxy).field("roots", &self.roots).finish_non_exhaustive()
    }
}

impl Way {
    /// The route by these variables: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in lower case first, and
    /// `SSL_CERT_FILE`. Empty ones count as unset.
    pub fn of(environment: &BTreeMap<String, String>) -> Self {
        let value = |name: &str| environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let either = |name: &str| value(&name.to_ascii_lowercase()).or_else(|| value(name)).map(str::to_owned);
        let direct = either("NO_PROXY").unwrap_or_default();
        let direct = direct.split([',', ' ', '\t']).map(|entry| entry.trim().to_ascii_lowercase());
        Way {
            http: either("HTTP_PROXY"),
            https: either("HTTPS_PROXY"),
            all: either("ALL_PROXY"),
            direct: direct.filter(|entry| !entry.is_empty()).collect(),
            roots: value("SSL_CERT_FILE").map(PathBuf::from),
        }
    }

    /// The sender for a server. The loopback interface and the link are never reached through a proxy.
    pub fn sender(&self, url: &str) -> Result<Sender, Failure> {
        let url = Url::parse(url).map_err(|_| Failure::Unsendable("the URL is none".to_owned()))?;
        let sender = match &self.roots {
            Some(file) if url.scheme() == "https" => Sender::default().with_roots(&certificates(file)?)?,
            Some(_) | None => Sender::default(),
        };
        match self.proxy(&url) {
            // The scheme is usually omitted.
            Some(proxy) if !proxy.contains("://") => sender.with_proxy(&format!("http://{proxy}")),
            Some(proxy) => sender.with_proxy(proxy),
            None => Ok(sender),
        }
    }

    fn proxy(&self, url: &Url) -> Option<&str> {
        let own = if url.scheme() == "https" { &self.https } else { &self.http };
        let proxy = own.as_ref().or(self.all.as_ref())?;
        let is_direct = is_loopback(url) || is_link_local(url) || self.direct.iter().any(|entry| names(entry, url));
        (!is_direct).then_some(proxy.as_str())
    }
}

/// True if the URL leads to this machine: an address of the loopback interface, or `localhost`.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// True if the URL leads to this link: the credentials of a machine in a cloud come from such an address, and no proxy may see them.
fn is_link_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_link_local(),
        Some(Host::Ipv6(address)) => address.is_unicast_link_local(),
        Some(Host::Domain(_)) | None => false,
    }
}

/// True if an entry of `NO_PROXY` matches the URL: `*`, a host and those beneath it, an address, or a network.
fn names(entry: &str, url: &Url) -> bool {
    let (entry, port) = match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse::<u16>().ok()),
        _ => (entry, None),
    };
    if port.is_some() && port != url.port_or_known_default() {
        return false;
    }
    let entry = entry.trim_start_matches('[').trim_end_matches(']');
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(name)) => {
            let wanted = entry.trim_start_matches('*').trim_start_matches('.');
            let is_beneath = || name.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('.'));
            return entry == "*" || !wanted.is_empty() && (name == wanted || is_beneath());
        }
        None => return false,
    };
    match entry.split_once('/') {
        Some((network, bits)) => {
            let (network, bits) = (network.parse().ok(), bits.parse().ok());
            network.zip(bits).is_some_and(|(network, bits)| is_in(address, network, bits))
        }
        None => entry == "*" || entry.parse() == Ok(address),
    }
}

fn is_in(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let other = address.to_bits() ^ network.to_bits();
            bits <= 32 && other.leading_zeros() >= bits
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let other = address.to_bits() ^ network.to_bits();
            bits <= 128 && other.leading_zeros() >= bits
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[expect(clippy::disallowed_methods, reason = "certificates lie outside of the tree")]
fn certificates(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| {
        Failure::Unsendable(format!(
            "the certificates of `SSL_CERT_FILE`, `{}`, can't be read: {error}",
            file.display()
        ))
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;

    fn way(variables: &[(&str, &str)]) -> Way {
        Way::of(&variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[track_caller]
    fn goes(way: &Way, url: &str, proxy: Option<&str>) {
        assert_eq!(way.proxy(&Url::parse(url).unwrap()), proxy, "{url}");
        way.sender(url).unwrap();
    }

    #[test]
    fn each_scheme_has_its_proxy_and_lower_case_comes_first() {
        let both = way(&[("HTTP_PROXY", "http://a:1"), ("http_proxy", "http://b:1"), ("HTTPS_PROXY", "c:1")]);
        goes(&both, "http://h.example/v1", Some("http://b:1"));
        goes(&both, "https://h.example/v1", Some("c:1"));
        let all = way(&[("all_proxy", "http://d:1"), ("HTTPS_PROXY", " ")]);
        goes(&all, "https://h.example/v1", Some("http://d:1"));
        goes(&way(&[]), "https://h.example/v1", None);
    }

    #[test]
    fn the_loopback_interface_is_reached_without_a_proxy() {
        let all = way(&[("ALL_PROXY", "http://d:1")]);
        for url in [
            "http://127.0.0.1:8080",
            "http://127.8.9.1",
            "http://[::1]:1",
            "http://localhost:1",
            "http://[::ffff:127.0.0.1]",
            "http://169.254.169.254/latest",
            "http://[fe80::1]:1",
        ] {
            goes(&all, url, None);
        }
        for url in ["http://localhost.example", "http://128.0.0.1", "http://a.localhost"] {
            goes(&all, url, Some("http://d:1"));
        }
    }

    #[test]
    fn hosts_addresses_and_networks_are_excepted() {
        let list = ".a.example, b.example:8443,10.0.0.0/8 fd00::/8,192.0.2.7,*.c.example";
        let some = way(&[("ALL_PROXY", "http://d:1"), ("NO_PROXY", list)]);
        for url in [
            "https://a.example",
            "https://x.a.example",
            "https://b.example:8443",
            "http://10.1.2.3",
            "http://[fd00::1]",
            "http://192.0.2.7:9",
            "https://x.c.example",
        ] {
            goes(&some, url, None);
        }
        for url in
            ["https://xa.example", "https://b.example", "http://11.1.2.3", "http://[fe00::1]", "http://192.0.2.8"]
        {
            goes(&some, url, Some("http://d:1"));
        }
        let none = way(&[("ALL_PROXY", "http://d:1"), ("no_proxy", "*")]);
        goes(&none, "https://h.example", None);
        goes(&none, "http://11.1.2.3", None);
    }

    #[test]
    fn a_way_that_can_not_be_taken_is_an_error_and_not_another_way() {
        let socks = way(&[("ALL_PROXY", "socks5://user:canary@d:1")]);
        assert!(!format!("{socks:?} {:?}", socks.sender("https://h.example").unwrap_err()).contains("canary"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("roots.pem");
        let own = way(&[("SSL_CERT_FILE", file.to_str().unwrap())]);
        let missing = own.sender("https://h.example").unwrap_err().to_string();
        assert!(missing.contains("`SSL_CERT_FILE`"), "{missing}");
        fs::write(&file, "nothing").unwrap();
        own.sender("https://h.example").unwrap_err();
        // Without encryption, no certificate matters.
        own.sender("http://h.example").unwrap();
    }
}
