//! Locates the destination of a Markdown link or definition.
//!
//! These are the scans of the specification, at places where the parser has found a link; they do not recognise links.

use std::ops::Range;

/// A reference definition: its destination, and its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The destination, without angle brackets.
    pub(crate) destination: Range<usize>,
    /// The end of the title, or else of the destination.
    pub(crate) end: usize,
}

/// The destination of a link whose text ends there, before `](`.
pub(crate) fn of_link(text: &str, text_end: usize) -> Option<Range<usize>> {
    let at = text_end + text.get(text_end..)?.find("](")? + "](".len();
    destination(text, skip_space(text, at)).map(|(destination, _)| destination)
}

/// The destination of a link whose text ends there, before `](`, and that ends with the text; none if it ends before.
pub(crate) fn of_whole_link(text: &str, text_end: usize) -> Option<Range<usize>> {
    let at = text_end + text.get(text_end..)?.strip_prefix("](").map(|_| "](".len())?;
    let (destination, end) = destination(text, skip_space(text, at))?;
    let end = skip_space(text, title(text, end).unwrap_or(end));
    (text.get(end..) == Some(")")).then_some(destination)
}

/// The definition that begins there, with its bracket.
pub(crate) fn of_definition(text: &str, start: usize) -> Option<Definition> {
    let label_end = closing(text, start + 1, ']')?;
    let at = text[label_end..].starts_with("]:").then_some(label_end + "]:".len())?;
    let (destination, end) = destination(text, skip_space(text, at))?;
    Some(Definition { destination, end: title(text, end).unwrap_or(end) })
}

/// The destination that begins there, and its end with its brackets.
fn destination(text: &str, start: usize) -> Option<(Range<usize>, usize)> {
    let rest = text.get(start..)?;
    if rest.starts_with('<') {
        let end = closing(text, start + 1, '>').filter(|end| !text[start..*end].contains(['\n', '\r']))?;
        return Some((start + 1..end, end + 1));
    }
    let (mut depth, mut escaped, mut length) = (0_usize, false, rest.len());
    for (at, c) in rest.char_indices() {
        match c {
            _ if c <= ' ' || c == '\x7f' => {
                length = at;
                break;
            }
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => {
                length = at;
                break;
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    Some((start..start + length, start + length))
}

/// The end of a title that begins after white space there.
fn title(text: &str, at: usize) -> Option<usize> {
    let start = skip_space(text, at);
    let quote = text[start..].chars().next().filter(|_| start > at)?;
    let close = match quote {
        '"' | '\'' => quote,
        '(' => ')',
        _ => return None,
    };
    closing(text, start + 1, close).map(|end| end + 1)
}

/// The next place of that character without a backslash before it.
fn closing(text: &str, from: usize, wanted: char) -> Option<usize> {
    let mut escaped = false;
    let is_wanted = |c: char| {
        let plain = !std::mem::take(&mut escaped);
        escaped = plain && c == '\\';
        plain && c == wanted
    };
    text.get(from..)?.find(is_wanted).map(|at| from + at)
}

/// White space with at most one line end, after which a quote may be marked again.
fn skip_space(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let line = rest.trim_start_matches([' ', '\t']);
    let next = line.strip_prefix("\r\n").or_else(|| line.strip_prefix(['\n', '\r']));
    let rest_after = next.map_or(line, |next| next.trim_start_matches([' ', '\t', '>']));
    at + (rest.len() - rest_after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn link(text: &str, expected: Option<&str>) {
        assert_eq!(of_link(text, 1).map(|range| &text[range]), expected, "{text:?}");
    }

    #[test]
    fn destinations_of_links() {
        link("[](a)", Some("a"));
        link("[]( <a b> \"t\")", Some("a b"));
        link("[](\n a\n't')", Some("a"));
        link("[](a(b(c))\\)d)", Some("a(b(c))\\)d"));
        link("[]()", Some(""));
        link("[](<a\\>b>)", Some("a\\>b"));
        link("[](<a\n>)", None);
        link("[]", None);
    }

    #[test]
    fn definitions_end_after_their_titles() {
        for (text, destination, end) in [
            ("[a]: b", "b", 6),
            ("[a\\]]: <b c>\n'[x]: y' \n", "b c", 21),
            ("[a]:\n> b (t)", "b", 12),
            ("[a]: b\n[c]: d", "b", 6),
            ("[a]: b \"t\\\"\"", "b", 12),
        ] {
            let found = of_definition(text, 0).unwrap();
            assert_eq!((&text[found.destination], found.end), (destination, end), "{text:?}");
        }
        assert_eq!(of_definition("[a] b", 0), None);
    }
}
