//! Reads Markdown as a tree: destinations with their places, and the anchors of headings.

use std::{cell::RefCell, collections::BTreeSet, ops::Range};

use comrak::{
    Arena, Options,
    nodes::{Node, NodeValue, Sourcepos},
    try_parse_document,
};

use super::{
    super::params::Dialect,
    block,
    document::{Document, Found, Manner},
    heading::{Heading, Taken},
    hidden::Ground,
    inclusion, place, raw_heading,
    slug::{Slugger, slug},
};
use audit::{
    definition::{Candidate, Marks, candidates},
    mdx::masked::Masked,
    page::{Page, Subject},
};
use base::{
    error::{Code, Error},
    pulse::Pulse,
};

const NOT_TEXT: &str = "it is no UTF-8, so it was to be left alone";
const UNREAD: &str = "its definitions of links can be read in several ways, so it was to be left alone";

/// The limit of attempts to tell definitions from text.
const ATTEMPTS: usize = 4;

/// Reads a file; an error if the pulse gives one.
pub(super) fn read(bytes: &[u8], manner: Manner<'_>) -> Result<Document, Error> {
    let mut document = Document::default();
    let Ok(source) = std::str::from_utf8(bytes) else {
        document.doubt = Some(NOT_TEXT);
        return Ok(document);
    };
    document.read(&block::listed(&manner.rules.signs, source), &BTreeSet::new(), manner)?;
    document.includes = inclusion::names(source);
    document.has_address = inclusion::has_address(source);
    document.is_open |= !document.includes.is_empty();
    if matches!(manner.rules.dialect, Dialect::Github | Dialect::Gitlab) {
        document.anchors.extend(raw_heading::in_html(source).iter().map(|text| slug(manner.rules, text)));
    }
    Ok(document)
}

/// Reads a file of MDX by the text without its programs; an error if the pulse gives one.
pub(super) fn read_mdx(bytes: &[u8], manner: Manner<'_>) -> Result<Document, Error> {
    let mut document = Document::default();
    let Ok(source) = std::str::from_utf8(bytes) else {
        document.doubt = Some(NOT_TEXT);
        return Ok(document);
    };
    let masked = Masked::of(source, manner.pulse)?;
    document.read(&masked.text, &masked.mixed, manner)?;
    for span in document.links.iter_mut().filter_map(|found| found.span.as_mut()) {
        *span = masked.place(span.start)..masked.place(span.end - 1) + 1;
    }
    let mut page = Page { is_brief: true, subject: Subject::Tree, ..Page::default() };
    masked.elements(source, &mut page);
    document.page(page, bytes, 1, Some);
    document.doubt = masked.doubt.or(document.doubt);
    document.includes = inclusion::names(source);
    document.has_address = inclusion::has_address(source);
    document.is_open |= masked.may_have_more || masked.doubt.is_some() || !document.includes.is_empty();
    Ok(document)
}

impl Document {
    /// Reads a text. On some lines it stands around programs.
    fn read(&mut self, source: &str, mixed: &BTreeSet<usize>, manner: Manner<'_>) -> Result<(), Error> {
        let bytes = source.as_bytes();
        let places = candidates(source);
        let definitions = Definitions::of(source, &places, manner.pulse)?;
        if definitions.is_doubtful {
            self.doubt = Some(UNREAD);
        }
        let arena = Arena::new();
        let root = parse(&arena, source, manner.pulse)?;
        let lines = place::Lines::of(source);
        self.headings(root, (source, &lines), mixed, manner);
        let mut links = 0;
        for node in root.descendants() {
            let data = node.data();
            match &data.value {
                NodeValue::Link(link) | NodeValue::Image(link) => {
                    let is_reference = definitions.references.get(links).copied().unwrap_or_default();
                    links += 1;
                    if !is_reference && !link.url.trim().is_empty() {
                        let range = lines.range(data.sourcepos);
                        let span = if manner.is_located { place::destination(source, range, &link.url) } else { None };
                        self.links.push(found(link.url.as_bytes(), data.sourcepos, span));
                    }
                }
                NodeValue::HtmlInline(html) => {
                    let start = lines.range(data.sourcepos).start;
                    let at = |at: usize| lines.in_tag(source, start, html, at);
                    self.html(html.as_bytes(), manner, (start, data.sourcepos.start.line), at)?;
                }
                NodeValue::HtmlBlock(block) => {
                    let first = data.sourcepos.start.line;
                    let at = |at: usize| lines.in_block(source, first, &block.literal, at);
                    self.html(block.literal.as_bytes(), manner, (0, first), at)?;
                }
                _ => {}
            }
        }
        for Candidate { place, .. } in definitions.found {
            let url = place::meaning(&bytes[place.clone()]);
            let span = place::with_brackets(bytes, place.clone());
            let line = lines.of_place(place.start);
            self.links.push(Found { url, line, span: Some(span), is_raw: false });
        }
        Ok(())
    }

    /// Takes the anchors of the headings.
    fn headings<'a>(
        &mut self,
        root: Node<'a>,
        (source, lines): (&'a str, &'a place::Lines),
        mixed: &BTreeSet<usize>,
        manner: Manner<'a>,
    ) {
        let ground = Ground::of(root, (source, lines), manner.rules);
        let is_heading = |node: &Node<'a>| matches!(node.data().value, NodeValue::Heading(_));
        let taken = root.descendants().filter(is_heading).map(|node| {
            let Sourcepos { start, end } = node.data().sourcepos;
            let is_enclosed = ground.is_enclosed(start.line) || mixed.range(start.line..=end.line).next().is_some();
            Heading { node, rules: manner.rules, source, lines, is_enclosed }.taken()
        });
        let taken: Vec<Taken> = taken.collect();
        let mut slugger = Slugger::new(manner.rules);
        slugger.ahead(taken.iter().filter_map(|taken| if let Taken::Id(id) = taken { Some(id) } else { None }));
        self.is_open = ground.may_have_more();
        for taken in taken {
            match taken {
                Taken::Id(id) => {
                    slugger.explicit(&id);
                    self.anchors.insert(id);
                }
                Taken::Text(text) => self.anchors.extend(slugger.heading(&text)),
                Taken::Unknown => self.is_open = true,
            }
        }
    }
}

fn found(url: &[u8], position: Sourcepos, span: Option<Range<usize>>) -> Found {
    Found { url: url.to_vec(), line: position.start.line, span, is_raw: false }
}

fn options(source: &str) -> Options<'static> {
    let mut options = Options::default();
    options.extension.footnotes = true;
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    let delimiter = if source.trim_start_matches('\u{feff}').starts_with("+++") { "+++" } else { "---" };
    options.extension.front_matter_delimiter = Some(delimiter.to_owned());
    options.parse.leave_footnote_definitions = true;
    options
}

fn parse<'a>(arena: &'a Arena<'a>, source: &str, pulse: Pulse<'_>) -> Result<Node<'a>, Error> {
    let stop = RefCell::new(None);
    let should_stop = || {
        let asked = pulse();
        let stops = asked.is_err();
        *stop.borrow_mut() = asked.err();
        stops
    };
    try_parse_document(arena, source, &options(source), &should_stop).map_err(|_| {
        let unknown = || Error::new(Code::Internal, "the parser for Markdown stopped without a reason");
        stop.take().unwrap_or_else(unknown)
    })
}

/// The definitions of a file, and the links that refer to them.
#[derive(Default)]
struct Definitions<'c> {
    found: Vec<&'c Candidate>,
    /// For each link and image in reading order: true if its destination is a definition's.
    references: Vec<bool>,
    is_doubtful: bool,
}

impl<'c> Definitions<'c> {
    /// Puts a mark in place of each candidate's destination. A mark that turns up in a text was no definition's.
    fn of(source: &str, places: &'c [Candidate], pulse: Pulse<'_>) -> Result<Self, Error> {
        let mut found: Vec<&Candidate> = Vec::new();
        // The inner one of two is a definition only if the outer one is none, which the marks then show.
        for place in places.iter().filter(|place| !place.place.is_empty()) {
            if found.last().is_none_or(|last| last.place.end <= place.whole.start.max(place.place.start)) {
                found.push(place);
            }
        }
        let marks = Marks::new(source);
        for _ in 0..ATTEMPTS {
            if found.is_empty() {
                return Ok(Definitions::default());
            }
            let arena = Arena::new();
            let root = parse(&arena, &marks.set(source, &found), pulse)?;
            let (mut seen, mut references) = (BTreeSet::new(), Vec::new());
            for node in root.descendants() {
                let value = &node.data().value;
                marks.find(value, &mut seen);
                if let NodeValue::Link(link) | NodeValue::Image(link) = value {
                    references.push(marks.whole(&link.url).is_some());
                }
            }
            if seen.is_empty() {
                return Ok(Definitions { found, references, is_doubtful: false });
            }
            let kept = found.into_iter().enumerate().filter(|(n, _)| !seen.contains(n));
            found = kept.map(|(_, place)| place).collect();
        }
        Ok(Definitions { is_doubtful: true, ..Definitions::default() })
    }
}
