//! The text between the brackets of a container, divided among its children.

use std::ops::Range;

use super::syntax::Syntax;

/// The text that belongs to one child.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// White space and comments before the child.
    pub(super) lead: Range<usize>,
    /// The child: its value, or its name and value.
    pub(super) core: Range<usize>,
    /// Between the child and its comma.
    pub(super) gap: Range<usize>,
    /// The comma, empty if there is none.
    pub(super) comma: Range<usize>,
    /// Comments behind the child on its last line.
    pub(super) trail: Range<usize>,
}

/// A container between its brackets.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) open: Range<usize>,
    pub(super) children: Vec<Segment>,
    /// White space and comments before the closing bracket.
    pub(super) rest: Range<usize>,
    pub(super) close: Range<usize>,
}

/// Divides a container with the given children.
pub(super) fn divide(syntax: Syntax, text: &str, span: &Range<usize>, cores: &[Range<usize>]) -> Segments {
    let mut at = span.start + 1;
    let mut children = Vec::with_capacity(cores.len());
    for core in cores {
        let lead = at..core.start;
        let comma = skip(syntax, text, core.end);
        let segment = if text.as_bytes().get(comma) == Some(&b',') {
            // Behind a comma on another line stand the comments of the next child.
            let is_line = !text[core.end..comma].contains('\n');
            let trail = if is_line { trail_end(syntax, text, comma + 1) } else { comma + 1 };
            Segment { lead, core: core.clone(), gap: core.end..comma, comma: comma..comma + 1, trail: comma + 1..trail }
        } else {
            let trail = trail_end(syntax, text, core.end);
            // Before a bracket on the line a comma can follow the comments.
            let is_flat = text[trail..].trim_start_matches([' ', '\t']).starts_with(['}', ']']);
            let comma = if is_flat { trail } else { core.end };
            Segment { lead, core: core.clone(), gap: core.end..comma, comma: comma..comma, trail: comma..trail }
        };
        at = segment.trail.end;
        children.push(segment);
    }
    Segments { open: span.start..span.start + 1, children, rest: at..span.end - 1, close: span.end - 1..span.end }
}

/// The end of white space and comments from a byte on, in a text that is well-formed.
pub(super) fn skip(syntax: Syntax, text: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(next) = text[at..].chars().next() {
        if is_comment(syntax, next) {
            at = comment_end(text, at);
        } else if next.is_whitespace() || next == '\u{feff}' {
            at += next.len_utf8();
        } else {
            break;
        }
    }
    at
}

/// The end of the comments from a byte to the end of its line, or to a closing bracket; the byte itself if something else stands there.
fn trail_end(syntax: Syntax, text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut end) = (from, from);
    loop {
        match bytes.get(at).copied() {
            Some(b' ' | b'\t') => at += 1,
            Some(b'\n' | b'\r') | None => return end,
            Some(byte) if is_comment(syntax, char::from(byte)) => {
                let next = comment_end(text, at);
                if memchr::memchr(b'\n', &bytes[at..next]).is_some() {
                    return from;
                }
                (at, end) = (next, next);
            }
            Some(b'}' | b']') => return end,
            Some(_) => return from,
        }
    }
}

fn is_comment(syntax: Syntax, next: char) -> bool {
    match syntax {
        Syntax::Json | Syntax::Jsonc | Syntax::Json5 => next == '/',
        Syntax::Yaml | Syntax::Toml => next == '#',
    }
}

fn comment_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    if bytes[at..].starts_with(b"/*") {
        return memchr::memmem::find(&bytes[at + 2..], b"*/").map_or(text.len(), |end| at + 2 + end + 2);
    }
    memchr::memchr2(b'\n', b'\r', &bytes[at..]).map_or(text.len(), |end| at + end)
}
