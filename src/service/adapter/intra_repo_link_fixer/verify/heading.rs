//! The text of a heading, from which each renderer makes its anchor, and the explicit anchor that it may have.

use std::sync::LazyLock;

use comrak::{
    arena_tree::NodeEdge,
    nodes::{Node, NodeValue},
};
use regex::Regex;

use super::{super::params::Dialect, slug::Slugger};
use audit::spelling::{Layer, Spelled};

/// Docusaurus' explicit anchor.
static BRACED: LazyLock<Regex> = LazyLock::new(|| pattern(r"\s*\\?\{#([^{}]+)\}$"));
/// The same in a comment.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\s*\{/\*\s*#([^\s{}]+)\s*\*/\}$"));
/// Dashes that are written as hyphens.
static DASHES: LazyLock<Regex> = LazyLock::new(|| pattern("--+"));
/// A list of attributes, of mdBook and Hugo.
static ATTRIBUTES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\s*\{([^{}]*)\}\s*$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant that a test compiles")
}

/// A heading in a tree.
pub(super) struct Heading<'a> {
    pub(super) node: Node<'a>,
    pub(super) dialect: Dialect,
}

impl Heading<'_> {
    /// The anchor of the heading.
    pub(super) fn anchor(&self, slugger: &mut Slugger) -> String {
        let text = match self.dialect {
            Dialect::Hugo => self.first_texts(),
            Dialect::Github | Dialect::Gitlab | Dialect::Mdbook | Dialect::Docusaurus => self.text(),
        };
        let (text, explicit) = split(self.dialect, &text);
        match explicit {
            Some(id) => {
                slugger.explicit(&id);
                id
            }
            // Hugo gives none to a heading without a text.
            None if self.dialect == Dialect::Hugo && text.is_empty() => String::new(),
            None => slugger.heading(text),
        }
    }

    /// The text as a reader sees it.
    fn text(&self) -> String {
        let with_images = self.dialect == Dialect::Docusaurus;
        let has_dashes = self.dialect == Dialect::Mdbook;
        let (mut text, mut hidden) = (String::new(), 0_usize);
        for edge in self.node.traverse() {
            match edge {
                NodeEdge::Start(node) => match &node.data().value {
                    NodeValue::Image(_) if !with_images => hidden += 1,
                    NodeValue::Text(_) | NodeValue::Code(_) if hidden > 0 => {}
                    NodeValue::Text(part) if has_dashes => text.push_str(&DASHES.replace_all(part, "")),
                    NodeValue::Text(part) => text.push_str(part),
                    NodeValue::Code(code) => text.push_str(&code.literal),
                    NodeValue::SoftBreak | NodeValue::LineBreak if hidden == 0 => text.push('\n'),
                    _ => {}
                },
                NodeEdge::End(node) => {
                    if matches!(node.data().value, NodeValue::Image(_)) && !with_images {
                        hidden -= 1;
                    }
                }
            }
        }
        text
    }

    /// The text of Hugo: of each part its first text, of an image that of its description, and of several lines the last.
    fn first_texts(&self) -> String {
        // Texts in a row are one to Hugo.
        let (mut text, mut plain) = (String::new(), String::new());
        for part in self.node.children() {
            if let NodeValue::Text(more) = &part.data().value {
                plain.push_str(more);
                continue;
            }
            text.push_str(&typographic(&without_urls(&std::mem::take(&mut plain))).join("…"));
            match &part.data().value {
                NodeValue::SoftBreak | NodeValue::LineBreak => text.clear(),
                NodeValue::Link(link) if is_autolink(part, &link.url) => {}
                _ => text.push_str(&leading(part)),
            }
        }
        text.push_str(&typographic(&without_urls(&plain)).join("…"));
        text
    }
}

/// The first text in a mark. A character that Hugo's typographer replaces ends it, and so does a sign of emphasis, behind itself.
fn leading<'a>(mark: Node<'a>) -> String {
    let mut node: Node<'a> = mark;
    while let Some(first) = node.first_child() {
        node = first;
    }
    let mut text = String::new();
    for (at, node) in std::iter::successors(Some(node), |node| node.next_sibling()).enumerate() {
        match &node.data().value {
            NodeValue::Text(part) => text.push_str(part),
            NodeValue::Code(code) if at == 0 => return code.literal.clone(),
            _ => break,
        }
        if std::ptr::eq(node, mark) {
            break;
        }
    }
    let first = match typographic(&text)[..] {
        ["", _, ..] => return "…".to_owned(),
        [first, ..] => first,
        [] => "",
    };
    let is_sign = |c: char| c == '_' || c == '*';
    let (mut end, mut ends) = (first.len(), false);
    for (at, c) in first.char_indices() {
        if ends && !is_sign(c) {
            end = at;
            break;
        }
        ends |= is_sign(c);
    }
    first[..end].to_owned()
}

/// The pieces of a text between the characters that Hugo's typographer replaces.
fn typographic(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut pieces, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let length = match &bytes[at..] {
            [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..] => 3,
            [b'-', b'-', ..] | [b'<', b'<', ..] | [b'>', b'>', ..] => 2,
            [b'"' | b'\'', ..] => 1,
            _ => 0,
        };
        if length > 0 {
            pieces.push(&text[start..at]);
            start = at + length;
        }
        at += length.max(1);
    }
    pieces.push(&text[start..]);
    pieces
}

/// The text without the URLs and addresses of mail that are links by themselves.
fn without_urls(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_start_matches(['(', '*', '_', '~']);
        let is_url = |scheme: &str| bare.strip_prefix(scheme).is_some_and(has_domain);
        if ["http://", "https://", "ftp://", "www."].into_iter().any(is_url) {
            let end = bare.trim_end().trim_end_matches(['?', '!', '.', ',', ':', '*', '_', '~']).len();
            rest.push_str(&word[..word.len() - bare.len()]);
            rest.push_str(&bare[end..]);
        } else if let Some((name, domain)) = word.split_once('@').filter(|(_, domain)| domain.contains('.')) {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
            let before = name.trim_end_matches(is_name);
            let end = domain.find(|c: char| !is_name(c) || c == '+').unwrap_or(domain.len());
            let begins = before.is_empty() || before.ends_with(['(', '*', '_', '~']);
            rest.push_str(if begins { before } else { &word[..word.len() - domain.len() + end] });
            rest.push_str(&domain[end..]);
        } else {
            rest.push_str(word);
        }
    }
    rest
}

/// True for the rest of a URL that has a dot and a letter after it in its host.
fn has_domain(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('.').is_some_and(|(_, last)| last.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// True for a link whose text is its URL, as in angle brackets.
fn is_autolink(node: Node<'_>, url: &str) -> bool {
    let Some(only) = node.first_child().filter(|first| first.next_sibling().is_none()) else { return false };
    let is_url = matches!(&only.data().value, NodeValue::Text(text) if text.as_ref() == url);
    is_url && url.contains(':')
}

/// The texts of the headings that are written as HTML, also where it is shown as code. One goes to the next end of a heading.
pub(super) fn in_html(source: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut open = None;
    for at in memchr::memchr_iter(b'<', source.as_bytes()) {
        let tag = &source[at + 1..];
        match (open, tag.as_bytes()) {
            (None, [b'h' | b'H', b'1'..=b'6', b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'/', ..]) => {
                // Without an end of the tag, none of the rest has one.
                let Some(end) = tag.find('>') else { break };
                open = Some(at + 1 + end + 1);
            }
            (Some(start), [b'/', b'h' | b'H', b'1'..=b'6', rest @ ..]) if start <= at => {
                let is_end = rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'>');
                if is_end {
                    texts.push(without_tags(&source[start..at]));
                    open = None;
                }
            }
            _ => {}
        }
    }
    texts
}

/// The text of a piece of HTML.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for (n, part) in html.split('<').enumerate() {
        text.push_str(if n == 0 { part } else { part.split_once('>').map_or("", |(_, text)| text) });
    }
    let decoded = Spelled::decode(text.as_bytes(), &[Layer::Entities]).bytes;
    String::from_utf8_lossy(&decoded).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text without its explicit anchor, and that.
fn split(dialect: Dialect, text: &str) -> (&str, Option<String>) {
    match dialect {
        Dialect::Github | Dialect::Gitlab => (text, None),
        Dialect::Docusaurus => {
            let found = BRACED.captures(text).or_else(|| COMMENT.captures(text));
            let Some(found) = found else { return (text, None) };
            let whole = found.get(0).map_or(text.len(), |whole| whole.start());
            (&text[..whole], found.get(1).map(|id| id.as_str().to_owned()))
        }
        Dialect::Mdbook | Dialect::Hugo => {
            let Some(found) = ATTRIBUTES.captures(text) else { return (text, None) };
            let list = found.get(1).map_or("", |list| list.as_str());
            let is_attribute = |word: &str| word.starts_with(['#', '.']) || word.contains('=');
            if list.trim().is_empty() || !list.split_whitespace().all(is_attribute) {
                return (text, None);
            }
            let id = list.split_whitespace().filter_map(|word| word.strip_prefix('#')).next_back().map(str::to_owned);
            let whole = found.get(0).map_or(text.len(), |whole| whole.start());
            (&text[..whole], id.filter(|id| !id.is_empty()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_html;

    #[test]
    fn headings_in_html_end_at_the_next_end() {
        for (source, texts) in [
            ("<h1>A <b>b</b></h1> <H2 class=x>C &amp; d</h2 >", &["A b", "C & d"][..]),
            ("<h1>A <h2>b</h2> c</h1>", &["A b"]),
            ("<H1>A</H1> <h2>b", &["A"]),
            ("<h7>A</h7> <hr> <h1-x>b</h1-x> <h1", &[]),
        ] {
            assert_eq!(in_html(source), texts, "{source}");
        }
    }

    #[test]
    fn many_headings_in_html_take_one_pass() {
        // Minutes, if each looked for its own end.
        assert!(in_html(&"<h1>".repeat(400_000)).is_empty());
        assert_eq!(in_html(&format!("{}</h1>", "<h1>a".repeat(400_000))).len(), 1);
    }
}
