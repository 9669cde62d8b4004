//! Finds texts of links that are exactly the destination: `[URL](URL)` in Markdown, `<a href="URL">URL</a>` in HTML.

use std::ops::Range;

use ::format::{
    escape::Escape,
    table::Form,
    value::{Decoded, Value},
};

/// Finds the text of a link by the bytes of a file, the place of the destination, and the URL.
type Find = fn(&[u8], &Range<usize>, &[u8]) -> Option<Range<usize>>;

/// Adds the texts of links that are their destinations, each as a URL of its own.
pub(super) fn add(find: Find, bytes: &[u8], values: &mut Vec<Value>) {
    let text = |value: &Value| {
        let url = Decoded::new(&bytes[value.range.clone()], &value.escapes).text.into_owned();
        let is_one = value.form == Form::Url && is_plain(&url);
        let place = is_one.then(|| find(bytes, &value.range, url.as_bytes())).flatten()?;
        Some(Value::new(place, Escape::Plain, Form::Url))
    };
    let mut texts: Vec<Value> = values.iter().filter_map(text).collect();
    let is_read = |text: &Value| {
        let after = values.partition_point(|value| value.range.end <= text.range.start);
        values.get(after).is_some_and(|value| value.range.start < text.range.end)
    };
    texts.retain(|text| !is_read(text));
    values.extend(texts);
    values.sort_by_key(|value| value.range.start);
}

/// True for a URL of characters that no format gives a meaning; one with others may be another text. An underscore between letters
/// or digits begins no emphasis.
fn is_plain(url: &str) -> bool {
    let bytes = url.as_bytes();
    let begins = |start: &str| url.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let fits = |(at, byte): (usize, &u8)| match byte {
        b'_' => at > 0 && is_letter(at - 1) && is_letter(at + 1),
        byte => byte.is_ascii_alphanumeric() || b"-.:/?#@$+,;=%".contains(byte),
    };
    (begins("http://") || begins("https://")) && bytes.iter().enumerate().all(fits)
}

/// The text before the destination of an inline link.
pub(super) fn of_markdown(bytes: &[u8], destination: &Range<usize>, url: &[u8]) -> Option<Range<usize>> {
    let before = bytes[..destination.start].strip_suffix(b"<").unwrap_or(&bytes[..destination.start]);
    // The destination may stand on the next line of a quote.
    let blank = before.iter().rev().take_while(|byte| b" \t\r\n>".contains(byte)).count();
    let text = before[..before.len() - blank].strip_suffix(b"](")?;
    let bracket = text.strip_suffix(url)?.strip_suffix(b"[")?;
    let is_escaped = |text: &[u8]| text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    let is_image = bracket.strip_suffix(b"!").is_some_and(|before| !is_escaped(before));
    (!is_escaped(bracket) && !is_image).then_some(text.len() - url.len()..text.len())
}

/// The text between the tag with the attribute and the end tag.
pub(super) fn of_html(bytes: &[u8], value: &Range<usize>, url: &[u8]) -> Option<Range<usize>> {
    let starts = memchr::memrchr_iter(b'<', &bytes[..value.start]);
    let end = starts.take(STARTS).find_map(|start| end_of_tag(bytes, start, value))?;
    let rest = bytes[end..].strip_prefix(url)?;
    let closes = rest.get(..3).is_some_and(|head| head.eq_ignore_ascii_case(b"</a"));
    let is_whole = rest.get(3).is_some_and(|byte| byte.is_ascii_whitespace() || b"/>".contains(byte));
    (closes && is_whole).then_some(end..end + url.len())
}

/// The number of places before an attribute at which its tag may begin.
const STARTS: usize = 8;

/// The byte behind the start tag of the link to a destination; none without such a tag.
fn end_of_tag(bytes: &[u8], start: usize, value: &Range<usize>) -> Option<usize> {
    let name = bytes.get(start + 1..start + 3)?;
    let is_space = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ');
    if !name[0].eq_ignore_ascii_case(&b'a') || !is_space(&name[1]) {
        return None;
    }
    let skip = |at: usize, what: &dyn Fn(&u8) -> bool| at + bytes[at..].iter().take_while(|byte| what(byte)).count();
    let (mut at, mut is_found) = (start + 2, false);
    loop {
        at = skip(at, &is_space);
        match bytes.get(at)? {
            b'>' => return is_found.then_some(at + 1),
            b'/' => {
                // A self-closing tag has no text in XML.
                if bytes.get(at + 1) == Some(&b'>') {
                    return None;
                }
                at += 1;
                continue;
            }
            _ => {}
        }
        let name = at..skip(at + 1, &|byte| !is_space(byte) && !b"/>=".contains(byte));
        at = skip(name.end, &is_space);
        if bytes.get(at) != Some(&b'=') {
            at = name.end;
            continue;
        }
        at = skip(at + 1, &is_space);
        let found = match bytes.get(at)? {
            quote @ (b'"' | b'\'') => at + 1..at + 1 + memchr::memchr(*quote, &bytes[at + 1..])?,
            b'>' => at..at,
            _ => at..skip(at, &|byte| !is_space(byte) && *byte != b'>'),
        };
        at = found.end + usize::from(matches!(bytes[at], b'"' | b'\''));
        is_found |= found == *value && bytes[name].eq_ignore_ascii_case(b"href");
    }
}
