//! The text that Hugo makes an anchor from.

use comrak::nodes::{Node, NodeValue};

use super::braces;

/// The text of Hugo: of each part its first text, of an image that of its description, and of several lines the last.
///
/// None if a block of attributes is not there as plain text at the end.
pub(super) fn first_texts(heading: Node<'_>, block: &str) -> Option<String> {
    // Texts in a row are one to Hugo.
    let (mut text, mut plain) = (String::new(), String::new());
    for part in heading.children() {
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
    if !block.is_empty() {
        plain = braces::without_signs(plain.trim_end().strip_suffix(block)?).to_owned();
    }
    text.push_str(&typographic(&without_urls(&plain)).join("…"));
    Some(text)
}

/// True for characters that the typographer replaces.
pub(super) fn has_typography(text: &str) -> bool {
    typographic(text).len() > 1
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
pub(super) fn without_urls(text: &str) -> String {
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
pub(super) fn is_autolink(node: Node<'_>, url: &str) -> bool {
    let Some(only) = node.first_child().filter(|first| first.next_sibling().is_none()) else { return false };
    let bare = url.strip_prefix("mailto:");
    let is_url = |text: &str| (text == url && url.contains(':')) || (bare == Some(text) && text.contains('@'));
    matches!(&only.data().value, NodeValue::Text(text) if is_url(text))
}
