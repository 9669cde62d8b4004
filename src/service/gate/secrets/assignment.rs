//! Reads `name = value` in any language: code, shell, YAML, JSON, XML, INI, a flag of a command line.
//!
//! Nothing is parsed beyond the line; every step reads a bounded number of bytes.

use std::ops::Range;

use super::text::is_word;

const NAME: usize = 60;
const GAP: usize = 30;
const VALUE: usize = 600;

/// A name with its value, as places in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    pub(super) style: Style,
}

/// The spelling of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// In quotes.
    Quoted,
    /// In quotes, behind a comma: an argument, or the next item of a list.
    Argument,
    /// In quotes, behind a space: a setting, a statement of SQL, or a sentence.
    Said,
    /// Bare, right behind `=`, as in files of variables, and after the flags of a command line.
    Tight,
    /// Bare, in a list such as `Server=a;Password=b`, or a form `user=a&password=b`.
    Listed,
    /// Bare, between the tags of XML.
    Tagged,
    /// Bare, anywhere else.
    Loose,
}

/// The assignment in whose name the bytes `hit` stand.
pub(super) fn read(text: &[u8], hit: &Range<usize>) -> Option<Assignment> {
    let name = name(text, hit);
    let mut reader = Reader { text, at: name.end };
    let closed = reader.skip(3, |byte| matches!(byte, b'"' | b'\'' | b'`' | b')' | b']' | b'\\'));
    let flag = text[..name.start].ends_with(b"--") || text[name.clone()].starts_with(b"--");
    let spaces = reader.skip(GAP, is_space);
    if let Some(operator) = reader.operator(closed > 0, text[..name.start].ends_with(b"<")) {
        return reader.value(name, operator, spaces > 0);
    }
    if reader.next_line_value() {
        return reader.value(name, b':', true);
    }
    if spaces > 0 && (flag || matches!(reader.peek(), Some(b'"' | b'\''))) && closed == 0 {
        return reader.value(name, b' ', !flag);
    }
    // `String token = …`, `token string = …`: a type may stand between.
    if spaces > 0 && closed == 0 && reader.skip(20, |byte| is_word(byte) || byte == b'.') > 0 {
        reader.skip(GAP, is_space);
        if matches!(reader.peek(), Some(b'=' | b':')) {
            let operator = reader.operator(false, false)?;
            return reader.value(name, operator, true);
        }
    }
    None
}

/// The whole name around some bytes of it.
fn name(text: &[u8], hit: &Range<usize>) -> Range<usize> {
    let part = |byte: &&u8| is_word(**byte) || matches!(**byte, b'.' | b'-');
    let before = text[hit.start.saturating_sub(NAME)..hit.start].iter().rev().take_while(part).count();
    let after = text[hit.end..(hit.end + NAME).min(text.len())].iter().take_while(part).count();
    hit.start - before..hit.end + after
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, most: usize, class: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text[self.at..(self.at + most).min(self.text.len())];
        let count = rest.iter().take_while(|byte| class(**byte)).count();
        self.at += count;
        count
    }

    fn take(&mut self, word: &[u8]) -> bool {
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Skips an operator and returns its kind: `=`, `:`, `>`, and those that assign in quotes alone, `,` and `|`.
    fn operator(&mut self, closed: bool, tag: bool) -> Option<u8> {
        let start = self.at;
        let count =
            self.skip(4, |byte| matches!(byte, b'=' | b':' | b'?' | b'|' | b'+' | b'.' | b'!' | b'>' | b',' | b'-'));
        let kind = match &self.text[start..start + count] {
            b"=" | b":=" | b"::=" | b":::=" | b"?=" | b"||=" | b"+=" | b".=" | b"==" | b"===" | b"!=" | b"!=="
            | b"=>" => b'=',
            b":" => b':',
            b"||" | b"->" => b'|',
            b"," if closed => b',',
            b">" if tag => b'>',
            // A value may begin like a part of an operator.
            [b'=', ..] => {
                self.at = start + 1;
                return Some(b'=');
            }
            [b':', ..] => {
                self.at = start + 1;
                return Some(b':');
            }
            _ => {
                self.at = start;
                // `<add key="Password" value="…">`
                return (closed && self.take(b"value=")).then_some(b'=');
            }
        };
        Some(kind)
    }

    /// `name: TOKEN` with `value: …` on the next line, as in the manifests of Kubernetes.
    fn next_line_value(&mut self) -> bool {
        let start = self.at;
        if self.skip(2, |byte| matches!(byte, b'\r' | b'\n')) > 0 {
            self.skip(GAP, is_space);
            if self.take(b"value:") {
                return true;
            }
        }
        self.at = start;
        false
    }

    fn value(mut self, name: Range<usize>, operator: u8, spaced: bool) -> Option<Assignment> {
        let spaces = match operator {
            b'>' => self.skip(GAP, |byte| byte.is_ascii_whitespace()),
            _ => self.skip(GAP, is_space),
        };
        // `token: string = "…"`
        if operator == b':' {
            let start = self.at;
            self.skip(1, |byte| byte == b'&');
            let type_name = self.skip(NAME, |byte| {
                is_word(byte) || matches!(byte, b'.' | b'?' | b'|' | b'<' | b'>' | b':' | b'\'' | b'&')
            });
            let gap = self.skip(4, is_space);
            let assigned = type_name > 0 && gap > 0 && self.take(b"=") && self.skip(4, is_space) > 0;
            if !assigned {
                self.at = start;
            }
        }
        let block = operator == b':' && self.block();
        self.prefix();
        let escaped = self.take(b"\\");
        let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
        if let Some(quote) = quote {
            self.at += 1;
            let (start, end) = (self.at, self.quoted(quote, escaped)?);
            let start = start + scheme(&self.text[start..end]);
            let style = match operator {
                b',' => Style::Argument,
                b' ' if spaced => Style::Said,
                _ => Style::Quoted,
            };
            return Some(Assignment { name, value: start..end, style });
        }
        if escaped || matches!(operator, b',' | b'|') {
            return None;
        }
        let start = self.at + scheme(&self.text[self.at..(self.at + 8).min(self.text.len())]);
        let end = start + self.bare(start);
        // A called or indexed value is code.
        if matches!(self.text.get(end), Some(b'(' | b'[')) || self.text[end..].starts_with(b"::<") {
            return None;
        }
        let after = &self.text[end..(end + GAP).min(self.text.len())];
        match operator {
            b'>' if !after.trim_ascii_start().starts_with(b"<") => return None,
            b' ' if is_sentence(&self.text[start..end], after) => return None,
            _ if block && !matches!(after.first(), None | Some(b'\n' | b'\r')) => return None,
            _ => {}
        }
        let style = match operator {
            b'>' => Style::Tagged,
            _ if self.is_listed(&name, end) => Style::Listed,
            b'=' | b' ' if !spaced && (spaces == 0 || operator == b' ') => Style::Tight,
            _ => Style::Loose,
        };
        Some(Assignment { name, value: start..end, style })
    }

    /// `name: |` with the value on the next line, as in YAML.
    fn block(&mut self) -> bool {
        let start = self.at;
        let marks = self.skip(2, |byte| matches!(byte, b'|' | b'>' | b'+' | b'-'));
        let block = matches!(self.text[start..self.at], [b'|' | b'>', ..]) && marks > 0;
        let ends = self.skip(2, |byte| matches!(byte, b'\r' | b'\n'));
        if block && ends > 0 && self.skip(GAP, is_space) > 0 {
            return true;
        }
        self.at = start;
        false
    }

    /// The prefix of a quote in some languages: `b"…"`, `@"…"`, `String::from("…")`.
    fn prefix(&mut self) {
        let start = self.at;
        let letters =
            self.skip(20, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'$' | b':' | b'.' | b'_'));
        let opened = self.skip(1, |byte| byte == b'(');
        let quoted = matches!(self.peek(), Some(b'"' | b'\''));
        let read = matches!(
            &self.text[start..start + letters],
            b"String::from" | b"SecretString::new" | b"str" | b"bytes" | b"Some"
        );
        if !(quoted && (opened == 0 && letters <= 2 || opened == 1 && (read || letters == 0))) {
            self.at = start;
        }
    }

    /// The end of a quoted value: at the same quote, or with the line.
    fn quoted(&self, quote: u8, escaped: bool) -> Option<usize> {
        let rest = &self.text[self.at..(self.at + VALUE).min(self.text.len())];
        let mut skipped = false;
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                _ if skipped => skipped = false,
                b'\\' if escaped && rest.get(at + 1) == Some(&quote) => return Some(self.at + at),
                b'\\' => skipped = true,
                byte if *byte == quote => return Some(self.at + at),
                b'\n' | b'\r' => return Some(self.at + at),
                _ => {}
            }
        }
        (self.at + rest.len() == self.text.len()).then_some(self.text.len())
    }

    /// The length of a bare value.
    fn bare(&self, start: usize) -> usize {
        let rest = &self.text[start..(start + VALUE).min(self.text.len())];
        let ends = |byte: &u8| {
            byte.is_ascii_whitespace()
                || matches!(
                    byte,
                    b';' | b',' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b')' | b'{' | b'}' | b'[' | b']'
                )
                || matches!(byte, b'&' | b'|' | b'\\')
        };
        rest.iter().position(ends).unwrap_or(rest.len())
    }

    fn is_listed(&self, name: &Range<usize>, end: usize) -> bool {
        let before = self.text[..name.start].iter().rev().find(|byte| **byte != b' ');
        let between = |byte: Option<&u8>| matches!(byte, Some(b';' | b'&' | b'?'));
        between(before) || before.is_some() && self.text.get(end) == Some(&b'&')
    }
}

/// True for a word that more words follow: `--password options of the command`.
fn is_sentence(value: &[u8], after: &[u8]) -> bool {
    let plain = |word: &&[u8]| !word.is_empty() && word.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'\'');
    let mut words = after.strip_prefix(b" ").unwrap_or_default().split(|byte| *byte == b' ');
    plain(&value) && words.next().filter(plain).is_some() && words.next().filter(plain).is_some()
}

/// The length of a scheme such as `Bearer ` before a token.
fn scheme(value: &[u8]) -> usize {
    const SCHEMES: &[&[u8]] = &[b"Bearer ", b"bearer ", b"Basic ", b"basic ", b"token ", b"Token "];
    SCHEMES.iter().find(|scheme| value.starts_with(scheme)).map_or(0, |scheme| scheme.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, value: &str, style: Style) {
        let at = text.to_ascii_lowercase().find("token").unwrap();
        let found = read(text.as_bytes(), &(at..at + 5)).unwrap_or_else(|| panic!("no assignment in {text}"));
        assert_eq!((&text[found.value], found.style), (value, style), "{text}");
    }

    #[test]
    fn assignments_of_many_languages_are_read() {
        check("myToken = \"v1\"", "v1", Style::Quoted);
        check("$myToken .= 'v1';", "v1", Style::Quoted);
        check("var token string = \"v1\"", "v1", Style::Quoted);
        check("let token: &str = \"v1\";", "v1", Style::Quoted);
        check("const token: string = `v1`", "v1", Style::Quoted);
        check("{\"token\": \"v1\"}", "v1", Style::Quoted);
        check("{\\\"token\\\": \\\"v1\\\"}", "v1", Style::Quoted);
        check("\"token\" => \"v1\"", "v1", Style::Quoted);
        check("set(\"TOKEN\", \"v1\")", "v1", Style::Argument);
        check("if (c.token != \"v1\")", "v1", Style::Quoted);
        check("token = String::from(\"v1\")", "v1", Style::Quoted);
        check("token 'v1'", "v1", Style::Said);
        check("<add key=\"Token\" value=\"v1\" />", "v1", Style::Quoted);
        check("Token ::= v1", "v1", Style::Loose);
        check("token: v1", "v1", Style::Loose);
        check("TOKEN=v1\\nX=2", "v1", Style::Tight);
        check("login --token v1 x", "v1", Style::Tight);
        check("login --token=v1 x", "v1", Style::Tight);
        check("h?a=b&token=v1&c=d", "v1", Style::Listed);
        check("<myToken>\n    v1\n</myToken>", "v1", Style::Tagged);
        check("- name: TOKEN\n  value: v1", "v1", Style::Loose);
        check("token: Bearer v1", "v1", Style::Loose);
        check("token: |\n  v1\n", "v1", Style::Loose);
    }
}
