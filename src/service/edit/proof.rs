//! The proof that an edit changed one span on one line. It compares bytes, and uses no reader of any format.

use serde::{Deserialize, Serialize};

use base::error::{Code, Error};

/// The span of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The line, from 1.
    pub line: u64,
    /// The byte at which it begins.
    pub start: usize,
    /// The replaced text.
    pub old: String,
    /// The text in its place.
    pub new: String,
}

/// `verification_failed` unless the second text is the first with exactly that span replaced, on that line.
pub fn prove(before: &[u8], after: &[u8], span: &Span) -> Result<(), Error> {
    let (old, new) = (span.old.as_bytes(), span.new.as_bytes());
    let parts = |text: &'_ [u8], length: usize| -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let end = span.start.checked_add(length)?;
        let (head, rest) = (text.get(..span.start)?, text.get(end..)?);
        Some((head.to_vec(), text.get(span.start..end)?.to_vec(), rest.to_vec()))
    };
    let failed = |why: &str| {
        Error::new(Code::VerificationFailed, format!("the edit is not the one that was named: {why}"))
            .detail("line", span.line)
    };
    let (Some(first), Some(second)) = (parts(before, old.len()), parts(after, new.len())) else {
        return Err(failed("its span is not in the text"));
    };
    if first.1 != old || second.1 != new {
        return Err(failed("another text stands in its span"));
    }
    if first.0 != second.0 || first.2 != second.2 {
        return Err(failed("bytes outside of its span differ"));
    }
    if [old, new].concat().iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return Err(failed("it goes over a line"));
    }
    let line = first.0.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    if line != span.line {
        return Err(failed(&format!("it is on line {line}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(line: u64, start: usize, old: &str, new: &str) -> Span {
        Span { line, start, old: old.to_owned(), new: new.to_owned() }
    }

    #[test]
    fn exactly_the_span_may_differ() {
        let before = b"one\ntwo three\nfour\n";
        assert!(prove(before, b"one\ntwo 3\nfour\n", &span(2, 8, "three", "3")).is_ok());
        assert!(prove(before, b"one\ntwo a three\nfour\n", &span(2, 8, "", "a ")).is_ok());
        for (after, span) in [
            (&b"one\ntwo 3\nfour"[..], span(2, 8, "three", "3")),
            (b"One\ntwo 3\nfour\n", span(2, 8, "three", "3")),
            (b"one\ntwo 3\nfour\n", span(1, 8, "three", "3")),
            (b"one\ntwo 3\nfour\n", span(2, 8, "thre", "3")),
            (b"one\ntwo 3\nfour\n", span(2, 4, "two three", "two 4")),
            (b"one\ntwo \nfour\n", span(2, 8, "three\nfour\n", "\nfour\n")),
            (b"one\ntwo 3\nfour\n", span(2, usize::MAX, "three", "3")),
        ] {
            let error = prove(before, after, &span).unwrap_err();
            assert_eq!(error.code(), Code::VerificationFailed, "{span:?}");
        }
    }
}
