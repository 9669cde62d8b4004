//! Cases of other projects: anchors of headings, and links of documents as lychee extracts them.

use std::{fs::File, io::Read, path::Path};

use flate2::read::GzDecoder;
use serde::{Deserialize, de::DeserializeOwned};

use super::super::{
    blocks::Blocks,
    page::{Kind, destinations},
    params::Dialect,
    scheme::Scheme,
    slug,
};
use format::{
    outline::{Heading, Part, Piece},
    text,
};

#[derive(Deserialize)]
struct Slugs {
    headings: Vec<String>,
    slugs: Vec<String>,
}

#[derive(Deserialize)]
struct Extract {
    id: String,
    language: String,
    text: String,
    include_verbatim: bool,
    wikilinks: bool,
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    url: String,
}

pub(super) fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../tests/corpora/{name}.jsonl.gz"));
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn headings_get_the_anchors_of_github() {
    for case in cases::<Slugs>("md-links/slugs") {
        let heading =
            |text| Heading { pieces: vec![Piece { part: Part::Text, text, depth: 0, leads: true }], range: 0..0 };
        let headings: Vec<_> = case.headings.into_iter().map(heading).collect();
        assert_eq!(slug::anchors("", &headings, &Scheme::of(Dialect::Github)).known, case.slugs);
    }
}

/// Headings as Hugo 0.168 gives them anchors, and as GitLab does with the letters of Ruby 3.1. The verifier reads the same file.
#[test]
fn headings_get_the_anchors_of_their_generators() {
    let cases: Vec<[String; 3]> = serde_json::from_str(include_str!("anchors.json")).unwrap();
    for [dialect, source, anchor] in cases {
        let dialect = if dialect == "hugo" { Dialect::Hugo } else { Dialect::Gitlab };
        let outline = Kind::Markdown.outline(source.as_bytes(), Blocks::default(), &|| Ok(())).unwrap().unwrap();
        assert_eq!(
            slug::anchors(&source, &outline.headings, &Scheme::of(dialect)).known,
            [anchor],
            "{dialect:?}: {source}"
        );
    }
}

#[test]
fn links_are_those_that_lychee_extracts() {
    for case in cases::<Extract>("md-links/lychee_extract") {
        let expected: Vec<&str> = case.links.iter().map(|link| link.url.as_str()).collect();
        assert_eq!(extracted(&case), expected, "{}", case.id);
    }
}

/// The links of a document by the policy of lychee: no addresses of mail without `mailto:`, no hints to connect, and on request
/// the URLs in code and wiki links.
fn extracted(case: &Extract) -> Vec<String> {
    let kind = if case.language == "html" { Kind::Html } else { Kind::Markdown };
    let source = case.text.as_str();
    let outline = kind.outline(source.as_bytes(), Blocks::default(), &|| Ok(())).unwrap().unwrap();
    let links = destinations(source.as_bytes(), &outline);
    let mut found: Vec<(usize, String)> = links
        .filter(|(value, ..)| !is_hint(source, value.range.start))
        .map(|(value, piece, url)| (value.range.start + piece.start, url))
        .filter(|(_, url)| !is_mail(url))
        .collect();
    if case.include_verbatim {
        found.extend(in_code(source));
    }
    if case.wikilinks {
        let wiki = source.match_indices("[[").map(|(at, _)| at + "[[".len());
        found.extend(wiki.filter_map(|at| Some((at, source[at..].split_once("]]")?.0.to_owned()))));
    }
    found.sort();
    found.into_iter().map(|(_, url)| url).collect()
}

fn is_hint(source: &str, at: usize) -> bool {
    let tag = &source[source[..at].rfind('<').unwrap_or_default()..];
    let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
    tag.starts_with("<link") && ["preconnect", "dns-prefetch"].iter().any(|hint| tag.contains(hint))
}

fn is_mail(url: &str) -> bool {
    url.contains('@') && !url.contains(':')
}

/// The URLs in the text of `<code>` and `<pre>`, outside of tags.
fn in_code(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (open, close) in [("<code", "</code>"), ("<pre", "</pre>")] {
        for (start, _) in source.match_indices(open) {
            let Some(length) = source[start..].find(close) else { continue };
            let part = &source[start..start + length];
            let mut at = 0;
            for piece in part.split_inclusive(['<', '>']) {
                if piece.ends_with('<') {
                    let urls = text::autolinks(piece).map(|url| (start + at + url.start, piece[url].to_owned()));
                    found.extend(urls);
                }
                at += piece.len();
            }
            let rest = part.rfind('>').map_or(0, |at| at + 1);
            found.extend(
                text::autolinks(&part[rest..]).map(|url| (start + rest + url.start, part[rest..][url].to_owned())),
            );
        }
    }
    found
}
