//! A part of a file that holds URLs, decoded, with the way back to the bytes.

use std::{borrow::Cow, ops::Range};

use super::{escape::Escape, table::Form};

/// A value with URLs in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its bytes in the file, without quotes.
    pub range: Range<usize>,
    /// Its escapes, the outer one first: CSS in an attribute has two.
    pub escapes: [Escape; 2],
    /// The form of its URLs.
    pub form: Form,
}

impl Value {
    /// A value with one escape.
    pub fn new(range: Range<usize>, escape: Escape, form: Form) -> Self {
        Value { range, escapes: [escape, Escape::Plain], form }
    }

    /// Converts a value of a decoded part into one of the file; the part begins at `start`.
    pub(crate) fn within(self, part: &Decoded<'_>, start: usize, escape: Escape) -> Self {
        let Range { start: from, end } = part.raw(self.range);
        let escapes = if escape == Escape::Plain { self.escapes } else { [escape, self.escapes[0]] };
        Value { range: start + from..start + end, escapes, form: self.form }
    }
}

/// A decoded value. Bytes that are not UTF-8 become replacement characters, which no host contains.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text, escapes resolved.
    pub text: Cow<'a, str>,
    /// The replacements of each step of decoding, the outer first.
    steps: Vec<Vec<Unit>>,
}

/// A part of the text whose spelling differs.
#[derive(Debug)]
struct Unit {
    text: Range<usize>,
    raw: Range<usize>,
}

impl<'a> Decoded<'a> {
    /// Decodes bytes with these escapes, the outer first.
    pub fn new(raw: &'a [u8], escapes: &[Escape]) -> Self {
        let mut decoded = match std::str::from_utf8(raw) {
            Ok(text) => Decoded { text: Cow::Borrowed(text), steps: Vec::new() },
            Err(_) => from_other_encoding(raw),
        };
        for escape in escapes {
            decoded.resolve(*escape);
        }
        decoded
    }

    /// The concatenated pieces of a text. The text between them means nothing.
    pub(crate) fn of_pieces(raw: &'a str, pieces: &[Range<usize>]) -> Self {
        let (mut text, mut units) = (String::new(), Vec::new());
        let mut copied = 0;
        for piece in pieces {
            units.push(Unit { text: text.len()..text.len(), raw: copied..piece.start });
            text.push_str(&raw[piece.clone()]);
            copied = piece.end;
        }
        Decoded { text: Cow::Owned(text), steps: vec![units] }
    }

    fn resolve(&mut self, escape: Escape) {
        let raw = &*self.text;
        let (mut text, mut units) = (String::new(), Vec::new());
        let (mut copied, mut at) = (0, 0);
        while let Some(found) = raw.as_bytes()[at..].iter().position(|byte| escape.begins_with(*byte)) {
            at += found;
            let Some((length, meaning)) = escape.read(&raw[at..]) else {
                at += 1;
                continue;
            };
            text.push_str(&raw[copied..at]);
            units.push(Unit { text: text.len()..text.len() + meaning.len(), raw: at..at + length });
            text.push_str(&meaning);
            at += length;
            copied = at;
        }
        if !units.is_empty() {
            text.push_str(&raw[copied..]);
            self.text = Cow::Owned(text);
            self.steps.push(units);
        }
    }

    /// The raw bytes behind a part of the text.
    pub fn raw(&self, range: Range<usize>) -> Range<usize> {
        let back = |at: usize| self.steps.iter().rev().fold(at, |at, units| raw_position(units, at));
        back(range.start)..back(range.end)
    }
}

/// The position in the encoded text for one of the decoded text. Meaningless text belongs to the text before it.
fn raw_position(units: &[Unit], at: usize) -> usize {
    match units[..units.partition_point(|unit| unit.text.start <= at)].last() {
        None => at,
        Some(unit) if at < unit.text.end => unit.raw.start,
        Some(unit) => unit.raw.end + (at - unit.text.end),
    }
}

fn from_other_encoding(raw: &[u8]) -> Decoded<'_> {
    let (mut text, mut units) = (String::with_capacity(raw.len()), Vec::new());
    let mut at = 0;
    for chunk in raw.utf8_chunks() {
        text.push_str(chunk.valid());
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            let (start, length) = (text.len(), chunk.invalid().len());
            text.push(char::REPLACEMENT_CHARACTER);
            units.push(Unit { text: start..text.len(), raw: at..at + length });
            at += length;
        }
    }
    Decoded { text: Cow::Owned(text), steps: vec![units] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &[u8], escapes: &[Escape], expected: &str) {
        let decoded = Decoded::new(raw, escapes);
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
        let html = &[Escape::Html];
        check(b"a&amp;b&ampc&amp=&amp", html, "a&b&ampc&amp=&");
        check(b"&#104;&#x74&#X74;p&colon;&sol;&sol;x&notit;&copy&reg;", html, "http://x&notit;©®");
        check(b"&#47&#65;b &#; &#x; & &;&nonsense;", html, "/Ab &#; &#x; & &;&nonsense;");
        check("ü&uuml;\u{1f600}".as_bytes(), html, "üü\u{1f600}");
        check(b"&NotEqualTilde;x", html, "\u{2242}\u{338}x");
    }

    #[test]
    fn other_encodings_stay_aligned() {
        check(b"caf\xe9&eacute;\xff\xfex", &[Escape::Html], "caf\u{fffd}é\u{fffd}\u{fffd}x");
        check(b"caf\xe9", &[Escape::Plain], "caf\u{fffd}");
    }

    #[test]
    fn a_range_leads_back_to_its_bytes() {
        let raw = b"&#104;ttp://o&#x2e;e/?a&amp;b";
        let decoded = Decoded::new(raw, &[Escape::Html]);
        assert_eq!(decoded.text, "http://o.e/?a&b");
        assert_eq!(&raw[decoded.raw(0..10)], b"&#104;ttp://o&#x2e;e");
    }

    #[test]
    fn escapes_within_escapes_lead_back_too() {
        let raw = b"\xff&#x5c;68 t&#92;74&#32;p";
        check(raw, &[Escape::Html, Escape::Css], "\u{fffd}http");
        let decoded = Decoded::new(raw, &[Escape::Html, Escape::Css]);
        assert_eq!(&raw[decoded.raw(3..4)], b"&#x5c;68 ");
        assert_eq!(&raw[decoded.raw(5..6)], b"&#92;74&#32;");
        let decoded = Decoded::new(b"a\\\nb", &[Escape::Css]);
        assert_eq!((&*decoded.text, decoded.raw(0..1), decoded.raw(1..2)), ("ab", 0..3, 3..4));
    }
}
