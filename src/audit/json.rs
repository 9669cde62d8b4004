//! Reads the strings of JSON: a parser checks the syntax, and the quotation marks give the places.

use serde::de::IgnoredAny;

use super::{
    page::Page,
    spelling::{Layer, Spelled},
};

/// Reads a file; a file that is not JSON was to be left alone.
pub fn read_file(bytes: &[u8], page: &mut Page) {
    if !read(bytes, page) {
        page.doubt("it is no JSON, so it was to be left alone");
    }
}

/// Reads the values that are a URL from end to end; false if the bytes are not JSON.
pub(crate) fn read(bytes: &[u8], page: &mut Page) -> bool {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_err() || std::str::from_utf8(bytes).is_err() {
        page.note(b'v', bytes);
        return false;
    }
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'"', &bytes[at..]).map(|length| at + length + 1) {
        let end = closing(bytes, start);
        at = end + 1;
        let next = bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace());
        if next == Some(&b':') {
            continue;
        }
        let value = Spelled::decode(&bytes[start..end], &[Layer::Json]).bytes;
        if is_url(&value) {
            page.note(b'v', &bytes[copied..start]);
            page.link(&value);
            copied = end;
        }
    }
    page.note(b'v', &bytes[copied..]);
    true
}

/// The end of the string that begins there.
fn closing(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(length) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        at += length;
        if bytes[at] == b'"' {
            return at;
        }
        at = (at + 2).min(bytes.len());
    }
    bytes.len()
}

fn is_url(value: &[u8]) -> bool {
    let begins = |with: &[u8]| value.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
    let space = || String::from_utf8_lossy(value).chars().any(char::is_whitespace);
    [&b"http://"[..], b"https://", b"//"].iter().any(|head| begins(head)) && !space()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &[&str]) {
        let mut page = Page::default();
        read_file(json.as_bytes(), &mut page);
        let found: Vec<String> = page.links.iter().map(super::super::link::Link::shown).collect();
        assert_eq!((found, page.doubt), (expected.iter().map(ToString::to_string).collect(), None), "{json}");
    }

    #[test]
    fn values_that_are_urls() {
        check(
            r#"{"a":"http://b","http://c" : ["HTTPS://d", "//e", "x http://f", "http://g h", 1e999]}"#,
            &["http://b", "HTTPS://d", "//e"],
        );
        check(
            r#"["\u0068ttp:\/\/a\/\"b\\", "/c", " http://d", "http:/e", "\"", "http://f"]"#,
            &[r#"http://a/\"b\\"#, "http://f"],
        );
        check(r#""http://a""#, &["http://a"]);
        check(r#"{"a":1,"a":"//b"}"#, &["//b"]);
    }

    #[test]
    fn what_is_no_json_is_left_alone() {
        for text in ["", "{", "{'a':1}", "[1,]", "// a\n1", "\u{feff}1", "1 2", "\"a\nb\""] {
            let mut page = Page::default();
            read_file(text.as_bytes(), &mut page);
            assert!(page.doubt.is_some(), "{text}");
        }
        let mut page = Page::default();
        read_file(b"\"\xff\"", &mut page);
        assert!(page.doubt.is_some());
    }
}
