//! Finds the URLs in running text: in plain text, and the links that GitHub's Markdown makes of them.

use std::ops::Range;

use super::{escape::Escape, scan::Scan, table::Form, value::Value};
use base::{error::Error, pulse::Pulse};

/// URLs between two calls of the pulse.
const STRIDE: usize = 10_000;

/// Finds every URL of a plain text.
pub fn scan(text: &str, pulse: Pulse<'_>) -> Result<Scan, Error> {
    let mut scan = Scan::default();
    for (n, range) in plain(text).enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        scan.values.push(Value::new(range, Escape::Plain, Form::Url));
    }
    Ok(scan)
}

/// The URLs of a plain text. One begins where no word precedes it, and ends before the punctuation of a sentence.
fn plain(text: &str) -> impl Iterator<Item = Range<usize>> {
    urls(text, |text, start, after| {
        let stops = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`');
        if text[..start].ends_with(char::is_alphanumeric) {
            return None;
        }
        let end = after + text[after..].find(stops).unwrap_or(text.len() - after);
        let mut url = Tail::new(&text[start..end], &['(', '[', '{'], &[')', ']', '}']);
        while url.drops_bracket() || url.drops(".,;:!?'") {}
        Some(start + url.text.len()).filter(|end| *end > after)
    })
}

/// The extended autolinks of a Markdown text. A backslash at the end belongs to the text after it.
pub fn autolinks(text: &str) -> impl Iterator<Item = Range<usize>> {
    urls(text, |text, start, after| {
        if text[..start].ends_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        // A no-break space ends a URL too: in French it stands before `!`.
        let stops = |c: char| c.is_whitespace() || c == '<';
        let end = after + text[after..].find(stops).unwrap_or(text.len() - after);
        let mut url = Tail::new(&text[start..end], &['('], &[')']);
        while url.drops_bracket() || url.drops("?!.,:*_~'\"\\") || url.drops_reference() {}
        let end = start + url.text.len();
        text.get(after..end).filter(|rest| has_domain(rest)).map(|_| end)
    })
}

/// URLs of `http` and `https` in sequence. `end` gives the end of one, from the start and end of its `http://`.
fn urls<'a>(
    text: &'a str,
    end: impl Fn(&'a str, usize, usize) -> Option<usize> + 'a,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut last = 0;
    memchr::memmem::find_iter(text.as_bytes(), b"://").filter_map(move |colon| {
        let scheme = |name: &str| {
            let start = colon.checked_sub(name.len()).filter(|start| *start >= last)?;
            text.as_bytes()[start..colon].eq_ignore_ascii_case(name.as_bytes()).then_some(start)
        };
        let start = scheme("https").or_else(|| scheme("http"))?;
        let range = start..end(text, start, colon + 3)?;
        last = range.end;
        Some(range)
    })
}

/// True if the text begins with a domain, whose last two parts have no underscore.
fn has_domain(text: &str) -> bool {
    let in_domain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let domain = &text[..text.find(|c| !in_domain(c)).unwrap_or(text.len())];
    let has_underscore = domain.rsplit('.').take(2).any(|part| part.contains('_'));
    domain.starts_with(|c| !matches!(c, '-' | '_' | '.')) && !has_underscore
}

/// A URL whose last characters may not belong to it.
struct Tail<'a> {
    text: &'a str,
    closing: &'static [char],
    /// For each kind of bracket the surplus of closing ones.
    surplus: Vec<isize>,
}

impl<'a> Tail<'a> {
    fn new(text: &'a str, opening: &'static [char], closing: &'static [char]) -> Self {
        let count = |bracket: &char| text.matches(*bracket).count().cast_signed();
        let surplus = opening.iter().zip(closing).map(|(open, close)| count(close) - count(open)).collect();
        Tail { text, closing, surplus }
    }

    fn drops_bracket(&mut self) -> bool {
        let Some(kind) = self.closing.iter().position(|bracket| self.text.ends_with(*bracket)) else { return false };
        let is_unbalanced = self.surplus[kind] > 0;
        if is_unbalanced {
            self.surplus[kind] -= 1;
            self.text = &self.text[..self.text.len() - 1];
        }
        is_unbalanced
    }

    fn drops(&mut self, characters: &str) -> bool {
        let kept = self.text.trim_end_matches(|c| characters.contains(c));
        let drops = kept.len() < self.text.len();
        self.text = kept;
        drops
    }

    /// A semicolon, with the character reference that it may end.
    fn drops_reference(&mut self) -> bool {
        let Some(rest) = self.text.strip_suffix(';') else { return false };
        let name = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let is_reference = name.len() < rest.len() && name.ends_with('&');
        self.text = if is_reference { &name[..name.len() - 1] } else { rest };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: impl Iterator<Item = Range<usize>>, text: &str, expected: &[&str]) {
        assert_eq!(found.map(|range| &text[range]).collect::<Vec<_>>(), expected, "{text:?}");
    }

    #[test]
    fn urls_of_plain_text() {
        for (text, expected) in [
            ("see http://a/b. And (https://c/d), \"HTTP://e\"!", &["http://a/b", "https://c/d", "HTTP://e"][..]),
            ("<http://a/b>`http://c`\u{3000}http://d\u{a0}x", &["http://a/b", "http://c", "http://d"]),
            ("xhttp://a 1http://b éhttp://c _http://d", &["http://d"]),
            ("http://a/(b)) http://a/[x]] http://a/b)c", &["http://a/(b)", "http://a/[x]", "http://a/b)c"]),
            ("http://a/?!;:' http:// https://. http://)", &["http://a/"]),
            ("http://a/http://b|http://c", &["http://a/http://b|http://c"]),
            ("xhttp://a/,http://b", &["http://b"]),
            ("ftp://a //b http:/c http\u{17f}://d", &[]),
        ] {
            check(plain(text), text, expected);
        }
    }

    #[test]
    fn autolinks_of_github() {
        for (text, expected) in [
            ("http://a.b/c. (http://a.b/d) http://a.b/e)", &["http://a.b/c", "http://a.b/d", "http://a.b/e"][..]),
            ("**http://a.b/c** ~http://a.b~ _http://a.b_", &["http://a.b/c", "http://a.b", "http://a.b"]),
            ("http://a.b/?x&copy; http://a.b/;", &["http://a.b/?x", "http://a.b/"]),
            ("http://a_b.c http://a.b_c http://a_b.c.d", &["http://a_b.c.d"]),
            ("http://a.b\u{a0}! http://a.b/\u{3000}http://c", &["http://a.b", "http://a.b/", "http://c"]),
            ("\"http://a.b\" 1http://a.b xhttp://a.b", &["http://a.b", "http://a.b"]),
            ("http://[::1]/ http:///a http://.a http://", &[]),
            ("http://a.b/`c`<d http://a.b/)", &["http://a.b/`c`", "http://a.b/"]),
        ] {
            check(autolinks(text), text, expected);
        }
    }
}
