//! Finds the attribute values of a page that hold URLs, as exact byte ranges, with a streaming parser.
//!
//! The parser's simulation of a tree knows everything that matters here but two things: that `<svg/>` ends at once, and
//! that `<script src=>` begins text although its last attribute lacks a value. It is told so by tags that are put into
//! what it reads, not into the file.

use std::{cell::RefCell, ops::Range};

use lol_html::{
    HtmlRewriter, Settings, doc_comments, element,
    errors::RewritingError,
    html_content::{Attribute, Element},
};

use super::table::{self, Form};
use crate::error::{Code, Error};

const SVG: &str = "http://www.w3.org/2000/svg";
const HTML: &str = "http://www.w3.org/1999/xhtml";

/// Elements whose content is text, not markup.
const RAW_TEXT: &[&str] =
    &["iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp", "plaintext"];

/// A value with URLs in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// The bytes between the quotes.
    pub(super) range: Range<usize>,
    /// How it holds URLs.
    pub(super) form: Form,
}

/// What is in a page.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Every value with URLs, in the order of the file.
    pub(super) values: Vec<Value>,
    /// True if an XML parser would see other elements: the page must not be read as HTML if it is XML.
    pub(super) differs_as_xml: bool,
    /// True if it can't be told what is text: a `<title` that lacks its last value may be HTML's or that of an SVG.
    pub(super) is_unclear: bool,
}

/// Finds every value with URLs. What stands in `<noscript>` is markup too, for those who run no scripts.
pub(super) fn scan(bytes: &[u8]) -> Result<Scan, Error> {
    let mut state = State { bytes, empties_foreign: may_empty_foreign(bytes), ..State::default() };
    state.zone(0..bytes.len())?;
    let islands = std::mem::take(&mut state.noscripts);
    state.in_noscript = true;
    for start in islands {
        let end = start + end_of_noscript(&bytes[start..]);
        let mut at = Some(start);
        while let Some(start) = at {
            at = state.zone(start..end)?;
        }
    }
    state.scan.values.sort_by_key(|value| value.range.start);
    Ok(state.scan)
}

/// The length of a noscript element's text.
fn end_of_noscript(bytes: &[u8]) -> usize {
    let name = b"noscript";
    memchr::memmem::find_iter(bytes, b"</")
        .find(|at| {
            let rest = &bytes[at + 2..];
            let ends = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'/' | b'>');
            rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) && ends(&rest[name.len()])
        })
        .unwrap_or(bytes.len())
}

#[derive(Debug, Default)]
struct State<'a> {
    bytes: &'a [u8],
    scan: Scan,
    /// Where the text of each `<noscript>` begins.
    noscripts: Vec<usize>,
    in_noscript: bool,
    has_svg: bool,
    /// True if there may be an `<svg/>` or `<math/>`.
    empties_foreign: bool,
    /// What to add to the parser's positions to get those of the file.
    base: isize,
    /// A tag that the parser needs to be told after the one that ends there.
    correction: Option<(usize, String)>,
    /// True while the parser reads a correction.
    correcting: bool,
    /// Where to go on after a `<noscript>` inside a noscript zone.
    resume: Option<usize>,
}

impl State<'_> {
    /// Scans a part of the file by itself. Gives where to go on if it ended early.
    fn zone(&mut self, zone: Range<usize>) -> Result<Option<usize>, Error> {
        self.base = isize::try_from(zone.start).map_err(|_| broken("it is too large"))?;
        let bytes = self.bytes;
        let state = RefCell::new(self);
        let settings = Settings::new()
            .append_element_content_handler(element!("*", |element| state.borrow_mut().element(element)))
            .append_document_content_handler(doc_comments!(|comment| {
                let mut state = state.borrow_mut();
                state.scan.differs_as_xml |= comment.text().starts_with("[CDATA[");
                Ok(())
            }))
            .with_strict(false);
        let rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
        let result = feed(rewriter, bytes, zone, &state);
        let state = state.into_inner();
        match (result, state.resume.take()) {
            (_, Some(resume)) => Ok(Some(resume)),
            (Ok(()), None) => Ok(None),
            (Err(error), None) => Err(broken(&error.to_string())),
        }
    }

    fn element(&mut self, element: &mut Element<'_, '_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let name = element.tag_name();
        let namespace = element.namespace_uri();
        if std::mem::take(&mut self.correcting) {
            return Ok(());
        }
        let end = self.position(element.source_location().bytes().end);
        let is_raw_text = namespace == HTML && RAW_TEXT.contains(&name.as_str());
        if element.is_self_closing() {
            self.correction = matches!(name.as_str(), "svg" | "math").then(|| (end, format!("</{name}>")));
            self.scan.differs_as_xml |= is_raw_text;
        } else if is_raw_text && self.lacks_last_value(element.attributes(), end) {
            self.correction = Some((end, format!("<{name}>")));
            self.scan.is_unclear |= name == "title" && self.has_svg;
        }
        self.has_svg |= namespace == SVG;
        self.attributes(&name, namespace == SVG, element.attributes());
        if name == "noscript" && namespace == HTML {
            if self.in_noscript {
                self.resume = Some(end);
                return Err("the rest is scanned by itself".into());
            }
            self.noscripts.push(end);
        }
        Ok(())
    }

    fn attributes(&mut self, element: &str, in_svg: bool, attributes: &[Attribute<'_>]) {
        for (index, attribute) in attributes.iter().enumerate() {
            let name = attribute.name();
            let form = match name.as_str() {
                "content" if element == "meta" => meta_form(attributes),
                name => table::form(element, in_svg, name),
            };
            let (Some(form), Some(location)) = (form, attribute.value_source_location()) else { continue };
            // Of several attributes of one name only the first counts.
            if attributes[..index].iter().all(|earlier| earlier.name() != name) {
                let range = location.bytes();
                self.scan.values.push(Value { range: self.position(range.start)..self.position(range.end), form });
            }
        }
    }

    /// True for `<script src=>`, but not for `<script =>`, whose attribute has that name.
    fn lacks_last_value(&self, attributes: &[Attribute<'_>], tag_end: usize) -> bool {
        attributes.last().is_some_and(|attribute| {
            let name = attribute.name_source_location().map(|name| self.position(name.bytes().end));
            let after_name = &self.bytes[name.unwrap_or(tag_end)..tag_end];
            attribute.value_source_location().is_none() && after_name.contains(&b'=')
        })
    }

    fn position(&self, parsed: usize) -> usize {
        parsed.saturating_add_signed(self.base)
    }
}

fn meta_form(attributes: &[Attribute<'_>]) -> Option<Form> {
    let first = |name: &str| {
        let attribute = attributes.iter().find(|attribute| attribute.name() == name)?;
        Some(htmlize::unescape_attribute(attribute.value()).into_owned())
    };
    table::meta_form(first("http-equiv").as_deref(), first("property").as_deref(), first("name").as_deref())
}

/// Gives the parser the bytes, with a correction wherever it needs one.
fn feed<O: FnMut(&[u8])>(
    mut rewriter: HtmlRewriter<'_, O>,
    bytes: &[u8],
    zone: Range<usize>,
    state: &RefCell<&mut State<'_>>,
) -> Result<(), RewritingError> {
    let empties_foreign = state.borrow().empties_foreign;
    let may_need = |end: &usize| match bytes[zone.start..*end - 1].trim_ascii_end() {
        [.., b'='] => true,
        [.., b'/'] => empties_foreign,
        _ => false,
    };
    let mut at = zone.start;
    for end in memchr::memchr_iter(b'>', &bytes[zone.clone()]).map(|at| zone.start + at + 1).filter(may_need) {
        rewriter.write(&bytes[at..end])?;
        at = end;
        let correction = state.borrow_mut().correction.take().filter(|(tag_end, _)| *tag_end == end);
        if let Some((_, tag)) = correction {
            state.borrow_mut().correcting = !tag.starts_with("</");
            rewriter.write(tag.as_bytes())?;
            state.borrow_mut().base -= tag.len().cast_signed();
        }
    }
    rewriter.write(&bytes[at..zone.end])?;
    rewriter.end()
}

fn may_empty_foreign(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'<', bytes).any(|at| {
        let rest = &bytes[at + 1..];
        let named = |name: &[u8]| rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name);
        let tag = || &rest[..memchr::memchr(b'<', rest).unwrap_or(rest.len())];
        (named(b"svg") || named(b"math")) && memchr::memmem::find(tag(), b"/>").is_some()
    })
}

fn broken(why: &str) -> Error {
    Error::new(Code::Unreadable, format!("the page can't be parsed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        let scan = scan(html.as_bytes()).unwrap();
        let found: Vec<&str> = scan.values.iter().map(|value| &html[value.range.clone()]).collect();
        assert_eq!(found, expected, "{html}");
    }

    #[test]
    fn values_are_found_where_they_stand() {
        check("<A\nHREF = 'x' Href=y><img src=a srcset=\"b 1x\"alt=c>", &["x", "a", "b 1x"]);
        check("<p href=x xlink:href=y data-src=z><base href=''>", &["y", ""]);
        check("<a href=x/><a href>", &["x/"]);
        check(
            "<meta content='0;url=x' http-equiv=REFRESH><meta name=og:image content=y><meta name=x content=z>",
            &["0;url=x", "y"],
        );
        check("<isindex action=x><form action=y><button formaction=z>", &["y", "z"]);
    }

    #[test]
    fn text_is_not_markup() {
        check(
            "<!-- <a href=x> --><script>'<a href=x>'</script><style><a href=x></style><title><a href=x></title>",
            &[],
        );
        check("<textarea><a href=x></textarea><iframe src=y><a href=x></iframe><a href=z", &["y"]);
        check("<svg><![CDATA[<a href=x>]]><script><a href=y></script></svg>", &["y"]);
    }

    #[test]
    fn svg_and_what_comes_after_it() {
        check("<svg><use href=x /><title><a href=y></title></svg><p><use href=z>", &["x", "y"]);
        check("<svg/><script>'<a href=x>'</script><a href=y>", &["y"]);
        check(
            "<svg><svg a='/>' href=w /><g href=x></g></svg><math/><g href=z><script>'<a href=x>'</script><a href=y>",
            &["w", "x", "y"],
        );
        check("<svg href=a/><g href=b></svg>", &["a/", "b"]);
    }

    #[test]
    fn text_begins_after_an_attribute_without_value() {
        check("<script src=>'<a href=x>'</script><a href=y>", &["y"]);
        check(
            "<style media = ><a href=x></style><title a=b=><a href=x></title><title =><a href=x></title><title = ><a href=x></title><a href=y>",
            &["y"],
        );
        check(
            "<noscript a=><a href=x></noscript><a href=y><script b >'<a href=x>'</script><a href=z>",
            &["x", "y", "z"],
        );
    }

    #[test]
    fn noscript_and_template_hold_markup() {
        check("<noscript><a href=a><!-- <a href=x> --><noscript><a href=b></noscript><a href=c>", &["a", "b", "c"]);
        check("<template><a href=a></template><noscript><a href='</noscript><a href=b>", &["a", "b"]);
        check("<noscript><style><a href=x></style><a href=a></NOSCRIPT >", &["a"]);
        check("<noscript><svg/><a href=a>", &["a"]);
        check(&"<noscript>".repeat(5_000), &[]);
    }

    #[test]
    fn what_xml_would_read_otherwise_is_told() {
        for html in ["<script src=x /><p>", "<p><![CDATA[ <a href=x> ]]>", "<title/>"] {
            assert!(scan(html.as_bytes()).unwrap().differs_as_xml, "{html}");
        }
        for html in ["<p/><svg><title/></svg>", "<script>//<![CDATA[\n//]]></script>", "<svg><![CDATA[x]]></svg>"] {
            assert!(!scan(html.as_bytes()).unwrap().differs_as_xml, "{html}");
        }
    }
}
