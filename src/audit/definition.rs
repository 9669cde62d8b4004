//! Finds the definitions of links in Markdown, which its tree does not hold.
//!
//! Every candidate gets a destination of our own making. The ones that don't turn up in any text were definitions.

use std::{borrow::Cow, collections::BTreeSet, ops::Range};

use comrak::nodes::NodeValue;

use super::spelling::{Layer, Spelled};

/// The limit of bytes of a label.
const LONGEST_LABEL: usize = 4100;
/// The limit of nested footnotes on a line, with a definition in the last.
const MOST_LABELS: usize = 16;
/// The limit of nested parentheses in a destination.
const MOST_OPEN: usize = 32;

/// A place that resembles a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its destination, without brackets.
    pub place: Range<usize>,
    /// From the beginning of its line to the end of its title.
    pub whole: Range<usize>,
    /// True if another one may begin in its destination.
    pub(crate) is_outer: bool,
}

/// Placeholders for the parser's input.
pub struct Marks {
    /// A text that the file does not contain.
    head: String,
}

/// Every possible place of a definition's destination: a definition begins its line, after marks of containers.
pub fn candidates(source: &str) -> Vec<Candidate> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut line = 0;
    while line < bytes.len() {
        let mut label = line;
        for _ in 0..MOST_LABELS {
            label += bytes[label..].iter().take_while(|byte| b" \t>-+*.)0123456789\xef\xbb\xbf".contains(byte)).count();
            let Some(after) = label_end(bytes, label) else { break };
            found.extend(candidate(source, line, after));
            // A definition may stand in a footnote.
            if bytes.get(label + 1) != Some(&b'^') {
                break;
            }
            label = after;
        }
        let end = memchr::memchr2(b'\n', b'\r', &bytes[line..]);
        line = end.map_or(bytes.len(), |length| line + length + 1);
    }
    found.sort_by_key(|candidate| candidate.place.start);
    found
}

/// The end of a definition that begins there, if it is one; not of a footnote.
pub(crate) fn end(source: &str, start: usize) -> Option<usize> {
    let after = label_end(source.as_bytes(), start).filter(|_| !source[start + 1..].starts_with('^'))?;
    candidate(source, start, after).map(|candidate| candidate.whole.end)
}

/// The end of a link's destination and title, in the parentheses that begin there.
pub(crate) fn resource(bytes: &[u8], open: usize) -> Option<usize> {
    let start = gap(bytes, open + usize::from(bytes.get(open) == Some(&b'(')));
    let (mut end, mut depth) = (start, 0_usize);
    match bytes.get(start).filter(|_| start > open)? {
        b'<' => end += 1 + pointed(&bytes[start + 1..]),
        _ => {
            while let Some(byte) = bytes.get(end).filter(|byte| **byte > b' ' && **byte != 127) {
                match byte {
                    b'\\' if bytes.get(end + 1).is_some_and(u8::is_ascii_punctuation) => end += 1,
                    b'(' => depth += 1,
                    b')' if depth == 0 => break,
                    b')' => depth -= 1,
                    _ => {}
                }
                end += 1;
            }
        }
    }
    let close = gap(bytes, end + title(&bytes[end..]));
    (bytes.get(close) == Some(&b')')).then_some(close + 1)
}

/// The candidate whose label ends there, with its colon.
fn candidate(source: &str, line: usize, label_end: usize) -> Option<Candidate> {
    let bytes = source.as_bytes();
    let start = gap(bytes, label_end);
    let place = match bytes.get(start)? {
        b'<' => start + 1..start + 1 + pointed(&bytes[start + 1..]),
        _ => start..start + balanced(&bytes[start..]),
    };
    let is_outer = source[place.clone()].contains("]:");
    let end = place.end + title(&bytes[place.end..]);
    (!place.is_empty()).then_some(Candidate { whole: line..end, place, is_outer })
}

/// The end of a label that begins there, with its colon.
fn label_end(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) != Some(&b'[') {
        return None;
    }
    let mut at = start + 1;
    while at < bytes.len().min(start + LONGEST_LABEL) {
        match bytes[at] {
            b'\\' => at += 2,
            b'[' => return None,
            b']' => return (bytes.get(at + 1) == Some(&b':')).then_some(at + 2),
            _ => at += 1,
        }
    }
    None
}

/// Skips white space with at most one line end, and the marks of containers after it.
fn gap(bytes: &[u8], from: usize) -> usize {
    let skip = |at: usize, what: &[u8]| at + bytes[at..].iter().take_while(|byte| what.contains(byte)).count();
    let at = skip(from, b" \t");
    match bytes.get(at..) {
        Some([b'\r', b'\n', ..]) => skip(at + 2, b" \t>"),
        Some([b'\r' | b'\n', ..]) => skip(at + 1, b" \t>"),
        _ => at,
    }
}

/// The length of a destination in angle brackets; 0 if it is none.
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

/// The length of a destination without brackets; 0 if its parentheses don't match.
fn balanced(bytes: &[u8]) -> usize {
    let mut open = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at).filter(|byte| **byte > b' ' && **byte != 127) {
        match byte {
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 1,
            b'(' if open == MOST_OPEN => return 0,
            b'(' => open += 1,
            b')' if open == 0 => return 0,
            b')' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    if open == 0 { at } else { 0 }
}

/// The length of a title after a destination, with the space before it.
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
            b'(' if close == b')' => break,
            b'\n' if bytes.get(at + 1) == Some(&b'\n') => break,
            _ => at += 1,
        }
    }
    bracket
}

impl Marks {
    /// Marks for a file.
    pub fn new(source: &str) -> Self {
        let head = (0..).map(|n: u32| format!("q{n}z")).find(|head| !source.contains(head.as_str()));
        Marks { head: head.unwrap_or_default() }
    }

    /// The text with a mark in place of each destination, of each `&`, and before the scheme of a possible URL in angle
    /// brackets. Their spelling is not decoded, and is known afterwards.
    pub fn set(&self, source: &str, places: &[&Candidate]) -> String {
        let mut marked = String::with_capacity(source.len());
        let mut copied = 0;
        for (n, Candidate { place, .. }) in places.iter().enumerate() {
            self.shield(&source[copied..place.start], &mut marked);
            marked.push_str(&format!("{}{n}z", self.head));
            copied = place.end;
        }
        self.shield(&source[copied..], &mut marked);
        marked
    }

    fn shield(&self, source: &str, marked: &mut String) {
        let mut copied = 0;
        for at in memchr::memchr2_iter(b'&', b'<', source.as_bytes()) {
            let rest = &source.as_bytes()[at..];
            let is_url = rest.get(..5).is_some_and(|head| head.eq_ignore_ascii_case(b"<http"));
            let escapes = source.as_bytes()[copied..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            let kind = match rest[0] {
                b'&' if escapes.is_multiple_of(2) => "e",
                b'&' => "&x",
                _ if is_url => "<s",
                _ => continue,
            };
            let (sign, kind) = kind.split_at(kind.len() - 1);
            marked.push_str(&format!("{}{sign}{}{kind}", &source[copied..at], self.head));
            copied = at + 1;
        }
        marked.push_str(&source[copied..]);
    }

    /// The original text of the file.
    pub(crate) fn restore<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !text.contains(&self.head) {
            return Cow::Borrowed(text);
        }
        let text = text.replace(&format!("{}e", self.head), "&");
        Cow::Owned(["s", "x"].iter().fold(text, |text, kind| text.replace(&format!("{}{kind}", self.head), "")))
    }

    /// The meaning of a destination, whose backslashes the parser has removed.
    pub(crate) fn destination(&self, url: &str) -> Vec<u8> {
        let escaped = url.replace(&format!("&{}x", self.head), "&amp;");
        Spelled::decode(self.restore(&escaped).as_bytes(), &[Layer::Entities]).bytes
    }

    /// True for a URL that stood in angle brackets.
    pub(crate) fn is_bracketed(&self, url: &str) -> bool {
        url.strip_prefix(&self.head).is_some_and(|rest| rest.starts_with('s'))
    }

    /// The number of the mark if a text is one.
    pub fn whole(&self, text: &str) -> Option<usize> {
        text.strip_prefix(&self.head)?.strip_suffix('z')?.parse().ok()
    }

    /// The numbers of marks that turn up in a text, or in another place than a definition.
    pub fn find(&self, value: &NodeValue, found: &mut BTreeSet<usize>) {
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
