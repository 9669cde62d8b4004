//! Reads sitemaps, feeds, OPML and SVG. Everything but the addresses is compared in its source form.

use std::ops::Range;

use roxmltree::{Attribute, Document, Node, ParsingOptions};

use super::{
    css,
    page::{Page, strip},
    spelling::{Layer, Spelled},
};
use base::{error::Error, pulse::Pulse};

const ATOM: &str = "http://www.w3.org/2005/Atom";
const MEDIA: &str = "http://search.yahoo.com/mrss/";
const XLINK: &str = "http://www.w3.org/1999/xlink";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// The largest number of attributes in one tag: more of them take the parser long.
const MOST_ATTRIBUTES: usize = 1000;
/// The same for namespaces declared around an element.
const MOST_NAMESPACES: usize = 64;
/// Nodes between two calls of the pulse.
const NODES: usize = 1 << 12;

const UNREAD: &str = "it is no XML that can be read in one way only, so it was to be left alone";

const BROKEN: &str = "something else stands within an address, so it was to be left alone";

/// The vocabulary of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vocabulary {
    Sitemap,
    Rss,
    Atom,
    Rdf,
    Opml,
    Svg,
}

/// The kind of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Url,
    Style,
}

/// Reads a file; an error if `pulse` gives one.
pub fn read(bytes: &[u8], pulse: Pulse<'_>, page: &mut Page) -> Result<(), Error> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| is_plain(text) && is_bounded(bytes));
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = text.and_then(|text| Document::parse_with_options(text, options).ok());
    let Some(document) = document else {
        page.doubt(UNREAD);
        page.note(b'v', bytes);
        return Ok(());
    };
    let mut places = Vec::new();
    match Vocabulary::of(document.root_element()) {
        None => page.doubt("its root element is none of a sitemap, a feed, OPML or SVG, so it was to be left alone"),
        Some(vocabulary) => {
            for (n, node) in document.descendants().enumerate() {
                if n.is_multiple_of(NODES) {
                    pulse()?;
                }
                if node.is_element() && !vocabulary.places(node, bytes, &mut places) {
                    page.doubt(BROKEN);
                }
            }
        }
    }
    places.sort_by_key(|(range, _)| range.start);
    let mut copied = 0;
    for (range, kind) in places {
        page.note(b'v', &bytes[copied..range.start]);
        copied = range.end;
        take(&bytes[range], kind, page);
    }
    page.note(b'v', &bytes[copied..]);
    Ok(())
}

fn take(raw: &[u8], kind: Kind, page: &mut Page) {
    let value = decoded(raw);
    if kind == Kind::Style {
        return drop(css::read(&value.bytes, page));
    }
    let Some((start, end)) = strip(&value.bytes, 0, value.bytes.len()) else { return page.note(b'v', raw) };
    let place = value.raw(start..end);
    page.note(b'v', &raw[..place.start]);
    page.link(&value.bytes[start..end]);
    page.note(b'v', &raw[place.end..]);
}

/// The decoded content of an attribute, or of an element without children.
fn decoded(raw: &[u8]) -> Spelled {
    let mut value = Spelled::default();
    let mut at = 0;
    while at < raw.len() {
        let open = memchr::memmem::find(&raw[at..], b"<![CDATA[").map_or(raw.len(), |length| at + length);
        value.extend(&Spelled::decode(&raw[at..open], &[Layer::References]), at);
        let start = (open + 9).min(raw.len());
        let end = memchr::memmem::find(&raw[start..], b"]]>").map_or(raw.len(), |length| start + length);
        value.extend(&Spelled::plain(&raw[start..end]), start);
        at = end + 3;
    }
    value
}

impl Vocabulary {
    fn of(root: Node<'_, '_>) -> Option<Self> {
        match root.tag_name().name() {
            "urlset" | "sitemapindex" => Some(Vocabulary::Sitemap),
            "rss" => Some(Vocabulary::Rss),
            "feed" => Some(Vocabulary::Atom),
            "RDF" => Some(Vocabulary::Rdf),
            "opml" => Some(Vocabulary::Opml),
            "svg" => Some(Vocabulary::Svg),
            _ => None,
        }
    }

    /// Adds the places of an element; false if its text is interrupted.
    fn places(self, node: Node<'_, '_>, bytes: &[u8], places: &mut Vec<(Range<usize>, Kind)>) -> bool {
        for attribute in node.attributes() {
            if let Some(kind) = self.attribute(node, attribute) {
                places.push((attribute.range_value(), kind));
            }
        }
        let Some(kind) = self.text(node) else { return true };
        let text = content(node, bytes);
        let is_whole = text.is_ok();
        places.extend(text.ok().flatten().map(|range| (range, kind)));
        is_whole
    }

    fn attribute(self, node: Node<'_, '_>, attribute: Attribute<'_, '_>) -> Option<Kind> {
        let (element, name) = (node.tag_name().name(), attribute.name());
        let home = node.tag_name().namespace();
        let own = home == node.document().root_element().tag_name().namespace();
        let is_url = match (attribute.namespace(), self) {
            (Some(XML), _) => name == "base",
            (Some(XLINK), Vocabulary::Svg) => name == "href",
            (Some(_), _) => false,
            (None, Vocabulary::Sitemap) => element == "link" && name == "href",
            (None, Vocabulary::Rss) => match name {
                "url" => home == Some(MEDIA) || own && matches!(element, "enclosure" | "source"),
                "href" => home == Some(ATOM) && element == "link",
                _ => false,
            },
            (None, Vocabulary::Atom) => {
                own && matches!((element, name), ("link", "href") | ("content", "src") | ("generator", "uri"))
            }
            (None, Vocabulary::Rdf) => false,
            (None, Vocabulary::Opml) => matches!(name, "xmlUrl" | "htmlUrl" | "url"),
            (None, Vocabulary::Svg) => match name {
                "href" => true,
                "style" | "fill" | "filter" | "mask" | "clip-path" | "stroke" => return Some(Kind::Style),
                _ if name.starts_with("marker-") => return Some(Kind::Style),
                _ => false,
            },
        };
        is_url.then_some(Kind::Url)
    }

    fn text(self, node: Node<'_, '_>) -> Option<Kind> {
        let element = node.tag_name().name();
        let own = node.tag_name().namespace() == node.document().root_element().tag_name().namespace();
        let is_url = match self {
            Vocabulary::Sitemap => element.ends_with("loc"),
            Vocabulary::Rss => match element {
                "link" | "comments" | "docs" | "url" => own,
                "guid" => own && node.attribute("isPermaLink") != Some("false"),
                _ => false,
            },
            Vocabulary::Atom => own && matches!(element, "uri" | "icon" | "logo"),
            Vocabulary::Rdf => matches!(element, "link" | "url"),
            Vocabulary::Opml => false,
            Vocabulary::Svg if element == "style" => return Some(Kind::Style),
            Vocabulary::Svg => false,
        };
        is_url.then_some(Kind::Url)
    }
}

/// The place of an element's text; an error if something else interrupts it.
fn content(node: Node<'_, '_>, bytes: &[u8]) -> Result<Option<Range<usize>>, ()> {
    let whole = node.range();
    let start = whole.start + tag_length(&bytes[whole.clone()]);
    let Some(end) = memchr::memmem::rfind(&bytes[start..whole.end], b"</").map(|length| start + length) else {
        return Ok(None);
    };
    let mut runs = Vec::new();
    let mut at = start;
    for child in node.children().filter(|child| !child.is_text()) {
        runs.extend(sections(bytes, at..child.range().start));
        at = child.range().end;
    }
    runs.extend(sections(bytes, at..end));
    let mut full = runs.into_iter().filter(|run| decoded(&bytes[run.clone()]).bytes.iter().any(|byte| *byte > b' '));
    let first = full.next();
    if full.next().is_some() { Err(()) } else { Ok(first) }
}

/// Splits text at the beginnings and ends of CDATA.
fn sections(bytes: &[u8], range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let rest = &bytes[at..range.end];
        let end = match memchr::memmem::find(rest, b"<![CDATA[") {
            Some(0) => memchr::memmem::find(rest, b"]]>").map(|length| length + 3),
            open => open,
        };
        let end = end.map_or(range.end, |length| at + length);
        found.push(at..end);
        at = end;
    }
    found
}

/// The length of the tag at the beginning of the bytes.
fn tag_length(bytes: &[u8]) -> usize {
    let mut quote = None;
    let end = bytes.iter().position(|byte| {
        match (quote, byte) {
            (None, b'>') => return true,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            (None | Some(_), _) => {}
        }
        false
    });
    end.map_or(bytes.len(), |end| end + 1)
}

/// False if the declared encoding gives the bytes another meaning, or if entities are declared.
fn is_plain(text: &str) -> bool {
    let declaration = text.trim_start_matches('\u{feff}').strip_prefix("<?xml").and_then(|text| text.split_once("?>"));
    let encoding = declaration.and_then(|(inside, _)| inside.split_once("encoding")).map(|(_, rest)| {
        let value = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '=');
        value.trim_start_matches(['"', '\'']).split(['"', '\'']).next().unwrap_or_default().to_ascii_lowercase()
    });
    let known = encoding.is_none_or(|name| {
        let families = ["iso-8859-", "windows-125", "utf-8", "utf8", "us-ascii", "ascii", "latin1"];
        families.iter().any(|family| name.starts_with(family))
    });
    (known || text.is_ascii()) && !text.contains("<!ENTITY")
}

/// False if a parser may take long: it compares each attribute of a tag, and each namespace, with all others.
fn is_bounded(bytes: &[u8]) -> bool {
    let mut declared = Vec::new();
    let mut in_scope = 0;
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'<', &bytes[at..]).map(|length| at + length) {
        let rest = &bytes[start..];
        let past = |end: &[u8]| memchr::memmem::find(rest, end).map_or(rest.len(), |length| length + end.len());
        at = start
            + match rest {
                [b'<', b'!', b'-', b'-', ..] => past(b"-->"),
                [b'<', b'!', b'[', ..] => past(b"]]>"),
                [b'<', b'?', ..] => past(b"?>"),
                [b'<', b'/', ..] => {
                    in_scope -= declared.pop().unwrap_or(0);
                    2
                }
                _ => tag_length(rest),
            };
        if matches!(rest.get(1), Some(b'!' | b'?' | b'/')) {
            continue;
        }
        let tag = &bytes[start..at];
        let (attributes, namespaces) = attributes(tag);
        if in_scope + namespaces > MOST_NAMESPACES || attributes > MOST_ATTRIBUTES {
            return false;
        }
        if !tag.ends_with(b"/>") {
            in_scope += namespaces;
            declared.push(namespaces);
        }
    }
    true
}

/// The number of a tag's attributes, and of those that declare namespaces.
fn attributes(tag: &[u8]) -> (usize, usize) {
    let (mut attributes, mut namespaces) = (0, 0);
    let mut at = 0;
    while let Some(length) = memchr::memchr(b'=', &tag[at..]) {
        attributes += 1;
        // Before the first name stands that of the tag.
        let name = tag[at..at + length].trim_ascii().rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
        namespaces += usize::from(name.starts_with(b"xmlns"));
        at += length + 1;
        at += tag[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let Some(quote @ (b'"' | b'\'')) = tag.get(at).copied() else { break };
        at = memchr::memchr(quote, &tag[at + 1..]).map_or(tag.len(), |length| at + 1 + length + 1);
    }
    (attributes, namespaces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(xml: &str, expected: &[&str]) {
        let mut page = Page::default();
        read(xml.as_bytes(), &|| Ok(()), &mut page).unwrap();
        let found: Vec<String> = page.links.iter().map(super::super::link::Link::shown).collect();
        assert_eq!((found, page.doubt), (expected.iter().map(ToString::to_string).collect(), None), "{xml}");
    }

    #[test]
    fn sitemaps() {
        check(
            "<?xml version='1.0' encoding='UTF-8'?><urlset xmlns='http://s' xmlns:i='http://i' xmlns:x='http://x'>\
             <url><loc> http://a/?b&amp;c\n</loc><i:loc><![CDATA[http://d&]]></i:loc><i:title>http://e</i:title>\
             <x:link rel='alternate' href='http://f'/><lastmod>http://g</lastmod><i:player_loc>h</i:player_loc></url></urlset>",
            &["http://a/?b&c", "http://d&", "http://f", "h"],
        );
        check(
            "<sitemapindex><loc><!-- a -->b<x/></loc><loc/><loc> </loc><loc> <![CDATA[ c ]]></loc></sitemapindex>",
            &["b", "c"],
        );
    }

    #[test]
    fn feeds() {
        check(
            "<rss xml:base='a'><channel><link>b</link><docs>c</docs><image><url>d</url></image>\
             <atom:link xmlns:atom='http://www.w3.org/2005/Atom' href='e'/><item><comments>f</comments><guid>g</guid>\
             <guid isPermaLink='false'>h</guid><enclosure url='i'/><source url='j'>k</source>\
             <m:thumbnail xmlns:m='http://search.yahoo.com/mrss/' url='l'/><description>&lt;a href='m'></description>\
             </item></channel></rss>",
            &["a", "b", "c", "d", "e", "f", "g", "i", "j", "l"],
        );
        check(
            "<feed xmlns='http://www.w3.org/2005/Atom'><id>a</id><link href='b'/><icon>c</icon><logo>d</logo>\
             <generator uri='e'>f</generator><author><uri>g</uri></author><entry><content src='h'/></entry></feed>",
            &["b", "c", "d", "e", "g", "h"],
        );
        check(
            "<r:RDF xmlns:r='http://r' xmlns='http://p'><channel r:about='a'><link>b</link></channel><image><url>c</url>\
             <r:li r:resource='d'/></image></r:RDF>",
            &["b", "c"],
        );
        check("<opml><outline xmlUrl='a' htmlUrl='b' url='c' text='d'/></opml>", &["a", "b", "c"]);
    }

    #[test]
    fn pictures() {
        check(
            "<?xml-stylesheet href='a'?><!DOCTYPE svg PUBLIC 'b' 'http://c'><svg xmlns='http://d' \
             xmlns:xlink='http://www.w3.org/1999/xlink'><a xlink:href='e'/><use href='#f'/><g style='a:url(&quot;g&quot;)' \
             fill='url(h)' marker-end='url(i)' d='url(j)'/><style>a{b:url(k)}</style><style><![CDATA[a>b{c:url(l)}]]></style>\
             <text>http://m</text></svg>",
            &["e", "#f", "g", "h", "i", "k", "l"],
        );
    }

    #[test]
    fn what_can_be_read_in_several_ways_is_left_alone() {
        for xml in [
            "",
            "<html/>",
            "<rss>",
            "<rss>&nbsp;</rss>",
            "<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>",
            "<?xml version='1.0' encoding='koi8-r'?><rss>é</rss>",
            "<rss a='b' a='c'/>",
            "<rss><link>a<!-- b -->c</link></rss>",
            "<rss><link>a<![CDATA[b]]></link></rss>",
        ] {
            let mut page = Page::default();
            read(xml.as_bytes(), &|| Ok(()), &mut page).unwrap();
            assert!(page.doubt.is_some(), "{xml}");
        }
        check("<?xml version='1.0' encoding='koi8-r'?><rss><link>a</link></rss>", &["a"]);
    }
}
