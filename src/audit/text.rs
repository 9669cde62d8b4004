//! Finds URLs in running text.

use super::page::Page;

/// Reads a text file, or the front matter of another.
pub fn read(bytes: &[u8], page: &mut Page) {
    page.take(bytes, &urls(bytes));
}

/// The places of the URLs: each begins with `http://` or `https://` after anything but a letter or a digit.
fn urls(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    for colon in memchr::memmem::find_iter(bytes, b"://") {
        let Some(start) = bytes.get(from..colon).and_then(scheme).map(|length| colon - length) else { continue };
        if bytes[..start].last().is_some_and(u8::is_ascii_alphanumeric) || letter_ends(&bytes[..start]) {
            continue;
        }
        let length = bytes[colon..].iter().position(|byte| *byte <= b' ' || b"<>\"`\x7f".contains(byte));
        let most = length.map_or(bytes.len(), |length| colon + length);
        let most = unicode_space(&bytes[colon..most]).map_or(most, |length| colon + length);
        let end = colon + 3 + trimmed(&bytes[colon + 3..most]);
        if end > colon + 3 {
            found.push((start, end));
            from = end;
        }
    }
    found
}

/// The length of the scheme at the end of the bytes, if there is one.
pub(crate) fn scheme(bytes: &[u8]) -> Option<usize> {
    let ends =
        |scheme: &[u8]| bytes.len() >= scheme.len() && bytes[bytes.len() - scheme.len()..].eq_ignore_ascii_case(scheme);
    [&b"https"[..], b"http"].iter().find(|scheme| ends(scheme)).map(|scheme| scheme.len())
}

/// True if the bytes end with a letter or a digit that is not ASCII.
fn letter_ends(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(4)..];
    let start = tail.iter().rposition(|byte| *byte & 0xc0 != 0x80).unwrap_or(0);
    let last = std::str::from_utf8(&tail[start..]).ok().and_then(|text| text.chars().next_back());
    last.is_some_and(char::is_alphanumeric)
}

/// The place of white space beyond ASCII, or of a control character.
fn unicode_space(bytes: &[u8]) -> Option<usize> {
    if bytes.is_ascii() {
        return None;
    }
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        let space = chunk.valid().char_indices().find(|(_, c)| c.is_whitespace() || c.is_control());
        if let Some((offset, _)) = space {
            return Some(at + offset);
        }
        at += chunk.valid().len() + chunk.invalid().len();
    }
    None
}

/// The length without the end of a sentence, and without unopened brackets.
fn trimmed(bytes: &[u8]) -> usize {
    let mut brackets = Brackets::of(bytes);
    let last = bytes.iter().rposition(|byte| !(b".,;:!?'".contains(byte) || brackets.is_surplus(*byte)));
    last.map_or(0, |last| last + 1)
}

/// The surplus of closing brackets of each kind.
pub(crate) struct Brackets([usize; 3]);

impl Brackets {
    const PAIRS: [(u8, u8); 3] = [(b'(', b')'), (b'[', b']'), (b'{', b'}')];

    /// Counts the brackets of bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let count = |wanted: u8| memchr::memchr_iter(wanted, bytes).count();
        Brackets(Self::PAIRS.map(|(open, close)| count(close).saturating_sub(count(open))))
    }

    /// True for a surplus closing bracket, which is then taken off the count.
    pub(crate) fn is_surplus(&mut self, byte: u8) -> bool {
        let pair = Self::PAIRS.iter().position(|(_, close)| *close == byte).filter(|pair| self.0[*pair] > 0);
        if let Some(pair) = pair {
            self.0[pair] -= 1;
        }
        pair.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = urls(text.as_bytes()).into_iter().map(|(start, end)| &text[start..end]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn urls_in_text() {
        check("See http://a.b/c, or (HTTPS://d.e/f_(g)).", &["http://a.b/c", "HTTPS://d.e/f_(g)"]);
        check(
            "<http://a> \"http://b\" `http://c` 'http://d' [http://e]",
            &["http://a", "http://b", "http://c", "http://d", "http://e"],
        );
        check("xhttp://a 1http://b éhttp://c _http://d", &["http://d"]);
        check("http:// https://, ftp://a http:/b www.c", &[]);
        check("http://a/?u=http://b http://c\u{a0}d", &["http://a/?u=http://b", "http://c"]);
        check("（http://a/é）", &["http://a/é）"]);
    }
}
