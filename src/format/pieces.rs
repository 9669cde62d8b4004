//! Finds the URLs in a decoded value.

use std::ops::Range;

use super::table::Form;

/// The places of the URLs in a value, without white space around them. Empty ones are left out.
pub fn pieces(form: Form, text: &str) -> Vec<Range<usize>> {
    match form {
        Form::Url => trimmed(text, 0..text.len()).into_iter().collect(),
        Form::List => words(text),
        Form::Srcset => srcset(text),
        Form::Absolute => absolute(text).then_some(0..text.len()).into_iter().collect(),
        Form::Refresh => refresh(text).and_then(|range| trimmed(text, range)).into_iter().collect(),
    }
}

fn absolute(text: &str) -> bool {
    let begins = |start: &str| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    ["http://", "https://", "//"].into_iter().any(begins) && !text.contains(char::is_whitespace)
}

/// White space of HTML.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ')
}

/// The range without the controls and spaces that a URL parser strips; none if nothing is left.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start_matches(|c| c <= ' ').len());
    let end = range.end - (piece.len() - piece.trim_end_matches(|c| c <= ' ').len());
    (start < end).then_some(start..end)
}

fn words(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(start) = position(bytes, at, |byte| !is_space(byte)) {
        at = position(bytes, start, is_space).unwrap_or(bytes.len());
        words.extend(trimmed(text, start..at));
    }
    words
}

/// The standard's "parse a srcset attribute", without the meaning of descriptors.
fn srcset(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut urls = Vec::new();
    let mut at = 0;
    while let Some(start) = position(bytes, at, |byte| !is_space(byte) && byte != b',') {
        let word_end = position(bytes, start, is_space).unwrap_or(bytes.len());
        let url = text[start..word_end].trim_end_matches(',');
        urls.extend(trimmed(text, start..start + url.len()));
        at = word_end;
        if url.len() == word_end - start {
            at = after_descriptors(bytes, at);
        }
    }
    urls
}

fn after_descriptors(bytes: &[u8], mut at: usize) -> usize {
    let mut in_parentheses = false;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'(' => in_parentheses = true,
            b')' => in_parentheses = false,
            b',' if !in_parentheses => break,
            _ => {}
        }
    }
    at
}

/// The standard's "shared declarative refresh steps".
fn refresh(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let end = bytes.len();
    let start = position(bytes, 0, |byte| !is_space(byte))?;
    if !matches!(bytes[start], b'0'..=b'9' | b'.') {
        return None;
    }
    let after_time = position(bytes, start, |byte| !matches!(byte, b'0'..=b'9' | b'.'))?;
    if !matches!(bytes[after_time], b';' | b',') && !is_space(bytes[after_time]) {
        return None;
    }
    let mut at = position(bytes, after_time, |byte| !is_space(byte))?;
    if matches!(bytes[at], b';' | b',') {
        at = position(bytes, at + 1, |byte| !is_space(byte))?;
    }
    if bytes[at..].len() >= 3 && bytes[at..at + 3].eq_ignore_ascii_case(b"url") {
        match position(bytes, at + 3, |byte| !is_space(byte)) {
            Some(equals) if bytes[equals] == b'=' => at = position(bytes, equals + 1, |byte| !is_space(byte))?,
            Some(_) | None => return Some(at..end),
        }
    } else if matches!(bytes[at], b'u' | b'U') {
        return Some(at..end);
    }
    match bytes[at] {
        quote @ (b'"' | b'\'') => Some(at + 1..position(bytes, at + 1, |byte| byte == quote).unwrap_or(end)),
        _ => Some(at..end),
    }
}

fn position(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    bytes[from..].iter().position(|byte| wanted(*byte)).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: Form, text: &str, expected: &[&str]) {
        let found: Vec<&str> = pieces(form, text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn urls_and_lists() {
        check(Form::Url, " \u{1}http://a/b c\n", &["http://a/b c"]);
        check(Form::Url, " \t ", &[]);
        check(Form::List, " a\n b  ", &["a", "b"]);
        check(Form::List, "", &[]);
    }

    #[test]
    fn a_text_that_is_a_url_from_end_to_end() {
        for url in ["http://a/b", "HTTPS://a", "//a/b?c"] {
            check(Form::Absolute, url, &[url]);
        }
        for none in ["", "/a", "http:/a", "ftp://a", " http://a", "http://a ", "http://a b", "see http://a"] {
            check(Form::Absolute, none, &[]);
        }
    }

    #[test]
    fn candidates_of_a_srcset() {
        check(Form::Srcset, "a 1x, b 2x", &["a", "b"]);
        check(Form::Srcset, ",, a,b, c , d", &["a,b", "c", "d"]);
        check(
            Form::Srcset,
            "data:image/png;base64,AAAA 1x, http://o/b 2x",
            &["data:image/png;base64,AAAA", "http://o/b"],
        );
        check(Form::Srcset, "a (1,2) 3w, b", &["a", "b"]);
        check(Form::Srcset, "a,, b", &["a", "b"]);
        check(Form::Srcset, "a", &["a"]);
        check(Form::Srcset, " , ", &[]);
    }

    #[test]
    fn the_url_of_a_refresh() {
        check(Form::Refresh, "0;http://a/", &["http://a/"]);
        check(Form::Refresh, " 3.5 , URL = 'http://a/'b", &["http://a/"]);
        check(Form::Refresh, "3 url=\"http://a/", &["http://a/"]);
        check(Form::Refresh, "3;urn:x", &["urn:x"]);
        check(Form::Refresh, "3;url", &["url"]);
        check(Form::Refresh, "3;urlx=http://a", &["urlx=http://a"]);
        for none in ["", "5", "5;", "42, ", "42, url = ", ";url=http://a/", "x;url=http://a/", "3x;url=http://a/"] {
            check(Form::Refresh, none, &[]);
        }
    }
}
