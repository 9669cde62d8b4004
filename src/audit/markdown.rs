//! Reads Markdown as a tree: destinations, URLs in text, front matter, and HTML by the rules for HTML.

use std::{cell::RefCell, collections::BTreeSet};

use comrak::{
    Arena, Options,
    arena_tree::NodeEdge,
    nodes::{Node, NodeValue},
    try_parse_document,
};

use super::{
    bare_url,
    definition::{Candidate, Marks, candidates},
    markup,
    page::{Page, is_literal},
    spelling::{Layer, Spelled},
    text,
};
use base::{
    error::{Code, Error},
    pulse::Pulse,
};

const NOT_TEXT: &str = "it is no UTF-8, so it was to be left alone";
const UNREAD: &str = "its definitions of links can be read in several ways, so it was to be left alone";

/// Reads a file; an error if `pulse` gives one.
pub fn read(bytes: &[u8], pulse: Pulse<'_>, page: &mut Page) -> Result<(), Error> {
    let Ok(source) = std::str::from_utf8(bytes) else {
        page.doubt(NOT_TEXT);
        page.note(b'v', bytes);
        return Ok(());
    };
    let marks = Marks::new(source);
    let places = candidates(source);
    let (outer, inner): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.is_outer);
    let mut definitions = confirmed(inner, source, &marks, pulse)?;
    definitions.extend(confirmed(outer, source, &marks, pulse)?);
    definitions.sort_by_key(|definition| definition.place.start);
    if definitions.windows(2).any(|pair| pair[0].place.end > pair[1].place.start) {
        page.doubt(UNREAD);
        definitions.clear();
    }
    let tree = Arena::new();
    let root = parse(&tree, &marks.set(source, &definitions), pulse)?;
    let (text, seen) = (String::new(), BTreeSet::new());
    let mut reader = Reader { page, pulse, marks: &marks, linked: 0, text, target: None, seen };
    for edge in root.traverse() {
        match edge {
            NodeEdge::Start(node) => {
                reader.start(&node.data().value)?;
                reader.target(node);
            }
            NodeEdge::End(node) => reader.end(&node.data().value),
        }
    }
    if !reader.seen.is_empty() {
        page.doubt(UNREAD);
    }
    let mut noted = 0;
    for Candidate { place, whole, .. } in definitions {
        page.note(b'd', &bytes[whole.start.max(noted).min(place.start)..place.start]);
        page.address(&Spelled::decode(&bytes[place.clone()], &[Layer::Markdown]).bytes);
        page.note(b'd', &bytes[place.end..whole.end]);
        noted = whole.end;
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
    // Footnotes without references, and escapes, would be gone.
    options.parse.leave_footnote_definitions = true;
    options.parse.escaped_char_spans = true;
    options
}

pub(super) fn parse<'a>(tree: &'a Arena<'a>, source: &str, pulse: Pulse<'_>) -> Result<Node<'a>, Error> {
    let stop = RefCell::new(None);
    let should_stop = || {
        let asked = pulse();
        let stops = asked.is_err();
        *stop.borrow_mut() = asked.err();
        stops
    };
    try_parse_document(tree, source, &options(source), &should_stop).map_err(|_| {
        let unknown = || Error::new(Code::Internal, "the parser for Markdown stopped without a reason");
        stop.take().unwrap_or_else(unknown)
    })
}

/// The candidates that are definitions.
fn confirmed<'c>(
    mut places: Vec<&'c Candidate>,
    source: &str,
    marks: &Marks,
    pulse: Pulse<'_>,
) -> Result<Vec<&'c Candidate>, Error> {
    let mut end = 0;
    places.retain(|place| {
        let fits = place.place.start >= end;
        end = end.max(place.place.end);
        fits
    });
    if places.is_empty() {
        return Ok(places);
    }
    let tree = Arena::new();
    let mut others = BTreeSet::new();
    for node in parse(&tree, &marks.set(source, &places), pulse)?.descendants() {
        marks.find(&node.data().value, &mut others);
    }
    let numbered = places.into_iter().enumerate();
    Ok(numbered.filter(|(n, _)| !others.contains(n)).map(|(_, place)| place).collect())
}

struct Reader<'p> {
    page: &'p mut Page,
    pulse: Pulse<'p>,
    marks: &'p Marks,
    /// The number of open links and images.
    linked: usize,
    /// Running text in its source form, across emphasis.
    text: String,
    /// The destination that is the text of the last link.
    target: Option<Vec<u8>>,
    /// Marks in unexpected places.
    seen: BTreeSet<usize>,
}

impl Reader<'_> {
    fn start(&mut self, value: &NodeValue) -> Result<(), Error> {
        self.marks.find(value, &mut self.seen);
        if self.linked == 0 {
            match (value, sign(value)) {
                (NodeValue::Text(text), _) => {
                    self.text.push_str(&self.marks.restore(text));
                    return Ok(());
                }
                (NodeValue::Escaped, Some(sign)) => {
                    self.text.push_str(sign);
                    return Ok(());
                }
                (_, Some(sign)) => self.text.push_str(sign),
                (_, None) => self.flush(),
            }
        }
        self.page.note(b'n', value.xml_node_name().as_bytes());
        let target = self.target.take();
        match value {
            NodeValue::Text(_) if target.is_some() => self.page.link(&target.unwrap_or_default()),
            // The text in angle brackets is the URL itself.
            NodeValue::Text(text) if self.marks.is_bracketed(text) => {}
            NodeValue::FrontMatter(text) => text::read(self.marks.restore(text).as_bytes(), self.page),
            NodeValue::HtmlInline(html) => return self.html(html),
            NodeValue::HtmlBlock(block) => return self.html(&block.literal),
            NodeValue::Link(link) | NodeValue::Image(link) => {
                self.linked += 1;
                match self.marks.whole(&link.url) {
                    Some(n) => self.page.note(b'r', &n.to_le_bytes()),
                    None => self.page.address(&self.marks.destination(&link.url)),
                }
                self.page.note(b't', self.marks.restore(&link.title).as_bytes());
            }
            NodeValue::FootnoteReference(footnote) => self.page.note(b'f', footnote.name.as_bytes()),
            NodeValue::TaskItem(item) => self.page.note(b'i', format!("{:?}", item.symbol).as_bytes()),
            // Everything known of the others is the author's.
            other => self.page.note(b'k', self.marks.restore(&format!("{other:?}")).as_bytes()),
        }
        Ok(())
    }

    /// Keeps the destination of an inline link that has no other text.
    fn target<'n>(&mut self, node: Node<'n>) {
        let NodeValue::Link(link) = &node.data().value else { return };
        let mut inside = node.children();
        let (Some(child), None, true) = (inside.next(), inside.next(), self.page.link_text) else { return };
        let child = child.data();
        let NodeValue::Text(text) = &child.value else { return };
        let url = self.marks.destination(&link.url);
        let is_inline = self.marks.whole(&link.url).is_none() && !self.marks.is_bracketed(text);
        let is_same = self.marks.restore(text).as_bytes() == url && is_literal(&url);
        self.target = (is_inline && is_same).then_some(url);
    }

    fn end(&mut self, value: &NodeValue) {
        if self.linked == 0 {
            match (value, sign(value)) {
                (NodeValue::Text(_) | NodeValue::Escaped, _) => return,
                (_, Some(sign)) => self.text.push_str(sign),
                (_, None) => self.flush(),
            }
        }
        if matches!(value, NodeValue::Link(_) | NodeValue::Image(_)) {
            self.linked -= 1;
        }
        self.page.note(b'e', b"");
    }

    fn html(&mut self, html: &str) -> Result<(), Error> {
        let link_text = std::mem::take(&mut self.page.link_text);
        let read = markup::read(self.marks.restore(html).as_bytes(), self.pulse, self.page);
        self.page.link_text = link_text;
        read
    }

    /// The running text ends here.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let mut copied = 0;
        for (start, end) in bare_url::urls(&text) {
            self.page.note(b'v', &text.as_bytes()[copied..start]);
            self.page.link(&Spelled::decode(&text.as_bytes()[start..end], &[Layer::Entities]).bytes);
            copied = end;
        }
        self.page.note(b'v', &text.as_bytes()[copied..]);
    }
}

/// The source form of a node that does not interrupt a URL; the choice between two signs does not change the end of a URL.
fn sign(value: &NodeValue) -> Option<&'static str> {
    match value {
        NodeValue::Emph => Some("*"),
        NodeValue::Strong => Some("**"),
        NodeValue::Strikethrough => Some("~~"),
        NodeValue::Escaped => Some("\\"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let mut page = Page::default();
        read(source.as_bytes(), &|| Ok(()), &mut page).unwrap();
        let found: Vec<String> = page.links.iter().map(super::super::link::Link::shown).collect();
        assert_eq!((found, page.doubt), (expected.iter().map(ToString::to_string).collect(), None), "{source}");
    }

    #[test]
    fn destinations() {
        check("[a](http://b 'c') ![d](<e f>) [g](h\\_&amp;(i)) <http://j>", &["http://b", "e f", "h_&(i)", "http://j"]);
        check("[a](b\\&amp;c\\\\&amp;d\\e)", &["b&amp;c\\\\&d\\\\e"]);
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
    fn urls_in_text() {
        check("*http://a* http://b\\_c **http://d/e**f", &["http://a", "http://b\\\\_c", "http://d/e**f"]);
        check("`http://a` http&#58;//b http\\://c", &[]);
        check(
            "# http://a\n\n| http://b |\n|---|\n\n[see http://c ] <b>http://d</b>",
            &["http://a", "http://b", "http://c", "http://d"],
        );
        check("<http://a&amp;b> http://c&amp;d <HTTP://e>", &["http://a&b", "http://c&d", "HTTP://e"]);
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
