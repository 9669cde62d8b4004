//! Old hosts and their new origins: compiles the parameters, and rewrites single URLs.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use url::Url;

use super::{
    params::Params,
    parts::{Clean, Parts},
    target::{Origin, Target},
};
use base::error::{Code, Error};

/// The target of each old origin, without moves of an origin to itself.
#[derive(Debug)]
pub(super) struct Moves {
    targets: BTreeMap<Origin, Target>,
    /// The hosts of the old origins.
    hosts: BTreeSet<Vec<u8>>,
}

/// The rewriting of one URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    /// Parts of the URL with their replacements, in order.
    pub(super) edits: Vec<(Range<usize>, String)>,
    /// The new URL, without the tabs and line ends that a URL parser drops.
    pub(super) cleaned: String,
}

impl Moves {
    /// Compiles the parameters; `invalid_input` if they are empty or contradictory.
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
        let prefixed: BTreeSet<&Origin> =
            map.values().filter(|to: &&Target| !to.prefix.is_empty()).map(|to| &to.origin).collect();
        if let Some(from) = map.keys().find(|from| prefixed.contains(from)) {
            let name = from.text();
            return Err(Error::new(Code::InvalidInput, format!("a second run would move the links of `{name}` again"))
                .detail("entry", name)
                .hint("where links get a path before theirs, no other links may leave"));
        }
        map.retain(|from, to| *from != to.origin);
        let hosts = map.keys().map(|from| from.host.clone().into_bytes()).collect();
        Ok(Moves { targets: map, hosts })
    }

    /// The hosts that links leave, as the URL standard writes them.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.targets.keys().map(|from| from.host.as_str())
    }

    /// True for a host that links leave.
    pub(super) fn has_host(&self, host: &[u8]) -> bool {
        self.hosts.contains(host)
    }

    /// True for a host to which links move.
    pub(super) fn is_goal(&self, host: &[u8]) -> bool {
        self.targets.values().any(|to| to.origin.host.as_bytes() == host)
    }

    /// True for an origin that links leave and to which none moves.
    pub(super) fn leaves_for_good(&self, origin: &Origin) -> bool {
        self.targets.contains_key(origin) && !self.targets.values().any(|to| to.origin == *origin)
    }

    /// False only if no URL with a host so written moves, in letters, digits, dots and hyphens.
    pub(super) fn may_leave(&self, host: &[u8]) -> bool {
        // A last label with a number may be an address in another spelling, and `xn--` an invalid host.
        let last = host.rsplit(|byte| *byte == b'.').find(|label| !label.is_empty());
        let host = host.strip_suffix(b".").unwrap_or(host);
        last.is_none_or(|last| last[0].is_ascii_digit()) || self.hosts.contains(host.to_ascii_lowercase().as_slice())
    }

    /// True if a URL moves, as written in an attribute.
    pub(super) fn leaves(&self, piece: &str) -> bool {
        self.step(&Clean::new(piece).text).is_some()
    }

    /// The parts of a URL, and its target; none if it stays.
    fn step(&self, text: &str) -> Option<(Parts, Url, &Target)> {
        let parts = Parts::of(text)?;
        let old = parts.url(text)?;
        let to = self.targets.get(&Origin::of(&old)?)?;
        Some((parts, old, to))
    }

    /// The rewriting of a URL as written in an attribute; none if it stays.
    pub(super) fn rewrite(&self, piece: &str) -> Result<Option<Rewrite>, Error> {
        let clean = Clean::new(piece);
        let Some((parts, old, to)) = self.step(&clean.text) else { return Ok(None) };
        let path = format!("{}{}", to.prefix, old.path());
        let arrives = |cleaned: &str| {
            let new = Parts::of(cleaned).and_then(|parts| parts.url(cleaned));
            new.is_some_and(|new| Origin::of(&new).as_ref() == Some(&to.origin) && leads_to(&new, &old, &path))
        };
        let mut edits = parts.edits(&clean.text, to);
        let mut cleaned = clean.with(&edits);
        if !to.prefix.is_empty() && !arrives(&cleaned) {
            edits = parts.edits_with_path(&clean.text, to, &path);
            cleaned = clean.with(&edits);
        }
        if !arrives(&cleaned) {
            return Err(Error::new(
                Code::Internal,
                format!("the link `{}` can't be moved exactly", piece.escape_debug()),
            )
            .detail("became", cleaned));
        }
        // Equal parts keep their spelling.
        let edits = edits.into_iter().map(|(range, new)| (parts.raw(&clean, range), new));
        let edits = edits.filter(|(range, new)| piece[range.clone()] != **new).collect();
        Ok(Some(Rewrite { edits, cleaned }))
    }
}

/// The text of a URL without tabs and line ends.
pub(super) fn cleaned(piece: &str) -> Cow<'_, str> {
    Clean::new(piece).text
}

/// True if the new URL has that path, and the rest but the origin from the old.
fn leads_to(new: &Url, old: &Url, path: &str) -> bool {
    let rest = |url: &Url| {
        let user = (url.username().to_owned(), url.password().map(str::to_owned));
        (user, url.query().map(str::to_owned), url.fragment().map(str::to_owned))
    };
    new.path() == path && rest(old) == rest(new)
}

/// The origins of an entry of `from_hosts`.
fn sources(entry: &str) -> Result<Vec<Origin>, Error> {
    let schemes: &[&str] = if entry.contains("://") { &[""] } else { &["http://", "https://"] };
    let whole = |scheme: &&str| {
        let url = origin(entry, &format!("{scheme}{entry}"), "from_hosts")?;
        match url.path() {
            "/" => Origin::of(&url).ok_or_else(|| invalid("from_hosts", entry, "is not an origin")),
            _ => Err(invalid("from_hosts", entry, "has a path; only whole hosts can be moved")
                .hint("leave the path out: all links of the host move")),
        }
    };
    schemes.iter().map(whole).collect()
}

fn target(entry: &str) -> Result<Target, Error> {
    if !entry.contains("://") {
        return Err(invalid("to_host", entry, "has no scheme").hint("give an origin such as `https://new.example.com`"));
    }
    let url = origin(entry, entry, "to_host")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':');
    let origin = Origin::of(&url).filter(|to| to.host.chars().all(plain));
    let origin = origin.ok_or_else(|| invalid("to_host", entry, "has characters that could end an attribute"))?;
    let (_, rest) = entry.split_once("://").unwrap_or_default();
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~%/+,=@".contains(c);
    if !path.chars().all(plain) {
        return Err(invalid("to_host", entry, "has characters in its path that could end a link")
            .hint("letters, digits and `- . _ ~ % / + , = @` can be in a path"));
    }
    if !path.is_empty() && url.path() != path {
        return Err(invalid("to_host", entry, "has a path with `.` or `..` in it").hint("write the path without them"));
    }
    Ok(Target { origin, prefix: path.strip_suffix('/').unwrap_or(path).to_owned() })
}

fn origin(entry: &str, text: &str, field: &str) -> Result<Url, Error> {
    if entry.contains(|c: char| c <= ' ' || c == '\\') {
        return Err(invalid(field, entry, "has white space or a backslash"));
    }
    let url = Url::parse(text).map_err(|error| invalid(field, entry, &format!("is not an origin: {error}")))?;
    if Origin::of(&url).is_none() {
        return Err(invalid(field, entry, "is not an origin of http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(field, entry, "has a user name or password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(field, entry, "has a query or fragment").hint("those of links stay as they are"));
    }
    Ok(url)
}

fn invalid(field: &str, entry: &str, why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("`{}` in `{field}` {why}", entry.escape_debug())).detail("entry", entry)
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
            "http://old.example.com../",
            "http://old.example.com.evil.org./",
            "http://old.example.com.:8080/",
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
    fn a_host_is_one_in_every_spelling_and_new_ones_are_ascii() {
        for from in ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "b%C3%BCcher.example"] {
            let moves = compile(json!({"from_hosts": [from], "to_host": "https://münchen.example"})).unwrap();
            for link in [
                "http://bücher.example/ü",
                "http://bu\u{308}cher.example/ü",
                "http://BÜCHER.EXAMPLE/ü",
                "http://XN--BCHER-KVA.example/ü",
                "http://b%c3%bccher%2Eexample/ü",
                "http://bücher。example/ü",
            ] {
                assert_eq!(new(&moves, link).unwrap(), "https://xn--mnchen-3ya.example/ü", "{from} {link}");
            }
            assert_eq!(new(&moves, "http://bucher.example/"), None);
        }
    }

    #[test]
    fn a_dot_at_the_end_of_a_host_means_nothing() {
        for from in ["old.example.com", "old.example.com.", "OLD.Example.com.", "old%2Eexample.com\u{3002}"] {
            let moves = compile(json!({"from_hosts": [from], "to_host": "https://new.example.com."})).unwrap();
            for (link, expected) in [
                ("https://old.example.com./x", "https://new.example.com/x"),
                ("http://OLD.example.com.", "https://new.example.com"),
                ("http://old.example.com.:80/x", "https://new.example.com/x"),
                ("//me@old.example.com.?x", "//me@new.example.com?x"),
                ("http://old.example.com%2e/x", "https://new.example.com/x"),
                ("http://old.example.com\u{3002}/x", "https://new.example.com/x"),
                ("http://old.example.com/x.", "https://new.example.com/x."),
            ] {
                assert_eq!(new(&moves, link).as_deref(), Some(expected), "{from} {link}");
            }
        }
        let deep =
            compile(json!({"from_hosts": ["xn--bcher-kva.example."], "to_host": "https://n.example/a"})).unwrap();
        assert_eq!(new(&deep, "http://bücher.example./ü").unwrap(), "https://n.example/a/ü");
        let same = compile(json!({"from_hosts": ["https://n.example."], "to_host": "https://n.example"})).unwrap();
        assert_eq!(new(&same, "https://n.example./x"), None);
        let twice = json!({"from_hosts": ["a.example", "a.example."], "to_host": "https://b.example"});
        assert!(compile(twice).unwrap_err().message().contains("is given twice"));
    }

    #[test]
    fn a_path_comes_before_that_of_the_link() {
        let moves = compile(json!({"from_hosts": ["o.example"], "to_host": "https://n.example/docs/v1/"})).unwrap();
        for (url, expected) in [
            ("http://o.example", "https://n.example/docs/v1/"),
            ("http://o.example?q", "https://n.example/docs/v1/?q"),
            ("http://o.example#f", "https://n.example/docs/v1/#f"),
            ("http://o.example/", "https://n.example/docs/v1/"),
            ("http://o.example/a/%7E/./b?c#d", "https://n.example/docs/v1/a/%7E/./b?c#d"),
            ("http://o.example/ü\"a", "https://n.example/docs/v1/ü\"a"),
            ("http://o.example/../x?../y", "https://n.example/docs/v1/x?../y"),
            ("http://o.example/a/../../x/%2e%2e/y", "https://n.example/docs/v1/y"),
            ("http:\\\\o.example\\a\\b", "https://n.example/docs/v1\\a\\b"),
            ("http://o.example\\..\\x", "https://n.example/docs/v1/x"),
            ("http://o.example//a", "https://n.example/docs/v1//a"),
            ("http://u:p@o.example:80/x", "https://u:p@n.example/docs/v1/x"),
            ("//o.example", "//n.example/docs/v1/"),
            ("//u@o.example/..", "//u@n.example/docs/v1/"),
            ("ht\ttp://o.exa\nmple/.\t./a\tb", "https://n.example/docs/v1/ab"),
        ] {
            assert_eq!(new(&moves, url).as_deref(), Some(expected), "{url:?}");
        }
        let dotted = compile(json!({"from_hosts": ["o.example"], "to_host": "https://n.example/a..b/%7e/@=+,~_-"}));
        assert_eq!(new(&dotted.unwrap(), "http://o.example/x").unwrap(), "https://n.example/a..b/%7e/@=+,~_-/x");
        let slash = compile(json!({"from_hosts": ["o.example"], "to_host": "https://n.example/"})).unwrap();
        assert_eq!(new(&slash, "http://o.example?x").unwrap(), "https://n.example?x");
    }

    #[test]
    fn where_links_get_a_path_none_may_leave() {
        let refused = |params| compile(params).unwrap_err();
        let error = refused(json!({"from_hosts": ["n.example"], "to_host": "https://n.example/docs"}));
        assert_eq!(error.code(), Code::InvalidInput);
        assert!(error.message().contains("a second run would move"), "{}", error.message());
        refused(json!({"moves": [
            {"from_hosts": ["a.example"], "to_host": "https://b.example/x"},
            {"from_hosts": ["b.example"], "to_host": "https://c.example"},
        ]}));
        let http = compile(json!({"from_hosts": ["http://n.example"], "to_host": "https://n.example/docs"})).unwrap();
        assert_eq!(new(&http, "http://n.example/a").unwrap(), "https://n.example/docs/a");
        assert_eq!(new(&http, "https://n.example/docs/a"), None);
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
            (json!(["a.example"]), "https://b.example?x"),
            (json!(["a.example"]), "https://b.example/a?x"),
            (json!(["a.example"]), "https://b.example/a b"),
            (json!(["a.example"]), "https://b.example/a'b"),
            (json!(["a.example"]), "https://b.example/ü"),
            (json!(["a.example"]), "https://b.example/a/../b"),
            (json!(["a.example"]), "https://b.example/./b"),
            (json!(["a.example"]), "https://b.example/%2E%2e/b"),
            (json!(["a.example"]), "https://b.example/a/.."),
            (json!(["a.example"]), "https:///b.example/a"),
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
