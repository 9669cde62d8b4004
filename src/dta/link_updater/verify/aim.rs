//! Where links should be: the parameters and a link as the URL standard takes them apart.

use std::collections::BTreeMap;

use url::{Origin, Url};

use crate::{
    dta::link_updater::params::Move,
    error::{Code, Error},
};

/// A URL as it stands in a page, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link(pub(super) Vec<u8>);

impl Link {
    /// The text, for messages.
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).escape_debug().to_string()
    }

    /// What the link means if it names its host by itself, on a page that was fetched by https.
    fn meaning(&self) -> Option<Url> {
        let mut text = String::from_utf8_lossy(&self.0).into_owned();
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
}

/// What should move where.
#[derive(Debug)]
pub(super) struct Aim(BTreeMap<String, String>);

impl Aim {
    /// The moves of the parameters, those from an origin to itself left out.
    pub(super) fn new(moves: &[Move]) -> Result<Self, Error> {
        let mut aim = BTreeMap::new();
        for step in moves {
            let to = place(&step.to_host)?;
            for from in &step.from_hosts {
                let spellings = match from.contains("://") {
                    true => vec![from.clone()],
                    false => vec![format!("http://{from}"), format!("https://{from}")],
                };
                for spelling in spellings {
                    aim.insert(place(&spelling)?, to.clone());
                }
            }
        }
        aim.retain(|from, to| from != to);
        Ok(Aim(aim))
    }

    /// The hosts that links should leave.
    pub(super) fn hosts(&self) -> Vec<String> {
        let host = |origin: &String| Url::parse(origin).ok()?.host_str().map(str::to_owned);
        self.0.keys().filter_map(host).collect()
    }

    /// True if the link has to move.
    pub(super) fn wants(&self, link: &Link) -> bool {
        link.meaning().is_some_and(|url| self.0.contains_key(&url.origin().ascii_serialization()))
    }

    /// Why a link is not what should have become of another; none if it is.
    pub(super) fn misses(&self, old: &Link, new: &Link) -> Option<String> {
        let meant = old.meaning().and_then(|url| Some((self.0.get(&url.origin().ascii_serialization())?, url)));
        let Some((to, old)) = meant else {
            return (old != new).then(|| "it should have stayed".to_owned());
        };
        let Some(new) = new.meaning() else {
            return Some("it names no host".to_owned());
        };
        let found = new.origin().ascii_serialization();
        if found != *to {
            return Some(format!("it is at {found}, not at {to}"));
        }
        let parts = |url: &Url| {
            let from_path = url[url::Position::BeforePath..].to_owned();
            (from_path, url.username().to_owned(), url.password().map(str::to_owned))
        };
        (parts(&old) != parts(&new)).then(|| "its path, query, fragment or user is different".to_owned())
    }
}

fn place(text: &str) -> Result<String, Error> {
    match Url::parse(text).map(|url| url.origin()) {
        Ok(origin @ Origin::Tuple(..)) => Ok(origin.ascii_serialization()),
        Ok(Origin::Opaque(_)) | Err(_) => {
            Err(Error::new(Code::InvalidInput, format!("`{}` is not an origin", text.escape_debug())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim() -> Aim {
        let step = |from: &[&str], to: &str| Move {
            from_hosts: from.iter().map(ToString::to_string).collect(),
            to_host: to.to_owned(),
        };
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
    fn links_that_went_elsewhere() {
        let misses = |old: &str, new: &str| aim().misses(&link(old), &link(new)).is_some();
        assert!(!misses("http://a.example/x?y#z", "https://b.example/x?y#z"));
        assert!(!misses("//u:p@a.example/x", "//u:p@b.example/x"));
        assert!(!misses("http://other/", "http://other/"));
        assert!(misses("http://a.example/x", "https://b.example/y"));
        assert!(misses("http://a.example/x", "https://c.example/x"));
        assert!(misses("http://u@a.example/x", "https://b.example/x"));
        assert!(misses("http://other/", "http://other"));
        assert!(misses("http://a.example/x", "/x"));
    }
}
