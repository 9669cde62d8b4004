//! Finds the values of an HTML page that hold URLs: attributes, style sheets, and structured data on request. They are exact
//! byte ranges, found with a streaming parser.
//!
//! The parser only simulates a tree. Tags that are inserted into its input, not into the file, correct three readings. `<svg/>`
//! ends at once. `<script src=>` begins text although its last attribute lacks a value. A `<noscript>` inside another holds
//! markup. Where its tree could differ from a browser's, the page is unclear.

use std::{cell::RefCell, collections::BTreeSet, ops::Range};

use lol_html::{
    HtmlRewriter, Settings, doc_comments, element,
    errors::RewritingError,
    html_content::{Attribute, Element},
};

use super::{
    css,
    escape::Escape,
    foreign::{self, Foreign, Kind, RAW_TEXT, Start},
    json,
    outline::{BASE, Outline},
    scan::Scan,
    table::{self, Form},
    value::Value,
};
use base::{
    error::{Code, Error},
    pulse::Pulse,
};

const SVG: &str = "http://www.w3.org/2000/svg";
const MATH: &str = "http://www.w3.org/1998/Math/MathML";
const HTML: &str = "http://www.w3.org/1999/xhtml";

/// The bytes between two calls of the pulse.
const STRIDE: usize = 16 << 10;

/// The reason to leave a page alone whose tree could differ in a browser.
const UNCLEAR: &str = "what is text and what is markup in it depends on how browsers mend its tags, near an `<svg>`, \
    `<math>`, `<select>` or the like";

/// The contents of a page.
#[derive(Debug, Default)]
pub struct Page {
    /// Every value with URLs. The page is skipped if text and markup are indistinguishable, because elements around foreign
    /// content are not closed properly.
    pub scan: Scan,
    /// True if an XML parser would read it differently: a page that may be XML must not be read as HTML.
    differs_as_xml: bool,
}

impl Page {
    /// The page if it must mean the same as XML.
    pub fn into_xml(self) -> Scan {
        match self.differs_as_xml && self.scan.skipped.is_none() {
            true => Scan::skipped("as XML it means something else than as HTML"),
            false => self.scan,
        }
    }
}

/// Finds every value with URLs. `<noscript>` holds markup too, for browsers without scripts.
pub fn scan(bytes: &[u8], json_ld: bool, pulse: Pulse<'_>) -> Result<Page, Error> {
    let mut state = State { bytes, json_ld, empties_foreign: may_empty_foreign(bytes), ..State::default() };
    state.zones(pulse)?;
    state.finish(pulse)
}

/// Finds every value with URLs, and the ids.
pub fn outline(bytes: &[u8], pulse: Pulse<'_>) -> Result<Outline, Error> {
    let outline = Some(Outline::default());
    let mut state = State { bytes, outline, empties_foreign: may_empty_foreign(bytes), ..State::default() };
    state.zones(pulse)?;
    let outline = state.outline.take().unwrap_or_default();
    let Scan { values, skipped } = state.finish(pulse)?.scan;
    Ok(Outline { values, skipped: skipped.or(outline.skipped), ..outline })
}

#[derive(Debug, Default)]
struct State<'a> {
    bytes: &'a [u8],
    json_ld: bool,
    /// The ids, where an outline is wanted.
    outline: Option<Outline>,
    values: Vec<Value>,
    /// The places of CSS, with its escape.
    sheets: Vec<(Range<usize>, Escape)>,
    /// The places of JSON.
    scripts: Vec<Range<usize>>,
    /// True if an XML parser would read it differently.
    differs_as_xml: bool,
    /// True if a browser could build another tree.
    is_unclear: bool,
    /// The end of the parser's input.
    zone_end: usize,
    /// The beginning of the text of each `<noscript>`.
    noscripts: Vec<usize>,
    in_noscript: bool,
    foreign: Foreign,
    /// The end of the last start tag, and the element's name if its content is text.
    last: (usize, Option<String>),
    /// True if there may be an `<svg/>` or `<math/>`.
    empties_foreign: bool,
    /// The difference between positions in the file and the parser's.
    base: isize,
    /// A tag to insert into the parser's input after the one that ends there.
    correction: Option<(usize, String)>,
    /// True while the parser reads a correction.
    correcting: bool,
}

impl State<'_> {
    /// Scans the file, and each `<noscript>` in it by itself.
    fn zones(&mut self, pulse: Pulse<'_>) -> Result<(), Error> {
        let bytes = self.bytes;
        self.zone(0..bytes.len(), pulse)?;
        if self.is_unclear {
            // The place where a `<noscript>` begins text is then unknown, too.
            return Ok(());
        }
        self.in_noscript = true;
        for start in std::mem::take(&mut self.noscripts) {
            pulse()?;
            self.zone(start..start + foreign::end_of_text(&bytes[start..], b"noscript"), pulse)?;
        }
        Ok(())
    }

    /// Scans the parts in other languages.
    fn finish(self, pulse: Pulse<'_>) -> Result<Page, Error> {
        let mut scan = Scan { values: self.values, skipped: self.is_unclear.then_some(UNCLEAR.into()) };
        for sheet in self.sheets {
            scan.add_part(self.bytes, sheet, |css| css::scan(css, pulse))?;
        }
        for script in self.scripts {
            // Text that is not JSON is not data.
            let read = |text: &str| json::scan(text, pulse).map(|found| Scan { skipped: None, ..found });
            scan.add_part(self.bytes, (script, Escape::Plain), read)?;
        }
        scan.values.sort_by_key(|value| value.range.start);
        Ok(Page { scan, differs_as_xml: self.differs_as_xml })
    }

    /// Scans a part of the file by itself.
    fn zone(&mut self, zone: Range<usize>, pulse: Pulse<'_>) -> Result<(), Error> {
        self.base = isize::try_from(zone.start).map_err(|_| broken("it is too large"))?;
        self.foreign = Foreign::default();
        self.last = (zone.start, None);
        self.correction = None;
        self.zone_end = zone.end;
        let bytes = self.bytes;
        let state = RefCell::new(self);
        let settings = Settings::new()
            .append_element_content_handler(element!("*", |element| {
                state.borrow_mut().element(element);
                Ok(())
            }))
            .append_document_content_handler(doc_comments!(|comment| {
                let mut state = state.borrow_mut();
                state.differs_as_xml |= comment.text().starts_with("[CDATA[");
                Ok(())
            }))
            .with_strict(false);
        let rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
        feed(rewriter, bytes, zone.clone(), &state, pulse)?;
        let state = state.into_inner();
        let (end, text_of) = std::mem::take(&mut state.last);
        let rest = &bytes[end.min(zone.end)..zone.end];
        if state.in_noscript {
            // Without scripts, nothing else would end an unclosed comment.
            state.foreign.finish(rest, text_of.as_deref());
        } else if state.foreign.is_engaged() {
            state.foreign.between(rest, text_of.as_deref());
        }
        state.is_unclear |= state.foreign.is_unclear;
        Ok(())
    }

    fn element(&mut self, element: &mut Element<'_, '_>) {
        if std::mem::take(&mut self.correcting) {
            return;
        }
        let name = element.tag_name();
        let location = element.source_location().bytes();
        let (start, end) = (self.position(location.start), self.position(location.end));
        let kind = self.follow(&name, start, element);
        self.last = (end, None);
        if kind == Kind::Html && RAW_TEXT.contains(&name.as_str()) {
            self.differs_as_xml |= element.is_self_closing();
            if name == "noscript" && self.in_noscript {
                self.correction = Some((end, "</noscript>".to_owned()));
            } else {
                if name == "noscript" {
                    self.noscripts.push(end);
                }
                if !element.is_self_closing() && self.lacks_last_value(element.attributes(), end) {
                    self.correction = Some((end, format!("<{name}>")));
                }
                self.text(&name, end, element.attributes());
                self.last.1 = Some(name.clone());
            }
        } else if element.is_self_closing() && matches!(name.as_str(), "svg" | "math") {
            self.correction = Some((end, format!("</{name}>")));
        }
        self.attributes(&name, kind == Kind::Svg, element.attributes());
        self.names(&name, element.attributes());
    }

    /// Takes the ids of an element, where an outline is wanted.
    fn names(&mut self, element: &str, attributes: &[Attribute<'_>]) {
        let Some(outline) = &mut self.outline else { return };
        for (n, attribute) in attributes.iter().enumerate() {
            let name = attribute.name();
            let is_base = element == "base" && name == "href";
            let is_name = name == "id" || (name == "name" && element == "a");
            if !(is_base || is_name) || attributes[..n].iter().any(|earlier| earlier.name() == name) {
                continue;
            }
            if is_base {
                outline.skipped = Some(BASE.into());
            } else {
                outline.names.push(htmlize::unescape_attribute(attribute.value()).into_owned());
            }
        }
    }

    /// The kind of the element in a browser; the page is unclear if the parser takes it for another.
    fn follow(&mut self, name: &str, start: usize, element: &Element<'_, '_>) -> Kind {
        if self.foreign.is_engaged() && self.last.0 <= start {
            let (end, text_of) = std::mem::take(&mut self.last);
            self.foreign.between(&self.bytes[end..start], text_of.as_deref());
        }
        let mut tag =
            Start { name, is_self_closing: element.is_self_closing(), has_font_style: false, has_html_encoding: false };
        if matches!(name, "font" | "annotation-xml") {
            tag.has_font_style =
                element.attributes().iter().any(|one| matches!(one.name().as_str(), "color" | "face" | "size"));
            let encoding = first(element.attributes(), "encoding").map(|value| value.to_ascii_lowercase());
            tag.has_html_encoding = matches!(encoding.as_deref(), Some("text/html" | "application/xhtml+xml"));
        }
        let kind = self.foreign.start(tag);
        let agrees = match kind {
            Kind::Html => element.namespace_uri() == HTML,
            Kind::Svg => element.namespace_uri() == SVG,
            Kind::Math => element.namespace_uri() == MATH,
            // The parser is already inside.
            Kind::Point | Kind::TextPoint => element.is_self_closing() || element.namespace_uri() == HTML,
        };
        self.foreign.is_unclear |= !agrees;
        kind
    }

    fn attributes(&mut self, element: &str, in_svg: bool, attributes: &[Attribute<'_>]) {
        // Of several attributes of one name only the first counts.
        let mut seen = BTreeSet::new();
        for attribute in attributes {
            let name = attribute.name();
            let is_style = name == "style";
            let known = is_style || (name == "content" && element == "meta");
            // Components of MDX are elements of any name.
            let is_link = self.outline.is_some() && matches!(name.as_str(), "href" | "src");
            let listed = table::form(element, in_svg, &name).or(is_link.then_some(Form::Url));
            if !(known || listed.is_some()) || !seen.insert(name.clone()) {
                continue;
            }
            if is_style {
                self.style(attribute);
                continue;
            }
            let form = if known { meta_form(attributes) } else { listed };
            if let (Some(form), Some(location)) = (form, attribute.value_source_location()) {
                let range = location.bytes();
                let range = self.position(range.start)..self.position(range.end);
                self.values.push(Value::new(range, Escape::Html, form));
            }
        }
    }

    fn style(&mut self, attribute: &Attribute<'_>) {
        let Some(location) = attribute.value_source_location() else { return };
        let range = self.position(location.bytes().start)..self.position(location.bytes().end);
        // Most have no URL: neither a parenthesis nor a character that could be one.
        if self.bytes[range.clone()].iter().any(|byte| matches!(byte, b'(' | b'@' | b'&')) {
            self.sheets.push((range, Escape::Html));
        }
    }

    /// Takes the text of a style sheet or a script, which begins there.
    fn text(&mut self, name: &str, start: usize, attributes: &[Attribute<'_>]) {
        let is_data = || {
            let kind = first(attributes, "type").unwrap_or_default();
            let kind = kind.split(';').next().unwrap_or_default().trim_matches(|c: char| c.is_ascii_whitespace());
            name == "script" && self.json_ld && kind.eq_ignore_ascii_case("application/ld+json")
        };
        let is_sheet = name == "style";
        if !is_sheet && !is_data() {
            return;
        }
        let bytes = &self.bytes[start..self.zone_end];
        let text = &bytes[..foreign::end_of_text(bytes, name.as_bytes())];
        let range = start..start + text.len();
        let holds = |needle: &[u8]| memchr::memmem::find(text, needle).is_some();
        // To an XML parser these are references and markup.
        self.differs_as_xml |= (holds(b"&") || holds(b"<")) && !holds(b"<![CDATA[");
        if is_sheet {
            self.sheets.push((range, Escape::Plain));
        } else if !holds(b"<!--") {
            // After that, the first end tag may not end the script.
            self.scripts.push(range);
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

/// The value of the first attribute of that name.
fn first(attributes: &[Attribute<'_>], name: &str) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.name() == name)?;
    Some(htmlize::unescape_attribute(attribute.value()).into_owned())
}

fn meta_form(attributes: &[Attribute<'_>]) -> Option<Form> {
    let first = |name: &str| first(attributes, name);
    table::meta_form(first("http-equiv").as_deref(), first("property").as_deref(), first("name").as_deref())
}

/// Feeds the bytes to the parser, with its corrections.
fn feed<O: FnMut(&[u8])>(
    mut rewriter: HtmlRewriter<'_, O>,
    bytes: &[u8],
    zone: Range<usize>,
    state: &RefCell<&mut State<'_>>,
    pulse: Pulse<'_>,
) -> Result<(), Error> {
    let (empties_foreign, in_noscript) = (state.borrow().empties_foreign, state.borrow().in_noscript);
    let may_need = |end: &usize| match bytes[zone.start..*end - 1].trim_ascii_end() {
        _ if in_noscript => true,
        [.., b'='] => true,
        [.., b'/'] => empties_foreign,
        _ => false,
    };
    let failed = |error: RewritingError| broken(&error.to_string());
    let mut at = zone.start;
    let mut asked = at;
    let ends = memchr::memchr_iter(b'>', &bytes[zone.clone()]).map(|at| zone.start + at + 1).filter(may_need);
    for end in ends.chain([zone.end]) {
        while at < end {
            let next = end.min(at + STRIDE);
            rewriter.write(&bytes[at..next]).map_err(failed)?;
            at = next;
            if at - asked >= STRIDE {
                pulse()?;
                asked = at;
            }
        }
        let correction = state.borrow_mut().correction.take().filter(|(tag_end, _)| *tag_end == end);
        if let Some((_, tag)) = correction {
            state.borrow_mut().correcting = !tag.starts_with("</");
            rewriter.write(tag.as_bytes()).map_err(failed)?;
            state.borrow_mut().base -= tag.len().cast_signed();
        }
    }
    rewriter.end().map_err(failed)
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
        let scan = scan(html.as_bytes(), true, &|| Ok(())).unwrap().scan;
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
            assert!(scan(html.as_bytes(), false, &|| Ok(())).unwrap().differs_as_xml, "{html}");
        }
        for html in ["<p/><svg><title/></svg>", "<script>//<![CDATA[\n//]]></script>", "<svg><![CDATA[x]]></svg>"] {
            assert!(!scan(html.as_bytes(), false, &|| Ok(())).unwrap().differs_as_xml, "{html}");
        }
    }
}
