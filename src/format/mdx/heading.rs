//! The pieces of a heading in MDX.

use ::markdown::mdast::Node;

use super::node;
use crate::outline::{Heading, Part, Piece};

/// The sign for a brace that is text.
pub(super) const BRACE: char = '\u{1}';

/// Reads a heading of the page, which begins at a place of its source.
pub(super) fn read(heading: &Node, (source, start): (&str, usize)) -> Heading {
    let mut reader = Reader { source, start, pieces: Vec::new() };
    let children = heading.children().map(Vec::as_slice).unwrap_or_default();
    reader.children(children, 0, true);
    let range = node::place(heading, start).unwrap_or_default();
    // The library drops all but the first of several signs at the end, such as `# A # #`.
    let raw = source[range.clone()].trim_end();
    let bare = raw.trim_end_matches('#').trim_end();
    if raw.starts_with('#') && bare.len() < raw.len() && bare.ends_with('#') {
        reader.push(Part::Program, "", 0, false);
    }
    Heading { pieces: reader.pieces, range }
}

/// The text inside a comment that names an anchor, such as `{/* #id */}`.
pub(super) fn comment(program: &str) -> Option<&str> {
    let inside = program.strip_prefix("{/*")?.strip_suffix("*/}")?;
    let is_plain = !inside.contains(['*', '{', '}', '\n', '\r']);
    (is_plain && inside.trim_start().starts_with('#')).then_some(inside)
}

struct Reader<'a> {
    source: &'a str,
    start: usize,
    pieces: Vec<Piece>,
}

impl Reader<'_> {
    /// Reads the nodes inside a number of marks. `leads` is true if nothing precedes them within these.
    fn children(&mut self, nodes: &[Node], depth: usize, leads: bool) {
        for (n, node) in nodes.iter().enumerate() {
            self.node(node, depth, leads && (depth == 0 || n == 0));
        }
    }

    fn node(&mut self, node: &Node, depth: usize, leads: bool) {
        match node {
            Node::Text(text) => {
                for (n, line) in text.value.split('\n').enumerate() {
                    if n > 0 {
                        self.push(Part::Break, "", depth, leads);
                    }
                    self.push(Part::Text, &line.replace(BRACE, "{"), depth, leads);
                }
            }
            Node::InlineCode(code) => self.push(Part::Code, &code.value.replace(BRACE, "{"), depth, leads),
            Node::Image(image) => self.push(Part::Alt, &image.alt.replace(BRACE, "{"), depth + 1, leads),
            Node::ImageReference(image) => self.push(Part::Alt, &image.alt.replace(BRACE, "{"), depth + 1, leads),
            Node::Break(_) => self.push(Part::Break, "", depth, leads),
            Node::MdxTextExpression(_) => {
                let source = node::place(node, self.start).map_or("", |range| &self.source[range]);
                match comment(source) {
                    Some(_) => self.push(Part::Text, source, depth, leads),
                    None => self.push(Part::Program, "", depth, leads),
                }
            }
            Node::MdxJsxTextElement(element) => {
                self.push(Part::Program, "", depth, leads);
                self.children(&element.children, depth + 1, leads);
            }
            other => {
                let children = other.children().map(Vec::as_slice).unwrap_or_default();
                self.children(children, depth + 1, leads);
            }
        }
    }

    fn push(&mut self, part: Part, text: &str, depth: usize, leads: bool) {
        self.pieces.push(Piece { part, text: text.to_owned(), depth, leads });
    }
}
