//! Finds the strings of a JSON text that may be URLs: values, never keys.
//!
//! A library checks that the text is JSON. Quotes alone delimit the strings of such a text.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::{escape::Escape, scan::Scan, table::Form, value::Value};
use base::{error::Error, pulse::Pulse};

/// Strings between two calls of the pulse.
const STRIDE: usize = 10_000;

/// Finds every string value. Each is a URL from end to end or not at all.
pub fn scan(text: &str, pulse: Pulse<'_>) -> Result<Scan, Error> {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Ok(Scan::skipped("it is no valid JSON"));
    }
    let mut scan = Scan::default();
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut n_strings = 0_usize;
    while let Some(string) = next_string(bytes, at) {
        if n_strings.is_multiple_of(STRIDE) {
            pulse()?;
        }
        n_strings += 1;
        at = string.end + 1;
        let is_key = bytes[at..].trim_ascii_start().first() == Some(&b':');
        // A URL has slashes, which may be escaped.
        if !is_key && memchr::memchr2(b'/', b'\\', &bytes[string.clone()]).is_some() {
            scan.values.push(Value::new(string, Escape::Json, Form::Absolute));
        }
    }
    Ok(scan)
}

/// The inside of the next string.
fn next_string(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + memchr::memchr(b'"', &bytes[at..])? + 1;
    let mut end = start;
    loop {
        end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
        match bytes[end] {
            b'"' => return Some(start..end),
            _ => end += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let scan = scan(text, &|| Ok(())).unwrap();
        let found: Vec<&str> = scan.values.iter().map(|value| &text[value.range.clone()]).collect();
        assert_eq!((found.as_slice(), scan.skipped), (expected, None), "{text}");
    }

    #[test]
    fn values_are_found_and_keys_are_not() {
        check(
            r#"{"http://a/": "http://b/", "c" : ["http:\/\/d", 1, "e/"], "f": {"//g"
            : "\u0068"}}"#,
            &["http://b/", "http:\\/\\/d", "e/", "\\u0068"],
        );
        check(r#""//a""#, &["//a"]);
        check(r#"{"a": "\"", "b": "/\\"}"#, &["\\\"", "/\\\\"]);
        check(r#"{"a": "/1", "a": "/2"}"#, &["/1", "/2"]);
        check("[]", &[]);
    }

    #[test]
    fn what_is_not_json_is_left_alone() {
        for text in
            ["", "{'a': 1}", "[1,]", "// x\n[]", "\u{feff}[]", "[\"a\nb\"]", "{} {}", "[01]", "[\"\\x\"]", "\"a"]
        {
            assert_eq!(scan(text, &|| Ok(())).unwrap().skipped.as_deref(), Some("it is no valid JSON"), "{text:?}");
        }
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = format!("{}\"http://a/\"{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(scan(&deep, &|| Ok(())).unwrap().values.len(), 1);
        assert!(scan(&"{\"a\":".repeat(200_000), &|| Ok(())).unwrap().skipped.is_some());
    }
}
