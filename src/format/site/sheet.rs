//! The declarations and imports of a style sheet in CSS, SCSS or Less, and of a `style` attribute.
//!
//! A scanner of its own: it knows comments, strings, brackets, blocks and interpolation, which the three have in common. It does
//! not check properties, since all three have their own.

use std::ops::Range;

use super::{Sheet, Site, Sites, Spelling};
use base::micro::Kind;

/// The at-rules that name another sheet.
const IMPORTS: &[&str] = &["@import", "@use", "@forward", "@plugin", "@reference"];

/// The words after a value that do not belong to it.
const FLAGS: &[&str] = &["!important", "!default", "!global"];

/// The declarations and imports of a sheet.
pub(super) fn read(text: &str, sheet: Sheet) -> Sites {
    let mut reader = Reader { text, sheet, sites: Sites::default(), rules: Vec::new() };
    reader.block();
    reader.sites
}

/// True if a text can stand as the value of a declaration: it ends every bracket and string, and begins nothing else.
pub fn is_value(text: &str, sheet: Sheet) -> bool {
    let mut at = 0;
    while at < text.len() {
        match step(text, at, sheet) {
            Step::Comment(_) | Step::Broken => return false,
            Step::Nested(end) => at = end,
            Step::Sign(b';' | b'{' | b'}' | b')' | b']') => return false,
            Step::Sign(_) => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    !text.trim().is_empty() && text.trim() == text && !FLAGS.contains(&text)
}

/// The next piece of a sheet.
enum Step {
    /// A comment up to there.
    Comment(usize),
    /// A string, or something in brackets, up to there.
    Nested(usize),
    /// A bracket or string without its end.
    Broken,
    /// Any other byte.
    Sign(u8),
}

fn step(text: &str, at: usize, sheet: Sheet) -> Step {
    let rest = &text[at..];
    let nested = |end: Option<usize>| end.map_or(Step::Broken, |length| Step::Nested(at + length));
    if let Some(comment) = rest.strip_prefix("/*") {
        return comment.find("*/").map_or(Step::Broken, |end| Step::Comment(at + end + 4));
    }
    if sheet != Sheet::Css && rest.starts_with("//") {
        return Step::Comment(at + rest.find('\n').unwrap_or(rest.len()));
    }
    match rest.as_bytes()[0] {
        b'"' | b'\'' => nested(string(rest)),
        b'(' | b'[' => nested(brackets(rest, sheet)),
        b'#' if sheet == Sheet::Scss && rest.starts_with("#{") => {
            nested(brackets(&rest[1..], sheet).map(|end| end + 1))
        }
        b'@' if sheet == Sheet::Less && rest.starts_with("@{") => {
            nested(brackets(&rest[1..], sheet).map(|end| end + 1))
        }
        b'\\' => Step::Nested(at + 1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
        b'u' | b'U' if is_url(text, at) => nested(url(rest)),
        byte => Step::Sign(byte),
    }
}

/// True at the beginning of `url(` without quotes.
fn is_url(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    let is_named = rest.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("url("));
    let is_word = text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_'));
    is_named && !is_word && !rest[4..].trim_start().starts_with(['"', '\''])
}

/// The length of `url(…)` without quotes.
fn url(rest: &str) -> Option<usize> {
    let end = rest.find(')')?;
    (!rest[..end].contains('\n')).then_some(end + 1)
}

/// The length of a string at the beginning of a text.
fn string(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' => return None,
            byte if *byte == bytes[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The length of something in brackets at the beginning of a text.
fn brackets(rest: &str, sheet: Sheet) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = 0;
    while at < rest.len() {
        let byte = rest.as_bytes()[at];
        match byte {
            b'(' | b'[' | b'{' => {
                open.push(byte);
                at += 1;
            }
            b')' | b']' | b'}' => {
                let opened = match byte {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                if open.pop() != Some(opened) {
                    return None;
                }
                at += 1;
                if open.is_empty() {
                    return Some(at);
                }
            }
            b'"' | b'\'' => at += string(&rest[at..])?,
            b'/' if rest[at..].starts_with("/*") => at += rest[at + 2..].find("*/")? + 4,
            b'/' if sheet != Sheet::Css && rest[at..].starts_with("//") => at += rest[at..].find('\n')?,
            b'u' | b'U' if is_url(rest, at) => at += url(&rest[at..])?,
            b'\\' => at += 1 + rest[at + 1..].chars().next().map_or(1, char::len_utf8),
            _ => at += 1,
        }
    }
    None
}

struct Reader<'a> {
    text: &'a str,
    sheet: Sheet,
    sites: Sites,
    /// The open blocks, each with the number of its rule.
    rules: Vec<Option<usize>>,
}

/// A statement in the making.
#[derive(Default)]
struct Statement {
    /// The place of its first sign that is no comment.
    start: Option<usize>,
    /// The end of its last sign.
    end: usize,
    /// The place of its first colon outside of brackets.
    colon: Option<usize>,
    /// True if there is a comment within it.
    has_comment: bool,
}

impl Reader<'_> {
    /// Reads statements to the end of the text. It keeps the open blocks on a stack, so that their depth costs no calls.
    fn block(&mut self) {
        let text = self.text;
        let (mut at, mut statement) = (0, Statement::default());
        while at < text.len() {
            match step(text, at, self.sheet) {
                Step::Comment(end) => {
                    statement.has_comment |= statement.start.is_some();
                    at = end;
                }
                Step::Broken => {
                    self.sites.errors += 1;
                    return;
                }
                Step::Nested(end) => {
                    statement.start.get_or_insert(at);
                    statement.end = end;
                    at = end;
                }
                Step::Sign(byte) => at = self.sign(at, byte, &mut statement),
            }
        }
        self.end_statement(std::mem::take(&mut statement));
        self.sites.errors += self.rules.len();
    }

    /// Takes a sign; the place after it.
    fn sign(&mut self, at: usize, byte: u8, statement: &mut Statement) -> usize {
        match byte {
            b';' => self.end_statement(std::mem::take(statement)),
            b'}' => {
                self.end_statement(std::mem::take(statement));
                if self.rules.pop().is_none() {
                    self.sites.errors += 1;
                }
            }
            b'{' if self.is_custom(statement) => {
                // The value of a custom property may be a block, which is no rule.
                let Some(length) = brackets(&self.text[at..], self.sheet) else {
                    self.sites.errors += 1;
                    return self.text.len();
                };
                statement.end = at + length;
                return at + length;
            }
            b'{' => self.open(&std::mem::take(statement)),
            _ if byte.is_ascii_whitespace() => {}
            _ => {
                statement.start.get_or_insert(at);
                statement.end = at + self.text[at..].chars().next().map_or(1, char::len_utf8);
                if byte == b':' {
                    statement.colon.get_or_insert(at);
                }
            }
        }
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }

    fn is_custom(&self, statement: &Statement) -> bool {
        let start = statement.start.unwrap_or(self.text.len());
        let is_named = self.text[start..].starts_with("--") && statement.colon.is_some();
        is_named
            && statement.colon.is_some_and(|colon| self.text[colon + 1..statement.end.max(colon + 1)].trim().is_empty())
    }

    /// Opens a block with its prelude.
    fn open(&mut self, statement: &Statement) {
        let prelude = statement.start.map_or("", |start| &self.text[start..statement.end]);
        let outer = self.rules.iter().rev().find_map(|rule| *rule);
        if prelude.starts_with('@') {
            // The rules in it are those of what is around it.
            self.rules.push(outer);
            return;
        }
        let above = outer.map(|at| self.sites.rules[at].clone()).unwrap_or_default();
        let own: Vec<String> = alternatives(prelude);
        let joined = match above.is_empty() {
            true => own,
            false => above.iter().flat_map(|above| own.iter().map(move |own| nested(above, own))).collect(),
        };
        self.sites.rules.push(joined);
        self.rules.push(Some(self.sites.rules.len() - 1));
    }

    /// Takes a statement that is no block.
    fn end_statement(&mut self, statement: Statement) {
        let Some(start) = statement.start else { return };
        let text = &self.text[start..statement.end];
        if let Some(word) = IMPORTS.iter().find(|word| is_word(text, word)) {
            return self.import(start + word.len()..statement.end);
        }
        let Some(colon) = statement.colon else { return };
        let name = self.text[start..colon].trim_end();
        let is_at = name.starts_with('@') && self.sheet != Sheet::Less;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_$@*\\".contains(c));
        if is_at || !is_name {
            return;
        }
        self.declaration(name, colon + 1..statement.end, statement.has_comment);
    }

    fn declaration(&mut self, name: &str, value: Range<usize>, has_comment: bool) {
        let mut range = trimmed(self.text, value);
        while let Some(flag) = FLAGS.iter().find(|flag| ends_with(&self.text[range.clone()], flag)) {
            range = trimmed(self.text, range.start..range.end - flag.len());
        }
        if range.is_empty() {
            return;
        }
        let spelling = if has_comment { Spelling::Computed } else { Spelling::Value(self.sheet) };
        self.push(Kind::Style, name.to_owned(), range, spelling);
    }

    /// The first string or `url()` of an import.
    fn import(&mut self, range: Range<usize>) {
        let text = &self.text[range.clone()];
        let mut at = 0;
        while at < text.len() {
            match step(text, at, self.sheet) {
                Step::Nested(end) if text[at..].starts_with(['"', '\'']) => {
                    let quote = text[at..].chars().next().unwrap_or('"');
                    let inner = range.start + at + 1..range.start + end - 1;
                    return self.push(Kind::Import, String::new(), inner, Spelling::Text(quote));
                }
                Step::Nested(end) if is_url(text, at) => {
                    let inner = trimmed(self.text, range.start + at + 4..range.start + end - 1);
                    return self.push(Kind::Import, String::new(), inner, Spelling::Url);
                }
                // Less has options in brackets before the address, and an address may be in `url(…)`.
                Step::Nested(_) if text[..at].to_ascii_lowercase().ends_with("url") => at += 1,
                Step::Nested(end) | Step::Comment(end) => at = end,
                Step::Broken => return,
                Step::Sign(_) => at += text[at..].chars().next().map_or(1, char::len_utf8),
            }
        }
    }

    fn push(&mut self, kind: Kind, name: String, range: Range<usize>, spelling: Spelling) {
        let rule = self.rules.iter().rev().find_map(|rule| *rule);
        self.sites.sites.push(Site { kind, name, range, spelling, within: None, element: None, rule });
    }
}

fn is_word(text: &str, word: &str) -> bool {
    let is_start = text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    is_start && !text[word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
}

fn ends_with(text: &str, flag: &str) -> bool {
    let start = text.len().checked_sub(flag.len()).filter(|start| text.is_char_boundary(*start));
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(flag))
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..(range.end - (part.len() - part.trim_end().len())).max(start)
}

/// The selectors of a list, with single spaces.
pub fn alternatives(list: &str) -> Vec<String> {
    let (mut all, mut at, mut start) = (Vec::new(), 0, 0);
    while at < list.len() {
        match step(list, at, Sheet::Less) {
            Step::Nested(end) | Step::Comment(end) => at = end,
            Step::Sign(b',') => {
                all.push(plain(&list[start..at]));
                at += 1;
                start = at;
            }
            Step::Sign(_) | Step::Broken => at += list[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    all.push(plain(&list[start..]));
    all
}

/// A selector with single spaces, and none around its combinators but the descendant's.
fn plain(selector: &str) -> String {
    let spaced: String = selector.replace('>', " > ").replace('+', " + ");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A selector within another, as the preprocessors join them.
fn nested(above: &str, own: &str) -> String {
    if own.contains('&') { own.replace('&', above) } else { format!("{above} {own}") }
}
