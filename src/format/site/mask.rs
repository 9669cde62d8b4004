//! Hides the expressions of templates: each becomes letters of the same length, so that a reader of HTML sees none of their signs.

use std::ops::Range;

use super::Markup;

/// A text without expressions, and their places.
pub(super) struct Masked {
    pub(super) text: String,
    pub(super) hidden: Vec<Range<usize>>,
}

/// Signs between which a template engine has its own language.
const ENGINES: &[(&str, &str)] = &[("{{", "}}"), ("{%", "%}"), ("<%", "%>"), ("<?", "?>")];

/// Elements whose content is not markup.
const RAW: &[&str] = &["script", "style"];

/// Hides the expressions; none if one of them has no end.
pub(super) fn mask(text: &str, markup: Markup) -> Option<Masked> {
    let engines = match markup {
        Markup::Html => ENGINES,
        Markup::Vue => &ENGINES[..1],
        Markup::Svelte => &[],
    };
    let (mut hidden, mut at) = (Vec::new(), 0);
    while let Some(found) = memchr::memchr2(b'{', b'<', &text.as_bytes()[at..]) {
        at += found;
        let rest = &text[at..];
        if let Some(end) = raw_end(rest) {
            at += end;
            continue;
        }
        let engine = engines.iter().find(|(open, _)| rest.starts_with(open));
        let end = match engine {
            // Without its end it is text.
            Some((open, close)) => rest[open.len()..].find(close).map(|length| open.len() + length + close.len()),
            None if markup == Markup::Svelte && rest.starts_with('{') => Some(braces(rest)?),
            None => None,
        };
        match end {
            Some(end) => {
                hidden.push(at..at + end);
                at += end;
            }
            None => at += 1,
        }
    }
    let mut bytes = text.as_bytes().to_vec();
    hidden.iter().for_each(|range: &Range<usize>| bytes[range.clone()].fill(b'x'));
    // Whole characters are hidden, so that it is text still.
    String::from_utf8(bytes).ok().map(|text| Masked { text, hidden })
}

/// The length of a comment, or of an element whose content is no markup, at the beginning of a text.
fn raw_end(rest: &str) -> Option<usize> {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return Some(comment.find("-->").map_or(rest.len(), |end| 4 + end + 3));
    }
    let name = rest.strip_prefix('<')?;
    let is_start = |raw: &&&str| {
        let is_named = name.get(..raw.len()).is_some_and(|head| head.eq_ignore_ascii_case(raw));
        is_named && !name[raw.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
    };
    let raw = RAW.iter().find(is_start)?;
    let content = rest.find('>')? + 1;
    let lower = rest[content..].to_ascii_lowercase();
    Some(lower.find(&format!("</{raw}")).map_or(rest.len(), |end| content + end))
}

/// The length of an expression in braces at the beginning of a text; none if it has no end.
pub(super) fn braces(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // A template literal in the expression may hold expressions: its depth is kept until its brace closes.
    let (mut depth, mut templates, mut at) = (0_usize, Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if templates.last() == Some(&depth) {
                    templates.pop();
                    at = template_end(bytes, at + 1, &mut templates, &mut depth)?;
                    continue;
                }
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            quote @ (b'"' | b'\'') => at = string_end(bytes, at + 1, *quote)?,
            b'`' => {
                at = template_end(bytes, at + 1, &mut templates, &mut depth)?;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => at += 2 + text[at + 2..].find("*/")? + 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => at += text[at..].find('\n')?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place of the quote that ends a string.
fn string_end(bytes: &[u8], from: usize, quote: u8) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' => return None,
            byte if *byte == quote => return Some(at),
            _ => at += 1,
        }
    }
}

/// The place after a template literal, or after the `${` of an expression in it, which is then open.
fn template_end(bytes: &[u8], from: usize, templates: &mut Vec<usize>, depth: &mut usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'`' => return Some(at + 1),
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                templates.push(*depth);
                *depth += 1;
                return Some(at + 2);
            }
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markup: Markup, text: &str, hidden: &[&str]) {
        let masked = mask(text, markup).unwrap();
        let found: Vec<&str> = masked.hidden.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!((found.as_slice(), masked.text.len()), (hidden, text.len()));
    }

    #[test]
    fn expressions_are_hidden_with_all_their_signs() {
        check(
            Markup::Svelte,
            "<a on:click={() => { f('}', `}${g({})}`) }}>{x > 1 ? \"<\" : 2}</a>",
            &["{() => { f('}', `}${g({})}`) }}", "{x > 1 ? \"<\" : 2}"],
        );
        check(Markup::Svelte, "<style>a { b: c }</style>{/* } */ a}", &["{/* } */ a}"]);
        check(Markup::Vue, "<p>{{ a < b }} and {b}</p>", &["{{ a < b }}"]);
        check(Markup::Html, "<p <?= $x > 1 ?>>{% if a %}<% b %>{{ c", &["<?= $x > 1 ?>", "{% if a %}", "<% b %>"]);
        check(Markup::Html, "<!-- {{ a }} --><script>let a = {b: {{}}}</script>", &[]);
    }

    #[test]
    fn an_expression_without_end_is_refused() {
        assert!(mask("<p>{a</p>", Markup::Svelte).is_none());
        assert!(mask("<p>{'a}</p>", Markup::Svelte).is_none());
    }
}
