//! The spellings of characters that can't stand for themselves.
//!
//! One function a language: the length and meaning of the single escape at the beginning of a text. Links are unknown here.

/// A spelling of characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escape {
    /// Each as itself.
    #[default]
    Plain,
    /// Character references of an attribute in HTML.
    Html,
    /// References of XML's text.
    XmlText,
    /// References of an attribute in XML, whose line ends are spaces.
    XmlAttribute,
    /// Backslashes of CSS.
    Css,
    /// Backslashes of JSON.
    Json,
    /// Backslashes and references of a destination in Markdown.
    Markdown,
    /// References of Markdown's text.
    MarkdownText,
}

impl Escape {
    /// True for bytes with which an escape may begin.
    pub(crate) fn begins_with(self, byte: u8) -> bool {
        match self {
            Escape::Plain => false,
            Escape::Html | Escape::XmlText | Escape::MarkdownText => byte == b'&',
            Escape::XmlAttribute => matches!(byte, b'&' | b'\t' | b'\n' | b'\r'),
            Escape::Css | Escape::Json => byte == b'\\',
            Escape::Markdown => matches!(byte, b'&' | b'\\'),
        }
    }

    /// The length and meaning of the escape at the beginning of the text; none if there is no escape.
    pub(crate) fn read(self, text: &str) -> Option<(usize, String)> {
        match self {
            Escape::Plain => None,
            Escape::Html => html(text),
            Escape::XmlText => xml(text),
            Escape::XmlAttribute => match text.strip_prefix('&') {
                Some(_) => xml(text),
                None => Some((1 + usize::from(text.starts_with("\r\n")), " ".to_owned())),
            },
            Escape::Css => css(text),
            Escape::Json => json(text),
            Escape::Markdown => match text.as_bytes() {
                [b'\\', byte, ..] if byte.is_ascii_punctuation() => Some((2, char::from(*byte).to_string())),
                _ => markdown(text),
            },
            Escape::MarkdownText => markdown(text),
        }
    }
}

fn run(text: &str, wanted: fn(&u8) -> bool) -> usize {
    text.bytes().take_while(wanted).count()
}

/// In an attribute a reference takes all letters and digits after it, or is not a reference.
fn html(text: &str) -> Option<(usize, String)> {
    let rest = text.strip_prefix('&')?;
    let name = match rest.strip_prefix('#') {
        Some(number) if number.starts_with(['x', 'X']) => 2 + run(&number[1..], u8::is_ascii_hexdigit),
        Some(number) => 1 + run(number, u8::is_ascii_digit),
        None => run(rest, u8::is_ascii_alphanumeric),
    };
    let length = 1 + name + usize::from(rest[name..].starts_with(';'));
    // The next character decides if a name without semicolon is a reference.
    let context = usize::from(text[length..].starts_with('='));
    let decoded = htmlize::unescape_attribute(&text[..length + context]);
    if decoded == text[..length + context] {
        return None;
    }
    Some((length, decoded[..decoded.len() - context].to_owned()))
}

/// Numbers and the five names that need no declaration; none for others.
fn xml(text: &str) -> Option<(usize, String)> {
    let rest = text.strip_prefix('&')?;
    let name = &rest[..run(rest, |byte| byte.is_ascii_alphanumeric() || *byte == b'#')];
    if !rest[name.len()..].starts_with(';') {
        return None;
    }
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let is = |digits: &str, wanted: fn(&u8) -> bool| !digits.is_empty() && digits.bytes().all(|byte| wanted(&byte));
    let meaning = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => match name.strip_prefix('#')? {
            digits if is(digits, u8::is_ascii_digit) => number(digits, 10)?,
            digits => number(digits.strip_prefix('x').filter(|digits| is(digits, u8::is_ascii_hexdigit))?, 16)?,
        },
    };
    is_xml(meaning).then(|| (name.len() + 2, meaning.to_string()))
}

/// True for characters that may be in XML.
pub(crate) fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// A backslash before a line end means nothing, as in a string.
fn css(text: &str) -> Option<(usize, String)> {
    let rest = text.strip_prefix('\\')?;
    let digits = run(rest, u8::is_ascii_hexdigit).min(6);
    if digits == 0 {
        let (length, meaning) = match rest.chars().next() {
            None => (0, String::new()),
            Some('\r') => (1 + usize::from(rest[1..].starts_with('\n')), String::new()),
            Some('\n' | '\x0C') => (1, String::new()),
            Some(c) => (c.len_utf8(), c.to_string()),
        };
        return Some((1 + length, meaning));
    }
    let meaning = u32::from_str_radix(&rest[..digits], 16).ok().filter(|n| *n != 0).and_then(char::from_u32);
    let space = match rest.as_bytes()[digits..] {
        [b'\r', b'\n', ..] => 2,
        [b' ' | b'\t' | b'\n' | b'\r' | b'\x0C', ..] => 1,
        _ => 0,
    };
    Some((1 + digits + space, meaning.unwrap_or(char::REPLACEMENT_CHARACTER).to_string()))
}

/// Half of a pair by itself is a replacement character.
fn json(text: &str) -> Option<(usize, String)> {
    let unit = |at: usize| {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let meaning = match text.as_bytes().get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = unit(0)?;
            let pair = char::decode_utf16([first].into_iter().chain(unit(6))).next()?;
            let length = if pair.as_ref().is_ok_and(|c| c.len_utf16() == 2) { 12 } else { 6 };
            return Some((length, pair.unwrap_or(char::REPLACEMENT_CHARACTER).to_string()));
        }
        byte => char::from(*byte),
    };
    Some((2, meaning.to_string()))
}

/// A reference of Markdown ends with a semicolon, and its number has few digits.
fn markdown(text: &str) -> Option<(usize, String)> {
    let rest = text.strip_prefix('&')?;
    let (digits, radix, at, most) = match rest.as_bytes() {
        [b'#', b'x' | b'X', ..] => (run(&rest[2..], u8::is_ascii_hexdigit), 16, 2, 6),
        [b'#', ..] => (run(&rest[1..], u8::is_ascii_digit), 10, 1, 7),
        _ => {
            let length = run(rest, u8::is_ascii_alphanumeric) + 2;
            let decoded = htmlize::unescape(text.get(..length).filter(|name| name.ends_with(';'))?);
            return (decoded != text[..length]).then(|| (length, decoded.into_owned()));
        }
    };
    let is_number = (1..=most).contains(&digits) && rest[at + digits..].starts_with(';');
    let number = is_number.then(|| u32::from_str_radix(&rest[at..at + digits], radix).ok()).flatten()?;
    let meaning = char::from_u32(number).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((1 + at + digits + 1, meaning.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(escape: Escape, text: &str, expected: Option<(usize, &str)>) {
        let found = escape.read(text);
        assert_eq!(found.as_ref().map(|(length, meaning)| (*length, meaning.as_str())), expected, "{text:?}");
    }

    #[test]
    fn xml_has_five_names_and_numbers() {
        check(Escape::XmlText, "&amp;x", Some((5, "&")));
        check(Escape::XmlText, "&#x2F;&#47;", Some((6, "/")));
        for none in ["&amp", "&copy;", "&#;", "&#x;", "&#+1;", "&#X41;", "&#xD800;", "&", "& amp;"] {
            check(Escape::XmlText, none, None);
        }
        check(Escape::XmlAttribute, "\r\nx", Some((2, " ")));
    }

    #[test]
    fn css_takes_six_digits_and_one_space() {
        check(Escape::Css, "\\68 ttp", Some((4, "h")));
        check(Escape::Css, "\\0000688", Some((7, "h")));
        check(Escape::Css, "\\68\r\n\n", Some((5, "h")));
        check(Escape::Css, "\\/x", Some((2, "/")));
        check(Escape::Css, "\\\nx", Some((2, "")));
        check(Escape::Css, "\\0 ", Some((3, "\u{fffd}")));
        check(Escape::Css, "\\d800 ", Some((6, "\u{fffd}")));
        check(Escape::Css, "\\", Some((1, "")));
        check(Escape::Css, "\\é", Some((3, "é")));
    }

    #[test]
    fn json_joins_pairs() {
        check(Escape::Json, "\\/x", Some((2, "/")));
        check(Escape::Json, "\\u0068ttp", Some((6, "h")));
        check(Escape::Json, "\\ud83d\\ude00x", Some((12, "\u{1f600}")));
        check(Escape::Json, "\\ud83d\\u0068", Some((6, "\u{fffd}")));
        check(Escape::Json, "\\ude00", Some((6, "\u{fffd}")));
        check(Escape::Json, "\\n", Some((2, "\n")));
    }

    #[test]
    fn markdown_wants_semicolons() {
        check(Escape::Markdown, "\\_x", Some((2, "_")));
        check(Escape::Markdown, "\\x", None);
        check(Escape::Markdown, "&amp;", Some((5, "&")));
        check(Escape::Markdown, "&#x2e;", Some((6, ".")));
        check(Escape::Markdown, "&#0;", Some((4, "\u{fffd}")));
        for none in ["&amp", "&copy", "&nonsense;", "&#12345678;", "&#x1234567;", "&#;", "&", "\\"] {
            check(Escape::Markdown, none, None);
        }
        check(Escape::MarkdownText, "\\_", None);
    }
}
