//! The spellings of a character: character references, and the escapes of CSS, JSON and Markdown.

use std::ops::Range;

use html5gum::{Token, Tokenizer};

/// An upper limit for the names of character references in HTML.
const LONGEST_NAME: usize = 40;

/// One kind of spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `&amp;`, `&#38;`; and each line end is one character.
    References,
    /// `\26 `, `\&`.
    Css,
    /// `\u0026`, `\/`.
    Json,
    /// `\&`, `&amp;`, and marks of containers where a line begins.
    Markdown,
    /// `&amp;` in Markdown where backslashes are gone.
    Entities,
}

/// Decoded bytes with their places in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spelled {
    /// The decoded bytes.
    pub bytes: Vec<u8>,
    /// The beginning and end of the spelling of each.
    places: Vec<(usize, usize)>,
}

impl Spelled {
    /// Bytes that stand for themselves.
    pub(crate) fn plain(bytes: &[u8]) -> Self {
        Spelled { bytes: bytes.to_vec(), places: (0..bytes.len()).map(|at| (at, at + 1)).collect() }
    }

    /// Decodes the layers, the outermost first.
    pub fn decode(bytes: &[u8], layers: &[Layer]) -> Self {
        layers.iter().fold(Spelled::plain(bytes), |spelled, layer| spelled.take_off(*layer))
    }

    /// The raw bytes that spell a range of the decoded ones.
    pub fn raw(&self, range: Range<usize>) -> Range<usize> {
        let start = self.places.get(range.start).map_or_else(|| self.end(), |place| place.0);
        let end = if range.is_empty() { start } else { self.places[range.end - 1].1 };
        start..end
    }

    /// The end of the spelling of the last byte.
    fn end(&self) -> usize {
        self.places.last().map_or(0, |place| place.1)
    }

    /// Appends further bytes, whose places move by `by`.
    pub(crate) fn extend(&mut self, more: &Spelled, by: usize) {
        self.bytes.extend_from_slice(&more.bytes);
        self.places.extend(more.places.iter().map(|(start, end)| (start + by, end + by)));
    }

    fn take_off(self, layer: Layer) -> Self {
        let mut next = Spelled::default();
        let mut at = 0;
        while at < self.bytes.len() {
            let length = next.bytes.len();
            let end = at + unit(layer, &self.bytes[at..], &mut next.bytes).max(1);
            let place = (self.places[at].0, self.places[end - 1].1);
            next.places.extend((length..next.bytes.len()).map(|_| place));
            at = end;
        }
        next
    }
}

/// Decodes the first unit of the bytes; returns its length.
fn unit(layer: Layer, bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let spelled = match (layer, bytes[0]) {
        (Layer::References, b'&') => reference(bytes, out).map_or(0, |(length, _)| length),
        (Layer::Markdown | Layer::Entities, b'&') => {
            let before = out.len();
            match reference(bytes, out) {
                Some((length, true)) => length,
                _ => {
                    out.truncate(before);
                    0
                }
            }
        }
        (Layer::Css, b'\\') => css(bytes, out),
        (Layer::Json, b'\\') => json(bytes, out),
        (Layer::Markdown, b'\\') if bytes.get(1).is_some_and(u8::is_ascii_punctuation) => {
            out.push(bytes[1]);
            2
        }
        (Layer::References | Layer::Markdown, b'\r' | b'\n') => {
            out.push(b'\n');
            let end = if bytes.starts_with(b"\r\n") { 2 } else { 1 };
            let marks: &[u8] = if layer == Layer::Markdown { b" \t>" } else { b"" };
            end + bytes[end..].iter().take_while(|byte| marks.contains(byte)).count()
        }
        _ => 0,
    };
    if spelled == 0 {
        out.push(bytes[0]);
    }
    spelled
}

fn push(out: &mut Vec<u8>, number: u32) {
    let c = char::from_u32(number).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The number at the beginning of the bytes, and the number of its digits.
pub fn number(bytes: &[u8], radix: u32, most: usize) -> (u32, usize) {
    let digits = bytes.iter().take(most).map_while(|byte| char::from(*byte).to_digit(radix));
    digits.fold((0, 0), |(n, count), digit| (n.saturating_mul(radix).saturating_add(digit), count + 1))
}

/// A reference at the beginning of the bytes as in an attribute: its length, and true if it has a semicolon.
fn reference(bytes: &[u8], out: &mut Vec<u8>) -> Option<(usize, bool)> {
    let (digits, end) = match bytes {
        [b'&', b'#', b'x' | b'X', hex @ ..] => {
            let (_, count) = number(hex, 16, usize::MAX);
            (count, 3 + count)
        }
        [b'&', b'#', decimal @ ..] => {
            let (_, count) = number(decimal, 10, usize::MAX);
            (count, 2 + count)
        }
        [b'&', name @ ..] => {
            let count = name.iter().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphanumeric()).count();
            (count, 1 + count)
        }
        _ => (0, 0),
    };
    if digits == 0 {
        return None;
    }
    let closed = bytes.get(end) == Some(&b';');
    let end = end + usize::from(closed);
    // The next character decides if a name without semicolon counts.
    let next = bytes.get(end).copied().filter(|byte| !closed && *byte == b'=');
    let mut value = referred(&[&bytes[..end], next.as_slice()].concat())?;
    value.truncate(value.len() - next.iter().len());
    if value == bytes[..end] {
        return None;
    }
    out.extend_from_slice(&value);
    Some((end, closed))
}

/// The entry of the HTML standard's table.
fn referred(reference: &[u8]) -> Option<Vec<u8>> {
    let tag = [b"<a b='", reference, b"'>"].concat();
    Tokenizer::new(tag.as_slice()).find_map(|token| match token {
        Ok(Token::StartTag(tag)) => tag.attributes.into_iter().next().map(|(_, value)| value.value.0),
        Ok(_) => None,
        Err(never) => match never {},
    })
}

/// An escape of CSS at the beginning of the bytes; an escaped line end means nothing.
fn css(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let (value, count) = number(&bytes[1..], 16, 6);
    match bytes.get(1) {
        None => 1,
        Some(b'\r') if bytes.get(2) == Some(&b'\n') => 3,
        Some(b'\r' | b'\n' | b'\x0c') => 2,
        Some(_) if count > 0 => {
            push(out, value);
            1 + count
                + match &bytes[1 + count..] {
                    [b'\r', b'\n', ..] => 2,
                    [b' ' | b'\t' | b'\n' | b'\r' | b'\x0c', ..] => 1,
                    _ => 0,
                }
        }
        Some(byte) => {
            out.push(*byte);
            2
        }
    }
}

/// An escape of JSON at the beginning of the bytes; 0 if it is none.
fn json(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let code = |at: usize| match bytes.get(at..at + 2) {
        Some(b"\\u") => Some(number(&bytes[at + 2..], 16, 4)).filter(|(_, count)| *count == 4).map(|(n, _)| n),
        _ => None,
    };
    let plain = match bytes.get(1) {
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        _ => {
            let (number, length) = match (code(0), code(6)) {
                (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                    (0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
                }
                (Some(number), _) => (number, 6),
                (None, _) => return 0,
            };
            match char::from_u32(number) {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => push(out, 0),
            }
            return length;
        }
    };
    out.push(plain);
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(layers: &[Layer], raw: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&Spelled::decode(raw.as_bytes(), layers).bytes), expected, "{raw}");
    }

    #[test]
    fn every_spelling_is_decoded() {
        check(
            &[Layer::References],
            "&#104;t&#x74p&colon;&sol;&sol;&uuml;&amp;amp;&copy=&copy;&notit;&x;&",
            "http://ü&amp;&copy=©&notit;&x;&",
        );
        check(&[Layer::Css], "\\68 t\\00074p\\:\\\n\\\r\n//\\e4\r\n\\0", "http://ä\u{fffd}");
        check(&[Layer::Json], "\\u0068\\/\\ud83d\\ude00\\ud83d\\n\\x", "h/😀\u{fffd}\n\\x");
        check(&[Layer::Markdown], "\\:\\a&#47;\\&amp;\n > > x", ":\\a/&amp;\nx");
        check(&[Layer::References, Layer::Css], "&#92;68&#32;t", "ht");
    }

    #[test]
    fn decoded_bytes_know_where_they_come_from() {
        let spelled = Spelled::decode(b"a&#92;68&#32;t&uuml;", &[Layer::References, Layer::Css]);
        assert_eq!(spelled.bytes, "aht\u{fc}".as_bytes());
        assert_eq!((spelled.raw(0..1), spelled.raw(1..2), spelled.raw(2..3)), (0..1, 1..13, 13..14));
        assert_eq!((spelled.raw(3..5), spelled.raw(5..5), spelled.raw(1..1)), (14..20, 20..20, 1..1));
    }
}
