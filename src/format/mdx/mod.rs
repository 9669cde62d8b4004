//! Finds the URLs of an MDX file, its headings and its ids.
//!
//! A library for MDX finds the links, with their beginnings and ends. This code locates the destinations inside, which must agree
//! with the library's reading. Programs have no links: modules, expressions, and attributes that are expressions.

mod element;
mod heading;
mod node;
mod program;

use std::{borrow::Cow, ops::Range, panic};

use ::markdown::{mdast::Node, message::Place};

use self::{
    element::{Tag, Use},
    node::place,
};
use super::{
    css, destination,
    escape::Escape,
    markdown::front_matter,
    outline::{BASE, Outline},
    scan::Scan,
    table::Form,
    text,
    value::{Decoded, Value},
};
use base::{error::Error, pulse::Pulse};

/// Nodes between two calls of the pulse.
const STRIDE: usize = 1000;
/// Longer files are left alone, in bytes, since the library can't be stopped.
const LONGEST: usize = 512 << 10;
/// The limit of marks of containers at the beginning of a line, and of open elements.
const DEEPEST: usize = 400;

const DISAGREES: &str = "it is not clear where the URL of one of its links stands";
const TAG: &str = "it is not clear where the attributes of one of its tags stand";
const STOPS: &str = "the parser for MDX can't read it";
const TOO_LONG: &str = "it is longer than 512 KiB";
const TOO_DEEP: &str = "its blocks or its tags are nested too deeply";
/// The reasons that a page may have further anchors.
const IMPORTS: &str = "it may take headings from a page that it imports";
const MAKES: &str = "its programs or its tags may make anchors";

/// Finds every URL.
pub fn scan(source: &str, pulse: Pulse<'_>) -> Result<Scan, Error> {
    let mut page = Page { source, bare: true, ..Page::default() };
    page.read(pulse)?;
    let mut scan = Scan::default();
    scan.add_part(source.as_bytes(), (front_matter(source), Escape::Plain), |matter| text::scan(matter, pulse))?;
    for run in &page.runs {
        let urls = text::autolinks(&source[run.clone()]).map(|url| run.start + url.start..run.start + url.end);
        scan.values.extend(urls.map(|url| Value::new(url, Escape::MarkdownText, Form::Url)));
    }
    scan.values.extend(page.outline.values);
    scan.values.sort_by_key(|value| value.range.start);
    scan.skipped = page.outline.skipped.filter(|reason| *reason != BASE);
    Ok(scan)
}

/// Finds the links to other files, the headings and the ids. Front matter and bare URLs are left out.
pub fn outline(source: &str, pulse: Pulse<'_>) -> Result<Outline, Error> {
    let mut page = Page { source, ..Page::default() };
    page.read(pulse)?;
    page.outline.values.sort_by_key(|value| value.range.start);
    Ok(page.outline)
}

#[derive(Default)]
struct Page<'a> {
    source: &'a str,
    /// True if running text is wanted.
    bare: bool,
    outline: Outline,
    /// The places of style sheets in attributes.
    sheets: Vec<Range<usize>>,
    /// Running text outside of links; emphasis does not end a run.
    runs: Vec<Range<usize>>,
}

/// A step of the walk through the tree.
enum Step<'n> {
    Enter(&'n Node),
    /// A link ends.
    Leave,
}

impl<'a> Page<'a> {
    fn read(&mut self, pulse: Pulse<'_>) -> Result<(), Error> {
        let source = self.source;
        if source.len() > LONGEST {
            self.skip(TOO_LONG);
            return Ok(());
        }
        if is_deep(source) {
            self.skip(TOO_DEEP);
            return Ok(());
        }
        pulse()?;
        let start = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let text = prepared(source);
        // The library stops at some texts instead of answering.
        let parsed = panic::catch_unwind(|| ::markdown::to_mdast(&text[start..], &program::options()));
        let tree = match parsed {
            Ok(Ok(tree)) => tree,
            Err(_) => {
                self.skip(STOPS);
                return Ok(());
            }
            Ok(Err(message)) => {
                let line = message.place.map_or(1, |place| match *place {
                    Place::Position(position) => position.start.line,
                    Place::Point(point) => point.line,
                });
                self.skip(format!("it is not valid MDX: line {line}: {}", message.reason));
                return Ok(());
            }
        };
        let mut steps = vec![Step::Enter(&tree)];
        let (mut n, mut links) = (0, 0);
        while let Some(step) = steps.pop() {
            if n % STRIDE == 0 {
                pulse()?;
            }
            n += 1;
            let Step::Enter(node) = step else {
                links -= 1;
                continue;
            };
            self.node(node, start, links > 0);
            if matches!(node, Node::Link(_) | Node::LinkReference(_)) {
                links += 1;
                steps.push(Step::Leave);
            }
            steps.extend(node.children().into_iter().flatten().rev().map(Step::Enter));
        }
        for sheet in std::mem::take(&mut self.sheets) {
            let mut found = Scan::default();
            found.add_part(source.as_bytes(), (sheet, Escape::MarkdownText), |sheet| css::scan(sheet, pulse))?;
            self.outline.values.extend(found.values);
            found.skipped.into_iter().for_each(|reason| self.skip(reason));
        }
        Ok(())
    }

    fn skip(&mut self, reason: impl Into<Cow<'static, str>>) {
        if self.outline.skipped.is_none() {
            self.outline.skipped = Some(reason.into());
        }
    }

    fn node(&mut self, node: &Node, start: usize, in_link: bool) {
        let Some(range) = place(node, start) else { return };
        match node {
            Node::Link(link) => {
                let inside_end = link.children.last().and_then(|last| place(last, start)).map(|last| last.end);
                self.link(inside_end.unwrap_or(range.start + 1)..range.end, &link.url);
            }
            // The library has no links inside of an image.
            Node::Image(image) => {
                let (inside, url) = (range.start + "!".len()..range.end, &image.url);
                self.link(inside.clone(), url);
                let last = self.outline.values.last().map_or(range.end, |value| value.range.start);
                if self.source[inside.start..last.saturating_sub(2).max(inside.start)].contains("](") {
                    self.skip(DISAGREES);
                }
            }
            Node::ImageReference(_) if self.source[range.clone()].contains("](") => self.skip(DISAGREES),
            Node::Definition(definition) => {
                let found = destination::of_definition(&self.source[..range.end], range.start);
                self.push(found.map(|found| found.destination), &definition.url);
            }
            Node::Heading(_) => self.outline.headings.push(heading::read(node, (self.source, start))),
            Node::Text(_) => {
                // The library takes a tag for text that the page ends in.
                if has_program(self.source, range.clone()) {
                    let line = self.source[..range.start].matches('\n').count() + 1;
                    self.skip(format!("it is not valid MDX: line {line}: a tag or an expression does not end"));
                }
                if self.bare && !in_link {
                    self.run(range);
                }
            }
            Node::MdxjsEsm(_) => {
                let text = &self.source[range.clone()];
                let is_page = |text: &str| text.ends_with(".md") || text.ends_with(".mdx");
                if text.split(['"', '\'']).skip(1).step_by(2).any(is_page) {
                    self.outline.doubt = Some(IMPORTS);
                }
                self.program(range);
            }
            Node::MdxFlowExpression(_) | Node::MdxTextExpression(_)
                if heading::comment(&self.source[range.clone()]).is_none() =>
            {
                self.program(range);
            }
            Node::MdxJsxFlowElement(element) => {
                self.element(&Tag::of(element.name.as_deref(), &element.attributes), &element.children, (range, start));
            }
            Node::MdxJsxTextElement(element) => {
                self.element(&Tag::of(element.name.as_deref(), &element.attributes), &element.children, (range, start));
            }
            _ => {}
        }
    }

    /// Takes a part that is neither text nor a link.
    fn program(&mut self, range: Range<usize>) {
        if self.source[range.clone()].contains("id=") {
            self.outline.doubt.get_or_insert(MAKES);
        }
        self.outline.programs.push(range);
    }

    /// Takes the destination of a link that ends with the range, and whose text ends in it.
    fn link(&mut self, range: Range<usize>, url: &str) {
        let (mut from, mut found) = (range.start, None);
        while let Some(at) = self.source[from..range.end].find("](") {
            found = destination::of_whole_link(&self.source[..range.end], from + at)
                .filter(|place| self.means(place, Escape::Markdown, url));
            if found.is_some() {
                break;
            }
            from += at + 1;
        }
        self.push(found, url);
    }

    fn means(&self, place: &Range<usize>, escape: Escape, text: &str) -> bool {
        Decoded::new(self.source[place.clone()].as_bytes(), &[escape]).text == text
    }

    fn push(&mut self, place: Option<Range<usize>>, url: &str) {
        match place.filter(|place| self.means(place, Escape::Markdown, url)) {
            Some(place) => self.outline.values.push(Value::new(place, Escape::Markdown, Form::Url)),
            None => self.skip(DISAGREES),
        }
    }

    fn run(&mut self, range: Range<usize>) {
        let goes_on = |run: &&mut Range<usize>| {
            run.end <= range.start && self.source[run.end..range.start].bytes().all(|byte| b"\\*_~".contains(&byte))
        };
        match self.runs.last_mut().filter(goes_on) {
            Some(run) => run.end = range.end,
            None => self.runs.push(range),
        }
    }

    /// Takes an element: the links and ids that its tag spells out.
    fn element(&mut self, tag: &Tag<'_>, children: &[Node], (range, start): (Range<usize>, usize)) {
        let end = children.first().and_then(|first| place(first, start)).map_or(range.end, |first| first.start);
        self.outline.programs.push(range.start..end);
        if tag.may_make_anchor() {
            self.outline.doubt.get_or_insert(MAKES);
        }
        let Some(uses) = tag.uses(self.source, range) else { return self.skip(TAG) };
        for (using, value, place) in uses {
            match using {
                Use::Id => self.outline.names.push(value.to_owned()),
                Use::Style => self.sheets.push(place),
                Use::Urls(form) => {
                    if tag.name == "base" {
                        self.skip(BASE);
                    }
                    self.outline.values.push(Value::new(place, Escape::MarkdownText, form));
                }
            }
        }
    }
}

/// True if a part of the page has the beginning of a tag or an expression.
fn has_program(source: &str, part: Range<usize>) -> bool {
    let (before, text) = (&source[..part.start], &source[part]);
    let mut escaped = (before.len() - before.trim_end_matches('\\').len()) % 2 == 1;
    let signs = text.char_indices().filter(|(_, c)| {
        let is_sign = matches!(c, '<' | '{') && !escaped;
        escaped = *c == '\\' && !escaped;
        is_sign
    });
    let begins = |(at, sign): (usize, char)| {
        let next = text[at + 1..].chars().next();
        next.is_some_and(|next| if sign == '<' { next.is_alphabetic() || "/>$_".contains(next) } else { next != '#' })
    };
    signs.into_iter().any(begins)
}

/// The text with spaces for its front matter, and with a sign for the brace of `{#id}` in headings, which Docusaurus does not
/// read as a program.
fn prepared(source: &str) -> String {
    let matter = front_matter(source);
    let mut text = String::with_capacity(source.len());
    for (at, line) in source.split_inclusive('\n').map(|line| (line.as_ptr() as usize - source.as_ptr() as usize, line))
    {
        let level = line.len() - line.trim_start_matches('#').len();
        let brace = line.find("{#").filter(|brace| (1..7).contains(&level) && !line[..*brace].ends_with('\\'));
        match brace {
            _ if at < matter.end && at >= matter.start => {
                text.extend(
                    line.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }),
                );
            }
            Some(brace) => {
                text.push_str(&line[..brace]);
                text.push(heading::BRACE);
                text.push_str(&line[brace + 1..]);
            }
            None => text.push_str(line),
        }
    }
    text
}

/// True if a tree of the page might be too deep to walk.
fn is_deep(source: &str) -> bool {
    let mut open = 0_usize;
    let is_tag =
        |at: usize| source.as_bytes().get(at + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'>');
    for at in memchr::memchr_iter(b'<', source.as_bytes()) {
        match source.as_bytes().get(at + 1) {
            Some(b'/') => open = open.saturating_sub(1),
            _ if is_tag(at) && !is_alone(&source[at..]) => open += 1,
            _ => {}
        }
        if open > DEEPEST {
            return true;
        }
    }
    source.lines().any(|line| {
        let marks = line
            .split([' ', '\t'])
            .take_while(|word| word.bytes().all(|byte| b">-+*.)0123456789".contains(&byte)) || word.starts_with('>'));
        marks.map(|word| word.matches('>').count().max(1)).sum::<usize>() > DEEPEST
    })
}

/// True if the tag at the beginning may have no content.
fn is_alone(text: &str) -> bool {
    text.find('>').is_some_and(|end| text[..end].ends_with('/'))
}
