//! An attribute's value as a browser reads it, with the way back to the bytes of the file.

use std::{borrow::Cow, ops::Range};

/// A decoded value. Bytes that are not UTF-8 become replacement characters, which no host contains.
#[derive(Debug)]
pub(super) struct Decoded<'a> {
    /// The text, character references resolved.
    pub(super) text: Cow<'a, str>,
    /// For each byte of `text` the raw offset where its character begins, and the raw length; none if they are the same.
    starts: Option<Vec<usize>>,
}

impl<'a> Decoded<'a> {
    /// Decodes the raw bytes between the quotes.
    pub(super) fn new(raw: &'a [u8]) -> Self {
        match std::str::from_utf8(raw) {
            Ok(text) if memchr::memchr(b'&', raw).is_none() => Decoded { text: Cow::Borrowed(text), starts: None },
            Ok(_) | Err(_) => decode(raw),
        }
    }

    /// The raw bytes behind a part of the text.
    pub(super) fn raw(&self, range: Range<usize>) -> Range<usize> {
        match &self.starts {
            Some(starts) => starts[range.start]..starts[range.end],
            None => range,
        }
    }
}

fn decode(raw: &[u8]) -> Decoded<'_> {
    let mut text = String::with_capacity(raw.len());
    let mut starts = Vec::with_capacity(raw.len() + 1);
    let mut offset = 0;
    let mut push = |decoded: &str, at: usize| {
        text.push_str(decoded);
        starts.resize(text.len(), at);
    };
    for chunk in raw.utf8_chunks() {
        let valid = chunk.valid();
        let mut at = 0;
        while at < valid.len() {
            if let Some((length, decoded)) = reference(&valid[at..]) {
                push(&decoded, offset + at);
                at += length;
            } else {
                let length = valid[at..].chars().next().map_or(1, char::len_utf8);
                push(&valid[at..at + length], offset + at);
                at += length;
            }
        }
        offset += valid.len();
        if !chunk.invalid().is_empty() {
            push("\u{fffd}", offset);
            offset += chunk.invalid().len();
        }
    }
    starts.push(raw.len());
    Decoded { text: Cow::Owned(text), starts: Some(starts) }
}

/// The length and meaning of the character reference that the text begins with.
///
/// In an attribute a reference takes all letters and digits that follow it, or is none.
fn reference(text: &str) -> Option<(usize, String)> {
    let rest = text.strip_prefix('&')?;
    let run = |text: &str, wanted: fn(&u8) -> bool| text.bytes().take_while(&wanted).count();
    let name = match rest.strip_prefix('#') {
        Some(number) if number.starts_with(['x', 'X']) => 2 + run(&number[1..], u8::is_ascii_hexdigit),
        Some(number) => 1 + run(number, u8::is_ascii_digit),
        None => run(rest, u8::is_ascii_alphanumeric),
    };
    let length = 1 + name + usize::from(rest[name..].starts_with(';'));
    // What follows decides whether a name without semicolon is a reference.
    let context = usize::from(text[length..].starts_with('='));
    let decoded = htmlize::unescape_attribute(&text[..length + context]);
    if decoded == text[..length + context] {
        return None;
    }
    Some((length, decoded[..decoded.len() - context].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &[u8], expected: &str) {
        let decoded = Decoded::new(raw);
        assert_eq!(decoded.text, expected);
        assert_eq!(decoded.raw(0..decoded.text.len()), 0..raw.len());
        // Neighbouring characters have neighbouring raw ranges.
        let mut at = 0;
        for (index, c) in decoded.text.char_indices() {
            let range = decoded.raw(index..index + c.len_utf8());
            assert_eq!(range.start, at, "{expected:?} at {index}");
            at = range.end;
        }
    }

    #[test]
    fn references_as_in_attributes() {
        check(b"a&amp;b&ampc&amp=&amp", "a&b&ampc&amp=&");
        check(b"&#104;&#x74&#X74;p&colon;&sol;&sol;x&notit;&copy&reg;", "http://x&notit;©®");
        check(b"&#47&#65;b &#; &#x; & &;&nonsense;", "/Ab &#; &#x; & &;&nonsense;");
        check("ü&uuml;\u{1f600}".as_bytes(), "üü\u{1f600}");
        check(b"&NotEqualTilde;x", "\u{2242}\u{338}x");
    }

    #[test]
    fn other_encodings_stay_aligned() {
        check(b"caf\xe9&eacute;\xff\xfex", "caf\u{fffd}é\u{fffd}\u{fffd}x");
    }

    #[test]
    fn a_range_leads_back_to_its_bytes() {
        let raw = b"&#104;ttp://o&#x2e;e/?a&amp;b";
        let decoded = Decoded::new(raw);
        assert_eq!(decoded.text, "http://o.e/?a&b");
        assert_eq!(&raw[decoded.raw(0..10)], b"&#104;ttp://o&#x2e;e");
    }
}
