//! The ends of programs and tags in MDX, found by their strings, comments, expressions and brackets. Nothing is evaluated.

use std::ops::Range;

/// The limit of brackets, templates and elements inside each other.
const DEEPEST: usize = 200;
/// Words after which an expression begins.
const BEFORE: &[&str] = &[
    "await",
    "case",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// A tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag {
    /// All of it.
    pub(super) range: Range<usize>,
    pub(super) name: Range<usize>,
    /// The names of its attributes with their values.
    pub(super) attributes: Vec<(Range<usize>, Value)>,
    pub(super) is_end: bool,
    is_alone: bool,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Its place without quotes.
    Literal(Range<usize>),
    Program,
    None,
}

/// A text with programs.
#[derive(Clone, Copy)]
pub(super) struct Script<'a> {
    pub(super) bytes: &'a [u8],
    /// The number of marks of quotes before each line.
    pub(super) quotes: usize,
    /// The number of brackets, templates and elements around.
    pub(super) depth: usize,
}

impl Script<'_> {
    fn deeper(&self) -> Option<Self> {
        (self.depth < DEEPEST).then_some(Script { depth: self.depth + 1, ..*self })
    }

    fn at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    fn find(&self, from: usize, wanted: &[u8]) -> Option<usize> {
        memchr::memmem::find(self.bytes.get(from..)?, wanted).map(|length| from + length + wanted.len())
    }

    /// The end of the module that begins there: the line before a blank one, or the end of the text.
    pub(super) fn module(&self, start: usize) -> Option<usize> {
        self.program(start, false)
    }

    /// The end of the expression whose brace stands there.
    pub(super) fn braces(&self, open: usize) -> Option<usize> {
        self.deeper()?.program(open + 1, true)
    }

    /// The end of a program: behind a closing bracket of its own, or else before a blank line.
    fn program(&self, start: usize, ends_in_bracket: bool) -> Option<usize> {
        let (mut at, mut open, mut is_operand) = (start, 0_usize, false);
        // The last sign but white space and comments.
        let mut last = b';';
        while at < self.bytes.len() {
            let (byte, next) = (self.at(at), self.at(at + 1));
            let begins = at;
            match byte {
                b'\n'
                    if !ends_in_bracket
                        && open == 0
                        && self.is_blank(at + 1)
                        && !b"=,+-*&|?:.<(!~^%".contains(&last) =>
                {
                    return Some(at);
                }
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                b'/' if next == b'/' => at += self.bytes[at..].iter().take_while(|byte| **byte != b'\n').count(),
                b'/' if next == b'*' => at = self.find(at + 2, b"*/")?,
                b'/' if !is_operand => at = self.pattern(at)?,
                b'"' | b'\'' => at = self.string(at)?,
                b'`' => at = self.template(at)?,
                b'<' if !is_operand && (next == b'>' || is_start(next)) => at = self.deeper()?.element(at)?,
                b'(' | b'[' | b'{' => {
                    open += 1;
                    at += 1;
                }
                b')' | b']' | b'}' if open > 0 => {
                    open -= 1;
                    at += 1;
                }
                b'}' if ends_in_bracket => return Some(at + 1),
                b')' | b']' | b'}' => return None,
                _ if is_part(byte) => at += self.bytes[at..].iter().take_while(|byte| is_part(**byte)).count(),
                _ => at += 1,
            }
            let is_comment = byte == b'/' && matches!(next, b'/' | b'*');
            if open > DEEPEST {
                return None;
            }
            if !byte.is_ascii_whitespace() && !is_comment {
                last = self.bytes[at - 1];
                is_operand = match byte {
                    _ if is_part(byte) => !is_keyword(&self.bytes[begins..at]),
                    b')' | b']' | b'"' | b'\'' | b'`' => true,
                    b'/' | b'<' => at > begins + 1,
                    _ => false,
                };
            }
        }
        (!ends_in_bracket && open == 0).then_some(self.bytes.len())
    }

    /// True if nothing stands on the line, or the text ends.
    fn is_blank(&self, line: usize) -> bool {
        self.bytes[line.min(self.bytes.len())..]
            .iter()
            .find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
            .is_none_or(|byte| *byte == b'\n')
    }

    fn string(&self, open: usize) -> Option<usize> {
        let mut at = open + 1;
        loop {
            match *self.bytes.get(at)? {
                b'\\' => at += 2,
                b'\n' => return None,
                byte if byte == self.bytes[open] => return Some(at + 1),
                _ => at += 1,
            }
        }
    }

    fn template(&self, open: usize) -> Option<usize> {
        let mut at = open + 1;
        loop {
            match *self.bytes.get(at)? {
                b'\\' => at += 2,
                b'`' => return Some(at + 1),
                b'$' if self.at(at + 1) == b'{' => at = self.braces(at + 1)?,
                _ => at += 1,
            }
        }
    }

    /// The end of a regular expression.
    fn pattern(&self, open: usize) -> Option<usize> {
        let (mut at, mut in_class) = (open + 1, false);
        loop {
            match *self.bytes.get(at)? {
                b'\\' => at += 2,
                b'\n' => return None,
                b'/' if !in_class => return Some(at + 1),
                byte => {
                    in_class = byte == b'[' || (in_class && byte != b']');
                    at += 1;
                }
            }
        }
    }

    /// The end of an element in a program.
    fn element(&self, open: usize) -> Option<usize> {
        let mut at = self.tag(open)?;
        let mut names = usize::from(!at.is_alone);
        let mut end = at.range.end;
        while names > 0 {
            match *self.bytes.get(end)? {
                b'{' => end = self.braces(end)?,
                b'<' => {
                    at = self.tag(end)?;
                    names = if at.is_end { names - 1 } else { names + usize::from(!at.is_alone) };
                    end = at.range.end;
                }
                _ => end += 1,
            }
        }
        Some(end)
    }

    /// The tag that begins there.
    pub(super) fn tag(&self, open: usize) -> Option<Tag> {
        let mut at = self.gap(open + 1)?;
        let is_end = self.at(at) == b'/';
        at = if is_end { self.gap(at + 1)? } else { at };
        let name = if is_start(self.at(at)) { self.name(at) } else { at..at };
        let mut tag = Tag { name: name.clone(), is_end, ..Tag::default() };
        at = self.gap(name.end)?;
        loop {
            let byte = *self.bytes.get(at)?;
            match byte {
                b'>' => {
                    tag.range = open..at + 1;
                    return Some(tag);
                }
                b'/' if !is_end && self.at(self.gap(at + 1)?) == b'>' => {
                    tag.is_alone = true;
                    at = self.gap(at + 1)?;
                }
                b'{' if !name.is_empty() && !is_end => at = self.gap(self.braces(at)?)?,
                _ if is_start(byte) && !name.is_empty() && !is_end => at = self.attribute(at, &mut tag)?,
                _ => return None,
            }
        }
    }

    fn attribute(&self, at: usize, tag: &mut Tag) -> Option<usize> {
        let name = self.name(at);
        let equals = self.gap(name.end)?;
        if self.at(equals) != b'=' {
            tag.attributes.push((name, Value::None));
            return Some(equals);
        }
        let start = self.gap(equals + 1)?;
        let (value, end) = match self.at(start) {
            quote @ (b'"' | b'\'') => {
                let end = self.find(start + 1, &[quote])?;
                (Value::Literal(start + 1..end - 1), end)
            }
            b'{' => (Value::Program, self.braces(start)?),
            _ => return None,
        };
        tag.attributes.push((name, value));
        self.gap(end)
    }

    /// The name that begins there, with the signs between its parts.
    fn name(&self, at: usize) -> Range<usize> {
        let is_name = |byte: &&u8| is_part(**byte) || matches!(byte, b'-' | b'.' | b':');
        at..at + self.bytes[at.min(self.bytes.len())..].iter().take_while(is_name).count()
    }

    /// The end of white space and comments in a tag, with the marks of quotes before each line.
    fn gap(&self, mut at: usize) -> Option<usize> {
        let mut marks = 0;
        loop {
            match self.at(at) {
                b'\n' => marks = self.quotes,
                b' ' | b'\t' | b'\r' => {}
                b'>' if marks > 0 => marks -= 1,
                b'/' if self.at(at + 1) == b'*' => {
                    at = self.find(at + 2, b"*/")?;
                    continue;
                }
                b'/' if self.at(at + 1) == b'/' => {
                    at = self.find(at + 2, b"\n")? - 1;
                    continue;
                }
                _ => return Some(at),
            }
            at += 1;
        }
    }
}

/// True for the first byte of a name.
pub(super) fn is_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn is_part(byte: u8) -> bool {
    is_start(byte) || byte.is_ascii_digit()
}

fn is_keyword(word: &[u8]) -> bool {
    BEFORE.iter().any(|before| before.as_bytes() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of the program, of which `«` marks the end.
    #[track_caller]
    fn check(source: &str, end: fn(&Script<'_>) -> Option<usize>) {
        let (before, after) = source.split_once('«').map_or((source, None), |(before, after)| (before, Some(after)));
        let text = format!("{before}{}", after.unwrap_or_default());
        let expected = after.map(|_| before.len());
        assert_eq!(end(&Script { bytes: text.as_bytes(), quotes: 0, depth: 0 }), expected, "{source}");
    }

    #[test]
    fn expressions_end_at_their_brace() {
        for source in [
            "{a}« }",
            "{'}'}«",
            "{\"\\\"}\"}«",
            "{`}${`${'}'}`}`}« }",
            "{/* } */}«",
            "{// }\n}«",
            "{/[}/]}/.test(a)}«",
            "{a / b / c}« /",
            "{{a: {b: 1}}}«",
            "{<p>Don't {a} stop</p>}«",
            "{a && <A b='}' c={`}`}>it's <b/></A>}«}",
            "{a.map((b) => <li key={b}>{b}'s</li>)}«'",
            "{a < b}« >",
            "{return_ / 2}«",
            "{<></>}«",
            "{a",
            "{'}",
            "{<p>}",
        ] {
            check(source, |script| script.braces(0));
        }
    }

    #[test]
    fn modules_end_at_a_blank_line() {
        for source in [
            "import a from 'b'«\n\nc",
            "import a from 'b'\nimport c from 'd'«\n \ne",
            "export const a = `\n\n`«\n\nb",
            "export const a = {\n\n}«\n",
            "export const a =\n\n 1«\n\n",
            "export const a = () => <p>It's\n\n</p>«\n\nb",
            "export const a = <A>\n\n</A>«",
            "export const a = 1 /* \n\n */«\n\nb",
            "export const a = {\n\n",
        ] {
            check(source, |script| script.module(0));
        }
    }

    #[test]
    fn tags_end_at_their_sign() {
        for source in [
            "<a>«>",
            "<a b=\">\" c='>' d={e > f} {...{g: '>'}}>« >",
            "<a\n  b\n/>«",
            "<A.b-c:d />«",
            "<>«",
            "</>«",
            "</ a >«",
            "<a /* > */ b>«",
            "<a // >\n>«",
            "<a b=c>",
            "<a b",
            "<3>",
            "<!-- -->",
        ] {
            check(source, |script| script.tag(0).map(|tag| tag.range.end));
        }
        let tag = Script { bytes: b"<a b='c' d={e} f>", quotes: 0, depth: 0 }.tag(0).unwrap();
        let values: Vec<Value> = tag.attributes.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [Value::Literal(6..7), Value::Program, Value::None]);
        let quoted = Script { bytes: b"<a\n> b='c'\n> >", quotes: 1, depth: 0 };
        assert_eq!(quoted.tag(0).map(|tag| tag.range.end), Some(14));
    }
}
