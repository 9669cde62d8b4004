//! Checks in one pass over its bytes that a text is canonical JSON, without building values.

use serde_json::Value;

use super::canonical_value;

/// The deepest nesting of values; the readers refuse more.
const DEEPEST: usize = 127;

/// The end of the canonical JSON value that begins at an offset; none if there is none.
///
/// The text must be UTF-8: nothing here looks at bytes beyond ASCII but to compare them.
pub fn end_of(text: &[u8], at: usize) -> Option<usize> {
    value(text, at, 0)
}

fn value(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string(text, at),
        b'{' if depth < DEEPEST => object(text, at, depth + 1),
        b'[' if depth < DEEPEST => array(text, at, depth + 1),
        b't' => word(text, at, b"true"),
        b'f' => word(text, at, b"false"),
        b'n' => word(text, at, b"null"),
        _ => number(text, at),
    }
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    text[at..].starts_with(word).then_some(at + word.len())
}

fn array(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    if text.get(at + 1) == Some(&b']') {
        return Some(at + 2);
    }
    let mut at = at;
    loop {
        at = value(text, at + 1, depth)?;
        match text.get(at)? {
            b',' => {}
            b']' => return Some(at + 1),
            _ => return None,
        }
    }
}

fn object(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    if text.get(at + 1) == Some(&b'}') {
        return Some(at + 2);
    }
    let mut at = at;
    let mut last: Option<&[u8]> = None;
    loop {
        let start = at + 1;
        let end = string(text, start)?;
        let key = &text[start..end];
        if last.is_some_and(|last| !is_before(last, key)) || text.get(end) != Some(&b':') {
            return None;
        }
        last = Some(key);
        at = value(text, end + 1, depth)?;
        match text.get(at)? {
            b',' => {}
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// True if a key sorts before another; both are in quotes.
fn is_before(one: &[u8], other: &[u8]) -> bool {
    let is_plain = |key: &[u8]| key.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
    if is_plain(one) && is_plain(other) {
        return one[1..one.len() - 1] < other[1..other.len() - 1];
    }
    let units = |key: &[u8]| {
        let key: Option<String> = serde_json::from_slice(key).ok();
        key.map(|key| key.encode_utf16().collect::<Vec<u16>>())
    };
    match (units(one), units(other)) {
        (Some(one), Some(other)) => one < other,
        _ => false,
    }
}

fn string(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        at += text[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        match text[at] {
            b'"' => return Some(at + 1),
            b'\\' => at = escape(text, at)?,
            _ => return None,
        }
    }
}

/// The end of an escape, if it is the canonical spelling of its character.
fn escape(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at + 1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let [b'0', b'0', high @ (b'0' | b'1'), low] = text.get(at + 2..at + 6)? else { return None };
            let is_short = *high == b'0' && matches!(low, b'8' | b'9' | b'a' | b'c' | b'd');
            (matches!(low, b'0'..=b'9' | b'a'..=b'f') && !is_short).then_some(at + 6)
        }
        _ => None,
    }
}

fn number(text: &[u8], at: usize) -> Option<usize> {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let length = text[at..].iter().position(|byte| !is_part(byte)).unwrap_or(text.len() - at);
    let token = &text[at..at + length];
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let is_short = (1..16).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let is_integer = is_short && (digits[0] != b'0' || token == b"0");
    if is_integer || is_written_so(token) { Some(at + length) } else { None }
}

/// True if a number has its canonical spelling.
fn is_written_so(token: &[u8]) -> bool {
    let number: Option<Value> = serde_json::from_slice(token).ok();
    number.and_then(|number| canonical_value(&number).ok()).is_some_and(|text| text.as_bytes() == token)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::tests::values, *};

    fn is_canonical(text: &str) -> bool {
        end_of(text.as_bytes(), 0) == Some(text.len())
    }

    /// The slow way: read, write once more, compare.
    fn reference(text: &str) -> bool {
        let value: Option<Value> = serde_json::from_str(text).ok();
        value.and_then(|value| canonical_value(&value).ok()).is_some_and(|written| written == text)
    }

    #[test]
    fn what_is_written_otherwise_is_not_canonical() {
        for (text, expected) in [
            (r#"{"a":1,"b":[true,null,"x"]}"#, true),
            (r#"{"b":1,"a":2}"#, false),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"a": 1}"#, false),
            (r#"{"a":1.0}"#, false),
            (r#"{"a":1e2}"#, false),
            (r#"{"a":0.1}"#, true),
            (r#"{"a":-0}"#, false),
            (r#"{"a":01}"#, false),
            (r#"{"a":9007199254740993}"#, false),
            (r#"{"a":9007199254740992}"#, true),
            (r#""\u001f\n""#, true),
            (r#""\u001F""#, false),
            (r#""\u000a""#, false),
            (r#""\/""#, false),
            (r#""a"#, false),
            ("[1,]", false),
            ("[]", true),
            ("{}", true),
            ("{\"\u{e9}\":1,\"\u{10000}\":2,\"\u{ffff}\":3}", true),
            ("{\"\u{ffff}\":3,\"\u{10000}\":2}", false),
            ("tru", false),
            ("", false),
        ] {
            assert_eq!((is_canonical(text), reference(text)), (expected, expected), "{text}");
        }
        let deep = |n: usize| ["[".repeat(n), "]".repeat(n)].concat();
        assert_eq!(
            (is_canonical(&deep(127)), is_canonical(&deep(128))),
            (reference(&deep(127)), reference(&deep(128)))
        );
    }

    proptest! {
        #[test]
        fn it_agrees_with_writing_a_value_once_more(value in values(), at in any::<prop::sample::Index>(), other in 0_u8..128) {
            let text = canonical_value(&value).unwrap();
            prop_assert!(is_canonical(&text));
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = other;
            if let Ok(text) = String::from_utf8(bytes) {
                prop_assert_eq!(is_canonical(&text), reference(&text), "{}", text);
            }
        }
    }
}
