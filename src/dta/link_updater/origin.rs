//! Hosts that links leave and where they go: what the parameters mean, and what becomes of one URL.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use url::Url;

use super::params::Params;
use crate::error::{Code, Error};

/// Scheme, host and port, as the URL standard compares them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let (host, port) = (url.host_str()?.to_owned(), url.port_or_known_default()?);
        Some(Origin { scheme: url.scheme().to_owned(), host, port })
    }

    /// Host, and port if it is not the scheme's own.
    fn authority(&self) -> String {
        match (self.scheme.as_str(), self.port) {
            ("http", 80) | ("https", 443) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    fn text(&self) -> String {
        format!("{}://{}", self.scheme, self.authority())
    }
}

/// Where the links of each old origin go. Moves to where a link is already are left out.
#[derive(Debug)]
pub(super) struct Moves(BTreeMap<Origin, Origin>);

/// What becomes of one URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    /// Parts of the URL and what replaces them, in order.
    pub(super) edits: Vec<(Range<usize>, String)>,
    /// The new URL, without the tabs and line ends that a URL parser drops.
    pub(super) cleaned: String,
}

impl Moves {
    /// What the parameters mean; `invalid_input` if they mean nothing, or two things at once.
    pub(super) fn compile(params: &Params) -> Result<Self, Error> {
        let mut map = BTreeMap::new();
        for step in params.moves()? {
            let to = target(&step.to_host)?;
            for from in &step.from_hosts {
                for origin in sources(from)? {
                    let name = origin.text();
                    if let Some(earlier) = map.insert(origin, to.clone()) {
                        let why = if earlier == to { "is given twice" } else { "is to move to two places" };
                        return Err(Error::new(Code::InvalidInput, format!("`{name}` {why}"))
                            .detail("entry", from.as_str())
                            .hint("give each origin once; a bare host means http and https"));
                    }
                }
            }
        }
        map.retain(|from, to| from != to);
        Ok(Moves(map))
    }

    /// False only if no URL moves whose host is written like that, in letters, digits, dots and hyphens.
    pub(super) fn may_leave(&self, host: &[u8]) -> bool {
        // What ends in a number may be an address in another spelling, and `xn--` a host that is none.
        let last = host.rsplit(|byte| *byte == b'.').find(|label| !label.is_empty());
        last.is_none_or(|last| last[0].is_ascii_digit())
            || self.0.keys().any(|origin| origin.host.as_bytes().eq_ignore_ascii_case(host))
    }

    /// What becomes of a URL as it stands in an attribute; none if it stays.
    pub(super) fn rewrite(&self, piece: &str) -> Result<Option<Rewrite>, Error> {
        let clean = Clean::new(piece);
        let Some(parts) = Parts::of(&clean.text) else { return Ok(None) };
        let Some(old) = parts.url(&clean.text) else { return Ok(None) };
        let Some(to) = Origin::of(&old).and_then(|origin| self.0.get(&origin)) else { return Ok(None) };
        let edits = parts.edits(&clean.text, to);
        let mut cleaned = clean.text.to_string();
        for (range, new) in edits.iter().rev() {
            cleaned.replace_range(range.clone(), new);
        }
        let arrived = Parts::of(&cleaned).and_then(|parts| parts.url(&cleaned));
        if !arrived.is_some_and(|new| Origin::of(&new).as_ref() == Some(to) && same_but_origin(&old, &new)) {
            return Err(Error::new(
                Code::Internal,
                format!("the link `{}` can't be moved exactly", piece.escape_debug()),
            )
            .detail("became", cleaned));
        }
        let edits = edits.into_iter().map(|(range, new)| (clean.raw(range), new)).collect();
        Ok(Some(Rewrite { edits, cleaned }))
    }
}

/// The text of a URL without tabs and line ends.
pub(super) fn cleaned(piece: &str) -> Cow<'_, str> {
    Clean::new(piece).text
}

fn same_but_origin(old: &Url, new: &Url) -> bool {
    let rest = |url: &Url| {
        let user = (url.username().to_owned(), url.password().map(str::to_owned));
        (user, url.path().to_owned(), url.query().map(str::to_owned), url.fragment().map(str::to_owned))
    };
    rest(old) == rest(new)
}

/// The origins that an entry of `from_hosts` means.
fn sources(entry: &str) -> Result<Vec<Origin>, Error> {
    let schemes: &[&str] = if entry.contains("://") { &[""] } else { &["http://", "https://"] };
    schemes.iter().map(|scheme| origin(entry, &format!("{scheme}{entry}"), "from_hosts")).collect()
}

fn target(entry: &str) -> Result<Origin, Error> {
    if !entry.contains("://") {
        return Err(invalid("to_host", entry, "has no scheme").hint("give an origin such as `https://new.example.com`"));
    }
    let to = origin(entry, entry, "to_host")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':');
    if !to.host.chars().all(plain) {
        return Err(invalid("to_host", entry, "has characters that could end an attribute"));
    }
    Ok(to)
}

fn origin(entry: &str, text: &str, field: &str) -> Result<Origin, Error> {
    if entry.contains(|c: char| c <= ' ' || c == '\\') {
        return Err(invalid(field, entry, "has white space or a backslash"));
    }
    let url = Url::parse(text).map_err(|error| invalid(field, entry, &format!("is not an origin: {error}")))?;
    let Some(origin) = Origin::of(&url) else {
        return Err(invalid(field, entry, "is not an origin of http or https"));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(field, entry, "has a user name or password"));
    }
    if url.query().is_some() || url.fragment().is_some() || url.path() != "/" {
        return Err(invalid(field, entry, "has a path, query or fragment; only whole hosts can be moved")
            .hint("leave the path out: the paths of links stay as they are"));
    }
    Ok(origin)
}

fn invalid(field: &str, entry: &str, why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("`{}` in `{field}` {why}", entry.escape_debug())).detail("entry", entry)
}

/// A URL as its parser sees it: without tabs and line ends.
struct Clean<'a> {
    text: Cow<'a, str>,
    /// For each byte of `text` its offset in the piece; none if they are the same.
    at: Option<Vec<usize>>,
}

impl<'a> Clean<'a> {
    fn new(piece: &'a str) -> Self {
        let dropped = |c: char| matches!(c, '\t' | '\n' | '\r');
        if !piece.contains(dropped) {
            return Clean { text: Cow::Borrowed(piece), at: None };
        }
        let kept = piece.bytes().enumerate().filter(|(_, byte)| !dropped(char::from(*byte)));
        let at = kept.map(|(at, _)| at).collect();
        Clean { text: Cow::Owned(piece.chars().filter(|c| !dropped(*c)).collect()), at: Some(at) }
    }

    /// The part of the piece from the first to the last character of a part of the text.
    fn raw(&self, range: Range<usize>) -> Range<usize> {
        match &self.at {
            Some(at) if range.is_empty() => at[range.start]..at[range.start],
            Some(at) => at[range.start]..at[range.end - 1] + 1,
            None => range,
        }
    }
}

/// Where the authority of a URL stands.
struct Parts {
    /// True if the URL begins with its slashes.
    relative: bool,
    authority: Range<usize>,
}

impl Parts {
    /// None if the URL names no host by itself. One slash or none after the scheme depends on the page's address.
    fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let begins = |scheme: &[u8]| bytes.len() >= scheme.len() && bytes[..scheme.len()].eq_ignore_ascii_case(scheme);
        let after_scheme = [&b"https:"[..], b"http:"].into_iter().find(|scheme| begins(scheme)).map_or(0, <[u8]>::len);
        let slashes = bytes[after_scheme..].iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
        if slashes < 2 {
            return None;
        }
        let start = after_scheme + slashes;
        let length = text[start..].find(['/', '\\', '?', '#']).unwrap_or(text.len() - start);
        Some(Parts { relative: after_scheme == 0, authority: start..start + length })
    }

    fn url(&self, text: &str) -> Option<Url> {
        if self.relative { Url::parse(&format!("https:{text}")).ok() } else { Url::parse(text).ok() }
    }

    /// The scheme and the host change, the user between them stays. `//host` stays so if it means the same.
    fn edits(&self, text: &str, to: &Origin) -> Vec<(Range<usize>, String)> {
        let Range { start, end } = self.authority.clone();
        let host = text[start..end].rfind('@').map_or(start, |at| start + at + 1);
        if self.relative && to.scheme == "https" {
            vec![(host..end, to.authority())]
        } else if host > start {
            vec![(0..start, format!("{}://", to.scheme)), (host..end, to.authority())]
        } else {
            vec![(0..end, to.text())]
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn compile(params: Value) -> Result<Moves, Error> {
        Moves::compile(&Params::parse(&params).unwrap())
    }

    fn new(moves: &Moves, url: &str) -> Option<String> {
        let rewrite = moves.rewrite(url).unwrap()?;
        let mut text = url.to_owned();
        for (range, new) in rewrite.edits.into_iter().rev() {
            text.replace_range(range, &new);
        }
        Some(text)
    }

    #[track_caller]
    fn check(url: &str, expected: Option<&str>) {
        let moves = compile(json!({"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"})).unwrap();
        assert_eq!(new(&moves, url).as_deref(), expected, "{url:?}");
    }

    #[test]
    fn hosts_match_as_urls_do() {
        check("http://old.example.com", Some("https://new.example.com"));
        check("HTTPS://OLD.Example.COM:443/A?b#c", Some("https://new.example.com/A?b#c"));
        check("http://old.example.com:80", Some("https://new.example.com"));
        check(
            "http://old.example.com:?q=http://old.example.com",
            Some("https://new.example.com?q=http://old.example.com"),
        );
        check("http://%6fld.example.com/%7E", Some("https://new.example.com/%7E"));
        check("http://ｏｌｄ.example.com/a", Some("https://new.example.com/a"));
        check("http://o\u{ad}ld.example.com/a", Some("https://new.example.com/a"));
        check("http:///old.example.com/a", Some("https://new.example.com/a"));
        check("http:\\\\old.example.com\\a", Some("https://new.example.com\\a"));
        check("ht\ttp://old.exa\nmple.com/a\nb", Some("https://new.example.com/a\nb"));
    }

    #[test]
    fn the_user_and_the_slashes_stay() {
        check("http://me:pw@old.example.com:80/x", Some("https://me:pw@new.example.com/x"));
        check("http://a@b@old.example.com/", Some("https://a@b@new.example.com/"));
        check("//old.example.com/x", Some("//new.example.com/x"));
        check("\\\\old.example.com\\x", Some("\\\\new.example.com\\x"));
        check("//me@old.example.com:443?x", Some("//me@new.example.com?x"));
    }

    #[test]
    fn near_misses_stay() {
        for url in [
            "http://old.example.com.evil.org/",
            "http://notold.example.com/",
            "http://old.example.com:8443/",
            "http://old.example.com:443/",
            "https://old.example.com:80/",
            "http://old.example.com-cdn.net/",
            "http://evil.com/http://old.example.com/",
            "http://old.example.com@evil.com/",
            "http://old.example.company",
            "ftp://old.example.com/",
            "blob:http://old.example.com/1",
            "javascript:location='http://old.example.com'",
            "mailto:a@old.example.com",
            "http:/old.example.com/a",
            "http:old.example.com",
            "/x",
            "old.example.com/x",
            "",
            "//old.example.com:80/",
            "http://old.example.com:99999/",
            "http://old.example.com./",
            "http://",
            "//",
            "h",
        ] {
            check(url, None);
        }
    }

    #[test]
    fn a_relative_scheme_is_kept_only_if_it_means_the_same() {
        let to_http = compile(json!({"from_hosts": ["https://o.example"], "to_host": "http://n.example"})).unwrap();
        assert_eq!(new(&to_http, "//o.example/x").unwrap(), "http://n.example/x");
        let to_port =
            compile(json!({"from_hosts": ["https://o.example"], "to_host": "https://n.example:8443"})).unwrap();
        assert_eq!(new(&to_port, "//o.example/x").unwrap(), "//n.example:8443/x");
        let http_only = compile(json!({"from_hosts": ["http://o.example"], "to_host": "https://n.example"})).unwrap();
        assert_eq!(new(&http_only, "//o.example/x"), None);
    }

    #[test]
    fn moves_don_t_chain_and_a_move_to_itself_is_none() {
        let moves = compile(json!({"moves": [
            {"from_hosts": ["https://a.example"], "to_host": "https://b.example"},
            {"from_hosts": ["http://b.example", "https://b.example"], "to_host": "https://c.example"},
            {"from_hosts": ["http://c.example", "https://c.example"], "to_host": "https://c.example"},
        ]}))
        .unwrap();
        assert_eq!(new(&moves, "https://a.example/").unwrap(), "https://b.example/");
        assert_eq!(new(&moves, "http://b.example/").unwrap(), "https://c.example/");
        assert_eq!(new(&moves, "http://c.example/").unwrap(), "https://c.example/");
        assert_eq!(new(&moves, "https://c.example/"), None);
    }

    #[test]
    fn unusual_hosts_are_understood() {
        let moves = compile(json!({"from_hosts": ["http://[1::]", "BÜCHER.example:81", "http://127.1"], "to_host": "https://xn--bcher-kva.example"})).unwrap();
        assert_eq!(new(&moves, "http://[1:0::]/x").unwrap(), "https://xn--bcher-kva.example/x");
        assert_eq!(new(&moves, "https://xn--bcher-kva.example:81/").unwrap(), "https://xn--bcher-kva.example/");
        assert_eq!(new(&moves, "http://0x7f000001:80").unwrap(), "https://xn--bcher-kva.example");
        assert_eq!(new(&moves, "http://bücher.example/"), None);
    }

    #[test]
    fn parameters_that_mean_nothing_are_refused() {
        for (from, to) in [
            (json!(["http://a.example", "HTTP://A.example:80/"]), "https://b.example"),
            (json!(["a.example", "https://a.example"]), "https://b.example"),
            (json!(["http://a.example/path"]), "https://b.example"),
            (json!(["ftp://a.example"]), "https://b.example"),
            (json!(["http://u@a.example"]), "https://b.example"),
            (json!(["http://a b"]), "https://b.example"),
            (json!([""]), "https://b.example"),
            (json!(["a.example"]), "https://b.example/docs"),
            (json!(["a.example"]), "https://b.example?x"),
            (json!(["a.example"]), "b.example"),
            (json!(["a.example"]), "ftp://b.example"),
            (json!(["a.example"]), "https://b'.example"),
        ] {
            let error = compile(json!({"from_hosts": from, "to_host": to})).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{from} {to}");
        }
        let twice = json!({"moves": [
            {"from_hosts": ["a.example"], "to_host": "https://b.example"},
            {"from_hosts": ["http://a.example"], "to_host": "https://c.example"},
        ]});
        assert!(compile(twice).unwrap_err().message().contains("two places"));
    }
}
