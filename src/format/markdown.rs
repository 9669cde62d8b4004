//! Finds the URLs of a Markdown file: destinations, reference definitions, autolinks, and those of its raw HTML.
//!
//! A library finds the links with their beginnings and ends. This code locates the destinations inside, which must agree with
//! the library's reading; otherwise the file is left alone.

use std::{collections::BTreeMap, ops::Range};

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::{
    destination::{self, Definition},
    escape::Escape,
    heading, html,
    outline::Outline,
    scan::Scan,
    table::Form,
    text,
    value::{Decoded, Value},
};
use base::{error::Error, pulse::Pulse};

/// Events between two calls of the pulse.
const STRIDE: usize = 1000;

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

const DISAGREES: &str = "it is not clear where the URL of one of its links stands";
const DATA: &str = "it is not clear where a CDATA section in its text ends";
const FOLDED: &str = "a link in its HTML goes over several lines of a quote or a list";

/// A link or image that has not ended yet.
#[derive(Debug)]
struct Open<'a> {
    kind: LinkType,
    url: CowStr<'a>,
    /// The end of its content.
    inside_end: usize,
}

#[derive(Debug, Default)]
pub struct Document<'a> {
    text: &'a str,
    json_ld: bool,
    /// The headings and ids, where an outline is wanted.
    outline: Option<Outline>,
    headings: heading::Reader,
    scan: Scan,
    links: Vec<Open<'a>>,
    in_code: bool,
    /// Running text outside of links; emphasis does not end a run.
    runs: Vec<Range<usize>>,
    /// The pieces of each part of raw HTML; a part in a quote has several.
    html: Vec<Vec<Range<usize>>>,
    in_html: bool,
    /// Tags over several lines of a quote or a list, without the line marks.
    folded: String,
    /// The end of the blocks so far, and the gaps between blocks: blank lines, markers and definitions.
    covered: usize,
    gaps: Vec<Range<usize>>,
}

/// Finds every URL.
pub fn scan(text: &str, json_ld: bool, pulse: Pulse<'_>) -> Result<Scan, Error> {
    let matter = front_matter(text);
    let mut scan = Scan::default();
    scan.add_part(text.as_bytes(), (matter.clone(), Escape::Plain), |matter| text::scan(matter, pulse))?;
    scan.add_part(text.as_bytes(), (matter.end..text.len(), Escape::Plain), |body| {
        self::body(Document { text: body, json_ld, ..Document::default() }, pulse).map(|read| read.scan)
    })?;
    Ok(scan)
}

/// Finds the links to other files, the headings and the ids. Front matter and bare URLs are left out.
pub fn outline(text: &str, pulse: Pulse<'_>) -> Result<Outline, Error> {
    let start = front_matter(text).end;
    let document = Document { text: &text[start..], outline: Some(Outline::default()), ..Document::default() };
    let Document { mut scan, outline, .. } = body(document, pulse)?;
    for value in &mut scan.values {
        value.range = start + value.range.start..start + value.range.end;
    }
    let mut outline = outline.unwrap_or_default();
    for heading in &mut outline.headings {
        heading.range = start + heading.range.start..start + heading.range.end;
    }
    Ok(Outline { values: scan.values, skipped: scan.skipped.or(outline.skipped), ..outline })
}

/// YAML between lines of `---`, or TOML between lines of `+++`, at the beginning.
pub(super) fn front_matter(text: &str) -> Range<usize> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut at = start;
    let mut fence = None;
    for line in text[start..].split_inclusive('\n') {
        let bare = line.trim_end_matches([' ', '\t', '\r', '\n']);
        at += line.len();
        match fence {
            None if matches!(bare, "---" | "+++") => fence = Some(bare),
            None => break,
            Some(fence) if fence == bare => return start..at,
            Some(_) => {}
        }
    }
    start..start
}

/// True for the mark of a footnote or a task.
fn is_marker(text: &str) -> bool {
    let is_task =
        ["[ ]", "[x]", "[X]"].iter().any(|mark| text.starts_with(mark)) && text.as_bytes().get(3) != Some(&b':');
    is_task || text.starts_with("[^")
}

fn body<'a>(mut document: Document<'a>, pulse: Pulse<'_>) -> Result<Document<'a>, Error> {
    let text = document.text;
    let mut parser = Parser::new_ext(text, OPTIONS).into_offset_iter();
    for (n, (event, range)) in parser.by_ref().enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        document.event(event, range);
    }
    document.gaps.push(document.covered..text.len());
    let known = parser.reference_definitions().iter();
    document.definitions(known.map(|(_, known)| (known.span.start, (known.span.end, &*known.dest))).collect());
    if document.outline.is_none() {
        for run in std::mem::take(&mut document.runs) {
            let urls = text::autolinks(&text[run.clone()]).map(|url| run.start + url.start..run.start + url.end);
            document.scan.values.extend(urls.map(|url| Value::new(url, Escape::MarkdownText, Form::Url)));
        }
    }
    for (n, part) in std::mem::take(&mut document.html).into_iter().enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        document.html(&part, pulse)?;
    }
    let folded = std::mem::take(&mut document.folded);
    if !document.html_values(folded.as_bytes(), pulse)?.values.is_empty() {
        document.scan.skipped = Some(FOLDED.into());
    }
    document.scan.values.sort_by_key(|value| value.range.start);
    Ok(document)
}

impl<'a> Document<'a> {
    fn event(&mut self, event: Event<'a>, range: Range<usize>) {
        self.cover(&event, &range);
        if let Some(outline) = &mut self.outline {
            self.headings.event(&event, &range, &mut outline.headings);
        }
        match event {
            Event::Start(Tag::Link { link_type: kind, dest_url: url, .. }) => {
                self.links.push(Open { kind, url, inside_end: range.start + "[".len() });
            }
            Event::Start(Tag::Image { link_type: kind, dest_url: url, .. }) => {
                self.links.push(Open { kind, url, inside_end: range.start + "![".len() });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(link) = self.links.pop() {
                    self.link(&link, range);
                }
            }
            Event::Start(Tag::CodeBlock(_)) => self.in_code = true,
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Start(Tag::HtmlBlock) => {
                self.in_html = true;
                self.html.push(Vec::new());
            }
            Event::End(TagEnd::HtmlBlock) => self.in_html = false,
            Event::Html(_) | Event::Text(_) if self.in_html => self.html_line(range),
            Event::InlineHtml(html) => self.inline_html(&html, range),
            Event::Text(_) if !self.in_code => self.run(range),
            _ => {}
        }
    }

    /// Records the progress of reading: text outside of blocks is blank, a marker or a definition.
    fn cover(&mut self, event: &Event<'_>, range: &Range<usize>) {
        if let Event::End(_)
        | Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item | Tag::FootnoteDefinition(_)) = event
        {
            return;
        }
        if self.covered < range.start {
            self.gaps.push(self.covered..range.start);
        }
        let end = match event {
            // The parser leaves its brackets out.
            Event::Start(Tag::Link { link_type, .. } | Tag::Image { link_type, .. })
                if *link_type == LinkType::Collapsed =>
            {
                range.end + "[]".len()
            }
            _ => range.end,
        };
        self.covered = self.covered.max(end);
        if let Some(link) = self.links.last_mut() {
            link.inside_end = link.inside_end.max(end);
        }
    }

    fn link(&mut self, link: &Open<'_>, range: Range<usize>) {
        match link.kind {
            LinkType::Inline => {
                let place = destination::of_link(&self.text[..range.end], link.inside_end);
                self.push(place, Escape::Markdown, &link.url);
            }
            LinkType::Autolink => self.push(Some(range.start + 1..range.end - 1), Escape::Plain, &link.url),
            LinkType::Email => {
                // Without its name it resembles a URL that can't move: `//a@b.c` is also an address of mail.
                let at = self.text[range.clone()].find('@').map_or(range.start, |length| range.start + length);
                self.scan.values.push(Value::new(at..range.end - 1, Escape::Plain, Form::Url));
            }
            // A definition has their destination.
            _ => {}
        }
    }

    /// Takes a destination, if it agrees with the parser's reading.
    fn push(&mut self, place: Option<Range<usize>>, escape: Escape, url: &str) {
        let means = |place: &Range<usize>| Decoded::new(self.text[place.clone()].as_bytes(), &[escape]).text == url;
        match place.filter(means) {
            Some(place) => self.scan.values.push(Value::new(place, escape, Form::Url)),
            None => self.scan.skipped = Some(DISAGREES.into()),
        }
    }

    /// Takes the definitions between blocks. The parser knows the first of each label: its beginning, end and URL.
    fn definitions(&mut self, mut known: BTreeMap<usize, (usize, &str)>) {
        for gap in std::mem::take(&mut self.gaps) {
            let mut at = gap.start;
            while let Some(found) = self.text[at..gap.end].find('[') {
                let start = at + found;
                if !known.contains_key(&start) && is_marker(&self.text[start..gap.end]) {
                    at = start + "[^".len();
                    continue;
                }
                let definition = destination::of_definition(&self.text[..gap.end], start);
                let Some(Definition { destination, end }) = definition else {
                    self.scan.skipped = Some(DISAGREES.into());
                    return;
                };
                let (end, url) = known.remove(&start).map_or((end, None), |(end, url)| (end, Some(url)));
                match url {
                    Some(url) => self.push(Some(destination), Escape::Markdown, url),
                    None => self.scan.values.push(Value::new(destination, Escape::Markdown, Form::Url)),
                }
                at = end.clamp(start + 1, gap.end);
            }
        }
        if !known.is_empty() {
            self.scan.skipped = Some(DISAGREES.into());
        }
    }

    /// Takes running text; outside of links, emphasis within a URL does not end it. The parser misses some CDATA sections.
    fn run(&mut self, range: Range<usize>) {
        let mut signs = memchr::memchr_iter(b'<', self.text[range.clone()].as_bytes()).map(|at| range.start + at);
        if signs.any(|at| self.text[at..].starts_with("<![CDATA[") && !self.text[..at].ends_with('\\')) {
            self.scan.skipped = Some(DATA.into());
        }
        if !self.links.is_empty() {
            return;
        }
        let goes_on = |run: &&mut Range<usize>| {
            run.end <= range.start && self.text[run.end..range.start].bytes().all(|byte| b"\\*_~".contains(&byte))
        };
        match self.runs.last_mut().filter(goes_on) {
            Some(run) => run.end = range.end,
            None => self.runs.push(range),
        }
    }

    fn html_line(&mut self, range: Range<usize>) {
        let Some(part) = self.html.last_mut() else { return };
        match part.last_mut().filter(|line| line.end == range.start) {
            Some(line) => line.end = range.end,
            None => part.push(range),
        }
    }

    /// Takes a tag in running text. Only an opening tag has attributes.
    fn inline_html(&mut self, html: &str, range: Range<usize>) {
        if html.starts_with("<![CDATA[") && !html.ends_with("]]>") {
            self.scan.skipped = Some(DATA.into());
        }
        if !html.contains('=') || html.starts_with("<!") || html.starts_with("<?") {
            return;
        }
        if html == &self.text[range.clone()] {
            self.html.push(vec![range]);
        } else {
            self.folded.push_str(html);
        }
    }

    /// Scans a part with raw HTML by itself.
    fn html(&mut self, lines: &[Range<usize>], pulse: Pulse<'_>) -> Result<(), Error> {
        let part = Decoded::of_pieces(self.text, lines);
        // Without these there are neither attributes nor URLs of CSS.
        if !part.text.contains(['=', '(', '@']) {
            return Ok(());
        }
        let found = self.html_values(part.text.as_bytes(), pulse)?;
        self.scan.skipped = self.scan.skipped.take().or(found.skipped);
        for value in found.values {
            let length = value.range.len();
            let value = value.within(&part, 0, Escape::Plain);
            if value.range.len() != length {
                self.scan.skipped = Some(FOLDED.into());
            }
            self.scan.values.push(value);
        }
        Ok(())
    }

    /// The values of raw HTML. An outline takes its ids at once.
    fn html_values(&mut self, html: &[u8], pulse: Pulse<'_>) -> Result<Scan, Error> {
        let Some(outline) = &mut self.outline else {
            return Ok(html::scan(html, self.json_ld, pulse)?.scan);
        };
        let found = html::outline(html, pulse)?;
        outline.names.extend(found.names);
        Ok(Scan { values: found.values, skipped: found.skipped })
    }
}
