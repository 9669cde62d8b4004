//! Finds URLs in the text of Markdown that are links by themselves, as on GitHub.

/// The places of URLs, in the source text.
pub(crate) fn urls(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    for colon in memchr::memmem::find_iter(bytes, b"://") {
        let Some(scheme) = bytes.get(from..colon).and_then(super::text::scheme) else { continue };
        let (start, rest) = (colon - scheme, &text[colon + 3..]);
        if bytes[..start].last().is_some_and(u8::is_ascii_alphabetic) || !is_domain(rest) {
            continue;
        }
        let length = rest.find(ends).unwrap_or(rest.len());
        let end = colon + 3 + trimmed(&rest[..length]);
        found.push((start, end));
        from = end;
    }
    found
}

/// True for a character that ends every URL.
fn ends(c: char) -> bool {
    c.is_whitespace() || c == '<'
}

/// A host begins with a letter or digit, and has no underscore in its last two labels but one that ends the URL.
fn is_domain(text: &str) -> bool {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).unwrap_or(text.len());
    let host = text[..end].trim_end_matches('_');
    let after = text[host.len()..].trim_start_matches(|c: char| c == ')' || u8::try_from(c).is_ok_and(is_final));
    let is_last = after.is_empty() || after.starts_with(ends);
    let underscored = host.rsplit('.').take(2).any(|label| label.contains('_'));
    host.starts_with(char::is_alphanumeric) && !underscored && (host.len() == end || is_last)
}

/// True for a character that ends a sentence, or emphasis.
fn is_final(byte: u8) -> bool {
    // A backslash at the end belongs to an escape, or to nothing.
    b"\\?!.,:*_~'\"".contains(&byte)
}

/// The length without the characters that end a sentence, close a bracket, or resemble a reference.
fn trimmed(text: &str) -> usize {
    let bytes = text.as_bytes();
    let count = |wanted: u8| memchr::memchr_iter(wanted, bytes).count();
    let mut surplus = count(b')').saturating_sub(count(b'('));
    let mut end = bytes.len();
    while let Some(last) = bytes[..end].last() {
        end -= match last {
            byte if is_final(*byte) => 1,
            b')' if surplus > 0 => {
                surplus -= 1;
                1
            }
            b';' => {
                let name = bytes[..end - 1].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                let is_reference = name > 0 && bytes[..end - 1 - name].last() == Some(&b'&');
                if is_reference { name + 2 } else { 1 }
            }
            _ => break,
        };
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_by_themselves() {
        for (text, expected) in [
            ("http://a.b/c_d, (https://e.f). \"http://g\"", &["http://a.b/c_d", "https://e.f", "http://g"][..]),
            ("1http://a éHTTP://b xhttp://c www.d.e http:// ftp://f http:///g", &["http://a", "HTTP://b"]),
            (
                "http://a/(b)) http://c/&lt; http://d/?e; http://f/&",
                &["http://a/(b)", "http://c/", "http://d/?e", "http://f/&"],
            ),
            ("[http://a] http://b\\ http://c\\", &["http://a]", "http://b", "http://c"]),
            ("http://a_b.c.d http://a.b_c.d http://a.b.c_d http://e<f", &["http://a_b.c.d", "http://e"]),
            ("http://a/http://b", &["http://a/http://b"]),
        ] {
            let found: Vec<&str> = urls(text).into_iter().map(|(start, end)| &text[start..end]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
