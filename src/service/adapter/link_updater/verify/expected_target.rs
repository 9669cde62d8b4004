//! The expected targets of links, from the parameters and the URL standard's parts of a link.

use std::collections::{BTreeMap, BTreeSet};

use url::{Host, Origin, Position, Url};

use crate::link_updater::params::Move;
use audit::link::Link;
use base::error::{Code, Error};

/// A piece of a link, decoded, with its required replacement.
pub(super) type Edit = (Vec<u8>, Vec<u8>);

/// The defect of a moved link.
type Reason = String;

/// The URL of a link that names its host by itself, on a page fetched by https.
pub(super) fn meaning(link: &Link) -> Option<Url> {
    let mut text = String::from_utf8_lossy(&link.0).into_owned();
    text.retain(|c| !"\t\n\r".contains(c));
    let text = text.trim_matches(|c| c <= '\u{20}');
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => ("http:", rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => ("https:", rest),
        Some(_) | None => ("https:", text),
    };
    let slash = |c: char| c == '/' || c == '\\';
    let mut first = rest.chars();
    if !(first.next().is_some_and(slash) && first.next().is_some_and(slash)) {
        return None;
    }
    Url::parse(&format!("{scheme}{rest}")).ok()
}

/// The parts of the text of a valid link.
fn parts(link: &Link) -> Parts<'_> {
    let text = link.0.as_slice();
    let end = text.iter().rposition(|byte| *byte > b' ').map_or(0, |last| last + 1);
    let start = text[..end].iter().position(|byte| *byte > b' ').unwrap_or(end);
    let colon = text[start..end].iter().take_while(|byte| !b"/\\".contains(byte)).position(|byte| *byte == b':');
    let mut authority = start + colon.map_or(0, |colon| colon + 1);
    while authority < end && b"/\\\t\n\r".contains(&text[authority]) {
        authority += 1;
    }
    let length = text[authority..end].iter().position(|byte| b"/\\?#".contains(byte));
    let path = length.map_or(end, |length| authority + length);
    // Characters that a browser drops behind the host belong to the path.
    let dropped = text[authority..path].iter().rev().take_while(|byte| b"\t\n\r".contains(byte)).count();
    let path = path - dropped;
    let host = text[authority..path].iter().rposition(|byte| *byte == b'@').map_or(authority, |at| authority + at + 1);
    let length = text[path..end].iter().position(|byte| b"?#".contains(byte));
    let query = length.map_or(end, |length| path + length);
    // Without a path they belong to the next part.
    let query = if query == path + dropped { path } else { query };
    Parts {
        scheme: &text[start..authority],
        user: &text[authority..host],
        host: &text[host..path],
        path: &text[path..query],
        rest: &text[query..end],
    }
}

/// The parts of a link's text.
#[derive(Debug)]
struct Parts<'a> {
    /// With the slashes after it.
    scheme: &'a [u8],
    /// With the `@` after it.
    user: &'a [u8],
    /// With the port.
    host: &'a [u8],
    path: &'a [u8],
    /// Query and fragment.
    rest: &'a [u8],
}

/// The target of links.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Goal {
    origin: String,
    /// The prefix of every path: nothing, or a path without a final slash.
    prefix: String,
}

/// The required moves.
#[derive(Debug)]
pub(super) struct Aim(BTreeMap<String, Goal>);

impl Aim {
    /// The moves of the parameters, those from an origin to itself left out.
    pub(super) fn new(moves: &[Move]) -> Result<Self, Error> {
        let mut aim = BTreeMap::new();
        let mut goals = BTreeSet::new();
        for step in moves {
            let goal = Goal::parse(&step.to_host)?;
            if !goal.prefix.is_empty() {
                goals.insert(goal.origin.clone());
            }
            for from in &step.from_hosts {
                let spellings = match from.contains("://") {
                    true => vec![from.clone()],
                    false => vec![format!("http://{from}"), format!("https://{from}")],
                };
                for spelling in spellings {
                    aim.insert(place(&spelling)?, goal.clone());
                }
            }
        }
        if let Some(origin) = goals.iter().find(|origin| aim.contains_key(*origin)) {
            let wrong = format!("links move to `{origin}` with a path before theirs, and away from it");
            return Err(Error::new(Code::InvalidInput, wrong)
                .hint("a second run would move them again; leave that origin out of `from_hosts`"));
        }
        aim.retain(|from, goal| *from != goal.origin);
        Ok(Aim(aim))
    }

    /// The hosts that links should leave, as the URL standard writes them.
    pub(super) fn hosts(&self) -> BTreeSet<String> {
        let host = |origin: &String| Url::parse(origin).ok()?.host_str().map(str::to_owned);
        self.0.keys().filter_map(host).collect()
    }

    /// True for a host to which links move.
    pub(super) fn is_goal(&self, host: &str) -> bool {
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(':');
        let of =
            |goal: &Goal| goal.origin.split_once("://").and_then(|(_, at)| at.strip_prefix(host)).is_some_and(ends);
        self.0.values().any(of)
    }

    /// True for a URL at an old origin. An origin that is new too does not count.
    pub(super) fn abandons(&self, url: &Url) -> bool {
        let origin = origin(url);
        self.0.contains_key(&origin) && self.0.values().all(|goal| goal.origin != origin)
    }

    /// True if the link must move.
    pub(super) fn wants(&self, link: &Link) -> bool {
        meaning(link).is_some_and(|url| self.0.contains_key(&origin(&url)))
    }

    /// The required link, if its new head and the rest mean the same in every place of HTML without escapes; else none.
    pub(super) fn plain(&self, old: &Link) -> Option<Link> {
        let goal = self.0.get(&origin(&meaning(old)?))?;
        let (scheme, authority) = goal.origin.split_once("://")?;
        let parts = parts(old);
        let start = match scheme == "https" && !parts.scheme.contains(&b':') {
            true => parts.scheme.to_vec(),
            false => format!("{scheme}://").into_bytes(),
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%/:@[]".contains(&byte);
        let written = [start.as_slice(), authority.as_bytes(), goal.prefix.as_bytes()];
        let is_spelled = old.0.iter().any(|byte| *byte <= b' ') || !written.concat().into_iter().all(is_plain);
        let [start, authority, prefix] = written;
        let new = Link([start, parts.user, authority, prefix, parts.path, parts.rest].concat());
        (!is_spelled && self.judge(old, &new).is_ok()).then_some(new)
    }

    /// The pieces in which a link may differ from the old one; an error is the reason that it is not the required link.
    pub(super) fn judge(&self, old: &Link, new: &Link) -> Result<Vec<Edit>, Reason> {
        let meant = meaning(old).and_then(|url| Some((self.0.get(&origin(&url))?, url)));
        let Some((goal, was)) = meant else {
            return if old == new { Ok(Vec::new()) } else { Err("it should have stayed".to_owned()) };
        };
        let Some(is) = meaning(new) else {
            return Err("it names no host".to_owned());
        };
        let found = origin(&is);
        if found != goal.origin {
            return Err(format!("it is at {found}, not at {}", goal.origin));
        }
        let others = |url: &Url| {
            let after_path = url[Position::AfterPath..].to_owned();
            (after_path, url.username().to_owned(), url.password().map(str::to_owned))
        };
        let path = match goal.prefix.as_str() {
            "" => was.path().to_owned(),
            prefix => format!("{}{}", path_of(&goal.origin, prefix), was.path()),
        };
        if path != is.path() || others(&was) != others(&is) {
            return Err("its path, query, fragment or user is different".to_owned());
        }
        goal.edits(&parts(old), &parts(new), was.path())
            .ok_or_else(|| "its path, query, fragment or user is written in another way".to_owned())
    }
}

impl Goal {
    fn parse(text: &str) -> Result<Self, Error> {
        let link = Link(text.as_bytes().to_vec());
        let parts = parts(&link);
        let prefix = String::from_utf8_lossy(&[parts.path, parts.rest].concat()).into_owned();
        let prefix = prefix.strip_suffix('/').unwrap_or(&prefix).to_owned();
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._~%/+,=@".contains(c);
        let dots = |segment: &str| matches!(segment.replace("%2e", ".").replace("%2E", ".").as_str(), "." | "..");
        if !prefix.chars().all(fits) || prefix.split('/').any(dots) {
            let wrong = format!("`{}` can't be where links go", text.escape_debug());
            return Err(Error::new(Code::InvalidInput, wrong)
                .hint("give an origin, with a path of plain characters and without `.` or `..` if need be"));
        }
        Ok(Goal { origin: place(text)?, prefix })
    }

    /// The differences; none if they go beyond the permitted ones.
    fn edits(&self, old: &Parts<'_>, new: &Parts<'_>, path: &str) -> Option<Vec<Edit>> {
        let (scheme, authority) = self.origin.split_once("://")?;
        let stays_relative = scheme == "https" && !old.scheme.contains(&b':');
        let start = if stays_relative { old.scheme.to_vec() } else { format!("{scheme}://").into_bytes() };
        if new.scheme != start || new.host != authority.as_bytes() {
            return None;
        }
        let arrived = [new.path, new.rest].concat();
        let kept = [self.prefix.as_bytes(), old.path, old.rest].concat();
        let spelled = [self.prefix.as_bytes(), path.as_bytes(), old.rest].concat();
        let (from, to) = if arrived == kept && self.keeps(old.path, path) {
            (old.host.to_vec(), [new.host, self.prefix.as_bytes()].concat())
        } else if arrived == spelled && (!self.keeps(old.path, path) || old.path.contains(&b'\\')) {
            let to = [new.host, self.prefix.as_bytes(), path.as_bytes()].concat();
            ([old.host, old.path].concat(), to)
        } else {
            return None;
        };
        let mut edits = vec![(old.scheme.to_vec(), new.scheme.to_vec()), (from, to)];
        edits.retain(|(from, to)| from != to);
        (old.user == new.user).then_some(edits)
    }

    /// True if a path, as written, means the same behind the prefix.
    fn keeps(&self, written: &[u8], path: &str) -> bool {
        let prefix = self.prefix.as_str();
        let joined = format!("{prefix}{}", String::from_utf8_lossy(written));
        prefix.is_empty() || path_of(&self.origin, &joined) == path_of(&self.origin, prefix) + path
    }
}

fn path_of(origin: &str, path: &str) -> String {
    Url::parse(&format!("{origin}{path}")).map(|url| url.path().to_owned()).unwrap_or_default()
}

/// The origin of a URL. It leaves out the final dot of a host.
fn origin(url: &Url) -> String {
    let rooted = match url.origin() {
        Origin::Tuple(scheme, Host::Domain(mut name), port) if name.len() > 1 && name.ends_with('.') => {
            name.pop();
            Origin::Tuple(scheme, Host::Domain(name), port)
        }
        other => other,
    };
    rooted.ascii_serialization()
}

fn place(text: &str) -> Result<String, Error> {
    match Url::parse(text) {
        Ok(url) if url.origin().is_tuple() => Ok(origin(&url)),
        Ok(_) | Err(_) => Err(Error::new(Code::InvalidInput, format!("`{}` is not an origin", text.escape_debug()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(from: &[&str], to: &str) -> Move {
        Move { from_hosts: from.iter().map(ToString::to_string).collect(), to_host: to.to_owned() }
    }

    fn aim() -> Aim {
        Aim::new(&[step(&["a.example"], "https://b.example"), step(&["https://b.example:443/"], "https://c.example")])
            .unwrap()
    }

    fn link(text: &str) -> Link {
        Link(text.as_bytes().to_vec())
    }

    #[test]
    fn links_that_have_to_move() {
        for url in
            ["HTTP://A.example:80", "//a.example/x", " http:\\\\a.ex\nample", "https:///u@a.example", "//b.example"]
        {
            assert!(aim().wants(&link(url)), "{url}");
        }
        for url in
            ["http://b.example", "http:/a.example", "a.example", "http://a.example:8080", "x://a.example", "/", ""]
        {
            assert!(!aim().wants(&link(url)), "{url}");
        }
    }

    #[test]
    fn every_spelling_of_a_host_is_one_host() {
        for from in ["münchen.example", "xn--mnchen-3ya.example", "MÜNCHEN.example", "m%C3%BCnchen.example"] {
            let aim = Aim::new(&[step(&[from], "https://größe.example")]).unwrap();
            assert_eq!(aim.hosts().into_iter().collect::<Vec<_>>(), ["xn--mnchen-3ya.example"]);
            for url in ["http://münchen.example/", "//XN--mnchen-3ya.example", "http://m%c3%bcnchen%2eexample/x"] {
                assert!(aim.wants(&link(url)), "{from} {url}");
            }
            assert!(aim.judge(&link("http://münchen.example/ü"), &link("https://xn--gre-6ka8i.example/ü")).is_ok());
        }
    }

    #[test]
    fn the_root_dot_is_no_part_of_a_host() {
        for (from, to) in [("a.example", "https://b.example"), ("A.example.", "https://B.example.")] {
            let aim = Aim::new(&[step(&[from], to)]).unwrap();
            assert_eq!(aim.hosts().into_iter().collect::<Vec<_>>(), ["a.example"]);
            for host in ["a.example.", "a.example.:443", "A.example%2e"] {
                let old = link(&format!("https://{host}/x"));
                assert!(aim.wants(&old) && aim.judge(&old, &link("https://b.example/x")).is_ok(), "{host}");
                // It does not move with the link, and a link that has it only there has not moved.
                for new in ["https://b.example./x", "https://a.example/x"] {
                    assert!(aim.judge(&old, &link(new)).is_err(), "{host} {new}");
                }
            }
            assert!(!aim.wants(&link("https://a.example../")) && !aim.wants(&link("https://a.example.org./")));
        }
    }

    #[test]
    fn links_that_went_elsewhere() {
        let misses = |old: &str, new: &str| aim().judge(&link(old), &link(new)).is_err();
        assert!(!misses("http://a.example/x?y#z", "https://b.example/x?y#z"));
        assert!(!misses("//u:p@a.example/x", "//u:p@b.example/x"));
        assert!(!misses("http://other/", "http://other/"));
        assert!(misses("http://a.example/x", "https://b.example/y"));
        assert!(misses("http://a.example/x", "https://c.example/x"));
        assert!(misses("http://u@a.example/x", "https://b.example/x"));
        assert!(misses("http://other/", "http://other"));
        assert!(misses("http://a.example/x", "/x"));
        for other in
            ["Https://b.example", "https:///b.example", "https:\\\\b.example", "//b.example", "https://B.example"]
        {
            assert!(misses("http://a.example/x", &format!("{other}/x")), "{other}");
        }
        assert!(misses("http://a.example/x", "https://b.example:443/x"));
        assert!(misses("//a.example/x", "https://b.example/x"));
        // The same to a browser, but not the original spelling.
        for (old, new) in [("/ü", "/%C3%BC"), ("/a/../b", "/b"), ("", "/"), ("/", ""), ("?a b", "?a%20b")] {
            assert!(misses(&format!("http://a.example{old}"), &format!("https://b.example{new}")), "{old} {new}");
        }
    }

    #[test]
    fn a_path_goes_before_every_path() {
        let aim = Aim::new(&[step(&["a.example"], "https://b.example/docs/v1/")]).unwrap();
        let right = |old: &str, new: &str| {
            let (old, new) = (format!("http://a.example{old}"), format!("https://b.example{new}"));
            aim.judge(&link(&old), &link(&new)).is_ok()
        };
        for (old, new) in [
            ("/x%20y?q#f", "/docs/v1/x%20y?q#f"),
            ("", "/docs/v1/"),
            ("?q", "/docs/v1/?q"),
            ("#f", "/docs/v1/#f"),
            ("/", "/docs/v1/"),
            ("/../x", "/docs/v1/x"),
            ("\\x", "/docs/v1/x"),
            ("/ü", "/docs/v1/ü"),
            ("/a/../b", "/docs/v1/a/../b"),
        ] {
            assert!(right(old, new), "{old} {new}");
        }
        for (old, new) in [("/x", "/x"), ("", "/docs/v1"), ("/../x", "/docs/v1/../x"), ("/ü", "/docs/v1/%C3%BC")] {
            assert!(!right(old, new), "{old} {new}");
        }
    }

    #[test]
    fn what_a_second_run_would_move_again_is_refused() {
        let refused = |moves: &[Move]| Aim::new(moves).err().is_some_and(|error| error.code() == Code::InvalidInput);
        assert!(refused(&[step(&["a.example"], "https://a.example/docs")]));
        assert!(refused(&[step(&["a.example"], "https://b.example/docs"), step(&["b.example"], "https://c.example")]));
        assert!(!refused(&[step(&["http://a.example"], "https://a.example/docs")]));
        assert!(!refused(&[step(&["a.example"], "https://a.example/")]));
        for to in ["/a/../b", "/%2E%2e/x", "/a?b", "/a#b", "/a b", "/ü", "/.", "/a;b"] {
            assert!(refused(&[step(&["a.example"], &format!("https://b.example{to}"))]), "{to}");
        }
    }
}
