//! The values of a Secret of Kubernetes, in base64 below `data`, or plain below `stringData`.

use std::ops::Range;

use super::text::{entropy, is_filler};

/// The bytes of a manifest that are examined, before its kind and after it.
const REACH: usize = 16 << 10;

/// The values of the manifest whose `kind:` is at `word`, and the end of the examined part.
pub(super) fn values(text: &[u8], word: &Range<usize>) -> (Vec<Range<usize>>, usize) {
    let kind = line(text, word.end);
    if !unquoted(&text[kind.clone()]).eq_ignore_ascii_case(b"secret") {
        return (Vec::new(), word.end);
    }
    let before = &text[word.start.saturating_sub(REACH)..word.start];
    let start = memchr::memmem::rfind(before, b"\n---")
        .map_or(word.start - before.len(), |at| word.start - before.len() + at + 1);
    let after = &text[word.end..(word.end + REACH).min(text.len())];
    let end = word.end + memchr::memmem::find(after, b"\n---").unwrap_or(after.len());
    (data(text, start..end), end)
}

fn data(text: &[u8], document: Range<usize>) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    let mut below: Option<usize> = None;
    let mut at = document.start;
    while at < document.end {
        let line = line(text, at);
        at = line.end + 1;
        let content = text[line.clone()].trim_ascii();
        let indent = text[line.clone()].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if content.is_empty() || content.starts_with(b"#") {
            continue;
        }
        match below {
            Some(outer) if indent > outer => values.extend(value(text, &line)),
            _ => below = matches!(content, b"data:" | b"stringData:" | b"data: |" | b"stringData: |").then_some(indent),
        }
    }
    values
}

/// The value behind the colon of a line, or on a line of its own below one, if it may be a secret.
fn value(text: &[u8], line: &Range<usize>) -> Option<Range<usize>> {
    let content = &text[line.clone()];
    let from = content.iter().position(|byte| *byte == b':').map_or(0, |colon| colon + 1);
    let value = unquoted(&content[from..]);
    let start = line.start + from + content[from..].windows(value.len().max(1)).position(|part| part == value)?;
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    // Certificates and public keys are for everybody.
    let public = [&b"LS0tLS1CRUdJTiBDRVJUSUZJQ0FU"[..], b"LS0tLS1CRUdJTiBQVUJMSUMg"];
    let secret = value.len() >= 10
        && !public.iter().any(|start| value.starts_with(start))
        && value.iter().all(base64)
        && !is_filler(value)
        && entropy(value) >= 2.0;
    secret.then_some(start..start + value.len())
}

/// From a place to the end of its line.
fn line(text: &[u8], from: usize) -> Range<usize> {
    from..memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |at| from + at)
}

fn unquoted(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    let quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\''));
    if value.len() > 1 && quote(value.first()) && value.first() == value.last() {
        &value[1..value.len() - 1]
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_found_wherever_the_kind_stands() {
        let found = |text: &str| -> Vec<String> {
            let at = text.find("kind:").unwrap();
            let (values, _) = values(text.as_bytes(), &(at..at + 5));
            values.into_iter().map(|value| text[value].to_owned()).collect()
        };
        assert_eq!(
            found("kind: Secret\ndata:\n  a: 'UyFCXCpkJHpEc2I9'\n  # no\n  b: YWRtaW5hZG1pbg==\n"),
            ["UyFCXCpkJHpEc2I9", "YWRtaW5hZG1pbg=="]
        );
        assert_eq!(found("data:\n  a: UyFCXCpkJHpEc2I9\nkind: \"secret\"\n"), ["UyFCXCpkJHpEc2I9"]);
        assert_eq!(found("data:\n  a: UyFCXCpkJHpEc2I9\n---\nkind: Secret\n"), [""; 0]);
        assert_eq!(found("kind: Secret\ndata:\n  a: {{ .Values.a }}\n"), [""; 0]);
        assert_eq!(found("kind: Secret\ndata:\n  tls.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=\n"), [""; 0]);
        assert_eq!(found("kind: SecretStore\ndata:\n  a: UyFCXCpkJHpEc2I9\n"), [""; 0]);
    }
}
