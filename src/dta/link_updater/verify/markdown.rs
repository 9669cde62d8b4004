//! Reads Markdown as a tree: destinations, bare URLs, front matter, and HTML by the rules for HTML.
//!
//! The tree does not hold definitions of links. So every place that looks like one gets a destination of its own making;
//! those that don't turn up in any text were definitions.

use std::{cell::RefCell, collections::BTreeSet, ops::Range};

use comrak::{
    Arena, Options,
    nodes::{Node, NodeValue},
    try_parse_document,
};

use super::{
    markup,
    page::{Page, Pulse},
    spelling::{Layer, Spelled},
    text,
};
use crate::error::Error;

const NOT_TEXT: &str = "it is no UTF-8, so it was to be left alone";
const UNREAD: &str = "its definitions of links can be read in several ways, so it was to be left alone";

/// A place that looks as a definition does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    /// Its destination, without brackets.
    place: Range<usize>,
    /// From the beginning of its line to the end of its title.
    whole: Range<usize>,
}

/// Destinations of our own making.
struct Marks {
    /// Nothing else in the file contains it.
    head: String,
}

/// What stands in the text of a file, to know what is spelled in another way.
struct Heads<'a>(BTreeSet<&'a [u8]>);

/// Reads a file; an error if `pulse` gives one.
pub(super) fn read(bytes: &[u8], pulse: Pulse<'_>, page: &mut Page) -> Result<(), Error> {
    let Ok(source) = std::str::from_utf8(bytes) else {
        page.doubt(NOT_TEXT);
        page.note(b'v', bytes);
        return Ok(());
    };
    let marks = Marks::new(source);
    let mut definitions = candidates(source);
    if !definitions.is_empty() {
        let tree = Arena::new();
        let mut others = BTreeSet::new();
        for node in parse(&tree, &marks.set(source, &definitions), pulse)?.descendants() {
            marks.find(&node.data().value, &mut others);
        }
        let mut n = 0;
        definitions.retain(|_| {
            n += 1;
            !others.contains(&(n - 1))
        });
    }
    let tree = Arena::new();
    let marked = marks.set(source, &definitions);
    let mut reader = Reader { page, pulse, marks: &marks, heads: Heads::of(bytes), linked: 0, seen: BTreeSet::new() };
    for edge in parse(&tree, &marked, pulse)?.traverse() {
        reader.edge(edge)?;
    }
    if !reader.seen.is_empty() {
        page.doubt(UNREAD);
    }
    for definition in definitions {
        page.note(b'd', &bytes[definition.whole.start..definition.place.start]);
        let destination = Spelled::decode(&bytes[definition.place.clone()], &[Layer::Markdown]);
        page.link(&destination.bytes);
        page.note(b'd', &bytes[definition.place.end..definition.whole.end]);
    }
    Ok(())
}

fn options(source: &str) -> Options<'static> {
    let mut options = Options::default();
    options.extension.footnotes = true;
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    let delimiter = if source.trim_start_matches('\u{feff}').starts_with("+++") { "+++" } else { "---" };
    options.extension.front_matter_delimiter = Some(delimiter.to_owned());
    // Definitions that nothing refers to, and escapes, would be gone.
    options.parse.leave_footnote_definitions = true;
    options.parse.escaped_char_spans = true;
    options
}

fn parse<'a>(tree: &'a Arena<'a>, source: &str, pulse: Pulse<'_>) -> Result<Node<'a>, Error> {
    let stop = RefCell::new(None);
    let should_stop = || {
        let asked = pulse();
        let stops = asked.is_err();
        *stop.borrow_mut() = asked.err();
        stops
    };
    match try_parse_document(tree, source, &options(source), &should_stop) {
        Ok(root) => Ok(root),
        Err(_) => Err(stop.into_inner().unwrap_or_else(|| {
            Error::new(crate::error::Code::Internal, "the parser for Markdown stopped without a reason")
        })),
    }
}

/// Every place where a definition's destination may stand.
fn candidates(source: &str) -> Vec<Candidate> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    for closing in memchr::memmem::find_iter(bytes, b"]:") {
        let start = gap(bytes, closing + 2);
        let place = match bytes.get(start) {
            Some(b'<') => start + 1..start + 1 + pointed(&bytes[start + 1..]),
            Some(_) => start..start + balanced(&bytes[start..]),
            None => continue,
        };
        if place.is_empty() || place.start < from {
            continue;
        }
        let line = bytes[..closing].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
        let end = place.end + title(&bytes[place.end..]);
        from = place.end;
        found.push(Candidate {
            whole: line.max(found.last().map_or(0, |last: &Candidate| last.whole.end)).min(place.start)..end,
            place,
        });
    }
    found
}

/// Past white space with one line end at most, and the marks of containers after it.
fn gap(bytes: &[u8], from: usize) -> usize {
    let skip = |at: usize, what: &[u8]| at + bytes[at..].iter().take_while(|byte| what.contains(byte)).count();
    let at = skip(from, b" \t");
    match bytes.get(at..) {
        Some([b'\r', b'\n', ..]) => skip(at + 2, b" \t>"),
        Some([b'\r' | b'\n', ..]) => skip(at + 1, b" \t>"),
        _ => at,
    }
}

/// How long a destination in angle brackets is; 0 if it is none.
fn pointed(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'>' => return at,
            b'<' | b'\n' | b'\r' => return 0,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    0
}

/// How long a destination without brackets is; 0 if its parentheses don't match.
fn balanced(bytes: &[u8]) -> usize {
    let mut open = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at).filter(|byte| **byte > b' ' && **byte != 127) {
        match byte {
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 1,
            b'(' => open += 1,
            b')' if open == 0 => return 0,
            b')' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    if open == 0 { at } else { 0 }
}

/// How long a title after a destination is, with the space before it.
fn title(bytes: &[u8]) -> usize {
    let bracket = usize::from(bytes.first() == Some(&b'>'));
    let start = gap(bytes, bracket);
    let close = match bytes.get(start) {
        Some(quote @ (b'"' | b'\'')) => *quote,
        Some(b'(') => b')',
        Some(_) | None => return bracket,
    };
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == close => return at + 1,
            b'\n' if bytes.get(at + 1) == Some(&b'\n') => break,
            _ => at += 1,
        }
    }
    bracket
}

impl Marks {
    fn new(source: &str) -> Self {
        let head = (0..).map(|n: u32| format!("q{n}z")).find(|head| !source.contains(head.as_str()));
        Marks { head: head.unwrap_or_default() }
    }

    /// The text with a mark in place of each destination.
    fn set(&self, source: &str, places: &[Candidate]) -> String {
        let mut marked = String::with_capacity(source.len());
        let mut copied = 0;
        for (n, Candidate { place, .. }) in places.iter().enumerate() {
            marked.push_str(&source[copied..place.start]);
            marked.push_str(&format!("{}{n}z", self.head));
            copied = place.end;
        }
        marked.push_str(&source[copied..]);
        marked
    }

    /// The number of the mark that a text is.
    fn whole(&self, text: &str) -> Option<usize> {
        text.strip_prefix(&self.head)?.strip_suffix('z')?.parse().ok()
    }

    /// The marks that turn up in a text, or in another place than a definition.
    fn find(&self, value: &NodeValue, found: &mut BTreeSet<usize>) {
        let mut look = |text: &str| {
            for (at, _) in text.match_indices(&self.head) {
                let digits = text[at + self.head.len()..].split('z').next();
                found.extend(digits.and_then(|digits| digits.parse::<usize>().ok()));
            }
        };
        match value {
            NodeValue::Text(text) => look(text),
            NodeValue::FrontMatter(text) | NodeValue::HtmlInline(text) => look(text),
            NodeValue::HtmlBlock(block) => look(&block.literal),
            NodeValue::CodeBlock(block) => {
                look(&block.info);
                look(&block.literal);
            }
            NodeValue::Code(code) => look(&code.literal),
            NodeValue::FootnoteDefinition(footnote) => look(&footnote.name),
            NodeValue::FootnoteReference(footnote) => look(&footnote.name),
            NodeValue::Link(link) | NodeValue::Image(link) => {
                if self.whole(&link.url).is_none() {
                    look(&link.url);
                }
                look(&link.title);
            }
            _ => {}
        }
    }
}

impl<'a> Heads<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let all = memchr::memmem::find_iter(bytes, b"://");
        Heads(all.filter_map(|colon| head(bytes, colon)).map(|range| &bytes[range]).collect())
    }
}

/// Scheme and host around a colon, if the scheme is one and nothing belongs to it before.
fn head(bytes: &[u8], colon: usize) -> Option<Range<usize>> {
    let start = colon - text::scheme(&bytes[..colon])?;
    let host = bytes[colon + 3..].iter();
    let length =
        host.take_while(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80 || b".-_%:@".contains(byte)).count();
    Some(start..colon + 3 + length)
}

struct Reader<'p, 'a> {
    page: &'p mut Page,
    pulse: Pulse<'p>,
    marks: &'p Marks,
    heads: Heads<'a>,
    /// How many links and images are open.
    linked: usize,
    /// Marks that are not where they should be.
    seen: BTreeSet<usize>,
}

impl Reader<'_, '_> {
    fn edge<'n>(&mut self, edge: comrak::arena_tree::NodeEdge<Node<'n>>) -> Result<(), Error> {
        use comrak::arena_tree::NodeEdge::{End, Start};
        match edge {
            Start(node) => self.start(&node.data().value),
            End(node) => {
                if matches!(node.data().value, NodeValue::Link(_) | NodeValue::Image(_)) {
                    self.linked -= 1;
                }
                self.page.note(b'e', b"");
                Ok(())
            }
        }
    }

    fn start(&mut self, value: &NodeValue) -> Result<(), Error> {
        self.marks.find(value, &mut self.seen);
        self.page.note(b'n', value.xml_node_name().as_bytes());
        match value {
            NodeValue::Text(text) if self.linked == 0 => {
                let urls = bare(text, &self.heads);
                self.page.take(text.as_bytes(), &urls);
            }
            NodeValue::Text(text) => self.page.note(b't', text.as_bytes()),
            NodeValue::FrontMatter(text) => text::read(text.as_bytes(), self.page),
            NodeValue::HtmlInline(html) => return markup::read(html.as_bytes(), self.pulse, self.page),
            NodeValue::HtmlBlock(block) => return markup::read(block.literal.as_bytes(), self.pulse, self.page),
            NodeValue::Link(link) | NodeValue::Image(link) => {
                self.linked += 1;
                match self.marks.whole(&link.url) {
                    Some(n) => self.page.note(b'r', &n.to_le_bytes()),
                    None => self.page.link(link.url.as_bytes()),
                }
                self.page.note(b't', link.title.as_bytes());
            }
            NodeValue::FootnoteReference(footnote) => self.page.note(b'f', footnote.name.as_bytes()),
            NodeValue::TaskItem(item) => self.page.note(b'i', format!("{:?}", item.symbol).as_bytes()),
            // Of the others everything that is known is the author's.
            other => self.page.note(b'k', format!("{other:?}").as_bytes()),
        }
        Ok(())
    }
}

/// Where the URLs in a text are that are links by themselves, as GitHub finds them.
fn bare(text: &str, heads: &Heads<'_>) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    for colon in memchr::memmem::find_iter(bytes, b"://") {
        let Some(range) = head(bytes, colon).filter(|range| range.start >= from) else { continue };
        let before = bytes[..range.start].last();
        if before.is_some_and(u8::is_ascii_alphanumeric) || !heads.0.contains(&bytes[range.clone()]) {
            continue;
        }
        let rest = &text[colon + 3..];
        if !is_domain(rest) {
            continue;
        }
        let length = rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(rest.len());
        let end = colon + 3 + trimmed(&rest.as_bytes()[..length]);
        found.push((range.start, end));
        from = end;
    }
    found
}

/// A host begins with a letter or digit, and has no underscore in its last two labels.
fn is_domain(text: &str) -> bool {
    let host = text.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).map_or(text, |end| &text[..end]);
    let underscored = host.rsplit('.').take(2).any(|label| label.contains('_'));
    text.starts_with(char::is_alphanumeric) && !underscored
}

/// How much is left without what ends a sentence, closes a bracket, or looks as a reference does.
fn trimmed(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    let mut brackets = text::Brackets::of(bytes);
    while let Some(last) = bytes[..end].last() {
        end -= match last {
            b'?' | b'!' | b'.' | b',' | b':' | b'*' | b'_' | b'~' | b'\'' | b'"' => 1,
            b';' => {
                let name = bytes[..end - 1].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                let is_reference = name > 0 && bytes[..end - 1 - name].last() == Some(&b'&');
                if is_reference { name + 2 } else { 1 }
            }
            byte if brackets.is_surplus(*byte) => 1,
            _ => break,
        };
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let mut page = Page::default();
        read(source.as_bytes(), &|| Ok(()), &mut page).unwrap();
        let found: Vec<String> = page.links.iter().map(super::super::aim::Link::shown).collect();
        assert_eq!((found, page.doubt), (expected.iter().map(ToString::to_string).collect(), None), "{source}");
    }

    #[test]
    fn destinations() {
        check("[a](http://b 'c') ![d](<e f>) [g](h\\_&amp;(i)) <http://j>", &["http://b", "e f", "h_&(i)", "http://j"]);
        check(
            "[a](b)\n\n| c |\n|---|\n| [d](e) |\n\n- [ ] [f](g)\n\n~~[h](i)~~ [^1]\n\n[^1]: [j](k)\n\n[^2]: [l](m)",
            &["b", "e", "g", "i", "k", "m"],
        );
        check("[http://a](http://b) ![http://c](d)", &["http://b", "d"]);
    }

    #[test]
    fn definitions() {
        check("[a][b] [c] [c][]\n\n[b]: http://d 'e'\n[C]:\n  <f g>\n[unused]: h_\\_\n", &["http://d", "f g", "h__"]);
        check("> - [a]:\n>   b\n>   (c\n>   d)\n> - x [a]\n\n[a]: second", &["b", "second"]);
        check(
            "```\n[a]: b\n```\n    [c]: d\n\n`[e]: f` <!-- [g]: h --> x\n[i]: j\n\n[k]: l m\n\n[^n]: o\n\\[p]: q\n",
            &[],
        );
        check("[a]: http://b\ntext http://c\n===\n[d]: e", &["http://c", "http://b", "e"]);
        check("[a]: b)c\n\n[d]: (e\n\n[f]: <g>h\n\n[i]: <j>\n\n[k\\]l]: m\n", &["j", "m"]);
        check("x\n[a]: http://b\n\n[c]: <http://d> e\n\n[q0z0z]: q0zf", &["http://b", "http://d", "q0zf"]);
    }

    #[test]
    fn bare_urls() {
        check(
            "http://a.b/c_d, (https://e.f). \"http://g\" *http://h* http://i\\_j",
            &["http://a.b/c_d", "https://e.f", "http://g", "http://h", "http://i"],
        );
        check("xhttp://a www.b.c http:// ftp://d http&#58;//e http\\://f `http://g` http://h_i", &[]);
        check(
            "# http://a\n\n| http://b |\n|---|\n\n[see http://c] <b>http://d</b>",
            &["http://a", "http://b", "http://c", "http://d"],
        );
        check("http://a/(b)) http://c/&lt; http://d/?e;", &["http://a/(b)", "http://c/", "http://d/?e"]);
    }

    #[test]
    fn front_matter_and_html() {
        check(
            "---\na: \"http://b\"\n---\n<a href='c'>d</a>\n\n<img\nsrc=e>\n\n<!-- http://f -->\n",
            &["http://b", "c", "e"],
        );
        check("+++\na = 'http://b'\n+++\nx", &["http://b"]);
        check("> <a\n> href='b\n> c'>\n\nd <a href=e\ntitle='http://f'>", &["b\\nc", "e"]);
    }

    #[test]
    fn the_rest_is_everything_but_urls() {
        let rest = |source: &str| {
            let mut page = Page::default();
            read(source.as_bytes(), &|| Ok(()), &mut page).unwrap();
            page.rest
        };
        let source =
            "# [a](b 'c')\n\n`d` http://e\n\n1. *f* [^1] <!-- g -->\n- [ ] h\n\n    i\n\n[^1]: j\n\n[k]: l 'm'\n";
        assert_eq!(
            rest(source),
            rest(&source.replace("(b ", "(http://b ").replace("//e", "//eee").replace(" l ", " lll "))
        );
        for letter in ["a", "c", "d", "f", "g", "h", "i", "j", "k", "m", "1"] {
            assert_ne!(rest(source), rest(&source.replace(letter, "x")), "{letter}");
        }
    }
}
